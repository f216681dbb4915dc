"""One client of the cluster: the routes, heartbeats, offsets and passes that the consumer groups of a client id share."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from rmqalloc import timers
from rmqalloc.defects import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._heartbeats import Heartbeats
from rmqalloc.rebalance._ports import RebalancingConsumer, Remoting
from rmqalloc.rebalance._routes import RouteTable, RouteViews
from rmqalloc.rebalance._service import RebalanceService
from rmqalloc.rebalance._system_clock import FixedRate
from rmqalloc.rebalance.allocation import Allocate, sorted_allocate
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    ClientError,
    HeartbeatData,
    MessageModel,
    Profile,
    QueueAssignment,
    ResponseError,
)
from rmqalloc.remoting.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often a client does what, in milliseconds.

    Attributes
    ----------
    rebalance : int
        Passes that leave nothing undone (``rocketmq.client.rebalance.waitInterval``).
    route_poll : int
        Routes, first after 10 ms (``pollNameServerInterval``).
    heartbeat : int
        Heartbeats, first after 1 s (``heartbeatBrokerInterval``).
    persist : int
        Offsets, first after 10 s (``persistConsumerOffsetInterval``).
    lock : int
        Locks of ordered groups, first after 1 s (``rocketmq.client.rebalance.lockInterval``).
    """

    rebalance: int = timers.REBALANCE
    route_poll: int = timers.ROUTE_POLL
    heartbeat: int = timers.HEARTBEAT
    persist: int = 5_000
    lock: int = timers.LOCK_RENEWAL


