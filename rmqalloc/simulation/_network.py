"""The network between clients and brokers: connections, requests that take time or fail, and
notices on their way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from heapq import heappop, heappush
from typing import Protocol, TypeVar

from rmqalloc.broker import Broker
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import (
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    RemotingError,
    TopicRouteData,
)
from rmqalloc.simulation._reader import Reader
from rmqalloc.simulation._virtual_clock import VirtualClock

TIMEOUT = 3_000
OFFSET_TIMEOUT = 5_000
UNLOCK_TIMEOUT = 1_000
MAX_IDLE = 120_000
"""``serverChannelMaxIdleTimeSeconds`` of a broker, in milliseconds, unless it is configured otherwise."""

Answer = TypeVar("Answer")


class Host(Protocol):
    """A client at its end of the network; one that is woken already does not need another notice."""

    name: str
    is_woken: bool
    reader: Reader

    def notified(self, consumer_group: str) -> None:
        """Handle a notice that the members of a group changed."""

    def connected(self, address: str) -> None:
        """Handle a new broker connection."""


class NetworkConnection:
    """A connection of one client to one broker; a `rmqalloc.broker.Channel`.

    Attributes
    ----------
    is_open : bool
        Whether requests and notices still go through; the broker may not know yet that they do not.
    last_used : int
        When something last went over it, as the broker sees it (ms since the epoch).
    """

    __slots__ = ("_network", "broker", "host", "is_open", "last_used")

    def __init__(self, network: Network, host: Host, broker: Broker) -> None:
        self._network = network
        self.host = host
        self.broker = broker
        self.is_open = True
        self.last_used = network.clock.now()
        self.close_if_idle()

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Send a notice, one-way."""
        self._network.notify([self], consumer_group)

    def close(self) -> None:
        """Close the connection, from either side; the broker is notified by an event."""
        self.is_open = False
        self._network.later(partial(self.broker.consumers.channel_closed, self))

    def close_if_idle(self) -> None:
        """Let the broker close the connection once it is idle for too long; check again until then."""
        clock, max_idle = (
            self._network.clock,
            self._network.max_idle.get(self.broker.name, MAX_IDLE),
        )
        if not self.is_open or not max_idle:
            return
        rest = self.last_used + max_idle - clock.now()
        if rest > 0:
            clock.call_later(rest, self.close_if_idle)
        elif self.broker in self._network.brokers.values():
            self.is_open = False
            self.broker.consumers.channel_closed(self)


