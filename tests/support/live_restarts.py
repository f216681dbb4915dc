"""Rolling restarts of real Java consumers: what moves, what nobody or two clients own and for how
long, what is read twice.

Everything is counted from what the consumers report themselves, whenever their queues change. They
look every twentieth of a second, so shorter spans are not seen.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import Tally, assigned, owned_by_java, settled

from rmqalloc import MessageQueue, rollout, strategy

PER_SECOND = 100
"""Messages sent meanwhile, about."""

Report = tuple[float, str, frozenset[MessageQueue]]
"""What a client owns from a moment on, in milliseconds since the epoch."""


class Open(NamedTuple):
    """Queues without an owner, and with several: most at one moment, and seconds summed over
    queues.
    """

    unowned: int
    unowned_seconds: float
    double_owned: int
    double_owned_seconds: float


class Restart(NamedTuple):
    """What a rolling restart did.

    Attributes
    ----------
    n_queues, moved : int
        Queues that others owned after a step, summed over all stops and starts, each settled before
        the next.
    open : Open
    n_sent, n_twice : int
        Messages sent meanwhile, and those given to consumers more than once.
    predicted : dict
        The row of totals of `rmqalloc.rollout.restart`, made before from what the clients report.
    """

    n_queues: int
    moved: int
    open: Open
    n_sent: int
    n_twice: int
    predicted: Mapping[str, Any]

    @property
    def per_queue(self) -> float:
        """Moves of every queue."""
        return self.moved / self.n_queues


class Members:
    """Consumers of one group in several processes, by member name."""

    def __init__(self, processes: Sequence[Consumers], group: str, topic: str, name: str) -> None:
        self.processes, self.group, self._topic, self._name = processes, group, topic, name
        self._departures: list[Report] = []

    def start(self, member: str, number: int) -> None:
        """Start a consumer, always in the same process."""
        self._process(number).join(self.group, member, [self._topic], strategy=self._name)

    def stop(self, member: str, number: int) -> None:
        """Shut a consumer down: the first thing that it does is to end its listeners, so from then
        on it reads nothing.
        """
        process = self._process(number)
        client_id = process.do("show")[f"{self.group}/{member}"]["client_id"]
        self._departures.append((1000 * time.time(), client_id, frozenset()))
        process.leave(self.group, member)

    def _process(self, number: int) -> Consumers:
        return self.processes[number % len(self.processes)]

    def reports(self, since: float) -> list[Report]:
        """What all consumers reported from a time on, in order."""
        found = [
            (
                one["at"],
                one["owns"]["client_id"],
                frozenset(MessageQueue(*queue) for queue in one["owns"]["queues"]),
            )
            for process in self.processes
            for one in process.changes
            if one["owns"]["name"].startswith(f"{self.group}/")
        ]
        return sorted(
            (one for one in [*found, *self._departures] if one[0] >= since), key=lambda one: one[0]
        )


def restarted(
    cluster: LiveCluster,
    processes: Sequence[Consumers],
    topic: str,
    name: str,
    n_members: int,
    tally: Tally,
) -> Restart:
    """Start a group, restart its members one by one, the last by name first, and end it."""
    group, shares = f"restart-{name.partition('/')[0]}-{n_members}", assigned(strategy(name))
    members = Members(processes, group, topic, name)
    numbers = {f"web-{number}": number for number in range(n_members)}
    for member, number in numbers.items():
        members.start(member, number)
    snapshot = settled(cluster, processes, group, n_members, shares, tally)
    [totals] = rollout.restart(
        snapshot, [group], topics=[topic], order="reversed"
    ).totals.to_pylist()
    processes[0].do("flow", topic=topic, per_second=PER_SECOND)
    begun, states = 1000 * time.time(), [owners(processes, group, topic)]
    for member in sorted(numbers, reverse=True):  # as the prediction has it
        for act, n_there in ((members.stop, n_members - 1), (members.start, n_members)):
            act(member, numbers[member])
            settled(cluster, processes, group, n_there, shares, tally)
            states.append(owners(processes, group, topic))
    n_sent, seen = processes[0].do("still")["sent"], open_in(states[0], members.reports(begun))
    given = Counter[str]()
    for process in processes:
        given.update(process.do("consumed", group=group))
        process.leave_all()
    moved = sum(
        before[queue] != after[queue] for before, after in pairwise(states) for queue in before
    )
    n_twice = sum(n > 1 for n in given.values())
    return Restart(len(states[0]), moved, seen, n_sent, n_twice, totals)


def owners(processes: Sequence[Consumers], group: str, topic: str) -> dict[MessageQueue, str]:
    """Instance name of the owner of each queue of a topic."""
    return {
        queue: client_id.partition("@")[2]
        for client_id, queues in owned_by_java(processes, group).items()
        for queue in queues
        if queue.topic == topic
    }


def open_in(start: Mapping[MessageQueue, str], reports: Sequence[Report]) -> Open:
    """What was open between the first report and the last, given the owners before the first."""
    held: dict[str, frozenset[MessageQueue]] = {}
    for queue, owner in start.items():
        held[owner] = held.get(owner, frozenset()) | {queue}
    unowned, double = [0], [0]
    unowned_seconds = double_seconds = 0.0
    for (at, client_id, queues), until in zip(reports, _ends(reports), strict=True):
        held[client_id.partition("@")[2]] = queues
        n_owners = Counter(queue for mine in held.values() for queue in mine)
        unowned.append(sum(n_owners[queue] == 0 for queue in start))
        double.append(sum(n_owners[queue] > 1 for queue in start))
        unowned_seconds += (until - at) / 1000 * unowned[-1]
        double_seconds += (until - at) / 1000 * double[-1]
    return Open(max(unowned), unowned_seconds, max(double), double_seconds)


def _ends(reports: Sequence[Report]) -> Iterator[float]:
    """Until when each report holds; the last one, until then."""
    yield from (at for at, _, _ in reports[1:])
    yield from (at for at, _, _ in reports[-1:])
