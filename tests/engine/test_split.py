"""Splits against one line of Python each, once for every instruction set of this machine, and what
lies around them.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instruction_sets import isas_of

from rmqalloc._engine import split

FENCE = -7  # what `out` holds where no unit may write


isa = isas_of(split)


each_isa = pytest.mark.usefixtures("isa")


def contiguous(n_queues, n_clients):
    if not n_clients:
        return np.full(n_queues, -1)
    return np.repeat(
        np.arange(n_clients), (n_queues + n_clients - 1 - np.arange(n_clients)) // n_clients
    )


def circular(n_queues, n_clients):
    return np.arange(n_queues) % n_clients if n_clients else np.full(n_queues, -1)


MODELS = {"contiguous": contiguous, "circular": circular}
each_split = pytest.mark.parametrize("name", MODELS)


def check(name, units, before=3, behind=3):
    """Split units that lie inside a longer `out`; nothing around them may change."""
    queue_offsets = before + np.cumsum([0, *(n_queues for n_queues, _ in units)], dtype=np.int64)
    n_clients = np.array([n for _, n in units], np.int32)
    out = np.full(int(queue_offsets[-1]) + behind, FENCE, np.int32)
    getattr(split, name)(queue_offsets, n_clients, out)
    owners = [MODELS[name](*unit) for unit in units]
    want = np.concatenate([np.full(before, FENCE), *owners, np.full(behind, FENCE)])
    np.testing.assert_array_equal(out, want)


@each_isa
@each_split
@pytest.mark.parametrize("behind", [0, 40])
@given(
    units=st.lists(st.tuples(st.integers(0, 70), st.integers(0, 40)), max_size=12),
    before=st.integers(0, 20),
)
def test_many_small_units(name, behind, units, before):
    check(name, units, before, behind)


@each_isa
@each_split
@pytest.mark.parametrize("behind", [0, 70])
@given(
    sizes=st.lists(st.integers(0, 70), min_size=1, max_size=4),
    clients=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    n_units=st.integers(40, 400),
    exception=st.tuples(st.integers(0, 39), st.tuples(st.integers(0, 200), st.integers(0, 300))),
)
def test_chunks_of_units_alike_or_nearly_so(name, behind, sizes, clients, n_units, exception):
    units = [(sizes[u % len(sizes)], clients[u % len(clients)]) for u in range(n_units)]
    check(name, units, behind=behind)
    units[exception[0]] = exception[1]
    check(name, units, behind=behind)


@pytest.mark.thorough(keep=1)
@each_isa
@each_split
def test_every_uniform_fleet(name):
    for n_queues in range(72):
        for n_clients in (0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 100, 2000):
            check(name, [(n_queues, n_clients)] * 100)


@each_isa
@each_split
@pytest.mark.parametrize("n_clients", [71, 2**21, 2**24 + 1, 2**31 - 1])
def test_more_clients_than_queues(name, n_clients):
    for sizes in ([16] * 60, [64] * 60, range(70)):
        queue_offsets = np.cumsum([0, *sizes], dtype=np.int64)
        out = np.full(queue_offsets[-1], FENCE, np.int32)
        getattr(split, name)(queue_offsets, np.full(len(sizes), n_clients, np.int32), out)
        np.testing.assert_array_equal(out, np.concatenate([np.arange(size) for size in sizes]))


@each_isa
@each_split
def test_every_small_size(name):
    for n_clients in range(36):
        check(name, [(n_queues, n_clients) for n_queues in range(130)])
    for n_clients in (0, 1, 3, 17):
        for n_queues in range(36):
            check(name, [(n_queues, n_clients)], behind=0)


# More than the table of patterns has: 32 queues and 15 clients.
SMALL = st.tuples(st.integers(0, 40), st.integers(0, 18))


@each_isa
@each_split
@pytest.mark.parametrize("most_queues", [8, 16, 32, 33, 64, 65])
@pytest.mark.parametrize("most_clients", [8, 15, 16])
def test_every_small_unit_among_others(name, most_queues, most_clients):
    rng = np.random.default_rng(most_queues)
    every = [
        (n_queues, n_clients)
        for n_queues in range(most_queues + 1)
        for n_clients in range(most_clients + 1)
    ]
    units = [every[i] for i in [*rng.permutation(len(every)), *rng.permutation(len(every))]]
    for behind in (0, 1, 31, 70):
        check(name, units, before=1, behind=behind)
    check(name, [(n_queues, most_clients) for n_queues, _ in units])


@pytest.mark.thorough(keep=1)
@each_isa
@each_split
@given(units=st.lists(SMALL, min_size=49, max_size=150), rest=st.lists(SMALL, max_size=3))
def test_small_units_in_whole_chunks_up_to_the_end(name, units, rest):
    check(
        name,
        [(min(n_queues, 32), n_clients % 16) for n_queues, n_clients in units] + rest,
        behind=0,
    )
    check(name, units + rest)


SHAPES = [
    (4095, 7),
    (4096, 7),
    (5000, 1),
    (5001, 16),
    (9999, 17),
    (10_007, 333),
    (10_007, 334),
    (40_000, 39_999),
]
HUGE = [(5000, 0), (7, 10_000), (2**21 - 1, 65_537), (2**21 + 5, 300_000), (2**21 - 1, 2**21)]


@pytest.mark.thorough(keep=10)
@each_isa
@each_split
@pytest.mark.parametrize("shape", [*SHAPES, *HUGE])
def test_large_units(name, shape):
    for before in (0, 1, 6):
        check(name, [shape, (3, 2)], before)
        check(name, [(1, 1), shape], before)


@pytest.mark.thorough(keep=1)
@each_isa
@each_split
def test_places_stay_exact_up_to_the_last_queue(name):
    n_queues = 2**21 - 1
    for size in (1, 3, 7, 13, 23, 31):
        check(name, [(n_queues, n_queues // size), (n_queues, n_queues // (size + 1) + 1)])


@each_isa
@each_split
def test_ranges_of_units_write_their_own_queues_only(name):
    rng = np.random.default_rng(1)
    n_queues, n_clients = rng.integers(0, 40, 200), rng.integers(0, 20, 200).astype(np.int32)
    queue_offsets = np.concatenate([[0], np.cumsum(n_queues)]).astype(np.int64)
    whole = np.empty(int(queue_offsets[-1]), np.int32)
    getattr(split, name)(queue_offsets, n_clients, whole)
    pieces = np.full(whole.size, FENCE, np.int32)
    cuts = [0, 1, 50, 51, 130, 200]
    for i, j in reversed(list(pairwise(cuts))):
        getattr(split, name)(queue_offsets[i : j + 1], n_clients[i:j], pieces)
    np.testing.assert_array_equal(pieces, whole)


@each_isa
@each_split
def test_ranges_of_small_units_end_where_the_next_begins(name):
    rng = np.random.default_rng(2)
    n_queues = np.r_[rng.integers(0, 33, 600), rng.integers(32, 65, 200)]
    n_clients = rng.integers(0, 9, 800).astype(np.int32)
    queue_offsets = np.concatenate([[0], np.cumsum(n_queues)]).astype(np.int64)
    whole = np.concatenate(
        [MODELS[name](*unit) for unit in zip(n_queues, n_clients, strict=True)]
    ).astype(np.int32)
    # A thread has the units before the cut; what is behind it is already written.
    for cut in [*range(90, 160), *range(690, 760)]:
        out = whole.copy()
        out[: queue_offsets[cut]] = FENCE
        getattr(split, name)(queue_offsets[: cut + 1], n_clients[:cut], out)
        np.testing.assert_array_equal(out, whole)


@each_isa
@each_split
def test_nothing_to_split(name):
    getattr(split, name)(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    getattr(split, name)(np.zeros(3, np.int64), np.array([2, 0], np.int32), np.empty(0, np.int32))
