"""Small plans of every kind that are saved and proved: their snapshots, scenarios and gates."""

import json
from dataclasses import replace

from rmqalloc.model import MessageQueue
from rmqalloc.plans import Gates, plan_snapshot, save_plan
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

TOPIC = Topic("T", (TopicBroker("a", 3, machine_room="hz"), TopicBroker("b", 2, machine_room="sh")))
LAGS = tuple(Lag(MessageQueue("T", broker, 0), 9, 2) for broker in "ab")
IDS = ("c1", "c2", "c3")
SCALE = {"name": "four", "changes": [{"scale_clients": {"to": 4}}]}
FEWER = {
    "name": "fewer",
    "changes": [{"remove_clients": {"ids": ["c1", "c2"]}}, {"remove_broker": {"brokers": "b"}}],
}
RING = {
    "name": "ring",
    "groups": "g",
    "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
}


def group(strategy="AVG", clients=None, name="g", **fields):
    return Group(
        name,
        ("T",),
        clients or tuple(map(Client, IDS)),
        strategy=strategy,
        strategy_source="given",
        **fields,
    )


def in_rooms():
    return tuple(Client(one, room) for one, room in zip(IDS, ("hz", "sh", "hz"), strict=True))


def differing():
    stale = {"T": {"a": 1, "b": 2}}
    return (
        Client("c1"),
        Client("c2", strategy="AVG_BY_CIRCLE"),
        Client("c3", sees_read_queue_nums=stale),
        Client("c3"),
    )


def sharing():
    kinds = {
        "pop": {"server_assignment": "POP", "pop_share_queue_num": 1},
        "all": {"message_model": "BROADCASTING"},
    }
    return tuple(group(clients=in_rooms(), name=name, **fields) for name, fields in kinds.items())


PLANS = {
    "plain": (Snapshot((TOPIC,), (group(lags=LAGS),), fetched_at="2026-11-22T12:00:00Z"), [SCALE], Gates()),
    "mixed": (Snapshot((TOPIC,), (group(clients=differing()),)), [SCALE], Gates()),
    "shared": (Snapshot((TOPIC,), sharing()), [SCALE], Gates(max_moved=0, max_unowned=9, max_unowned_seconds="30@p99")),
    "ring": (Snapshot((TOPIC,), (group("CONSISTENT_HASH", strategy_params={"virtual_nodes": 3}),)), [FEWER], Gates()),
    "rooms": (Snapshot((TOPIC,), (group("MACHINE_ROOM_NEARBY-AVG", in_rooms()),)), [FEWER], Gates()),
    "gates": (Snapshot((TOPIC,), (group("AVG_BY_CIRCLE"), group(name="h"))), [RING], Gates(5, 1.0, 4.0)),
    "scenarios": (Snapshot((TOPIC,), (group(), group("NO_SUCH", name="custom"))), [SCALE, FEWER, RING], Gates()),
}  # fmt: skip


def saved(name, folder):
    """Path of a plan's file, and the document of its snapshot."""
    snapshot, scenarios, gates = PLANS[name]
    plan = plan_snapshot(snapshot, scenarios)
    path = folder / "plan.json"
    if not gates.is_open:
        plan = replace(plan, gates=gates.to_data())
    save_plan(plan, path)
    return path, json.loads(json.dumps(to_document(snapshot)))
