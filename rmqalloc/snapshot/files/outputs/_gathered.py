"""Several outputs of mqadmin about one cluster, put together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files.outputs._group_names import is_retry_topic_of
from rmqalloc.snapshot.files.outputs._mqadmin_tables import Connected, ListedGroup, Progress
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._answers import ClientConnection, Connections, RunningInfo
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.text import printable

_OTHERS = {
    "subscriptions": "only groups whose outputs are given are known",
    "routes": "only topics whose topicRoute is given are known",
}
"""Parts of a cluster that outputs of mqadmin never list whole, by reason."""

_DIFFER = "lists of its clients differ, and it is not known of which brokers they are"


@dataclass(slots=True)
class GroupOutputs:
    """Outputs about one group."""

    # outputs of consumerConnection by the address of the broker that was asked, which is empty
    # where that is not known
    connected: dict[str, Connected] = field(default_factory=dict)
    listed: list[ClientConnection] = field(default_factory=list)  # those of consumerStatus
    progress: list[Progress] = field(default_factory=list)
    counted: ListedGroup | None = None  # its row in the list of all groups
    infos: dict[str, RunningInfo] = field(default_factory=dict)
    answered: dict[str, ClientConnection] = field(default_factory=dict)
    owned: dict[str, list[MessageQueue]] = field(default_factory=dict)
    in_part: str | None = None  # why it may have more clients than are listed

    @property
    def subscriptions(self) -> set[str]:
        """Topics that the group subscribes to, from lists and from clients."""
        topics: set[str] = set()
        for connected in self.connected.values():
            topics.update(connected.subscriptions)
        for info in self.infos.values():
            topics.update(info.subscriptions)
        return topics


@dataclass(slots=True)
class Gathered:
    """Everything from all outputs."""

    topics: dict[str, Topic] = field(default_factory=dict)  # routes by topic
    brokers: dict[str, Broker] = field(default_factory=dict)  # brokers of these routes by name
    broker_names: dict[str, str] = field(default_factory=dict)  # their names by address
    groups: defaultdict[str, GroupOutputs] = field(
        default_factory=lambda: defaultdict(GroupOutputs)
    )
    warnings: list[str] = field(default_factory=list)
    # by group: the line of its first output, in its file
    lines: dict[str, int] = field(default_factory=dict)

    def note(self, section: Section, what: str, offset: int = 0) -> None:
        """Warn of a line of an output."""
        self.warnings.append(section.note(what, offset))

    def add_connected(self, group: str, section: Section, connected: Connected) -> None:
        """Keep an output of consumerConnection: of each broker the longest."""
        outputs, broker = self.groups[group], section.asked.broker or ""
        before = outputs.connected.get(broker)
        if before is None:
            outputs.connected[broker] = connected
            return
        if self._is_longer(section, outputs, before.connections, connected.connections, group):
            outputs.connected[broker] = connected

    def add_listed(self, group: str, section: Section, listed: list[ClientConnection]) -> None:
        """Keep the clients of an output of consumerStatus: the most."""
        outputs = self.groups[group]
        if not outputs.listed or self._is_longer(section, outputs, outputs.listed, listed, group):
            outputs.listed = listed

    def _is_longer(
        self,
        section: Section,
        outputs: GroupOutputs,
        before: list[ClientConnection],
        now: list[ClientConnection],
        group: str,
    ) -> bool:
        if before != now and outputs.in_part != _DIFFER:
            command = section.asked.command or "consumerConnection"
            short, long = (before, now) if len(before) < len(now) else (now, before)
            lost = {client.client_id for client in short} - {client.client_id for client in long}
            without = f", without {named(list(map(printable, sorted(lost))))}" if lost else ""
            self.note(
                section, f"{command} of group {group!r} is given twice; the longer is kept{without}"
            )
            outputs.in_part = _DIFFER
        return len(before) < len(now)

    def snapshot(self, source: str) -> Snapshot:
        """Return the snapshot; warnings of incomplete outputs are added."""
        self._end_listed_names()
        groups = tuple(self._group(name, outputs) for name, outputs in self.groups.items())
        topics = (*self.topics.values(), *self._guessed_topics(groups))
        return Snapshot(
            topics, groups, source=source, brokers=tuple(self.brokers.values()), unknown=_OTHERS
        )

    def _end_listed_names(self) -> None:
        """Complete names that the list of all groups cut, where the name of only one group of other
        outputs begins like that.
        """
        ordered = sorted(self.groups)
        counted = {name: outputs.counted for name, outputs in self.groups.items()}
        for name in [name for name, row in counted.items() if row and row.is_cut]:
            at = bisect_right(ordered, name)
            begun = [whole for whole in ordered[at : at + 2] if whole.startswith(name)]
            if len(begun) == 1:
                self.groups[begun[0]].counted = self.groups.pop(name).counted
            else:
                self.warnings.append(
                    f"group {printable(name)} has a name as long as its column: it is probably cut"
                )

    def _progress(self, name: str, outputs: GroupOutputs) -> Consumed | None:
        known = {*self.topics, *outputs.subscriptions, RETRY_PREFIX + name}
        uncut = [self._uncut(name, known, progress) for progress in outputs.progress]
        return put_together(uncut, outputs.subscriptions)

    def _uncut(self, group: str, known: set[str], progress: Progress) -> Progress:
        """Complete names that are as long as their column, where only one known name begins like
        that.
        """
        topics = {lag.queue.topic for lag in progress.lags}
        brokers = {lag.queue.broker_name for lag in progress.lags}
        cut_topics = [name for name in topics if len(name) >= progress.topic_width]
        cut_brokers = [name for name in brokers if len(name) >= progress.broker_width]
        if not cut_topics and not cut_brokers:
            return progress
        known_brokers = members.brokers_of(self.topics, self.topics)
        whole_topics = self._whole(group, "topic", cut_topics, progress.topic_width, known)
        whole_brokers = self._whole(
            group, "broker", cut_brokers, progress.broker_width, known_brokers
        )

        def whole(queue: MessageQueue) -> MessageQueue:
            topic = whole_topics.get(queue.topic, queue.topic)
            broker = whole_brokers.get(queue.broker_name, queue.broker_name)
            return MessageQueue(topic, broker, queue.queue_id)

        if not whole_topics and not whole_brokers:
            return progress
        lags = [replace(lag, queue=whole(lag.queue)) for lag in progress.lags]
        owners = {whole(queue): address for queue, address in progress.owners.items()}
        return progress._replace(lags=lags, owners=owners)

    def _whole(
        self, group: str, kind: str, cut: Iterable[str], width: int, known: Iterable[str]
    ) -> dict[str, str]:
        """Return whole names by cut names; warn of each."""
        found = {}
        ordered = sorted(known)
        for name in sorted(cut):
            at = bisect_left(ordered, name)
            begun = [whole for whole in ordered[at : at + 2] if whole.startswith(name)]
            if name in begun:
                continue
            if len(begun) == 1:
                found[name] = begun[0]
                then = f"; taken for {printable(begun[0])}"
            else:
                then = ": it is probably cut; give its topicRoute as well"
            what = f"{kind} {printable(name)} is {width} characters long, where mqadmin cuts names"
            self.warnings.append(f"consumerProgress of group {printable(group)}: {what}{then}")
        return found

    def _group(self, name: str, outputs: GroupOutputs) -> Group:
        progress = self._progress(name, outputs)
        lags = tuple(progress.lags) if progress else ()
        topics = outputs.subscriptions
        for queues in outputs.owned.values():
            topics.update(queue.topic for queue in queues)
        if not topics:
            topics = {lag.queue.topic for lag in lags}
        view = self._view(outputs, progress, topics, name)
        is_placed = not outputs.connected or view.keys() <= set(self.broker_names.values())
        tps = None
        if progress:
            tps = progress.consume_tps
        elif outputs.counted:
            tps = outputs.counted.consume_tps or None
        routes = self.topics if is_placed else {}
        group = members.group(name, view, outputs.infos, routes, lags=lags, consume_tps=tps)
        group = replace(group, unknown={**group.unknown, **_unknown(outputs, progress)})
        if group.is_shared:
            all_topics = {lag.queue.topic for lag in group.lags}
            retry = {topic for topic in all_topics if is_retry_topic_of(topic, name, all_topics)}
            group = replace(group, subscriptions=tuple(sorted(retry.union(group.subscriptions))))
        if outputs.owned:
            clients = []
            for client in group.clients:
                owned = tuple(outputs.owned.get(client.client_id, ()))
                clients.append(replace(client, owned=owned))
            return replace(group, clients=tuple(clients))
        if progress and progress.owners and not outputs.infos:
            return replace(group, clients=self._owning(name, group.clients, progress))
        return group

    def _view(
        self, outputs: GroupOutputs, progress: Consumed | None, topics: set[str], name: str
    ) -> dict[str, Connections]:
        """Return the group as brokers list it, by their names."""
        if not outputs.connected:
            model = (outputs.counted and outputs.counted.message_model) or "CLUSTERING"
            return {"": _listed(_connections(outputs, progress), topics, model)}
        view = {}
        for broker, connected in self._by_broker_name(name, outputs).items():
            model = connected.message_model or "CLUSTERING"
            view[broker] = _listed(connected.connections, topics, model)
        return view

    def _by_broker_name(self, name: str, outputs: GroupOutputs) -> dict[str, Connected]:
        """Return lists of a group's clients by broker name; the list of an unknown broker counts
        only without others.
        """
        found: dict[str, Connected] = {}
        for address, connected in outputs.connected.items():
            broker = self.broker_names.get(address)
            if broker is None and address:
                self.warnings.append(
                    f"group {printable(name)}: no topicRoute names the broker at {printable(address)}, so its list of clients "
                    "is kept under that address; give the topicRoute of its topics"
                )
            broker = broker or address
            before = found.get(broker)
            if before is None or len(before.connections) < len(connected.connections):
                found[broker] = connected
        if len(found) > 1 and "" in found:
            rest = found.pop("")
            lost = {client.client_id for client in rest.connections}
            for connected in found.values():
                lost.difference_update(client.client_id for client in connected.connections)
            if lost:
                outputs.in_part = _DIFFER
                self.warnings.append(
                    f"group {printable(name)}: {named(list(map(printable, sorted(lost))))} stands only in a consumerConnection "
                    "without -b and is left out"
                )
        return found

    def _owning(
        self, name: str, clients: tuple[Client, ...], progress: Consumed
    ) -> tuple[Client, ...]:
        """Return clients with the queues that consumerProgress shows at their addresses."""
        hosts = Counter(client.host for client in clients)
        queues: dict[str, list[MessageQueue]] = {}
        for queue, address in progress.owners.items():
            queues.setdefault(address, []).append(queue)
        self.warnings.append(
            f"group {printable(name)}: owners are those of consumerProgress, which shows one of a queue's owners even if "
            "it has two; consumerStatus shows all"
        )
        shared = sorted(host for host, count in hosts.items() if count > 1)
        if shared:
            self.warnings.append(
                f"group {printable(name)}: several clients run at {', '.join(map(printable, shared[:3]))}; consumerProgress "
                "does not say which of them owns a queue, so what they own is left open; give their consumerStatus files"
            )
        # A client without a queue there may own one whose row says N/A.
        none = () if progress.is_whole else None
        found = []
        for client in clients:
            if hosts[client.host] == 1:
                client = replace(client, owned=tuple(queues.get(client.host, ())) or none)
            found.append(client)
        return tuple(found)

    def _guessed_topics(self, groups: tuple[Group, ...]) -> list[Topic]:
        """Return topics without a route, with the queues that outputs name."""
        counts: dict[str, dict[str, int]] = {}
        for topic, broker, queue_id in _named_queues(groups):
            if topic not in self.topics and queue_id >= 0:
                brokers = counts.setdefault(topic, {})
                brokers[broker] = max(brokers.get(broker, 0), queue_id + 1)
        guessed = {
            "routes": "no topicRoute is given; its read queues are counted by the highest queue id seen"
        }
        topics = []
        for topic, brokers in counts.items():
            entries = tuple(TopicBroker(broker, n) for broker, n in sorted(brokers.items()))
            topics.append(Topic(topic, entries, guessed))
        return topics


def _connections(outputs: GroupOutputs, progress: Consumed | None) -> list[ClientConnection]:
    """Return clients of a group without consumerConnection, from other outputs."""
    if outputs.listed:
        return outputs.listed
    if outputs.answered:
        return list(outputs.answered.values())
    if outputs.owned:
        return [ClientConnection(client_id, None, None) for client_id in outputs.owned]
    addresses = set(progress.owners.values()) if progress else set()
    return [ClientConnection(address, None, None) for address in addresses]


def _listed(
    connections: Iterable[ClientConnection], topics: Iterable[str], model: str
) -> Connections:
    ordered = sorted(connections, key=attrgetter("client_id"))
    return Connections(tuple(ordered), frozenset(topics), model)


def _unknown(outputs: GroupOutputs, progress: Consumed | None) -> dict[str, str]:
    """Return what is not known of a group from the outputs, and why."""
    found = {}
    if not outputs.connected and not outputs.listed:
        found["clients"] = "neither its consumerConnection nor its consumerStatus is given"
        if outputs.answered:
            found["clients"] = "only those whose consumerStatus files are given are known"
        elif outputs.owned:
            found["clients"] = "only those that own a queue are known"
        elif progress and progress.owners:
            found["clients"] = (
                "only addresses of those that own a queue are known, and two on one host look like one"
            )
        elif outputs.counted and outputs.counted.n_connections:
            found["clients"] = (
                f"consumerProgress says that it has {outputs.counted.n_connections:,}, not which"
            )
        elif outputs.counted:
            found["clients"] = (
                "consumerProgress lists it as OFFLINE: it has none, or could not be asked"
            )
    elif outputs.in_part:
        found["clients"] = outputs.in_part
    if not outputs.connected and not outputs.infos:
        known = "; its topics are those that it has offsets of" if progress else ""
        found["subscriptions"] = f"its consumerConnection is not given{known}"
    if progress and not progress.is_whole and not outputs.infos:
        found["owners"] = (
            "consumerProgress says N/A where nobody owns a queue and where a client could not be asked"
        )
        if progress.missing:
            found["owners"] = (
                f"consumerProgress is not given of {named(list(map(printable, progress.missing)))}"
            )
    return found


def _named_queues(groups: tuple[Group, ...]) -> Iterable[MessageQueue]:
    for group in groups:
        lags: tuple[Lag, ...] = group.lags
        yield from (lag.queue for lag in lags)
        for client in group.clients:
            yield from client.owned or ()


# Several outputs of consumerProgress of one group: of all its topics, or of one each (``-t``).


class Consumed(NamedTuple):
    """Offsets and owners of a group."""

    lags: list[Lag]
    owners: dict[MessageQueue, str]  # address of one client that has the queue
    # owners are given for all topics, and for every queue but those of retry topics
    is_whole: bool
    # subscribed topics without owners, while other topics have them
    missing: list[str]
    consume_tps: float | None


def put_together(given: Sequence[Progress], subscriptions: Collection[str]) -> Consumed | None:
    """Merge the outputs of consumerProgress of one group; None without any."""
    if not given:
        return None
    placed: dict[MessageQueue, _PlacedLag] = {}
    owners: dict[MessageQueue, str] = {}
    repeated: list[Lag] = []
    asked: set[str] = set()  # topics of outputs with owners
    for progress in given:
        repeated += _add(progress, placed)
        owners |= progress.owners
        if progress.owners:
            asked.update(lag.queue.topic for lag in progress.lags)
    missing = []
    if owners:
        unasked = [topic for topic in subscriptions if topic not in asked]
        missing = sorted(topic for topic in unasked if not topic.startswith(RETRY_PREFIX))
    lags = [entry.lag for entry in placed.values()]
    is_whole = not missing and all(progress.is_whole for progress in given)
    return Consumed(lags + repeated, owners, is_whole, missing, _tps(given, len(placed)))


class _PlacedLag(NamedTuple):
    """A lag with its output, and its line there."""

    lag: Lag
    section: Section
    line: int


def _add(progress: Progress, placed: dict[MessageQueue, _PlacedLag]) -> list[Lag]:
    """Add the lags of one output; return lags that this output itself repeats, for cut names may
    look alike.
    """
    repeated = []
    for lag, line in zip(progress.lags, progress.offsets, strict=True):
        queue = lag.queue
        first = placed.setdefault(queue, _PlacedLag(lag, progress.section, line))
        if first.section is progress.section:
            if first.line != line:
                repeated.append(lag)
        elif first.lag != lag:
            raise progress.section.error(
                f"queue {queue.queue_id} of topic {queue.topic!r} on broker {queue.broker_name!r} has offsets "
                f"{_offsets(lag)} here and {_offsets(first.lag)} at {first.section.place(first.line)}; "
                "give one of the two outputs",
                line,
            )
    return repeated


def _offsets(lag: Lag) -> str:
    return f"{lag.broker_offset} (broker) and {lag.consumer_offset} (consumer)"


def _tps(given: Sequence[Progress], n_queues: int) -> float | None:
    """Return messages consumed per second: those of an output that has all queues, else the sum
    over outputs if no queue is in two of them.
    """
    n_in_all = 0
    for progress in given:
        n_here = len({lag.queue for lag in progress.lags})
        if n_here == n_queues:
            return progress.consume_tps
        n_in_all += n_here
    return sum(progress.consume_tps for progress in given) if n_in_all == n_queues else None
