"""ROTATED: the extra queues of many topics are spread over all clients."""

import numpy as np
import pytest
import reference
import reference_own
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import (
    Rule,
    avg,
    client_names,
    crowded,
    nearby,
    nearby_reference,
    numbered,
    over,
    ring,
    rooms,
)
from strategy_declarations import JavaCases, Promise

from rmqalloc import Fleet, sort_client_ids, strategy
from rmqalloc.fleet.columns import Strings
from rmqalloc.strategies._numbers import java_hashes, mix64

TWIN = reference_own.Rotated
CASES = [
    Rule("ROTATED-AVG", over("ROTATED", avg), TWIN(reference.Avg())),
    Rule(
        "ROTATED-crowded",
        over("ROTATED", ring(virtual_nodes=4, hash_function=crowded)),
        TWIN(reference.ConsistentHash(4, crowded)),
    ),
    Rule(
        "ROTATED-MACHINE_ROOM",
        over("ROTATED", rooms({"hz", "a"})),
        TWIN(reference.MachineRoom({"hz", "a"})),
    ),
    Rule(
        "NEARBY-ROTATED-AVG",
        nearby(over("ROTATED", avg)),
        nearby_reference(TWIN(reference.Avg())),
    ),
]
PROMISES = [Promise("ROTATED-AVG", "ROTATED-AVG", spread=1, skew=1.25)]
JAVA_CASES = [JavaCases("ROTATED", lambda _, inner: {"inner": inner})]


@given(st.lists(st.text(max_size=8)))
def test_java_hashes_by_the_book(texts):
    hashes = java_hashes(Strings.from_list(texts))
    assert hashes.view(np.int64).tolist() == list(map(reference_own.java_hash, texts))
    assert mix64(hashes).tolist() == list(
        map(reference_own.mix64, map(reference_own.java_hash, texts))
    )


def test_hashes_that_java_is_known_to_give():
    known = {
        "": 0,
        "a": 97,
        "TopicTest": -1902610879,
        "\U0001f600": 1772899,
        "polygenelubricants": -(2**31),
    }
    assert java_hashes(Strings.from_list(list(known))).view(np.int64).tolist() == list(
        known.values()
    )


def skew(name, topics, n_clients=10, n_queues=4):
    """Queues of the fullest client over the mean, for a group that reads all the topics."""
    clients = client_names(n_clients)
    fleet = Fleet.from_groups(
        ("g", topic, numbered(n_queues, topic=topic), clients) for topic in topics
    )
    return (
        np.bincount(strategy(name).assign_fleet(fleet), minlength=n_clients).max()
        * n_clients
        / len(topics)
        / n_queues
    )


def test_a_hundred_topics_of_four_queues_are_spread_over_ten_clients():
    sets = [[f"topic-{number}-{i}" for i in range(100)] for number in range(200)]
    found = [skew("ROTATED", topics) for topics in sets]
    assert np.mean(found) <= 1.25
    assert skew("AVG", sets[0]) == 2.5


@pytest.mark.parametrize("inner", ["AVG", "AVG_BY_CIRCLE", "ROTATED"])
def test_each_topic_alone_is_as_even_as_the_inner_strategy_makes_it(inner):
    for n_queues in (1, 7, 30):
        loads = np.bincount(
            strategy(f"ROTATED-{inner}").assign(numbered(n_queues), client_names(4)).owners,
            minlength=4,
        )
        assert loads.max() - loads.min() <= 1


def test_over_a_ring_it_changes_nothing():
    queues, clients = numbered(200), sort_client_ids(client_names(30))
    one, other = (
        strategy(name).assign(queues, clients).owners
        for name in ("CONSISTENT_HASH", "ROTATED-CONSISTENT_HASH")
    )
    assert one.tolist() == other.tolist()


def test_the_topic_is_that_of_the_first_queue():
    queues = [*numbered(3, topic="first"), *numbered(4, topic="second")]
    clients = client_names(5)
    found = strategy("ROTATED").assign(queues, clients).owners.tolist()
    twin = reference_own.Rotated(reference.Avg())
    assert [clients[i] for i in found] == twin.owner_ids(queues, clients)
    fleet = Fleet.from_groups(
        [("g", "third", queues, clients), ("g", "third", [], clients), ("h", "t", queues, ["x"])]
    )
    assert strategy("ROTATED").assign_fleet(fleet, on_error="report").tolist() == found + [0] * 7


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_shared_lists_make_no_difference(threads):
    clients = tuple(client_names(7))
    groups = [("g", f"t{i}", numbered(1 + i % 9, topic=f"t{i}"), clients) for i in range(300)]
    fleet = Fleet.from_groups(groups)
    out = np.empty(int(fleet.queue_offsets[-1]), np.int32)
    made = strategy("ROTATED-CONSISTENT_HASH")
    assert made.assign_fleet(fleet, out=out, threads=threads) is out
    assert out.tolist() == [
        i for _, _, queues, ids in groups for i in made.assign(queues, ids).owners.tolist()
    ]


def test_reasons():
    queues, clients = numbered(5, topic="orders"), ["a", "b", "c"]
    made = strategy("ROTATED")
    owners = made.assign(queues, clients).owners.tolist()
    assert len(owners) == 5
    for place, owner in enumerate(owners):
        reasons = made.explain(queues, clients, place)
        assert (
            reasons.steps[0]
            == "in topic orders the clients are counted from number 2 of 3 (from 0), c"
        )
        assert f"client {clients[owner]} is client number" in reasons.steps[-1]
        assert reasons.facts["first_client"] == 2
