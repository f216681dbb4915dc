"""What runs inside a release, as a program of its own: ``python worker.py VERB``, with the release
first on the path.

It uses names that every release has had, and prints JSON.
"""

import argparse
import ctypes
import json
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

import numpy as np

sys.path.append(
    str(Path(__file__).resolve().parents[1])
)  # the shapes; the release stands before them

from shapes import SHAPES, Shape, table_of

from rmqalloc import Fleet, strategy

GROWTH = [1_000, 10_000, 100_000, 1_000_000]
MOST_HASHED = 100_000
"""Groups that CONSISTENT_HASH is given: 5.6 million hashes."""
SMALL = Shape("1M x 1-32q x 1-8c, random", 1_000_000, 16, 4, 1, mixed=True)
STRATEGIES = ("AVG", "AVG_BY_CIRCLE")
LEAST_SECONDS = 0.002
"""A round lasts at least this long."""
WORK = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
N_MEASURED = 100_000
"""Groups of the fleet whose bytes are counted."""

Calls = dict[str, Callable[[], object]]


def calls_of(fleet: Fleet) -> tuple[Calls, int]:
    """Ways to write one warm buffer, and its queues: memory alone, numpy's fill, and strategies."""
    out = np.zeros(fleet.queue_offsets[-1], np.int32)
    calls: Calls = {
        "memset": partial(ctypes.memset, out.ctypes.data, 1, out.nbytes),
        "out.fill": partial(out.fill, 1),
    }
    for name in STRATEGIES:
        calls[name] = partial(strategy(name).assign_fleet, fleet, out=out)
    return calls, len(out)


def seconds(call: Callable[[], object], times: int) -> float:
    """CPU seconds of one call."""
    start = thread_time()
    for _ in range(times):
        call()
    return (thread_time() - start) / times


def rounds(calls: Calls, n_rounds: int) -> dict[str, float]:
    """Median CPU seconds of each call, all of them back to back in every round, each round
    beginning with another.
    """
    times = {
        name: int(LEAST_SECONDS / max(seconds(call, 2), 1e-7)) + 1 for name, call in calls.items()
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(n_rounds):
        for i in range(len(names)):
            name = names[(i + turn) % len(names)]
            taken[name].append(seconds(calls[name], times[name]))
    return {name: median(of) for name, of in taken.items()}


def per_queue(fleet: Fleet, n_rounds: int) -> dict[str, float]:
    """Nanoseconds of a queue."""
    calls, n_queues = calls_of(fleet)
    return {name: taken / n_queues * 1e9 for name, taken in rounds(calls, n_rounds).items()}


def growth(n_rounds: int) -> dict[str, Any]:
    """Nanoseconds per queue by the number of groups of 16 queues and 4 clients, and of a million
    groups of random size.
    """
    found: dict[str, Any] = {"growth": {}}
    for n_groups in GROWTH:
        fleet = Fleet.from_arrow(table_of(SHAPES[0]._replace(n_groups=n_groups)))
        found["growth"][str(n_groups)] = per_queue(fleet, n_rounds)
        if n_groups <= MOST_HASHED:
            call: Calls = {
                "CONSISTENT_HASH": partial(strategy("CONSISTENT_HASH").assign_fleet, fleet)
            }
            taken = rounds(call, min(n_rounds, 5))["CONSISTENT_HASH"]
            found["growth"][str(n_groups)]["CONSISTENT_HASH"] = (
                taken / fleet.queue_offsets[-1] * 1e9
            )
    found["small"] = per_queue(Fleet.from_arrow(table_of(SMALL)), n_rounds)
    return found


def memory() -> dict[str, float]:
    """Bytes of a fleet per unit: its own arrays, and the columns that it was made of and keeps."""
    table = table_of(SHAPES[0]._replace(n_groups=N_MEASURED))
    strategy("AVG").assign_fleet(Fleet.from_arrow(table.slice(0, 10)))  # whatever is made once
    tracemalloc.start()
    fleet = Fleet.from_arrow(table)
    strategy("AVG").assign_fleet(fleet, out=np.empty(fleet.queue_offsets[-1], np.int32))
    held, _ = tracemalloc.get_traced_memory()
    return {"fleet": round(held / N_MEASURED, 1), "columns": round(table.nbytes / N_MEASURED, 1)}


def fleet_file(n_groups: int, path: str) -> None:
    """Write the groups as a Parquet file that the job reads."""
    import pyarrow.parquet as pq

    pq.write_table(table_of(SHAPES[0]._replace(n_groups=n_groups)), path)


def bulk(source: str, target: str) -> dict[str, float]:
    """Plan the file by the command, and say how much memory this process took at most, in bytes."""
    import contextlib
    import io
    import resource

    from rmqalloc.cli import main

    sys.argv = ["rmqalloc", "bulk", "-f", source, "--out", target, "-s", "AVG"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    assert list(Path(target).glob("*.parquet")), f"bulk wrote nothing into {target}"
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def work() -> None:
    """Put kernels to work that every release has: what is counted by callgrind."""
    import instructions

    instructions.work(WORK)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="What runs inside a release")
    parser.add_argument("verb", choices=["growth", "memory", "fleet", "bulk", "work"])
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    verbs: dict[str, Callable[..., Any]] = {
        "growth": lambda n_rounds: growth(int(n_rounds)),
        "memory": memory,
        "fleet": lambda n_groups, path: fleet_file(int(n_groups), path),
        "bulk": bulk,
        "work": work,
    }
    found = verbs[options.verb](*options.arguments)
    if found is not None:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
