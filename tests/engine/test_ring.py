"""The ring lookup against a dictionary filled as Java fills its TreeMap, once for every instruction
set of this machine.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instruction_sets import isas_of
from numpy.typing import NDArray

from rmqalloc._engine import ring

TOP = 2**32 - 1
FENCE = -7  # what `out` holds where no unit may write

Values = Sequence[int] | NDArray[np.uint32]


class Unit(NamedTuple):
    """The hashes of one unit's queues, and which of the client lists it has."""

    hashes: Values
    clients: int = 0


isa = isas_of(ring)


each_isa = pytest.mark.usefixtures("isa")


def model(points: Values, virtual_nodes: int, hashes: Values) -> list[int]:
    """Owner slot of each hash; every point is put into a dictionary, so that a later one
    overwrites.
    """
    owner_of = {int(point): i // virtual_nodes for i, point in enumerate(points)}
    if not owner_of:
        return [-1] * len(hashes)
    ring_points = np.array(sorted(owner_of), dtype=np.uint32)
    first = np.searchsorted(ring_points, np.asarray(hashes, dtype=np.uint32)) % len(ring_points)
    return [owner_of[int(point)] for point in ring_points[first]]


def column(parts: Sequence[Values]) -> NDArray[np.uint32]:
    """Lay lists of values end to end."""
    return np.concatenate(
        [np.empty(0, np.uint32), *(np.asarray(part, dtype=np.uint32) for part in parts)]
    )


def check(
    lists: Sequence[Values], virtual_nodes: int, units: Sequence[Unit], before: int = 0
) -> None:
    """Compare the kernel with the model, hashes and owners laid out in turn end to end and in
    reverse with gaps between.

    The columns are taken to be parts of longer ones, with `before` slots and twice as many queues
    before them.
    """
    slots = [len(points) // virtual_nodes if virtual_nodes else 2 for points in lists]
    slot_starts = before + np.cumsum([0, *slots], dtype=np.int64)
    n_queues = np.array([len(unit.hashes) for unit in units], dtype=np.int32)
    clients = np.array([unit.clients for unit in units], dtype=np.int64)
    owners = [model(lists[unit.clients], virtual_nodes, unit.hashes) for unit in units]
    scratch_size = ring.scratch_size(max(map(len, lists)), n_queues.max(initial=0))
    in_order = np.cumsum([0, *n_queues], dtype=np.int64)[:-1]
    reverse = 1 + np.cumsum([0, *(n_queues[::-1] + 1)], dtype=np.int64)[-2::-1].copy()
    for queue_starts, out_starts in [
        (in_order, in_order),
        (in_order, reverse),
        (reverse, in_order),
    ]:
        hashes = np.zeros(n_queues.sum() + len(units) + 1, dtype=np.uint32)
        out = np.full(len(hashes), FENCE, dtype=np.int32)
        want = out.copy()
        for i, unit in enumerate(units):
            hashes[queue_starts[i] : queue_starts[i] + n_queues[i]] = unit.hashes
            want[out_starts[i] : out_starts[i] + n_queues[i]] = owners[i]
        scratch = np.full(scratch_size + 1, TOP, dtype=np.uint64)
        ring.locate(
            out_starts, n_queues, 2 * before + queue_starts, slot_starts[clients],
            np.array(slots, dtype=np.int32)[clients], 2 * before, before, virtual_nodes,
            column(lists), hashes, scratch[:-1], out,
        )  # fmt: skip
        np.testing.assert_array_equal(out, want)
        assert scratch[-1] == TOP


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[list[int]], int, list[Unit], int]:
    """Small fleets on few values: equal points, points equal to hashes and hashes beyond the last
    point are common.
    """
    few = st.sampled_from([0, 1, 2, 3, 5, 2**31 - 1, 2**31, 2**31 + 1, TOP - 1, TOP])
    values = draw(st.sampled_from([few, st.integers(0, TOP), st.integers(TOP - 40, TOP)]))
    virtual_nodes = draw(st.integers(0, 5))
    sizes = [m * virtual_nodes for m in draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))]
    lists = [draw(st.lists(values, min_size=size, max_size=size)) for size in sizes]
    unit = st.builds(Unit, st.lists(values, max_size=40), st.integers(0, len(lists) - 1))
    return (
        lists,
        virtual_nodes,
        draw(st.lists(unit, max_size=6)),
        draw(st.sampled_from([0, 1, 1000])),
    )


@each_isa
@given(fleets())
def test_small_fleets(fleet: tuple[list[list[int]], int, list[Unit], int]) -> None:
    check(*fleet)


# Each of these is drawn for points and hashes alike; the last two crowd, which hashes of MD5 never
# do.
KINDS = {
    "any": lambda random, n: random.integers(0, TOP, n, np.uint32, endpoint=True),
    "few": lambda random, n: random.integers(0, TOP, 3 * n // 4 + 1, np.uint32)[
        random.integers(0, 3 * n // 4 + 1, n)
    ],
    "regular": lambda random, n: (random.integers(0, 2 * n + 2, n) * (TOP // (2 * n + 1))).astype(
        np.uint32
    ),
    "at the top": lambda random, n: random.integers(TOP - n // 2, TOP, n, np.uint32, endpoint=True),
    "ranks": lambda random, n: random.integers(0, n + 1, n, np.uint32),
}

# Queues, clients and virtual nodes on either side of every threshold: scan, search, sift, and whole
# and broken vectors.
SHAPES = [
    *((n, 4, 10) for n in (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127)),
    *((n, 16, 10) for n in (64, 200, 300, 400)),
    *((n, 16, 160) for n in (8, 64, 128, 256, 1000, 3000)),
    *((n, 100, 10) for n in (30, 100, 200, 500, 1024)),
    (5000, 300, 1), (20000, 1, 7), (3000, 500, 160), (100000, 500, 10), (0, 5, 3), (5, 0, 3), (5, 3, 0),
]  # fmt: skip


@pytest.mark.thorough(keep=78)
@each_isa
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_queues", "n_clients", "virtual_nodes"), SHAPES)
def test_shapes(n_queues: int, n_clients: int, virtual_nodes: int, kind: str) -> None:
    random = np.random.default_rng([n_queues, n_clients, virtual_nodes])
    points, hashes = KINDS[kind](random, n_clients * virtual_nodes), KINDS[kind](random, n_queues)
    hashes[: len(points) // 2 : 3] = points[: len(hashes[: len(points) // 2 : 3])]
    check([points], virtual_nodes, [Unit(hashes)])


@pytest.mark.thorough(keep=6)
@each_isa
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_points", [40, 700, 5000])
def test_neighbours_share_a_client_list(n_points: int, kind: str) -> None:
    random = np.random.default_rng(n_points)
    lists = [KINDS[kind](random, n) for n in (n_points, 10, n_points // 20 * 10)]
    sizes, clients = (
        random.integers(0, 90, 240).tolist(),
        random.integers(0, 3, 60).repeat(4).tolist(),
    )
    units = [Unit(KINDS[kind](random, n), c) for n, c in zip(sizes, clients, strict=True)]
    check(lists, 10, units, before=77)


@each_isa
def test_equal_points_go_to_the_last_inserted() -> None:
    check([[5, 9, 5, 9, 7, 5]], 2, [Unit([4, 5, 6, 7, 8, 9, 10])])
    assert model([5, 9, 5, 9, 7, 5], 2, [4, 8, 10]) == [2, 1, 2]


@each_isa
def test_no_units() -> None:
    check([[1, 2]], 2, [])
