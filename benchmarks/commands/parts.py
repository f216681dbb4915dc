"""Where the time of `rmqalloc bulk` goes: ``python -m commands.parts --units 1000000``.

The parts are counted in one process and on one thread, by the CPU time of the functions that do
them; the profiler makes calls of Python a little dearer than they are. Behind them stands what the
same bytes cost pyarrow alone: the columns that are read decoded, and the plan encoded. Nobody who
reads and writes them through pyarrow can take less.
"""

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from table import markdown

from commands.course import RMQALLOC, run
from rmqalloc.evaluation import parquet_plan
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files, plan_writer

Made = TypeVar("Made")

READ = ["consumer_group", "topic", "brokers", "client_ids"]
PARTS = {
    "decode: Parquet to columns": ("unit_files.py", "read_piece"),
    "sizes of units, batches cut": ("batch_planning.py", "pieces"),
    "columns of a fleet": ("arrow.py", "columns_from_arrow"),
    "order: queues and clients": ("fleet.py", "sorted"),
    "rows checked, ids that repeat": ("row_check.py", "read_batch"),
    "plan: owners and figures": ("evaluate.py", "evaluate"),
    "columns of the plan": ("figures_table.py", "batches"),
    "totals": ("totals.py", "totals_of"),
    "encode and write: columns to Parquet": ("core.py", "write_batch"),
}
"""File and function that do a part; what a part calls belongs to it, unless it is a part itself."""
_WITHIN = {
    "decode: Parquet to columns": "sizes of units, batches cut",
    "columns of a fleet": "rows checked, ids that repeat",
    "order: queues and clients": "rows checked, ids that repeat",
}
"""Parts whose time is within that of another."""


def cpu_of(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def on_this_thread(
    work: Callable[[int], Made],
    numbers: Iterable[int],
    threads: int,
    on_progress: parquet_plan.Progress | None = None,
    halted: list[bool] | None = None,
) -> list[Made]:
    """Do what the threads of a run do, on this one: a profile is of one thread."""
    del threads, on_progress, halted
    return [work(number) for number in numbers]


def parts(work: Callable[[], Any]) -> dict[str, float]:
    """Return CPU seconds by part of a call that works on this thread."""
    profile = cProfile.Profile(time.thread_time)
    profile.runcall(work)
    stats: Any = pstats.Stats(profile)
    taken = dict.fromkeys(PARTS, 0.0)
    for (file, _, function), (_, _, _, seconds, _) in stats.stats.items():
        for name, (of_file, of_function) in PARTS.items():
            if (Path(file).name, function) == (of_file, of_function):
                taken[name] += seconds
    for inner, outer in _WITHIN.items():
        taken[outer] -= taken[inner]
    if idle := [name for name, seconds in taken.items() if not seconds]:
        raise LookupError(f"no function of these parts was called: {', '.join(idle)}")
    return taken | {"the rest": stats.total_tt - sum(taken.values())}


def floors(fleet: Path, made: Path, spec: PlanSpec) -> dict[str, float]:
    """Return CPU seconds of pyarrow alone on one thread: the columns decoded by row groups, the
    plan encoded.
    """
    files = [pq.ParquetFile(path) for path in sorted(fleet.glob("*.parquet"))]
    plan = pq.read_table(made)

    def decode() -> None:
        for file in files:
            for group in range(file.num_row_groups):
                file.read_row_group(group, columns=READ, use_threads=False)

    def encode() -> None:
        with plan_writer(pa.BufferOutputStream(), spec) as writer:
            writer.write_table(plan)

    return {"pyarrow alone: decode": cpu_of(decode), "pyarrow alone: encode": cpu_of(encode)}


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m commands.parts", description="Where the time of bulk goes"
    )
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--strategy", default="AVG")
    given = parser.parse_args()
    spec = PlanSpec(given.strategy, output="owners")
    with tempfile.TemporaryDirectory(prefix="parts-") as folder:
        fleet, made = Path(folder, "fleet"), Path(folder, "plan")
        least = Path(folder, "least")
        for units, files, path in ((given.units, 4, fleet), (1, 1, least)):
            sizes = ["--units", str(units), "--files", str(files)]
            run([*RMQALLOC, "generate", *sizes, "--out", str(path)])
        parquet_plan.run_on_threads = on_this_thread
        plan_files(fleet, made, spec, threads=1)  # what is imported on the way is no part
        begun = [*RMQALLOC, "bulk", "-f", str(least), "--out", str(Path(folder, "begun"))]
        taken = {
            "start: the command on one unit": run(begun).cpu,
            **parts(lambda: plan_files(fleet, made, spec, threads=1)),
        }
        taken |= floors(fleet, made, spec)
    lines = [
        [name, f"{seconds:.2f} s", f"{seconds / given.units * 1e9:,.0f} ns"]
        for name, seconds in taken.items()
    ]
    print(f"{given.units:,} units under {given.strategy}, CPU time", file=sys.stderr)
    print(markdown(["part", "all", "a unit"], lines))


if __name__ == "__main__":
    main()
