"""The checker's own loops, by the standard library alone: what scenarios make of clients and brokers, and who owns what.

They are written from RocketMQ's Java classes and from the guide's words about scenarios, one unit at a time, to be read beside
those; the planner's code is another.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

RETRY, NEARBY, RING, CONFIG = "%RETRY%", "MACHINE_ROOM_NEARBY-", "CONSISTENT_HASH", "CONFIG"
NULL_ROOMS = "machine_rooms is null: give the set of machine rooms whose queues are consumed"
EMPTY, TOO_LARGE, BAD_STRATEGY, REFUSED, SPOILED = 2, 4, 5, 6, (1, 3, 4)
"""Codes of errors; what is spoiled is so in every state."""

MOST_NAMES, MOST_NODES, MOST_POINTS = 100_000, 65_536, 1 << 24

Queue = tuple[str, int]
"""Broker name and queue id."""

Ids = tuple[str, ...]
Fields = dict[str, Any]
Clients = tuple[tuple[str, str | None], ...]
Brokers = tuple[tuple[str, int, str | None], ...]


class Row(NamedTuple):
    """Client ids and read queues of brokers, each with its machine room and in Java's order, and a strategy."""

    clients: Clients
    brokers: Brokers
    strategy: str
    params: Fields

    def queues(self) -> list[Queue]:
        """Every queue, in Java's order."""
        if sum(n for _, n, _ in self.brokers) > MOST_POINTS:
            raise ValueError("a topic has more queues than can be planned")
        return [(name, i) for name, n, _ in self.brokers for i in range(n)]


class Unit(NamedTuple):
    """A group and a topic: the rows of its views, the main one first, and which clients act on each."""

    group: str
    topic: str
    rows: list[Row]
    client_ids: list[str]
    views: dict[str, Any]
    lags: dict[Queue, int | None]


class State(NamedTuple):
    """A unit before any change, or after a scenario: who reads each queue, and what is wrong if nobody can say."""

    code: int
    text: str | None
    strategy: str | None
    readers: dict[Queue, Ids]
    double_owned: int
    row: Row
    bad: list[bool]  # by view
    cross_room: int | None


def utf16(text: str) -> bytes:
    """Code units, in which Java compares strings."""
    return text.encode("utf-16-be", "surrogatepass")


def by_name(rows: Iterable[Any]) -> tuple[Any, ...]:
    """Rows in Java's order of their first field."""
    return tuple(sorted(rows, key=lambda row: utf16(row[0])))


# --- Scenarios ---


def names(given: Any) -> Sequence[str]:
    """One text, or several."""
    return [given] if isinstance(given, str) else given or []


def fits(name: str, patterns: Any) -> bool:
    """Whether a name matches a pattern."""
    return any(fnmatchcase(name, one) for one in names(patterns))


def after(scenario: Fields, group: str, topic: str, row: Row) -> Row:
    """A row of a unit after a scenario; the very row if the scenario does not concern the unit."""
    if not (fits(group, scenario.get("groups", "*")) and fits(topic, scenario.get("topics", "*"))):
        return row
    return changed(row, topic, scenario["changes"])


def changed(row: Row, topic: str, changes: Iterable[Fields]) -> Row:
    """A row after changes, one by one."""
    for change in changes:
        row = _after_one(row, topic, change)
    return row


def _after_one(row: Row, topic: str, change: Fields) -> Row:
    [(verb, given)] = change.items()
    if verb == "set_strategy":
        return row._replace(strategy=given["strategy"], params=given.get("params", {}))
    if verb == "set_virtual_nodes":
        return row._replace(params={**row.params, **given}) if row.strategy.removeprefix(NEARBY) == RING else row
    if verb == "remove_clients":
        return row._replace(clients=_left(row.clients, given))
    if verb in ("add_clients", "scale_clients"):
        return row._replace(clients=_joined(row.clients, given))
    if verb == "lose_machine_room":
        room, what = given["machine_room"], given.get("what", "both")
        clients = tuple(one for one in row.clients if what == "brokers" or one[1] != room)
        brokers = tuple(one for one in row.brokers if what == "clients" or one[2] != room)
        return row._replace(clients=clients, brokers=brokers)
    return row._replace(brokers=by_name(_brokers(row.brokers, topic, verb, given)))


