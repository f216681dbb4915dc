"""Processes in turns: the wall and CPU time and the memory of each, and ratios of them."""

import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
LAUNCH = Path(__file__).with_name("launch.py")
RMQALLOC = ("-m", "rmqalloc")
ROUNDS = 3
"""Rounds of a quick ratio; the least CPU time of each contender counts."""


class Run(NamedTuple):
    """What one process took."""

    wall: float
    cpu: float
    mebibytes: float


class Taken(NamedTuple):
    """What several runs took: medians, the least CPU time, how far the wall times lie apart."""

    wall: float
    cpu: float
    least: float
    mebibytes: float
    spread: float

    @classmethod
    def by(cls, runs: Sequence[Run]) -> "Taken":
        """Sum up the runs of a contender."""
        walls, cpus, sizes = zip(*runs, strict=True)
        wall = median(walls)
        return cls(wall, median(cpus), min(cpus), max(sizes), (max(walls) - min(walls)) / wall)

    def cells(self) -> list[str]:
        """Return what a table shows of it: wall, spread, CPU, memory."""
        return [
            f"{self.wall:.2f} s",
            f"{self.spread:.0%}",
            f"{self.cpu:.2f} s",
            f"{self.mebibytes:,.0f} MiB",
        ]


class Heat(NamedTuple):
    """Contenders that run in turns."""

    size: str
    """What they read, for the names of ratios."""
    cells: tuple[str, ...]
    """What the first cells of its rows say."""
    contenders: Mapping[str, Sequence[str]]
    """Arguments of Python, by name."""
    pairs: Sequence[tuple[str, str]]
    """Ours, and the rival that it is compared with."""
    prepare: Callable[[], object]
    """Writes what the contenders read, and compares their answers."""

    def named(self) -> dict[str, tuple[str, str]]:
        """Return the pairs by the name of their ratio."""
        return {f"{ours} over {rival}: {self.size}": (ours, rival) for ours, rival in self.pairs}

    def names(self) -> list[str]:
        """Return the names of all its ratios."""
        return list(self.named())

    def ratios(self, names: Collection[str]) -> dict[str, float]:
        """Measure some ratios of CPU time."""
        pairs = {name: pair for name, pair in self.named().items() if name in names}
        running = {name for pair in pairs.values() for name in pair}
        rounds = [self.round(name for name in self.contenders if name in running)]
        rounds += [self.round(rounds[0]) for _ in range(ROUNDS - 1)]
        least = {name: min(runs[name].cpu for runs in rounds) for name in running}
        return {name: least[ours] / least[rival] for name, (ours, rival) in pairs.items()}

    def taken(self, runs: int) -> dict[str, Taken]:
        """Run all contenders again and again; a first round, which fills caches, does not count."""
        rounds = [self.round(self.contenders) for _ in range(runs + 1)][1:]
        return {name: Taken.by([runs[name] for runs in rounds]) for name in self.contenders}

    def round(self, names: Iterable[str]) -> dict[str, Run]:
        """Run contenders one after the other."""
        return {name: run(self.contenders[name]) for name in names}

    def rows(self, runs: int, of: int) -> Iterable[list[str]]:
        """Yield a row for every contender; `of` says which of a pair a row is about."""
        taken = self.taken(runs)
        pairs = {pair[of]: pair for pair in self.pairs}
        for name, own in taken.items():
            ours, rival = (taken[side] for side in pairs.get(name, (name, name)))
            beside = [] if of else [pairs[name][1] if name in pairs else "–"]
            ratios = [f"{ours.wall / rival.wall:.2f}", f"{ours.cpu / rival.cpu:.2f}"]
            yield [*self.cells, name, *own.cells(), *beside, *ratios]


def run(arguments: Sequence[str]) -> Run:
    """Run a program of this Python to its end.

    Raises
    ------
    SystemExit
        If it fails.
    """
    launch = [sys.executable, "-I", "-S", str(LAUNCH), sys.executable, *arguments]
    done = subprocess.run(launch, capture_output=True, text=True, check=True)
    status, wall, cpu, kibibytes = map(float, done.stdout.split())
    if status:
        sys.exit(f"{' '.join(arguments)} ends with {status:.0f}: {done.stderr[-2000:]}")
    return Run(wall, cpu, kibibytes / 1024)
