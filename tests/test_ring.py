"""The ring lookup against a dictionary filled as Java fills its TreeMap, once for every instruction set of this machine."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmqalloc._engine import ring

TOP = 2**32 - 1
FENCE = -7  # what stands in `out` where no unit writes


class Unit(NamedTuple):
    """One unit: its hashes, and which of the client lists it uses."""

    hashes: Sequence[int]
    clients: int


def model(points: Sequence[int], virtual_nodes: int, hashes: Sequence[int]) -> list[int]:
    """Owner slot of each hash, one dictionary entry a point: a later one overwrites."""
    owner_of = {int(point): i // virtual_nodes for i, point in enumerate(points)}
    ordered = np.array(sorted(owner_of), dtype=np.uint32)
    if not owner_of:
        return [-1] * len(hashes)
    places = np.searchsorted(ordered, np.array(hashes, dtype=np.uint32))
    return [owner_of[int(ordered[place % len(ordered)])] for place in places]


def locate(lists: Sequence[Sequence[int]], virtual_nodes: int, units: Sequence[Unit], before: int = 0) -> list[list[int]]:
    """Call the kernel on units laid out in reverse, with rows of another range before them."""
    slots = [len(points) // virtual_nodes if virtual_nodes else 2 for points in lists]
    slot_starts = before + np.cumsum([0, *slots], dtype=np.int64)
    n_queues = np.array([len(unit.hashes) for unit in units], dtype=np.int32)
    queue_starts = 2 * before + np.cumsum([0, *n_queues], dtype=np.int64)
    out_starts = np.cumsum([1, *(n_queues[::-1] + 1)], dtype=np.int64)[: len(units)][::-1].copy()
    out = np.full(n_queues.sum() + len(units) + 1, FENCE, dtype=np.int32)
    largest = max((len(points) for points in lists), default=0)
    scratch = np.zeros(ring.scratch_size(largest, n_queues.max(initial=0)), dtype=np.uint64)
    ring.locate(
        out_starts, n_queues, queue_starts[:-1].copy(),
        np.array([slot_starts[unit.clients] for unit in units], dtype=np.int64),
        np.array([slots[unit.clients] for unit in units], dtype=np.int32),
        2 * before, before, virtual_nodes,
        np.array([point for points in lists for point in points], dtype=np.uint32),
        np.array([h for unit in units for h in unit.hashes], dtype=np.uint32),
        scratch, out,
    )  # fmt: skip
    written = np.zeros(len(out), dtype=bool)
    for start, n in zip(out_starts, n_queues, strict=True):
        written[start : start + n] = True
    assert (out[~written] == FENCE).all()
    return [out[start : start + n].tolist() for start, n in zip(out_starts, n_queues, strict=True)]


def check(lists: Sequence[Sequence[int]], virtual_nodes: int, units: Sequence[Unit], before: int = 0) -> None:
    """Compare the kernel with the model on every unit."""
    expected = [model(lists[unit.clients], virtual_nodes, unit.hashes) for unit in units]
    assert locate(lists, virtual_nodes, units, before) == expected


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[list[int]], int, list[Unit], int]:
    """Small fleets on few values, so that equal points, points equal to hashes, and wraps are common."""
    values = st.sampled_from([0, 1, 2, 3, 4, 5, 2**31 - 1, 2**31, 2**31 + 1, TOP - 1, TOP])
    values = draw(st.sampled_from([values, st.integers(0, TOP), st.integers(TOP - 40, TOP)]))
    virtual_nodes = draw(st.integers(0, 4))
    lists = [
        draw(st.lists(values, min_size=m * virtual_nodes, max_size=m * virtual_nodes))
        for m in draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))
    ]
    unit = st.builds(Unit, st.lists(values, max_size=40), st.integers(0, len(lists) - 1))
    return lists, virtual_nodes, draw(st.lists(unit, max_size=6)), draw(st.sampled_from([0, 1, 1000]))


@given(fleets())
def test_small_fleets(fleet: tuple[list[list[int]], int, list[Unit], int]) -> None:
    check(*fleet)
