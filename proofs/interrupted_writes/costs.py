"""What bringing to the disk costs, with fsync and without, in turns: ``python -m
interrupted_writes.costs [FOLDER]``.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from interrupted_writes.writers import make_inputs
from rmqalloc import MessageQueue
from rmqalloc.cli._app import run
from rmqalloc.plans import load_plan, save_plan
from rmqalloc.rebalance._offset_file import write_offsets
from rmqalloc.snapshot.files import read_snapshot, write_snapshot

UNITS = 1_000_000


def costs(home):
    """Name, median seconds with fsync and without."""
    fleet, owners = str(home / "fleet"), str(home / "owners")
    make_inputs(home)
    run(["generate", "--units", str(UNITS), "--out", fleet])
    read, loaded = read_snapshot(str(home / "s-new.json")), load_plan(home / "plan-new.json")
    table = {MessageQueue("topic", f"broker-{i % 4}", i): i for i in range(64)}
    works = {
        f"bulk of {UNITS:,} units (AVG)": (
            3,
            lambda: run(["bulk", "--in", fleet, "--out", owners]),
        ),
        "write_snapshot of 144 clients, JSON": (
            40,
            lambda: write_snapshot(read, str(home / "s.json")),
        ),
        "save_plan of 2 groups": (40, lambda: save_plan(loaded, home / "p.json")),
        "write_offsets of 64 queues": (
            40,
            lambda: write_offsets(home / "client" / "offsets.json", table),
        ),
    }
    for name, (times, work) in works.items():
        yield (name, *_medians(work, times))


def _medians(work, times):
    real, seconds = os.fsync, ([], [])
    for _ in range(times):
        for taken, sync in zip(seconds, (real, lambda _: None), strict=True):
            os.fsync = sync
            started = time.perf_counter()
            work()
            taken.append(time.perf_counter() - started)
    os.fsync = real
    return map(statistics.median, seconds)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for row in costs(Path(folder)):
            print(f"| {row[0]} | {row[1]:.4f} | {row[2]:.4f} | {row[1] / row[2]:.2f} |", flush=True)
