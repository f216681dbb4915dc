"""More or fewer queues of a topic, in the order that loses no messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.fleet import Fleet
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.rollouts.planned_groups import first_queues, planned_groups_of
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import GroupAtStart, Mask, Schedule, fresh_clients, refresh, still
from rmqalloc.snapshot.snapshot import PERM_WRITE, Snapshot, TopicBroker
from rmqalloc.text import counted, literal, matcher

_SHOWN = 5


@dataclass(frozen=True)
class Resize:
    """How many queues each readable broker has before and after; perms stay as they are.

    Attributes
    ----------
    topic : str
    brokers : tuple of TopicBroker
        All that consumers may read, before.
    chosen : frozenset of str
        Names of those that change.
    to : int
        Read and write queues of these after; producers write to none of a broker without the write
        bit, then as before.
    """

    topic: str
    brokers: tuple[TopicBroker, ...]
    chosen: frozenset[str]
    to: int

    @lazy_property
    def changed(self) -> list[TopicBroker]:
        """The brokers that change, as they are before."""
        return [one for one in self.brokers if one.broker_name in self.chosen]

    @lazy_property
    def read(self) -> dict[str, int]:
        """Queues that consumers see before, by broker name."""
        return {one.broker_name: one.read_queue_nums for one in self.brokers}

    @lazy_property
    def read_to(self) -> dict[str, int]:
        """Queues that consumers see after."""
        return self.read | dict.fromkeys(self.chosen, self.to)

    @lazy_property
    def written(self) -> dict[str, int]:
        """Queues that producers write to before, whether or not they are read."""
        return {one.broker_name: one.n_written_queues for one in self.brokers}

    @lazy_property
    def written_to(self) -> dict[str, int]:
        """Queues that producers write to after."""
        return self.written | {
            one.broker_name: self.to for one in self.changed if one.perm & PERM_WRITE
        }

    @lazy_property
    def grows(self) -> bool:
        """Whether read queues are raised first: there will be more of them, or only the write
        queues grow.
        """
        more = any(one.read_queue_nums < self.to for one in self.changed)
        return more or not any(_holds(one) > self.to for one in self.changed)

    @lazy_property
    def dropped(self) -> list[MessageQueue]:
        """Queues that may hold messages, read or not, and that will be removed."""
        return [
            MessageQueue(self.topic, one.broker_name, i)
            for one in self.changed
            for i in range(self.to, _holds(one))
        ]


def _holds(broker: TopicBroker) -> int:
    """Return the number of queues that may hold messages."""
    return max(broker.read_queue_nums, broker.write_queue_nums or 0)


def resize_queues(
    snapshot: Snapshot | Known,
    topic: str,
    to: int,
    groups: Sequence[str] = ("*",),
    brokers: Sequence[str] = ("*",),
    refreshed: float = 0.5,
    assume_drained: bool = False,
    order: str = "shuffled",
    seed: int = 0,
    detail: bool = False,
) -> Rollout:
    """Give a topic more or fewer queues on its brokers, with equal numbers of read and write
    queues.

    Numbers are set on every chosen broker that consumers may read, as ``mqadmin updateTopic -r N -w
    N`` does: a broker with 0 read queues gets some. Permissions do not change, so no producer
    writes to a broker without the write bit.

    More: raise the read queues, wait until all clients have the new routes (they poll every 30 s),
    raise the write queues; so no queue has a message before all clients see it. Fewer: lower the
    write queues, wait until every group has consumed the backlog of the removed queues, lower the
    read queues. A queue above the read queues that was written to (more write than read queues) may
    hold unread messages; it counts as dropped.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 4),)), tuple(Client(f"c{i}") for i in range(4))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> [row["action"] for row in resize_queues(snapshot, "T", 8).steps.to_pylist()]
    ['before', 'read queues to 8, routes refresh', 'write queues to 8']
    >>> resize_queues(snapshot, "T", 2).refusals[0]
    "the backlog of consumer group 'g' is not known in 2 queues of topic 'T': b:2, b:3"
    """
    found = Known.of(snapshot, groups)
    snapshot = found.snapshot
    resize = resize_of(snapshot, topic, to, brokers)
    refusals = tuple(undrained(snapshot, resize, assume_drained))
    planned = planned_groups_of(
        found.with_changed(widest(snapshot, resize)), groups, (literal(topic),)
    )
    counts = (resize.read, resize.read_to, resize.written, resize.written_to)
    variants = [queues_below(planned.fleet, some) for some in counts]
    old, new, written, written_to = 1, 2, 3, 4

    def schedule_of(group: GroupAtStart) -> Schedule:
        n, fresh = len(group.client_ids), fresh_clients(group, refreshed, order, seed)
        steps = [still(n, "before", old, written)]
        if resize.grows:
            steps.append(refresh(fresh, f"read queues to {to}, routes refresh", old, new, written))
            steps.append(still(n, f"write queues to {to}", new, written_to))
        else:
            steps.append(still(n, f"write queues to {to}, backlog drains", old, written_to))
            steps.append(
                refresh(fresh, f"read queues to {to}, routes refresh", old, new, written_to)
            )
        return Schedule(group.client_ids, group.rooms, steps)

    return play_schedules(planned, schedule_of, variants=variants, detail=detail, refusals=refusals)


def undrained(snapshot: Snapshot, resize: Resize, assume_drained: bool) -> list[str]:
    """Return why queues must not be dropped yet: a line for every group that has, or may have,
    messages there.

    These are all groups that subscribe to the topic, and all others with a known lag on it.
    """
    dropped = resize.dropped
    found = []
    for group in snapshot.groups:
        lags = {lag.queue: lag.messages for lag in group.lags if lag.queue.topic == resize.topic}
        if not lags and resize.topic not in group.subscriptions:
            continue
        behind = [queue for queue in dropped if lags.get(queue, 0) > 0]
        unknown = [queue for queue in dropped if queue not in lags]
        if behind:
            n = sum(lags[queue] for queue in behind)
            unread = [queue for queue in behind if queue.queue_id >= resize.read[queue.broker_name]]
            why = (
                f"; no client reads {_names(unread)}, so raise the read queues first"
                if unread
                else ""
            )
            found.append(
                f"consumer group {group.name!r} has {n:,} unconsumed messages in {_some(behind)}{why}"
            )
        if unknown and not assume_drained:
            found.append(
                f"the backlog of consumer group {group.name!r} is not known in {_some(unknown)}"
            )
    return found


def _some(queues: list[MessageQueue]) -> str:
    return f"{counted(len(queues), 'queue')} of topic {queues[0].topic!r}: {_names(queues)}"


def _names(queues: list[MessageQueue]) -> str:
    return named([f"{queue.broker_name}:{queue.queue_id}" for queue in queues], _SHOWN)


def resize_of(snapshot: Snapshot, topic: str, to: int, brokers: Sequence[str]) -> Resize:
    """Return the change of all brokers chosen, if it is of one kind."""
    found = snapshot.topic(topic)
    if found is None:
        raise ArgumentError(f"the snapshot has no topic {topic!r}; give an existing topic")
    if to < 1:
        raise ArgumentError(
            f"a broker needs at least 1 queue, got {to}; to empty a broker, see the maintenance of brokers"
        )
    readable = [broker for broker in found.brokers if broker.is_readable]
    is_chosen = matcher(tuple(brokers))
    chosen = [broker for broker in readable if is_chosen(broker.broker_name)]
    if not chosen:
        names = ", ".join(broker.broker_name for broker in readable)
        raise ArgumentError(
            f"no readable broker of topic {topic!r} matches {', '.join(brokers)!r}; it has {names or 'none'}"
        )
    has = ", ".join(
        f"{broker.broker_name} has {broker.read_queue_nums}" for broker in chosen[:_SHOWN]
    )
    if all(
        broker.read_queue_nums == to and broker.write_queue_nums in (None, to) for broker in chosen
    ):
        raise ArgumentError(f"nothing would change: {has}, and {to} are requested")
    if len({broker.read_queue_nums < to for broker in chosen if broker.read_queue_nums != to}) > 1:
        what = "some brokers would grow and some would shrink; resize them in two steps"
        raise ArgumentError(f"{what}: {has}, and {to} are requested")
    return Resize(topic, tuple(readable), frozenset(broker.broker_name for broker in chosen), to)


def widest(snapshot: Snapshot, resize: Resize) -> Snapshot:
    """Return the snapshot with all queues that exist before or after."""
    topics = []
    for one in snapshot.topics:
        if one.name == resize.topic:
            most = {name: max(n, resize.read_to[name]) for name, n in resize.read.items()}
            brokers = (
                replace(b, read_queue_nums=most.get(b.broker_name, b.read_queue_nums))
                for b in one.brokers
            )
            one = replace(one, brokers=tuple(brokers))
        topics.append(one)
    return replace(snapshot, topics=tuple(topics))


def queues_below(fleet: Fleet, counts: dict[str, int]) -> Mask:
    """Return the queues below a number, broker by broker."""
    most = np.array([counts.get(name, 0) for name in fleet.brokers.to_list()], np.int64)
    return first_queues(fleet, most[fleet.queue_lists.route_broker])
