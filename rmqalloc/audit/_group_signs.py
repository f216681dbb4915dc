"""The signs of the groups of a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import NamedTuple

from rmqalloc.audit._owner_signs import ComputedOwners, computed_owners
from rmqalloc.audit._signs import NONE, OF_OWNERS, Sign
from rmqalloc.evidence.client_method import is_served, method_of
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.views.group_views import is_clustering
from rmqalloc.evidence.views.view_rows import differ
from rmqalloc.model import (
    LMQ_PREFIX,
    MAX_QUEUES,
    MAX_TEXT_BYTES,
    RETRY_PREFIX,
    check_queue_count,
)
from rmqalloc.snapshot.cut_names import MAX_TOPIC, cut_brokers
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, TopicBroker
from rmqalloc.snapshot.unknown import KINDS, Unknowns
from rmqalloc.strategies.by_name import class_of

_LIGHT = (RETRY_PREFIX, LMQ_PREFIX)
"""Topics that need not have a route."""

_ID = attrgetter("client_id")
_KIND = attrgetter("strategy", "virtual_nodes", "language", "version")

_NEEDED = [kind for kind in KINDS if kind != "lags"]
"""Kinds of facts that decide who owns what."""


def signs_of(
    snapshot: Snapshot,
    groups: Sequence[Group],
    planned: Collection[str] = (),
    with_owners: bool = True,
) -> GroupSigns:
    """Return the signs of some groups; ``with_owners`` computes the owners also where they can have
    no sign.
    """
    reading = _Reading(snapshot)
    signs = []
    for group in groups:
        signs.append(reading.of_group(group) | (Sign.PLAN if group.name in planned else NONE))
    plain = [at for at, found in enumerate(signs) if not found & OF_OWNERS]
    if not with_owners:
        plain = [at for at in plain if not reading.gives_all(groups[at], signs[at])]
    owners = computed_owners([groups[at] for at in plain], snapshot.topics)
    for at, found in zip(plain, owners.signs if owners is not None else (), strict=True):
        signs[at] |= found
    return GroupSigns(signs, owners)


class GroupSigns(NamedTuple):
    """Signs of groups, and the owners of those that may be ordinary, if any are computed."""

    signs: list[int]
    owners: ComputedOwners | None


class _Reading:
    """Goes through groups, and looks at each topic once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._routes = {topic.name: topic for topic in snapshot.topics}
        self._unknown = Unknowns(snapshot)
        has_facts = any(True for _ in self._unknown)
        self._lacks_something = self._unknown.anything is not None or has_facts
        is_odd = any(broker.role != "MASTER" or broker.is_silent for broker in snapshot.brokers)
        self._of_all = Sign.BROKERS if is_odd else NONE
        self._of_topic: dict[str, int] = {}
        self._of_brokers: dict[int, _BrokerSigns] = {}
        self._n_queues: dict[str, int] = {}  # of topics that were looked at
        self._most_queues = 0
        self._methods: dict[tuple[object, ...], _MethodSigns] = {}

    def of_group(self, group: Group) -> int:
        """Return the signs of a group, but for those of who owns what."""
        found, reporting = self._of_all, _reporting(group.clients)
        topics = {*group.subscriptions}.union(*[client.subscriptions or () for client in reporting])
        retry = RETRY_PREFIX + group.name
        if retry in self._routes and retry not in topics:
            found |= self._signs_of_topic(retry) | Sign.ROUTES
        for topic in topics:
            if topic not in self._of_topic:
                self._of_topic[topic] = self._signs_of_topic(topic)
            found |= self._of_topic[topic]
        if not is_clustering(group) or not group.clients:
            found |= Sign.VIEWS
        else:
            for topic in sorted(topics) if self._most_queues > MAX_QUEUES else ():
                check_queue_count(topic, self._n_queues.get(topic, 0))
            reads_more = len(topics) > len(set(group.subscriptions))
            found |= self._of_clients(group, reporting, reads_more)
        if self._lacks_something and any(self._unknown.why(kind, group.name) for kind in _NEEDED):
            found |= Sign.UNKNOWN
        if group.lags:
            found |= Sign.LAGS
        if group.strategy_doubt is not None:
            found |= Sign.DOUBT
        if group.paused_brokers:
            found |= Sign.PAUSED
        if group.lite_topic is not None:
            found |= Sign.VIEWS
        if group.filters or any(client.filters for client in reporting):
            found |= Sign.FILTERS
        return found

    def gives_all(self, group: Group, found: int) -> bool:
        """Return whether it is certain, without computing them, that every queue of an ordinary
        group has an owner and every client a queue.
        """
        ids, n_clients = "".join(map(_ID, group.clients)), len(group.clients)
        is_sure = ids.isascii() and len(ids) <= MAX_TEXT_BYTES  # no id that is refused
        if found & (Sign.OWNED | Sign.ROUTES) or not (is_sure and self._method(group).is_even):
            return False
        for name in group.subscriptions:
            if self._n_queues.get(name, 0) >= n_clients and not name.startswith(RETRY_PREFIX):
                return True
        return False

    def _of_clients(self, group: Group, reporting: Sequence[Client], reads_more: bool) -> int:
        """Return the signs of clients that divide the queues."""
        found, method = NONE, self._method(group)
        is_odd = (
            reads_more
            or differ(group)
            or group.server_assignment is not None
            or not all(map(_ID, group.clients))
        )
        if is_odd or not method.is_plain:
            found |= Sign.VIEWS
        if reporting and len(set(map(_KIND, group.clients))) > 1:
            found |= Sign.KINDS
        n_reporting = len([client for client in reporting if client.owned is not None])
        if n_reporting:
            found |= Sign.OWNED
            if n_reporting < len(group.clients) or group.strategy_explains != 1.0:
                found |= Sign.OWNERS
        if method.asks_for_rooms and not self._has_rooms(group):
            found |= Sign.ROOMS
        return found

    def _method(self, group: Group) -> _MethodSigns:
        """Return what matters of the strategy of a group; of most groups it is the same."""
        key = group.strategy, repr(group.strategy_params), is_served(group)
        if key not in self._methods:
            self._methods[key] = _signs_of_method(method_of(group, Client("")))
        return self._methods[key]

    def _has_rooms(self, group: Group) -> bool:
        """Return whether the room of every client and of every broker of the topics is known."""
        for name in group.subscriptions:
            brokers = self._routes[name].brokers if name in self._routes else ()
            if not all(broker.machine_room for broker in brokers):
                return False
        return all(client.machine_room for client in group.clients)

    def _signs_of_topic(self, name: str) -> int:
        route, found = self._routes.get(name), NONE
        if self._lacks_something and self._unknown.why("routes", name):
            found |= Sign.UNKNOWN
        if route is None:
            return (
                found if name.startswith(_LIGHT) and len(name) < MAX_TOPIC else found | Sign.ROUTES
            )
        key = id(route.brokers)  # that many topics share
        if key not in self._of_brokers:
            self._of_brokers[key] = made = _signs_of_brokers(route.brokers)
            self._most_queues = max(made.n_queues, self._most_queues)
        signs, self._n_queues[name] = self._of_brokers[key]
        return found | signs | (Sign.ROUTES if len(name) == MAX_TOPIC else NONE)


