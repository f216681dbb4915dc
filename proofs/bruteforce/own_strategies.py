"""The strategies that RocketMQ does not ship, as their pages define them: ORDINAL and STABLE as the
programs that stand there, the others as the twins of `tests/reference_own.py`, which are written
from those definitions.
"""

from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

import reference
import reference_own
import specified

NAMES = (
    "ROTATED",
    "CANARY",
    "MACHINE_ROOM_NEARBY_POOLED",
    "CONSISTENT_HASH_BOUNDED",
    "WEIGHTED",
    "ORDINAL",
    "STABLE",
)
VERSIONS = {one: f"{one}/1" for one in NAMES}
OVER = {"ROTATED/1": (), "CANARY/1": ("share", "pattern"), "MACHINE_ROOM_NEARBY_POOLED/1": ()}
"""Strategies that divide by another one, AVG if none is named, with the parameters that are their own."""

TAKEN = {
    "AVG": (), "AVG_BY_CIRCLE": (), "MACHINE_ROOM": ("machine_rooms",), "CONSISTENT_HASH": ("virtual_nodes",),
    "CONSISTENT_HASH_BOUNDED/1": ("virtual_nodes", "load_factor"), "WEIGHTED/1": ("capacities",),
    "ORDINAL/1": ("pattern",), "ORDINAL/2": ("pattern",), "STABLE/1": ("slack",), "MACHINE_ROOM_NEARBY": (), **OVER,
}  # fmt: skip
"""Parameters of every strategy but for that inside."""

MOST_NODES = 65_536


def units(given, unit, most, least=0):
    """A decimal number in whole units; None if it is none, or out of bounds."""
    if type(given) in (int, float, str):
        with suppress(InvalidOperation):
            found = Decimal(str(given)) * unit
            return (
                int(found)
                if found.is_finite() and least <= found <= most and found == int(found)
                else None
            )
    return None


GOOD = {
    "virtual_nodes": lambda given: type(given) is int and 0 <= given <= MOST_NODES,
    "load_factor": lambda given: units(given, 100, 10**8, 100) is not None,
    "share": lambda given: units(given, 10**4, 10**4) is not None,
    "pattern": lambda given: type(given) is str,
    "slack": lambda given: given in (0, 1),
    "capacities": lambda given: all(type(one) is int and 0 < one < 2**31 for one in given.values()),
    "machine_rooms": lambda given: given is None or all(type(one) is str for one in given),
}


def is_known(rule):
    """Whether there is such a strategy, with these parameters."""
    own = {name: value for name, value in rule.items() if name not in ("name", "inner", "dialect")}
    if rule["name"] not in TAKEN or own.keys() - TAKEN[rule["name"]]:
        return False
    if ("inner" in rule) != (rule["name"] in OVER or rule["name"] == "MACHINE_ROOM_NEARBY"):
        return False
    if rule["name"] == "CANARY/1" and ("share" not in own or "CANARY/1" in names_in(rule["inner"])):
        return False
    return all(GOOD[name](value) for name, value in own.items()) and (
        "inner" not in rule or is_known(rule["inner"])
    )


def names_in(rule):
    """Names from the outermost strategy to the innermost one."""
    return [rule["name"], *(names_in(rule["inner"]) if "inner" in rule else ())]


def is_own(rule):
    """Whether any of its strategies is not RocketMQ's."""
    return any("/" in name for name in names_in(rule))


class InGroup(reference_own.InOrder):
    """A strategy by a function of the queues and the client ids, which gives positions of owners."""

    def __init__(self, name, positions):
        self.name, self.positions = name, positions

    def owner_ids(self, queues, clients):
        return [clients[at] if at >= 0 else None for at in self.positions(queues, clients)]


def by_capacity(capacities):
    """WEIGHTED where all queues weigh the same; an id that repeats counts once."""

    def positions(queues, clients):
        ids = list(dict.fromkeys(clients))
        found = reference_own.weighted([1] * len(queues), [capacities.get(one, 1) for one in ids])
        return [clients.index(ids[at]) for at in found]

    return positions


def made(rule, rooms):
    """The strategy of a rule; ``rooms`` holds the machine rooms of brokers and of clients."""
    name, nodes, pattern = rule["name"], rule.get("virtual_nodes", 10), rule.get("pattern", "-#")
    inner = made(rule["inner"], rooms) if "inner" in rule else None
    by_room = (lambda queue: rooms[0].get(queue[1])), rooms[1].get
    percent = units(rule.get("load_factor", "1.25"), 100, 10**8)
    points = units(rule.get("share"), 10**4, 10**4)
    glob = rule.get("pattern", "*@gray").replace("[", "[[]")
    makers = {
        "AVG": reference.Avg,
        "AVG_BY_CIRCLE": reference.AvgByCircle,
        "CONSISTENT_HASH": lambda: reference.ConsistentHash(nodes),
        "MACHINE_ROOM": lambda: reference.MachineRoom(rule.get("machine_rooms")),
        "MACHINE_ROOM_NEARBY": lambda: reference.MachineRoomNearby(inner, *by_room),
        "MACHINE_ROOM_NEARBY_POOLED/1": lambda: reference_own.MachineRoomNearbyPooled(
            inner, *by_room
        ),
        "ROTATED/1": lambda: reference_own.Rotated(inner),
        "CANARY/1": lambda: reference_own.Canary(inner, points, lambda one: fnmatchcase(one, glob)),
        "CONSISTENT_HASH_BOUNDED/1": lambda: reference_own.ConsistentHashBounded(percent, nodes),
        "WEIGHTED/1": lambda: InGroup(name, by_capacity(rule.get("capacities") or {})),
        "ORDINAL/1": lambda: InGroup(
            name, lambda queues, ids: specified.ordinal(queues, ids, pattern)
        ),
        "ORDINAL/2": lambda: InGroup(
            name, lambda queues, ids: specified.ordinal_2(queues, ids, pattern)
        ),
        "STABLE/1": lambda: InGroup(
            name, lambda queues, ids: specified.stable(queues, ids, rule.get("slack", 0))
        ),
    }
    return makers[name]()


def owners(rule, queues, ids, rooms):
    """The client id that owns each queue, None for nobody; a ValueError in the words of the
    strategy that refuses.
    """
    try:
        found = reference.owners(made(rule, rooms), queues, ids)
    except reference.IllegalArgument as error:
        raise ValueError(str(error)) from None
    return {queue: ids[at] if at >= 0 else None for queue, at in zip(queues, found, strict=True)}
