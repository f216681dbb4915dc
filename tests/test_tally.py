"""Counting kernels against plain Python, and the faces that guard them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import Fleet, strategy
from rmqalloc._engine import tally
from rmqalloc.whatif.metrics import balance, loads
from rmqalloc.whatif.movement import movement


@st.composite
def units(draw):
    """Per unit its number of clients and the owners of its queues."""
    n_clients = draw(st.integers(0, 5))
    return n_clients, draw(st.lists(st.integers(-1, n_clients - 1), max_size=12))


def counted(n_clients, owners):
    """Plain Python: load of every client, and unowned, idle, least, most."""
    counts = [owners.count(client) for client in range(n_clients)]
    return counts, (owners.count(-1), counts.count(0), min(counts, default=0), max(counts, default=0))


def columns(units):
    n_clients = np.array([n for n, _ in units], np.int32)
    queue_offsets = np.cumsum([0, *(len(owners) for _, owners in units)], dtype=np.int64)
    owners = np.array([owner for _, owners in units for owner in owners], np.int32)
    return n_clients, queue_offsets, owners


@given(st.lists(units(), max_size=8))
def test_balance_is_what_plain_python_counts(units):
    n_clients, queue_offsets, owners = columns(units)
    out = np.full((4, len(units)), 99, np.int32)
    tally.balance(queue_offsets, n_clients, owners, np.full(5, 99, np.int32), *out)
    assert [tuple(figures) for figures in out.T.tolist()] == [counted(*unit)[1] for unit in units]


@given(st.lists(units(), max_size=8))
def test_loads_are_what_plain_python_counts(units):
    n_clients, queue_offsets, owners = columns(units)
    client_offsets = np.cumsum([0, *n_clients], dtype=np.int64)
    out = np.full(client_offsets[-1], 99, np.int32)
    tally.loads(queue_offsets, client_offsets, owners, out)
    assert out.tolist() == [count for unit in units for count in counted(*unit)[0]]


def test_loads_of_many_clients_and_queues():
    rng = np.random.default_rng(3)
    for n_clients, n_queues in product([1, 7, 8, 9, 40], [1, 254, 255, 256, 1000]):
        owners = rng.integers(-3, n_clients, n_queues, dtype=np.int32)
        out, most = np.empty(n_clients, np.int32), np.zeros((5, 1), np.int32)
        tally.loads(np.array([0, n_queues]), np.array([0, n_clients]), owners, out)
        assert out.tolist() == np.bincount(owners[owners >= 0], minlength=n_clients).tolist()
        one = np.array([n_clients], np.int32)
        tally.balance(np.array([0, n_queues]), one, owners, np.empty(n_clients, np.int32), *most[:4])
        assert most[:4, 0].tolist() == [(owners < 0).sum(), (out == 0).sum(), out.min(), out.max()]
    owners = np.zeros(255, np.int32)
    tally.loads(np.array([0, 255]), np.array([0, 7]), owners, out := np.empty(7, np.int32))
    assert out.tolist() == [255, 0, 0, 0, 0, 0, 0]


@st.composite
def changes(draw, most_queues=12, most_clients=5):
    """A unit before and after: owners, the place after of every client before (-1: gone), clients after, owners."""
    n_before, n_after = draw(st.integers(0, most_clients)), draw(st.integers(0, most_clients))
    places = draw(st.permutations([*range(n_after), *[-1] * n_before]))[:n_before]
    n_queues = draw(st.integers(0, most_queues))
    before, after = (
        draw(st.lists(st.integers(-2, n - 1), min_size=n_queues, max_size=n_queues)) for n in (n_before, n_after)
    )
    return before, places, n_after, after


def changed(before, places, after):
    """Plain Python: queues whose owner has another name after; clients before that are gone have names of their own."""
    names = [f"after {place}" if place >= 0 else f"gone {client}" for client, place in enumerate(places)]
    old = ["nobody" if owner < 0 else names[owner] for owner in before]
    new = ["nobody" if owner < 0 else f"after {owner}" for owner in after]
    return sum(a != b for a, b in zip(old, new, strict=True))


def fewest(before, places, n_after):
    """All assignments tried: the least that `changed` says of an even one."""
    even = [
        after
        for after in product(range(n_after) if n_after else [-1], repeat=len(before))
        if n_after == 0 or np.ptp(np.bincount(after or [0], minlength=n_after)) <= 1 or not after
    ]
    return min(changed(before, places, after) for after in even)


def change_columns(units, first):
    """Columns of units from one on, their offsets absolute."""
    queue_offsets = np.cumsum([0, *(len(unit[0]) for unit in units)], dtype=np.int64)
    slots = np.cumsum([0, *(len(unit[1]) for unit in units)], dtype=np.int64)
    before, renamed, after = (np.array([x for unit in units for x in unit[i]], np.int32) for i in (0, 1, 3))
    return queue_offsets[first:], before, slots[first:-1], np.diff(slots)[first:].astype(np.int32), renamed, after


@given(st.lists(changes(), min_size=1, max_size=8), st.integers(0, 2))
def test_moved_is_what_plain_python_counts(units, first):
    queue_offsets, before, slot_starts, _, renamed, after = change_columns(units, first)
    out = np.full(slot_starts.size, 99, np.int32)
    tally.moved(queue_offsets, before, after, slot_starts, renamed, out)
    assert out.tolist() == [changed(before, places, after) for before, places, _, after in units[first:]]


@given(st.lists(changes(most_queues=5, most_clients=4), min_size=1, max_size=4), st.integers(0, 1))
def test_least_moves_is_the_best_of_all_even_assignments(units, first):
    queue_offsets, before, slot_starts, n_before, renamed, _ = change_columns(units, first)
    n_after = np.array([unit[2] for unit in units[first:]], np.int32)
    out = np.full(n_after.size, 99, np.int32)
    tally.least_moves(queue_offsets, before, n_before, slot_starts, renamed, n_after, np.full(4, 99, np.int32), out)
    assert out.tolist() == [fewest(*unit[:3]) for unit in units[first:]]


def fleet_of(units):
    """A fleet with the sizes of the units."""
    queues = [[("b", i) for i in range(len(owners))] for _, owners in units]
    clients = [[f"c{i}" for i in range(n)] for n, _ in units]
    return Fleet.from_groups(("g", "t", q, c) for q, c in zip(queues, clients, strict=True))


@given(st.lists(units(), max_size=8))
def test_the_faces_say_the_same_of_a_fleet(units):
    _, _, owners = columns(units)
    fleet = fleet_of(units)
    figures = balance(fleet, owners)
    assert loads(fleet, owners).tolist() == [count for unit in units for count in counted(*unit)[0]]
    for u, (n_clients, owners_of_unit) in enumerate(units):
        unowned, idle, least, most = counted(n_clients, owners_of_unit)[1]
        skew = most / (len(owners_of_unit) / n_clients) if most else 0.0
        want = [len(owners_of_unit), n_clients, unowned, idle, least, most, pytest.approx(skew)]
        assert [field[u] for field in figures] == want


def test_figures_have_the_promised_types():
    figures = balance(fleet_of([(2, [0, 1, 1])]), np.array([0, 1, 1], np.int32))
    assert [field.dtype for field in figures] == [np.int32] * 6 + [np.float64]
    assert figures.skew.tolist() == [2 / 1.5]


@pytest.mark.parametrize(
    "unit",
    [(0, []), (3, []), (0, [-1, -1]), (3, [-1, -1])],
    ids=["nothing", "no queues", "no clients", "nothing owned"],
)
def test_skew_is_zero_where_nothing_is_owned(unit):
    figures = balance(fleet_of([unit]), np.array(unit[1], np.int32))
    assert (figures.skew.tolist(), figures.max_load.tolist(), figures.min_load.tolist()) == ([0.0], [0], [0])


def test_more_clients_than_queues_cannot_be_even():
    fleet = fleet_of([(8, [0, 0])])
    assert balance(fleet, strategy("AVG").assign_fleet(fleet)).skew.tolist() == [4.0]


@pytest.mark.parametrize("figure", [balance, loads])
@pytest.mark.parametrize(
    ("owners", "said"),
    [
        (np.zeros(2, np.int32), r"shape \(2,\): int32 of shape \(3,\), one per queue"),
        (np.zeros(3, np.int64), "owners is int64"),
        (np.array([0, 2, 0], np.int32), "names client 2 in unit 1, which has 2 clients"),
    ],
)
def test_owners_that_do_not_fit_are_refused(figure, owners, said):
    with pytest.raises(ValueError, match=said):
        figure(fleet_of([(5, [0]), (2, [0, 0])]), owners)


def test_owners_may_be_a_view_of_something_larger():
    wide = np.array([[0, 9], [1, 9], [1, 9]], np.int32)
    assert loads(fleet_of([(2, [0, 1, 1])]), wide[:, 0]).tolist() == [1, 2]


@given(st.data())
def test_movement_counts_client_ids_that_change(data):
    """The face over both kernels, against plain Python, with lists that lose, gain and reorder ids."""
    ids = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=7)
    groups = data.draw(st.lists(st.tuples(st.integers(0, 9), ids, ids), max_size=5))
    fleets = [
        Fleet.from_groups(
            [(f"g{g}", "T", [("b", i) for i in range(n)], lists[side]) for g, (n, *lists) in enumerate(groups)]
        )
        for side in (0, 1)
    ]
    owners = [
        [data.draw(st.integers(-1, len(lists[side]) - 1)) for n, *lists in groups for _ in range(n)] for side in (0, 1)
    ]
    figures = movement(fleets[0], np.array(owners[0], np.int32), fleets[1], np.array(owners[1], np.int32))
    at = 0
    for g, (n, before, after) in enumerate(groups):
        names = [
            [None if o < 0 else side[o] for o in of[at : at + n]]
            for side, of in ((before, owners[0]), (after, owners[1]))
        ]
        at += n
        assert figures.moved[g] == sum(a != b for a, b in zip(*names, strict=True))
        if after:
            kept = sorted((names[0].count(c) for c in after if c in before), reverse=True)
            size, extra = divmod(n, len(after))
            keep = sum(min(load, size + (i < extra)) for i, load in enumerate(kept))
            assert figures.least_moves[g] == n - keep


def test_movement_refuses_other_queues():
    one, two = (Fleet.from_groups([("g", "T", [("b", i) for i in range(n)], ["x"])]) for n in (1, 2))
    with pytest.raises(ValueError, match="same units with the same queues"):
        movement(one, np.zeros(1, np.int32), two, np.zeros(2, np.int32))
