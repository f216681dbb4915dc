"""One client of the cluster: the routes, heartbeats, offsets and passes that the consumer groups of
a client id share.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from rmqalloc.errors import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._heartbeats import Heartbeats
from rmqalloc.rebalance._ports import RebalancingConsumer, Remoting
from rmqalloc.rebalance._routes import RouteTable, RouteViews
from rmqalloc.rebalance._service import Intervals, RebalanceService
from rmqalloc.rebalance._system_clock import FixedRate
from rmqalloc.rebalance.allocation import Allocate, sorted_allocate
from rmqalloc.rebalance.driving import BlockingDriver, Driver, Lane, Request, Steps, logged, nothing
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    ClientError,
    HeartbeatData,
    MessageModel,
    Profile,
    QueueAssignment,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.remoting.clock import Clock

T = TypeVar("T")

log = logging.getLogger(__name__)


class Lanes(NamedTuple):
    """Work that has a thread of its own in a Java client.

    Attributes
    ----------
    rebalance : Lane
        Passes (``RebalanceService``).
    scheduled : Lane
        Routes, heartbeats and offsets, one after another
        (``MQClientInstance.scheduledExecutorService``).
    events : Lane
        New connections (``NettyEventExecutor``).
    """

    rebalance: Lane
    scheduled: Lane
    events: Lane


class MQClientFactory:
    """State shared by the consumers of one client id in one process; created by
    `MQClientManager.get_or_create`.

    Parameters
    ----------
    client_id : str
        Client id for brokers and strategies.
    manager : MQClientManager
        The process.

    Attributes
    ----------
    clock, profile, allocate, intervals
        Those of the manager.
    driver : Driver
        Its connection to name servers and brokers; over a `Remoting` unless the manager has
        another.
    lanes : Lanes
        Lanes of its work.
    routes : RouteTable
        Known routes and brokers.
    consumers : dict of str to RebalancingConsumer
        Its consumer groups.
    has_ended : bool
        It was shut down, and accepts no further timers.

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
        self.driver = manager.connected(self)
        self.lanes = Lanes(Lane(self.driver), Lane(self.driver), Lane(self.driver))
        self._manager = manager
        second_form = manager.heartbeat_v2 and self.profile.heartbeat_v2
        apart = self.driver if manager.heartbeats_apart else None
        self._heartbeats = Heartbeats(
            self._heartbeat, self.routes.addresses, second_form, apart, self.rebalance_immediately
        )
        self._service = RebalanceService(
            self.clock,
            self.lanes.rebalance,
            self.do_rebalance,
            self.profile,
            self.intervals.rebalance,
        )
        self._timers: list[FixedRate] = []
        self._running = False
        self._killed = False
        self.has_ended = False

    # --- Life ---

    def register_consumer(self, consumer: RebalancingConsumer) -> bool:
        """Add a consumer; return False if its group has one already."""
        return self.consumers.setdefault(consumer.consumer_group, consumer) is consumer

    def unregister_consumer(self, consumer_group: str) -> Steps[None]:
        """Remove a consumer and unregister it at every known broker; a broker that cannot be
        reached drops it after a timeout.
        """
        self.consumers.pop(consumer_group, None)
        for address in self.routes.addresses():
            try:
                yield Request("unregister_client", (address, self.client_id, consumer_group))
            except (
                Exception
            ) as error:  # whatever it is, the other brokers are asked too and the client ends
                refuse_defect(error)
                log.debug(
                    "%s could not leave %s at %s: %s",
                    self.client_id,
                    consumer_group,
                    address,
                    error,
                )

    def start(self) -> None:
        """Start timers and passes; nothing if they run already."""
        if self._running:
            return
        self._running = True
        self._every(10, self.intervals.route_poll, self.update_topic_routes)
        beats = Lane(self.driver) if self._manager.heartbeats_apart else self.lanes.scheduled
        self._every(1_000, self.intervals.heartbeat, self._periodic_heartbeat, beats)
        self._every(10_000, self.intervals.persist, self.persist_all_consumer_offset)
        self._service.start()

    def shutdown(self) -> None:
        """Stop timers and passes and leave the process, unless it still has a consumer."""
        if self.consumers or not self._running:
            return
        self._stop()
        self.has_ended = True
        self._manager.forget(self)

    def kill(self) -> None:
        """Stop everything at once without any request, as when the process dies."""
        self._killed = True
        for consumer in self.consumers.values():
            consumer.halt()
        self._stop()
        self._manager.forget(self)

    def call_later(self, delay: int, action: Callable[[], None]) -> None:
        """Call ``action`` once, unless the process has died by then; a shutdown does not prevent
        it.
        """
        self.clock.call_later(delay, lambda: None if self._killed else action())

    def run(self, steps: Steps[object]) -> None:
        """Run steps now, outside of all lanes, like a thread of the user.

        An error is raised if it occurs at once, as with a blocking driver; else it is logged.
        """
        self._drive(steps)

    def finish(self, steps: Steps[T]) -> T:
        """Run steps now and return their result, or raise their error.

        Raises
        ------
        ClientError
            The steps wait for an answer, so the driver does not block.
        """
        ended = self._drive(steps)
        if ended is None:
            raise ClientError(
                "steps that wait for an answer need a blocking driver; use driver.drive here"
            )
        return ended[0]  # type: ignore[no-any-return]

    def _drive(self, steps: Steps[object]) -> tuple[Any] | None:
        """Return the result of steps that ended at once, raise their error, or return None and log
        it when it comes.
        """
        ended: list[tuple[Any, BaseException | None]] = []
        report = logged(f"a step of {self.client_id}")
        is_waited_for = True

        def done(result: Any, error: BaseException | None) -> None:
            if is_waited_for:
                ended.append((result, error))
            else:
                report(result, error)

        self.driver.drive(steps, done)
        is_waited_for = False
        if not ended:
            return None
        ((result, error),) = ended
        if error is not None:
            raise error
        return (result,)

    def run_pass(self, steps: Steps[bool]) -> None:
        """Run a pass without a request to the service, when no pass is running."""
        self.lanes.rebalance.do(steps, logged(f"a pass of {self.client_id}"))

    def after_passes(self, action: Callable[[], None]) -> None:
        """Call ``action`` when no pass is running; at once if none is."""

        def done(_result: None, error: BaseException | None) -> None:
            if isinstance(error, Exception):
                refuse_defect(error)
            action()

        self.lanes.rebalance.do(nothing(None), done)

    def _every(
        self, first: int, period: int, action: Callable[[], Steps[object]], lane: Lane | None = None
    ) -> None:
        self._timers.append(
            FixedRate(self.clock, first, period, action, lane or self.lanes.scheduled)
        )

    def _stop(self) -> None:
        self._running = False
        for timer in self._timers:
            timer.cancel()
        self._service.shutdown()

    # --- Passes ---

    def do_rebalance(self) -> Steps[bool]:
        """Run a pass of every consumer group; return False if a group left work undone. Groups that
        failed do not count.
        """
        balanced = True
        for consumer in self._each_consumer():
            try:
                done = yield from consumer.try_rebalance()
                balanced = (done or not self.profile.returns_balanced) and balanced
            except Exception as error:
                refuse_defect(error)
                log.warning(
                    "pass of %s in %s failed",
                    self.client_id,
                    consumer.consumer_group,
                    exc_info=True,
                )
        return balanced

    def rebalance_immediately(self) -> None:
        """Wake the service of passes."""
        self._service.wakeup()

    def rebalance_later(self, delay: int) -> None:
        """Wake the service of passes ``delay`` milliseconds from now; at once if that is not above
        zero.

        Raises
        ------
        ClientError
            The client has ended; Java throws ``RejectedExecutionException``.
        """
        if delay <= 0:
            self._service.wakeup()
        elif self.has_ended:
            raise ClientError(
                f"the client {self.client_id} has ended; start another one for further passes"
            )
        else:
            self.call_later(delay, self._service.wakeup)

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Handle a broker's notice that a group's clients changed (code 40): every group of this
        client gets a pass.
        """
        log.info("%s was notified that the clients of %s changed", self.client_id, consumer_group)
        self.rebalance_immediately()

    def channel_active(self, address: str) -> None:
        """Handle a new broker connection: send a heartbeat to it and, if that succeeds, request a
        pass; 5.x only.
        """
        if self.profile.channel_events_rebalance and address in self.routes.addresses():
            self.lanes.events.do(
                self._greet(address), logged(f"a heartbeat of {self.client_id} to {address}")
            )

    def _greet(self, address: str) -> Steps[None]:
        if (yield from self._heartbeats.send_to(address)):
            self.rebalance_immediately()

    # --- Heartbeats and offsets ---

    def send_heartbeat_to_all_brokers(self, rebalanced: bool = False) -> Steps[bool]:
        """Send heartbeats to all brokers, see `Heartbeats.send_to_all`."""
        return self._heartbeats.send_to_all(rebalanced)

    def persist_all_consumer_offset(self) -> Steps[None]:
        """Store the offsets of every group."""
        for consumer in self._each_consumer():
            yield from consumer.persist_consumer_offset()

    def _each_consumer(self) -> Iterator[RebalancingConsumer]:
        """Yield the consumers, without those that have left by the time it is their turn."""
        for group, consumer in list(self.consumers.items()):
            if self.consumers.get(group) is consumer:
                yield consumer

    def _heartbeat(self) -> HeartbeatData:
        return HeartbeatData(
            self.client_id, tuple(consumer.consumer_data() for consumer in self.consumers.values())
        )

    def _periodic_heartbeat(self) -> Steps[None]:
        self.routes.forget_offline_brokers()
        yield from self.send_heartbeat_to_all_brokers()

    # --- Routes ---

    def update_topic_routes(self) -> Steps[None]:
        """Request the route of every topic that a group subscribes to."""
        topics = dict.fromkeys(
            topic for consumer in self.consumers.values() for topic in consumer.subscribed_topics()
        )
        for topic in topics:
            yield from self.update_topic_route(topic)

    def update_topic_route(self, topic: str) -> Steps[bool]:
        """Request a topic's route and, if it changed or a group still lacks it, pass its view to the
        groups.

        Returns
        -------
        bool
            Whether the route changed. A topic that the name server does not have keeps its last
            known route.

        Raises
        ------
        RemotingError
            The name server does not answer; Java throws ``IllegalStateException``.
        """
        number = self.routes.begin()
        try:
            route: TopicRouteData = yield Request("topic_route", (topic,))
        except ResponseError as error:
            log.debug("%s has no route to %s: %s", self.client_id, topic, error)
            return False
        if self.routes.is_overtaken(topic, number):
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

    def find_consumer_id_list(self, topic: str, consumer_group: str) -> Steps[list[str] | None]:
        """Return the clients of a group from a random broker of the topic; None without a broker or
        a valid answer.
        """
        address = self.routes.random_address(topic) or (yield from self._asked_address(topic))
        if address is None:
            return None
        try:
            client_ids: list[str] = yield Request("consumer_ids", (address, consumer_group))
        except Exception as error:
            refuse_defect(error)
            log.debug(
                "%s cannot give %s the clients of %s: %s",
                address,
                self.client_id,
                consumer_group,
                error,
            )
            return None
        return client_ids

    def query_assignment(
        self, topic: str, consumer_group: str, strategy_name: str, model: MessageModel
    ) -> Steps[list[QueueAssignment] | None]:
        """Return the queues that a random broker of the topic assigns to this client; None without a
        broker, or if the broker answers that the client keeps its queues.

        Raises
        ------
        RemotingError, ResponseError
            The broker does not answer, or refuses.
        """
        address = self.routes.random_address(topic) or (yield from self._asked_address(topic))
        if address is None:
            return None
        asked = (address, topic, consumer_group, self.client_id, strategy_name, model)
        assigned: list[QueueAssignment] | None = yield Request("query_assignment", asked)
        return assigned

    def max_offset(self, queue: MessageQueue) -> Steps[int]:
        """Return the offset after a queue's last message; ClientError if its master is unknown or
        gives no valid answer.
        """
        return self._ask_master("max_offset", queue)

    def search_offset(self, queue: MessageQueue, timestamp: int) -> Steps[int]:
        """Return the offset of the first message stored at a time (ms) or later; ClientError as in
        `max_offset`.
        """
        return self._ask_master("search_offset", queue, timestamp)

    def _ask_master(self, method: str, queue: MessageQueue, *more: int) -> Steps[int]:
        address = self.routes.master_of(self.routes.broker_of(queue))
        if address is None:
            yield from self.update_topic_route(queue.topic)
            address = self.routes.master_of(self.routes.broker_of(queue))
        if address is None:
            raise ClientError(
                f"the master of broker {queue.broker_name!r} is unknown, so the offset of {queue} cannot be requested"
            )
        try:
            offset: int = yield Request(method, (address, queue, *more))
        except Exception as error:
            refuse_defect(error)
            raise ClientError(f"broker {address} gave no offset of {queue}: {error}") from error
        return offset

    def _asked_address(self, topic: str) -> Steps[str | None]:
        """Return the address of a random broker of a topic, after asking for its route."""
        yield from self.update_topic_route(topic)
        return self.routes.random_address(topic)


class MQClientManager:
    """A process with clients: their shared state, and one factory per client id.

    Two processes with clients of one id need a manager each.

    Parameters
    ----------
    clock : Clock
        Time and timers of the process.
    connect : callable
        ``connect(factory)`` returns the `Remoting` of a new client, whose requests block, or its
        `Driver`. Keep the factory to pass on notices
        (`MQClientFactory.notify_consumer_ids_changed`, `MQClientFactory.channel_active`).
    profile : Profile
        Release of RocketMQ; the newest if not given.
    random : random.Random, optional
        Chooses the brokers that get requests; seed it for repeatable runs.
    allocate : Allocate
        How to call strategies; see `rmqalloc.rebalance.allocation`.
    views : RouteViews, optional
        If shared with further managers, creates the view of a route once for all of them.
    intervals : Intervals
        Intervals of the periodic work of clients.
    heartbeat_v2 : bool
        Use the second form of heartbeats, if the profile has it.
    heartbeats_apart : bool
        Send each broker its heartbeats in a lane of its own, which waits for nothing else. In Java
        heartbeats wait for routes, offsets and each other, so that one frozen broker can cost the
        membership at the remaining brokers.
    pid : int, optional
        Process id, for client ids.
    nano_time : callable
        Nanoseconds of an arbitrary origin, for client ids.
    offset_directory : path, optional
        Directory for the offsets of broadcasting consumers; ``~/.rocketmq_offsets`` if not given
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
        connect: Callable[[MQClientFactory], Remoting | Driver],
        *,
        profile: Profile = DEFAULT_PROFILE,
        random: Random | None = None,
        allocate: Allocate = sorted_allocate,
        views: RouteViews | None = None,
        intervals: Intervals = Intervals(),  # noqa: B008 (frozen)
        heartbeat_v2: bool = False,
        heartbeats_apart: bool = False,
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
        self.heartbeats_apart = heartbeats_apart
        self.pid = os.getpid() if pid is None else pid
        self.nano_time = nano_time
        self.offset_directory = (
            Path.home() / ".rocketmq_offsets"
            if offset_directory is None
            else Path(offset_directory)
        )
        self.factories: dict[str, MQClientFactory] = {}

    def connected(self, factory: MQClientFactory) -> Driver:
        """Return the driver of a new client."""
        connection = self.connect(factory)
        return connection if isinstance(connection, Driver) else BlockingDriver(connection)

    def get_or_create(self, client_id: str) -> MQClientFactory:
        """Return the client of this id, shared by all its consumers."""
        if client_id not in self.factories:
            self.factories[client_id] = MQClientFactory(client_id, self)
        return self.factories[client_id]

    def forget(self, factory: MQClientFactory) -> None:
        """Forget a client that has ended; its id may be used again."""
        if self.factories.get(factory.client_id) is factory:
            del self.factories[factory.client_id]
