"""RocketMQ's strategies as the specification has them: one client asks, and gets its own list of
queues.

A queue is a tuple (topic, broker name, queue id), a rule a dictionary with the strategy's ``name``
and its parameters.
"""

import hashlib
import re
from bisect import bisect_left
from functools import lru_cache

from bruteforce import go, own_strategies

NEARBY = "MACHINE_ROOM_NEARBY"
DEFAULT_NODES = 10


class Refused(Exception):
    """What Java raises, with its text."""


class Unknown(Exception):
    """Nobody can tell what a strategy does: there is no such, or it lacks a parameter."""


def utf16(text):
    """Java's order of strings."""
    return text.encode("utf-16-be", "surrogatepass")


def queue_order(queue):
    topic, broker, queue_id = queue
    return utf16(topic), utf16(broker), queue_id


def text_of(queue):
    return "MessageQueue [topic={}, brokerName={}, queueId={}]".format(*queue)


@lru_cache(1 << 20)
def point(text):
    return int.from_bytes(hashlib.md5(java_bytes(text)).digest()[:4], "big")


def java_bytes(text):
    """UTF-8 as Java makes it: halves of a surrogate pair that stand side by side are one character,
    others are ``?``.
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return re.sub("[\ud800-\udfff]", "?", whole).encode()


@lru_cache(1 << 12)
def ring(ids, nodes):
    """Points in ascending order, and the client of each: clients put theirs one after the other,
    the last writer wins.
    """
    holder = {}
    for place, one in enumerate(ids):
        held = sum(other == one for other in holder.values()) if one in ids[:place] else 0
        for k in range(nodes):
            holder[point(f"{one}-{held + k}")] = one
    points = sorted(holder)
    return points, [holder[at] for at in points]


def averagely(rule, current, queues, ids, rooms):
    share, rest = divmod(len(queues), len(ids))
    i = ids.index(current)
    start = i * share + min(i, rest)
    return queues[start : start + share + (i < rest)]


def by_circle(rule, current, queues, ids, rooms):
    return queues[ids.index(current) :: len(ids)]


def consistent_hash(rule, current, queues, ids, rooms):
    nodes = rule.get("virtual_nodes", DEFAULT_NODES)
    if nodes < 0:
        raise Unknown(f"illegal virtualNodeCnt :{nodes}")
    points, holders = ring(tuple(ids), nodes)
    if not points:
        return []
    return [
        q
        for q in queues
        if holders[bisect_left(points, point(text_of(q))) % len(points)] == current
    ]


def split_at(name):
    """Java's split: parts at the end that are empty are not there."""
    if "@" not in name:
        return [name]
    parts = name.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def machine_room(rule, current, queues, ids, rooms):
    kept = []
    for queue in queues:
        parts = split_at(queue[1])
        if len(parts) == 2 and rule.get("machine_rooms") is None:
            raise Refused(NULL_ROOMS)  # a NullPointerException, and not before
        if len(parts) == 2 and parts[0] in rule["machine_rooms"]:
            kept.append(queue)
    share, rest = divmod(len(kept), len(ids))
    i = ids.index(current)
    return kept[i * share : (i + 1) * share] + ([kept[share * len(ids) + i]] if i < rest else [])


def nearby(rule, current, queues, ids, rooms):
    """``rooms`` holds the machine rooms of brokers and of clients."""
    of_broker, of_client = rooms
    for queue in queues:
        if not of_broker.get(queue[1]):
            raise Refused(f"Machine room is null for mq {text_of(queue)}")
    for one in ids:
        if not of_client.get(one):
            raise Refused(f"Machine room is null for consumer id {one}")
    mine = of_client[current]
    found = []
    for room in sorted({of_broker[queue[1]] for queue in queues}, key=utf16):
        there = [queue for queue in queues if of_broker[queue[1]] == room]
        clients = [one for one in ids if of_client[one] == room]
        if room == mine or not clients:
            found += allocate(rule["inner"], current, there, clients or ids, rooms)
    return found


def go_ring(rule, current, queues, ids, rooms):
    if rule.get("virtual_nodes", DEFAULT_NODES) < 1:
        raise Refused("client-go panics with 0 virtual nodes (integer divide by zero)")
    return go.consistent_hash(rule, current, queues, ids, java_bytes, text_of)


def go_rooms(rule, current, queues, ids, rooms):
    return go.machine_room({"machine_rooms": ()} | rule, current, queues, ids)


IN_GO = {"CONSISTENT_HASH": go_ring, "MACHINE_ROOM": go_rooms}
RULES = {
    "AVG": averagely,
    "AVG_BY_CIRCLE": by_circle,
    "CONSISTENT_HASH": consistent_hash,
    "MACHINE_ROOM": machine_room,
    NEARBY: nearby,
}


