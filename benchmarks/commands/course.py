"""Processes in turns: the wall and CPU time and the memory of each."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"


class Run(NamedTuple):
    """What one process took."""

    wall: float
    cpu: float
    mebibytes: float


class Taken(NamedTuple):
    """Medians of several runs, and how far the wall times lie apart."""

    wall: float
    cpu: float
    mebibytes: float
    spread: float

    def cells(self) -> list[str]:
        """Return what a table shows of it: wall, spread, CPU, memory."""
        return [
            f"{self.wall:.2f} s",
            f"{self.spread:.0%}",
            f"{self.cpu:.2f} s",
            f"{self.mebibytes:,.0f} MiB",
        ]


def run(arguments: Sequence[str]) -> Run:
    """Run a program of this Python to its end.

    Raises
    ------
    SystemExit
        If it fails.
    """
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ends with {process.returncode}: {said[-2000:]}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def in_turns(contenders: Mapping[str, Sequence[str]], runs: int) -> dict[str, Taken]:
    """Run all contenders one after the other, again and again; a first round, which fills caches,
    does not count.
    """
    rounds = [
        {name: run(arguments) for name, arguments in contenders.items()} for _ in range(runs + 1)
    ][1:]
    taken = {}
    for name in contenders:
        walls, cpus, sizes = zip(*(one[name] for one in rounds), strict=True)
        taken[name] = Taken(
            median(walls), median(cpus), max(sizes), (max(walls) - min(walls)) / median(walls)
        )
    return taken
