"""Strategies that RocketMQ does not ship, in plans and comparisons: what classes declare of
themselves holds.
"""

import pytest
from strategy_declarations import named_alone

from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._explain import explain
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.scenarios import RemoveClients, Scenario
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

IDS = ("c1", "c2@gray", "c3", "c4", "c5")
BROKERS = (
    TopicBroker("a", 4, machine_room="hz"),
    TopicBroker("b", 3, machine_room="sh"),
    TopicBroker("c", 2, machine_room="bj"),
)
TOPICS = tuple(Topic(f"T{i}", BROKERS[: 1 + i % 3]) for i in range(6))
OWN = [
    ("ROTATED", {}),
    ("ROTATED-MACHINE_ROOM", {"machine_rooms": ["none"]}),
    ("ROTATED-CONSISTENT_HASH", {"virtual_nodes": 3}),
    ("MACHINE_ROOM_NEARBY-ROTATED-AVG", {}),
    ("ROTATED-MACHINE_ROOM_NEARBY-AVG", {}),
    ("CONSISTENT_HASH_BOUNDED", {"virtual_nodes": 4}),
    ("CANARY-ROTATED-AVG", {"share": "0.2"}),
    ("MACHINE_ROOM_NEARBY_POOLED", {}),
    ("WEIGHTED", {}),
    *((name, {}) for name in named_alone()),
]


def cluster(name, params):
    clients = tuple(Client(one, "hz" if one < "c4" else "sh") for one in IDS)
    topics = tuple(one.name for one in TOPICS)
    return Snapshot(
        TOPICS,
        (
            Group(
                "g", topics, clients, strategy=name, strategy_params=params, strategy_source="given"
            ),
        ),
    )


@pytest.mark.parametrize(("name", "params"), OWN)
def test_one_client_leaves_as_when_it_is_planned(name, params):
    snapshot = cluster(name, params)
    [row] = compare(snapshot, [Candidate("it", name, params)]).table.to_pylist()
    leaves = [Scenario(one, [RemoveClients(ids=one)]) for one in IDS]
    moved = [one["moved"] for one in plan_snapshot(snapshot, leaves).groups.to_pylist()[1:]]
    assert (row["departure_mean"], row["departure_worst"]) == (sum(moved) / len(IDS), max(moved))


@pytest.mark.parametrize(("name", "params"), OWN)
def test_what_is_explained_is_what_is_planned(name, params):
    snapshot = cluster(name, params)
    rows = plan_snapshot(snapshot, []).queues.to_pylist()
    assert len(rows) == sum(one.read_queue_nums for topic in TOPICS for one in topic.brokers)
    for row in rows:
        found = explain(snapshot, "g", row["topic"], row["broker_name"], row["queue_id"])
        assert found.owner == row["owner_after"]
        assert found.steps
