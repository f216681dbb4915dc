"""The planning job on a cluster of two workers: time, memory, and bytes that Spark spilled and moved.

    rmqalloc generate --units 100000000 --seed 1 --files 400 --out fleet
    python benchmarks/spark/at_scale.py fleet                   # workers of 2 GiB, both roads
    python benchmarks/spark/at_scale.py fleet --memory 1 --roads workers

A master and two workers of one core run on this machine. Half of a worker's memory is its JVM's
heap. From 2 GiB on the other half is the bound of its Python worker's address space, so a task that
needs more fails; 512 MiB would not do for its libraries. Figures of tasks are those of Spark's event
log.
"""

import argparse
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from pyspark.sql import SparkSession  # noqa: E402
from spark_standalone import standalone  # noqa: E402

from rmqalloc.evaluation import PlanSpec  # noqa: E402
from spark_udfs import plan_table  # noqa: E402

IN_WORKERS = {"workers": True, "JVM": False}
"""Who reads and writes the rows, by the name of the road."""

_SUMS = {
    "GC, s": ("JVM GC Time", 1000),
    "executors' CPU, s": ("Executor CPU Time", 1_000_000_000),
    "spilled, MiB": ("Disk Bytes Spilled", 2**20),
    "shuffled, MiB": ("Shuffle Write Metrics.Shuffle Bytes Written", 2**20),
    "sent to the driver, MiB": ("Result Size", 2**20),
}


@contextmanager
def session(master: str, gib: float, events: Path, task_bytes: int) -> Iterator[SparkSession]:
    """Run a session whose executors take the whole of a worker's memory."""
    half = f"{int(gib * 512)}m"
    settings = {
        "spark.executor.memory": half,
        "spark.driver.memory": "2g",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.files.maxPartitionBytes": str(task_bytes),
        "spark.sql.files.openCostInBytes": "0",
        "spark.ui.enabled": "false",
    }
    if gib >= 2:
        settings["spark.executor.pyspark.memory"] = half
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def task_figures(events: Path) -> dict[str, float]:
    """Add up what Spark's event log says of the tasks."""
    [log] = [path for path in events.iterdir() if path.is_file()]
    figures = dict.fromkeys(("tasks", "failed tasks", *_SUMS), 0.0)
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        figures["tasks"] += 1
        figures["failed tasks"] += bool(event["Task Info"]["Failed"])
        for name, (path, unit) in _SUMS.items():
            figures[name] += _at(event.get("Task Metrics") or {}, path) / unit
    return figures


def _at(metrics: dict[str, object], path: str) -> float:
    found: object = metrics
    for name in path.split("."):
        found = found.get(name, 0) if isinstance(found, dict) else 0
    return float(found) if isinstance(found, int) else 0.0


_KINDS = {
    "CoarseGrainedExecutorBackend": "executor's JVM",
    "SparkSubmit": "driver's JVM",
    "pyspark.daemon": "Python worker",
}


def resident() -> Iterator[tuple[str, float]]:
    """Yield the kind and the memory in MiB of each of Spark's processes on this machine."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text(errors="replace")
            pages = int((process / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        for sign, kind in _KINDS.items():
            if sign in command:
                yield kind, pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def peaks_seen() -> Iterator[dict[str, float]]:
    """Note the greatest memory of a process of each kind, in MiB, until the block ends."""
    peaks: dict[str, float] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            for kind, mib in resident():
                peaks[kind] = max(peaks.get(kind, 0.0), mib)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


def run(fleet: Path, where: Path, road: str, gib: float, task_bytes: int) -> dict[str, float]:
    """Plan a fleet by one road, and return the figures of the run."""
    shutil.rmtree(where, ignore_errors=True)
    events, out = where / "events", where / "plan"
    events.mkdir(parents=True)
    with (
        standalone(where / "cluster", memory=f"{int(gib * 1024)}m") as master,
        session(master, gib, events, task_bytes) as spark,
        peaks_seen() as peaks,
    ):
        started = time.perf_counter()
        in_workers = IN_WORKERS[road]
        spec = PlanSpec("AVG", output="owners")
        done = plan_table(spark, fleet.as_uri(), spec, out=out.as_uri(), in_workers=in_workers)
        seconds = time.perf_counter() - started
    parts = [path for path in out.iterdir() if path.name.startswith("part-")]
    n_bytes = sum(path.stat().st_size for path in parts)
    figures = {"units": done.summary["totals"]["current"]["units"], "seconds": seconds}
    figures |= task_figures(events)
    figures |= {"parts": len(parts), "plan, MiB": n_bytes / 2**20}
    figures |= {f"peak of a {kind}, MiB": peak for kind, peak in sorted(peaks.items())}
    shutil.rmtree(where)
    return figures


def main() -> None:
    """Run the roads and print a table of their figures."""
    parser = argparse.ArgumentParser(description="The planning job on a cluster of two workers")
    parser.add_argument("fleet", type=Path)
    parser.add_argument("--memory", type=float, default=2, help="GiB of a worker")
    parser.add_argument("--roads", default="workers,JVM")
    parser.add_argument(
        "--task-bytes", type=int, default=128 << 20, help="of a task of the JVM's road"
    )
    parser.add_argument("--where", type=Path, default=ROOT / "build" / "at-scale")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    roads = given.roads.split(",")
    runs = [
        run(given.fleet.resolve(), given.where.resolve(), road, given.memory, given.task_bytes)
        for road in roads
    ]
    print(f"| {given.memory:g} GiB a worker | {' | '.join(roads)} |")
    print(f"| --- |{' ---: |' * len(roads)}")
    for name in dict.fromkeys(name for figures in runs for name in figures):
        cells = [f"{figures.get(name, 0):,.0f}" for figures in runs]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
