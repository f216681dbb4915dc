"""Every strategy twice, by the package and by the reference, and how their answers are compared.

A new strategy joins the contract of ``test_strategies.py`` by a list ``CASES`` in its test file.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import go_reference
import pytest
import reference
from strategy_declarations import declared

from rmqalloc import MessageQueue, strategy
from rmqalloc.errors import ArgumentError, ArgumentTypeError

CONFIGURED = [MessageQueue("Cfg", "b", 1), MessageQueue("Cfg", "b", 1)]


class Rule(NamedTuple):
    """One rule, made twice: by the package and by the reference."""

    label: str
    make: Callable[[], Any]
    reference: Any
    one_owner: bool = True

    def __str__(self):
        return self.label


# Java's order of these is not Python's: the third comes before the second.
MACHINE_ROOMS = ["r0", "\ufffd", "\U0001f600", "r3"]


def broker_room(queue):
    """Three rooms by broker name, and a broker that stands nowhere."""
    return None if queue[1] == "nowhere" else MACHINE_ROOMS[len(queue[1] or "") % 3]


def client_room(client_id):
    """Four rooms, one of which never has a queue; the null room is that of one odd id."""
    return None if client_id == "中" else MACHINE_ROOMS[len(reference.java_string(client_id)) % 4]


def crowded(key):
    """A hash with few values, some of them negative: clients take each other's entries all the
    time.
    """
    return sum(map(ord, key)) % 23 - 11


def scattered(key):
    """A hash over the whole of int64."""
    return int.from_bytes(
        reference.hashlib.sha256(reference.utf16(key)).digest()[:8], "big", signed=True
    )


def ring(**parameters):
    return lambda: strategy("CONSISTENT_HASH", **parameters)


def over(name, inner, **parameters):
    return lambda: strategy(name, inner=inner(), **parameters)


BY_ROOM = {"broker_room": broker_room, "client_room": client_room}


def nearby(inner):
    return over("MACHINE_ROOM_NEARBY", inner, **BY_ROOM)


def nearby_reference(inner):
    return reference.MachineRoomNearby(inner, broker_room, client_room)


def pop(share, inner):
    return over("POP", inner, pop_share_queue_num=share)


def avg():
    return strategy("AVG")


def circle():
    return strategy("AVG_BY_CIRCLE")


def rooms(names):
    return lambda: strategy("MACHINE_ROOM", machine_rooms=names)


def go_rooms(names):
    return lambda: strategy("MACHINE_ROOM", dialect="go", machine_rooms=names)


def numbered(n_queues, broker_name="hz@b", topic="T"):
    return [MessageQueue(topic, broker_name, i) for i in range(n_queues)]


def client_names(n_clients):
    return [f"10.0.0.{i}@{i * 7}#{i * 10**12}" for i in range(n_clients)]


RULES = [
    Rule("AVG", avg, reference.Avg()),
    Rule("AVG_BY_CIRCLE", circle, reference.AvgByCircle()),
    Rule("CONSISTENT_HASH", ring(), reference.ConsistentHash()),
    Rule("CONSISTENT_HASH-0", ring(virtual_nodes=0), reference.ConsistentHash(0)),
    Rule("CONSISTENT_HASH-1", ring(virtual_nodes=1), reference.ConsistentHash(1)),
    Rule("CONSISTENT_HASH-130", ring(virtual_nodes=130), reference.ConsistentHash(130)),
    Rule(
        "CONSISTENT_HASH-crowded",
        ring(virtual_nodes=4, hash_function=crowded),
        reference.ConsistentHash(4, crowded),
    ),
    Rule(
        "CONSISTENT_HASH-scattered",
        ring(hash_function=scattered),
        reference.ConsistentHash(10, scattered),
    ),
    Rule("MACHINE_ROOM", rooms({"hz"}), reference.MachineRoom({"hz"})),
    Rule("MACHINE_ROOM-odd", rooms({"", "a", "😀"}), reference.MachineRoom({"", "a", "😀"})),
    Rule("GO-CONSISTENT_HASH", ring(dialect="go"), go_reference.GoConsistentHash()),
    Rule(
        "GO-CONSISTENT_HASH-130",
        ring(dialect="go", virtual_nodes=130),
        go_reference.GoConsistentHash(130),
    ),
    Rule("GO-MACHINE_ROOM", go_rooms({"hz", "a"}), go_reference.GoMachineRoom({"hz", "a"})),
    Rule("NEARBY-AVG", nearby(avg), nearby_reference(reference.Avg())),
    Rule("NEARBY-AVG_BY_CIRCLE", nearby(circle), nearby_reference(reference.AvgByCircle())),
    Rule("NEARBY-CONSISTENT_HASH", nearby(ring()), nearby_reference(reference.ConsistentHash())),
    Rule(
        "NEARBY-crowded",
        nearby(ring(virtual_nodes=4, hash_function=crowded)),
        nearby_reference(reference.ConsistentHash(4, crowded)),
    ),
    Rule(
        "NEARBY-MACHINE_ROOM",
        nearby(rooms({"hz", "a"})),
        nearby_reference(reference.MachineRoom({"hz", "a"})),
    ),
    Rule(
        "NEARBY-NEARBY-AVG",
        nearby(nearby(avg)),
        nearby_reference(nearby_reference(reference.Avg())),
    ),
    *declared("CASES"),
    Rule(
        "CONFIG",
        lambda: strategy("CONFIG", message_queues=CONFIGURED),
        reference.Config(CONFIGURED),
        one_owner=False,
    ),
    Rule("POP-0", pop(0, avg), reference.Pop(reference.Avg(), 0), one_owner=False),
    Rule("POP-1", pop(1, circle), reference.Pop(reference.AvgByCircle(), 1), one_owner=False),
    Rule("POP-2", pop(2, avg), reference.Pop(reference.Avg(), 2), one_owner=False),
    Rule("POP-ring", pop(1, ring()), reference.Pop(reference.ConsistentHash(), 1), one_owner=False),
    Rule(
        "POP-room",
        pop(2, rooms({"hz"})),
        reference.Pop(reference.MachineRoom({"hz"}), 2),
        one_owner=False,
    ),
    Rule(
        "NEARBY-CONFIG",
        nearby(lambda: strategy("CONFIG", message_queues=CONFIGURED)),
        nearby_reference(reference.Config(CONFIGURED)),
        one_owner=False,
    ),
]
ONE_OWNER = [rule for rule in RULES if rule.one_owner]
every_rule = pytest.mark.parametrize("rule", RULES, ids=str)
shared_rule = pytest.mark.parametrize(
    "rule", [rule for rule in RULES if not rule.one_owner], ids=str
)
pop_rule = pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.label.startswith("POP")], ids=str
)
one_owner_rule = pytest.mark.parametrize("rule", ONE_OWNER, ids=str)

ERRORS = {
    ArgumentError: ValueError,
    reference.IllegalArgument: ValueError,
    ArgumentTypeError: TypeError,
    reference.NullPointer: TypeError,
}


def outcome(ask, *arguments):
    """What a call gives, or its error: the text of a ValueError is Java's, that of a TypeError is
    free.
    """
    try:
        return ask(*arguments)
    except tuple(ERRORS) as error:
        kind = ERRORS[type(error)]
        return (kind, str(error)) if kind is ValueError else (kind,)


def same_objects(result, mq_all):
    """A list of queues as positions in the caller's list, or as values where the queue is not the
    caller's.
    """
    position_of = {id(queue): position for position, queue in enumerate(mq_all)}
    if not isinstance(result, list):
        return result
    return [
        position_of[id(queue)] if id(queue) in position_of else tuple(queue) for queue in result
    ]


def pairs(assigned):
    """Which client id has which queue, the error where there is one; equal queues may have changed
    places.
    """
    if not hasattr(assigned, "owners"):
        return assigned
    owners = [assigned.client_ids[i] if i >= 0 else None for i in assigned.owners.tolist()]
    return sorted(
        (
            (tuple(map(repr, queue)), repr(owner))
            for queue, owner in zip(assigned.mq_all, owners, strict=True)
        )
    )
