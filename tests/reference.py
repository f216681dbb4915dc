"""RocketMQ's allocation rules in plain Python, one client at a time: the slow twin that the engine
is compared with.

It is written to be read beside the Java classes, not to be fast. Nothing here comes from
``rmqalloc``; what proves it is the golden file, answered by the real Java classes
(``test_golden.py`` compares the two first of all).

A queue is any three values ``(topic, broker_name, queue_id)``; answers hold the very objects that
were passed in. A string is a Java string, a sequence of UTF-16 code units: Python strings that
spell the same units are the same string.
"""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Queue = Any
ClientId = str | None


class IllegalArgument(Exception):
    """Java's IllegalArgumentException; the text is Java's."""


class NullPointer(Exception):
    """Java's NullPointerException; the text is not compared."""


# --- Strings, queues and order ---


def utf16(text: str) -> bytes:
    """Code units, big end first, so that comparing the bytes compares the Java strings."""
    return text.encode("utf-16-be", "surrogatepass")


def java_string(text: ClientId) -> ClientId:
    """One spelling for each Java string: the two halves of a character beyond U+FFFF are joined."""
    return None if text is None else utf16(text).decode("utf-16-be", "surrogatepass")


def java_utf8(text: str) -> bytes:
    """``getBytes(UTF_8)``: each half without its partner becomes one question mark."""
    joined = utf16(text).decode("utf-16-be", "surrogatepass")
    return "".join("?" if "\ud800" <= c <= "\udfff" else c for c in joined).encode()


def text_form(queue: Queue) -> str:
    """``MessageQueue.toString()``, the key of a queue on the ring."""
    topic, broker_name, queue_id = queue
    return f"MessageQueue [topic={or_null(topic)}, brokerName={or_null(broker_name)}, queueId={queue_id}]"


def or_null(text: ClientId) -> str:
    """What Java's string concatenation makes of a null."""
    return "null" if text is None else text


def blank(text: ClientId) -> bool:
    """``StringUtils.isBlank``: null, empty or nothing but Java whitespace (which has no no-break
    spaces).
    """

    def whitespace(c: str) -> bool:
        separator = unicodedata.category(c) in ("Zs", "Zl", "Zp") and c not in "\u00a0\u2007\u202f"
        return separator or c in "\t\n\v\f\r\x1c\x1d\x1e\x1f"

    return text is None or all(map(whitespace, text))


def sorted_queues(queues: Sequence[Queue]) -> list[int]:
    """Positions of the queues in the order of ``MessageQueue.compareTo``; equal queues keep their
    order.
    """
    refuse_compared_nulls(queues)
    return sorted(range(len(queues)), key=lambda i: queue_key(queues[i]))


def queue_key(queue: Queue) -> tuple[bytes, bytes, int]:
    topic, broker_name, queue_id = queue
    return utf16(or_null(topic)), utf16(or_null(broker_name)), queue_id


def refuse_compared_nulls(queues: Sequence[Queue]) -> None:
    """A null is found when it is compared: a topic with any other queue, a broker name with one of
    the same topic.
    """
    queues_of = Counter(java_string(topic) for topic, _, _ in queues)
    for topic, broker_name, _ in queues:
        if (topic is None and len(queues) > 1) or (
            broker_name is None and queues_of[java_string(topic)] > 1
        ):
            raise NullPointer("a null field is compared")


def sorted_client_ids(client_ids: Sequence[ClientId]) -> list[int]:
    """Positions of the client ids in the order of ``String.compareTo``."""
    if len(client_ids) > 1 and None in client_ids:
        raise NullPointer("null client id")
    return sorted(range(len(client_ids)), key=lambda i: utf16(or_null(client_ids[i])))


# --- Allocation: allocate(group, current, queues, clients) -> ordered list ---


