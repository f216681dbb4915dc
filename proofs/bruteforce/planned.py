"""Units that are planned, client by client and queue by queue, and what each change of a scenario
makes of one.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple

from bruteforce import java
from bruteforce.clusters import RETRY

EMPTY, BAD_STRATEGY, REFUSED = 2, 5, 6


class Unit(NamedTuple):
    """A group on a topic: ``clients`` (id, machine room) in Java's order, ``brokers`` (name, queue
    ids, machine room).

    Its clients have a ``language``, in which they compute the strategy that a scenario sets; of
    None they are Java's.
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


def in_order(clients):
    return sorted(clients, key=lambda client: java.utf16(client[0]))


def units_of(document, with_retry=False):
    """Units whose queues clients divide, by one strategy, in the order of the document."""
    for group in document["groups"]:
        is_shared = (
            group.get("message_model", "CLUSTERING") != "CLUSTERING"
            or group.get("server_assignment") == "POP"
        )
        # What is stated of clients of C++ they do not have, which is a doubt.
        if not is_shared and (language_of_all(group) != "CPP" or group["strategy"] == "AVG"):
            yield from units_of_group(document, group, with_retry)


def units_of_group(document, group, with_retry=False):
    """Units of a group as the brokers and most of its clients have them."""
    topics = {topic["name"]: topic for topic in document["topics"]}
    clients = in_order(
        (one["client_id"], one.get("machine_room")) for one in group.get("clients", [])
    )
    language = None if is_served(group) else language_of_all(group)
    rule = java.spoken(java.rule_of(group["strategy"], group.get("strategy_params", {})), language)
    for name, routes in _routes(group, topics, with_retry).items():
        brokers = [
            (one["broker_name"], range(one["read_queue_nums"]), one.get("machine_room"))
            for one in routes
            if one.get("perm", 6) & 4
        ]
        if any(ids for _, ids, _ in brokers):
            yield Unit(group["name"], name, brokers, clients, rule, language)


def topics_of(group):
    """What a group subscribes to, then what only clients of it do."""
    own = group["subscriptions"]
    more = set()
    for client in group.get("clients", []):
        more.update(client.get("subscriptions") or ())
    return [*own, *sorted(more - {*own, RETRY + group["name"]})]


def is_served(group):
    """Whether brokers divide the queues of a group, by rules of Java's."""
    return group.get("server_assignment") is not None and not group.get("is_ordered")


def language_of(client):
    """The language of a client as far as it matters: Python's is a shell around that of C++, but
    members of rmqalloc divide as Java's clients do.
    """
    language = client.get("language")
    return {"PYTHON": "CPP", "RMQALLOC": "JAVA"}.get(language, language)


def language_of_all(group):
    """The language of a group whose clients all have it."""
    languages = {language_of(client) for client in group.get("clients", [])}
    return languages.pop() if len(languages) == 1 else None


def _routes(group, topics, with_retry):
    """Brokers of every topic of a group; a retry topic that is made up has one queue on each broker
    of the others.
    """
    found = {name: topics[name]["brokers"] if name in topics else [] for name in topics_of(group)}
    retry = RETRY + group["name"]
    if with_retry and retry not in found:
        brokers = {one["broker_name"]: one for routes in found.values() for one in routes}
        made = [one | {"read_queue_nums": 1, "perm": 6} for one in brokers.values()]
        found[retry] = topics[retry]["brokers"] if retry in topics else made
    return found


def rooms_known(units):
    """Whether the table of these units has machine rooms at all."""
    return any(
        room is not None
        for unit in units
        for room in [r for *_, r in unit.brokers] + [r for _, r in unit.clients]
    )


# --- Changes ---


def matches(patterns, name):
    return any(
        fnmatchcase(name, one) for one in ([patterns] if isinstance(patterns, str) else patterns)
    )


def changed(unit, scenario):
    """The unit after a scenario."""
    if not matches(scenario.get("groups", "*"), unit.group) or not matches(
        scenario.get("topics", "*"), unit.topic
    ):
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
    return unit._replace(
        clients=[client for client, goes in zip(clients, gone, strict=True) if not goes]
    )


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
    if unit.topic.startswith(
        RETRY
    ):  # brokers make these by a rule of their own, so only who names them means them
        named = [one for one in named if one.startswith(RETRY)]
    if not matches(named, unit.topic):
        return unit
    made = range(read_queue_nums)
    return unit._replace(
        brokers=[
            (name, made if matches(brokers, name) else ids, room)
            for name, ids, room in unit.brokers
        ]
    )


def _remove_broker(unit, brokers):
    return unit._replace(
        brokers=[broker for broker in unit.brokers if not matches(brokers, broker[0])]
    )


def _add_broker(unit, broker_name, read_queue_nums, machine_room=None):
    if any(name == broker_name and ids for name, ids, _ in unit.brokers):
        return unit
    unit = unit._replace(brokers=[broker for broker in unit.brokers if broker[0] != broker_name])
    if unit.topic.startswith(RETRY):
        numbers = {len(ids) for _, ids, _ in unit.brokers if ids}
        read_queue_nums = numbers.pop() if len(numbers) == 1 else 1
    return unit._replace(
        brokers=[*unit.brokers, (broker_name, range(read_queue_nums), machine_room)]
    )


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
