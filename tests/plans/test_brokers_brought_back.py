"""A client with a stale route sees a broker that the topic has left, and a scenario brings it back,
with a machine room.
"""

import json

import pytest

from rmqalloc import verify
from rmqalloc.cli import main
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

NEARBY = "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"
NO_ROOM = "Machine room is null for mq MessageQueue [topic=T, brokerName=b, queueId=0]"
BACK = {"add_broker": {"broker_name": "b", "read_queue_nums": 4, "machine_room": "hz"}}


def client(name, room="hz", seen=None, **fields):
    return Client(
        name,
        machine_room=room,
        sees_read_queue_nums=None if seen is None else {"T": seen},
        **fields,
    )


STALE = client("c1", seen={"a": 4, "b": 4}), client("c2"), client("c3", "sh")


def cluster(clients=STALE, back=(), **fields):
    """Topic T on broker a and on those that are back."""
    group = Group(
        "g", ("T",), tuple(clients), **{"strategy": NEARBY, "strategy_source": "given"} | fields
    )
    return Snapshot((Topic("T", (TopicBroker("a", 4, machine_room="hz"), *back)),), (group,))


def scenario(*changes, name="x", **patterns):
    return {"name": name, "changes": list(changes), **patterns}


def owners(plan, name, when):
    return {
        (one["broker_name"], one["queue_id"]): (one[f"owner_{when}"], one[f"others_{when}"])
        for one in plan.queues.to_pylist()
        if one["scenario"] == name
    }


def errors(plan):
    return {row["scenario"]: row["err_msg"] for row in plan.units.to_pylist()}


CASES = {
    "as it was": (STALE, {}),
    "with fewer queues than the client sees": ((client("c1", seen={"a": 4, "b": 6}), client("c2")), {}),
    "with more of them": ((client("c1", seen={"a": 4, "b": 2}), client("c2")), {}),
    "seen alone": ((client("c1", seen={"b": 4}), client("c2"), client("c3", seen={"a": 1, "b": 3})), {}),
    "by clients of two strategies": (
        (client("c1", seen={"a": 4, "b": 4}, strategy="MACHINE_ROOM_NEARBY-AVG"), client("c2"), client("c3", "sh")),
        {"strategy_source": "reported"},
    ),
    "by clients of a list that lacks one": (STALE, {"broker_client_ids": {"a": ("c1", "c3")}}),
}  # fmt: skip


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("room", ["hz", "sh", "bj"])
@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_that_of_a_snapshot_with_the_broker(name, room, tmp_path):
    clients, fields = CASES[name]
    before = cluster(clients, **fields)
    plan = plan_snapshot(
        before, [scenario({"add_broker": {**BACK["add_broker"], "machine_room": room}})]
    )
    assert errors(plan) == {"current": NO_ROOM, "x": None}
    there = plan_snapshot(
        cluster(clients, back=[TopicBroker("b", 4, machine_room=room)], **fields), []
    )
    assert owners(plan, "x", "after") == owners(there, "current", "after")
    figures = (
        "n_queues",
        "n_clients",
        "min_load",
        "max_load",
        "idle",
        "unowned",
        "double_owned",
        "cross_room",
    )
    mine, its = (one.units.to_pylist()[-1] for one in (plan, there))
    assert {key: mine[key] for key in figures} == {key: its[key] for key in figures}
    plan.save(tmp_path / "plan.json")
    assert not verify(tmp_path / "plan.json").problems


def test_a_list_without_a_client_knows_the_room_too():
    """Views over a part of the clients are evaluated by another way; a client joins them in the
    same scenario.
    """
    lists = {"a": ("c1", "c3")}
    added = {"add_clients": {"ids": "c4", "machine_room": "sh"}}
    plan = plan_snapshot(
        cluster(broker_client_ids=lists), [scenario(BACK, added), scenario(added, BACK, name="y")]
    )
    assert errors(plan) == {"current": NO_ROOM, "x": None, "y": None}
    lists = {broker: (*ids, "c4") for broker, ids in lists.items()}
    back = [TopicBroker("b", 4, machine_room="hz")]
    there = plan_snapshot(cluster((*STALE, client("c4", "sh")), back, broker_client_ids=lists), [])
    assert (
        owners(plan, "x", "after")
        == owners(plan, "y", "after")
        == owners(there, "current", "after")
    )