class Network:
    """Who can reach whom, how long it takes, and how much is sent.

    Attributes
    ----------
    brokers : dict of str to Broker
        Running brokers by address.
    partitions : set of (str, str)
        Names of clients and brokers that cannot reach each other; what is sent meanwhile is lost.
    requests : Counter of str
        Requests of clients by kind, answered or not.
    max_idle : dict of str to int
        Milliseconds after which a broker closes a connection that nothing goes over, by its name; 0
        for never.
    n_notices : int
        Notices of brokers.
    arrivals : list of int
        A heap of the times at which offsets arrive.
    notices : dict of NetworkConnection to str
        What brokers send at this moment. Notices that reach a client together wake it once, so they
        travel together.
    """

    def __init__(
        self, clock: VirtualClock, topic_route: Callable[[str], TopicRouteData], latency: int
    ) -> None:
        self.clock = clock
        self.topic_route = topic_route
        self.latency = latency
        self.brokers: dict[str, Broker] = {}
        self.partitions: set[tuple[str, str]] = set()
        self.requests: Counter[str] = Counter()
        self.max_idle: dict[str, int] = {}
        self.n_notices = 0
        self.notices: dict[NetworkConnection, str] = {}
        self.notices_sent = 0
        self._commits: dict[int, list[tuple[NetworkConnection, str, dict[MessageQueue, int]]]] = {}
        self.arrivals: list[int] = []

    def later(self, action: Callable[[], None]) -> None:
        """Let something that is sent now happen at the other end."""
        self.clock.call_later(self.latency, action)

    def is_up(self, connection: NetworkConnection) -> bool:
        """Return True if something sent over the connection now arrives."""
        if self.partitions and (connection.host.name, connection.broker.name) in self.partitions:
            return False
        return connection.is_open

    def notify(self, connections: Collection[NetworkConnection], consumer_group: str) -> None:
        """Send one notice over many connections; all notices of one moment are one event on the
        clock.
        """
        self.n_notices += len(connections)
        now = self.clock.time
        for connection in connections:
            connection.last_used = now  # also if it is lost on its way: who sends it cannot know
        if connections and now != self.notices_sent:
            self.notices, self.notices_sent = {}, now
            self.later(partial(self._deliver, self.notices))
        self.notices.update(dict.fromkeys(connections, consumer_group))

    def _deliver(self, notices: dict[NetworkConnection, str]) -> None:
        self.notices_sent = (
            0  # what is sent from now on travels separately, even if it is the same moment
        )
        for connection, consumer_group in notices.items():
            # First what costs least: nearly all notices reach a client that another broker has
            # woken at this moment.
            if not connection.host.is_woken and self.is_up(connection):
                self.clock.begin_action()
                connection.host.notified(consumer_group)

    def send(
        self, connection: NetworkConnection, action: Callable[[NetworkConnection], None]
    ) -> None:
        """Send something that takes effect when it arrives at the broker; it is lost if the
        connection is cut before.
        """
        self.later(lambda: action(connection) if self.is_up(connection) else None)

    def commit(
        self, connection: NetworkConnection, consumer_group: str, offsets: dict[MessageQueue, int]
    ) -> None:
        """Send offsets that are stored when they arrive."""
        arrival = self.clock.time + self.latency
        arriving = self._commits.get(arrival)
        if arriving is None:
            arriving = self._commits[arrival] = []
            heappush(self.arrivals, arrival)
            self.later(partial(self.arrive, arrival))
        arriving.append((connection, consumer_group, offsets))

    def arrive(self, until: int) -> None:
        """Store the offsets that are due by then (ms since the epoch).

        Clients that act at one moment do so one after the other, but the offset that one of them
        asks for while it acts is the one that another has stored by then. For locks it is not so: a
        lock given up must not be had before that moment is over.
        """
        while self.arrivals and self.arrivals[0] <= until:
            for connection, consumer_group, offsets in self._commits.pop(heappop(self.arrivals)):
                if self.is_up(connection):
                    connection.broker.offsets.commit_offsets(consumer_group, offsets)


