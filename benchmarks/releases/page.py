"""The page of all committed releases and its picture: no script, no figure that is not in a file."""

import json
from pathlib import Path

from chart import STYLE

from releases.bounds import (
    INSTRUCTIONS,
    MEASURED,
    RATIOS,
    REPEATABLE,
    UNRELEASED,
    Entry,
    Figure,
    Ratio,
    order,
)

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"
PAGE, PICTURE = FOLDER / "performance.md", DOCS / "images" / "performance.svg"
WIDTH, LEFT, LONGEST, ROW = 760, 110, 470, 20

HEAD = """\
# Performance over releases

Every release has a file in `benchmarks/releases/`; this page and its picture are made from these files alone, by `python
-m releases page`. All of a file is measured from one wheel, unpacked into an empty folder, so that old releases are
measured by the program of today. `make performance` measures the wheel of this tree, writes `unreleased.json`, makes this
page, and ends with 1 beyond a bound; `make performance-quick` measures the reproducible figures (sizes, modules,
instructions) and compares it with the newest file. A growth that is meant is committed with the new file. When a release
is made, its file is named for it.

`unreleased` is the tree after 0.1.0. 0.1.0 is the wheel of commit 020e78a5, measured on the same machine.

![Bars of every figure by release](../../docs/images/performance.svg)
"""
ABOUT_RATIOS = """\
CPU time of one thread over that of writing the same memory. `memset` is the C library's, `out.fill` is numpy's; all of
them write one warm buffer, back to back in every round, in turns; medians. Below 1 the library's own loop waits longer
for memory than the engine, which prefetches the lines that it will write.
"""
ABOUT_GROWTH = """\
Groups of 16 queues and 4 clients, a warm `out=`, nanoseconds of CPU time per queue; in brackets over `out.fill` at the
same size and in the same rounds. Nanoseconds of two releases were taken minutes apart on a shared machine, as `memset`
shows, which is the same in both: compare the ratios. At 1,000 groups most of a call is Python. CONSISTENT_HASH, with 10 virtual
nodes, makes its output anew and is measured up to 100,000 groups.
"""
ABOUT_MEMORY = """\
Starts are the best of 20 or more, in turns: CPU time of a process that only imports (with `OPENBLAS_NUM_THREADS=1`, from
compiled bytecode), and beside it the sum of `-X importtime` over all modules, which is wall time and grows with the
load. "Beyond numpy's" omits the cost of `import numpy` alone. A fleet is its own arrays; the columns that it was made
of and keeps are beside it. The peak of `rmqalloc bulk` is that of its process; per unit is what 200,000 units take beyond
1,000.
"""


