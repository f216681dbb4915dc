"""The headline figures, their table and their chart, from the committed results.

    python benchmarks/chart.py

Reads benchmarks/results.md and the whole commands of docs/reference/benchmarks.md; fills README.md,
docs/reference/benchmarks.md and docs/images/speed.svg.
"""

import math
from pathlib import Path

from table import put

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results.md"
SHAPE = "1M x 16q x 4c"
SHAPES = (SHAPE, "100k x 64q x 16c", "1k x 1024q x 100c")
BARS = [
    ("AVG", "numpy", "numpy"),
    ("AVG", "Java, client by client", "Java's class"),
    ("AVG", "Python, client by client", "plain Python"),
    ("CONSISTENT_HASH(10)", "Java, one router", "Java's router, once a group"),
    ("CONSISTENT_HASH(10)", "hashlib + numpy", "hashlib + numpy"),
    ("CONSISTENT_HASH(10)", "Java, client by client", "Java's class"),
    ("CONSISTENT_HASH(10)", "uhashring", "uhashring"),
]
"""Strategy, column of the table, and what it is called here."""
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #263238 }
.head { font-weight: 600 } .bar { fill: #5c6bc0 } .end { font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e0e0e0 } .bar { fill: #7986cb } }
"""


def rows(page: Path) -> dict[str, dict[str, str]]:
    """Rows of the table of strategies by their first cell; cells by column."""
    return {row["shape, strategy"]: row for row in cells(page, "| shape, strategy |")}


def cells(page: Path, begin: str) -> list[dict[str, str]]:
    """Rows of the first table of a page whose header begins so; cells by column."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(begin) :].partition("\n\n")[0].splitlines()
    header, _, *found = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    return [dict(zip(header, row, strict=True)) for row in found]


def chart(table: dict[str, dict[str, str]]) -> str:
    """Bars of how many times as fast the engine is, on a scale of powers of ten."""
    parts, y, last = [], 24, ""
    for strategy, column, name in BARS:
        if strategy != last:
            parts.append(
                f'<text class="head" x="10" y="{y}">{strategy}: one million groups, times as fast as (log scale)</text>'
            )
            y, last = y + 10, strategy
        text = table[f"{SHAPE} {strategy}"][column]
        width = 130 * math.log10(float(text.rstrip("×").replace(",", "")))
        parts.append(f'<text x="215" y="{y + 15}" text-anchor="end">{name}</text>')
        parts.append(
            f'<rect class="bar" x="225" y="{y + 3}" width="{width:.1f}" height="15" rx="2"/>'
        )
        parts.append(f'<text class="end" x="{232 + width:.1f}" y="{y + 15}">{text}</text>')
        y += 22
        if (strategy, column) == BARS[2][:2]:
            y += 26
    size = f'viewBox="0 0 760 {y}" width="760" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Speed beside other ways, log scale">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>\n"])


def headlines() -> str:
    """Return the sentence of the README: one group and a whole command, each beside its rival."""
    average = rows(RESULTS)[f"{SHAPE} AVG"]
    java = average["Java, client by client"]
    bulk, duckdb = whole("rmqalloc bulk"), whole("DuckDB, SQL")["bulk's wall over it"]
    return (
        f"Speed: **{average['wall / group']}** a group of 16 queues and 4 clients under AVG, {java} as fast as Java's class; "
        f"**{bulk['wall']}** a million groups from file to file, {duckdb} of DuckDB's time "
        "([benchmarks](docs/reference/benchmarks.md))."
    )


def whole(command: str) -> dict[str, str]:
    """Return the figures of a whole command: a million groups under AVG in four files."""
    key = {"units": "1,000,000", "files": "4", "strategy": "AVG", "command": command}
    found = cells(DOCS / "reference" / "benchmarks.md", "| units | files |")
    return next(row for row in found if key.items() <= row.items())


def summary() -> str:
    """Return the table of docs/reference/benchmarks.md: three shapes and the rivals that people ask for."""
    columns = ["numpy", "Python, client by client", "Java, one router", "Java, client by client"]
    lines = [
        "| shape, strategy | a group | " + " | ".join(columns) + " |",
        "| --- " + "| ---: " * (len(columns) + 1) + "|",
    ]
    for name, cells in rows(RESULTS).items():
        if name.startswith(SHAPES):
            lines.append(
                f"| {name} | {cells['wall / group']} | "
                + " | ".join(cells[column] for column in columns)
                + " |"
            )
    return "\n".join(lines)


def main() -> None:
    """Draw the chart; fill the README and the page of benchmarks."""
    (DOCS / "images" / "speed.svg").write_text(chart(rows(RESULTS)), encoding="utf-8")
    put(ROOT / "README.md", headlines())
    put(DOCS / "reference" / "benchmarks.md", summary())


if __name__ == "__main__":
    main()
