"""The checker's loops of strategies that have none inside, and of the names and numbers of all.

They are written from RocketMQ's Java classes and from the guide, to be read beside those; the planner's code is another.
"""

from __future__ import annotations

import hashlib
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Any

NEARBY, RING, ROOMS = "MACHINE_ROOM_NEARBY", "CONSISTENT_HASH", "MACHINE_ROOM"
ROTATED, CANARY, POOLED = "ROTATED/1", "CANARY/1", "MACHINE_ROOM_NEARBY_POOLED/1"
BOUNDED, WEIGHTED = "CONSISTENT_HASH_BOUNDED/1", "WEIGHTED/1"
ORDINAL, ORDINAL_2, STABLE = "ORDINAL/1", "ORDINAL/2", "STABLE/1"
VERSIONS = {one.partition("/")[0]: one for one in (ROTATED, CANARY, POOLED, BOUNDED, WEIGHTED, ORDINAL, STABLE)}
OVER_AVG, IN_ROOMS, ON_RING = {ROTATED, CANARY, POOLED}, {NEARBY, POOLED}, {RING, BOUNDED}
NO_POINTS = "client-go panics with 0 virtual nodes (integer divide by zero)"
NULL_ROOMS = "machine_rooms is null: give the set of machine rooms whose queues are consumed"
MOST_NODES = 65_536

Queue = tuple[str, int]
"""Broker name and queue id."""

Ids = tuple[str, ...]
Fields = dict[str, Any]


def parts(strategy: str) -> list[str]:
    """Names from the outermost strategy to the innermost one, versions and defaults included."""
    found = [VERSIONS.get(one, one) for one in strategy.split("-")]
    return found + ["AVG"] * (found[-1] in OVER_AVG)


def full_name(strategy: str) -> str:
    """What a strategy calls itself."""
    return "-".join(parts(strategy))


def spoken(strategy: str, params: Fields, dialect: str) -> tuple[str, Fields]:
    """What a client of a dialect computes once its group is given a strategy; parameters that name a dialect hold for all.

    The C++ client has AVG alone. Client-go has a ring and machine rooms of its own, and AVG under the name of NEARBY; what it
    does not have is taken to be Java's.
    """
    dialect, rest = params.get("dialect", dialect), {name: value for name, value in params.items() if name != "dialect"}
    if dialect == "cpp" or (dialect == "go" and parts(strategy)[0] == NEARBY):
        return "AVG", {}
    return strategy, {**rest, "dialect": "go"} if dialect == "go" and strategy in (RING, ROOMS) else rest


def reads_rooms(strategy: str) -> bool:
    """Whether machine rooms count."""
    return not IN_ROOMS.isdisjoint(parts(strategy))


def units(given: Any, unit: int, most: int, least: int = 0) -> int | None:
    """A decimal number in whole units; None if it is none, or out of bounds."""
    if type(given) not in (int, float, str):
        return None
    with suppress(InvalidOperation):
        found = Decimal(str(given)) * unit
        return int(found) if found.is_finite() and least <= found <= most and found == int(found) else None
    return None


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


@lru_cache(maxsize=256)
def go_ring(ids: Ids, nodes: int) -> tuple[list[int], dict[int, str]]:
    """The same by client-go: the number stands before the id, and an id that repeats puts the same points again."""
    points = {crc(f"{k}{one}"): one for one in ids for k in range(nodes)}
    return sorted(points), points


def crc(key: str) -> int:
    """Client-go's hash of a text."""
    return zlib.crc32(key.encode("utf-8", "replace"))


def before_at(broker_name: str) -> str | None:
    """The room of a broker named ``ROOM@NAME``, as Java splits it: empty parts at the end do not count."""
    parts = broker_name.split("@")
    while parts and not parts[-1]:
        parts.pop()
    return parts[0] if len(parts) == 2 else None


def utf16(text: str) -> bytes:
    """Code units, in which Java compares strings."""
    return text.encode("utf-16-be", "surrogatepass")


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``, sign-extended to 64 bits."""
    code, units_of = 0, utf16(text)
    for high, low in zip(units_of[::2], units_of[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return (code - (code >> 31 << 32)) % 2**64


def mix64(z: int) -> int:
    """SplitMix64's finalizer."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def is_plain(name: str, params: Fields) -> bool:
    """The same of a strategy that has none inside."""
    if name in ON_RING:
        nodes, factor = params.get("virtual_nodes", 10), params.get("load_factor", 1) if name == BOUNDED else 1
        taken = {"virtual_nodes"} | ({"load_factor"} if name == BOUNDED else set())
        is_good = type(nodes) is int and 0 <= nodes <= MOST_NODES and units(factor, 100, 10**8, 100) is not None
        return not params.keys() - taken and is_good
    if name == ROOMS:
        return not params.keys() - {"machine_rooms"} and all(
            type(one) is str for one in params.get("machine_rooms", ())
        )
    if name in (ORDINAL, ORDINAL_2):  # tables are not among the files of the checker
        return not params.keys() - {"pattern"} and type(params.get("pattern", "")) is str
    if name == STABLE:
        return not params.keys() - {"slack"} and params.get("slack", 0) in (0, 1)
    if name == WEIGHTED:  # no table holds weights of queues
        given = params.get("capacities") or {}
        is_good = type(given) is dict and all(type(one) is int and 0 < one < 2**31 for one in given.values())
        return not params.keys() - {"capacities"} and is_good
    return name in ("AVG", "AVG_BY_CIRCLE") and not params


