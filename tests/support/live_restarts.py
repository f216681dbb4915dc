"""Rolling restarts of real Java consumers: what moves, what nobody or two clients own and for how long, what is read twice.

Everything is counted from what the consumers report themselves, whenever their queues change. They look every twentieth of a
second, so shorter spans are not seen.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import assigned, owned_by_java, settled

from rmqalloc import MessageQueue, rollout, strategy
from rmqalloc.snapshot import Snapshot

PER_SECOND = 100
"""Messages sent meanwhile."""


class Restart(NamedTuple):
    """What a rolling restart did.

    Attributes
    ----------
    n_queues, moved : int
        Queues that others owned after a step, summed over all stops and starts, each settled before the next.
    unowned_seconds, double_seconds : float
        Summed over queues.
    n_sent, n_twice : int
        Messages sent meanwhile, and those given to consumers more than once.
    predicted : int
        Moves that `rmqalloc.rollout.restart` said before.
    """

    n_queues: int
    moved: int
    unowned_seconds: float
    double_seconds: float
    n_sent: int
    n_twice: int
    predicted: int

    @property
    def per_queue(self) -> float:
        """Moves of every queue."""
        return self.moved / self.n_queues


class Members:
    """Consumers of one group in several processes, by member name."""

    def __init__(self, processes: Sequence[Consumers], group: str, topic: str, name: str) -> None:
        self.processes, self.group, self._topic, self._name = processes, group, topic, name
        self.events: list[tuple[float, str, frozenset[MessageQueue]]] = []
        """When a consumer left, as reports of queues that it no longer has."""

    def start(self, member: str, number: int) -> None:
        """Start a consumer, always in the same process."""
        self._process(number).join(self.group, member, [self._topic], strategy=self._name)

    def stop(self, member: str, number: int) -> None:
        """Shut a consumer down."""
        process = self._process(number)
        shown = process.do("show")[f"{self.group}/{member}"]["client_id"]
        process.leave(self.group, member)
        self.events.append((1000 * time.time(), shown, frozenset()))

    def _process(self, number: int) -> Consumers:
        return self.processes[number % len(self.processes)]

    def reports(self, since: float) -> list[tuple[float, str, frozenset[MessageQueue]]]:
        """What all consumers reported from a time on, in order."""
        found = [
            (one["at"], one["owns"]["client_id"], frozenset(MessageQueue(*queue) for queue in one["owns"]["queues"]))
            for process in self.processes
            for one in process.changes
            if one["owns"]["name"].startswith(f"{self.group}/")
        ]
        return sorted((one for one in [*found, *self.events] if one[0] >= since), key=lambda one: one[0])


def restarted(
    cluster: LiveCluster, processes: Sequence[Consumers], topic: str, name: str, n_members: int, tally: Any
) -> Restart:
    """Start a group, restart its members one by one, the last by name first, and end it."""
    group, rule = f"restart-{name}-{n_members}", strategy(name)
    members = Members(processes, group, topic, name)
    names = [f"web-{number}" for number in range(n_members)]
    for number, member in enumerate(names):
        members.start(member, number)
    shares = assigned(rule)
    snapshot = settled(cluster, processes, group, n_members, shares, tally)
    predicted = rollout.restart(with_strategy(snapshot, name), [group], topics=[topic], order="reversed")
    processes[0].do("flow", topic=topic, per_second=PER_SECOND)
    begun, states = 1000 * time.time(), [owners(processes, group, topic)]
    for member in sorted(names, reverse=True):  # as the prediction has it
        for act, n_there in ((members.stop, n_members - 1), (members.start, n_members)):
            act(member, names.index(member))
            settled(cluster, processes, group, n_there, shares, tally)
            states.append(owners(processes, group, topic))
    n_sent = processes[0].do("still")
    twice = Counter[str]()
    for process in processes:
        twice.update(process.do("consumed", group=group))
    unowned, double = open_seconds(states[0], members.reports(begun))
    for process in processes:
        process.leave_all()
    return Restart(
        len(states[0]),
        sum(before[queue] != after[queue] for before, after in pairwise(states) for queue in before),
        unowned,
        double,
        n_sent,
        sum(n > 1 for n in twice.values()),
        int(predicted.totals["moved"][0].as_py()),
    )


def with_strategy(snapshot: Snapshot, name: str) -> Snapshot:
    """A snapshot whose groups divide by a strategy."""
    from dataclasses import replace

    groups = tuple(replace(one, strategy=name) for one in snapshot.groups)
    return replace(snapshot, groups=groups)


def owners(processes: Sequence[Consumers], group: str, topic: str) -> dict[MessageQueue, str]:
    """Instance name of the owner of each queue of a topic."""
    return {
        queue: client_id.partition("@")[2]
        for client_id, queues in owned_by_java(processes, group).items()
        for queue in queues
        if queue.topic == topic
    }


def open_seconds(
    start: dict[MessageQueue, str], reports: Sequence[tuple[float, str, frozenset[MessageQueue]]]
) -> tuple[float, float]:
    """Seconds without an owner and with several, summed over queues, given the owners before the first report."""
    held: dict[str, frozenset[MessageQueue]] = {}
    for queue, owner in start.items():
        held[owner] = held.get(owner, frozenset()) | {queue}
    unowned = double = 0.0
    for (at, client_id, queues), until in zip(reports, [*times(reports), None], strict=True):
        held[client_id.partition("@")[2]] = queues
        n_owners = Counter(queue for mine in held.values() for queue in mine)
        if until is not None:
            unowned += (until - at) / 1000 * sum(n_owners[queue] == 0 for queue in start)
            double += (until - at) / 1000 * sum(n_owners[queue] > 1 for queue in start)
    return unowned, double


def times(reports: Sequence[tuple[float, str, frozenset[MessageQueue]]]) -> Iterator[float]:
    """When every report but the first was made."""
    return (at for at, _, _ in reports[1:])
