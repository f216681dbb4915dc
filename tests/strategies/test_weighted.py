"""WEIGHTED: loads over capacities near the best there is."""

import random
from fractions import Fraction

import numpy as np
import pytest
import reference_own
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import client_names, numbered
from strategy_declarations import Promise

from rmqalloc import Fleet, MessageQueue, strategy

PROMISES = [Promise("WEIGHTED", "WEIGHTED")]


def owners_of(weights, capacities):
    queues, clients = numbered(len(weights)), client_names(len(capacities))
    made = strategy(
        "WEIGHTED",
        capacities=dict(zip(clients, capacities, strict=True)),
        weights={
            (queue.broker_name, queue.queue_id): one
            for queue, one in zip(queues, weights, strict=True)
        },
    )
    return made.assign(queues, clients).owners.tolist()


def fullest(weights, capacities, owners):
    loads = [0] * len(capacities)
    for weight, owner in zip(weights, owners, strict=True):
        loads[owner] += weight
    return max(Fraction(load, capacity) for load, capacity in zip(loads, capacities, strict=True))


def is_possible(weights, rooms):
    """Whether some allocation of all the weights stays below all these rooms; every one is tried."""
    if not weights:
        return True
    for i, room in enumerate(rooms):
        left = [*rooms[:i], room - weights[0], *rooms[i + 1 :]]
        if weights[0] < room and room not in rooms[:i] and is_possible(weights[1:], left):
            return True
    return False


def test_at_most_four_thirds_of_the_best():
    draw, cases = random.Random(18), []
    for _ in range(10_000):
        most, more = draw.choice([3, 10, 1000]), draw.choice([1, 2, 20])
        weights = [draw.randint(1, most) for _ in range(draw.randint(1, 8))]
        cases.append((weights, [draw.randint(1, more) for _ in range(draw.randint(1, 4))]))
    made = strategy(
        "WEIGHTED",
        capacities={
            f"{case}-{i}": one
            for case, (_, capacities) in enumerate(cases)
            for i, one in enumerate(capacities)
        },
        weights={
            (f"T{case}", "b", i): one
            for case, (weights, _) in enumerate(cases)
            for i, one in enumerate(weights)
        },
    )
    fleet = Fleet.from_groups(
        (
            "g",
            f"T{case}",
            [("b", i) for i in range(len(weights))],
            [f"{case}-{i}" for i in range(len(capacities))],
        )
        for case, (weights, capacities) in enumerate(cases)
    )
    owners, starts = made.assign_fleet(fleet).tolist(), fleet.queue_offsets.tolist()
    assert len(cases) == 10_000
    for case, (weights, capacities) in enumerate(cases):
        found = fullest(weights, capacities, owners[starts[case] : starts[case + 1]])
        scaled = [
            12 * found.denominator * one for one in weights
        ]  # whole numbers throughout, for speed
        rooms = [9 * found.numerator * one for one in capacities]
        assert not is_possible(sorted(scaled, reverse=True), rooms), (weights, capacities)


@given(
    st.lists(st.integers(1, 12) | st.integers(1, 2**31 - 1), min_size=1, max_size=12),
    st.lists(st.integers(1, 4) | st.integers(1, 2**31 - 1), min_size=1, max_size=6),
)
def test_the_twin_agrees(weights, capacities):
    assert owners_of(weights, capacities) == reference_own.weighted(weights, capacities)


def test_without_numbers_loads_differ_by_one():
    for n_queues in (1, 5, 64, 65, 300):
        loads = np.bincount(
            strategy("WEIGHTED").assign(numbered(n_queues), client_names(7)).owners, minlength=7
        )
        assert loads.max() - loads.min() <= 1


@pytest.mark.parametrize(
    ("weights", "capacities", "best", "heaviest_first"),
    [
        ([7, 5, 5], [2, 3], Fraction(7, 2), 4),
        ([6, 5, 4, 7, 4], [1, 2], 9, 10),
        ([2, 4, 2, 5], [3, 2], Fraction(8, 3), 3),
    ],
)
def test_moves_and_swaps_are_found(weights, capacities, best, heaviest_first):
    assert fullest(weights, capacities, owners_of(weights, capacities)) == best < heaviest_first


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fleet_is_its_groups(threads):
    capacities, weights = {"a": 3, "b": 2}, {("T1", "b", 0): 9, ("b", 1): 4, ("T7", "b", 1): 1}
    groups = [
        ("g", f"T{i}", [("b", q) for q in range(1 + i % 80)], ["a", "b", "c", "a", ""][: 1 + i % 5])
        for i in range(600)
    ]
    made = strategy("WEIGHTED", capacities=capacities, weights=weights)
    found = made.assign_fleet(
        Fleet.from_groups([*groups, ("g", "none", [], ["a"])]), on_error="report", threads=threads
    )
    expected = [
        o
        for _, topic, queues, ids in groups
        for o in made.assign([(topic, *q) for q in queues], ids).owners.tolist()
    ]
    assert found.tolist() == expected
    assert 3 not in expected
    assert -1 in expected


def test_every_client_for_itself():
    queues, clients = numbered(9), ["a", "b", "c"]
    made = strategy("WEIGHTED", capacities={"b": 2})
    owners = made.assign(queues, clients).owners.tolist()
    answers = [made.allocate("g", client, queues, clients) for client in clients]
    assert answers == [[q for q, o in zip(queues, owners, strict=True) if o == i] for i in range(3)]


@pytest.mark.parametrize(
    ("params", "error", "said"),
    [
        (
            {"capacities": {"a": 0}},
            ValueError,
            "capacities must be from 1 to 2147483647, got 0 for 'a'",
        ),
        (
            {"weights": {("b", 0): 2**31}},
            ValueError,
            "weights must be from 1 to 2147483647, got 2147483648",
        ),
        ({"weights": {("b", 0): 1.5}}, TypeError, "weights must be whole numbers, got 1.5"),
        ({"weights": {"b": 1}}, TypeError, "weights are by"),
        ({"capacities": {1: 1}}, TypeError, "capacities are by client id, got 1"),
        ({"capacities": [1]}, TypeError, "capacities must be a mapping"),
    ],
)
def test_wrong_parameters(params, error, said):
    with pytest.raises(error, match=said):
        strategy("WEIGHTED", **params)


def test_reasons():
    queues = [MessageQueue("T", "b", i) for i in range(4)]
    reasons = strategy("WEIGHTED", capacities={"big": 3}, weights={("b", 0): 5}).explain(
        queues, ["big", "small"], 0
    )
    assert (
        reasons.steps[0]
        == "the queue weighs 5; client big has capacity 3 and queues of total weight 6"
    )
    assert "the fullest client is big, with 6 for a capacity of 3" in reasons.steps[1]
    assert len(reasons.steps) == 2
    assert "the client id is empty" in strategy("WEIGHTED").explain(queues, [""], 0).steps[-1]