class Strategy:
    """``AllocateMessageQueueStrategy``; only ``Config`` does without the common validation."""

    name: str

    def allocate(
        self, group: str, current: ClientId, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue] | None:
        clients = [java_string(client) for client in clients]
        current = java_string(current)
        if not current:
            raise IllegalArgument("currentCID is empty")
        if not queues:
            raise IllegalArgument("mqAll is null or mqAll empty")
        if not clients:
            raise IllegalArgument("cidAll is null or cidAll empty")
        if current not in clients:
            return []
        return self.share(current, queues, clients)

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        """What a member of the group gets."""
        raise AssertionError("a rule says what it deals")


class Avg(Strategy):
    name = "AVG"

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        n, m, i = len(queues), len(clients), clients.index(current)
        b, r = divmod(n, m)
        lo = i * b + min(i, r)
        return list(queues[lo : lo + b + (1 if i < r else 0)])


class AvgByCircle(Strategy):
    name = "AVG_BY_CIRCLE"

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        return list(queues[clients.index(current) :: len(clients)])


def md5_hash(key: str) -> int:
    """``MD5Hash``: the first four bytes of the digest as an unsigned number."""
    return int.from_bytes(hashlib.md5(java_utf8(key), usedforsecurity=False).digest()[:4], "big")


class ConsistentHash(Strategy):
    name = "CONSISTENT_HASH"

    def __init__(
        self, virtual_nodes: int = 10, hash_function: Callable[[str], int] = md5_hash
    ) -> None:
        if virtual_nodes < 0:
            raise IllegalArgument(f"illegal virtualNodeCnt :{virtual_nodes}")
        self.virtual_nodes = virtual_nodes
        self.hash_function = hash_function
        self.rings: dict[tuple[ClientId, ...], tuple[list[int], dict[int, ClientId]]] = {}

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        points, ring = self.ring(tuple(clients))
        return [queue for queue in queues if points and ring[self.route(points, queue)] == current]

    def ring(self, clients: tuple[ClientId, ...]) -> tuple[list[int], dict[int, ClientId]]:
        """The points in order, and who holds each. Every Java client builds its own; here the first
        who asks does.
        """
        if clients not in self.rings:
            ring: dict[int, ClientId] = {}
            for client in clients:
                self.add(ring, client)
            self.rings[clients] = sorted(ring), ring
        return self.rings[clients]

    def add(self, ring: dict[int, ClientId], client: ClientId) -> None:
        """Numbering goes on after the entries that the client holds *now*, and the last writer
        wins.
        """
        if None in ring.values():
            raise NullPointer("a null client is on the ring")
        e = list(ring.values()).count(client)
        for k in range(self.virtual_nodes):
            ring[self.hash_function(f"{or_null(client)}-{e + k}")] = client

    def route(self, points: list[int], queue: Queue) -> int:
        """The smallest point at or after the queue's hash, else the smallest of all."""
        following = bisect_left(points, self.hash_function(text_form(queue)))
        return points[following % len(points)]


class Config(Strategy):
    name = "CONFIG"

    def __init__(self, queues: list[Queue] | None) -> None:
        self.queues = queues

    def allocate(
        self, group: str, current: ClientId, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue] | None:
        return self.queues


def split_at(broker_name: str) -> list[str]:
    """``broker_name.split("@")``: trailing empty parts are removed, leading and inner ones stay."""
    parts = broker_name.split("@")
    while len(parts) > 1 and parts[-1] == "":
        parts.pop()
    return [] if parts == [""] and broker_name else parts


class MachineRoom(Strategy):
    name = "MACHINE_ROOM"

    def __init__(self, machine_rooms: set[str] | None) -> None:
        self.machine_rooms = (
            None if machine_rooms is None else {java_string(room) for room in machine_rooms}
        )

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        kept = [queue for queue in queues if self.keeps(queue)]
        p, m, i = len(kept), len(clients), clients.index(current)
        d, r = divmod(p, m)
        return kept[i * d : (i + 1) * d] + (kept[d * m + i : d * m + i + 1] if i < r else [])

    def keeps(self, queue: Queue) -> bool:
        if queue[1] is None:
            raise NullPointer("brokerName is null")
        parts = split_at(queue[1])
        if len(parts) == 2 and self.machine_rooms is None:
            raise NullPointer("consumeridcs is null")
        return len(parts) == 2 and java_string(parts[0]) in self.machine_rooms