def entries() -> list[Entry]:
    """All committed files, oldest first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    return sorted(found, key=lambda entry: order(entry["version"]))


def written(value: float, unit: str) -> str:
    """Write a figure for people."""
    if unit == "bytes":
        return f"{value / 1e6:.2f} MB" if value >= 1e5 else f"{value:,.0f} bytes"
    return (
        f"{value:.1f} {unit}"
        if unit == "ms"
        else f"{value:.2f}"
        if value < 100 and value % 1
        else f"{value:,.0f}"
    )


def value_of(figure: Figure | Ratio, entry: Entry) -> tuple[float, str]:
    """A figure and how it is written."""
    value = figure.of(entry)
    return value, f"{value:.2f}×" if isinstance(figure, Ratio) else written(value, figure.unit)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out a table; the first column is text."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures(found: list[Entry]) -> str:
    """What repeats and what is measured, a column for each release."""
    rows = []
    for figure in REPEATABLE + MEASURED:
        cells = [value_of(figure, entry)[1] for entry in found]
        rows.append([figure.title, *cells, f"{figure.growth:g}× the newest file"])
    rows.append(
        [
            "Its columns, per unit",
            *(written(entry["memory"]["columns"], "bytes") for entry in found),
            "–",
        ]
    )
    titles = {"bare": "Python alone", "numpy": "numpy", "rmqalloc": "rmqalloc"}
    for of, unit in (("cpu", "CPU time"), ("imports", "`-X importtime`")):
        for name, title in titles.items():
            rows.append(
                [
                    f"{title}, {unit}",
                    *(written(entry["start"][of][name], "ms") for entry in found),
                    "–",
                ]
            )
    return table(["figure", *(entry["version"] for entry in found), "at most"], rows)


def ratios(found: list[Entry]) -> str:
    """Times over memory."""
    rows = [
        [one.title, *(value_of(one, entry)[1] for entry in found), f"{one.most:g}×"]
        for one in RATIOS
    ]
    return table(["time", *(entry["version"] for entry in found), "at most"], rows)


def growth(found: list[Entry]) -> str:
    """Time per queue by size, for each strategy and release."""
    sizes = sorted(found[-1]["growth"], key=int)
    rows = []
    for name in ("memset", "out.fill", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"):
        for entry in found:
            cells = []
            for size in sizes:
                times = entry["growth"][size]
                over = f" ({times[name] / times['out.fill']:.2f})" if name.startswith("AVG") else ""
                cells.append(f"{times[name]:.3g}{over}" if name in times else "–")
            rows.append([f"{name}, {entry['version']}", *cells])
    return table(["ns per queue", *(f"{int(size):,} groups" for size in sizes)], rows)


def instructions(found: list[Entry]) -> str:
    """Instructions of each kernel that any release has."""
    names = sorted({name for entry in found for name in entry["instructions"]})
    rows = [
        [
            f"`{name}`",
            *(
                f"{entry['instructions'][name]:,}" if name in entry["instructions"] else "–"
                for entry in found
            ),
        ]
        for name in names
    ]
    return table(["kernel", *(entry["version"] for entry in found)], rows)


def page(found: list[Entry]) -> str:
    """The whole page."""
    machines = [f"{entry['version']}: {entry['machine']}, {entry['compiler']}." for entry in found]
    sizes = ", ".join(counted_sizes())
    about_counts = (
        f"Counted by callgrind with AVX2 on {sizes} (AVG, AVG_BY_CIRCLE, CONSISTENT_HASH);"
        f" a kernel may need {INSTRUCTIONS:g} times those of the newest file."
    )
    parts = [
        *(HEAD, "## Over memory itself", ABOUT_RATIOS, ratios(found)),
        *("## Size, import, memory", ABOUT_MEMORY, figures(found)),
        *("## Growth", ABOUT_GROWTH, growth(found)),
        *("## Instructions", about_counts, instructions(found)),
        *("## Machine", *machines),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def counted_sizes() -> list[str]:
    """The fleet whose instructions are counted."""
    from instructions import SIZES

    return [f"{n_groups} x {n_queues}q x {n_clients}c" for n_groups, n_queues, n_clients in SIZES]


def panel(figure: Figure | Ratio, found: list[Entry], y: int) -> list[str]:
    """A bar for every release, and a line where its bound is."""
    values = [value_of(figure, entry) for entry in found]
    most = figure.most if isinstance(figure, Ratio) else None
    scale = LONGEST / max([value for value, _ in values] + ([most] if most else []))
    parts = [f'<text class="head" x="10" y="{y + 14}">{figure.title}</text>']
    for i, (entry, (value, text)) in enumerate(zip(found, values, strict=True)):
        top = y + ROW * (i + 1)
        parts.append(
            f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{entry["version"]}</text>'
        )
        parts.append(
            f'<rect class="bar" x="{LEFT}" y="{top + 2}" width="{value * scale:.1f}" height="15" rx="2"/>'
        )
        parts.append(
            f'<text class="end" x="{LEFT + max(value, most or 0) * scale + 8:.1f}" y="{top + 14}">{text}</text>'
        )
    if most:
        x = LEFT + most * scale
        parts.append(
            f'<line class="most" x1="{x:.1f}" x2="{x:.1f}" y1="{y + ROW}" y2="{y + ROW * (len(found) + 1)}"/>'
        )
    return parts


def picture(found: list[Entry]) -> str:
    """All panels, one below the other."""
    shown: list[Figure | Ratio] = [*RATIOS[:4], *REPEATABLE, *MEASURED]
    tall = ROW * (len(found) + 1) + 14
    parts = [line for i, figure in enumerate(shown) for line in panel(figure, found, 8 + i * tall)]
    height = 8 + len(shown) * tall
    style = f"{STYLE}.most {{ stroke: #c62828; stroke-width: 2 }}\n"
    label = 'role="img" aria-label="Figures of every release; a red line is the most that a ratio may be"'
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>',
            f"<style>{style}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def write() -> None:
    """Make the page and its picture of what is committed."""
    found = entries()
    PAGE.write_text(page(found), encoding="utf-8")
    PICTURE.write_text(picture(found), encoding="utf-8")


__all__ = ["PAGE", "PICTURE", "UNRELEASED", "entries", "page", "picture", "write"]
