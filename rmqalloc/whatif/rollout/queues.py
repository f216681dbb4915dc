"""More or fewer queues of a topic, in the order that is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rmqalloc.fleet import Fleet
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.model import Snapshot
from rmqalloc.text import counted, named
from rmqalloc.whatif.rollout.course import Cast, Course, Mask
from rmqalloc.whatif.rollout.ground import ground_of
from rmqalloc.whatif.rollout.model import Rollout
from rmqalloc.whatif.rollout.playing import played
from rmqalloc.whatif.rollout.routes import fresh_clients, refresh, still
from rmqalloc.whatif.scenarios.patterns import literal, matcher

_SHOWN = 5


@dataclass(frozen=True)
class Resize:
    """How many queues each readable broker has before and after.

    Attributes
    ----------
    topic : str
    read, write : dict of str to int
        Before, by broker name; where the snapshot does not know the write queues, as many as read queues.
    to : dict of str to int
        After, for reading and for writing.
    grows : bool
    """

    topic: str
    read: dict[str, int]
    write: dict[str, int]
    to: dict[str, int]
    grows: bool

    @property
    def dropped(self) -> list[MessageQueue]:
        """Queues that will be no more."""
        return [MessageQueue(self.topic, name, i) for name, n in self.read.items() for i in range(self.to[name], n)]


def resize_queues(
    snapshot: Snapshot,
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
    """Give a topic more or fewer queues on its brokers.

    More: raise the read queues, wait until all clients have new routes (they ask every 30 s), raise the write queues; so no
    message ever lies in a queue that somebody does not see. Fewer: lower the write queues, wait until every group has consumed
    what lies in the others, lower the read queues.

    Parameters
    ----------
    snapshot : Snapshot
    topic : str
        The topic.
    to : int
        Queues on every broker.
    groups : sequence of str
        Patterns of consumer groups to show. What is refused looks at all groups.
    brokers : sequence of str
        Patterns of brokers whose queues change.
    refreshed : float
        Share of the clients that have the new routes in the moment of which the exposure is told.
    assume_drained : bool
        Take it that a group has consumed queues of which the snapshot knows no lag.
    order, seed, detail
        As for `rmqalloc.whatif.rollout.restart.restart`.

    Returns
    -------
    Rollout
        ``refusals`` names queues that would be dropped and hold messages that some group has not consumed, or might.

    Raises
    ------
    ValueError
        The topic or the brokers are not there, nothing would change, or some brokers would grow and others shrink.

    Examples
    --------
    >>> from rmqalloc.snapshot.model import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 4),)), tuple(Client(f"c{i}") for i in range(4))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), clients),))
    >>> [row["action"] for row in resize_queues(snapshot, "T", 8).steps.to_pylist()]
    ['before', 'read queues to 8, routes refresh', 'write queues to 8']
    >>> resize_queues(snapshot, "T", 2).refusals[0]
    "the backlog of consumer group 'g' is not known in 2 queues of topic 'T': b:2, b:3"
    """
    resize = _resize(snapshot, topic, to, brokers)
    refusals = () if resize.grows else tuple(undrained(snapshot, resize, assume_drained))
    ground = ground_of(_widest(snapshot, resize), groups, (literal(topic),))
    variants = [_variant(ground.fleet, counts) for counts in (resize.read, resize.write, resize.to)]
    old, old_write, new = 1, 2, 3

    def course_of(cast: Cast) -> Course:
        n, fresh = len(cast.client_ids), fresh_clients(cast, refreshed, order, seed)
        steps = [still(n, "before", old, old_write)]
        if resize.grows:
            steps.append(refresh(fresh, f"read queues to {to}, routes refresh", old, new, old_write))
            steps.append(still(n, f"write queues to {to}", new, new))
        else:
            steps.append(still(n, f"write queues to {to}, backlog drains", old, new))
            steps.append(refresh(fresh, f"read queues to {to}, routes refresh", old, new, new))
        return Course(cast.client_ids, cast.rooms, steps)

    return played(ground, course_of, variants=variants, detail=detail, refusals=refusals)


def undrained(snapshot: Snapshot, resize: Resize, assume_drained: bool) -> list[str]:
    """Why queues must not be dropped yet: a line for every group that has messages there, or may have.

    Groups are all that subscribe to the topic, and all others of which a lag on it is known.
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
            found.append(f"consumer group {group.name!r} has {n:,} messages not consumed in {_some(behind)}")
        if unknown and not assume_drained:
            found.append(f"the backlog of consumer group {group.name!r} is not known in {_some(unknown)}")
    return found


def _some(queues: list[MessageQueue]) -> str:
    names = named([f"{queue.broker_name}:{queue.queue_id}" for queue in queues], _SHOWN)
    return f"{counted(len(queues), 'queue')} of topic {queues[0].topic!r}: {names}"


def _resize(snapshot: Snapshot, topic: str, to: int, brokers: Sequence[str]) -> Resize:
    """What changes, if it is one thing."""
    found = snapshot.topic(topic)
    if found is None:
        raise ValueError(f"the snapshot has no topic {topic!r}; give one that it has")
    if to < 1:
        raise ValueError(
            f"a broker needs 1 queue at least, got {to}; to empty a broker, see the maintenance of brokers"
        )
    readable = [broker for broker in found.brokers if broker.is_readable]
    chosen = [broker for broker in readable if matcher(tuple(brokers))(broker.broker_name)]
    if not chosen:
        names = ", ".join(broker.broker_name for broker in readable)
        raise ValueError(
            f"no readable broker of topic {topic!r} matches {', '.join(brokers)!r}; it has {names or 'none'}"
        )
    read = {broker.broker_name: broker.read_queue_nums for broker in readable}
    write = {broker.broker_name: broker.read_queue_nums - broker.n_dry_queues for broker in readable}
    after = read | {broker.broker_name: to for broker in chosen}
    grows, shrinks = (any(sign * (after[name] - n) > 0 for name, n in read.items()) for sign in (1, -1))
    if grows == shrinks:
        has = ", ".join(f"{broker.broker_name} has {broker.read_queue_nums}" for broker in chosen[:_SHOWN])
        what = "some brokers would grow and others shrink; do one after the other" if grows else "nothing would change"
        raise ValueError(f"{what}: {has}, and {to} are asked for")
    return Resize(topic, read, write, after, grows)


def _widest(snapshot: Snapshot, resize: Resize) -> Snapshot:
    """The snapshot with all queues that there are before or after."""
    topics = []
    for one in snapshot.topics:
        if one.name == resize.topic:
            most = {name: max(n, resize.to[name]) for name, n in resize.read.items()}
            brokers = (replace(b, read_queue_nums=most.get(b.broker_name, b.read_queue_nums)) for b in one.brokers)
            one = replace(one, brokers=tuple(brokers))
        topics.append(one)
    return replace(snapshot, topics=tuple(topics))


def _variant(fleet: Fleet, counts: dict[str, int]) -> Mask:
    """The first so many queues of every broker."""
    lists = fleet.queue_lists
    most = np.array([counts.get(name, 0) for name in fleet.brokers.to_list()], np.int64)
    kept: Mask = lists.queue_ids < most[lists.route_broker[lists.queue_route]]
    return kept
