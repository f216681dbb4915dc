"""A consumer group under audit: its clients, what each divides by, and for every topic which clients take which queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rmqalloc._lazy import lazy_property
from rmqalloc.audit._audited_view import AuditedView, divide
from rmqalloc.audit._reported import ReportedOwners
from rmqalloc.audit._unit import Ids, Queues, Unit
from rmqalloc.evidence._fit import Fit
from rmqalloc.evidence._method import DEFAULT_STRATEGY, Method, Rooms
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot._snapshot import Client, Group, Snapshot, Topic
from rmqalloc.snapshot._units import RETRY_PREFIX
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.strategies._by_name import class_of, full_name, outer_name, server_side

MAX_QUEUES = 1_000_000
"""Most queues of one topic: a damaged file must not exhaust the memory."""

_NO_CONFIG = "the lists of CONFIG are not in the snapshot"


@dataclass(eq=False)
class AuditedGroup:
    """A group with its units and the routes of the snapshot.

    Attributes
    ----------
    group : Group
    routes : mapping of name to Topic
    clients : list of Client
        The group's clients, then those that only some brokers list; a position in this list is a slot.
    methods : list of Method
        Strategy of every slot.
    topics : list of str
        Subscriptions of the group and of all its clients.
    units : list of Unit
        One per topic with queues; none if the group has no clients or they do not divide the queues.
    snapshot : Snapshot
    fit : Fit or None
        What explains the reported owners, if these are not the expected ones.
    planned : mapping of MessageQueue to client id, or None
        Owners by a plan to compare with, None for nobody.
    unanswered : collection of str
        Requests that failed while the snapshot was taken.
    lists : dict of tuple of str to list of tuple of str
        Distinct client lists of sets of brokers, filled on demand.
    """

    group: Group
    routes: Mapping[str, Topic]
    clients: list[Client]
    methods: list[Method]
    topics: list[str]
    units: list[Unit]
    snapshot: Snapshot
    fit: Fit | None = None
    planned: Mapping[MessageQueue, str | None] | None = None
    unanswered: Collection[str] = ()
    lists: dict[tuple[str, ...], list[Ids]] = field(default_factory=dict, repr=False)

    @lazy_property
    def reported(self) -> ReportedOwners:
        """What the clients report that they own."""
        return ReportedOwners(self.clients, self.units)

    @property
    def strategy(self) -> str:
        """The group's strategy, RocketMQ's default if it is not known."""
        return self.group.strategy or DEFAULT_STRATEGY

    @property
    def is_clustering(self) -> bool:
        """Whether clients divide the queues: they do not if they broadcast or share the messages of queues."""
        return self.group.message_model == "CLUSTERING" and not self.group.is_shared

    @property
    def is_served(self) -> bool:
        """Whether brokers assign the queues."""
        return is_served(self.group)

    @lazy_property
    def _messages(self) -> dict[MessageQueue, int]:
        return {lag.queue: lag.messages for lag in self.group.lags}

    def waiting(self, queues: Iterable[MessageQueue]) -> int | None:
        """Unconsumed messages of some queues, None if that is not known."""
        known = [self._messages[queue] for queue in queues if queue in self._messages]
        return sum(known) if known else None

    @lazy_property
    def repeated_ids(self) -> dict[str, int]:
        """Client ids that are listed more than once, and how often."""
        counts = Counter(client.client_id for client in self.clients)
        return {one: counts[one] for one in sort_client_ids(counts) if counts[one] > 1}

    @lazy_property
    def has_empty_id(self) -> bool:
        """Whether a client has no id."""
        return not all(self.client_ids)

    @lazy_property
    def backlog(self) -> dict[str, dict[MessageQueue, int]]:
        """Unconsumed messages by topic and queue; brokers do not know the offsets of a group that broadcasts."""
        found: dict[str, dict[MessageQueue, int]] = {}
        for lag in self.group.lags if self.group.message_model == "CLUSTERING" else ():
            found.setdefault(lag.queue.topic, {})[lag.queue] = lag.messages
        return found

    @lazy_property
    def client_ids(self) -> list[str]:
        """Client ids by slot."""
        return [client.client_id for client in self.clients]

    @lazy_property
    def _by_topic(self) -> tuple[list[int], dict[str, list[int]]]:
        """Slots whose subscriptions are not known, and the slots that subscribe to each topic."""
        anything: list[int] = []
        subscribed: dict[str, list[int]] = {}
        for slot, client in enumerate(self.clients):
            if client.subscriptions is None:
                anything.append(slot)
            for topic in dict.fromkeys(client.subscriptions or ()):
                subscribed.setdefault(topic, []).append(slot)
        return anything, subscribed

    def subscribers(self, topic: str) -> Sequence[int]:
        """Slots that subscribe to a topic or may do so, ascending; all subscribe to retry topics."""
        if topic.startswith(RETRY_PREFIX):
            return range(len(self.clients))
        anything, subscribed = self._by_topic
        return sorted([*anything, *subscribed.get(topic, ())])

    @lazy_property
    def _lists_of_all(self) -> dict[int, bool]:
        return {}

    def names_all(self, client_ids: Ids) -> bool:
        """Whether a client list has exactly the ids of all clients; computed once per list."""
        known = self._lists_of_all
        if id(client_ids) not in known:
            known[id(client_ids)] = set(client_ids) == set(self.client_ids)
        return known[id(client_ids)]

    def ids(self, slots: Iterable[int]) -> Ids:
        """Client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.clients[slot].client_id for slot in slots}))