class MQClientFactory:
    """What the consumers of one client id in one process share; made by `MQClientManager.get_or_create`.

    Parameters
    ----------
    client_id : str
        As brokers and strategies know it.
    manager : MQClientManager
        The process it lives in.

    Attributes
    ----------
    clock, profile, allocate, intervals
        Those of the manager.
    remoting : Remoting
        Its own way to name servers and brokers.
    routes : RouteTable
        What it knows of topics and brokers.
    consumers : dict of str to RebalancingConsumer
        Its consumer groups.
    has_ended : bool
        It was shut down, and takes no more timers.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.factory.MQClientInstance``, its consuming side.
    """

    def __init__(self, client_id: str, manager: MQClientManager) -> None:
        self.client_id = client_id
        self.clock = manager.clock
        self.profile = manager.profile
        self.allocate = manager.allocate
        self.intervals = manager.intervals
        self.consumers: dict[str, RebalancingConsumer] = {}
        self.routes = RouteTable(manager.random)
        self.remoting = manager.connect(self)
        self._manager = manager
        second_form = manager.heartbeat_v2 and self.profile.heartbeat_v2
        self._heartbeats = Heartbeats(self.remoting, self._heartbeat, self.routes.addresses, second_form)
        self._service = RebalanceService(self.clock, self.do_rebalance, self.profile, self.intervals.rebalance)
        self._timers: list[FixedRate] = []
        self._running = False
        self._killed = False
        self.has_ended = False

    # --- Life ---

    def register_consumer(self, consumer: RebalancingConsumer) -> bool:
        """Take a consumer; False if its group is here already."""
        return self.consumers.setdefault(consumer.consumer_group, consumer) is consumer

    def unregister_consumer(self, consumer_group: str) -> None:
        """Let a consumer go and unregister it at every known broker; one that cannot be reached finds out by itself."""
        self.consumers.pop(consumer_group, None)
        for address in self.routes.addresses():
            try:
                self.remoting.unregister_client(address, self.client_id, consumer_group)
            except Exception as error:  # whatever it is, the other brokers are asked too and the client ends
                refuse_defect(error)
                log.info("%s could not leave %s at %s: %s", self.client_id, consumer_group, address, error)

    def start(self) -> None:
        """Start timers and passes; nothing if they run already."""
        if self._running:
            return
        self._running = True
        self._every(10, self.intervals.route_poll, self.update_topic_routes)
        self._every(1_000, self.intervals.heartbeat, self._periodic_heartbeat)
        self._every(10_000, self.intervals.persist, self.persist_all_consumer_offset)
        self._service.start()

    def shutdown(self) -> None:
        """Stop timers and passes and leave the process, unless a consumer is still here."""
        if self.consumers or not self._running:
            return
        self._stop()
        self.has_ended = True
        self._manager.forget(self)

    def kill(self) -> None:
        """Stop everything at once without a word to anybody, as when the process dies."""
        self._killed = True
        for consumer in self.consumers.values():
            consumer.halt()
        self._stop()
        self._manager.forget(self)

    def call_later(self, delay: int, action: Callable[[], None]) -> None:
        """Call ``action`` once, unless the process has died by then; a shutdown does not prevent it."""
        self.clock.call_later(delay, lambda: None if self._killed else action())

    def _every(self, first: int, period: int, action: Callable[[], None]) -> None:
        self._timers.append(FixedRate(self.clock, first, period, action))

    def _stop(self) -> None:
        self._running = False
        for timer in self._timers:
            timer.cancel()
        self._service.shutdown()

    # --- Passes ---

    def do_rebalance(self) -> bool:
        """Run a pass of every consumer group; False if one left something undone, groups that failed aside."""
        balanced = True
        for consumer in list(self.consumers.values()):
            try:
                balanced = (consumer.try_rebalance() or not self.profile.returns_balanced) and balanced
            except Exception as error:
                refuse_defect(error)
                log.warning("pass of %s in %s failed", self.client_id, consumer.consumer_group, exc_info=True)
        return balanced

    def rebalance_immediately(self) -> None:
        """Wake the service of passes."""
        self._service.wakeup()

    def rebalance_later(self, delay: int) -> None:
        """Wake the service of passes ``delay`` milliseconds from now; at once if that is not above zero.

        Raises
        ------
        ClientError
            The client has ended; Java throws ``RejectedExecutionException``.
        """
        if delay <= 0:
            self._service.wakeup()
        elif self.has_ended:
            raise ClientError(f"the client {self.client_id} has ended; start another one for further passes")
        else:
            self.call_later(delay, self._service.wakeup)

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Handle a broker's notice that a group's clients changed (code 40): every group of this client gets a pass."""
        log.info("%s hears that clients of %s changed", self.client_id, consumer_group)
        self.rebalance_immediately()

    def channel_active(self, address: str) -> None:
        """Handle a new broker connection: send a heartbeat to it and, if that succeeds, ask for a pass; 5.x only."""
        if (
            self.profile.channel_events_rebalance
            and address in self.routes.addresses()
            and self._heartbeats.send_to(address)
        ):
            self.rebalance_immediately()

    # --- Heartbeats and offsets ---

    def send_heartbeat_to_all_brokers(self, rebalanced: bool = False) -> bool:
        """Send heartbeats to all brokers, see `Heartbeats.send_to_all`."""
        return self._heartbeats.send_to_all(rebalanced)

    def persist_all_consumer_offset(self) -> None:
        """Store the offsets of every group."""
        for consumer in list(self.consumers.values()):
            consumer.persist_consumer_offset()

    def _heartbeat(self) -> HeartbeatData:
        return HeartbeatData(self.client_id, tuple(consumer.consumer_data() for consumer in self.consumers.values()))

    def _periodic_heartbeat(self) -> None:
        self.routes.forget_offline_brokers()
        self.send_heartbeat_to_all_brokers()

    # --- Routes ---

    def update_topic_routes(self) -> None:
        """Ask for the route of every topic that a group subscribes to."""
        topics = dict.fromkeys(topic for consumer in self.consumers.values() for topic in consumer.subscribed_topics())
        for topic in topics:
            self.update_topic_route(topic)

    def update_topic_route(self, topic: str) -> bool:
        """Ask for a topic's route and, where it changed or a group still lacks it, hand its view to the groups.

        Returns
        -------
        bool
            Whether there was news. A topic that the name server does not know keeps what was known of it.

        Raises
        ------
        RemotingError
            The name server does not answer; Java throws ``IllegalStateException``.
        """
        try:
            route = self.remoting.topic_route(topic)
        except ResponseError as error:
            log.info("%s has no route to %s: %s", self.client_id, topic, error)
            return False
        if route.topic_queue_mapping and not self.profile.static_topics:
            route = replace(route, topic_queue_mapping={})
        consumers = self.consumers.values()
        if not self.routes.has_changed(topic, route) and not any(
            c.is_subscribe_topic_need_update(topic) for c in consumers
        ):
            return False
        self.routes.put(topic, route)
        if self.consumers:
            view = self._manager.views.view(topic, route)
            for consumer in consumers:
                consumer.update_topic_subscribe_info(topic, view)
        return True

    # --- Questions to brokers ---

    def find_consumer_id_list(self, topic: str, consumer_group: str) -> list[str] | None:
        """Return the clients of a group, as a random broker of the topic knows them; None without a broker or a good answer."""
        address = self._some_address(topic)
        if address is None:
            return None
        try:
            return self.remoting.consumer_ids(address, consumer_group)
        except Exception as error:
            refuse_defect(error)
            log.info("%s cannot give %s the clients of %s: %s", address, self.client_id, consumer_group, error)
            return None

    def query_assignment(
        self, topic: str, consumer_group: str, strategy_name: str, model: MessageModel
    ) -> list[QueueAssignment] | None:
        """Return what a random broker of the topic assigns to this client; None without a broker or if it says: keep yours.

        Raises
        ------
        RemotingError, ResponseError
            The broker does not answer, or refuses.
        """
        address = self._some_address(topic)
        if address is None:
            return None
        return self.remoting.query_assignment(address, topic, consumer_group, self.client_id, strategy_name, model)

    def max_offset(self, queue: MessageQueue) -> int:
        """Return the offset after a queue's last message; ClientError if its master is unknown or gives no good answer."""
        return self._ask_master(queue, lambda address: self.remoting.max_offset(address, queue))

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at a time (ms) or later; ClientError as in `max_offset`."""
        return self._ask_master(queue, lambda address: self.remoting.search_offset(address, queue, timestamp))

    def _ask_master(self, queue: MessageQueue, ask: Callable[[str], int]) -> int:
        address = self.routes.master_of(self.routes.broker_of(queue))
        if address is None:
            self.update_topic_route(queue.topic)
            address = self.routes.master_of(self.routes.broker_of(queue))
        if address is None:
            raise ClientError(
                f"the master of broker {queue.broker_name!r} is not known, so nobody can be asked about {queue}"
            )
        try:
            return ask(address)
        except Exception as error:
            refuse_defect(error)
            raise ClientError(f"broker {address} gave no offset of {queue}: {error}") from error

    def _some_address(self, topic: str) -> str | None:
        """Return the address of a random broker of a topic, after asking once for a route where there is none."""
        address = self.routes.random_address(topic)
        if address is None:
            self.update_topic_route(topic)
            address = self.routes.random_address(topic)
        return address


class MQClientManager:
    """A process with clients in it: what they share, and one factory per client id.

    Two processes that happen to have clients of one id need a manager each.

    Parameters
    ----------
    clock : Clock
        Time and timers of the process.
    connect : callable
        ``connect(factory)`` gives a new client its `Remoting`. Keep the factory to pass on notices
        (`MQClientFactory.notify_consumer_ids_changed`, `MQClientFactory.channel_active`).
    profile : Profile
        Release of RocketMQ; the newest if not given.
    random : random.Random, optional
        Chooses the brokers to ask; seed it for runs that repeat.
    allocate : Allocate
        How strategies are asked; see `rmqalloc.rebalance.allocation`.
    views : RouteViews, optional
        Shared with other managers, it makes the view of a route once for all of them.
    intervals : Intervals
        How often clients do what.
    heartbeat_v2 : bool
        Use the second form of heartbeats, if the profile has it.
    pid : int, optional
        Process id, for client ids.
    nano_time : callable
        Nanoseconds of an arbitrary origin, for client ids.
    offset_directory : path, optional
        Where broadcasting consumers keep offsets; ``~/.rocketmq_offsets`` if not given
        (``rocketmq.client.localOffsetStoreDir``).

    Attributes
    ----------
    factories : dict of str to MQClientFactory
        Clients by client id.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.MQClientManager``, which is one per Java process.
    """

    def __init__(
        self,
        clock: Clock,
        connect: Callable[[MQClientFactory], Remoting],
        *,
        profile: Profile = DEFAULT_PROFILE,
        random: Random | None = None,
        allocate: Allocate = sorted_allocate,
        views: RouteViews | None = None,
        intervals: Intervals = Intervals(),
        heartbeat_v2: bool = False,
        pid: int | None = None,
        nano_time: Callable[[], int] = time.monotonic_ns,
        offset_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self.clock = clock
        self.connect = connect
        self.profile = profile
        self.random = Random() if random is None else random
        self.allocate = allocate
        self.views = RouteViews() if views is None else views
        self.intervals = intervals
        self.heartbeat_v2 = heartbeat_v2
        self.pid = os.getpid() if pid is None else pid
        self.nano_time = nano_time
        self.offset_directory = (
            Path.home() / ".rocketmq_offsets" if offset_directory is None else Path(offset_directory)
        )
        self.factories: dict[str, MQClientFactory] = {}

    def get_or_create(self, client_id: str) -> MQClientFactory:
        """Return the client of this id, shared by all consumers that ask for it."""
        if client_id not in self.factories:
            self.factories[client_id] = MQClientFactory(client_id, self)
        return self.factories[client_id]

    def forget(self, factory: MQClientFactory) -> None:
        """Forget a client that has ended; its id may be used again."""
        if self.factories.get(factory.client_id) is factory:
            del self.factories[factory.client_id]
