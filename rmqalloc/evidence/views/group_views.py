"""The clients of a consumer group, what each divides by, and the views that follow, topic by topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.client_method import is_served, method_of
from rmqalloc.evidence.method import DEFAULT_STRATEGY, Method
from rmqalloc.evidence.other_dialects import dialects_in
from rmqalloc.evidence.views.unit_views import Ids, Queues, Sharing, UnitViews
from rmqalloc.evidence.views.view import View
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, check_queue_count
from rmqalloc.snapshot.snapshot import Client, Group, Topic
from rmqalloc.strategies import sort_client_ids
from rmqalloc.strategies.dialects import DIALECTS, JAVA
from rmqalloc.strategies.ordering import QueuesInOrder


def is_clustering(group: Group) -> bool:
    """Return True if clients divide the queues of a group: they do not if they broadcast or share
    the messages of queues.
    """
    return group.message_model == "CLUSTERING" and not group.is_shared


@dataclass(eq=False)
class GroupViews:
    """A group with the views of its clients."""

    group: Group
    routes: Mapping[str, Topic]
    # The group's clients, then those that only some brokers list; a position in this list is a slot
    clients: list[Client]
    methods: list[Method]  # strategy of every slot
    dialects: list[str]  # dialect of every slot, see `View.dialect`.
    topics: list[str]  # subscriptions of the group and of all its clients
    queues_of: Callable[[str], Queues]  # queues of a topic that consumers see, in Java's order

    @property
    def strategy(self) -> str:
        """The group's strategy, RocketMQ's default if it is not known."""
        return self.group.strategy or DEFAULT_STRATEGY

    @property
    def is_clustering(self) -> bool:
        """Whether clients divide the queues: they do not if they broadcast or share the messages of
        queues.
        """
        return is_clustering(self.group)

    @property
    def is_served(self) -> bool:
        """Whether brokers assign the queues."""
        return is_served(self.group)

    @lazy_property
    def client_ids(self) -> list[str]:
        """Client ids by slot."""
        return [client.client_id for client in self.clients]

    @lazy_property
    def slots_of(self) -> dict[str, list[int]]:
        """Slots of every client id, ascending."""
        found: dict[str, list[int]] = {}
        for slot, client_id in enumerate(self.client_ids):
            found.setdefault(client_id, []).append(slot)
        return found

    @lazy_property
    def everyone(self) -> Ids:
        """Client ids in Java's order."""
        return tuple(sort_client_ids(self.client_ids))

    @lazy_property
    def whole(self) -> Group:
        """The group with all clients: one object for all its topics, so that its ids are read once."""
        return replace(self.group, clients=tuple(self.clients))

    @lazy_property
    def _listed(self) -> dict[Ids, tuple[Client, ...]]:
        return {}

    def clients_of(self, ids: Ids) -> tuple[Client, ...]:
        """Return the clients of a list of ids, the first client of each shared id; one object for
        all topics.
        """
        if ids not in self._listed:
            slots = {client_id: iter(mine) for client_id, mine in self.slots_of.items()}
            self._listed[ids] = tuple(self.clients[next(slots[client_id])] for client_id in ids)
        return self._listed[ids]

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
        """Return the slots that subscribe to a topic or may do so, ascending; all subscribe to
        retry topics.
        """
        if topic.startswith(RETRY_PREFIX):
            return range(len(self.clients))
        anything, subscribed = self._by_topic
        return sorted([*anything, *subscribed.get(topic, ())])

    @lazy_property
    def anything(self) -> frozenset[int]:
        """Slots whose subscriptions are not known."""
        return frozenset(self._by_topic[0])

    @lazy_property
    def _alike_of_all(self) -> list[list[int]]:
        return self._alike(range(len(self.clients)))

    @lazy_property
    def _alike_of_anything(self) -> list[list[int]]:
        return self._alike(self._by_topic[0])

    def alike(self, topic: str) -> list[list[int]]:
        """Return the subscribers of a topic in lists of those that see and divide alike, each list
        ascending.
        """
        if topic.startswith(RETRY_PREFIX):
            return self._alike_of_all
        return [*self._alike_of_anything, *self._alike(self._by_topic[1].get(topic, ()))]

    def _alike(self, slots: Iterable[int]) -> list[list[int]]:
        found: dict[object, list[int]] = {}
        for slot in slots:  # equal methods are one object; who has a route of its own is alone
            has_own = self.clients[slot].sees_read_queue_nums is not None
            kind = slot if has_own else (id(self.methods[slot]), self.dialects[slot])
            found.setdefault(kind, []).append(slot)
        return list(found.values())

    @lazy_property
    def _lists(self) -> dict[tuple[str, ...], list[Ids]]:
        return {}

    def client_lists(self, topic: str) -> list[Ids]:
        """Return the distinct client lists that brokers of a topic may give to a client."""
        by_broker = self.group.broker_client_ids or {}
        brokers = self.routes[topic].brokers if topic in self.routes else ()
        of_topic = [broker.broker_name for broker in brokers if broker.broker_name in by_broker]
        names = tuple(of_topic or by_broker)
        if names not in self._lists:  # sorted once for all topics
            lists = [by_broker[name] for name in names] or [tuple(self.group.client_ids)]
            self._lists[names] = list(dict.fromkeys(tuple(sort_client_ids(ids)) for ids in lists))
        return self._lists[names]