def test_without_a_room_the_reason_stands():
    roomless = {"add_broker": {"broker_name": "b", "read_queue_nums": 4}}
    changes = {
        "none": [roomless],
        "the first counts": [roomless, BACK],
        "another": [{"add_clients": {"ids": "c4", "machine_room": "hz"}}],
    }
    scenarios = [scenario(*some, name=name) for name, some in changes.items()]
    plan = plan_snapshot(
        cluster(), [*scenarios, scenario(BACK, roomless, name="the first has one")]
    )
    assert errors(plan) == dict.fromkeys(("current", *changes), NO_ROOM) | {
        "the first has one": None
    }


def test_only_the_scenarios_that_bring_it_back_are_planned():
    removed = {"remove_broker": {"brokers": "b"}}
    plan = plan_snapshot(
        cluster(),
        [
            scenario(BACK, name="back"),
            scenario({"set_queues": {"read_queue_nums": 2, "brokers": "a"}}, name="not back"),
            scenario(BACK, name="of another group", groups="h"),
            scenario(BACK, name="of another topic", topics="U"),
            scenario(removed, name="gone for all"),
            scenario(BACK, removed, name="back and gone"),
            scenario(
                BACK, {"add_broker": BACK["add_broker"] | {"machine_room": "sh"}}, name="back twice"
            ),
        ],
    )
    found = errors(plan)
    assert [name for name, text in found.items() if text is None] == [
        "back",
        "gone for all",
        "back and gone",
        "back twice",
    ]
    assert {text for text in found.values() if text} == {NO_ROOM}
    assert owners(plan, "gone for all", "after") == owners(plan, "back and gone", "after")
    assert owners(plan, "back", "after") == owners(
        plan, "back twice", "after"
    )  # a broker that is there stays as it is


def test_a_room_that_is_lost_after_it_came_back_takes_the_stale_route_along():
    clients = client("c1", seen={"a": 4, "b": 4}), client("c2")
    lost = {"lose_machine_room": {"machine_room": "sh", "what": "brokers"}}
    back = {"add_broker": {**BACK["add_broker"], "machine_room": "sh"}}
    plan = plan_snapshot(cluster(clients), [scenario(back, lost)])
    assert errors(plan) == {"current": NO_ROOM, "x": None}
    assert {broker for broker, _ in owners(plan, "x", "after")} == {"a"}


def test_verbs_without_scenarios_still_refuse_the_view(tmp_path, capsys):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(cluster())))
    assert main(["explain", "-f", str(path), "-g", "g", "-t", "T", "--queue", "a:0"]) == 1
    assert NO_ROOM in capsys.readouterr().err
    assert main(["check", "-f", str(path)]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert f"It is not known who reads 4 queues of 1 topic: {NO_ROOM}" in said
    assert main(["plan", "-f", str(path), "--add-broker", "b:4"]) == 1
    assert NO_ROOM in capsys.readouterr().err
    assert main(["plan", "-f", str(path), "--add-broker", "b:4=hz"]) == 0
    out, err = capsys.readouterr()
    assert "unowned – → 0" in out and f"before any change: g topic T: {NO_ROOM}" in " ".join(
        (out + err).split()
    )


@pytest.mark.parametrize("route", [{}, {"b": 0}])
def test_a_client_that_does_not_see_a_broker_of_its_topic_gets_it_in_the_room_where_it_stands(
    route,
):
    topic = Topic("T", (TopicBroker("b", 1, machine_room="hz"),))
    clients = (Client("c1", "sh", sees_read_queue_nums={"T": route}),)
    group = Group("g", ("T",), clients, strategy="MACHINE_ROOM_NEARBY-AVG", strategy_source="given")
    change = {"add_broker": {"broker_name": "b", "read_queue_nums": 1}}
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [change]}])
    assert [row["owner_after"] for row in plan.queues.to_pylist()] == [None, "c1"]