def is_served(group: Group) -> bool:
    """Whether brokers assign the queues; they never do for ordered consumers and those that broadcast."""
    return group.server_assignment is not None and not group.is_ordered and group.message_model == "CLUSTERING"


def audited_groups(snapshot: Snapshot, wanted: Callable[[Group], bool]) -> list[AuditedGroup]:
    """The wanted groups by name, with the shares of all their views computed."""
    reader = _Reader(snapshot)
    audited_list = [
        reader.audited(group) for group in sorted(snapshot.groups, key=lambda group: group.name) if wanted(group)
    ]
    divide((view for audited in audited_list for unit in audited.units for view in unit.views), Rooms.of(snapshot))
    return audited_list


class _Reader:
    """Makes audited groups; what several groups share is made once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._routes = {topic.name: topic for topic in snapshot.topics}
        self._queues: dict[str, Queues] = {}
        self._not_told = {error.request for error in snapshot.errors}

    def audited(self, group: Group) -> AuditedGroup:
        """One group; the shares of its views are not computed yet."""
        listed = Counter(group.client_ids)
        clients = list(group.clients)
        for ids in (group.broker_client_ids or {}).values():
            more = Counter(ids) - listed
            clients += [Client(one) for one in sorted(more.elements())]
            listed |= Counter(ids)
        subscribed = {topic for client in clients for topic in client.subscriptions or ()}
        methods = self._methods(group, clients)
        audited = AuditedGroup(
            group, self._routes, clients, methods, sorted({*group.subscriptions, *subscribed}), [], self._snapshot
        )
        audited.unanswered = self._not_told
        if audited.is_clustering and clients:
            audited.units.extend(filter(None, map(partial(self._unit, audited), audited.topics)))
        return audited

    def _methods(self, group: Group, clients: list[Client]) -> list[Method]:
        """Strategy of every client; equal ones are one object."""
        made: dict[tuple[object, ...], Method] = {}
        found = []
        for client in clients:
            key = (client.strategy, client.virtual_nodes, client.language == "GO")
            if key not in made:
                made[key] = method_of(group, client)
            found.append(made[key])
        return found

    def _unit(self, audited: AuditedGroup, topic: str) -> Unit | None:
        queues = self._queues_of(topic)
        if not queues:
            return None
        group, views = audited.group, dict[tuple[object, ...], AuditedView]()
        lists = self._lists(audited, topic)
        is_pop = audited.is_served and group.server_assignment == "POP" and not topic.startswith(RETRY_PREFIX)
        options: dict[int, tuple[AuditedView, ...]] = {}
        for slot in audited.subscribers(topic):
            client, method = audited.clients[slot], audited.methods[slot]
            if is_pop:
                method = replace(method, pop_share=group.pop_share_queue_num)
            seen = queues if audited.is_served else self._seen(client, topic, queues)
            mine = []
            for number, ids in enumerate(lists):
                key = (method, id(seen) if seen is queues else seen, number)
                if key not in views:
                    views[key] = AuditedView(group.name, topic, method, seen, ids)
                mine.append(views[key])
            options[slot] = tuple(mine)
        return Unit(topic, queues, audited.client_ids, options, is_pop)

    def _queues_of(self, topic: str) -> Queues:
        """Queues that consumers see, in Java's order."""
        if topic not in self._queues:
            route = self._routes.get(topic)
            self._queues[topic] = tuple(sort_queues(_few(route))) if route is not None else ()
        return self._queues[topic]

    def _seen(self, client: Client, topic: str, queues: Queues) -> Queues:
        """Queues that one client sees."""
        seen = None if client.sees_read_queue_nums is None else client.sees_read_queue_nums.get(topic)
        if seen is None:
            return queues
        check_queue_count(topic, sum(seen.values()))
        found = tuple(sort_queues(MessageQueue(topic, name, i) for name, n in seen.items() for i in range(n)))
        return queues if found == queues else found

    def _lists(self, audited: AuditedGroup, topic: str) -> list[Ids]:
        """Client lists that brokers of a topic may give to a client: one per broker that knows the group, if they differ."""
        by_broker = audited.group.broker_client_ids or {}
        route = self._routes.get(topic)
        asked = [b.broker_name for b in route.brokers if b.broker_name in by_broker] if route is not None else []
        names = tuple(asked or by_broker)
        if names not in audited.lists:  # sorted once for all topics
            lists = [by_broker[name] for name in names] or [tuple(audited.group.client_ids)]
            audited.lists[names] = list(dict.fromkeys(tuple(sort_client_ids(ids)) for ids in lists))
        return audited.lists[names]


