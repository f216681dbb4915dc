"""The sums by which every strategy finds the owner of a queue, as sentences and as numbers."""

from __future__ import annotations

import bisect
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rmqalloc.model import MessageQueue, queue_text
from rmqalloc.strategies import (
    Averagely,
    AveragelyByCircle,
    ConfigByClient,
    ConsistentHash,
    MachineRoom,
    MachineRoomNearby,
    Strategy,
)
from rmqalloc.strategies.machine_room import room_of
from rmqalloc.text import counted

Queues = Sequence[MessageQueue]


@dataclass
class Reasons:
    """Sentences and numbers, as they are found."""

    steps: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def say(self, step: str, **facts: Any) -> None:
        """Add a sentence with its numbers."""
        self.steps.append(step)
        self.facts |= facts


def reasons_of(s: Strategy, queues: Queues, ids: Sequence[str], place: int) -> Reasons:
    """Why a strategy gives a queue its owner.

    Parameters
    ----------
    s : Strategy
    queues : sequence of MessageQueue
        All of them, in Java's order.
    ids : sequence of str
        Client ids in Java's order, one at least.
    place : int
        Place of the queue among all.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> reasons_of(strategy("AVG_BY_CIRCLE"), [MessageQueue("t", "b", i) for i in range(7)], ["x", "y"], 5).steps
    ['the queue is at place 5 of 7: 5 mod 2 clients = 1, client y']
    """
    reasons = Reasons()
    if isinstance(s, Averagely):
        _block(reasons, len(queues), ids, place)
    elif isinstance(s, AveragelyByCircle):
        client = place % len(ids)
        sums = f"{place} mod {len(ids)} clients = {client}, client {ids[client]}"
        reasons.say(f"the queue is at place {place} of {len(queues)}: {sums}", client_place=client)
        _repeated(reasons, ids, client)
    elif isinstance(s, MachineRoom):
        _room(reasons, s, queues, ids, place)
    elif isinstance(s, MachineRoomNearby):
        return _nearby(reasons, s, queues, ids, place)
    elif isinstance(s, ConsistentHash):
        _ring(reasons, s, queues[place], ids)
    elif isinstance(s, ConfigByClient):
        _listed(reasons, s, queues[place], ids)
    return reasons


def _block(reasons: Reasons, n: int, ids: Sequence[str], place: int) -> None:
    """AVG: blocks of equal size, the first few one longer."""
    m = len(ids)
    size, extra = divmod(n, m)
    wide = extra * (size + 1)
    client = place // (size + 1) if place < wide else extra + (place - wide) // size
    start, length = client * size + min(client, extra), size + (client < extra)
    more = f", the first {extra} take one more" if extra else ""
    reasons.say(f"{n} queues = {m} clients × {size} + {extra}: each client takes {size}{more}", size=size, extra=extra)
    reasons.say(
        f"client {ids[client]} is at place {client} and begins at {client} × {size} + {min(client, extra)} = {start}: "
        f"it takes the queues at the places {start} to {start + length - 1}, this one among them",
        client_place=client, first=start, length=length,
    )  # fmt: skip
    _repeated(reasons, ids, client)


def _repeated(reasons: Reasons, ids: Sequence[str], client: int) -> None:
    """Two processes with one id both find themselves at the first place."""
    first = ids.index(ids[client])
    if first != client:
        reasons.say(
            f"but client id {ids[client]} is there more than once, and all of that id look for themselves at place {first}: "
            f"what belongs to place {client} is nobody's",
            repeated_at=first,
        )  # fmt: skip
    elif not ids[client]:
        reasons.say("but the client id is empty, and such a client takes nothing")


def _room(reasons: Reasons, s: MachineRoom, queues: Queues, ids: Sequence[str], place: int) -> None:
    """MACHINE_ROOM: equal blocks of the rooms' queues, the rest from the tail."""
    rooms, broker = s.machine_rooms or frozenset(), queues[place].broker_name
    room = room_of(broker)
    if room is None or room not in rooms:
        where = "names no machine room" if room is None else f"stands in machine room {room}"
        reasons.say(
            f"broker {broker} {where}, and only queues of {', '.join(sorted(rooms))} are consumed", machine_room=room
        )
        return
    kept = [i for i, queue in enumerate(queues) if room_of(queue.broker_name) in rooms]
    at, size = kept.index(place), len(kept) // len(ids)
    reasons.say(
        f"of {len(queues)} queues {len(kept)} are in the machine rooms {', '.join(sorted(rooms))}, "
        f"this one at place {at} of them",
        machine_room=room, n_kept=len(kept), kept_place=at,
    )  # fmt: skip
    if at < size * len(ids):
        client = at // size
        reasons.say(
            f"each client takes {size} of them: {at} ÷ {size} = {client}, client {ids[client]}", client_place=client
        )
    else:
        client = at - size * len(ids)
        reasons.say(
            f"each client takes {size} of them, which leaves those from {size * len(ids)} on to the clients one by one: "
            f"{at} − {size * len(ids)} = {client}, client {ids[client]}",
            client_place=client,
        )  # fmt: skip
    _repeated(reasons, ids, client)