def _left(clients: Clients, given: Fields) -> Clients:
    """The clients that stay."""
    n, count, room = len(clients), given.get("count", 0), given.get("machine_room")
    if "count" not in given:
        ids = set(names(given.get("ids")))
        stay = (one for one in clients if not (one[0] in ids or fits(one[0], given.get("pattern"))))
        return tuple(one for one in stay if room is None or one[1] != room)
    steps = [(i * count + n // 2) // max(n, 1) for i in range(n + 1)]
    spread = {i for i in range(n) if steps[i] < steps[i + 1]}
    gone = {"first": range(count), "last": range(n - count, n), "spread": spread}[given.get("which", "last")]
    return tuple(one for i, one in enumerate(clients) if i not in gone)


def _joined(clients: Clients, given: Fields) -> Clients:
    """The clients with those that join, which get the first numbers that are free unless they are named."""
    room, stay = given.get("machine_room"), clients[: given.get("to", len(clients))]
    new, taken, number = list(names(given.get("ids"))), {one for one, _ in stay}, 0
    wanted = len(new) or given.get("to", len(stay) + given.get("count", 0)) - len(stay)
    if wanted > MOST_NAMES:
        raise ValueError(f"{wanted} clients join; at most {MOST_NAMES} can be planned")
    while len(new) < wanted:
        number += 1
        name = given.get("name", "what-if-{n}").replace("{n}", f"{number:06}")
        new += [] if name in taken else [name]
    return by_name([*stay, *((one, room) for one in new)])


def _brokers(brokers: Brokers, topic: str, verb: str, given: Fields) -> Iterator[tuple[str, int, str | None]]:
    """Brokers of a topic after a change of theirs. Of retry topics, which brokers make, a new one has what all others have."""
    is_retry = topic.startswith(RETRY)
    if verb == "add_broker":
        new, full = given["broker_name"], [one for one in brokers if one[1]]
        counts = {one[1] for one in full}
        yield from (one for one in brokers if one[1] or one[0] != new)
        if new not in [one[0] for one in full]:
            n = given["read_queue_nums"] if not is_retry else counts.pop() if len(counts) == 1 else 1
            yield new, n, given.get("machine_room")
        return
    topics = [one for one in names(given.get("topics", "*")) if one.startswith(RETRY) or not is_retry]
    for name, n, room in brokers:
        chosen = fits(name, given.get("brokers", "*"))
        if verb == "set_queues":
            yield name, given["read_queue_nums"] if chosen and fits(topic, topics) else n, room
        elif not chosen:
            yield name, n, room


def in_use(rows: Iterable[Row]) -> list[Row]:
    """Rows without brokers that have no queues, which make no difference."""
    return [row._replace(brokers=tuple(one for one in row.brokers if one[1])) for row in rows]


# --- Strategies ---


def text_form(topic: str, queue: Queue) -> str:
    """Java's ``MessageQueue.toString()``, by which a queue is hashed."""
    return f"MessageQueue [topic={topic}, brokerName={queue[0]}, queueId={queue[1]}]"


def hashed(key: str) -> int:
    """The first four bytes of the MD5 hash; half a surrogate pair is a question mark in Java's UTF-8."""
    return int.from_bytes(hashlib.md5(key.encode("utf-8", "replace"), usedforsecurity=False).digest()[:4], "big")


@lru_cache(maxsize=256)
def ring(ids: Ids, nodes: int) -> tuple[list[int], dict[int, str]]:
    """The points in order, and who holds each: a repeated id counts on behind those it holds, and the last writer wins."""
    points: dict[int, str] = {}
    seen = set[str]()
    for one in ids:
        held = list(points.values()).count(one) if one in seen else 0
        seen.add(one)
        for k in range(nodes):
            points[hashed(f"{one}-{held + k}")] = one
    return sorted(points), points


def before_at(broker_name: str) -> str | None:
    """The room of a broker named ``ROOM@NAME``, as Java splits it: empty parts at the end do not count."""
    parts = broker_name.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts[0] if len(parts) == 2 else None


def is_known(strategy: str, params: Fields) -> bool:
    """Whether the strategy is one of those below, with the parameters that it takes."""
    name = strategy.removeprefix(NEARBY)
    if name == RING:
        nodes = params.get("virtual_nodes", 10)
        return not params.keys() - {"virtual_nodes"} and type(nodes) is int and 0 <= nodes <= MOST_NODES
    if name == "MACHINE_ROOM":
        return not params.keys() - {"machine_rooms"} and all(
            type(one) is str for one in params.get("machine_rooms", ())
        )
    if strategy == CONFIG:
        lists = params.get("message_queues")
        return len(params) == 1 and type(lists) is dict and all(map(_is_list, lists.values()))
    return name in ("AVG", "AVG_BY_CIRCLE") and not params


def owners(row: Row, topic: str, queues: list[Queue]) -> tuple[list[str | None], int, str | None]:
    """Client id of the owner of every queue, None for nobody; code and text of why there are none."""
    ids: Ids = tuple(one for one, _ in row.clients)
    nobody: list[str | None] = [None] * len(queues)
    if not is_known(row.strategy, row.params):
        return nobody, BAD_STRATEGY, None
    n_points = len(ids) * row.params.get("virtual_nodes", 10) if row.strategy.removeprefix(NEARBY) == RING else 0
    if n_points > MOST_POINTS:
        return nobody, TOO_LARGE, f"the ring would have {n_points} points; at most {MOST_POINTS} can be planned"
    if not queues or not ids:
        return nobody, 0, None
    if row.strategy == "MACHINE_ROOM" and not row.params and any(before_at(name) is not None for name, _ in queues):
        return nobody, REFUSED, NULL_ROOMS
    if row.strategy == CONFIG:
        return _listed(row, topic, queues)
    return (
        _nearby(row, topic, queues) if row.strategy.startswith(NEARBY) else (_shares(row, topic, queues, ids), 0, None)
    )


def _shares(row: Row, topic: str, queues: list[Queue], ids: Ids) -> list[str | None]:
    """Owners by AVG, AVG_BY_CIRCLE, CONSISTENT_HASH or MACHINE_ROOM; of a repeated id only the first share is anybody's."""
    name, n, slots = row.strategy.removeprefix(NEARBY), len(queues), list[int | None]([None] * len(queues))
    size, more = divmod(n, len(ids))
    if name == RING:
        points, holders = ring(ids, row.params.get("virtual_nodes", 10))
        at = (bisect_left(points, hashed(text_form(topic, one))) % len(points) for one in queues) if points else ()
        return [holders[points[i]] or None for i in at] or [None] * n
    if name == "AVG":
        cut = more * (size + 1)
        slots = [i // (size + 1) if i < cut else more + (i - cut) // size for i in range(n)]
    elif name == "AVG_BY_CIRCLE":
        slots = [i % len(ids) for i in range(n)]
    else:
        kept = [i for i, (broker, _) in enumerate(queues) if before_at(broker) in row.params.get("machine_rooms", ())]
        size = len(kept) // len(ids)
        for place, i in enumerate(kept):  # those that are left over come from the end
            slots[i] = place // size if place < size * len(ids) else place - size * len(ids)
    first = {one: slot for slot, one in reversed([*enumerate(ids)]) if one}
    return [ids[slot] if slot is not None and first.get(ids[slot]) == slot else None for slot in slots]


def _nearby(row: Row, topic: str, queues: list[Queue]) -> tuple[list[str | None], int, str | None]:
    """Owners room by room: the queues of a room go to its own clients, or to all where it has none."""
    found: list[str | None] = [None] * len(queues)
    room_of = {name: room for name, _, room in row.brokers}
    lacking = [f"mq {text_form(topic, one)}" for one in queues if not room_of[one[0]]]
    lacking += [f"consumer id {one}" for one, room in row.clients if not room]
    if lacking:
        return found, REFUSED, f"Machine room is null for {lacking[0]}"
    for room in {room_of[name] for name, _ in queues}:
        mine = [i for i, (name, _) in enumerate(queues) if room_of[name] == room]
        there = [one for one, stands_in in row.clients if stands_in == room] or [one for one, _ in row.clients]
        for i, owner in zip(mine, _shares(row, topic, [queues[i] for i in mine], tuple(there)), strict=True):
            found[i] = owner
    return found, 0, None


def _listed(row: Row, topic: str, queues: list[Queue]) -> tuple[list[str | None], int, str | None]:
    """Owners by the lists of CONFIG; a queue in the lists of two clients that are there is refused."""
    there = {one for one, _ in row.clients}
    given = {one: mine for one, mine in row.params["message_queues"].items() if one in there}
    lists = {one: set(map(tuple, mine)) for one, mine in given.items()}
    found: list[str | None] = []
    for queue in queues:
        have = [one for one, mine in lists.items() if (topic, *queue) in mine]
        if len(have) > 1:
            said = f"{text_form(topic, queue)} is in the lists of {' and '.join(have)}, who all consume it"
            return [None] * len(queues), REFUSED, said
        found.append(have[0] if have else None)
    return found, 0, None


def _is_list(mine: Any) -> bool:
    """Whether this is a list of queues: of each its topic, broker name and queue id."""
    return type(mine) is list and all([*map(type, one)] == [str, str, int] for one in mine)


# --- Units in their states ---


def units_of(inputs: dict[str, Any]) -> Iterator[Unit]:
    """The units, in the order of the tables."""
    routes = {topic: by_name(map(tuple, brokers)) for topic, brokers in inputs["topics"].items()}
    if any(n < 0 for brokers in routes.values() for _, n, _ in brokers):
        raise ValueError("plan.inputs.topics has a negative number of queues")
    for group in inputs["groups"]:
        ids = group["clients"]
        listed = [*zip(ids, group.get("rooms", [None] * len(ids)), strict=True)]
        clients, room_of = by_name(listed), dict(listed)
        everyone = {"views": [{"acting": range(len(ids)), "joining": True}], "lists": 1, "subscribed": range(len(ids))}
        for topic in group["topics"]:
            rows = [Row(clients, routes[topic], group["strategy"], group.get("params", {}))]
            views = group.get("views", {}).get(topic, everyone)
            for view in views["views"][1:]:
                own = by_name((one, room_of[one]) for one in view["clients"]) if "clients" in view else clients
                route = by_name(map(tuple, view["route"])) if "route" in view else routes[topic]
                rule = (view["strategy"], view.get("params", {})) if "strategy" in view else rows[0][2:]
                rows.append(Row(own, route, *rule))
            lags = {(b, i): n for b, each in group.get("lags", {}).get(topic, {}).items() for i, n in enumerate(each)}
            yield Unit(group["name"], topic, rows, ids, views, lags)


def check_order(data: dict[str, Any]) -> None:
    """Raise unless names stand in order where their order means nothing."""
    inputs, ways = data["inputs"], [one for each in data["undo"].values() for one in each]
    lists = [[one["groups"] for one in ways], [one.get("topics", []) for one in ways]]
    lists.append([[name for name, *_ in route] for route in inputs["topics"].values()])
    lists.append([one["clients"] for one in inputs["groups"] if "views" not in one])
    fields = (given for one in ways for change in one.get("changes", ()) for given in change.values())
    lists.append([value for given in fields for value in given.values() if isinstance(value, list)])
    if any(one != sorted(one, key=utf16) for each in lists for one in each):
        raise ValueError("names of clients, brokers, groups or topics are not in order")


def state_of(unit: Unit, rows: list[Row], first: State | None, told: tuple[int, str | None], with_rooms: bool) -> State:
    """A unit with these rows; ``first`` is its state before any change, ``told`` the error of the file, where that is taken."""
    if told[0] in SPOILED and not (told[1] or "").startswith("the ring"):
        return State(*told, None, {}, 0, rows[0], [True] * len(rows), None)
    errors, divided = list[tuple[int, str | None]](), list[dict[Queue, str | None]]()
    for i, row in enumerate(rows):
        queues = row.queues()
        owned, code, text = owners(row, unit.topic, queues)
        if row.strategy.startswith(NEARBY) and not with_rooms:
            code = BAD_STRATEGY
        if (first is None or first.bad[i]) and not (queues and row.clients):
            code, text = EMPTY, "cidAll is null or cidAll empty" if queues else "mqAll is null or mqAll empty"
        errors.append((code, told[1] if code == BAD_STRATEGY == told[0] else text))
        divided.append(dict(zip(queues, owned, strict=True)))
    code, text = next((one for i, one in enumerate(errors) if one[0] and (not i or one[0] != EMPTY)), (0, None))
    readers, double = merged(unit, rows[0], divided, bool(code), unit.views.get("reported") if first is None else None)
    names = dict.fromkeys(row.strategy for row, (wrong, _) in zip(rows, errors, strict=True) if not wrong)
    cross = None
    if with_rooms and not errors[0][0]:
        room_of, stands_in = {name: room for name, _, room in rows[0].brokers}, dict(reversed(rows[0].clients))
        pairs = [(room_of[queue[0]], stands_in[owner]) for queue, owner in divided[0].items() if owner is not None]
        cross = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
    strategy = None if code else "+".join(names)
    return State(code, text, strategy, readers, double, rows[0], [bool(wrong) for wrong, _ in errors], cross)


def merged(
    unit: Unit, main: Row, divided: list[dict[Queue, str | None]], is_bad: bool, reported: list[Any] | None
) -> tuple[dict[Queue, Ids], int]:
    """Who reads each queue, the views laid on one another, and how many queues two clients surely read."""
    listed, slots_of = Counter(unit.client_ids), dict[str, list[int]]()
    for slot, one in enumerate(unit.client_ids):
        slots_of.setdefault(one, []).append(slot)
    joined = {one for one, n in Counter(one for one, _ in main.clients).items() if n > listed[one]}
    takers: dict[Queue, list[int]] = {queue: [] for queue in divided[0]}
    ids: dict[Queue, set[str]] = {queue: set() for queue in divided[0]}
    for view, owners in zip(unit.views["views"], divided, strict=True):
        acting = set(view["acting"])
        for queue, owner in owners.items():
            if owner is not None and queue in ids and not is_bad and reported is None:
                slots = [slot for slot in slots_of.get(owner, ()) if slot in acting]
                slots += [-1] if owner in joined and view.get("joining") else []
                takers[queue] += slots
                ids[queue].update([owner] if slots else [])
    n_lists = unit.views["lists"]
    for broker, queue_id, slots in reported or ():
        ids[broker, queue_id], takers[broker, queue_id] = (
            {unit.client_ids[slot] for slot in slots},
            slots * n_lists,
        )
    readers = {queue: tuple(sorted(each, key=utf16)) for queue, each in ids.items()}
    several = (Counter(each).values() for each in takers.values() if len(each) >= 2 * n_lists)
    return readers, sum(sum(n >= n_lists for n in each) > 1 for each in several)
