"""Plans of the strategies that RocketMQ does not ship are those of the twin's own loops."""

import pytest
from bruteforce import java, own_strategies
from bruteforce.twin import checked

from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

BROKERS = (
    TopicBroker("a", 5, machine_room="hz"),
    TopicBroker("b", 3, machine_room="sh"),
    TopicBroker("c", 4, machine_room="bj"),
)
TOPICS = (
    Topic("orders", BROKERS),
    Topic("付款😀", BROKERS[:2]),
    Topic(
        "%RETRY%g",
        tuple(TopicBroker(one.broker_name, 1, machine_room=one.machine_room) for one in BROKERS),
    ),
)
IDS = ["c1@gray", "c1@main", "c2@gray", "c3@main", "c4@main", "c4@main"]
JOIN = {"count": 2, "machine_room": "hz"}
SCENARIOS = [
    {"name": "fewer", "changes": [{"remove_clients": {"ids": "c1@gray"}}]},
    {"name": "nodes", "changes": [{"set_virtual_nodes": {"virtual_nodes": 5}}, {"add_clients": JOIN}]},
    {"name": "first", "changes": [{"add_broker": {"broker_name": "A", "read_queue_nums": 2, "machine_room": "hz"}}]},
    {"name": "gray", "changes": [{"set_strategy": {"strategy": "CANARY-ROTATED-AVG", "params": {"share": "0.3"}}}]},
    {"name": "ring", "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH_BOUNDED", "params": {"load_factor": 1}}}]},
]  # fmt: skip
STRATEGIES = [
    ("ROTATED", {}),
    ("ORDINAL", {}),
    ("ORDINAL/1", {"pattern": "c#"}),
    ("ORDINAL/2", {"pattern": "c#"}),
    ("STABLE", {}),
    ("STABLE", {"slack": 1}),
    ("CANARY-ORDINAL", {"share": "0.3"}),
    ("MACHINE_ROOM_NEARBY-STABLE", {}),
    ("ROTATED", {"inner": "AVG_BY_CIRCLE"}),
    ("ROTATED/1-CONSISTENT_HASH", {"virtual_nodes": 7}),
    ("CONSISTENT_HASH_BOUNDED", {"load_factor": "1.1", "virtual_nodes": 3}),
    ("CANARY-CONSISTENT_HASH", {"share": 0.25, "virtual_nodes": 2}),
    ("CANARY-ROTATED", {"share": 1, "pattern": "c[1]*"}),
    ("CANARY-MACHINE_ROOM_NEARBY-AVG", {"share": "0.5", "pattern": "*@g??y"}),
    ("MACHINE_ROOM_NEARBY-ROTATED-AVG_BY_CIRCLE", {}),
    ("MACHINE_ROOM_NEARBY_POOLED", {}),
    ("MACHINE_ROOM_NEARBY_POOLED-CONSISTENT_HASH_BOUNDED", {"virtual_nodes": 4}),
    ("WEIGHTED", {"capacities": {"c1@gray": 2, "c4@main": 3}}),
]


def cluster(name, params, room="hz"):
    clients = tuple(Client(one, room if one.startswith("c4") else "hz") for one in IDS)
    topics = tuple(one.name for one in TOPICS)
    return Snapshot(
        TOPICS,
        (
            Group(
                "g", topics, clients, strategy=name, strategy_params=params, strategy_source="given"
            ),
        ),
    )


@pytest.mark.parametrize(("name", "params"), STRATEGIES)
def test_the_twin_comes_to_the_same(name, params):
    plan, problems = checked(cluster(name, params, room="sh"), SCENARIOS)
    assert {row["err_code"] for row in plan.units.to_pylist()} == {0}
    assert problems == []


@pytest.mark.parametrize(
    "name",
    [
        "MACHINE_ROOM_NEARBY_POOLED-AVG",
        "CANARY-MACHINE_ROOM_NEARBY-AVG",
        "ROTATED-MACHINE_ROOM_NEARBY-AVG",
    ],
)
def test_a_missing_room_is_the_same_error(name):
    params = {"share": "0.3"} if name.startswith("CANARY") else {}
    plan, problems = checked(cluster(name, params, room=None), SCENARIOS[:1])
    assert {row["err_msg"] for row in plan.units.to_pylist()} == {
        "Machine room is null for consumer id c4@main"
    }
    assert problems == []


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("CANARY-AVG", {}), ("CANARY-AVG", {"share": "2"}), ("CANARY-AVG", {"share": "0.12345"}),
        ("CANARY-AVG", {"share": "x"}), ("CANARY-AVG", {"share": True}), ("CANARY-AVG", {"share": 0.5, "pattern": 3}),
        ("ROTATED/2-AVG", {}), ("ROTATED", {"a": 1}), ("AVG-AVG", {}), ("MACHINE_ROOM_NEARBY", {}), ("STICKY", {}),
        ("CONSISTENT_HASH_BOUNDED", {"load_factor": 0.5}), ("CONSISTENT_HASH_BOUNDED", {"virtual_nodes": "3"}),
        ("CONSISTENT_HASH", {"load_factor": 2}), ("WEIGHTED", {"capacities": {"a": 0}}), ("WEIGHTED", {"weights": {"a": 1}}),
    ],
)  # fmt: skip
def test_what_the_product_refuses_is_not_known(name, params):
    assert not own_strategies.is_known(java.rule_of(name, params))
    assert checked(cluster(name, params), SCENARIOS[:1])[1] == []