def _reporting(clients: Sequence[Client]) -> Sequence[Client]:
    """Return the clients that report something: of a file most report nothing."""
    return [
        client
        for client in clients
        if (client.strategy, client.virtual_nodes, client.language) != (None, None, None)
        or (client.version, client.subscriptions, client.owned) != (None, None, None)
        or client.filters is not None
    ]


class _BrokerSigns(NamedTuple):
    """Signs of the brokers of a topic, and how many queues consumers see there if they may read."""

    signs: int
    n_queues: int


def _signs_of_brokers(brokers: Sequence[TopicBroker]) -> _BrokerSigns:
    found = NONE
    if len({broker.broker_name for broker in brokers}) < len(brokers):
        found |= Sign.VIEWS
    is_read = any(broker.is_readable and broker.read_queue_nums for broker in brokers)
    if not is_read or cut_brokers(brokers) or not all(map(_is_whole, brokers)):
        found |= Sign.ROUTES
    return _BrokerSigns(found, sum(broker.read_queue_nums for broker in brokers))


def _is_whole(broker: TopicBroker) -> bool:
    """Return whether all queues of a topic on a broker are read and written."""
    return broker.is_readable and broker.n_written_queues == broker.read_queue_nums >= 0


class _MethodSigns(NamedTuple):
    """What a client divides by that reports nothing."""

    is_plain: bool  # whether rows of units hold all of it, and every queue gets one owner by it
    is_even: bool  # whether every queue gets an owner, and of enough queues every client one
    asks_for_rooms: bool


def _signs_of_method(method: Method) -> _MethodSigns:
    simple = all(isinstance(value, bool | int | float | str) for value in method.params.values())
    return _MethodSigns(
        is_plain=simple and method.problem is None and not method.is_config,
        is_even=not method.params and class_of(method.name).decided_by == "counts",
        asks_for_rooms=method.asks_for_rooms,
    )
