"""CONSISTENT_HASH_BOUNDED: nobody above the cap, and everything owned."""

import time

import numpy as np
import pytest
import reference
import reference_own
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import Rule, client_names, numbered
from strategy_declarations import JavaCases, Promise

from rmqalloc import Fleet, strategy
from rmqalloc._engine import ring

CASES = [
    Rule(
        "BOUNDED",
        lambda: strategy("CONSISTENT_HASH_BOUNDED"),
        reference_own.ConsistentHashBounded(),
    ),
    Rule(
        "BOUNDED-1",
        lambda: strategy("CONSISTENT_HASH_BOUNDED", load_factor=1, virtual_nodes=1),
        reference_own.ConsistentHashBounded(100, 1),
    ),
]
PROMISES = [
    Promise("CONSISTENT_HASH_BOUNDED(1.25)", "CONSISTENT_HASH_BOUNDED", {"load_factor": 1.25}),
]
JAVA_CASES = [
    JavaCases(
        "CONSISTENT_HASH_BOUNDED",
        lambda random, _: {
            "load_factor": random.choice([1, 1.01, 1.1, 1.25, 1.29, 2, 5.75]),
            "virtual_nodes": random.choice([1, 2, 10, 10, 100]),
        },
    )
]

SIZES = st.tuples(st.integers(1, 300), st.integers(1, 60))
FACTORS = st.integers(100, 300).map(lambda percent: f"{percent / 100:.2f}")


@given(size=SIZES, factor=FACTORS, virtual_nodes=st.integers(1, 20))
def test_nobody_is_above_the_cap_and_everything_is_owned(size, factor, virtual_nodes):
    n_queues, n_clients = size
    made = strategy("CONSISTENT_HASH_BOUNDED", load_factor=factor, virtual_nodes=virtual_nodes)
    owners = made.assign(numbered(n_queues), client_names(n_clients)).owners
    cap = -(-round(float(factor) * 100) * n_queues // (100 * n_clients))
    assert owners.min() >= 0
    assert np.bincount(owners).max() <= cap


def test_with_room_for_all_it_is_the_plain_ring():
    queues, clients = numbered(200), client_names(7)
    wide = strategy("CONSISTENT_HASH_BOUNDED", load_factor=1000).assign(queues, clients).owners
    assert wide.tolist() == strategy("CONSISTENT_HASH").assign(queues, clients).owners.tolist()


def test_few_queues_move_when_a_client_leaves():
    queues, clients = numbered(400), client_names(20)
    before = strategy("CONSISTENT_HASH_BOUNDED").assign(queues, clients).owners
    stay = [client for client in clients if client != clients[5]]
    after = [
        clients.index(stay[i])
        for i in strategy("CONSISTENT_HASH_BOUNDED").assign(queues, stay).owners
    ]
    moved = int((np.array(after) != before).sum())
    assert moved < 3 * int((before == 5).sum())
    even = (
        strategy("AVG").assign(queues, clients).owners,
        strategy("AVG").assign(queues, stay).owners,
    )
    assert moved < sum(clients[a] != stay[b] for a, b in zip(*even, strict=True)) / 2


def test_of_clients_without_points_others_are_above_the_cap():
    """Points so few that ids lose all of theirs: what the others may not have by the cap goes to
    its first point.
    """
    one = lambda n, kind: np.array([n], kind)  # noqa: E731
    out = np.empty(5, np.int32)
    ring.locate_bounded(
        np.array([0, 5], np.int64), one(0, np.int64), one(0, np.int32), one(2, np.int64), np.array([0, 2], np.int64),
        np.array([10, 20], np.uint32), np.array([3, 1], np.int32), np.array([5, 11, 12, 13, 14], np.uint32),
        np.empty(4, np.int32), np.empty(2, np.int64), out,
    )  # fmt: skip
    assert out.tolist() == [3, 1, 1, 3, 1]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fleet_of_many_blocks_is_its_groups(threads):
    shared = tuple(client_names(40))
    groups = [
        (
            "g",
            f"t{i}",
            numbered(1 + i % 70, topic=f"t{i}"),
            shared if i % 3 else client_names(1 + i % 90),
        )
        for i in range(900)
    ]
    fleet = Fleet.from_groups([*groups, ("g", "odd", numbered(9), ["a", "", "a", "b"])])
    out = np.empty(int(fleet.queue_offsets[-1]), np.int32)
    made = strategy("CONSISTENT_HASH_BOUNDED", virtual_nodes=20)
    assert made.assign_fleet(fleet, out=out, threads=threads) is out
    starts = fleet.queue_offsets
    for unit in (0, 1, 898, 900):
        queues, ids = fleet.queues_of(unit), fleet.client_ids_of(unit)
        twin = reference.owners(reference_own.ConsistentHashBounded(125, 20), queues, ids)
        assert out[starts[unit] : starts[unit + 1]].tolist() == twin
    for unit in range(0, 901, 20):
        alone = made.assign(fleet.queues_of(unit), fleet.client_ids_of(unit)).owners
        assert out[starts[unit] : starts[unit + 1]].tolist() == alone.tolist()


def test_a_ring_that_is_nearly_full_takes_no_longer():
    queues, clients = numbered(60_000), client_names(1_000)
    tight, wide = (strategy("CONSISTENT_HASH_BOUNDED", load_factor=one) for one in (1, 1000))
    started = time.process_time()
    wide.assign(queues, clients)
    took = time.process_time() - started
    assert np.bincount(tight.assign(queues, clients).owners).tolist() == [60] * 1_000
    assert time.process_time() - started - took < 5 * took + 1


@pytest.mark.parametrize(
    ("params", "error", "said"),
    [
        ({"load_factor": 0.99}, ValueError, "load_factor must be from 1 to 1000000, got 0.99"),
        (
            {"load_factor": "1.255"},
            ValueError,
            "load_factor must have at most 2 decimals, got '1.255'",
        ),
        (
            {"load_factor": float("nan")},
            ValueError,
            "load_factor must be from 1 to 1000000, got nan",
        ),
        ({"load_factor": "much"}, ValueError, "load_factor must be a number, got 'much'"),
        ({"load_factor": True}, TypeError, "load_factor must be a number, got True"),
        ({"load_factor": None}, TypeError, "load_factor must be a number, got None"),
        ({"virtual_nodes": -1}, ValueError, "illegal virtualNodeCnt :-1"),
    ],
)
def test_wrong_parameters(params, error, said):
    with pytest.raises(error, match=said):
        strategy("CONSISTENT_HASH_BOUNDED", **params)


def test_reasons():
    queues, clients = numbered(40), client_names(6)
    made = strategy("CONSISTENT_HASH_BOUNDED", load_factor=1)
    assigned, plain = (
        made.assign(queues, clients),
        strategy("CONSISTENT_HASH").assign(queues, clients),
    )
    assert assigned.owners.tolist() != plain.owners.tolist()
    for place, (owner, first) in enumerate(
        zip(assigned.owners.tolist(), plain.owners.tolist(), strict=True)
    ):
        reasons = made.explain(queues, clients, place)
        assert reasons.facts["cap"] == 7
        assert clients[first] == reasons.facts["hit"]["client_id"]
        assert ("goes on up the ring" in reasons.steps[-1]) == (owner != first)
        assert clients[owner] in reasons.steps[-1]
    assert (
        len(strategy("CONSISTENT_HASH_BOUNDED", virtual_nodes=0).explain(queues, clients, 0).steps)
        == 2
    )
