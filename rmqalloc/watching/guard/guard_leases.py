"""Leases that allow one stop of a group at a time: a second request gets "no" until the first
client has left and its group has settled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.audit.settling import SETTLED, settlings
from rmqalloc.evidence import Known
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Client, Snapshot
from rmqalloc.text import counted, printable
from rmqalloc.watching.guard.guard_answer import YES, GuardAnswer
from rmqalloc.watching.guard.stops import may_stop


class _Lease(NamedTuple):
    """A stop that was granted.

    A client that is listed with another start time than when the stop was granted has left and
    come back.
    """

    clients: Mapping[str, int | None]  # reported start time by client id
    granted_at: float

    def is_over(self, clients: Iterable[Client]) -> bool:
        """Check, by the clients of a group, that all clients of the lease have left."""
        held = [client for client in clients if client.client_id in self.clients]
        return all(map(self._is_new, held))

    def _is_new(self, client: Client) -> bool:
        started = self.clients[client.client_id]
        return None not in (started, client.start_timestamp) and client.start_timestamp != started


class GuardLeases:
    """Leases of one stop per group, each until its clients have left and the group has settled, or
    until it expires. Safe for threads.

    Leases are kept in memory alone: a service that starts again has none, and two services do not
    know the leases of each other.

    Parameters
    ----------
    seconds : float
        Duration of a lease at most. A client that was granted a stop and requests it again gets a
        new lease.
    most : int
        Leases at one time; a stop that would need more is refused.
    clock : callable
        Returns seconds that never go back.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 2),))
    >>> clients = tuple(Client(f"c{i}", owned=(queue,)) for i, queue in enumerate(topic.queues()))
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> leases = GuardLeases()
    >>> print(leases.may_stop(cluster, "c0"))
    yes: c0 may stop: 1 queue of g gets a new owner
    >>> print(leases.may_stop(cluster, "c1").verdict)
    no
    """

    def __init__(
        self,
        seconds: float = 120.0,
        most: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._clock = seconds, most, clock
        self._leases: dict[str, _Lease] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._leases)

    def may_stop(
        self,
        snapshot: Snapshot | Known,
        target: str,
        groups: Sequence[str] = ALL,
        topics: Sequence[str] = ALL,
    ) -> GuardAnswer:
        """Answer like `rmqalloc.watching.guard.may_stop`, but "no" while another stop of a group is
        under way. A "yes" is a lease.

        Snapshots must come in the order of their time.
        """
        known = Known.of(snapshot, groups)
        with self._lock:
            self._release(known)
            answer = may_stop(known, target, groups, topics)
            return self._granted(answer, known.snapshot) if answer.verdict == YES else answer

    def _release(self, known: Known) -> None:
        """Drop leases that have expired, and those of groups that have settled without the clients."""
        now = self._clock()
        leases = self._leases.items()
        self._leases = {
            name: lease for name, lease in leases if now - lease.granted_at < self._seconds
        }
        held = [group for group in known.snapshot.groups if group.name in self._leases]
        gone = [group.name for group in held if self._leases[group.name].is_over(group.clients)]
        states = settlings(known, known.groups) if gone else {}
        for name in gone:
            if name in states and states[name].state == SETTLED:
                del self._leases[name]

    def _granted(self, answer: GuardAnswer, snapshot: Snapshot) -> GuardAnswer:
        """Keep the answer as a lease if no other lease is in its way; else return "no"."""
        wanted, now = set(answer.clients), self._clock()
        clients = {}
        for group in snapshot.groups:
            for client in group.clients:
                if client.client_id in wanted:
                    clients[client.client_id] = client.start_timestamp
        names = [row.consumer_group for row in answer.rows]
        for name in names:
            held = self._leases.get(name)
            if held is not None and held.clients.keys() != clients.keys():
                return answer.refused(self._in_the_way(name, held.clients, now - held.granted_at))
        if len(self._leases.keys() | names) > self._most:
            return answer.refused(
                f"{counted(len(self._leases), 'other stop')} under way already; no further stop is granted"
            )
        self._leases |= dict.fromkeys(names, _Lease(clients, now))
        return answer

    def _in_the_way(self, name: str, clients: Iterable[str], ago: float) -> str:
        others = named([*map(printable, sorted(clients))])
        left = f"wait until it has left, {max(self._seconds - ago, 0):.0f} s at most"
        return f"{others} of {printable(name)} was allowed to stop {ago:.0f} s ago; {left}"