class MachineRoomNearby(Strategy):
    def __init__(
        self,
        inner: Strategy | None,
        broker_room: Callable[[Queue], str | None] | None,
        client_room: Callable[[ClientId], str | None] | None,
    ) -> None:
        if inner is None:
            raise NullPointer("allocateMessageQueueStrategy is null")
        if broker_room is None or client_room is None:
            raise NullPointer("machineRoomResolver is null")
        self.inner, self.broker_room, self.client_room = inner, broker_room, client_room
        self.name = f"MACHINE_ROOM_NEARBY-{inner.name}"

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        room_queues = self.grouped(queues, self.broker_room, lambda queue: f"mq {text_form(queue)}")
        room_clients = self.grouped(
            clients, self.client_room, lambda client: f"consumer id {or_null(client)}"
        )
        own = java_string(self.client_room(current))
        result: list[Queue] = []
        if own in room_queues:
            result += self.ask_inner(current, room_queues[own], room_clients[own])
        for room in sorted(room_queues.keys() - room_clients.keys(), key=utf16):
            result += self.ask_inner(current, room_queues[room], clients)
        return result

    def ask_inner(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        queues = self.inner.allocate("", current, queues, clients)
        if queues is None:
            raise NullPointer("addAll(null)")
        return queues

    @staticmethod
    def grouped(
        items: Sequence[Any], room_of: Callable[[Any], str | None], described: Callable[[Any], str]
    ) -> dict[str, list[Any]]:
        rooms: dict[str, list[Any]] = {}
        for item in items:
            room = java_string(room_of(item))
            if not room:
                raise IllegalArgument(f"Machine room is null for {described(item)}")
            rooms.setdefault(room, []).append(item)
        return rooms


class Pop:
    """``QueryAssignmentProcessor.allocate4Pop``: how the broker deals queues that several clients
    pop.
    """

    name = "POP"

    def __init__(self, inner: Strategy, pop_share_queue_num: int) -> None:
        self.inner, self.pop_share_queue_num = inner, pop_share_queue_num

    def allocate(
        self, group: str, current: ClientId, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        clients = [java_string(client) for client in clients]
        current = java_string(current)
        n, m, share = len(queues), len(clients), self.pop_share_queue_num
        if share <= 0 or share >= m - 1:
            return [(topic, broker_name, -1) for topic, broker_name, _ in queues]
        if m <= n:
            result = list(self.inner.allocate(group, current, queues, clients))
            followers = range(1, share + 1) if current in clients else ()
            for t in followers:
                result += self.inner.allocate(
                    group, clients[(clients.index(current) + t) % m], queues, clients
                )
            return result
        return self.one_queue(current, queues, clients)

    @staticmethod
    def one_queue(
        current: ClientId, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        """More clients than queues: each client pops one, whatever the share."""
        if blank(current):
            raise IllegalArgument("currentCID is empty")
        if not queues:
            raise IllegalArgument("mqAll is null or mqAll empty")
        if current not in clients:
            return []
        return [queues[clients.index(current) % len(queues)]]


# --- The whole group ---


def owners(strategy: Strategy, queues: Sequence[Queue], clients: Sequence[ClientId]) -> list[int]:
    """Ask every client in turn, and write down who got queue ``i``: the first position of that
    client's id, or -1.

    Nobody can ask as the empty id, so its share stays with nobody. The queues have to be distinct
    objects.
    """
    if not queues or not clients:
        Strategy.allocate(
            strategy, "", "anyone", queues, clients
        )  # a group is refused so, whatever a client of it does
    position_of = {id(queue): position for position, queue in enumerate(queues)}
    spelled = [java_string(client) for client in clients]
    result = [-1] * len(queues)
    for client in dict.fromkeys(spelled):
        for queue in strategy.allocate("", client, queues, clients) if client else ():
            position = position_of[id(queue)]
            assert result[position] == -1, f"queue {position} has two owners"
            result[position] = spelled.index(client)
    return result