def _nearby(reasons: Reasons, s: MachineRoomNearby, queues: Queues, ids: Sequence[str], place: int) -> Reasons:
    """MACHINE_ROOM_NEARBY: the inner strategy inside the queue's machine room, or over all clients."""
    queue_rooms, client_rooms = s._rooms(queues, ids)
    room = next(name for name, places in queue_rooms.items() if place in places)
    mine = queue_rooms[room]
    members = [ids[i] for i in client_rooms[room]] if room in client_rooms else ids
    if room in client_rooms:
        among = f"{len(members)} of the {len(ids)} clients stand there too, who share"
    else:
        among = f"no client stands there, so all {len(ids)} share"
    text = f"broker {queues[place].broker_name} stands in machine room {room}; {among} its {len(mine)} queues"
    reasons.say(text, machine_room=room, n_room_queues=len(mine), n_room_clients=len(members))
    inner = reasons_of(s.inner, [queues[i] for i in mine], members, mine.index(place))
    return Reasons(reasons.steps + inner.steps, {**reasons.facts, "inner": inner.facts})


def _listed(reasons: Reasons, s: ConfigByClient, queue: MessageQueue, ids: Sequence[str]) -> None:
    """CONFIG: whose list has the queue."""
    holders, n_lists = s.holders(queue), len(s.message_queues)
    if not holders:
        reasons.say(f"none of the {counted(n_lists, 'list')} has the queue", n_lists=n_lists, holders=[])
    for client_id in holders:
        there = "" if client_id in ids else ", which is no client of the group,"
        reasons.say(f"the list of client {client_id}{there} has the queue", n_lists=n_lists, holders=holders)


# --- The ring ---


def _ring(reasons: Reasons, s: ConsistentHash, queue: MessageQueue, ids: Sequence[str]) -> None:
    """CONSISTENT_HASH: the first point at or after the queue's hash."""
    key = queue_text(*queue)
    hashed = _md5(key)
    ring = _points(s.virtual_nodes, ids)
    reasons.say(f"the queue's key is {key!r}, its hash {hashed:,}", key=key, hash=hashed)
    if not ring:
        reasons.say("the ring has no points, for there are no virtual nodes: nobody owns anything", n_points=0)
        return
    points = sorted(ring)
    at = bisect.bisect_left(points, hashed)
    around = {
        "before": _point(ring, points[at - 1]),
        "hit": _point(ring, points[at % len(points)]),
        "after": _point(ring, points[(at + 1) % len(points)]),
    }
    size = f"{len(ids):,} clients × {s.virtual_nodes:,} virtual nodes = {len(points):,} points"
    whence = "at or after it" if at < len(points) else "of all, for none comes after it"
    hit = around["hit"]
    reasons.say(f"{size}; the first {whence} is {hit['point']:,}, {hit['name']}", n_points=len(points), **around)
    reasons.say(
        "its neighbours: {before[point]:,}, {before[name]}, and {after[point]:,}, {after[name]}".format(**around)
    )
    if not hit["client_id"]:
        reasons.say("but the client id is empty, and such a client takes nothing")


def _points(virtual_nodes: int, ids: Sequence[str]) -> dict[int, tuple[str, int]]:
    """The ring as Java builds it: an id that repeats goes on numbering where it ended, and of equal points the last stays."""
    ring: dict[int, tuple[str, int]] = {}
    held: Counter[str] = Counter()  # points of each id that are still its own
    for client_id in ids:
        start = held[client_id]
        for number in range(start, start + virtual_nodes):
            point = _md5(f"{client_id}-{number}")
            if point in ring:
                held[ring[point][0]] -= 1
            ring[point] = (client_id, number)
            held[client_id] += 1
    return ring


def _point(ring: dict[int, tuple[str, int]], point: int) -> dict[str, Any]:
    client_id, number = ring[point]
    return {"point": point, "client_id": client_id, "number": number, "name": f"{client_id}#{number}"}


def _md5(key: str) -> int:
    """The first four bytes, the biggest first."""
    return int.from_bytes(hashlib.md5(key.encode("utf-8", "replace"), usedforsecurity=False).digest()[:4], "big")