class ViewReader:
    """Reads the views of groups from a snapshot; what several groups share is made once."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._routes = {topic.name: topic for topic in topics}
        self._queues: dict[str, Queues] = {}

    def views_of(self, group: Group, apart: Mapping[str, str] | None = None) -> GroupViews:
        """Read the clients of a group and their strategies.

        Clients of several dialects that divide alike have one view, unless ``apart`` distinguishes
        the dialects: see `DialectDifferences.among`.
        """
        listed = Counter(group.client_ids)
        clients = list(group.clients)
        for ids in (group.broker_client_ids or {}).values():
            more = Counter(ids) - listed
            clients += [Client(client_id) for client_id in sorted(more.elements())]
            listed |= Counter(ids)
        topics = sorted(group.all_subscriptions)
        apart = dict.fromkeys((JAVA, *DIALECTS), JAVA) if apart is None else apart
        dialects = [apart[dialect] for dialect in dialects_in(group, clients)]
        return GroupViews(
            group=group,
            routes=self._routes,
            clients=clients,
            methods=_methods(group, clients),
            dialects=dialects,
            topics=topics,
            queues_of=self.queues_of,
        )

    def units_of(self, found: GroupViews) -> list[UnitViews]:
        """Read the views of a group for each of its topics that has queues."""
        return list(filter(None, (self.unit_of(found, topic) for topic in found.topics)))

    def unit_of(self, found: GroupViews, topic: str) -> UnitViews | None:
        """Read the views of a group for one topic; None for a topic without queues."""
        queues = self.queues_of(topic)
        if not queues:
            return None
        group, views = found.group, dict[tuple[object, ...], View]()
        lists = found.client_lists(topic)
        is_retry = topic.startswith(RETRY_PREFIX)
        is_pop = found.is_served and group.server_assignment == "POP" and not is_retry
        options: list[Sharing] = []
        for slots in sorted(found.alike(topic)):
            first = slots[0]
            client, method, dialect = (
                found.clients[first],
                found.methods[first],
                found.dialects[first],
            )
            if is_pop:
                method = replace(method, pop_share=group.pop_share_queue_num)
            seen = queues if found.is_served else seen_queues(client, topic, queues)
            if method.is_config and seen:
                seen = queues  # its list is handed out whichever queues of the topic a client knows
            # A broker without queues may get some, so routes differ that show the same queues.
            stale = None if seen is queues else (client.sees_read_queue_nums or {}).get(topic)
            route = None if stale is None else tuple(sorted(stale.items()))
            views_of_slots = []
            for number, ids in enumerate(lists):
                key = (method, dialect, route, number)
                if key not in views:
                    views[key] = View(
                        group.name, topic, method, seen, ids, read_queue_nums=stale, dialect=dialect
                    )
                views_of_slots.append(views[key])
            options.append((tuple(views_of_slots), slots))
        is_unsure = "subscriptions" in group.unknown and not is_retry
        return UnitViews(
            topic=topic,
            queues=queues,
            client_ids=found.client_ids,
            slots_of=found.slots_of,
            options=options,
            is_pop=is_pop,
            unsure=found.anything if is_unsure else frozenset(),
        )

    def queues_of(self, topic: str) -> Queues:
        """Return the queues that consumers see, in Java's order."""
        if topic not in self._queues:
            if (route := self._routes.get(topic)) is not None:
                check_queue_count(topic, sum(broker.read_queue_nums for broker in route.brokers))
            self._queues[topic] = (
                () if route is None else QueuesInOrder(topic, _read_ids(route)).made
            )
        return self._queues[topic]


def _read_ids(route: Topic) -> dict[str, Sequence[int]]:
    """Return the ids of the queues that consumers see, by broker; a broker that is listed twice has
    the ids of both entries.
    """
    found: dict[str, Sequence[int]] = {}
    for broker in route.brokers:
        if broker.is_readable:
            name, ids = broker.broker_name, range(broker.read_queue_nums)
            found[name] = sorted([*found[name], *ids]) if name in found else ids
    return found


def _methods(group: Group, clients: Sequence[Client]) -> list[Method]:
    """Return the strategy of every client; equal ones are one object."""
    kinds = [(client.strategy, client.virtual_nodes, client.language) for client in clients]
    client_of_kind = dict(zip(kinds, clients, strict=True))
    methods = {kind: method_of(group, client) for kind, client in client_of_kind.items()}
    return [methods[kind] for kind in kinds]


def seen_queues(client: Client, topic: str, queues: Queues) -> Queues:
    """Return the queues that one client sees."""
    seen = None if client.sees_read_queue_nums is None else client.sees_read_queue_nums.get(topic)
    if seen is None:
        return queues
    check_queue_count(topic, sum(seen.values()))
    found = QueuesInOrder(topic, {name: range(n) for name, n in seen.items()}).made
    return queues if found == queues else found
