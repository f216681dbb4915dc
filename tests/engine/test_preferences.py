"""STABLE's matches and drafts of bare numbers under every instruction set, against what its page
says in a few lines.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from instruction_sets import isas_of

from rmqalloc._engine import preferences

FENCE = -7


isa = isas_of(preferences)


each_isa = pytest.mark.usefixtures("isa")
quick = examples(60)

ANY = st.integers(0, 2**32 - 1)
FEW = st.integers(0, 2)  # many scores are equal
NUMBERS = st.one_of(st.lists(ANY, min_size=1, max_size=70), st.lists(FEW, min_size=1, max_size=300))


def mixed(h):
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def matched(queues, clients):
    """All pairs in order; a pair is taken if the queue is free and the client has room."""
    pairs = sorted(
        (-mixed(q ^ c), i, j) for i, q in enumerate(queues) for j, c in enumerate(clients)
    )
    low, pool = divmod(len(queues), len(clients))
    owners, load = [-1] * len(queues), [0] * len(clients)
    for _, i, j in pairs:
        extra = load[j] == low and pool > 0
        if owners[i] < 0 and (load[j] < low or extra):
            pool -= extra
            load[j] += 1
            owners[i] = j
    return owners


def drafted(queues, clients):
    """In round k each client asks for the k-th of its favourites; those of one round are looked at
    by a second score.
    """
    n = len(clients)
    middle = (2 * len(queues) + n) // (2 * n)
    low = max(middle - 1, 0)
    pool = len(queues) - n * low
    owners, load = [-1] * len(queues), [0] * n
    favourites = [
        sorted(range(len(queues)), key=lambda i, c=c: (-mixed(queues[i] ^ c), i)) for c in clients
    ]
    for k in range(len(queues)):
        asked = [(j, favourites[j][k]) for j in range(n) if owners[favourites[j][k]] < 0]
        asked.sort(
            key=lambda one: (-mixed((clients[one[0]] + 0x1234567 * queues[one[1]]) % 2**32), one[0])
        )
        for j, i in asked:
            if owners[i] < 0 and (load[j] < low or (load[j] < middle + 1 and pool > 0)):
                pool -= load[j] >= low
                load[j] += 1
                owners[i] = j
    return owners


def check(units, in_rounds):
    """All units in one call, their owners with a place between them that nobody may write."""
    queues = np.array([number for unit in units for number in unit[0]], np.uint32)
    clients = np.array([number for unit in units for number in unit[1]], np.uint32)
    n_queues = np.array([len(unit[0]) for unit in units], np.int32)
    n_clients = np.array([len(unit[1]) for unit in units], np.int32)
    starts = np.concatenate([[0], np.cumsum(n_queues)]).astype(np.int64)
    slots = np.concatenate([[0], np.cumsum(n_clients)]).astype(np.int64)
    n_pairs, n_words = preferences.scratch_sizes(int(n_queues.max()), int(n_clients.max()))
    out = np.full(len(queues) + len(units), FENCE, np.int32)
    out_starts = starts[:-1] + np.arange(len(units))
    preferences.match(
        *(out_starts, n_queues, starts[:-1], slots[:-1], n_clients, queues, clients, in_rounds),
        *(np.empty(n_pairs, np.uint64), np.empty(n_words, np.uint32), out),
    )
    model = drafted if in_rounds else matched
    want = [
        owner
        for unit in units
        for owner in [*(model(*unit) if unit[1] else [FENCE] * len(unit[0])), FENCE]
    ]
    assert out.tolist() == want


@each_isa
@pytest.mark.parametrize("in_rounds", [False, True])
@quick
@given(units=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3))
def test_units_of_any_numbers(in_rounds, units):
    check([(queues, clients[:40]) for queues, clients in units], in_rounds)


SIZES = [1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 600]


@pytest.mark.thorough(keep=2)
@each_isa
@pytest.mark.parametrize("in_rounds", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_around_the_sizes_of_vectors_and_blocks(in_rounds, few):
    rng = np.random.default_rng(1)
    for n_queues in SIZES:
        for n_clients in (1, 3, 16, 17, 33):
            draw = [rng.integers(0, 3 if few else 2**32, n).tolist() for n in (n_queues, n_clients)]
            check([tuple(draw)], in_rounds)


def test_units_without_queues_or_clients_are_passed_over():
    check([([1, 2], []), ([], [1]), ([3, 4, 5], [6, 7])], in_rounds=False)


@given(n_queues=st.integers(1, 5000), n_clients=st.integers(1, 5000))
def test_room_for_the_most_is_enough_for_all(n_queues, n_clients):
    here = preferences.scratch_sizes(n_queues, n_clients)
    for more in (
        preferences.scratch_sizes(n_queues + 1, n_clients),
        preferences.scratch_sizes(n_queues, n_clients + 1),
    ):
        assert all(one <= other for one, other in zip(here, more, strict=True))
