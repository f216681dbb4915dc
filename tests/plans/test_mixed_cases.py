"""Groups whose clients differ, a case each that was planned wrong once: beside the brute force, and
one figure by hand.
"""

import pytest
from bruteforce.gated import FIELDS
from bruteforce.mixed_verbs import plan_all
from bruteforce.tally import Tally

from rmqalloc import verify
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.plain_data import from_document


def clients(*ids, **fields):
    return [{"client_id": one, **fields} for one in ids]


def owned(*queue_ids):
    return [{"topic": "T", "broker_name": "a", "queue_id": one} for one in queue_ids]


def add(*ids, **room):
    return {"add_clients": {"ids": [*ids], **room}}


SPLIT = {
    "clients": clients("c1", "c2", "c3"),
    "broker_client_ids": {"a": ["c1", "c2", "c3"], "b": ["c1", "c3"]},
}
TWICE = {"clients": [*clients("c1"), *clients("c1", strategy="AVG_BY_CIRCLE"), *clients("c2")]}
IN_ROOMS = {
    "clients": [
        *clients("c1", machine_room="hz"),
        *clients("c2", machine_room="sh", strategy="AVG_BY_CIRCLE"),
    ],
    "room": "hz",
}
CASES = {
    "who leaves is chosen among all clients": (SPLIT, {"remove_clients": {"count": 1}}, {"n_clients": 2, "max_load": 8}),
    "who joins has one name in all lists": (SPLIT, {"scale_clients": {"to": 4}}, {"n_clients": 4}),
    "a room that is lost is lost in all lists": (
        {**SPLIT, "clients": clients("c1", machine_room="hz") + clients("c2", "c3", machine_room="sh"), "room": "sh"},
        {"lose_machine_room": {"machine_room": "sh", "what": "clients"}},
        {"n_clients": 1, "max_load": 8},
    ),
    "a broker that lists fewer clients": (SPLIT, None, {"double_owned": None, "unowned": None, "max_load": None}),
    "a group that brokers alone know": ({"broker_client_ids": {"a": ["c1"]}}, None, {"n_clients": 1, "max_load": 8}),
    "a queue that nobody reports": (
        {"clients": clients("c1", owned=owned(0, 1, 2, 3)) + clients("c2", owned=owned(4, 5, 6))},
        None,
        {"unowned": 1, "max_load": 4, "least_moves": 1},
    ),
    "a client that reports queues of a topic that it does not subscribe to": (
        {
            "clients": clients("c1", subscriptions=[], owned=owned(0, 1, 2, 3))
            + clients("c2", owned=owned(4, 5, 6, 7))
        },
        None,
        {"moved": 0, "least_moves": 0, "max_load": 4},
    ),
    "an id in two machine rooms, whose first client sees one queue": (
        {
            "message_model": "BROADCASTING",
            "clients": clients("c1", machine_room="hz", sees_read_queue_nums={"T": {"a": 1}})
            + clients("c1", machine_room="sh"),
            "room": "hz",
        },
        {"lose_machine_room": {"machine_room": "sh", "what": "clients"}},
        {"n_clients": 1, "idle": 0, "max_load": 1},
    ),
    "reports that are those of the group's strategy, not of the clients'": (
        {
            "clients": clients("c1", owned=owned(0, 1, 2, 3))
            + clients("c2", strategy="AVG_BY_CIRCLE", owned=owned(4, 5, 6, 7))
        },
        None,
        {"unowned": 0, "double_owned": 0},
    ),
    "of clients that share an id the last leave first": (
        TWICE,
        {"scale_clients": {"to": 1}},
        {"double_owned": 0, "max_load": 8},
    ),
    "an id that does not subscribe any more": (
        {"clients": [*clients("c1", subscriptions=[]), *clients("c1")]},
        {"scale_clients": {"to": 1}},
        {"unowned": 8, "least_moves": 4},
    ),
    "a client between two that do not subscribe": (
        {"clients": [*clients("c1", subscriptions=[]), *clients("c2"), *clients("c3", subscriptions=[])]},
        None,
        {"unowned": 5, "least_moves": 5},
    ),
    "clients that join are sure of queues each by its own lists": (
        {"clients": clients("c1"), "broker_client_ids": {"a": ["c1"], "b": []}}, add("d1", "d2"), {"double_owned": 0},
    ),
    "an id that joins twice": ({"clients": clients("c1")}, [add("d1"), add("d1")], {"n_clients": 3, "double_owned": 3}),
    "Go's MACHINE_ROOM_NEARBY, which is AVG": (
        {
            "strategy": "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE",
            "clients": clients("c1", "c2", language="GO", machine_room="hz"),
            "room": "hz",
        },
        None,
        {"strategy": "AVG", "max_load": 4},
    ),
    "Go's MACHINE_ROOM_NEARBY, which its clients report as AVG": (
        {"strategy": "MACHINE_ROOM_NEARBY-AVG", "clients": clients("c1", "c2", language="GO", strategy="AVG")},
        add("c3"),
        {"err_code": 0, "strategy": "AVG", "max_load": 3},
    ),
    "queues whose owner is in another room, be it one of two": (IN_ROOMS, None, {"cross_room": 4}),
    "routes without queues, one of them with a broker that gets some": (
        {"clients": clients("c1", sees_read_queue_nums={"T": {}}) + clients("c2", sees_read_queue_nums={"T": {"a": 0}})},
        {"set_queues": {"read_queue_nums": 2}},
        {"max_load": 1, "unowned": 3},
    ),
    "a list of CONFIG with queues that its client's route does not show": (
        {
            "strategy": "CONFIG",
            "strategy_params": {"message_queues": {"c1": owned(0, 1, 2), "c2": owned(3, 4, 5)}},
            "clients": clients("c1", sees_read_queue_nums={"T": {"a": 2}}) + clients("c2"),
        },
        add("c3"),
        {"err_code": 0, "unowned": 2, "max_load": 3, "idle": 1},
    ),
    "a machine room that nobody asks for, for the only client has no id": (
        {"strategy": "MACHINE_ROOM_NEARBY-AVG", "clients": clients("", machine_room="hz")},
        None,
        {"err_code": 0, "unowned": 8, "idle": 1},
    ),
    "a strategy that goes with the last client that has it": (
        {"clients": [*clients("c1"), *clients("c2", strategy="AVG_BY_CIRCLE")]},
        {"remove_clients": {"ids": "c2"}},
        {"strategy": "AVG"},
    ),
    "what Go cannot do is no fault once its clients are gone": (
        {"strategy": "CONSISTENT_HASH", "clients": [*clients("c1", language="GO"), *clients("c2", language="JAVA")]},
        [{"set_virtual_nodes": {"virtual_nodes": 0}}, {"remove_clients": {"ids": ["c1"]}}],
        {"err_code": 0, "unowned": 8, "idle": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_case_that_was_planned_wrong_once(name, tmp_path):
    fields, changes, figures = CASES[name]
    group = {"name": "g", "strategy": "AVG", "subscriptions": ["T"], **fields}
    broker = {"broker_name": "a", "read_queue_nums": 8} | (
        {"machine_room": room} if (room := group.pop("room", None)) else {}
    )
    document = {
        "apiVersion": "rmqalloc/v1",
        "kind": "Snapshot",
        "topics": [
            {"name": "T", "brokers": [broker, {**broker, "broker_name": "b", "read_queue_nums": 0}]}
        ],
        "groups": [group],
    }
    changes = [changes] if isinstance(changes, dict) else changes
    scenarios = [{"name": "x", "changes": changes}] if changes else []
    tally = Tally()
    case = {
        "snapshot": document,
        "scenarios": scenarios,
        "by": [["host"]],
        "informed_by": "timer",
        "at": [0.5] * len(FIELDS),
    }
    plan_all(case, tally)
    assert tally.compared and not tally.differences, list(map(str, tally.differences[:3]))
    plan = plan_snapshot(from_document(document), scenarios)
    row = plan.units.to_pylist()[-1]
    assert {key: row[key] for key in figures} == figures
    plan.save(tmp_path / "plan.json")
    assert not verify(tmp_path / "plan.json").problems
