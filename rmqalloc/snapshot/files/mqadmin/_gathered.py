"""What several outputs of mqadmin said of one cluster, put together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files.mqadmin._group_names import is_retry_topic_of
from rmqalloc.snapshot.files.mqadmin._outputs import Connected, ListedGroup, Progress
from rmqalloc.snapshot.files.mqadmin._sections import Section
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._answers import ClientConnection, Connections, RunningInfo
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.text import printable

_OTHERS = {
    "subscriptions": "only groups whose outputs are given are known",
    "routes": "only topics whose topicRoute is given are known",
}
"""What outputs of mqadmin never say: what else there is."""

_DIFFER = "lists of its clients differ, and it is not known of which brokers they are"


@dataclass(slots=True)
class Seen:
    """What was said of one group."""

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
        """Topics that lists and clients say it subscribes to."""
        found = {topic for one in self.connected.values() for topic in one.subscriptions}
        return found.union(*(info.subscriptions for info in self.infos.values()))


@dataclass(slots=True)
class Gathered:
    """All that was said."""

    topics: dict[str, Topic] = field(default_factory=dict)  # routes by topic
    brokers: dict[str, Broker] = field(default_factory=dict)  # brokers of these routes by name
    broker_names: dict[str, str] = field(default_factory=dict)  # their names by address
    groups: defaultdict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    warnings: list[str] = field(default_factory=list)
    # where each group is first spoken of: the line of that output, in its file
    lines: dict[str, int] = field(default_factory=dict)

    def note(self, section: Section, what: str, offset: int = 0) -> None:
        """Warn of a line of an output."""
        self.warnings.append(section.note(what, offset))

    def add_connected(self, group: str, section: Section, connected: Connected) -> None:
        """Keep an output of consumerConnection: of each broker the longest."""
        seen, broker = self.groups[group], section.asked.broker or ""
        before = seen.connected.get(broker)
        if before is None or self._is_longer(
            section, seen, before.connections, connected.connections, group
        ):
            seen.connected[broker] = connected

    def add_listed(self, group: str, section: Section, listed: list[ClientConnection]) -> None:
        """Keep the clients of an output of consumerStatus: the most."""
        seen = self.groups[group]
        if not seen.listed or self._is_longer(section, seen, seen.listed, listed, group):
            seen.listed = listed

    def _is_longer(
        self,
        section: Section,
        seen: Seen,
        before: list[ClientConnection],
        now: list[ClientConnection],
        group: str,
    ) -> bool:
        if before != now and seen.in_part != _DIFFER:
            command = section.asked.command or "consumerConnection"
            lost = {one.client_id for one in (before if len(before) < len(now) else now)}
            lost -= {one.client_id for one in (now if len(before) < len(now) else before)}
            without = f", without {named([printable(one) for one in sorted(lost)])}" if lost else ""
            self.note(
                section, f"{command} of group {group!r} is given twice; the longer is kept{without}"
            )
            seen.in_part = _DIFFER
        return len(before) < len(now)

    def snapshot(self, source: str) -> Snapshot:
        """Return the snapshot of it; what could not be read whole is added to the warnings."""
        self._end_listed_names()
        groups = tuple(self._group(name, seen) for name, seen in self.groups.items())
        topics = (*self.topics.values(), *self._guessed_topics(groups))
        return Snapshot(
            topics, groups, source=source, brokers=tuple(self.brokers.values()), unknown=_OTHERS
        )

    def _end_listed_names(self) -> None:
        """Complete names that the list of all groups cut, where only one group of other outputs
        begins so.
        """
        ordered = sorted(self.groups)
        for name in [
            one for one, seen in self.groups.items() if seen.counted and seen.counted.is_cut
        ]:
            at = bisect_right(ordered, name)
            begun = [one for one in ordered[at : at + 2] if one.startswith(name)]
            if len(begun) == 1:
                self.groups[begun[0]].counted = self.groups.pop(name).counted
            else:
                self.warnings.append(
                    f"group {printable(name)} has a name as long as its column: it is probably cut"
                )

    def _progress(self, name: str, seen: Seen) -> Consumed | None:
        known = {*self.topics, *seen.subscriptions, RETRY_PREFIX + name}
        return put_together(
            [self._uncut(name, known, one) for one in seen.progress], seen.subscriptions
        )

    def _uncut(self, group: str, known: set[str], progress: Progress) -> Progress:
        """Return names that are as long as their column get their ends back, where only one known
        name begins so.
        """
        topics = {lag.queue.topic for lag in progress.lags}
        brokers = {lag.queue.broker_name for lag in progress.lags}
        if all(len(one) < progress.topic_width for one in topics) and all(
            len(one) < progress.broker_width for one in brokers
        ):
            return progress
        known_brokers = {
            broker.broker_name for topic in self.topics.values() for broker in topic.brokers
        }
        names = self._whole(group, "topic", topics, progress.topic_width, known)
        names |= self._whole(group, "broker", brokers, progress.broker_width, known_brokers)

        def whole(queue: MessageQueue) -> MessageQueue:
            topic, broker = (
                names.get(("topic", queue.topic)),
                names.get(("broker", queue.broker_name)),
            )
            return MessageQueue(topic or queue.topic, broker or queue.broker_name, queue.queue_id)

        lags = (
            [replace(lag, queue=whole(lag.queue)) for lag in progress.lags]
            if names
            else progress.lags
        )
        return progress._replace(
            lags=lags, owners={whole(queue): ip for queue, ip in progress.owners.items()}
        )

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
        progress = self._progress(name, seen)
        lags = tuple(progress.lags) if progress else ()
        topics = seen.subscriptions.union(
            queue.topic for queues in seen.owned.values() for queue in queues
        )
        if not topics:
            topics = {lag.queue.topic for lag in lags}
        view, is_placed = self._view(name, seen, progress, topics)
        tps = (
            progress.consume_tps
            if progress
            else (seen.counted and seen.counted.consume_tps) or None
        )
        group = members.group(name, view, seen.infos, self.topics if is_placed else {}, lags, tps)
        group = replace(group, unknown={**group.unknown, **_unknown(seen, progress)})
        if group.is_shared:
            all_topics = {lag.queue.topic for lag in group.lags}
            retry = {topic for topic in all_topics if is_retry_topic_of(topic, name, all_topics)}
            group = replace(group, subscriptions=tuple(sorted(retry.union(group.subscriptions))))
        if seen.owned:
            owned = (
                replace(one, owned=tuple(seen.owned.get(one.client_id, ())))
                for one in group.clients
            )
            return replace(group, clients=tuple(owned))
        if progress and progress.owners and not seen.infos:
            return replace(group, clients=self._owning(name, group.clients, progress))
        return group

    def _view(
        self, name: str, seen: Seen, progress: Consumed | None, topics: set[str]
    ) -> tuple[dict[str, Connections], bool]:
        """Return the group as brokers list it, by their names, and whether the routes show which
        brokers these are.
        """
        if not seen.connected:
            model = (seen.counted and seen.counted.message_model) or "CLUSTERING"
            return {"": _listed(self._connections(name, seen, progress), topics, model)}, True
        lists = self._by_broker_name(name, seen)
        found = {
            broker: _listed(one.connections, topics, one.message_model or "CLUSTERING")
            for broker, one in lists.items()
        }
        return found, lists.keys() <= set(self.broker_names.values())

    def _by_broker_name(self, name: str, seen: Seen) -> dict[str, Connected]:
        """Return lists of a group's clients by the names of brokers; one of a broker that is not
        known goes after all that are.
        """
        found: dict[str, Connected] = {}
        for address, connected in seen.connected.items():
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
        if len(found) > 1 and (rest := found.pop("", None)):
            listed = {one.client_id for known in found.values() for one in known.connections}
            if lost := sorted({one.client_id for one in rest.connections} - listed):
                seen.in_part = _DIFFER
                self.warnings.append(
                    f"group {printable(name)}: {named(list(map(printable, lost)))} stands only in a consumerConnection "
                    "without -b and is left out"
                )
        return found

    def _connections(
        self, name: str, seen: Seen, progress: Consumed | None
    ) -> list[ClientConnection]:
        """Return clients of a group whose consumerConnection is not given, from what else names
        them.
        """
        if seen.listed:
            return seen.listed
        if seen.answered:
            return list(seen.answered.values())
        if seen.owned:
            return [ClientConnection(client_id, None, None) for client_id in seen.owned]
        addresses = set(progress.owners.values()) if progress else set()
        return [ClientConnection(address, None, None) for address in addresses]

    def _owning(
        self, name: str, clients: tuple[Client, ...], progress: Consumed
    ) -> tuple[Client, ...]:
        """Return clients with the queues that consumerProgress shows at their addresses."""
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
            replace(one, owned=tuple(queues.get(one.host, ())) or none)
            if hosts[one.host] == 1
            else one
            for one in clients
        )

    def _guessed_topics(self, groups: tuple[Group, ...]) -> list[Topic]:
        """Return topics without a route, as far as their queues were named."""
        counts: dict[str, dict[str, int]] = {}
        for queue in _named_queues(groups):
            if queue.topic not in self.topics and queue.queue_id >= 0:
                brokers = counts.setdefault(queue.topic, {})
                brokers[queue.broker_name] = max(
                    brokers.get(queue.broker_name, 0), queue.queue_id + 1
                )
        guessed = {
            "routes": "no topicRoute is given; its read queues are counted by the highest queue id seen"
        }
        return [
            Topic(
                name,
                tuple(TopicBroker(broker, count) for broker, count in sorted(brokers.items())),
                guessed,
            )
            for name, brokers in counts.items()
        ]


def _listed(
    connections: Iterable[ClientConnection], topics: Iterable[str], model: str
) -> Connections:
    return Connections(
        tuple(sorted(connections, key=lambda one: one.client_id)), frozenset(topics), model
    )


def _unknown(seen: Seen, progress: Consumed | None) -> dict[str, str]:
    """Return what the outputs do not say of a group, and why."""
    found = {}
    if not seen.connected and not seen.listed:
        found["clients"] = "neither its consumerConnection nor its consumerStatus is given"
        if seen.answered:
            found["clients"] = "only those whose consumerStatus files are given are known"
        elif seen.owned:
            found["clients"] = "only those that own a queue are known"
        elif progress and progress.owners:
            found["clients"] = (
                "only addresses of those that own a queue are known, and two on one host look like one"
            )
        elif seen.counted and seen.counted.n_connections:
            found["clients"] = (
                f"consumerProgress says that it has {seen.counted.n_connections:,}, not which"
            )
        elif seen.counted:
            found["clients"] = (
                "consumerProgress lists it as OFFLINE: it has none, or could not be asked"
            )
    elif seen.in_part:
        found["clients"] = seen.in_part
    if not seen.connected and not seen.infos:
        known = "; its topics are those that it has offsets of" if progress else ""
        found["subscriptions"] = f"its consumerConnection is not given{known}"
    if progress and not progress.is_whole and not seen.infos:
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


# What several outputs of consumerProgress say of one group: of all its topics, or of one each
# (``-t``).


class Consumed(NamedTuple):
    """How far a group is."""

    lags: list[Lag]
    owners: dict[MessageQueue, str]  # address of one client that has the queue
    is_whole: (
        bool  # whether owners are given of all topics, and every queue, retry topics aside, has one
    )
    # topics that the group subscribes to and of which owners are not given though those of others
    # are
    missing: list[str]
    consume_tps: float | None


def put_together(given: Sequence[Progress], subscriptions: Collection[str]) -> Consumed | None:
    """Return all outputs of consumerProgress of one group, None without any."""
    if not given:
        return None
    lags: dict[MessageQueue, _Place] = {}
    owners: dict[MessageQueue, str] = {}
    repeated: list[Lag] = []
    for one in given:
        repeated += _add(one, lags)
        owners |= one.owners
    asked = {lag.queue.topic for one in given if one.owners for lag in one.lags}
    missing = (
        sorted(t for t in subscriptions if t not in asked and not t.startswith(RETRY_PREFIX))
        if owners
        else []
    )
    all_lags = [*(lag for lag, _, _ in lags.values()), *repeated]
    return Consumed(
        all_lags,
        owners,
        all(one.is_whole for one in given) and not missing,
        missing,
        _tps(given, len(lags)),
    )


_Place = tuple[Lag, Section, int]
"""A lag with its output, and how far down it stands there."""


def _add(one: Progress, lags: dict[MessageQueue, _Place]) -> list[Lag]:
    """Add the lags of one output; what one output itself repeats is returned, for names that are
    cut may look alike.
    """
    repeated = []
    for lag, offset in zip(one.lags, one.offsets, strict=True):
        there, section, line = lags.setdefault(lag.queue, (lag, one.section, offset))
        if section is one.section:
            repeated += [lag] if line != offset else []
        elif there != lag:
            raise one.section.error(
                f"queue {lag.queue.queue_id} of topic {lag.queue.topic!r} on broker {lag.queue.broker_name!r} has offsets "
                f"{_offsets(lag)} here and {_offsets(there)} at {section.place(line)}; give one of the two outputs",
                offset,
            )
    return repeated


def _offsets(lag: Lag) -> str:
    return f"{lag.broker_offset} (broker) and {lag.consumer_offset} (consumer)"


def _tps(given: Sequence[Progress], n_queues: int) -> float | None:
    """Return messages consumed per second: those of an output that has all queues, else the sum
    over outputs that share none.
    """
    sizes = [len({lag.queue for lag in one.lags}) for one in given]
    whole = next((one for one, size in zip(given, sizes, strict=True) if size == n_queues), None)
    if whole is not None:
        return whole.consume_tps
    return sum(one.consume_tps for one in given) if sum(sizes) == n_queues else None
