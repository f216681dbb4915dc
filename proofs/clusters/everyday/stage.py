"""The machines of the day: Java processes with consumers, and what their own logs say of who owned
what when.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from java_driver import JavaFailed
from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic

from clusters.everyday.script import (
    EXPIRES_AFTER,
    GROUPS,
    HEARTBEAT_EVERY,
    LOOKS_FOR_EXPIRED_EVERY,
    MACHINES,
    Act,
)
from rmqalloc import MessageQueue

QUEUES_PER_BROKER = 4
TRIES = 3
SLOW = 0.3
"""Seconds that a client may take to leave until it counts when within them it dropped its queues."""


class Happened(NamedTuple):
    """A client that joined or left, at some moment between two, in seconds of the Unix clock;
    ``act`` is its place.
    """

    act: int
    kind: str
    group: str
    client_id: str
    earliest: float
    latest: float


class Holding(NamedTuple):
    """Queues that a client held from one moment on; ``queues`` empty once it is gone."""

    at: float
    group: str
    client_id: str
    queues: frozenset[MessageQueue]


class NotComparable(NamedTuple):
    """A time in which nobody outside can know who owns the queues of a group."""

    group: str
    begin: float
    end: float


class Stage:
    """The machines, and the script done to them; a context manager's body closes it."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._machines = [Consumers(cluster.name_server) for _ in range(MACHINES)]
        self._members: dict[str, tuple[int, str, str]] = {}
        self._frozen: dict[int, tuple[float, bool]] = {}
        self._logs: list[list[dict[str, Any]]] = [one.changes for one in self._machines]
        self._gone: list[Holding] = []
        self.happened: list[Happened] = []
        self.not_comparable: list[NotComparable] = []
        for group in GROUPS:
            make_topic(cluster, self._machines[0], group, QUEUES_PER_BROKER)

    def close(self) -> None:
        """End all consumers."""
        for number, java in enumerate(self._machines):
            if number in self._frozen:
                os.kill(java.process.pid, signal.SIGCONT)
            java.close()

    def do(self, place: int, act: Act, wait: Callable[[float], None]) -> None:
        """Do one act; ``wait`` waits so many seconds while readings go on."""
        begun = time.time()
        java = self._machines[act.machine]
        if act.kind == "join":
            client_id = _joined(java, act)
            self._members[act.member] = act.machine, act.group, client_id
            self._happened(place, "joined", act.member, begun, time.time())
        elif act.kind == "leave":
            java.leave(act.group, act.member)
            self._left(place, act.member, begun, time.time())
        elif act.kind == "kill":
            self._kill(place, act.machine)
        elif act.kind == "thaw":
            self._thaw(place, act.machine)
        else:
            os.kill(java.process.pid, signal.SIGSTOP)
            self._frozen[act.machine] = begun, act.kind == "expire"
            if act.kind == "expire":
                self._expire(place, act.machine, begun)
                wait(EXPIRES_AFTER + LOOKS_FOR_EXPIRED_EVERY)

    def _of(self, machine: int) -> list[str]:
        return [member for member, (number, *_) in self._members.items() if number == machine]

    def _kill(self, place: int, machine: int) -> None:
        java, begun = self._machines[machine], time.time()
        java.process.kill()
        ended = time.time()
        java.kill()
        for member in self._of(machine):
            self._left(place, member, begun, ended)
        self._machines[machine] = Consumers(self._cluster.name_server)
        self._logs.append(self._machines[machine].changes)

    def _expire(self, place: int, machine: int, begun: float) -> None:
        """A broker counts from the last heartbeat, and looks every so often."""
        earliest = begun - 2 * HEARTBEAT_EVERY + EXPIRES_AFTER
        for member in self._of(machine):
            self._happened(
                place, "left", member, earliest, begun + EXPIRES_AFTER + LOOKS_FOR_EXPIRED_EVERY
            )

    def _thaw(self, place: int, machine: int) -> None:
        frozen, has_expired = self._frozen.pop(machine)
        begun = time.time()
        os.kill(self._machines[machine].process.pid, signal.SIGCONT)
        if not has_expired:
            return
        for member in self._of(machine):
            self._happened(place, "joined", member, begun, begun + 5 * HEARTBEAT_EVERY)
            end = begun + 10 * HEARTBEAT_EVERY
            self.not_comparable.append(
                NotComparable(self._members[member][1], frozen + EXPIRES_AFTER - 5, end)
            )

    def _happened(self, place: int, kind: str, member: str, earliest: float, latest: float) -> None:
        _, group, client_id = self._members[member]
        self.happened.append(Happened(place, kind, group, client_id, earliest, latest))

    def _left(self, place: int, member: str, begun: float, ended: float) -> None:
        self._happened(place, "left", member, begun, ended)
        _, group, client_id = self._members.pop(member)
        if ended - begun > SLOW:  # somewhere between, it dropped its queues
            self.not_comparable.append(NotComparable(group, begun, ended))
        self._gone.append(Holding(ended, group, client_id, frozenset()))

    def holdings(self) -> list[Holding]:
        """What all clients held, by their own logs, in the order of time."""
        said = [_holding(one) for log in self._logs for one in list(log)]
        ends = {one.client_id: one.at for one in self._gone}
        held = [one for one in said if one.at < ends.get(one.client_id, float("inf"))]
        return sorted([*held, *self._gone])


def _joined(java: Consumers, act: Act) -> str:
    """Return the id of a client that joined; it gives up where a busy name server does not answer,
    and is started again.
    """
    for _ in range(TRIES - 1):
        with suppress(JavaFailed):
            return java.join(act.group, act.member, [act.group], strategy=GROUPS[act.group])
        time.sleep(HEARTBEAT_EVERY)
    return java.join(act.group, act.member, [act.group], strategy=GROUPS[act.group])


def _holding(said: dict[str, Any]) -> Holding:
    owns = said["owns"]
    group = owns["name"].partition("/")[0]
    return Holding(
        said["at"] / 1000,
        group,
        owns["client_id"],
        frozenset(MessageQueue(*one) for one in owns["queues"]),
    )
