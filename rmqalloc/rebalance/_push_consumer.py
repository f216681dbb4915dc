"""A push consumer: its client pulls and hands messages over, in order or not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, Unpack

from rmqalloc.errors import refuse_defect
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance._client_factory import MQClientManager
from rmqalloc.rebalance._consumer import Consumer, ServiceState, Settings
from rmqalloc.rebalance._first_offset import offset_without_history, parse_timestamp
from rmqalloc.rebalance._orderly import OrderlyService
from rmqalloc.rebalance._ports import PullDispatcher
from rmqalloc.rebalance._rebalance_impl import RebalanceImpl
from rmqalloc.rebalance._requests import (
    INIT_FROM_MAX,
    INIT_FROM_MIN,
    PopRequest,
    PullRequest,
    Queues,
)
from rmqalloc.rebalance.driving import Lane, Steps, logged, nothing
from rmqalloc.rebalance.offset_store import ReadOffsetType
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.rebalance.validators import MOST, UNLIMITED, wrong_limit
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    ConsumeType,
    MessageModel,
    ResponseCode,
)

AnyRequest = TypeVar("AnyRequest", PullRequest, PopRequest)


class SteadyPulls:
    """Readers that never stop and read nothing, so that queues never expire."""

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Count the queue as pulled from now on."""
        request.process_queue.pulling = True

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Count the queue as popped from now on."""
        request.process_queue.pulling = True


class PushConsumer(Consumer):
    """A consumer that receives messages.

    Parameters
    ----------
    manager, consumer_group, **settings
        As for `Consumer`.
    orderly : bool
        Consume messages of a queue one after another, under a lock at the broker.
    client_rebalance : bool
        False leaves the allocation to brokers (5.x), if the group divides queues and does not
        consume in order.
    pull_threshold_for_queue, pull_threshold_size_for_queue : int
        Messages and MiB of a queue that may wait in the client.
    pull_threshold_for_topic, pull_threshold_size_for_topic : int
        The same for all queues together, of all topics, divided evenly when queues change; -1 for
        no limit.
    pop_threshold_for_queue : int
        Popped messages of a queue that may wait.
    dispatcher : PullDispatcher, optional
        Reader of the queues; by default queues are unread and never expire.

    Attributes
    ----------
    paused : bool
        See `pause`.
    orderly_service : OrderlyService or None
        Locks of an ordered group, from `start` on.

    Notes
    -----
    ``DefaultMQPushConsumer`` and ``DefaultMQPushConsumerImpl``.
    """

    rebalance: RebalancePush

    def __init__(
        self,
        manager: MQClientManager,
        consumer_group: str,
        *,
        orderly: bool = False,
        client_rebalance: bool = True,
        pull_threshold_for_queue: int = 1_000,
        pull_threshold_size_for_queue: int = 100,
        pull_threshold_for_topic: int = UNLIMITED,
        pull_threshold_size_for_topic: int = UNLIMITED,
        pop_threshold_for_queue: int = 96,
        dispatcher: PullDispatcher | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.orderly = orderly
        self.client_rebalance = client_rebalance
        self.pull_threshold_for_queue = pull_threshold_for_queue
        self.pull_threshold_size_for_queue = pull_threshold_size_for_queue
        self.pull_threshold_for_topic = pull_threshold_for_topic
        self.pull_threshold_size_for_topic = pull_threshold_size_for_topic
        self.pop_threshold_for_queue = pop_threshold_for_queue
        self.dispatcher: PullDispatcher = SteadyPulls() if dispatcher is None else dispatcher
        self.paused = False
        self.orderly_service: OrderlyService | None = None
        self.rebalance = RebalancePush(self)

    def subscribe(self, topic: str, expression: str = "*", expression_type: str = "TAG") -> None:
        """Subscribe to a topic and send heartbeats. The next poll requests its route, unless this
        comes before `start`.

        Parameters
        ----------
        topic : str
            Topic.
        expression : str
            Tags, such as ``"paid || open"``, or ``"*"`` for all messages; with SQL92 a condition on
            properties.
        expression_type : str
            ``"TAG"`` or ``"SQL92"``, which brokers accept if ``enablePropertyFilter`` is set.
        """
        self._subscribe(topic, expression, expression_type)
        if hasattr(self, "client_factory"):  # also after its end, while other groups use its client
            self.client_factory.run(self.client_factory.send_heartbeat_to_all_brokers())

    def unsubscribe(self, topic: str) -> None:
        """End a subscription; the next pass drops its queues and the next heartbeat reports it."""
        self.rebalance.subscription_inner.pop(topic, None)

    def pause(self) -> None:
        """Skip passes until `resume`. The service then tries every second; the consumer keeps its
        queues.
        """
        self.paused = True

    def resume(self) -> None:
        """Take part in passes again, with a pass at once."""
        self.paused = False
        self.client_factory.run_pass(self.rebalance.do_rebalance(self.orderly))

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; False while paused."""
        return nothing(False) if self.paused else self.rebalance.do_rebalance(self.orderly)

    def share_thresholds(self, n_queues: int) -> None:
        """Divide the limits of all queues by ``n_queues``, at least 1 each; with no queues they
        stay unchanged.
        """
        if n_queues and self.pull_threshold_for_topic != UNLIMITED:
            self.pull_threshold_for_queue = max(1, self.pull_threshold_for_topic // n_queues)
        if n_queues and self.pull_threshold_size_for_topic != UNLIMITED:
            self.pull_threshold_size_for_queue = max(
                1, self.pull_threshold_size_for_topic // n_queues
            )

    def shutdown_steps(self) -> Steps[None]:
        """Leave the group: stop consuming (ordered: unlock all), store offsets, unregister, and
        drop all queues.
        """
        if self.state is ServiceState.RUNNING:
            if self.orderly_service is not None:
                yield from self.orderly_service.shutdown()
            yield from super().shutdown_steps()
            self.client_factory.after_passes(self.rebalance.destroy)

    def halt(self) -> None:
        """Stop renewing locks without any request."""
        if self.orderly_service is not None:
            self.orderly_service.halt()

    def _prepare(self) -> None:
        parse_timestamp(self.consume_timestamp)
        for name in MOST:
            wrong = wrong_limit(name, getattr(self, name))
            if wrong is not None:
                raise ClientError(wrong)
        if self.message_model is MessageModel.CLUSTERING:
            self._subscribe(RETRY_PREFIX + self.consumer_group, "*")

    def _after_start(self) -> Steps[None]:
        if self.orderly:
            self.orderly_service = OrderlyService(self.rebalance)
            self.orderly_service.start()
        yield from self._update_routes()
        sent = yield from self.client_factory.send_heartbeat_to_all_brokers()
        if sent or not self.manager.profile.asks_for_a_pass_if_heard:
            self.client_factory.rebalance_immediately()


log = logging.getLogger(__name__)


class RebalancePush(RebalanceImpl):
    """Queues of a push consumer.

    Parameters
    ----------
    consumer : PushConsumer
        Its settings are read whenever they are used, so they may change at any time.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalancePushImpl``.
    """

    def __init__(self, consumer: PushConsumer) -> None:
        super().__init__(consumer.consumer_group, consumer.message_model, consumer.strategy)
        self._consumer = consumer

    def consume_type(self) -> ConsumeType:
        """The consumer pulls and passes messages on: CONSUME_PASSIVELY."""
        return ConsumeType.PASSIVELY

    def client_rebalance(self, topic: str) -> bool:
        """Return False for a concurrent clustering consumer that leaves the allocation to brokers,
        if they support it.
        """
        consumer = self._consumer
        broadcasts = self.message_model is MessageModel.BROADCASTING
        can_ask = self.client_factory.profile.server_assignment
        return consumer.client_rebalance or consumer.orderly or broadcasts or not can_ask

    def message_queue_changed(
        self, topic: str, mq_all: Queues | None, mq_divided: Queues
    ) -> Steps[None]:
        """Raise the version of the subscription, divide thresholds, send heartbeats to every broker,
        then call the user's listener.

        Raises
        ------
        KeyError
            The topic is no longer subscribed; Java throws ``NullPointerException``.
        Exception
            Any error of the listener.
        """
        factory = self.client_factory
        subscription = self.subscription_inner[topic]
        self.subscription_inner[topic] = replace(subscription, sub_version=factory.clock.now())
        self._consumer.share_thresholds(len(self.process_queue_table))
        yield from factory.send_heartbeat_to_all_brokers(rebalanced=True)
        listener = self._consumer.listener
        if listener is not None and factory.profile.push_listener:
            listener(topic, mq_all, mq_divided)

    # --- Going ---

    def remove_unnecessary_message_queue(
        self, queue: MessageQueue, process_queue: ProcessQueue
    ) -> Steps[bool]:
        """Store the offset and remove it from memory; an ordered queue of a clustering group is also
        unlocked, unless it is being consumed.
        """
        store = self._consumer.offset_store
        yield from store.persist(queue)
        if not (self._consumer.orderly and self.message_model is MessageModel.CLUSTERING):
            store.remove_offset(queue)
            return True
        if self.client_factory.profile.removes_ordered_at_once:
            return (yield from self._remove_and_unlock_late(queue, process_queue))
        return (yield from self._remove_and_unlock(queue, process_queue))

    def take_consume_lock(self, process_queue: ProcessQueue, wait: int) -> Steps[bool]:
        """Return whether the consume lock of a dropped queue can be acquired within ``wait``
        milliseconds.

        If messages are consumed in real time, this waits; see `ProcessQueue.takes_consume_lock`.
        """
        return nothing(process_queue.takes_consume_lock(self.client_factory.clock.now(), wait))

    def _remove_and_unlock(self, queue: MessageQueue, process_queue: ProcessQueue) -> Steps[bool]:
        """Wait for the consume lock a little, do without it once the broker's lock is old (5.2 and
        later).
        """
        profile, now = self.client_factory.profile, self.client_factory.clock.now()
        forced = (
            process_queue.dropped
            and now > process_queue.last_lock_timestamp + profile.late_unlock_delay
        )
        try:
            if forced or (
                yield from self.take_consume_lock(process_queue, profile.ordered_lock_wait)
            ):
                yield from self._consumer.offset_store.persist(queue)
                self._consumer.offset_store.remove_offset(queue)
                process_queue.locked = False
                yield from self.unlock(queue, oneway=True)
                return True
        except Exception as error:
            refuse_defect(error)
            log.warning("removing %s failed", queue, exc_info=True)
        process_queue.try_unlock_times += 1
        return False

    def _remove_and_unlock_late(
        self, queue: MessageQueue, process_queue: ProcessQueue
    ) -> Steps[bool]:
        """Wait for the consume lock longer (before 5.2); messages that were pulled delay the
        unlock, not the removal.
        """
        factory = self.client_factory
        self._consumer.offset_store.remove_offset(queue)
        if not (
            yield from self.take_consume_lock(process_queue, factory.profile.ordered_lock_wait)
        ):
            process_queue.try_unlock_times += 1
            return False
        if process_queue.n_messages:
            if factory.has_ended:
                return False  # nobody would unlock it
            late, done = Lane(factory.driver), logged(f"unlocking {queue}")
            factory.call_later(
                factory.profile.late_unlock_delay,
                lambda: late.do(self.unlock(queue, oneway=True), done),
            )
        else:
            yield from self.unlock(queue, oneway=True)
        return True

    # --- Coming ---

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Remove the offset from memory."""
        self._consumer.offset_store.remove_offset(queue)

    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> Steps[int]:
        """Return the stored offset, or the first offset that the group is set to if there is none.

        Raises
        ------
        ClientError
            The store cannot be read (5.x; before, the answer is -1), or no broker gives a first
            offset.
        ValueError
            The consume timestamp is invalid.
        """
        raises, where = (
            self.client_factory.profile.bad_offset_raises,
            self._consumer.consume_from_where,
        )
        stored = yield from self._consumer.offset_store.read_offset(
            queue, ReadOffsetType.READ_FROM_STORE
        )
        if stored >= 0:
            return stored
        if stored < -1:
            if raises:
                raise ClientError(
                    f"the stored offset of {queue} cannot be read", ResponseCode.QUERY_NOT_FOUND
                )
            return -1
        timestamp = self._consumer.consume_timestamp
        offset = yield from offset_without_history(self.client_factory, queue, where, timestamp)
        log.info(
            "%s has no stored offset of %s: %s is %d",
            self.consumer_group,
            queue,
            where.name,
            offset,
        )
        if offset < 0 and raises:
            raise ClientError(
                f"a broker gave the first offset of {queue} as {offset}", ResponseCode.SYSTEM_ERROR
            )
        return offset

    def consume_init_mode(self) -> int:
        """Return the first message for groups that consume from the first offset, else the last."""
        first = self._consumer.consume_from_where is ConsumeFromWhere.FIRST_OFFSET
        return INIT_FROM_MIN if first else INIT_FROM_MAX

    def dispatch_pull_requests(self, requests: list[PullRequest], delay: int) -> None:
        """Pass requests to the reader. A request that the reader rejects is logged, and its queue
        expires for lack of pulls.
        """
        self._hand_over(self._consumer.dispatcher.pull_later, requests, delay)

    def dispatch_pop_requests(self, requests: list[PopRequest], delay: int) -> None:
        """Pass requests to the reader, like `dispatch_pull_requests`."""
        self._hand_over(self._consumer.dispatcher.pop_later, requests, delay)

    def _hand_over(
        self, take: Callable[[AnyRequest, int], None], requests: list[AnyRequest], delay: int
    ) -> None:
        for request in requests:
            try:
                take(request, delay)
            except Exception as error:
                refuse_defect(error)
                # The queue is in the table already: the pass must go on, so that brokers and the
                # listener are notified.
                log.warning(
                    "no reader took %s for %s", request.queue, self.consumer_group, exc_info=True
                )

    def prepare_ordered_pull(self, request: PullRequest) -> Steps[bool]:
        """Return True if an ordered queue may be pulled: only while locked, and the first time from
        its offset read again.

        The reader calls this before each pull of an ordered group and tries again later (1 s) if
        False.
        """
        if not request.process_queue.locked:
            return False
        if not request.previously_locked:
            try:
                offset = yield from self.compute_pull_from_where_with_exception(request.queue)
            except Exception as error:
                refuse_defect(error)
                log.debug(
                    "%s has no first offset of %s: %s", self.consumer_group, request.queue, error
                )
                return False
            if offset < 0 and self.client_factory.profile.bad_offset_raises:
                return False
            request.previously_locked = True
            request.next_offset = offset
        return True
