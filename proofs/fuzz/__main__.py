"""Structured fuzz: ``python -m fuzz [readers|wire|all] [--inputs N] [--seed S] [--quick] [--report
F]``.

Ends with 1 if any input ends in an error that is not the reader's own.
"""

import argparse
import importlib.util
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from fuzz.outcome import Outcome
from fuzz.readers import READERS
from fuzz.running import run

QUICK = 400
HEAD = """# Structured fuzz of every reader

`make evidence`, or `python -m fuzz all --report build/evidence/fuzz.md`. Every input is a right file with its data, its text or
its bytes changed: values of other kinds, keys left out, twice or unknown, numbers that are none or too large, half surrogate
pairs, nesting, files that end early, bits turned over within what is packed. An input may be read or end in the reader's own
error; anything else is a defect. Each reader runs in a process of its own; memory is by how much its resident memory rose while
it read.
"""
COLUMNS = (
    "reader",
    "inputs",
    "read",
    "its own errors",
    "other errors",
    "slowest input",
    "of bytes",
    "memory risen by",
    "last by bytes",
)


def wire(n, seed):
    """The wire's runs, where they are there."""
    from fuzz import wire

    return wire.run(n, seed)


def main():
    """Run what is asked for, print a table, and name every traceback."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("readers", "wire", "all"), default="all")
    parser.add_argument("--inputs", type=int, default=100_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", choices=list(READERS), help="only these")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} inputs each")
    parser.add_argument("--report", help="write the table into this file, too")
    given = parser.parse_args()
    n = QUICK if given.quick else given.inputs
    names = [] if given.what == "wire" else given.reader or list(READERS)
    runs = [(run, name, (name, n, given.seed)) for name in names]
    if given.what != "readers" and importlib.util.find_spec("fuzz.wire") and not given.reader:
        runs.append((wire, "wire", (n, given.seed)))
    started, lines, tracebacks = time.monotonic(), [row(COLUMNS), row(["---"] * len(COLUMNS))], []
    print(*lines, sep="\n", flush=True)
    for made in map(beside if given.quick else alone, runs):
        lines.append(row(cells(made)))
        print(lines[-1], flush=True)
        tracebacks += made.tracebacks
    print(
        *tracebacks,
        f"{len(tracebacks)} kinds of tracebacks, {time.monotonic() - started:.0f} s",
        sep="\n\n",
        file=sys.stderr,
    )
    if given.report:
        end = f"\nSeed {given.seed}; {time.monotonic() - started:,.0f} s in all, on a machine that others used.\n"
        Path(given.report).write_text("\n".join([HEAD, *lines]) + "\n" + end, encoding="utf-8")
    return int(bool(tracebacks))


def beside(one):
    """A run in this process, which is quicker."""
    called, _, arguments = one
    return called(*arguments)


def alone(one):
    """A run in a process of its own; one that dies is a traceback, too."""
    called, name, arguments = one
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(called, *arguments).result()
        except BrokenProcessPool as error:
            return Outcome(
                name,
                arguments[-2],
                {},
                [f"{name}, seed {arguments[-1]}: {error}"],
                0.0,
                b"",
                0,
                b"",
            )


def cells(made):
    """A row of the table."""
    errors = dict(made.errors)
    n_read, n_others = errors.pop("read", 0), errors.pop("traceback", 0)
    own = ", ".join(f"{name} {count:,}" for name, count in sorted(errors.items())) or "–"
    size = f"{made.worst_memory / 2**20:,.0f} MiB"
    worst = (f"{made.worst_seconds * 1000:,.0f} ms", f"{len(made.worst_seconds_input):,}")
    n_others = max(n_others, len(made.tracebacks))
    return (
        made.name,
        f"{made.inputs:,}",
        f"{n_read:,}",
        own,
        f"{n_others:,}",
        *worst,
        size,
        f"{len(made.worst_memory_input):,}",
    )


def row(texts):
    """A line of a table."""
    return f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    sys.exit(main())
