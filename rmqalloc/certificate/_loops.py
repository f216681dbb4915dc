"""The checker's own loops, by the standard library alone: what scenarios make of clients and brokers, and who owns what.

They are written from RocketMQ's Java classes and from the guide's words about scenarios, one unit at a time, to be read beside
those; the planner's code is another.
"""

from __future__ import annotations

import hashlib
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

RETRY, NEARBY, RING, ROOMS, CONFIG = "%RETRY%", "MACHINE_ROOM_NEARBY-", "CONSISTENT_HASH", "MACHINE_ROOM", "CONFIG"
NO_POINTS = "client-go panics with 0 virtual nodes (integer divide by zero)"
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


@lru_cache(maxsize=256)
def go_ring(ids: Ids, nodes: int) -> tuple[list[int], dict[int, str]]:
    """The same by client-go: the number stands before the id, and an id that repeats puts the same points again."""
    points = {crc(f"{k}{one}"): one for one in ids for k in range(nodes)}
    return sorted(points), points


def crc(key: str) -> int:
    """Client-go's hash of a text."""
    return zlib.crc32(key.encode("utf-8", "replace"))


def is_known(strategy: str, params: Fields) -> bool:
    """Whether the strategy is one of those below, with the parameters that it takes."""
    name = strategy.removeprefix(NEARBY)
    if params.get("dialect") == "go":
        return strategy in (RING, ROOMS) and is_known(strategy, {k: v for k, v in params.items() if k != "dialect"})
    if name == RING:
        nodes = params.get("virtual_nodes", 10)
        return not params.keys() - {"virtual_nodes"} and type(nodes) is int and 0 <= nodes <= MOST_NODES
    if name == ROOMS:
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
    if row.params.get("dialect") == "go":
        if row.params.get("virtual_nodes", 10) == 0:
            return nobody, REFUSED, NO_POINTS
        return _go_shares(row, topic, queues, ids), 0, None
    if row.strategy == ROOMS and not row.params and any(before_at(name) is not None for name, _ in queues):
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
    return _asked(ids, slots)


def _go_shares(row: Row, topic: str, queues: list[Queue], ids: Ids) -> list[str | None]:
    """Owners by client-go's ring, or its machine rooms, of which only what is over is taken from the rooms' own queues."""
    if row.strategy == RING:
        points, holders = go_ring(ids, row.params.get("virtual_nodes", 10))
        return [holders[points[bisect_right(points, crc(text_form(topic, q))) % len(points)]] or None for q in queues]
    rooms = [name.split("@") for name, _ in queues]
    kept = [i for i, parts in enumerate(rooms) if len(parts) == 2 and parts[0] in row.params.get("machine_rooms", ())]
    size = len(kept) // len(ids)
    slots: dict[int, int] = {i: i // size for i in range(size * len(ids))}
    slots |= {i: slot for slot, i in enumerate(kept[size * len(ids) :])}
    return _asked(ids, [slots.get(i) for i in range(len(queues))])


def _asked(ids: Ids, slots: list[int | None]) -> list[str | None]:
    """The ids of slots, of a repeated id for the first alone: nobody asks for the others, nor for an empty one."""
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
