"""Client-go's and the C++ client's rules in plain Python, one client at a time, written to be read
beside their sources.

What proves Go's is ``tests/strategies/test_go.py``, which asks client-go itself. No program of C++
is asked: its rule is written from its header alone.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence

import reference
from reference import ClientId, NullPointer, Queue, java_string, java_utf8, text_form


class GoFunction(reference.Strategy):
    """An ``AllocateStrategy``: it returns nothing where Java's classes raise."""

    def allocate(
        self, group: str, current: ClientId, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue] | None:
        if not current or not queues or not clients:
            return []
        clients = [java_string(client) for client in clients]
        if java_string(current) not in clients:
            return []
        if any(None in tuple(queue) for queue in queues):
            raise NullPointer("a string of Go cannot be null")
        return self.share(java_string(current), queues, clients)


class GoConsistentHash(GoFunction):
    name = "CONSISTENT_HASH"

    def __init__(self, virtual_nodes: int = 10) -> None:
        self.virtual_nodes = virtual_nodes
        self.rings: dict[tuple[ClientId, ...], tuple[list[int], dict[int, str]]] = {}

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        points, circle = self.ring(tuple(clients))
        places = [bisect_right(points, crc32(text_form(queue))) for queue in queues]
        return [
            q
            for q, at in zip(queues, places, strict=True)
            if circle[points[at % len(points)]] == current
        ]

    def ring(self, clients: tuple[ClientId, ...]) -> tuple[list[int], dict[int, str]]:
        """The points in order, and who holds each. Every client of Go builds its own; here the
        first who asks does.
        """
        if clients not in self.rings:
            circle = {}
            for client in clients:
                for i in range(self.virtual_nodes):
                    circle[crc32(str(i) + client)] = client
            self.rings[clients] = sorted(circle), circle
        return self.rings[clients]


def crc32(key: str) -> int:
    return zlib.crc32(java_utf8(key))


class GoMachineRoom(GoFunction):
    name = "MACHINE_ROOM"

    def __init__(self, machine_rooms: set[str] | None) -> None:
        self.machine_rooms = {java_string(room) for room in machine_rooms or ()}

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        kept = [queue for queue in queues if self.keeps(queue[1])]
        size, over = divmod(len(kept), len(clients))
        i = clients.index(current)
        return list(queues[i * size : (i + 1) * size]) + (
            [kept[i + size * len(clients)]] if i < over else []
        )

    def keeps(self, broker_name: str) -> bool:
        parts = broker_name.split("@")
        return len(parts) == 2 and java_string(parts[0]) in self.machine_rooms


class GoAvg(GoFunction):
    """``AllocateByAveragely``, and ``AllocateByMachineNearby``, which calls it."""

    name = "AVG"

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        n, m, i = len(queues), len(clients), clients.index(current)
        over = n % m
        size = 1 if n <= m else n // m + (1 if over > 0 and i < over else 0)
        start = i * size + (0 if over > 0 and i < over else over)
        return [queues[(start + k) % n] for k in range(min(size, n - start))]


class GoAvgByCircle(GoFunction):
    name = "AVG_BY_CIRCLE"

    def share(
        self, current: str, queues: Sequence[Queue], clients: Sequence[ClientId]
    ) -> list[Queue]:
        i = clients.index(current)
        return [queues[k] for k in range(i, len(queues)) if k % len(clients) == i]


class CppAvg(reference.Strategy):
    """``AllocateMQAveragely``: the arithmetic of Go's function, the checks of Java's."""

    name = "AVG"
    share = GoAvg.share