def method_of(group: Group, client: Client) -> Method:
    """The strategy of a client: the one that it reports, else the group's."""
    name, params = full_name(group.strategy or DEFAULT_STRATEGY, dict(group.strategy_params))
    own = client.strategy
    if own is not None and own not in (name, outer_name(name)):
        name, params = own, {}
    if client.language == "GO" and (computed := class_of(name).go_computes):
        name, params = computed, {}
    if client.virtual_nodes is not None and Method(name).virtual_nodes is not None:
        params["virtual_nodes"] = client.virtual_nodes
    problem = None
    if is_served(group):
        params = {}
        if not class_of(name).is_server_side:
            problem = f"brokers do not know {name}; they divide by {' and '.join(server_side())} alone"
    elif client.language == "GO" and (in_go := Method(name).in_go):
        problem = in_go
    elif Method(name).is_config:
        problem = _wrong_lists(params)
    return Method(name, params, problem=problem)


def _wrong_lists(params: Mapping[str, object]) -> str | None:
    """Why the lists of CONFIG cannot be read, if they cannot."""
    if not params.get("message_queues"):
        return _NO_CONFIG
    try:
        Method("CONFIG", params).listed()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def _few(topic: Topic) -> Iterator[MessageQueue]:
    check_queue_count(topic.name, sum(broker.read_queue_nums for broker in topic.brokers))
    return topic.queues()


def check_queue_count(topic: str, n: int) -> None:
    """Refuse a topic with more queues than `MAX_QUEUES`."""
    if n > MAX_QUEUES:
        raise ValueError(f"topic {topic!r} has {n:,} queues; at most {MAX_QUEUES:,} can be checked")
