"""Kernels of closed forms beside a memory fill: `out.fill` writes the same bytes and computes
nothing.

In a buffer that the cache of a core holds the ratio is steady on a busy machine; from a million
groups on both wait for memory, which other programs share.
"""

import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np
from shapes import SHAPES, Shape, fleet

from rmqalloc import strategy
from rmqalloc._engine import split

SECTION = "kernels"
HEADER = ("shape", "groups", "instructions", "strategy", "a group", "CPU over out.fill")
STRATEGIES = ("AVG", "AVG_BY_CIRCLE")
CACHED = 1 << 16
"""Queues of a fleet whose owners are in the cache: 256 KiB."""
_SHAPES = [SHAPES[place] for place in (0, 2, 3)]
_PAIRS, _SECONDS = 41, 0.002
"""Measurements of a ratio, and the least that one takes."""


class Case(NamedTuple):
    """A kernel on a fleet of one shape."""

    shape: Shape
    groups: int
    isa: str
    strategy: str

    @property
    def name(self) -> str:
        """The name of its ratio."""
        return f"{self.strategy} over out.fill: {self.groups:,} groups of {self.size}, {self.isa}"

    @property
    def size(self) -> str:
        """Queues and clients of a group."""
        return f"{self.shape.n_queues}q x {self.shape.n_clients}c"

    def measured(self) -> tuple[float, float]:
        """Return CPU seconds of a call, and their ratio to the fill in turns: the least of each."""
        of = self.shape._replace(n_groups=self.groups)
        units, engine = fleet(of, self.groups), strategy(self.strategy)
        out = np.zeros(units.queue_offsets[-1], np.int32)
        kernel, fill = (lambda: engine.assign_fleet(units, out=out)), (lambda: out.fill(0))
        before = split.isa()
        split.force_isa(self.isa)
        try:
            pairs = [(_seconds(kernel), _seconds(fill)) for _ in range(_PAIRS)]
        finally:
            split.force_isa(before)
        own, of_fill = (min(side) for side in zip(*pairs, strict=True))
        return own, own / of_fill


class Kernels:
    """All kernels in the cache, as a heat of quick ratios."""

    def prepare(self) -> None:
        """Write nothing: fleets are made in memory."""

    def names(self) -> list[str]:
        """Return the names of its ratios."""
        return [case.name for case in cached()]

    def ratios(self, names: Collection[str]) -> dict[str, float]:
        """Measure some ratios of CPU time."""
        return {case.name: case.measured()[1] for case in cached() if case.name in names}


def cached() -> list[Case]:
    """Fleets whose owners are in the cache, with the best instructions of this machine and AVX2."""
    return [case for shape in _SHAPES for case in _cases(shape, CACHED // shape.n_queues)]


def rows() -> Iterator[list[str]]:
    """Yield a row for every kernel, on a fleet in the cache and on a large one."""
    for shape in _SHAPES:
        for groups in (CACHED // shape.n_queues, shape.n_groups):
            for case in _cases(shape, groups):
                taken, ratio = case.measured()
                one = f"{taken / groups * 1e9:.3g} ns"
                yield [case.size, f"{groups:,}", case.isa, case.strategy, one, f"{ratio:.2f}"]


def _cases(shape: Shape, groups: int) -> list[Case]:
    best, *others = split.available_isas()
    isas = [best, *(isa for isa in others if isa == "avx2")]
    return [Case(shape, groups, isa, name) for name in STRATEGIES for isa in isas]


def _seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call, of as many as take long enough to be measured."""
    calls, began = 0, time.process_time()
    while (taken := time.process_time() - began) < _SECONDS:
        call()
        calls += 1
    return taken / calls
