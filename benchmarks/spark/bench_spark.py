"""Spark side by side: ours, Python's own ways and the JVM's, all in one run.

    python benchmarks/spark/bench_spark.py --docs benchmarks/spark/results/side-by-side.md
    python benchmarks/spark/bench_spark.py --units 20000 --rounds 3

Needs pyspark, a JDK and Maven. Everything but the report goes to ``build/bench-spark``; fleets that
are there are used again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rmqalloc

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "bench-spark"
# Workers import what the Python rivals run by its name.
PLACES = [HERE, HERE.parent, Path(rmqalloc.__file__).parents[1]]
sys.path[:0] = map(str, PLACES[:2])

import java_rivals  # noqa: E402
from cases import CHECKED, files, fleets, many_scenarios, odd, one_strategy  # noqa: E402
from checks import check_all  # noqa: E402
from kernel_time import shares_of_all  # noqa: E402
from local_session import session  # noqa: E402
from measure import measure_all, tell  # noqa: E402
from report import QUICK, machine, report  # noqa: E402
from table import put  # noqa: E402
from uniform import write  # noqa: E402

Row = dict[str, Any]
Run = dict[str, Any]

JOB_SECONDS = 240
"""A job that takes longer is given up, and the report says so."""


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure Spark's ways to allocate, side by side")
    parser.add_argument(
        "--units", type=int, default=1_000_000, help="consumer groups (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds at most (default: %(default)s)"
    )
    parser.add_argument(
        "--minutes", type=float, default=15, help="what it may take (default: %(default)s)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=BUILD / "run.json",
        help="file for the rows (default: %(default)s)",
    )
    parser.add_argument("--docs", type=Path, help="file whose marked section gets the report")
    parser.add_argument(
        "--again", action="store_true", help="measure nothing; report what is in the file of rows"
    )
    return parser.parse_args()


def measured(given: argparse.Namespace, where: Path) -> Run:
    """Rows of all tables, and where the time goes."""
    # What is behind the rounds takes its time, too.
    deadline = time.monotonic() + 60 * given.minutes - 60 - 150e-6 * given.units
    settings = {"spark.driver.memory": "4g", "spark.sql.session.timeZone": "UTC"}
    with session("local[2]", settings | java_rivals.settings(java_rivals.build())) as spark:
        java_rivals.register(spark)
        found = fleets(spark, where, given.units)
        tell(f"comparing the answers to {CHECKED} units")
        check_all(found)
        cases = [*one_strategy(found), *many_scenarios(found), *files(found, where), *odd(found)]
        measure_all(cases, given.rounds, deadline)
        tell("where the time goes")
        rows = [case.row() for case in cases]
        return {
            "units": given.units,
            "machine": machine(),
            "rows": rows,
            "shares": shares_of_all(spark, found),
            "jobs": [],
        }


def jobs(where: Path, n_units: int) -> Iterator[Row]:
    """Jobs in processes of their own, of a tenth of the units to five times as many, and one with a
    giant unit.
    """
    runs = [
        (f"{n:,}", n, [write(where / f"fleet-{n}", n)])
        for n in (n_units // 10, n_units, 5 * n_units)
    ]
    runs.append(
        (
            f"{n_units:,} and one of 1M queues",
            n_units + 1,
            [where / f"fleet-{n_units}", where / "giant"],
        )
    )
    for name, units, sources in runs:
        tell(f"a job of {name} units")
        command = [
            sys.executable,
            str(HERE / "one_job.py"),
            str(where / "plans"),
            *map(str, sources),
        ]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, check=True, timeout=JOB_SECONDS
            )
        except subprocess.TimeoutExpired:
            yield {"name": name, "missing": f"given up after {JOB_SECONDS} s"}
            continue
        yield {"name": name, "units": units, **json.loads(done.stdout)}


def main() -> None:
    """Measure everything, print the report and put it where it is asked for."""
    given = options()
    if given.again:
        run = json.loads(given.json.read_text(encoding="utf-8"))
    else:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, PLACES))
        os.environ["PYTHONSAFEPATH"] = (
            "1"  # the checkout is not compiled, wherever workers are started
        )
        run = measured(given, given.json.parent)
        given.json.write_text(json.dumps(run, indent=1), encoding="utf-8")
        for row in jobs(given.json.parent, given.units):
            run["jobs"].append(row)
            given.json.write_text(json.dumps(run, indent=1), encoding="utf-8")
    text = report(run)
    print(text)
    if given.docs and run["units"] < QUICK:
        sys.exit(
            f"a run of {run['units']} units has no figures to publish; --docs needs {QUICK} or more"
        )
    if given.docs:
        put(given.docs, text)


if __name__ == "__main__":
    main()