def shares(name: str, params: Fields, topic: str, queues: list[Queue], ids: Ids) -> list[str | None]:
    """Owners by a strategy that has none inside; of a repeated id only the first share is anybody's."""
    n, slots = len(queues), list[int | None]([None] * len(queues))
    size, more = divmod(n, len(ids))
    if params.get("dialect") == "go":
        return _go_shares(name, params, topic, queues, ids)
    if name in ON_RING:
        points, holders = ring(ids, params.get("virtual_nodes", 10))
        at = [bisect_left(points, hashed(text_form(topic, one))) % len(points) for one in queues] if points else []
        if name == RING:
            return [holders[points[i]] or None for i in at] or [None] * n
        return _bounded(points, holders, at, len(set(ids)), params.get("load_factor", "1.25")) or [None] * n
    if name == WEIGHTED:
        return _by_capacity(n, ids, params.get("capacities") or {})
    if name == "AVG":
        cut = more * (size + 1)
        slots = [i // (size + 1) if i < cut else more + (i - cut) // size for i in range(n)]
    elif name == "AVG_BY_CIRCLE":
        slots = [i % len(ids) for i in range(n)]
    else:
        if "machine_rooms" not in params and any(before_at(broker) is not None for broker, _ in queues):
            raise ValueError(NULL_ROOMS)
        kept = [i for i, (broker, _) in enumerate(queues) if before_at(broker) in params.get("machine_rooms", ())]
        size = len(kept) // len(ids)
        for place, i in enumerate(kept):  # those that are left over come from the end
            slots[i] = place // size if place < size * len(ids) else place - size * len(ids)
    return _asked(ids, slots)


def _go_shares(name: str, params: Fields, topic: str, queues: list[Queue], ids: Ids) -> list[str | None]:
    """Owners by client-go's ring, or its machine rooms, of which only what is over is taken from the rooms' own queues."""
    nodes = params.get("virtual_nodes", 10)
    if nodes == 0:
        raise ValueError(NO_POINTS)
    if name == RING:
        points, holders = go_ring(ids, nodes)
        return [holders[points[bisect_right(points, crc(text_form(topic, q))) % len(points)]] or None for q in queues]
    rooms = [broker.split("@") for broker, _ in queues]
    kept = [i for i, parts in enumerate(rooms) if len(parts) == 2 and parts[0] in params.get("machine_rooms", ())]
    size = len(kept) // len(ids)
    slots: dict[int, int] = {i: i // size for i in range(size * len(ids))}
    slots |= {i: slot for slot, i in enumerate(kept[size * len(ids) :])}
    return _asked(ids, [slots.get(i) for i in range(len(queues))])


def _asked(ids: Ids, slots: list[int | None]) -> list[str | None]:
    """The ids of slots, of a repeated id for the first alone: nobody asks for the others, nor for an empty one."""
    first = {one: slot for slot, one in reversed([*enumerate(ids)]) if one}
    return [ids[slot] if slot is not None and first.get(ids[slot]) == slot else None for slot in slots]


def _bounded(points: list[int], holders: dict[int, str], at: list[int], n_ids: int, factor: Any) -> list[str | None]:
    """Owners on the ring, from each queue's point on the first one whose client has fewer queues than all may have."""
    cap = -(-(units(factor, 100, 10**8) or 0) * len(at) // (100 * n_ids))
    loads, found = Counter[str](), list[str | None]()
    for i in at:
        way = (holders[points[(i + step) % len(points)]] for step in range(len(points)))
        owner = next((one for one in way if loads[one] < cap), holders[points[i]])
        loads[owner] += 1
        found.append(owner or None)
    return found


def _by_capacity(n: int, ids: Ids, capacities: dict[str, int]) -> list[str | None]:
    """Owners of queues that weigh the same, each the client that has least for its capacity with it; no move betters that."""
    loads, found = dict.fromkeys(ids, 0), list[str | None]()
    for _ in range(n):
        owner = min(loads, key=lambda one: Fraction(loads[one] + 1, capacities.get(one, 1)))
        loads[owner] += 1
        found.append(owner or None)
    return found