class ClientRemoting:
    """A client's requests; a `rmqalloc.rebalance.Remoting`.

    A request that waits for its answer takes effect at once and spends its time on the clock, so
    that the client's later steps are later; what is only sent takes effect when it arrives.
    """

    def __init__(self, network: Network, host: Host) -> None:
        self.connections: dict[str, NetworkConnection] = {}
        self._network = network
        self._host = host

    # --- How requests travel ---

    def _connection(self, address: str, timeout: int) -> NetworkConnection:
        """Return the connection to an address; open it where there is none."""
        network = self._network
        broker = network.brokers.get(address)
        if broker is None:
            network.clock.spend(2 * network.latency)
            raise RemotingError(f"{address} refuses the connection")
        if network.partitions and (self._host.name, broker.name) in network.partitions:
            network.clock.spend(timeout)
            raise RemotingError(f"{address} gave no answer within {timeout} ms")
        connection = self.connections.get(address)
        if connection is None or not connection.is_open:
            connection = self.connections[address] = NetworkConnection(network, self._host, broker)
            self._host.connected(address)
        connection.last_used = network.clock.time
        return connection

    def _ask(
        self, kind: str, address: str, timeout: int, question: Callable[[NetworkConnection], Answer]
    ) -> Answer:
        """Send a request and return its answer; both ways take time."""
        self._begin(kind)
        network, connection = self._network, self._connection(address, timeout)
        clock, there = network.clock, network.latency if network.latency < timeout else timeout
        clock.time += there
        try:
            answer = question(connection)
        finally:
            clock.time += there if there + there <= timeout else timeout - there
        if there + there > timeout:
            raise RemotingError(f"{address} gave no answer within {timeout} ms")
        return answer

    def _order(
        self, kind: str, address: str, timeout: int, action: Callable[[NetworkConnection], None]
    ) -> None:
        """Send a request whose answer says only that it arrived."""
        self._begin(kind)
        self._network.send(self._connection(address, timeout), action)
        self._network.clock.spend(min(2 * self._network.latency, timeout))

    def _open_connection(self, address: str) -> NetworkConnection:
        """Return the connection to an address, for a one-way request."""
        connection = self.connections.get(address)
        if connection is None or not connection.is_open:
            return self._connection(address, 0)
        if self._network.is_up(connection):  # what is cut off the broker never sees
            connection.last_used = self._network.clock.time
        return connection

    def _begin(self, kind: str) -> None:
        self._network.requests[kind] += 1
        reader = self._host.reader
        if reader.changed or self._network.clock.time > reader.first_loss:
            reader.look()

    # --- Requests ---

    def topic_route(self, topic: str) -> TopicRouteData:
        """Return the code 105."""
        self._network.requests["topic_route"] += 1
        self._network.clock.spend(2 * self._network.latency)
        return self._network.topic_route(topic)

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Return the code 34."""
        return self._ask("heartbeat", address, TIMEOUT, lambda c: c.broker.heartbeat(c, heartbeat))

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Code 35."""
        self._order(
            "unregister",
            address,
            TIMEOUT,
            lambda c: c.broker.unregister_client(c, client_id, consumer_group),
        )

    def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Return the code 38."""
        return self._ask(
            "consumer_ids",
            address,
            TIMEOUT,
            lambda c: c.broker.consumers.consumer_ids(consumer_group),
        )

    def lock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        timeout: int,
    ) -> set[MessageQueue]:
        """Return the code 41."""
        return self._ask(
            "lock",
            address,
            timeout,
            lambda c: c.broker.lock_batch(consumer_group, client_id, queues),
        )

    def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Code 42."""
        given_up = list(queues)

        def unlock(connection: NetworkConnection) -> None:
            connection.broker.unlock_batch(consumer_group, client_id, given_up)

        self._host.reader.wait_for_listeners(given_up)
        if oneway:
            self._begin("unlock")
            self._network.send(self._open_connection(address), unlock)
        else:
            self._order("unlock", address, UNLOCK_TIMEOUT, unlock)

    def query_assignment(
        self,
        address: str,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Return the code 400."""
        return self._ask(
            "query_assignment",
            address,
            TIMEOUT,
            lambda c: c.broker.query_assignment(
                topic, consumer_group, client_id, strategy_name, model
            ),
        )

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Return the code 14."""

        def ask(connection: NetworkConnection) -> int:
            network = self._network
            if network.arrivals:
                network.arrive(network.clock.time)
            return connection.broker.offsets.query_offset(consumer_group, queue)

        return self._ask("query_offset", address, OFFSET_TIMEOUT, ask)

    def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Code 15."""
        self._begin("update_offset")  # finds a lock that was lost, past which nothing was consumed
        offset = self._host.reader.offset_of(queue, offset)
        self._network.commit(self._open_connection(address), consumer_group, {queue: offset})

    def update_offsets(
        self, consumer_group: str, by_address: Mapping[str, Mapping[MessageQueue, int]]
    ) -> bool:
        """Return the code 15 for each of many queues; False, with nothing sent, unless all of it
        goes through without delay.
        """
        connections = {address: self.connections.get(address) for address in by_address}
        if not self._host.reader.has_seen_all() or not all(
            one and one.is_open for one in connections.values()
        ):
            return False
        network = self._network
        for address, offsets in by_address.items():
            network.requests["update_offset"] += len(offsets)
            connection = self._open_connection(address)
            network.commit(connection, consumer_group, self._host.reader.offsets_of(offsets))
        return True

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the code 30."""
        return self._ask("max_offset", address, TIMEOUT, lambda c: c.broker.store.max_offset(queue))

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Return the code 29."""
        return self._ask(
            "search_offset",
            address,
            TIMEOUT,
            lambda c: c.broker.store.search_offset(queue, timestamp),
        )
