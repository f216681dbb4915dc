"""Loads, balance and movement of allocations, against vectorised numpy."""

from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, fleet

from rmqalloc import strategy
from rmqalloc._engine import tally

CASES = ["loads", "balance", "moved", "least_moves", "movement", "align", "cross_room"]


class Both:
    """Two allocations of groups of 16 queues and 4 clients, the second of which leaves; `align`
    also drops the last queue.
    """

    def __init__(self, n_groups: int) -> None:
        of = fleet(SHAPES[0]._replace(n_groups=n_groups), n_groups)
        self.offsets, self.slots = of.queue_offsets, of.client_offsets
        self.n_queues, self.n_clients, self.n_after = (
            of.n_queues,
            of.n_clients,
            of.n_clients - np.int32(1),
        )
        self.before, self.after = (
            strategy("CONSISTENT_HASH").assign_fleet(of),
            strategy("AVG").assign_fleet(of) % 3,
        )
        self.renamed = np.tile(np.array([0, -1, 1, 2], np.int32), n_groups)
        self.slot_of_queue = np.repeat(self.slots[:-1], of.n_queues)
        self.load, self.out = np.empty(self.slots[-1], np.int32), np.empty((4, n_groups), np.int32)
        self.scratch = np.empty(13, np.int32)
        rng = np.random.default_rng(1)
        self.starts, self.slot_starts = of.queue_starts, of.slot_starts
        self.queue_route, self.route_offsets = (
            of.queue_lists.queue_route,
            of.queue_lists.route_offsets,
        )
        self.route_room, self.slot_room = (
            rng.integers(-1, 3, n, dtype=np.int32)
            for n in (of.queue_lists.route_topic.size, self.slots[-1])
        )

    def set_up_align(self) -> None:
        """Keys of the queues on both sides, in order, and what is to be aligned."""
        n_groups = self.n_queues.size
        self.keys = [np.tile(np.arange(n, dtype=np.uint64), n_groups) for n in (16, 15)]
        self.ends = [np.arange(n_groups + 1) * n for n in (16, 15)]
        self.order = [keys.astype(np.int32) for keys in self.keys]
        self.kept = np.ascontiguousarray(self.after.reshape(-1, 16)[:, :15]).reshape(-1)
        self.aligned, self.aligned_offsets = (
            np.empty((2, 31 * n_groups), np.int32),
            np.empty(n_groups + 1, np.int64),
        )


class Engine(Both):
    """The kernels."""

    def loads(self) -> Any:
        tally.loads(self.offsets, self.slots, self.before, self.load)
        return self.load

    def balance(self) -> Any:
        tally.balance(self.offsets, self.n_clients, self.before, self.scratch, *self.out)
        return self.out

    def moved(self) -> Any:
        tally.moved(
            self.offsets, self.before, self.after, self.slots[:-1], self.renamed, self.out[0]
        )
        return self.out[0]

    def least_moves(self) -> Any:
        tally.least_moves(
            self.offsets, self.before, self.n_clients, self.slots[:-1], self.renamed, self.n_after, self.scratch,
            self.out[0],
        )  # fmt: skip
        return self.out[0]

    def movement(self) -> Any:
        tally.movement(
            self.offsets, self.before, self.after, self.n_clients, self.slots[:-1], self.renamed, self.n_after,
            self.scratch, *self.out[:3],
        )  # fmt: skip
        return self.out[:3]

    def align(self) -> Any:
        sides = zip(
            self.ends, self.order, self.keys, self.ends, (self.before, self.kept), strict=True
        )
        (starts, *before), (starts_after, *after) = sides
        tally.align(
            starts[:-1], *before, starts_after[:-1], *after, self.aligned_offsets, *self.aligned
        )
        return self.aligned[:, : self.aligned_offsets[-1]]

    def cross_room(self) -> Any:
        tally.cross_room(
            self.offsets, self.before, self.starts, self.queue_route, self.route_offsets, self.route_room,
            self.slot_starts, self.slot_room, self.out[0],
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
        return np.stack(
            [unowned, idle, np.minimum.reduceat(counts, lo), np.maximum.reduceat(counts, lo)]
        )

    def moved(self) -> Any:
        changed = self.renamed[self.slot_of_queue + self.before] != self.after
        return np.add.reduceat(changed, self.offsets[:-1], dtype=np.int32)

    def least_moves(self) -> Any:
        counts = np.where(self.renamed >= 0, self.loads(), 0)
        size, extra = np.divmod(self.n_queues, self.n_clients - 1)
        each, lo = np.repeat(size, self.n_clients), self.slots[:-1]
        over = np.add.reduceat(counts > each, lo)
        return (
            self.n_queues - np.add.reduceat(np.minimum(counts, each), lo) - np.minimum(over, extra)
        )

    def movement(self) -> Any:
        """Clients after have the numbers of the slots before, those that are gone the numbers
        behind all of these.
        """
        n_slots, lo = self.slots[-1], self.slots[:-1]
        gone = np.arange(n_slots, 2 * n_slots)
        numbers = np.where(self.renamed >= 0, np.repeat(lo, self.n_clients) + self.renamed, gone)
        was, now = numbers[self.slot_of_queue + self.before], self.slot_of_queue + self.after
        changed = was != now
        touched = np.zeros(2 * n_slots, bool)
        touched[was[changed]] = touched[now[changed]] = True
        moved = np.add.reduceat(changed, self.offsets[:-1], dtype=np.int32)
        return np.stack(
            [moved, self.least_moves(), np.add.reduceat(touched.reshape(2, -1).sum(axis=0), lo)]
        )

    def align(self) -> Any:
        unit_keys = [np.repeat(np.arange(ends.size - 1), np.diff(ends)) * 2**32 + keys.view(np.int64)
                     for ends, keys in zip(self.ends, self.keys, strict=True)]  # fmt: skip
        every = np.sort(np.concatenate(unit_keys), kind="stable")
        every = every[np.append(True, np.diff(every) > 0)]
        aligned = np.full((2, every.size), tally.ABSENT, np.int32)
        for side, keys, owners in zip(aligned, unit_keys, (self.before, self.kept), strict=True):
            side[np.searchsorted(every, keys)] = owners
        return aligned

    def cross_room(self) -> Any:
        rooms, other = (
            self.route_room[self.queue_route],
            self.slot_room[self.slot_of_queue + self.before],
        )
        return np.add.reduceat(
            (rooms != other) & (rooms >= 0) & (other >= 0), self.offsets[:-1], dtype=np.int32
        )


SIDES: dict[str, type[Both]] = {"engine": Engine, "numpy": Numpy}


@pytest.mark.parametrize("contender", ["engine", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_tally(case: str, contender: str, clock: Any, quick: bool) -> None:
    """Count over a million groups of 16 queues and 4 clients."""
    n_groups = 20 if quick else SHAPES[0].n_groups
    sides = {name: side(n_groups) for name, side in SIDES.items()}
    if case == "align":
        for side in sides.values():
            side.set_up_align()
    calls = {name: getattr(side, case) for name, side in sides.items()}
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
