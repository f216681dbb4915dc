"""One consumer group as an audit sees it: for every topic, which clients take which queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rmqalloc.audit.client_view import View, divide
from rmqalloc.audit.reported import Told
from rmqalloc.audit.unit import Ids, Queues, Unit
from rmqalloc.evidence.fit import Fit
from rmqalloc.evidence.method import DEFAULT_STRATEGY, Method, Rooms
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic
from rmqalloc.snapshot.units import RETRY_PREFIX
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.strategies.by_name import class_of, full_name, outer_name, server_side

MAX_QUEUES = 1_000_000
"""Queues of one topic at most: a damaged file must not ask for all the memory there is."""

_NO_CONFIG = "the lists of CONFIG are not in the snapshot"


@dataclass(eq=False)
class Case:
    """A group with its units and the routes of the snapshot.

    Attributes
    ----------
    group : Group
    routes : mapping of name to Topic
    clients : list of Client
        Slots: the group's clients, and those that only single brokers list.
    methods : list of Method
        What every slot divides by.
    topics : list of str
        What the group or any client of it subscribes to.
    units : list of Unit
        Topics with queues; none of a group that has no clients or whose clients do not divide the queues.
    snapshot : Snapshot
    fit : Fit or None
        What explains the actual owners, where these are not the expected ones.
    planned : mapping of MessageQueue to client id, or None
        What a plan comes to, where there is one to compare with; the client id is None for nobody.
    not_told : collection of str
        Requests that the snapshot could not be told the answer to.
    lists : dict of tuple of str to list of tuple of str
        Client lists that some brokers give, as far as they have been needed.
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
    not_told: Collection[str] = ()
    lists: dict[tuple[str, ...], list[Ids]] = field(default_factory=dict, repr=False)

    @lazy_property
    def told(self) -> Told:
        """What the clients say they own."""
        return Told(self.clients, self.units)

    @property
    def strategy(self) -> str:
        """The group's strategy, RocketMQ's default where nothing tells."""
        return self.group.strategy or DEFAULT_STRATEGY

    @property
    def is_clustering(self) -> bool:
        """Whether clients divide the queues; neither those that broadcast do, nor those that share the messages of a queue."""
        return self.group.message_model == "CLUSTERING" and not self.group.is_shared

    @property
    def is_served(self) -> bool:
        """Whether brokers assign the queues."""
        return is_served(self.group)

    @lazy_property
    def _messages(self) -> dict[MessageQueue, int]:
        return {lag.queue: lag.messages for lag in self.group.lags}

    def waiting(self, queues: Iterable[MessageQueue]) -> int | None:
        """Messages of some queues that are not consumed yet, None where that is not known."""
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
        """Messages that wait, by topic and queue; a group that broadcasts keeps its offsets where no broker sees them."""
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
        """Slots that may subscribe to anything, and those that say they subscribe to a topic."""
        anything: list[int] = []
        told: dict[str, list[int]] = {}
        for slot, client in enumerate(self.clients):
            if client.subscriptions is None:
                anything.append(slot)
            for topic in dict.fromkeys(client.subscriptions or ()):
                told.setdefault(topic, []).append(slot)
        return anything, told

    def subscribers(self, topic: str) -> Sequence[int]:
        """Slots that subscribe to a topic, ascending, as far as it is known; to the retry topics all do."""
        if topic.startswith(RETRY_PREFIX):
            return range(len(self.clients))
        anything, told = self._by_topic
        return sorted([*anything, *told.get(topic, ())])

    @lazy_property
    def _lists_of_all(self) -> dict[int, bool]:
        return {}

    def names_all(self, client_ids: Ids) -> bool:
        """Whether a client list of a view names the ids of all clients and no other; units that share it ask once."""
        known = self._lists_of_all
        if id(client_ids) not in known:
            known[id(client_ids)] = set(client_ids) == set(self.client_ids)
        return known[id(client_ids)]

    def ids(self, slots: Iterable[int]) -> Ids:
        """Client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.clients[slot].client_id for slot in slots}))


def is_served(group: Group) -> bool:
    """Whether brokers assign the queues; ordered consumers and those that broadcast never let them."""
    return group.server_assignment is not None and not group.is_ordered and group.message_model == "CLUSTERING"


def cases_of(snapshot: Snapshot, wanted: Callable[[Group], bool]) -> list[Case]:
    """The wanted groups by name, with everything that they make of their queues computed."""
    reader = _Reader(snapshot)
    cases = [reader.case(group) for group in sorted(snapshot.groups, key=lambda group: group.name) if wanted(group)]
    divide((view for case in cases for unit in case.units for view in unit.views), Rooms.of(snapshot))
    return cases


class _Reader:
    """Makes cases; what many groups share is made once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._routes = {topic.name: topic for topic in snapshot.topics}
        self._queues: dict[str, Queues] = {}
        self._not_told = {error.request for error in snapshot.errors}

    def case(self, group: Group) -> Case:
        """One group; its views are not divided yet."""
        listed = Counter(group.client_ids)
        clients = list(group.clients)
        for ids in (group.broker_client_ids or {}).values():
            more = Counter(ids) - listed
            clients += [Client(one) for one in sorted(more.elements())]
            listed |= Counter(ids)
        subscribed = {topic for client in clients for topic in client.subscriptions or ()}
        methods = self._methods(group, clients)
        case = Case(
            group, self._routes, clients, methods, sorted({*group.subscriptions, *subscribed}), [], self._snapshot
        )
        case.not_told = self._not_told
        if case.is_clustering and clients:
            case.units.extend(filter(None, map(partial(self._unit, case), case.topics)))
        return case

    def _methods(self, group: Group, clients: list[Client]) -> list[Method]:
        """What every client divides by; those that say the same of themselves share it."""
        made: dict[tuple[object, ...], Method] = {}
        found = []
        for client in clients:
            key = (client.strategy, client.virtual_nodes, client.language == "GO")
            if key not in made:
                made[key] = method_of(group, client)
            found.append(made[key])
        return found

    def _unit(self, case: Case, topic: str) -> Unit | None:
        queues = self._queues_of(topic)
        if not queues:
            return None
        group, views = case.group, dict[tuple[object, ...], View]()
        lists = self._lists(case, topic)
        is_pop = case.is_served and group.server_assignment == "POP" and not topic.startswith(RETRY_PREFIX)
        options: dict[int, tuple[View, ...]] = {}
        for slot in case.subscribers(topic):
            client, method = case.clients[slot], case.methods[slot]
            if is_pop:
                method = replace(method, pop_share=group.pop_share_queue_num)
            seen = queues if case.is_served else self._seen(client, topic, queues)
            mine = []
            for number, ids in enumerate(lists):
                key = (method, id(seen) if seen is queues else seen, number)
                if key not in views:
                    views[key] = View(group.name, topic, method, seen, ids)
                mine.append(views[key])
            options[slot] = tuple(mine)
        return Unit(topic, queues, case.client_ids, options, is_pop)

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
        check_size(topic, sum(seen.values()))
        found = tuple(sort_queues(MessageQueue(topic, name, i) for name, n in seen.items() for i in range(n)))
        return queues if found == queues else found

    def _lists(self, case: Case, topic: str) -> list[Ids]:
        """Client lists that a client may be given for a topic: by any broker of it that knows the group."""
        by_broker = case.group.broker_client_ids or {}
        route = self._routes.get(topic)
        asked = [b.broker_name for b in route.brokers if b.broker_name in by_broker] if route is not None else []
        names = tuple(asked or by_broker)
        if names not in case.lists:  # sorted once for all topics
            lists = [by_broker[name] for name in names] or [tuple(case.group.client_ids)]
            case.lists[names] = list(dict.fromkeys(tuple(sort_client_ids(ids)) for ids in lists))
        return case.lists[names]


def method_of(group: Group, client: Client) -> Method:
    """What a client divides by: its own strategy where it says so, else the group's."""
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
    """Why the lists of CONFIG cannot be read."""
    if not params.get("message_queues"):
        return _NO_CONFIG
    try:
        Method("CONFIG", params).listed()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def _few(topic: Topic) -> Iterator[MessageQueue]:
    check_size(topic.name, sum(broker.read_queue_nums for broker in topic.brokers))
    return topic.queues()


def check_size(topic: str, n: int) -> None:
    """Refuse a topic with more queues than `MAX_QUEUES`."""
    if n > MAX_QUEUES:
        raise ValueError(f"topic {topic!r} has {n:,} queues; at most {MAX_QUEUES:,} can be checked")
