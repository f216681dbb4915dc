"""Counting kernels against plain Python, and the faces that guard them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import Fleet, strategy
from rmqalloc._engine import tally
from rmqalloc.whatif.metrics import balance, loads


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
