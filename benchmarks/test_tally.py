"""Loads, balance and movement of two allocations, against vectorised numpy."""

from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, fleet

from rmqalloc import strategy
from rmqalloc._engine import tally

CASES = ["loads", "balance", "moved", "least_moves"]


class Both:
    """Two allocations of groups of 16 queues and 4 clients, the second of which leaves."""

    def __init__(self, n_groups: int) -> None:
        of = fleet(SHAPES[0], n_groups)
        self.offsets, self.slots = of.queue_offsets, of.client_offsets
        self.n_queues, self.n_clients = of.n_queues, of.n_clients
        self.before, self.after = strategy("CONSISTENT_HASH").assign_fleet(of), strategy("AVG").assign_fleet(of) % 3
        self.renamed = np.tile(np.array([0, -1, 1, 2], np.int32), n_groups)
        self.slot_of_queue = np.repeat(self.slots[:-1], of.n_queues)
        self.load, self.scratch = np.empty(self.slots[-1], np.int32), np.empty(4, np.int32)
        self.out = np.empty((4, n_groups), np.int32)


class Engine(Both):
    """The kernels."""

    def loads(self) -> Any:
        tally.loads(self.offsets, self.slots, self.before, self.load)
        return self.load

    def balance(self) -> Any:
        tally.balance(self.offsets, self.n_clients, self.before, self.scratch, *self.out)
        return self.out

    def moved(self) -> Any:
        tally.moved(self.offsets, self.before, self.after, self.slots[:-1], self.renamed, self.out[0])
        return self.out[0]

    def least_moves(self) -> Any:
        tally.least_moves(
            self.offsets, self.before, self.n_clients, self.slots[:-1], self.renamed, self.n_clients - np.int32(1),
            self.scratch, self.out[0],
        )  # fmt: skip
        return self.out[0]


class Numpy(Both):
    """The same without a loop."""

    def loads(self) -> Any:
        return np.bincount(self.slot_of_queue + self.before, minlength=self.slots[-1])

    def balance(self) -> Any:
        counts, lo = self.loads(), self.slots[:-1]
        unowned = np.add.reduceat(self.before < 0, self.offsets[:-1])
        idle = np.add.reduceat(counts == 0, lo)
        return np.stack([unowned, idle, np.minimum.reduceat(counts, lo), np.maximum.reduceat(counts, lo)])

    def moved(self) -> Any:
        changed = self.renamed[self.slot_of_queue + self.before] != self.after
        return np.add.reduceat(changed, self.offsets[:-1], dtype=np.int32)

    def least_moves(self) -> Any:
        counts = np.where(self.renamed >= 0, self.loads(), 0)
        size, extra = np.divmod(self.n_queues, self.n_clients - 1)
        each, lo = np.repeat(size, self.n_clients), self.slots[:-1]
        over = np.add.reduceat(counts > each, lo)
        return self.n_queues - np.add.reduceat(np.minimum(counts, each), lo) - np.minimum(over, extra)


SIDES: dict[str, type[Both]] = {"engine": Engine, "numpy": Numpy}


@pytest.mark.parametrize("contender", ["engine", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_tally(case: str, contender: str, clock: Any, quick: bool) -> None:
    """Count over a million groups of 16 queues and 4 clients."""
    n_groups = 20 if quick else SHAPES[0].n_groups
    calls = {name: getattr(side(n_groups), case) for name, side in SIDES.items()}
    np.testing.assert_array_equal(calls["engine"](), calls["numpy"]())
    clock(
        calls[contender],
        table="Tally, 1M x 16q x 4c",
        contender=contender,
        case=case,
        unit="group",
        units=n_groups,
        base=contender == "engine",
    )