def allocate(rule, current, queues, ids, rooms=({}, {})):
    """Queues of one client; ``queues`` and ``ids`` are in Java's order."""
    if rule["name"] == "CONFIG":
        lists = rule["lists"]
        return list(lists.get(current, lists.get(None, [])))
    if rule["name"] not in RULES:
        raise Unknown(rule["name"])
    for given, text in ((current, "currentCID is empty"), (queues, NO_QUEUES), (ids, NO_CLIENTS)):
        if not given:
            raise Refused(text)
    if current not in ids:
        return []
    rules = RULES | IN_GO if rule.get("dialect") == "go" else RULES
    return rules[rule["name"]](rule, current, queues, ids, rooms)


NULL_ROOMS = "machine_rooms is null: give the set of machine rooms whose queues are consumed"
NO_QUEUES = "mqAll is null or mqAll empty"
NO_CLIENTS = "cidAll is null or cidAll empty"


def rule_of(name, params):
    """The rule of a strategy's name and parameters as snapshots have them; a dialect that they name
    is the rule's.
    """
    params = dict(params)
    dialect = {"dialect": params.pop("dialect")} if "dialect" in params else {}
    outer, _, rest = name.partition("-")
    outer = own_strategies.VERSIONS.get(outer, outer)
    if outer in own_strategies.OVER or (outer == NEARBY and (rest or "inner" in params)):
        own = {one: params.pop(one) for one in own_strategies.OVER.get(outer, ()) if one in params}
        inner = params.pop("inner", "AVG")
        return {"name": outer, "inner": rule_of(rest or inner, params), **own, **dialect}
    if name == "CONFIG":
        return {"name": name, "lists": config_lists(params.get("message_queues"))}
    return {"name": f"{outer}-{rest}" if rest else outer, **params, **dialect}


LANGUAGES = {"go": "GO", "cpp": "CPP", "java": "JAVA"}
"""Languages by the dialects that parameters may name."""


def spoken(rule, language):
    """What a client of a language computes under the name of a rule; a client of C++ has AVG alone."""
    language = LANGUAGES.get(rule.get("dialect"), language)
    rule = {key: value for key, value in rule.items() if key != "dialect"}
    if language in ("CPP", "PYTHON") or (language == "GO" and rule["name"] == NEARBY):
        return {"name": "AVG"}
    return rule | {"dialect": "go"} if language == "GO" and rule["name"] in IN_GO else rule


def config_lists(given):
    """Queues by client id, under None those of all the others."""
    lists = given if isinstance(given, dict) else {None: given or []}
    return {one: [queue_of(queue) for queue in queues or []] for one, queues in lists.items()}


def queue_of(queue):
    if isinstance(queue, dict):
        return queue["topic"], queue["broker_name"], queue["queue_id"]
    return tuple(queue)


def title(rule):
    """Java's getName()."""
    return f"{rule['name']}-{title(rule['inner'])}" if "inner" in rule else rule["name"]


def with_nodes(rule, nodes):
    """The rule with another number of virtual nodes, itself if it has no ring."""
    if "inner" in rule:
        return rule | {"inner": with_nodes(rule["inner"], nodes)}
    return rule | {"virtual_nodes": nodes} if rule["name"].startswith("CONSISTENT_HASH") else rule


def reads_rooms(rule):
    """Whether machine rooms of brokers and clients count."""
    return any(name.startswith(NEARBY) for name in own_strategies.names_in(rule))


def owners(rule, queues, ids, rooms=({}, {})):
    """The client id that owns each queue, None for nobody: every client is asked alone.

    Refused or Unknown if all clients fail alike; a client with an empty id has nobody to ask.
    """
    if own_strategies.is_own(rule):
        try:
            return own_strategies.owners(rule, queues, ids, rooms)
        except ValueError as error:
            raise Refused(str(error)) from None
    found = dict.fromkeys(queues)
    for one in dict.fromkeys(ids):
        if one:
            for queue in allocate(rule, one, queues, ids, rooms):
                if queue in found:
                    if found[queue] is not None:
                        raise Unknown(f"{title(rule)} gives {queue} to {found[queue]} and {one}")
                    found[queue] = one
    return found


def popped(rule, current, queues, ids, share):
    """Queues that a client pops from: allocate4Pop of the broker."""
    if share <= 0 or share >= len(ids) - 1:
        return queues
    if len(ids) <= len(queues):
        found = list(allocate(rule, current, queues, ids))
        if current in ids:
            place = ids.index(current)
            for step in range(1, share + 1):
                found += allocate(rule, ids[(place + step) % len(ids)], queues, ids)
        return found
    return (
        [queues[ids.index(current) % len(queues)]]
        if not is_blank(current) and current in ids
        else []
    )


def is_blank(text):
    """Nothing but white space as Java sees it."""
    return all(one.isspace() and one not in "\x85\xa0\u2007\u202f" for one in text)
