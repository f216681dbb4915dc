"""From ten thousand units to a hundred million: what a whole run takes, from the command to its
end.

    python benchmarks/spark/by_size.py --docs benchmarks/spark/results/sizes.md
    python benchmarks/spark/by_size.py --sizes 1000 2000

Every run is a process of its own from Parquet to Parquet, Spark's start included: it is what a
person waits for. The fleet is that of `uniform`, sixteen files for a million units; a fleet is
removed when its size is done. Memory is that of all processes of a run together, looked at five
times a second. What would take longer than ``--longest`` seconds, going by the size before, is left
out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import rmqalloc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACES = [HERE, HERE.parent, Path(rmqalloc.__file__).parents[1]]
sys.path[:0] = map(str, PLACES[:2])

from processes import resident_below  # noqa: E402
from size_chart import chart  # noqa: E402
from table import markdown, put  # noqa: E402
from uniform import write  # noqa: E402

SIZES = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
UNITS_PER_FILE = 62_500
CHART = ROOT / "docs" / "images" / "spark-sizes.svg"
LOOK_EVERY = 0.2

TRANSFORM = """
import sys
from local_session import session
from spark_udfs.transforms import assign
source, target, strategy, cores = sys.argv[1:]
with session(f"local[{cores}]") as spark:
    plans = spark.read.parquet(source).transform(assign(strategy))
    plans.write.mode("overwrite").option("compression", "zstd").parquet(target)
"""

Row = dict[str, Any]


class Way(NamedTuple):
    """A way to plan a fleet: its name, a strategy, and a command for an input and an output."""

    name: str
    strategy: str
    command: list[str]


def ways(source: Path, target: Path) -> list[Way]:
    """All of them."""
    python, found = sys.executable, []
    cores = str(os.cpu_count())
    for strategy in ("AVG", "CONSISTENT_HASH"):
        bulk = [python, "-m", "rmqalloc", "bulk", "-f", str(source), "-s", strategy]
        found += [
            Way("no Spark", strategy, [*bulk, "--out", str(target / "threads")]),
            Way(
                "file job",
                strategy,
                [*bulk, "--out", str(target / "job"), "--spark", "--file-job", "--overwrite"],
            ),
            Way(
                "transform",
                strategy,
                [python, "-c", TRANSFORM, str(source), str(target / "rows"), strategy, cores],
            ),
        ]
    return found


def run(way: Way) -> Row:
    """Run to the end: seconds, and most memory of all its processes; RuntimeError with what it said
    if it fails.
    """
    started, peak = time.perf_counter(), 0
    with subprocess.Popen(
        way.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            peak = max(peak, resident_below(process.pid))
            time.sleep(LOOK_EVERY if time.perf_counter() - started > 2 else LOOK_EVERY / 10)
        said = process.stderr.read() if process.stderr else ""
    if process.returncode:
        raise RuntimeError(
            f"{way.name}, {way.strategy} ended with {process.returncode}:\n{said[-2000:]}"
        )
    return {"seconds": time.perf_counter() - started, "peak": peak}


def on_disk(folder: Path) -> int:
    """Bytes of all files below, those with several names once."""
    found = {
        stat.st_ino: stat.st_size
        for path in folder.rglob("*")
        if path.is_file()
        for stat in [path.stat()]
    }
    return sum(found.values())


def measured(
    n_units: int, where: Path, before: dict[tuple[str, str], float], given: argparse.Namespace
) -> list[Row]:
    """All ways on one size, the quickest of several runs where they are short."""
    tell(f"a fleet of {n_units:,} units")
    source, target = where / f"fleet-{n_units}", where / "planned"
    write(source, n_units, max(4, n_units // UNITS_PER_FILE))
    rows = []
    for way in ways(source, target):
        expected = before.get((way.name, way.strategy), 0.0)
        row = {
            "units": n_units,
            "way": way.name,
            "strategy": way.strategy,
            "input": on_disk(source),
        }
        if expected > given.longest:
            rows.append({**row, "missing": f"more than {given.longest:.0f} s"})
            continue
        runs = []
        for _ in range(given.rounds if expected < 30 else 1):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            runs.append(run(way))
        rows.append(
            {**row, **min(runs, key=lambda one: float(one["seconds"])), "output": on_disk(target)}
        )
        tell(f"{way.strategy}, {way.name}: {rows[-1]['seconds']:.1f} s")
    shutil.rmtree(source)
    shutil.rmtree(target, ignore_errors=True)
    return rows


def table(rows: list[Row]) -> str:
    """Seconds and memory by size, a table for each strategy."""
    parts = []
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        mine = [row for row in rows if row["strategy"] == strategy]
        names = [*dict.fromkeys(row["way"] for row in mine)]
        lines = []
        for n_units in dict.fromkeys(row["units"] for row in mine):
            of_size = {row["way"]: row for row in mine if row["units"] == n_units}
            cells = [_seconds(of_size[name]) for name in names] + [
                _peak(of_size[name]) for name in names
            ]
            disk = f"{next(iter(of_size.values()))['input'] / 2**30:.2f}"
            lines.append([f"{n_units:,}", *cells, disk, _output(of_size)])
        header = [
            f"{strategy}, units",
            *(f"{name}, s" for name in names),
            *(f"{name}, MiB" for name in names),
        ]
        parts.append(markdown([*header, "input, GiB", "output, GiB"], lines))
    return "\n\n".join(parts)


def _seconds(row: Row) -> str:
    return "–" if "missing" in row else f"{row['seconds']:,.1f}"


def _peak(row: Row) -> str:
    return "–" if "missing" in row else f"{row['peak'] / 2**20:,.0f}"


def _output(of_size: dict[str, Row]) -> str:
    """What the file job wrote, or else without Spark."""
    found = [
        of_size[name]["output"] for name in ("file job", "no Spark") if "output" in of_size[name]
    ]
    return f"{found[0] / 2**30:.2f}" if found else "–"


def tell(line: str) -> None:
    """Print how far we are."""
    print(f"{time.strftime('%H:%M:%S')}  {line}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description="What whole runs take, by the number of units")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of what takes less than half a minute"
    )
    parser.add_argument(
        "--longest", type=float, default=400, help="seconds that a run may take, by expectation"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-spark" / "sizes.json")
    parser.add_argument(
        "--docs",
        type=Path,
        help="page whose marked section gets the tables; the chart is drawn, too",
    )
    parser.add_argument(
        "--again", action="store_true", help="measure nothing; report what is in the file of rows"
    )
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, PLACES))
    os.environ["PYTHONSAFEPATH"] = "1"  # the checkout is not compiled, wherever workers are started
    rows: list[Row] = json.loads(given.json.read_text(encoding="utf-8")) if given.again else []
    given.json.parent.mkdir(parents=True, exist_ok=True)
    for n_units, last in [] if given.again else zip(given.sizes, [0, *given.sizes], strict=False):
        grown = n_units / last if last else 0.0
        before = {
            (r["way"], r["strategy"]): grown * r.get("seconds", 9e9)
            for r in rows
            if r["units"] == last
        }
        rows += measured(n_units, given.json.parent, before, given)
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(table(rows))
    if given.docs:
        put(given.docs, table(rows))
        CHART.write_text(chart(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
