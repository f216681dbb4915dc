"""The report of a run as Markdown, for a marked section of
``benchmarks/spark/results/side-by-side.md``.
"""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyspark
from cases import SCENARIOS
from contenders import IDENTITY, OURS
from goals import Found, judged
from many_scenarios import PLAN
from table import markdown, ratio

Row = dict[str, Any]
MIB = 2**20

QUICK = 200_000
"""Below so many units a run shows that everything works, and its figures mean nothing."""

ABOUT = """\
All contenders were measured in turn, round after round, in one session of `local[2]`; times are medians over the rounds,
divided by the units. CPU is user and system time of the driver's JVM, which in local mode is the executor too, and of all
Python processes. Before anybody was measured, the answer to 1,000 units was compared with ours, column by column. Who is
too slow for all units was measured on fewer, as the row says; every figure holds the fixed cost of a job, a tenth of a second
or so. "over identity" and "over ours" divide medians:
less than 1 is faster than that row."""


def report(run: dict[str, Any]) -> str:
    """Everything that a run found."""
    rows, quick = run["rows"], run["units"] < QUICK
    parts = [
        run["machine"]
        + (" **Quick run: everything works; the figures mean nothing.**" if quick else "")
    ]
    parts += [ABOUT.replace("\n", " "), "### Goals"]
    parts.append(
        markdown(["goal", "what", "bound", "this run", ""], judged(Found(rows, run["jobs"])))
    )
    for table in dict.fromkeys(row["table"] for row in rows):
        parts.append(f"### {table[0].upper()}{table[1:]}")
        of_table = [row for row in rows if row["table"] == table]
        for group in dict.fromkeys(row["group"] for row in of_table):
            parts.append(comparison(group, [row for row in of_table if row["group"] == group]))
    parts += ["### Where the time goes", where_it_goes(run["shares"])]
    parts += [
        "### Memory and growth: five scenarios, Parquet to Parquet, in a process of its own",
        growth(run["jobs"]),
    ]
    return "\n\n".join(parts)


def comparison(group: str, rows: list[Row]) -> str:
    """Contenders of one strategy side by side."""
    medians = {row["name"]: row["wall"] for row in rows}
    ours = medians.get(PLAN if rows[0]["table"] == SCENARIOS else OURS)
    header = [
        group,
        "units",
        "rounds",
        *(f"{time} µs" for time in ("best", "median", "JVM", "Python")),
    ]
    header += ["units/s", "over identity", "over ours"]
    lines = []
    for row in rows:
        times = [f"{row[name] * 1e6:.3g}" for name in ("best", "wall", "jvm", "python")]
        over = [
            ratio(row["wall"] / base) if base else "–" for base in (medians.get(IDENTITY), ours)
        ]
        counts = [f"{row['units']:,}", str(row["rounds"])]
        lines.append([row["name"], *counts, *times, f"{1 / row['wall']:,.0f}", *over])
    return markdown(header, lines)


def where_it_goes(shares: dict[str, dict[str, float]]) -> str:
    """Shares of CPU time in our code and in compiled kernels."""
    lines = []
    for name, of in shares.items():
        times = [f"{of[part] * 1e6:.3g}" for part in ("wall", "cpu", "ours", "kernels")]
        lines.append(
            [name, *times, f"{of['ours'] / of['cpu']:.0%}", f"{of['kernels'] / of['cpu']:.0%}"]
        )
    header = [
        "noop sink",
        "wall µs",
        "CPU µs",
        "our code µs",
        "kernels µs",
        "our code / CPU",
        "kernels / CPU",
    ]
    return markdown(header, lines)


def growth(jobs: list[Row]) -> str:
    """Time per unit and peaks of memory by the number of units."""
    lines = []
    for row in jobs:
        if "missing" in row:
            lines.append([row["name"], row["missing"], "–", "–", "–"])
            continue
        peaks = [f"{row[name] / MIB:,.0f}" for name in ("jvm", "workers")]
        lines.append(
            [
                row["name"],
                f"{row['seconds']:.1f}",
                f"{row['seconds'] / row['units'] * 1e6:.3g}",
                *peaks,
            ]
        )
    return markdown(
        ["units", "s", "µs / unit", "peak of driver JVM, MiB", "peak of Python workers, MiB"], lines
    )


def machine() -> str:
    """Describe the machine in a line."""
    said = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=True
    ).stderr.splitlines()[0]
    versions = {
        "Python": platform.python_version(),
        "PySpark": pyspark.__version__,
        "pyarrow": pyarrow.__version__,
    }
    versions["numpy"] = numpy.__version__
    parts = [
        processor(),
        f"{os.cpu_count()} cores",
        said,
        *(f"{name} {version}" for name, version in versions.items()),
    ]
    return f"Machine: {', '.join(parts)}, load {os.getloadavg()[0]:.1f} at the end."


def processor() -> str:
    """Name of the processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.machine()
