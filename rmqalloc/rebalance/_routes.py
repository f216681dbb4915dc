"""Where topics and brokers are, as one client knows it, and which queues a consumer sees in a
route.
"""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from random import Random

from rmqalloc.model import LOGICAL_BROKER_PREFIX, MessageQueue
from rmqalloc.remoting import BrokerData, TopicRouteData
from rmqalloc.remoting.bodies import (
    GLOBAL_SCOPE,
    MASTER_ID,
    NO_PHYSICAL_BROKER,
)


def subscribe_view(topic: str, route: TopicRouteData) -> frozenset[MessageQueue]:
    """Return the queues that a consumer divides: queues of readable brokers, or the logical queues of
    a static topic.

    Write queues, write permission, a missing master and the order configuration have no effect.

    Notes
    -----
    ``MQClientInstance.topicRouteData2TopicSubscribeInfo``.

    Examples
    --------
    >>> from rmqalloc.remoting import QueueData
    >>> route = TopicRouteData((QueueData("broker-a", 2, 8), QueueData("broker-b", 4, 4, perm=2)))
    >>> sorted(queue.queue_id for queue in subscribe_view("orders", route))
    [0, 1]
    """
    if route.topic_queue_mapping:
        return frozenset(static_endpoints(topic, route))
    return frozenset(route.readable_queues(topic))


def static_endpoints(topic: str, route: TopicRouteData) -> dict[MessageQueue, str]:
    """Return the physical broker of every logical queue of a static topic; nothing for normal
    topics.

    Ids without a broker are included, on ``__syslo__none__``. Of two brokers with one queue, the
    broker with the newer epoch counts.

    Notes
    -----
    ``ClientMetadata.topicRouteData2EndpointsForStaticTopic``.
    """
    totals: dict[str, int] = {}
    holders: dict[MessageQueue, str] = {}
    for info in sorted(route.topic_queue_mapping.values(), key=attrgetter("epoch")):
        if info.scope is None:
            continue
        broker = logical_broker_name(info.scope)
        totals[broker] = max(totals.get(broker, 0), info.total_queues)
        for queue_id in info.current_id_map:
            holders[MessageQueue(topic, broker, queue_id)] = info.broker_name
    endpoints = {}
    for broker, total in totals.items():
        for queue_id in range(total):
            queue = MessageQueue(topic, broker, queue_id)
            endpoints[queue] = holders.get(queue, NO_PHYSICAL_BROKER)
    return endpoints


def logical_broker_name(scope: str) -> str:
    """Return the broker name of the logical queues of a scope.

    Examples
    --------
    >>> logical_broker_name("__global__"), logical_broker_name("region")
    ('__syslo__global__', '__syslo__region')
    """
    return LOGICAL_BROKER_PREFIX + (GLOBAL_SCOPE[2:] if scope == GLOBAL_SCOPE else scope)


class RouteViews:
    """Views of routes, each created once for all clients that share this object.

    Examples
    --------
    >>> from rmqalloc.remoting import QueueData
    >>> views = RouteViews()
    >>> one, other = (views.view("t", TopicRouteData((QueueData("broker-a", 2, 2),))) for _ in range(2))
    >>> one is other
    True
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[TopicRouteData, frozenset[MessageQueue]]] = {}

    def view(self, topic: str, route: TopicRouteData) -> frozenset[MessageQueue]:
        """Return `subscribe_view` of a route, or its last answer for an equal route."""
        last = self._last.get(topic)
        if last is None or (last[0] is not route and last[0] != route):
            last = self._last[topic] = (route, subscribe_view(topic, route))
        return last[1]


class RouteTable:
    """Routes of topics and addresses of brokers of one client.

    Attributes
    ----------
    broker_addresses : dict of str to mapping of int to str
        Addresses of each broker name by broker id, from the last changed route that names the
        broker.

    Notes
    -----
    The route-related tables of ``org.apache.rocketmq.client.impl.factory.MQClientInstance``.
    """

    def __init__(self, random: Random) -> None:
        self.broker_addresses: dict[str, Mapping[int, str]] = {}
        self._random = random
        self._routes: dict[str, TopicRouteData] = {}
        self._n_asked = 0
        self._heard: dict[str, int] = {}
        self._endpoints: dict[str, dict[MessageQueue, str]] = {}

    def begin(self) -> int:
        """Return a number for a route request that begins now, for `is_overtaken`."""
        self._n_asked += 1
        return self._n_asked

    def is_overtaken(self, topic: str, number: int) -> bool:
        """Return True if the answer to a later request for the same route has arrived before, so that
        this answer is old.
        """
        overtaken = number < self._heard.get(topic, 0)
        if not overtaken:
            self._heard[topic] = number
        return overtaken

    def has_changed(self, topic: str, route: TopicRouteData) -> bool:
        """Return True if a route differs from the stored route, apart from the order of its entries."""
        old = self._routes.get(topic)
        return old is None or (old is not route and _ordered(old) != _ordered(route))

    def put(self, topic: str, route: TopicRouteData) -> None:
        """Store a route and its addresses."""
        for broker in route.broker_datas:
            self.broker_addresses[broker.broker_name] = broker.addresses
        endpoints = static_endpoints(topic, route)
        if endpoints:
            self._endpoints[topic] = endpoints
        self._routes[topic] = route

    def forget_offline_brokers(self) -> None:
        """Drop the addresses that are no longer in any route."""
        named: set[str] = set()
        for route in self._routes.values():
            for broker in route.broker_datas:
                named.update(broker.addresses.values())
        for name, addresses in list(self.broker_addresses.items()):
            kept = {number: address for number, address in addresses.items() if address in named}
            if kept:
                self.broker_addresses[name] = kept
            else:
                del self.broker_addresses[name]

    def addresses(self) -> Iterator[str]:
        """Yield every address of every broker, masters and slaves; brokers added meanwhile are
        included, as in Java.
        """
        for name in list(self.broker_addresses):
            yield from list(self.broker_addresses.get(name, {}).values())

    def broker_of(self, queue: MessageQueue) -> str | None:
        """Return the physical broker of a queue; None for a logical queue outside its topic."""
        endpoints = self._endpoints.get(queue.topic)
        return endpoints.get(queue) if endpoints else queue.broker_name

    def master_of(self, broker_name: str | None) -> str | None:
        """Return the address of a broker's master, None if none is known."""
        servers = None if broker_name is None else self.broker_addresses.get(broker_name)
        return servers.get(MASTER_ID) if servers else None

    def any_of(self, broker_name: str | None) -> str | None:
        """Return the address of a broker's master or else of its server with the lowest id, None if
        none is known.
        """
        servers = None if broker_name is None else self.broker_addresses.get(broker_name)
        return servers[min(servers)] if servers else None

    def random_address(self, topic: str) -> str | None:
        """Return the address of a random broker of a topic: its master, or a random server of a
        broker without one.
        """
        route = self._routes.get(topic)
        if route is None or not route.broker_datas:
            return None
        broker = self._random.choice(route.broker_datas)
        master = broker.master
        if master is not None or not broker.addresses:
            return master
        return self._random.choice(list(broker.addresses.values()))


def _ordered(route: TopicRouteData) -> tuple[object, ...]:
    """Return the parts of a route with their entries in one order."""
    brokers: list[BrokerData] = sorted(route.broker_datas, key=attrgetter("broker_name"))
    return (
        sorted(route.queue_datas, key=attrgetter("broker_name")),
        brokers,
        route.topic_queue_mapping,
    )
