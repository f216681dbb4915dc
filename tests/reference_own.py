"""The strategies of our own in plain Python, one client at a time: the slow twins that the package
is compared with.

They are written from the definitions in ``docs/reference/strategies.md``. Nothing here comes from
``rmqalloc``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from reference import (
    ConsistentHash,
    MachineRoomNearby,
    Strategy,
    java_string,
    md5_hash,
    or_null,
    text_form,
    utf16,
)

Queue = Any

MASK = 2**64 - 1


def java_hash(text: str) -> int:
    """``String.hashCode`` as a signed 32-bit number."""
    units, value = utf16(text), 0
    for i in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[i : i + 2], "big")) % 2**32
    return value - 2**32 if value >= 2**31 else value


def mix64(z: int) -> int:
    """SplitMix64's finalizer."""
    z &= MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class InOrder(Strategy):
    """A strategy whose answers are in the order of the list of queues: it says who owns each.

    Every Java client works it out anew; here what was asked last is kept, for tests ask for all
    clients of large groups.
    """

    last: tuple[Any, list[str | None]] | None = None

    def share(self, current: str, queues: Sequence[Queue], clients: Sequence[str]) -> list[Queue]:
        asked = list(queues), list(clients)
        if (
            self.last is None
            or self.last[0][1] != asked[1]
            or not same_objects(self.last[0][0], asked[0])
        ):
            self.last = asked, self.owner_ids(queues, clients)
        return [
            queue for queue, owner in zip(queues, self.last[1], strict=True) if owner == current
        ]

    def owner_ids(self, queues: Sequence[Queue], clients: Sequence[str]) -> list[str | None]:
        raise AssertionError("a rule says who owns what")


def same_objects(some: Sequence[Queue], others: Sequence[Queue]) -> bool:
    """Whether two lists hold the very same objects."""
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )


class ConsistentHashBounded(InOrder):
    name = "CONSISTENT_HASH_BOUNDED/1"

    def __init__(self, percent: int = 125, virtual_nodes: int = 10) -> None:
        self.percent, self.ring = percent, ConsistentHash(virtual_nodes)

    def owner_ids(self, queues: Sequence[Queue], clients: Sequence[str]) -> list[str | None]:
        points, holders = self.ring.ring(tuple(clients))
        if not points:
            return [None] * len(queues)
        top = self.percent * len(queues)
        cap = (top + 100 * len(set(clients)) - 1) // (100 * len(set(clients)))
        loads: Counter[str | None] = Counter()
        found = []
        for queue in queues:
            at = bisect_left(points, md5_hash(text_form(queue))) % len(points)
            way = (holders[point] for point in points[at:] + points[:at])
            owner = next((client for client in way if loads[client] < cap), holders[points[at]])
            loads[owner] += 1
            found.append(owner)
        return found


class Over(InOrder):
    """A strategy over an inner one."""

    version: str

    def __init__(self, inner: Strategy) -> None:
        self.inner = inner
        self.name = f"{self.version}-{inner.name}"

    def ask(self, queues: Sequence[Queue], clients: Sequence[str], found: dict[int, str]) -> None:
        """Note under the ids of the queue objects who owns them by the inner strategy."""
        for client in dict.fromkeys(clients):
            for queue in (
                self.inner.allocate("", client, queues, clients) if client and queues else ()
            ):
                found[id(queue)] = client

    def owner_ids(self, queues: Sequence[Queue], clients: Sequence[str]) -> list[str | None]:
        found: dict[int, str] = {}
        self.divide(queues, clients, found)
        return [found.get(id(queue)) for queue in queues]

    def divide(
        self, queues: Sequence[Queue], clients: Sequence[str], found: dict[int, str]
    ) -> None:
        raise AssertionError("a rule says what the inner one divides")


class Rotated(Over):
    version = "ROTATED/1"

    def divide(
        self, queues: Sequence[Queue], clients: Sequence[str], found: dict[int, str]
    ) -> None:
        n = len(clients)
        r = ((mix64(java_hash(or_null(queues[0][0]))) >> 32) * n) >> 32
        self.ask(queues, [*clients[r:], *clients[:r]], found)


