"""Turn the JSON of pytest-benchmark into Markdown tables, and put them into marked sections of a
file.

    python benchmarks/table.py .benchmarks/bench.json
    python benchmarks/table.py .benchmarks/bench.json --docs benchmarks/results.md

A row is what `Clock` stored for one test. All have ``table`` and ``contender``. Rows of the table
"strategies" have ``shape``, ``strategy``, ``groups`` and ``queues`` (that one call serves),
``sizes``, ``hashes`` and ``cut``. Rows of the others have ``case``, ``unit``, ``units`` (that one
call serves) and ``base``, true for the one the others of the case are compared with; the ratio is
of CPU time unless ``by`` is "wall". A row without a time has ``missing``, the reason; a row of
``figures`` has those and no time.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]

RIVALS = [
    "out.fill",
    "numpy",
    "hashlib + numpy",
    "plain Python",
    "uhashring",
    "Python, client by client",
    "Java, one router",
    "Java, client by client",
]

ABOUT = """\
One thread, warm `out=`, medians, all measured in one run. A ratio is the rival's CPU time over the engine's, so more
than 1 means that the engine is faster; `out.fill` only writes the same memory. Rivals that take group after group are
timed on the first groups of the fleet (those that ask client by client, of a big group, on some of its clients) and
scaled per group. Java's time is that of its working thread alone, on one group; where a group takes long, one client
is timed and multiplied. Every other answer is compared with the engine's before it is timed; uhashring compares all
128 bits of a hash, so its answer may differ where two share their first 32."""


def duration(seconds: float) -> str:
    """Write a time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return (
                f"{seconds / size:.3g} {unit}"
                if seconds / size < 999.5
                else f"{seconds / size:.0f} {unit}"
            )
    return f"{seconds / 1e-9:.3g} ns"


