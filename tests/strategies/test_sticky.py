"""STICKY: as few moves as brute force finds among all even allocations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from strategy_cases import numbered

from rmqalloc import Fleet, MessageQueue, strategy

SMALL = st.tuples(
    st.lists(st.sampled_from(["a", "b", "c", "gone", None]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4, unique=True),
)


def so_far(had, queues):
    return {queue: one for queue, one in zip(queues, had, strict=True) if one is not None}


def fewest_moves(had, clients):
    """Over every allocation whose loads differ by one at most."""
    best = len(had)
    for owners in itertools.product(clients, repeat=len(had)):
        loads = [owners.count(one) for one in clients]
        if max(loads) - min(loads) <= 1:
            best = min(best, sum(a != b for a, b in zip(had, owners, strict=True)))
    return best


@examples(60, nightly=1000)
@given(SMALL)
def test_no_even_allocation_has_fewer_moves(small):
    had, clients = small
    queues = numbered(len(had))
    owners = strategy("STICKY", owners=so_far(had, queues)).assign(queues, clients).owners
    loads = np.bincount(owners, minlength=len(clients))
    assert loads.max() - loads.min() <= 1
    assert sum(clients[i] != one for i, one in zip(owners, had, strict=True)) == fewest_moves(
        had, clients
    )


@given(SMALL)
def test_every_client_a_group_and_a_fleet_agree(small):
    had, clients = small
    queues = [*numbered(len(had)), MessageQueue("T", "\ud83d\ude00", 7)]
    made = strategy("STICKY", owners=so_far([*had, "a"], queues))
    owners = made.assign(queues, clients).owners.tolist()
    fleet = Fleet.from_groups([("g", "T", queues, clients), ("h", "T", queues, ["a"])])
    assert made.assign_fleet(fleet).tolist() == owners + [0] * len(queues)
    for i, client in enumerate(clients):
        assert made.allocate("g", client, queues, clients) == [
            q for q, o in zip(queues, owners, strict=True) if o == i
        ]
        assert made.allocate("g", "stranger", queues, clients) == []


def test_repeated_ids_count_once_and_what_the_empty_one_gets_is_nobody_s():
    made = strategy("STICKY", owners={})
    assert made.assign(numbered(7), ["b", "a", "b", ""]).owners.tolist() == [0, 0, 1, -1, 0, 1, -1]


def test_ties_go_by_the_order_of_clients():
    queues = numbered(7)
    made = strategy("STICKY", owners=dict(zip(queues, "aaabbbc", strict=True)))
    assert made.assign(queues, ["a", "b", "c"]).owners.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert made.assign(queues, ["b", "a", "c"]).owners.tolist() == [1, 1, 2, 0, 0, 0, 2]


@pytest.mark.parametrize("owners", [None, [("q", "a")], {("T", "b", 0): 3}])
def test_wrong_parameters(owners):
    with pytest.raises(TypeError, match="owners must map queues to client ids"):
        strategy("STICKY", owners=owners)


def test_reasons():
    queues = numbered(5)
    made = strategy("STICKY", owners=dict(zip(queues, ["a", "a", "a", "gone"], strict=False)))
    assert made.assign(queues, ["a", "b"]).owners.tolist() == [0, 0, 0, 1, 1]
    said = [made.explain(queues, ["a", "b"], place).steps[-1] for place in (0, 3, 4)]
    assert said == [
        "client a owned the queue and keeps it, with 3 queues in all",
        "client gone, the previous owner, has left: the queue goes to client b, which had the most room left",
        "no client owned the queue: the queue goes to client b, which had the most room left",
    ]
    assert "has its full share" in made.explain(queues, ["a", "b", "c"], 2).steps[-1]
