"""Several outputs of mqadmin about one cluster, put together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results.and_more import first_of
from rmqalloc.snapshot.files.outputs._consumed import Consumed, put_together
from rmqalloc.snapshot.files.outputs._contradictions import (
    CountedClients,
    NamedClients,
    SeenClients,
    Statements,
    owner_contradictions,
    seen_clients,
)
from rmqalloc.snapshot.files.outputs._group_names import is_retry_topic_of
from rmqalloc.snapshot.files.outputs._mqadmin_tables import (
    Connected,
    Listed,
    ListedGroup,
    Progress,
)
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.live._answers import ClientConnection, Connections, RunningInfo
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Group,
    Lag,
    ReadSource,
    Snapshot,
    Topic,
    TopicBroker,
)
from rmqalloc.text import counted, printable

_OTHERS = {
    "subscriptions": "only groups whose outputs are given are known",
    "routes": "only topics whose topicRoute is given are known",
}
"""Parts of a cluster that outputs of mqadmin never list whole, by reason."""

_SHOWS_SEVERAL = ("getConsumerStatus",)
"""Commands that show each owner of a queue."""

_MOST_VALUES = 5
"""Contradictions of one kind that are named at most."""


class CountedQueues(NamedTuple):
    """How many queues a client divided of a topic."""

    n: int
    place: str
    brokers: Mapping[str, int]  # of lines that count as many: highest queue id + 1


class LoggedGroup(NamedTuple):
    """A group as logs of its clients leave it.

    Attributes
    ----------
    infos : mapping of client id to RunningInfo
    connections : mapping of client id to ClientConnection
    places : mapping of client id to str
        Where each client is named last.
    topics : set of str
        Those that logs name.
    counts : list of CountedClients
        How many clients each client saw last.
    unknown : mapping of str to str
        What of ``clients``, ``subscriptions`` and ``owners`` is not known, and why.
    file, line : str, int
        Where the group is named first.
    """

    infos: Mapping[str, RunningInfo]
    connections: Mapping[str, ClientConnection]
    places: Mapping[str, str]
    topics: set[str]
    counts: Sequence[CountedClients]
    unknown: Mapping[str, str]
    file: str
    line: int


@dataclass(slots=True)
class GroupOutputs:
    """Outputs about one group."""

    # outputs of consumerConnection by the address of the broker that was asked, which is empty
    # where that is not known
    connected: defaultdict[str, list[Connected]] = field(default_factory=lambda: defaultdict(list))
    listed: list[ClientConnection] = field(default_factory=list)  # those of consumerStatus
    n_unanswered: int = 0  # clients that did not answer consumerStatus, which has no row of them
    progress: list[Progress] = field(default_factory=list)
    counted: ListedGroup | None = None  # its row in the list of all groups
    infos: dict[str, RunningInfo] = field(default_factory=dict)
    answered: dict[str, ClientConnection] = field(default_factory=dict)
    owned: dict[str, list[MessageQueue]] = field(default_factory=dict)
    lists: list[NamedClients] = field(default_factory=list)  # outputs that name all clients
    mentions: list[NamedClients] = field(default_factory=list)  # those that name some
    counts: list[CountedClients] = field(default_factory=list)
    statements: Statements = field(default_factory=Statements)
    unknown: dict[str, str] = field(default_factory=dict)  # what is known in part, and why
    logged: LoggedGroup | None = None  # what logs of its clients leave
    only_logged: set[str] = field(default_factory=set)  # clients that nothing else reports on

    @property
    def subscriptions(self) -> set[str]:
        """Topics that the group subscribes to, from lists and from clients; where no client reports
        what a list has, those of the clients.
        """
        topics: set[str] = set()
        for connected in self.all_connected if self.unreported is None else ():
            topics.update(connected.subscriptions)
        for info in self.infos.values():
            topics.update(info.subscriptions)
        return topics | (self.logged.topics if self.logged else set())

    @property
    def reported(self) -> dict[str, RunningInfo]:
        """What clients report themselves, not by their logs."""
        infos = self.infos.items()
        return {name: info for name, info in infos if name not in self.only_logged}

    @property
    def all_connected(self) -> list[Connected]:
        """Outputs of consumerConnection of all brokers."""
        return list(chain.from_iterable(self.connected.values()))

    @property
    def unreported(self) -> Connected | None:
        """A list whose topics no client reports, though every client reports topics; the broker keeps
        the topics of the last client that sent a heartbeat.
        """
        ids = _ids(chain.from_iterable(listed.connections for listed in self.all_connected))
        if not ids or not ids <= self.reported.keys():
            return None
        reported = [_divided(info.subscriptions) for info in self.reported.values()]
        for listed in self.all_connected:
            if _divided(listed.subscriptions) not in reported:
                return listed
        return None


@dataclass(slots=True)
class Gathered:
    """Everything from all outputs."""

    topics: dict[str, Topic] = field(default_factory=dict)  # routes by topic
    places: dict[str, str] = field(default_factory=dict)  # where these routes stand
    brokers: dict[str, Broker] = field(default_factory=dict)  # brokers of these routes by name
    broker_names: dict[str, str] = field(default_factory=dict)  # their names by address
    groups: defaultdict[str, GroupOutputs] = field(
        default_factory=lambda: defaultdict(GroupOutputs)
    )
    sources: list[ReadSource] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first: dict[str, Section] = field(default_factory=dict)  # by group: its first output
    # by topic: how many queues clients say in their logs that they divided
    counted_queues: Mapping[str, Sequence[CountedQueues]] = field(default_factory=dict)

    def note(self, section: Section, what: str, offset: int = 0) -> None:
        """Warn of a line of an output."""
        self.warnings.append(section.note(what, offset))

    def add_connected(self, group: str, section: Section, connected: Connected) -> None:
        """Keep an output of consumerConnection."""
        outputs, source = self.groups[group], f"consumerConnection ({section.place()})"
        outputs.connected[section.asked.broker or ""].append(connected)
        outputs.statements.add("message model", source, connected.message_model)
        _add_versions(outputs, source, connected.connections)
        if not connected.connections:
            self.known_in_part(group, "clients", f"{source} has no row of clients")
        if not connected.subscriptions:
            self.known_in_part(group, "subscriptions", f"{source} has no row of topics")
        if connected.missing_clients:
            self.known_in_part(
                group, "clients", f"{source} has no row {connected.missing_clients[0]}"
            )
        if connected.missing_topics:
            why = f"{source} has no row {connected.missing_topics[0]} of topics"
            self.known_in_part(group, "subscriptions", why)

    def known_in_part(self, group: str, kind: str, why: str) -> None:
        """Keep why a fact of a group is known in part, and warn of it."""
        self.groups[group].unknown.setdefault(kind, why)
        self.warnings.append(f"{why}; {kind} of group {printable(group)} are known in part")

    def add_listed(self, group: str, section: Section, listed: Listed) -> None:
        """Keep the clients of an output of consumerStatus."""
        outputs, source = self.groups[group], f"consumerStatus ({section.place()})"
        ids = tuple(client.client_id for client in listed.connections)
        # Clients that do not answer have no row.
        found = outputs.mentions if listed.n_unanswered else outputs.lists
        found.append(NamedClients("consumerStatus", section.place(), ids))
        outputs.n_unanswered = max(outputs.n_unanswered, listed.n_unanswered)
        _add_versions(outputs, source, listed.connections)
        if listed.missing:
            self.known_in_part(group, "clients", f"{source} has no row {listed.missing[0]}")
        if len(outputs.listed) < len(listed.connections):
            outputs.listed = listed.connections

    def add_info(
        self, group: str, section: Section, info: RunningInfo, client: ClientConnection
    ) -> None:
        """Keep what a client reports of itself."""
        outputs, source = self.groups[group], f"running info ({section.place()})"
        outputs.infos[client.client_id] = info
        outputs.answered[client.client_id] = client
        outputs.mentions.append(NamedClients("running info", section.place(), (client.client_id,)))
        _add_versions(outputs, source, [client])

    def add_logged(self, group: str, logged: LoggedGroup) -> None:
        """Keep a group as logs of its clients leave it; what a client reports itself comes first."""
        outputs = self.groups[group]
        outputs.logged = logged
        outputs.counts += logged.counts
        for client_id, info in logged.infos.items():
            if client_id not in outputs.infos:
                outputs.infos[client_id] = info
                outputs.only_logged.add(client_id)
        for client_id, connection in logged.connections.items():
            place = logged.places[client_id]
            outputs.answered.setdefault(client_id, connection)
            outputs.mentions.append(NamedClients("a log", place, (client_id,)))
            _add_versions(outputs, f"a log ({place})", [connection])
        for kind in ("clients", "owners"):
            if kind in logged.unknown:
                outputs.unknown.setdefault(kind, logged.unknown[kind])

    def snapshot(self, source: str) -> Snapshot:
        """Return the snapshot; warnings of incomplete outputs are added."""
        self._end_listed_names()
        groups = tuple(self._group(name, outputs) for name, outputs in self.groups.items())
        self._warn_of_unread_topics(groups)
        topics = (*self.topics.values(), *self._guessed_topics(groups))
        return Snapshot(
            topics,
            groups,
            source=source,
            brokers=tuple(self.brokers.values()),
            unknown=_OTHERS,
            sources=tuple(self.sources),
        )

    def _warn_of_unread_topics(self, groups: Sequence[Group]) -> None:
        """Warn of routes of topics to which none of the groups subscribes."""
        subscribed = set(chain.from_iterable(group.all_subscriptions for group in groups))
        for name in sorted(self.topics.keys() - subscribed) if groups else ():
            self.warnings.append(
                f"topicRoute ({self.places[name]}): no group whose outputs are given subscribes to topic {printable(name)}"
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
        routes = [self.topics[topic] for topic in outputs.subscriptions if topic in self.topics]
        queues = [queue for topic in routes for queue in topic.queues()]
        return put_together(uncut, outputs.subscriptions, queues)

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
            topics = progress.shown_topics if progress else set()
        view = self._view(outputs, progress, topics, name)
        is_placed = not outputs.connected or view.keys() <= set(self.broker_names.values())
        tps = None
        if progress:
            tps = progress.consume_tps
        elif outputs.counted:
            tps = outputs.counted.consume_tps or None
        routes = self.topics if is_placed else {}
        group = members.group(name, view, outputs.infos, routes, lags=lags, consume_tps=tps)
        if outputs.only_logged:
            clients = tuple(_as_logged(client, outputs.only_logged) for client in group.clients)
            group = replace(group, clients=clients)
        if group.is_shared:
            all_topics = {lag.queue.topic for lag in group.lags}
            retry = {topic for topic in all_topics if is_retry_topic_of(topic, name, all_topics)}
            group = replace(group, subscriptions=tuple(sorted(retry.union(group.subscriptions))))
        self._warn_of_values(name, outputs)
        if progress and outputs.connected:
            self._warn_of_topics(group, outputs, progress)
        unknown = {**group.unknown, **_unknown(outputs, group, progress)}
        group = replace(group, unknown=unknown)
        if outputs.owned:
            owning = []
            for client in group.clients:
                owned = tuple(outputs.owned.get(client.client_id, ()))
                owning.append(replace(client, owned=owned))
            return replace(group, clients=tuple(owning))
        return self._with_owners(group, progress) if progress and progress.owners else group

    def _warn_of_topics(self, group: Group, outputs: GroupOutputs, progress: Consumed) -> None:
        """Warn of topics of consumerProgress to which the group does not subscribe."""
        source = f"{progress.command} ({{}})"
        for topic, place in progress.topics.items():
            if topic in group.subscriptions or topic.startswith(RETRY_PREFIX):
                continue
            if topic in {queue.topic for queue in progress.owners}:
                why = f"{source.format(place)} shows owners of topic {printable(topic)}, consumerConnection does not list it"
                self.known_in_part(group.name, "subscriptions", why)
            else:
                self.warnings.append(
                    f"{source.format(place)} has offsets of topic {printable(topic)}, to which group "
                    f"{printable(group.name)} does not subscribe by its consumerConnection"
                )

    def _warn_of_values(self, name: str, outputs: GroupOutputs) -> None:
        """Warn of values that outputs have differently."""
        if (listed := outputs.unreported) is not None:
            why = f"consumerConnection ({listed.place}) has topics that no client reports"
            self.known_in_part(name, "subscriptions", why)
            outputs.unknown.setdefault("owners", why)  # for these topics are of another moment
        for words in outputs.statements.contradictions():
            self.warnings.append(f"group {printable(name)}: outputs contradict each other: {words}")

    def _view(
        self, outputs: GroupOutputs, progress: Consumed | None, topics: set[str], name: str
    ) -> dict[str, Connections]:
        """Return the group as brokers list it, by their names, with clients that only another
        output names.
        """
        by_broker = self._by_broker_name(name, outputs)
        seen = self._seen(name, outputs, by_broker, progress)
        known = {client.client_id: client for client in outputs.listed} | outputs.answered
        more = [known.get(name, ClientConnection(name, None, None)) for name in seen.unlisted]
        if not outputs.connected:
            model = (outputs.counted and outputs.counted.message_model) or "CLUSTERING"
            return {"": _listed([*outputs.listed, *more], topics, model)}
        view = {}
        for broker, several in by_broker.items():
            model = several[0].message_model or "CLUSTERING"
            is_lite = any(connected.is_lite for connected in several)
            listed = _listed([*_all_connections(several), *more], topics, model)
            view[broker] = listed._replace(is_lite=is_lite)
        return view

    def _by_broker_name(self, name: str, outputs: GroupOutputs) -> dict[str, list[Connected]]:
        """Return lists of a group's clients by broker name; the list of an unknown broker counts
        only without others.
        """
        found: dict[str, list[Connected]] = {}
        for address, connected in outputs.connected.items():
            broker = self.broker_names.get(address)
            if broker is None and address:
                self.warnings.append(
                    f"group {printable(name)}: no topicRoute names the broker at {printable(address)}, so its list of clients "
                    "is kept under that address; give the topicRoute of its topics"
                )
            found.setdefault(broker or address, []).extend(connected)
        if len(found) > 1 and "" in found:
            outputs.mentions += _named_clients(found.pop(""))
        return found

    def _seen(
        self,
        name: str,
        outputs: GroupOutputs,
        by_broker: Mapping[str, list[Connected]],
        progress: Consumed | None,
    ) -> SeenClients:
        """Return clients that the lists do not have, once it is warned of what contradicts them."""
        contradictions: list[str] = []
        for several in by_broker.values():
            contradictions += seen_clients(_named_clients(several), ()).contradictions
        lists = []
        if by_broker:
            all_connected = list(chain.from_iterable(by_broker.values()))
            ids = [client.client_id for client in _all_connections(all_connected)]
            lists = [NamedClients("consumerConnection", all_connected[0].place, tuple(ids))]
        mentions = list(outputs.mentions)
        for queue, address in progress.owners.items() if progress else ():
            place = progress.places[queue] if progress else ""
            command = progress.command if progress else ""
            mentions.append(NamedClients(command, place, (address,)))
        mentions += [NamedClients("allocateMQ", "", (client_id,)) for client_id in outputs.owned]
        counts = list(outputs.counts)
        if outputs.counted and outputs.counted.n_connections:
            row = outputs.counted
            counts.append(CountedClients(row.n_connections, row.command, row.place))
        lengths = {len(listed.connections) for listed in chain.from_iterable(by_broker.values())}
        counts = [count for count in counts if count.n not in lengths]
        seen = seen_clients([*lists, *outputs.lists], mentions, counts)
        contradictions += seen.contradictions
        for words in contradictions[:_MOST_VALUES]:
            self.warnings.append(f"{words}: the clients of group {printable(name)} are not known")
        if contradictions:
            outputs.unknown["clients"] = contradictions[0]
        if lists:
            return seen
        listed = _ids(outputs.listed)
        return seen._replace(unlisted=tuple(name for name in seen.unlisted if name not in listed))

    def _with_owners(self, group: Group, progress: Consumed) -> Group:
        """Return a group whose clients have the queues that consumerProgress shows at their
        addresses or ids, unless they report them.
        """
        name, clients, command = group.name, group.clients, progress.command
        wrong = dict(owner_contradictions(progress.owners, progress.places, clients, command))
        for words in first_of(list(wrong.values()), _MOST_VALUES, "queue"):
            self.warnings.append(f"group {printable(name)}: {words}: its owners are not known")
        if wrong:
            why = next(iter(wrong.values()))
            clients = tuple(_without(client, wrong) for client in clients)
            group = replace(group, clients=clients, unknown={**group.unknown, "owners": why})
        if all(client.owned is not None for client in clients):
            return group
        names = Counter(name for client in clients for name in {client.client_id, client.host})
        queues: dict[str, list[MessageQueue]] = {}
        for queue, address in progress.owners.items():
            if queue not in wrong:
                queues.setdefault(address, []).append(queue)
        if command not in _SHOWS_SEVERAL:
            self.warnings.append(
                f"group {printable(name)}: owners are those of {command}, which shows one owner of a "
                "queue even if it has two; consumerStatus shows all owners"
            )
        shared = sorted(name for name, count in names.items() if count > 1 and name in queues)
        if shared:
            self.warnings.append(
                f"group {printable(name)}: several clients run at {', '.join(map(printable, shared[:3]))}; {command} "
                "does not show which of them owns a queue, so their queues are unknown; give their consumerStatus files"
            )
        # A client without a queue there may own one of which no client is shown.
        none = () if progress.is_whole and not wrong else None
        found = []
        for client in clients:
            if client.owned is None and not {client.client_id, client.host} & set(shared):
                own = [*queues.get(client.client_id, ()), *queues.get(client.host, ())]
                client = replace(client, owned=tuple(dict.fromkeys(own)) or none)
            found.append(client)
        return replace(group, clients=tuple(found))

    def _guessed_topics(self, groups: tuple[Group, ...]) -> list[Topic]:
        """Return topics without a route, with the queues that outputs name."""
        counts: dict[str, dict[str, int]] = {}
        for topic, broker, queue_id in _named_queues(groups):
            if topic not in self.topics and queue_id >= 0:
                brokers = counts.setdefault(topic, {})
                brokers[broker] = max(brokers.get(broker, 0), queue_id + 1)
        for topic, divided in self.counted_queues.items():
            if topic not in self.topics:
                brokers = counts.setdefault(topic, {})
                for broker, n in chain.from_iterable(count.brokers.items() for count in divided):
                    brokers[broker] = max(brokers.get(broker, 0), n)
        topics = []
        for topic, brokers in counts.items():
            entries = tuple(TopicBroker(broker, n) for broker, n in sorted(brokers.items()))
            why = _why_guessed(sum(brokers.values()), self.counted_queues.get(topic, ()))
            topics.append(Topic(topic, entries, {"routes": why} if why else {}))
        return topics


def _why_guessed(n_named: int, counts: Sequence[CountedQueues]) -> str | None:
    """Return why queues that outputs name may not be all of a topic; None if clients count as many."""
    by_id = "no topicRoute is given; its read queues are counted by the highest queue id seen"
    different = next((count for count in counts if count.n != n_named), None)
    if different is not None:
        return f"{by_id}: {n_named}, and a client divides {different.n} ({different.place})"
    return None if counts else by_id


def _as_logged(client: Client, only_logged: Collection[str]) -> Client:
    """Return a client without the topics of its log, which may not be all that it subscribes to."""
    return replace(client, subscriptions=None) if client.client_id in only_logged else client


def _add_versions(outputs: GroupOutputs, source: str, clients: Iterable[ClientConnection]) -> None:
    for client in clients:
        outputs.statements.add("version", source, client.version, client.client_id)
        outputs.statements.add("language", source, client.language, client.client_id)


def _without(client: Client, queues: Mapping[MessageQueue, str]) -> Client:
    """Return a client without queues of which it is not known whether it owns them."""
    if client.owned is None:
        return client
    return replace(client, owned=tuple(queue for queue in client.owned if queue not in queues))


def _divided(topics: Iterable[str]) -> set[str]:
    """Return topics without those of retries, which outputs need not list."""
    return {topic for topic in topics if not topic.startswith(RETRY_PREFIX)}


def _named_clients(several: Iterable[Connected]) -> list[NamedClients]:
    found = []
    for connected in several:
        ids = tuple(client.client_id for client in connected.connections)
        found.append(NamedClients("consumerConnection", connected.place, ids))
    return found


def _all_connections(several: Sequence[Connected]) -> list[ClientConnection]:
    """Return connections of several lists: those of the longest, and clients that it lacks."""
    longest = max(several, key=lambda connected: len(connected.connections))
    found = list(longest.connections)
    for connected in several:
        ids = _ids(found)
        found += [client for client in connected.connections if client.client_id not in ids]
    return found


def _ids(connections: Iterable[ClientConnection]) -> set[str]:
    return {client.client_id for client in connections}


def _listed(
    connections: Iterable[ClientConnection], topics: Iterable[str], model: str
) -> Connections:
    ordered = sorted(connections, key=attrgetter("client_id"))
    return Connections(tuple(ordered), frozenset(topics), model)


def _unknown(outputs: GroupOutputs, group: Group, progress: Consumed | None) -> dict[str, str]:
    """Return what is not known of a group from the outputs, and why."""
    found = {}
    if not outputs.connected and not outputs.lists:
        found["clients"] = _why_clients(outputs, progress)
    if not outputs.connected and not outputs.reported:
        known = "; its topics are those that it has offsets of" if progress else ""
        found["subscriptions"] = f"its consumerConnection is not given{known}"
        if outputs.logged:
            found["subscriptions"] = outputs.logged.unknown.get("subscriptions", "")
    if progress is not None:
        has_owners = not group.is_shared and group.server_assignment != "POP"
        reports = all(client.owned is not None for client in group.clients)
        if progress.why_owners and has_owners and not (reports and group.clients):
            found["owners"] = progress.why_owners
        if progress.why_lags:
            found["lags"] = progress.why_lags
    found |= outputs.unknown
    return {kind: why for kind, why in found.items() if why}


def _why_clients(outputs: GroupOutputs, progress: Consumed | None) -> str:
    """Return why the clients of a group are not known that no output lists."""
    row = outputs.counted
    if outputs.logged and not outputs.reported:
        return outputs.logged.unknown.get("clients", "")
    if outputs.answered:
        return "only those whose consumerStatus files are given are known"
    if outputs.n_unanswered:
        who = counted(outputs.n_unanswered, "client")
        return f"{who} did not answer consumerStatus, which does not name them"
    if outputs.owned:
        return "only those that own a queue are known"
    if progress and progress.owners and progress.shows_ids:
        return "only those that own a queue are known"
    if progress and progress.owners:
        return "only addresses of clients that own a queue are known, and two clients on one host look like one"
    if row and row.n_connections:
        return f"{row.command} gives only their number, {row.n_connections:,}"
    if row:
        return f"{row.command} lists it as {row.offline}: it owns none, or did not answer"
    return "neither its consumerConnection nor its consumerStatus is given"


def _named_queues(groups: tuple[Group, ...]) -> Iterable[MessageQueue]:
    for group in groups:
        lags: tuple[Lag, ...] = group.lags
        yield from (lag.queue for lag in lags)
        for client in group.clients:
            yield from client.owned or ()
