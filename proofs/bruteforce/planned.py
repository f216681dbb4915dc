"""What a plan of a snapshot should say: every unit before and after every scenario, queue by queue."""

from collections import Counter
from fnmatch import fnmatchcase
from typing import NamedTuple

from bruteforce import java
from bruteforce.clusters import RETRY
from bruteforce.matching import least_moves

NO_CLIENTS_MEAN = 0.0
"""The mean load of nobody."""

EMPTY, BAD_STRATEGY, REFUSED = 2, 5, 6


class Unit(NamedTuple):
    """A group on a topic: ``clients`` (id, machine room) in Java's order, ``brokers`` (name, queue ids, machine room).

    Its clients have a ``language``, in which they compute the strategy that a scenario sets; of None they are Java's.
    """

    group: str
    topic: str
    brokers: list
    clients: list
    rule: dict
    language: str | None = None

    @property
    def queues(self):
        found = [(self.topic, name, i) for name, ids, _ in self.brokers for i in ids]
        return sorted(found, key=java.queue_order)

    @property
    def ids(self):
        return [one for one, _ in self.clients]

    @property
    def rooms(self):
        return {name: room for name, _, room in self.brokers}, dict(self.clients)


class State(NamedTuple):
    """A unit before or after a scenario: ``owners`` by queue, or why there are none."""

    unit: Unit
    owners: dict
    error: tuple | None


def in_order(clients):
    return sorted(clients, key=lambda client: java.utf16(client[0]))


def units_of(document, with_retry=False):
    """Units that are planned, in the order of the document."""
    topics = {topic["name"]: topic for topic in document["topics"]}
    for group in document["groups"]:
        if group.get("message_model", "CLUSTERING") != "CLUSTERING" or group.get("server_assignment") == "POP":
            continue
        clients = in_order((one["client_id"], one.get("machine_room")) for one in group.get("clients", []))
        language = language_of_all(group)
        if language == "CPP" and group["strategy"] != "AVG":
            continue  # what is stated of them they do not have, which is a doubt
        rule = java.spoken(java.rule_of(group["strategy"], group.get("strategy_params", {})), language)
        for name, routes in _routes(group, topics, with_retry).items():
            brokers = [
                (one["broker_name"], range(one["read_queue_nums"]), one.get("machine_room"))
                for one in routes
                if one.get("perm", 6) & 4
            ]
            if any(ids for _, ids, _ in brokers):
                yield Unit(group["name"], name, brokers, clients, rule, language)


def language_of_all(group):
    """The language of a group whose clients all have it."""
    languages = {client.get("language") for client in group.get("clients", [])}
    return languages.pop() if len(languages) == 1 else None


def _routes(group, topics, with_retry):
    """Brokers of every topic of a group; a retry topic that is made up has one queue on each broker of the others."""
    found = {name: topics[name]["brokers"] if name in topics else [] for name in group["subscriptions"]}
    retry = RETRY + group["name"]
    if with_retry and retry not in found:
        brokers = {one["broker_name"]: one for routes in found.values() for one in routes}
        made = [one | {"read_queue_nums": 1, "perm": 6} for one in brokers.values()]
        found[retry] = topics[retry]["brokers"] if retry in topics else made
    return found


def rooms_known(units):
    """Whether the table of these units has machine rooms at all."""
    return any(
        room is not None for unit in units for room in [r for *_, r in unit.brokers] + [r for _, r in unit.clients]
    )


def state_of(unit):
    """Who owns what."""
    queues = unit.queues
    nobody = dict.fromkeys(queues)
    if not queues or not unit.clients:
        return State(unit, nobody, None)
    try:
        return State(unit, java.owners(unit.rule, queues, unit.ids, unit.rooms), None)
    except java.Refused as error:
        return State(unit, nobody, (REFUSED, str(error)))
    except java.Unknown as error:
        return State(unit, nobody, (BAD_STRATEGY, str(error)))


def current(units):
    """States before any change, in which a group without clients is an error, and one that needs rooms and knows none."""
    return [_current_of(unit, rooms_known(units)) for unit in units]


def _current_of(unit, with_rooms):
    state = state_of(unit)
    if not unit.clients:
        return state._replace(error=(EMPTY, java.NO_CLIENTS))
    return _without_rooms(state, with_rooms)


def after(before, scenario, with_rooms):
    """The state behind a scenario; one that could not be assigned before and has still nothing to assign is bad as before."""
    unit = changed(before.unit, scenario)
    if unit == before.unit:
        return before
    if not before.error or (unit.clients and unit.queues):
        return _without_rooms(state_of(unit), with_rooms)
    return State(unit, dict.fromkeys(unit.queues), (EMPTY, java.NO_CLIENTS if unit.queues else java.NO_QUEUES))


def _without_rooms(state, with_rooms):
    if state.unit.rule["name"] == java.NEARBY and not with_rooms:
        return state._replace(error=(BAD_STRATEGY, "machineRoomResolver is null"))
    return state


def behind(before, scenario):
    """States of all units behind a scenario."""
    with_rooms = rooms_known([state.unit for state in before])
    return [after(state, scenario, with_rooms) for state in before]


# --- Changes ---


def matches(patterns, name):
    return any(fnmatchcase(name, one) for one in ([patterns] if isinstance(patterns, str) else patterns))


def changed(unit, scenario):
    """The unit after a scenario."""
    if not matches(scenario.get("groups", "*"), unit.group) or not matches(scenario.get("topics", "*"), unit.topic):
        return unit
    for change in scenario["changes"]:
        [(kind, fields)] = change.items()
        unit = CHANGES[kind](unit, **fields)
    return unit