class Canary(Over):
    version = "CANARY/1"

    def __init__(self, inner: Strategy, points: int, is_canary: Callable[[str], bool]) -> None:
        super().__init__(inner)
        self.points, self.is_canary = points, is_canary

    def divide(
        self, queues: Sequence[Queue], clients: Sequence[str], found: dict[int, str]
    ) -> None:
        canary = [client for client in clients if self.is_canary(client)]
        others = [client for client in clients if not self.is_canary(client)]
        if not canary or not others:
            return self.ask(queues, clients, found)
        sizes = Counter(broker(queue) for queue in queues)
        seen: Counter[str] = Counter()
        theirs, rest = [], []
        for queue in queues:
            k = -(-self.points * sizes[broker(queue)] // 10_000)
            is_retry = or_null(queues[0][0]).startswith("%RETRY%")
            (theirs if seen[broker(queue)] < k and not is_retry else rest).append(queue)
            seen[broker(queue)] += 1
        self.ask(theirs, canary, found)
        self.ask(rest, others, found)
        return None


def broker(queue: Queue) -> str:
    return or_null(java_string(queue[1]))


class MachineRoomNearbyPooled(Over):
    version = "MACHINE_ROOM_NEARBY_POOLED/1"

    def __init__(
        self,
        inner: Strategy,
        broker_room: Callable[[Queue], Any],
        client_room: Callable[[str], Any],
    ) -> None:
        super().__init__(inner)
        self.nearby = MachineRoomNearby(inner, broker_room, client_room)

    def divide(
        self, queues: Sequence[Queue], clients: Sequence[str], found: dict[int, str]
    ) -> None:
        grouped = self.nearby.grouped
        rooms = grouped(queues, self.nearby.broker_room, lambda queue: f"mq {text_form(queue)}")
        members = grouped(
            clients, self.nearby.client_room, lambda client: f"consumer id {or_null(client)}"
        )
        for room, mine in rooms.items():
            if room in members:
                self.ask(mine, members[room], found)
        loads = Counter(found.values())
        for queue in queues:
            if java_string(self.nearby.broker_room(queue)) not in members:
                client = min(clients, key=lambda one: loads[one])  # the first of them
                loads[client] += 1
                found[id(queue)] = client


def weighted(weights: Sequence[int], capacities: Sequence[int]) -> list[int]:
    """Positions of the owners by ``WEIGHTED``: the heaviest first, then the best moves and swaps
    away from the fullest.
    """
    clients, owners = range(len(capacities)), [0] * len(weights)
    loads = [0] * len(capacities)
    for queue in sorted(range(len(weights)), key=lambda one: -weights[one]):
        owners[queue] = min(
            clients, key=lambda one: Fraction(loads[one] + weights[queue], capacities[one])
        )
        loads[owners[queue]] += weights[queue]
    for _ in range(4 * len(weights) if len(weights) <= 64 else 0):
        top = max(clients, key=lambda one: Fraction(loads[one], capacities[one]))
        least, best = Fraction(loads[top], capacities[top]), None
        for queue in (one for one, owner in enumerate(owners) if owner == top):
            moves = [(queue, client, None, weights[queue]) for client in clients if client != top]
            moves += [
                (queue, owners[other], other, weights[queue] - weights[other])
                for other in range(len(weights))
                if owners[other] != top and weights[other] < weights[queue]
            ]
            for move in moves:
                _, client, _, load = move
                fuller = max(
                    Fraction(loads[top] - load, capacities[top]),
                    Fraction(loads[client] + load, capacities[client]),
                )
                if fuller < least:
                    least, best = fuller, move
        if best is None:
            break
        queue, client, other, load = best
        loads[top], loads[client], owners[queue] = loads[top] - load, loads[client] + load, client
        if other is not None:
            owners[other] = top
    return owners
