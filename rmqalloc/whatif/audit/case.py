"""One consumer group as an audit sees it: for every topic, which clients take which queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from rmqalloc.evidence.fit import Fit
from rmqalloc.evidence.method import DEFAULT_STRATEGY, GO_OWN, SERVER_SIDE, Method, Rooms, full_name
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.model import Client, Group, Snapshot, Topic
from rmqalloc.snapshot.units import RETRY_PREFIX
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.strategies.by_name import NEARBY
from rmqalloc.whatif.audit.told import Told
from rmqalloc.whatif.audit.unit import Ids, Queues, Unit
from rmqalloc.whatif.audit.view import View, divide

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

    @property
    def repeated_ids(self) -> dict[str, int]:
        """Client ids that are listed more than once, and how often."""
        counts = Counter(client.client_id for client in self.clients)
        return {one: counts[one] for one in sort_client_ids(counts) if counts[one] > 1}

    def ids(self, slots: Iterable[int]) -> Ids:
        """Client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.clients[slot].client_id for slot in slots}))


def is_served(group: Group) -> bool:
    """Whether brokers assign the queues; ordered consumers and those that broadcast never let them."""
    return group.server_assignment is not None and not group.is_ordered and group.message_model == "CLUSTERING"


def subscribes(client: Client, topic: str) -> bool:
    """Whether a client subscribes to a topic, as far as it is known; to the retry topics all do."""
    return client.subscriptions is None or topic in client.subscriptions or topic.startswith(RETRY_PREFIX)


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
        lists = self._lists(group, topic)
        is_pop = case.is_served and group.server_assignment == "POP" and not topic.startswith(RETRY_PREFIX)
        options: list[tuple[View, ...]] = []
        for client, method in zip(case.clients, case.methods, strict=True):
            if not subscribes(client, topic):
                options.append(())
                continue
            if is_pop:
                method = replace(method, pop_share=group.pop_share_queue_num)
            seen = queues if case.is_served else self._seen(client, topic, queues)
            mine = []
            for ids in lists:
                key = (method, id(seen) if seen is queues else seen, ids)
                if key not in views:
                    views[key] = View(group.name, topic, method, seen, ids)
                mine.append(views[key])
            options.append(tuple(mine))
        return Unit(topic, queues, [client.client_id for client in case.clients], options, is_pop)

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

    def _lists(self, group: Group, topic: str) -> list[Ids]:
        """Client lists that a client may be given for a topic: by any broker of it that knows the group."""
        by_broker = group.broker_client_ids or {}
        route = self._routes.get(topic)
        asked = [b.broker_name for b in route.brokers if b.broker_name in by_broker] if route is not None else []
        lists = [by_broker[name] for name in asked or by_broker] or [tuple(group.client_ids)]
        return list(dict.fromkeys(tuple(sort_client_ids(ids)) for ids in lists))


def method_of(group: Group, client: Client) -> Method:
    """What a client divides by: its own strategy where it says so, else the group's."""
    name, params = full_name(group.strategy or DEFAULT_STRATEGY, dict(group.strategy_params))
    own = client.strategy
    if own is not None and own != name and not (own == NEARBY and name.startswith(f"{NEARBY}-")):
        name, params = own, {}
    if client.language == "GO" and name.startswith(NEARBY):
        name, params = "AVG", {}  # Go's AllocateByMachineNearby calls it
    if "CONSISTENT_HASH" in name and client.virtual_nodes is not None:
        params["virtual_nodes"] = client.virtual_nodes
    problem = None
    if is_served(group):
        params = {}
        if name not in SERVER_SIDE:
            problem = f"brokers do not know {name}; they divide by {' and '.join(SERVER_SIDE)} alone"
    elif client.language == "GO" and name in GO_OWN:
        problem = GO_OWN[name]
    elif name == "CONFIG":
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
