"""Loads, balance and movement of two allocations, against vectorised numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, fleet

from rmqalloc import strategy
from rmqalloc._engine import tally

CASES = ["loads", "balance", "moved", "least moves"]
Calls = dict[str, Callable[[], Any]]


def calls(case: str, n_groups: int) -> Calls:
    """Both sides of a case: 16 queues, 4 clients, the second of which leaves; each call returns its figures."""
    of = fleet(SHAPES[0], n_groups)
    offsets, slots, n_clients = of.queue_offsets, of.client_offsets, of.n_clients
    before, after = strategy("CONSISTENT_HASH").assign_fleet(of), strategy("AVG").assign_fleet(of) % 3
    renamed = np.tile(np.array([0, -1, 1, 2], np.int32), n_groups)
    slot_of_queue = np.repeat(slots[:-1], of.n_queues)
    load, scratch = np.empty(slots[-1], np.int32), np.empty(4, np.int32)
    out = np.empty((4, n_groups), np.int32)

    def loads() -> Any:
        tally.loads(offsets, slots, before, load)
        return load

    def balance() -> Any:
        tally.balance(offsets, n_clients, before, scratch, *out)
        return out

    def moved() -> Any:
        tally.moved(offsets, before, after, slots[:-1], renamed, out[0])
        return out[0]

    def least_moves() -> Any:
        tally.least_moves(offsets, before, n_clients, slots[:-1], renamed, n_clients - np.int32(1), scratch, out[0])
        return out[0]

    def numpy_loads() -> Any:
        return np.bincount(slot_of_queue + before, minlength=slots[-1])

    def numpy_balance() -> Any:
        counts, lo = numpy_loads(), slots[:-1]
        unowned = np.add.reduceat(before < 0, offsets[:-1])
        idle = np.add.reduceat(counts == 0, lo)
        return np.stack([unowned, idle, np.minimum.reduceat(counts, lo), np.maximum.reduceat(counts, lo)])

    def numpy_moved() -> Any:
        return np.add.reduceat(renamed[slot_of_queue + before] != after, offsets[:-1], dtype=np.int32)

    def numpy_least_moves() -> Any:
        counts = np.where(renamed >= 0, numpy_loads(), 0)
        size, extra = np.divmod(of.n_queues, n_clients - 1)
        each = np.repeat(size, n_clients)
        over = np.add.reduceat(counts > each, slots[:-1])
        return of.n_queues - np.add.reduceat(np.minimum(counts, each), slots[:-1]) - np.minimum(over, extra)

    engine = {"loads": loads, "balance": balance, "moved": moved, "least moves": least_moves}
    rival = {"loads": numpy_loads, "balance": numpy_balance, "moved": numpy_moved, "least moves": numpy_least_moves}
    return {"engine": engine[case], "numpy": rival[case]}


@pytest.mark.parametrize("contender", ["engine", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_tally(case: str, contender: str, clock: Any, quick: bool) -> None:
    """Count over a million groups of 16 queues and 4 clients."""
    n_groups = 20 if quick else SHAPES[0].n_groups
    both = calls(case, n_groups)
    np.testing.assert_array_equal(both["engine"](), both["numpy"]())
    clock(
        both[contender],
        table="Tally, 1M x 16q x 4c",
        contender=contender,
        case=case,
        unit="group",
        units=n_groups,
        base=contender == "engine",
    )
