"""Sets of readers, states beside one another, and sums: each against the plainest thing that says
the same.
"""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.ownership.between import Between, Flows, aligned
from rmqalloc.ownership.group_figures import added, flows_of_groups, loads_of_groups
from rmqalloc.ownership.reader_sets import ABSENT, ClientNumbers, ReaderSets
from rmqalloc.ownership.states import ClientRows

N_CLIENTS = 6
read_by = st.lists(st.frozensets(st.integers(0, N_CLIENTS - 1), max_size=4), max_size=12)


def numbers_of(sets, queues):
    return np.array([sets.number([*readers]) for readers in queues], np.int32)


def sets_of(sets, numbers):
    found = [set() for _ in numbers]
    for place, one in zip(*(column.tolist() for column in sets.readers(numbers)), strict=True):
        found[place].add(one)
    return [frozenset(one) for one in found]


@examples(60, nightly=5_000)
@given(read_by, read_by)
def test_numbers_of_readers_are_equal_just_where_their_sets_are(some, others):
    sets = ReaderSets(N_CLIENTS)
    numbers = np.concatenate([numbers_of(sets, some), numbers_of(sets, others)])
    every = [*some, *others]
    assert sets_of(sets, numbers) == every
    assert [frozenset(sets.members(number)) for number in numbers.tolist()] == every
    assert sets.sizes(numbers).tolist() == [len(one) for one in every]
    assert len(set(numbers.tolist())) == len(set(every))


@examples(60, nightly=5_000)
@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(-1, 4)), min_size=1, max_size=4))
def test_aligned_states_have_every_queue_once_and_say_where_it_is_not_there(states):
    columns = [
        (np.array(list(one), np.int64), [np.array(list(one.values()), np.int32)]) for one in states
    ]
    keys, [owners] = aligned(columns)
    assert keys.tolist() == sorted({key for one in states for key in one})
    assert owners.tolist() == [[one.get(key, ABSENT) for key in keys.tolist()] for one in states]


@examples(60, nightly=5_000)
@given(
    st.lists(
        st.tuples(
            *[st.none() | st.frozensets(st.integers(0, 5), max_size=3)] * 2, st.integers(0, 3)
        ),
        max_size=12,
    )
)
def test_what_clients_gain_and_lose_adds_up_at_every_level(queues):
    sets = ReaderSets(N_CLIENTS)
    sides = [numbers_of(sets, [one[side] or () for one in queues]) for side in (0, 1)]
    for side, numbers in enumerate(sides):
        numbers[[one[side] is None for one in queues]] = ABSENT
    between = Between(np.arange(len(queues)), *sides, *sides, sets)
    both = [
        (before, after) for before, after, _ in queues if before is not None and after is not None
    ]
    assert int(between.moved.sum()) == sum(before != after for before, after in both)
    assert int(between.is_new.sum()) == sum(
        before is None and after is not None for before, after, _ in queues
    )

    gained, lost = Counter(), Counter()
    for before, after, unit in queues:
        gained.update((unit, one) for one in (after or frozenset()) - (before or frozenset()))
        lost.update((unit, one) for one in (before or frozenset()) - (after or frozenset()))
    flows = between.flows(np.array([unit for *_, unit in queues], np.int64), N_CLIENTS)
    keys = list(zip(flows.of.tolist(), flows.clients.tolist(), strict=True))
    assert dict(zip(keys, flows.gained.tolist(), strict=True)) == {key: gained[key] for key in keys}
    assert dict(zip(keys, flows.lost.tolist(), strict=True)) == {key: lost[key] for key in keys}
    assert keys == sorted({*gained, *lost})

    group_of = np.array([0, 1, 1, 0])
    figures = flows_of_groups(flows, group_of, 2, N_CLIENTS)
    grows = Counter()
    for (unit, one), n in [*gained.items(), *((key, -n) for key, n in lost.items())]:
        grows[int(group_of[unit]), one] += n
    for group in (0, 1):
        mine = [n for (of, _), n in grows.items() if of == group]
        assert figures["clients_affected"][group] == len(mine)
        assert figures["clients_gaining"][group] == sum(n > 0 for n in mine)
        assert figures["clients_losing"][group] == sum(n < 0 for n in mine)


def test_a_client_of_several_topics_counts_once_and_a_repeated_id_as_often_as_it_is_listed():
    rows, clients = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([3, 3, 4, 3, 3, 4, 3], np.int32)
    repeats, loads = np.array([0, 1, 0, 0, 1, 0, 0]), np.array([2, 0, 1, 1, 0, 0, 5], np.int32)
    listed = ClientRows(rows, clients, repeats, loads, np.full(7, -1, np.int32))
    found = loads_of_groups(listed, np.array([1, 1, 0]), 3, N_CLIENTS)
    assert {name: column.tolist() for name, column in found.items()} == {
        "n_clients": [1, 3, 0], "idle": [0, 1, 0], "min_load": [5, 0, 0], "max_load": [5, 3, 0], "n_loads": [5, 4, 0],
    }  # fmt: skip


def test_clients_of_one_id_have_numbers_of_their_own():
    numbers = ClientNumbers(np.array([2, 1, 3]))
    every = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    found = [int(numbers.of(np.array([one]), np.array([again]))[0]) for one, again in every]
    assert sorted(found) == list(range(numbers.n))
    assert [found[every.index((client_id, 0))] for client_id in range(3)] == [0, 1, 2]


def test_sums_beyond_what_a_number_holds_stay_at_the_most():
    most = np.iinfo(np.int64).max
    assert added(np.array([0, 0, 1]), np.array([most, 5, 7]), 2).tolist() == [most, 7]


def test_flows_of_nothing():
    none = np.zeros(0, np.int64)
    assert [one.size for one in Flows(none, none, none, none).added(np.array([0]), 3)] == [
        0,
        0,
        0,
        0,
    ]