def _remove_clients(unit, ids=None, pattern=None, count=None, machine_room=None, which="last"):
    clients, n = unit.clients, len(unit.clients)
    if ids is not None:
        gone = [one in ([ids] if isinstance(ids, str) else ids) for one, _ in clients]
    elif pattern is not None:
        gone = [matches(pattern, one) for one, _ in clients]
    elif machine_room is not None:
        gone = [room == machine_room for _, room in clients]
    elif which == "spread":
        gone = [(at * count + n // 2 + count) // n > (at * count + n // 2) // n for at in range(n)]
    else:
        gone = [at < count if which == "first" else at >= n - count for at in range(n)]
    return unit._replace(clients=[client for client, goes in zip(clients, gone, strict=True) if not goes])


def _add_clients(unit, ids=None, count=None, name="what-if-{n}", machine_room=None):
    if ids is not None:
        names = [ids] if isinstance(ids, str) else ids
    else:
        taken, names, number = set(unit.ids), [], 0
        while len(names) < count:
            number += 1
            made = name.replace("{n}", f"{number:06}")
            if made not in taken:
                names.append(made)
    return unit._replace(clients=in_order([*unit.clients, *((one, machine_room) for one in names)]))


def _scale_clients(unit, to, name="what-if-{n}", machine_room=None):
    if to <= len(unit.clients):
        return unit._replace(clients=unit.clients[:to])
    return _add_clients(unit, count=to - len(unit.clients), name=name, machine_room=machine_room)


def _set_strategy(unit, strategy, params=None):
    return unit._replace(rule=java.spoken(java.rule_of(strategy, params or {}), unit.language))


def _set_virtual_nodes(unit, virtual_nodes):
    return unit._replace(rule=java.with_nodes(unit.rule, virtual_nodes))


def _set_queues(unit, read_queue_nums, brokers="*", topics="*"):
    named = [topics] if isinstance(topics, str) else topics
    if unit.topic.startswith(RETRY):  # brokers make these by a rule of their own, so only who names them means them
        named = [one for one in named if one.startswith(RETRY)]
    if not matches(named, unit.topic):
        return unit
    made = range(read_queue_nums)
    return unit._replace(
        brokers=[(name, made if matches(brokers, name) else ids, room) for name, ids, room in unit.brokers]
    )


def _remove_broker(unit, brokers):
    return unit._replace(brokers=[broker for broker in unit.brokers if not matches(brokers, broker[0])])


def _add_broker(unit, broker_name, read_queue_nums, machine_room=None):
    if any(name == broker_name and ids for name, ids, _ in unit.brokers):
        return unit
    unit = unit._replace(brokers=[broker for broker in unit.brokers if broker[0] != broker_name])
    if unit.topic.startswith(RETRY):
        numbers = {len(ids) for _, ids, _ in unit.brokers if ids}
        read_queue_nums = numbers.pop() if len(numbers) == 1 else 1
    return unit._replace(brokers=[*unit.brokers, (broker_name, range(read_queue_nums), machine_room)])


def _lose_machine_room(unit, machine_room, what="both"):
    clients, brokers = unit.clients, unit.brokers
    if what != "brokers":
        clients = [client for client in clients if client[1] != machine_room]
    if what != "clients":
        brokers = [broker for broker in brokers if broker[2] != machine_room]
    return unit._replace(clients=clients, brokers=brokers)


CHANGES = {
    "remove_clients": _remove_clients,
    "add_clients": _add_clients,
    "scale_clients": _scale_clients,
    "set_strategy": _set_strategy,
    "set_virtual_nodes": _set_virtual_nodes,
    "set_queues": _set_queues,
    "remove_broker": _remove_broker,
    "add_broker": _add_broker,
    "lose_machine_room": _lose_machine_room,
}

# --- Figures ---


def loads_of(state):
    """Queues of every slot: of equal ids the first has them all."""
    left = {}
    for owner in state.owners.values():
        left[owner] = left.get(owner, 0) + 1
    return [left.pop(one, 0) for one in state.unit.ids]


def balance(n_queues, loads):
    mean = n_queues / len(loads) if loads else 0.0
    return {
        "n_queues": n_queues,
        "n_clients": len(loads),
        "idle": loads.count(0),
        "min_load": min(loads, default=0),
        "max_load": max(loads, default=0),
        "mean_load": mean if loads else NO_CLIENTS_MEAN,
        "skew": max(loads) / mean if loads and mean else 0.0,
    }


def moved(before, after):
    """Queues of both sides with another owner."""
    return [queue for queue in after.owners if queue in before.owners and before.owners[queue] != after.owners[queue]]


def flows(before, after):
    """Queues that every client gains and loses, by client id."""
    gained, lost = Counter(), Counter()
    for queue in {**before.owners, **after.owners}:
        had, has = before.owners.get(queue), after.owners.get(queue)
        if had != has:
            gained.update({has} - {None})
            lost.update({had} - {None})
    return gained, lost


def cross_room(state):
    brokers, clients = state.unit.rooms
    found = 0
    for queue, owner in state.owners.items():
        one, other = brokers[queue[1]], clients.get(owner)
        found += one is not None and other is not None and one != other
    return found


def unit_figures(before, after, with_rooms):
    gained, lost = flows(before, after)
    return balance(len(after.owners), loads_of(after)) | {
        "unowned": sum(owner is None for owner in after.owners.values()),
        "moved": len(moved(before, after)),
        "least_moves": least_moves(before.owners, list(after.owners), after.unit.ids),
        "clients_affected": len(gained.keys() | lost.keys()),
        "cross_room": cross_room(after) if with_rooms else None,
    }