def ratio(value: float) -> str:
    """Write a ratio with three digits, or none after the point when it is large."""
    return f"{value:.3g}×" if value < 999.5 else f"{value:,.0f}×"


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    """Lay out a Markdown table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def java_rows(times: list[Row], engines: Iterable[Row]) -> list[Row]:
    """Turn what the Java classes took per group into rows of the strategies table."""
    rows = []
    for engine in engines:
        name, sizes = engine["strategy"].partition("(")[0], engine["sizes"]
        for found in times:
            of = [found["n_queues"], found["n_clients"], found["virtual_nodes"] if sizes[2] else 0]
            if found["strategy"] == name and of == sizes:
                time = {
                    "wall": found["median_seconds"],
                    "cpu": found["median_cpu_seconds"],
                    "groups": 1,
                }
                rows.append({**engine, **time, "contender": f"Java, {found['way']}"})
    return rows


def strategies(rows: list[Row]) -> str:
    """Compare the engine with every rival, shape by shape."""
    times = {(row["shape"], row["strategy"], row["contender"]): row for row in rows}
    present = [name for name in RIVALS if any(name == row["contender"] for row in rows)]
    lines = []
    for (shape, strategy, contender), engine in times.items():
        if contender != "engine":
            continue
        cpu = engine["cpu"] / engine["groups"]
        cut = f" (first {engine['groups']:,.0f} groups)" if engine["cut"] else ""
        line = [
            f"{shape} {strategy}{cut}",
            duration(engine["wall"] / engine["groups"]),
            duration(cpu),
        ]
        line.append(f"{engine['cpu'] / engine['queues'] * 1e9:.3g}")
        for name in present:
            rival = times.get((shape, strategy, name))
            line.append(ratio(rival["cpu"] / rival["groups"] / cpu) if rival else "–")
        lines.append(line)
    return markdown(
        ["shape, strategy", "wall / group", "CPU / group", "ns / queue", *present], lines
    )


def others(rows: list[Row]) -> str:
    """Compare the contenders of each case with its base."""
    bases = {row["case"]: row for row in rows if row.get("base") and "missing" not in row}
    lines = []
    for row in rows:
        base, name = bases.get(row["case"]), f"{row['case']}: {row['contender']}"
        if "missing" in row:
            lines.append([name, row["missing"], "–", "–"])
            continue
        by = row.get("by", "cpu")
        against = (
            "base"
            if row is base
            else ratio(per_unit(row, by) / per_unit(base, by))
            if base
            else "–"
        )
        lines.append(
            [
                name,
                f"{duration(per_unit(row, 'wall'))} / {row['unit']}",
                duration(per_unit(row, "cpu")),
                against,
            ]
        )
    return markdown(["case", "wall", "CPU", "time / base"], lines)


def per_unit(row: Row, by: str) -> float:
    """Give the seconds of one unit, wall or CPU."""
    return float(row[by] / row["units"])


def figures(rows: list[Row]) -> str:
    """List figures that are not times."""
    names = list(rows[0]["figures"])
    return markdown(
        ["case", *names],
        [[row["case"], *(f"{row['figures'][name]:.3g}" for name in names)] for row in rows],
    )


def hash_cost(rows: list[Row]) -> str:
    """Compare CONSISTENT_HASH, per hash, with the bare MD5 kernel."""
    bare = next((row for row in rows if row.get("bare")), None)
    lines = []
    for row in rows:
        if row["table"] == "strategies" and row["contender"] == "engine" and row["hashes"]:
            cost = row["cpu"] / row["hashes"]
            against = ratio(cost / (bare["cpu"] / bare["units"])) if bare else "not available"
            lines.append([f"{row['shape']} {row['strategy']}", f"{cost * 1e9:.3g}", against])
    return markdown(["CONSISTENT_HASH", "ns / hash", "over the bare MD5 kernel"], lines)


def machine(info: Row) -> str:
    """Describe the machine in a line."""
    versions = [f"{name} {info[name]}" for name in ("Python", "numpy", "pyarrow")]
    parts = [
        info["cpu"],
        f"{info['cores']} cores",
        info["isa"],
        info["compiler"],
        *versions,
        info["java"],
    ]
    parts.append(f"load {info['load']:.1f} at the end")
    text = "Machine: " + ", ".join(part for part in parts if part) + "."
    return text + (
        " **Quick run: the harness runs; the figures mean nothing.**" if info["quick"] else ""
    )


def busy(rows: list[Row]) -> str:
    """Say how far wall time is from CPU time, which tells whether the machine was shared."""
    shares = sorted(
        row["wall"] / row["cpu"] for row in rows if row["table"] == "strategies" and "calls" in row
    )
    return (
        f"Wall over CPU time of these rows: median {median(shares):.2f}, worst {shares[-1]:.2f}."
        if shares
        else ""
    )


def put(path: Path, text: str, section: str = "bench") -> None:
    """Replace what stands between the markers of a section of a file.

    Raises
    ------
    SystemExit
        If the file lacks the markers.
    """
    begin, end = f"<!-- {section}:begin -->", f"<!-- {section}:end -->"
    old = path.read_text(encoding="utf-8")
    head, found, rest = old.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        sys.exit(f"{path} has no section to fill: expected {begin} and, after it, {end}")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def report(run: Row, java: list[Row]) -> str:
    """Write all tables, the one of strategies first, with what must be known to read it."""
    rows = [bench["extra_info"] for bench in run["benchmarks"] if "table" in bench["extra_info"]]
    times = [found for row in rows if row["table"] == "java" for found in row["times"]] + java
    compared = [row for row in rows if row["table"] == "strategies"]
    compared += java_rows(times, [row for row in compared if row["contender"] == "engine"])
    about = f"{machine(run['machine_info'])} {busy(rows)}"
    parts = [
        strategies(compared),
        ABOUT.replace("\n", " "),
        about,
        "### CONSISTENT_HASH per hash",
        hash_cost(rows),
    ]
    for name in dict.fromkeys(
        row["table"] for row in rows if row["table"] not in ("strategies", "java")
    ):
        of = [row for row in rows if row["table"] == name]
        parts += [f"### {name}", figures(of) if "figures" in of[0] else others(of)]
    return "\n\n".join(parts)


def main() -> None:
    """Print the tables, and update files where asked."""
    parser = argparse.ArgumentParser(description="Markdown tables of a benchmark run")
    parser.add_argument("json", type=Path, help="file written by --benchmark-json")
    parser.add_argument(
        "--java", type=Path, help="output of java_rival.py, if the run did not include Java"
    )
    parser.add_argument("--docs", type=Path, help="file whose marked section gets all tables")
    options = parser.parse_args()
    java = json.loads(options.java.read_text(encoding="utf-8")) if options.java else []
    run = json.loads(options.json.read_text(encoding="utf-8"))
    if run["machine_info"]["quick"] and options.docs:
        sys.exit("a quick run has no figures to publish: run the benchmarks without --quick")
    text = report(run, java)
    print(text)
    if options.docs:
        put(options.docs, text)


if __name__ == "__main__":
    main()
