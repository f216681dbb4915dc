"""What it costs that a table is in an object store, or in Delta, and not plain Parquet on a disk:
the file job on each.

    python benchmarks/spark/where_tables_are.py                              # 1,000,000 units, 3 rounds
    python benchmarks/spark/where_tables_are.py --units 100000 --docs benchmarks/spark/results/tables.md

One session of Spark 4.1, for which Delta is published, in a process of its own. The S3 is moto's,
in another, on the same machine: what it takes of the processors is printed beside. The floor is the
same bytes by plain pyarrow: the fleet read, the plan written. All are run in turn, round after
round, after one round that does not count; figures are medians. Goals: S3 over disk at most 1.3,
Delta over Parquet at most 1.2.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RELEASE = "4.1"
AT_ONCE = 2
GOALS = [("S3: file job", "disk: file job", 1.3), ("Delta: file job", "disk: file job", 1.2)]

Rows = dict[str, list[dict[str, float]]]
Store = tuple[pafs.FileSystem, str]


# --- In the process that has the session ---


def job(given: dict[str, Any], number: int, where: str) -> None:
    """One run of the file job."""
    from spark_udfs.job._planning_job import run_job

    from rmqalloc.evaluation.batch_planning import PlanSpec
    from spark_udfs.job._sources import UnitSource

    sources = {
        "disk": UnitSource(given["fleet"]),
        "S3": UnitSource("s3a://fleet/units"),
        "Delta": UnitSource(f"{given['home']}/delta", "delta"),
    }
    out = (
        f"s3a://plans/{number}" if where == "S3" else f"file:{given['home']}/plans-{where}-{number}"
    )
    outcome = run_job(sources[where], out, PlanSpec("AVG"), by_files=True)
    n_units = outcome.summary["totals"]["current"]["units"]
    if outcome.was_complete or n_units != given["units"]:
        raise RuntimeError(f"{where}: {n_units} units of {given['units']} were planned")


def same_bytes(given: dict[str, Any], number: int, where: str) -> None:
    """Read the bytes of the fleet and write those of its plan, as so many files."""
    source, target = stores(given, where, number)
    files = [
        one.path for one in source[0].get_file_info(pafs.FileSelector(source[1])) if one.is_file
    ]
    n_bytes = max(1, given["plan_bytes"] // len(files))

    def copy(path: str) -> None:
        with source[0].open_input_file(path) as file:
            file.read()
        with target[0].open_output_stream(f"{target[1]}-{Path(path).name}") as new:
            new.write(bytes(n_bytes))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(copy, files))


def stores(given: dict[str, Any], where: str, number: int) -> tuple[Store, Store]:
    """Where the floor reads, and writes."""
    if where == "disk":
        disk = pafs.LocalFileSystem()
        return (disk, given["fleet"]), (disk, f"{given['home']}/floor-{number}")
    s3 = pafs.S3FileSystem(**given["s3"])
    return (s3, "fleet/units"), (s3, f"plans/floor-{number}")


def in_session(given: dict[str, Any]) -> Rows:
    """All contenders in turn, seconds and CPU seconds of each."""
    from processes import cpu_now
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{AT_ONCE}]").config("spark.driver.memory", "1g")
    for name, value in given["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    n_files = len(list(Path(given["fleet"]).iterdir()))
    spark.read.parquet(given["fleet"]).repartition(n_files).write.format("delta").option(
        "compression", "zstd"
    ).save(f"{given['home']}/delta")
    contenders: dict[str, Callable[[dict[str, Any], int], None]] = {
        f"{where}: {what}": partial(call, where=where)
        for what, call, places in (
            ("file job", job, ("disk", "S3", "Delta")),
            ("pyarrow", same_bytes, ("disk", "S3")),
        )
        for where in places
    }
    rows: Rows = {name: [] for name in contenders}
    for number in range(given["rounds"] + 1):
        for name, contender in contenders.items():
            before, started = cpu_now(), time.perf_counter()
            contender(given, number)
            used = cpu_now().since(before)
            row = {"wall": time.perf_counter() - started, "jvm": used.jvm, "python": used.python}
            print(f"{number} {name}: {row['wall']:.2f} s", file=sys.stderr, flush=True)
            rows[name] += [row] if number else []
    spark.stop()
    return rows


# --- In the process that is started ---


def measured(n_units: int, rounds: int, home: Path) -> tuple[Rows, float]:
    """The rows, and the seconds of CPU that the S3 took."""
    sys.path[:0] = [*(str(ROOT / one) for one in ("proofs", "tests", "tests/support")), str(HERE)]
    import spark_releases
    from s3_server import KEYS, jars, s3_server
    from uniform import write

    fleet = write(home / "fleet", n_units)
    with s3_server("fleet", "plans") as server:
        pafs.copy_files(str(fleet), "fleet/units", destination_filesystem=server.files)
        hadoop = {f"spark.hadoop.{name}": value for name, value in server.hadoop().items()}
        quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        quiet["spark.databricks.delta.snapshotPartitions"] = str(
            AT_ONCE
        )  # as a session of the job has it
        settings = spark_releases.settings(RELEASE, "delta", warehouse=home)
        settings["spark.jars"] += "," + ",".join(
            jars()
        )  # the driver creates the manifest by Hadoop's client
        given = {
            "fleet": str(fleet),
            "home": str(home),
            "units": n_units,
            "rounds": rounds,
            "plan_bytes": plan_bytes(fleet, home),
            "s3": {**KEYS, "endpoint_override": server.endpoint, "region": "us-east-1"},
            "settings": {**settings, **hadoop, **quiet},
        }
        done = spark_releases.run(
            RELEASE, __file__, "--session", folders=[HERE], cwd=home, input=json.dumps(given), stderr=sys.stderr,
            stdout=-1, capture_output=False, timeout=3 * 3600,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the session ended with {done.returncode}")
        return json.loads(done.stdout.splitlines()[-1]), server.cpu_seconds()


def plan_bytes(fleet: Path, home: Path) -> int:
    """Bytes of a plan of the fleet."""
    from rmqalloc.evaluation.batch_planning import PlanSpec
    from rmqalloc.evaluation.parquet_plan import plan_files

    plan_files(fleet, home / "planned", PlanSpec("AVG"))
    return sum(path.stat().st_size for path in (home / "planned").glob("*.parquet"))


def report(rows: Rows, n_units: int, s3_cpu: float) -> str:
    """Medians of each, and the goals."""
    from table import markdown

    middle = {
        name: {key: statistics.median(row[key] for row in mine) for key in mine[0]}
        for name, mine in rows.items()
    }
    disk = middle["disk: file job"]["wall"]
    lines = [
        [
            name,
            f"{row['wall']:.2f}",
            *(f"{1e6 * row[key] / n_units:.2f}" for key in row),
            f"{row['wall'] / disk:.2f}×",
        ]
        for name, row in middle.items()
    ]
    header = [
        f"{n_units:,} units",
        "s",
        "wall µs / unit",
        "JVM CPU µs",
        "Python CPU µs",
        "over the disk's file job",
    ]
    goals = []
    for one, other, bound in GOALS:
        ratio = middle[one]["wall"] / middle[other]["wall"]
        cpu = sum(middle[one][key] for key in ("jvm", "python")) / sum(
            middle[other][key] for key in ("jvm", "python")
        )
        verdict = "met" if ratio <= bound else "**missed**"
        goals.append(
            [f"{one} over {other}", f"at most {bound}", f"{ratio:.2f}", f"{cpu:.2f}", verdict]
        )
    goal_table = markdown(["goal", "bound", "wall", "CPU", ""], goals)
    return f"{markdown(header, lines)}\n\n{goal_table}\n\nThe S3 itself used {s3_cpu:.1f} s of CPU in all rounds."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The file job on a disk, on S3 and on Delta")
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--home",
        type=Path,
        default=ROOT / "build" / "bench-tables",
        help="a folder that is made anew",
    )
    parser.add_argument("--docs", type=Path, help="page whose marked section gets the tables")
    parser.add_argument("--session", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.session:
        print(json.dumps(in_session(json.load(sys.stdin))))
        return
    sys.path.insert(0, str(HERE.parent))
    shutil.rmtree(given.home, ignore_errors=True)
    given.home.mkdir(parents=True)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    rows, s3_cpu = measured(given.units, given.rounds, given.home.absolute())
    text = report(rows, given.units, s3_cpu)
    print(text)
    if given.docs:
        from table import put

        put(given.docs, text)
    shutil.rmtree(given.home)


if __name__ == "__main__":
    main()
