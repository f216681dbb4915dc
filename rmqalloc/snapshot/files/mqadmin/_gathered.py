"""What several outputs of mqadmin said of one cluster, put together."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rmqalloc._text import printable
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot._snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.files.mqadmin._outputs import RETRY, Connected, Progress
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._answers import ClientConnection, Connections, RunningInfo

_OTHERS = {
    "subscriptions": "only groups whose outputs are given are known",
    "routes": "only topics whose topicRoute is given are known",
}
"""What outputs of mqadmin never say: what else there is."""


@dataclass(slots=True)
class Seen:
    """What was said of one group."""

    connected: Connected | None = None
    listed: list[ClientConnection] = field(default_factory=list)
    progress: Progress | None = None
    infos: dict[str, RunningInfo] = field(default_factory=dict)
    answered: dict[str, ClientConnection] = field(default_factory=dict)
    owned: dict[str, list[MessageQueue]] = field(default_factory=dict)


@dataclass(slots=True)
class Gathered:
    """All that was said.

    Attributes
    ----------
    topics : dict of str to Topic
        Routes by topic.
    brokers : dict of str to Broker
        Brokers of these routes by name.
    groups : dict of str to Seen
    warnings : list of str
    lines : dict of str to int
        Where each group is first spoken of: the line of that output, in its file.
    """

    topics: dict[str, Topic] = field(default_factory=dict)
    brokers: dict[str, Broker] = field(default_factory=dict)
    groups: defaultdict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    warnings: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def snapshot(self, source: str) -> Snapshot:
        """The snapshot of it; what had to be guessed is added to the warnings."""
        for name, seen in self.groups.items():
            if seen.progress is not None:
                seen.progress = self._uncut(name, seen, seen.progress)
        groups = tuple(self._group(name, seen) for name, seen in self.groups.items())
        topics = (*self.topics.values(), *self._guessed_topics(groups))
        return Snapshot(topics, groups, source=source, brokers=tuple(self.brokers.values()), unknown=_OTHERS)

    def _uncut(self, group: str, seen: Seen, progress: Progress) -> Progress:
        """Names that are as long as their column get their ends back, where only one known name begins so."""
        topics = {lag.queue.topic for lag in progress.lags}
        brokers = {lag.queue.broker_name for lag in progress.lags}
        if all(len(one) < progress.topic_width for one in topics) and all(
            len(one) < progress.broker_width for one in brokers
        ):
            return progress
        known = {*self.topics, *(seen.connected.subscriptions if seen.connected else ())}
        known.update(topic for info in seen.infos.values() for topic in info.subscriptions)
        known_brokers = {broker.broker_name for topic in self.topics.values() for broker in topic.brokers}
        names = self._whole(group, "topic", topics, progress.topic_width, known)
        names |= self._whole(group, "broker", brokers, progress.broker_width, known_brokers)

        def whole(queue: MessageQueue) -> MessageQueue:
            topic, broker = names.get(("topic", queue.topic)), names.get(("broker", queue.broker_name))
            return MessageQueue(topic or queue.topic, broker or queue.broker_name, queue.queue_id)

        lags = [replace(lag, queue=whole(lag.queue)) for lag in progress.lags] if names else progress.lags
        return progress._replace(lags=lags, owners={whole(queue): ip for queue, ip in progress.owners.items()})

    def _whole(
        self, group: str, kind: str, names: Iterable[str], width: int, known: Iterable[str]
    ) -> dict[tuple[str, str], str]:
        found = {}
        ordered = sorted(known)
        for name in sorted(name for name in names if len(name) >= width):
            at = bisect_left(ordered, name)
            begun = [one for one in ordered[at : at + 2] if one.startswith(name)]
            if name in begun:
                continue
            if len(begun) == 1:
                found[kind, name] = begun[0]
                then = f"; taken for {printable(begun[0])}"
            else:
                then = ": it is probably cut; give its topicRoute as well"
            what = f"{kind} {printable(name)} is {width} characters long, where mqadmin cuts names"
            self.warnings.append(f"consumerProgress of group {printable(group)}: {what}{then}")
        return found

    def _group(self, name: str, seen: Seen) -> Group:
        connections = list(seen.connected.connections) if seen.connected else self._connections(name, seen)
        lags = tuple(seen.progress.lags) if seen.progress else ()
        topics = set(seen.connected.subscriptions if seen.connected else ())
        topics.update(topic for info in seen.infos.values() for topic in info.subscriptions)
        topics.update(queue.topic for queues in seen.owned.values() for queue in queues)
        if not topics:
            topics = {lag.queue.topic for lag in lags}
        model = seen.connected.message_model if seen.connected else "CLUSTERING"
        view = {"": Connections(tuple(sorted(connections, key=lambda one: one.client_id)), frozenset(topics), model)}
        tps = seen.progress.consume_tps if seen.progress else None
        group = members.group(name, view, seen.infos, self.topics, lags, tps)
        group = replace(group, unknown=_unknown(seen))
        if seen.owned:
            owned = (replace(one, owned=tuple(seen.owned.get(one.client_id, ()))) for one in group.clients)
            return replace(group, clients=tuple(owned))
        if seen.progress and seen.progress.owners and not seen.infos:
            return replace(group, clients=self._owning(name, group.clients, seen.progress))
        return group

    def _connections(self, name: str, seen: Seen) -> list[ClientConnection]:
        """Clients of a group whose consumerConnection is not given, from what else names them."""
        if seen.listed:
            return seen.listed
        if seen.answered:
            self.warnings.append(
                f"group {printable(name)}: its clients are those whose consumerStatus files are given; give its "
                "consumerConnection as well if there may be others"
            )
            return list(seen.answered.values())
        if seen.owned:
            return [ClientConnection(client_id, None, None) for client_id in seen.owned]
        addresses = set(seen.progress.owners.values()) if seen.progress else set()
        if addresses:
            self.warnings.append(
                f"group {printable(name)}: its clients are known by their addresses only; two on one host look like one, "
                "and idle ones are missing; give its consumerConnection as well"
            )
        return [ClientConnection(address, None, None) for address in addresses]

    def _owning(self, name: str, clients: tuple[Client, ...], progress: Progress) -> tuple[Client, ...]:
        """Clients with the queues that consumerProgress shows at their addresses."""
        hosts = Counter(one.host for one in clients)
        queues: dict[str, list[MessageQueue]] = {}
        for queue, address in progress.owners.items():
            queues.setdefault(address, []).append(queue)
        self.warnings.append(
            f"group {printable(name)}: owners are those of consumerProgress, which shows one of a queue's owners even if "
            "it has two; consumerStatus shows all"
        )
        if shared := sorted(host for host, count in hosts.items() if count > 1):
            self.warnings.append(
                f"group {printable(name)}: several clients run at {', '.join(map(printable, shared[:3]))}; consumerProgress "
                "does not say which of them owns a queue, so what they own is left open; give their consumerStatus files"
            )
        # Who has no queue there may own one whose row says N/A.
        none = () if progress.is_whole else None
        return tuple(
            replace(one, owned=tuple(queues.get(one.host, ())) or none) if hosts[one.host] == 1 else one
            for one in clients
        )

    def _guessed_topics(self, groups: tuple[Group, ...]) -> list[Topic]:
        """Topics without a route, as far as their queues were named."""
        counts: dict[str, dict[str, int]] = {}
        for queue in _named_queues(groups):
            if queue.topic not in self.topics and queue.queue_id >= 0:
                brokers = counts.setdefault(queue.topic, {})
                brokers[queue.broker_name] = max(brokers.get(queue.broker_name, 0), queue.queue_id + 1)
        if counts:
            shown = ", ".join(printable(topic) for topic in sorted(counts)[:5]) + (", ..." if len(counts) > 5 else "")
            self.warnings.append(
                f"no topicRoute is given for {shown}: read queues are counted by the highest queue id seen"
            )
        guessed = {"routes": "no topicRoute is given; its read queues are counted by the highest queue id seen"}
        return [
            Topic(name, tuple(TopicBroker(broker, count) for broker, count in sorted(brokers.items())), guessed)
            for name, brokers in counts.items()
        ]


def _unknown(seen: Seen) -> dict[str, str]:
    """What the outputs do not say of a group, and why."""
    found = {}
    if seen.connected is None and not seen.listed:
        found["clients"] = "neither its consumerConnection nor its consumerStatus is given"
        if seen.answered:
            found["clients"] = "only those whose consumerStatus files are given are known"
        elif seen.owned or (seen.progress and seen.progress.owners):
            found["clients"] = "only those that own a queue are known"
    if seen.connected is None and not seen.infos:
        found["subscriptions"] = "its consumerConnection is not given; its topics are those that it has offsets of"
    if seen.progress and not seen.progress.is_whole and not seen.infos:
        found["owners"] = "consumerProgress says N/A where nobody owns a queue and where a client could not be asked"
    return found


def _named_queues(groups: tuple[Group, ...]) -> Iterable[MessageQueue]:
    for group in groups:
        lags: tuple[Lag, ...] = group.lags
        yield from (lag.queue for lag in lags)
        for client in group.clients:
            yield from client.owned or ()


def group_of_retry_topic(topics: Iterable[str]) -> str | None:
    """The group whose retry topic is among them, None if there is none or more than one."""
    names = {topic.removeprefix(RETRY) for topic in topics if topic.startswith(RETRY)}
    return names.pop() if len(names) == 1 else None
