"""A lite pull consumer: it pulls the queues it was given, or those it chose, and is polled for
messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Unpack

from rmqalloc.errors import ArgumentError
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._client_factory import MQClientManager
from rmqalloc.rebalance._consumer import Consumer, ServiceState, Settings
from rmqalloc.rebalance._first_offset import offset_without_history
from rmqalloc.rebalance._ports import MessageQueueListener
from rmqalloc.rebalance._pull_consumer import RebalancePull
from rmqalloc.rebalance._requests import PullTask, Queues
from rmqalloc.rebalance.driving import Steps
from rmqalloc.rebalance.offset_store import ReadOffsetType
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    MessageModel,
    SubscriptionData,
)
from rmqalloc.remoting.clock import Clock

WISHES = (ConsumeFromWhere.LAST_OFFSET, ConsumeFromWhere.FIRST_OFFSET, ConsumeFromWhere.TIMESTAMP)


class SubscriptionType(Enum):
    """Whether queues come from subscriptions or were chosen; one consumer does not mix them."""

    NONE = "nothing"
    SUBSCRIBE = "subscriptions"
    ASSIGN = "chosen queues"


class LitePullConsumer(Consumer):
    """A consumer that its caller polls.

    Parameters
    ----------
    manager, consumer_group, **settings
        As for `Consumer`, but without a listener, which is a parameter of `subscribe`.
    run_task : callable, optional
        ``run_task(task)`` begins to pull a queue until the task is cancelled; by default no queue
        is pulled.

    Attributes
    ----------
    assigned : AssignedQueues
        State of each queue that it pulls.
    tasks : dict of MessageQueue to PullTask
        The running loops.
    consume_from_where : ConsumeFromWhere
        LAST_OFFSET, FIRST_OFFSET or TIMESTAMP; ValueError for deprecated values.
    subscriptions_for_heartbeat : set of SubscriptionData
        Further subscriptions that it reports to brokers (5.5).

    Notes
    -----
    ``DefaultLitePullConsumer`` and ``DefaultLitePullConsumerImpl``. It sends no heartbeat at its start: brokers list it only
    after the first heartbeat, after 1 s.
    """

    rebalance: RebalanceLitePull

    def __init__(
        self,
        manager: MQClientManager,
        consumer_group: str,
        *,
        run_task: Callable[[PullTask], None] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.subscriptions_for_heartbeat: set[SubscriptionData] = set()
        self.rebalance = RebalanceLitePull(self)
        self.assigned = AssignedQueues(manager.clock, self.rebalance.process_queue_table)
        self.tasks: dict[MessageQueue, PullTask] = {}
        self._run_task = run_task
        self._subscription_type = SubscriptionType.NONE

    def subscribe(
        self, topic: str, expression: str = "*", listener: MessageQueueListener | None = None
    ) -> None:
        """Subscribe to a topic, send heartbeats and request its route.

        Parameters
        ----------
        topic, expression : str
            The subscription.
        listener : callable, optional
            Called after the client has taken changed queues. The listener of the last call is used
            for all topics.

        Raises
        ------
        ClientError
            Queues were chosen by `assign` before.
        ValueError
            The topic has no name.
        """
        self._check_topic(topic)
        self._set_type(SubscriptionType.SUBSCRIBE)
        self._subscribe(topic, expression)
        self.listener = self._take_queues if listener is None else self._take_queues_then(listener)
        if self.state is ServiceState.RUNNING:
            self.client_factory.run(self._follow_subscription())

    def _follow_subscription(self) -> Steps[None]:
        yield from self.client_factory.send_heartbeat_to_all_brokers()
        yield from self._update_routes()

    def unsubscribe(self, topic: str) -> None:
        """End a subscription and its loops; the next pass drops its queues."""
        self.rebalance.subscription_inner.pop(topic, None)
        self._cancel_tasks(queue for queue in self.tasks if queue.topic == topic)
        self.assigned.forget_topic(topic)

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Choose queues instead of subscribing; they replace those chosen before.

        Raises
        ------
        ClientError
            The consumer has a subscription already.
        ValueError
            No queues are given.
        """
        if not queues:
            raise ArgumentError("assign needs at least one queue, got none")
        self._set_type(SubscriptionType.ASSIGN)
        self.assigned.replace(queues)
        if self.state is ServiceState.RUNNING:
            self._follow(queues)

    @property
    def consume_from_where(self) -> ConsumeFromWhere:
        """Return where consumption of queues without a stored offset begins; see the class."""
        return self._consume_from_where

    @consume_from_where.setter
    def consume_from_where(self, where: ConsumeFromWhere) -> None:
        if where not in WISHES:
            known = ", ".join(wish.value for wish in WISHES)
            raise ArgumentError(
                f"a lite pull consumer must begin by {known}; got {getattr(where, 'value', where)}"
            )
        self._consume_from_where = where

    def subscriptions(self) -> Iterable[SubscriptionData]:
        """Return its subscriptions, including the further subscriptions for heartbeats."""
        more = (
            self.subscriptions_for_heartbeat
            if self.manager.profile.tells_more_subscriptions
            else ()
        )
        return dict.fromkeys([*super().subscriptions(), *more])

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pause pulling of queues; the consumer still owns them."""
        self.assigned.set_paused(queues, True)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Resume pulling of queues."""
        self.assigned.set_paused(queues, False)

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass."""
        return self.rebalance.do_rebalance(False)

    def persist_consumer_offset(self) -> Steps[None]:
        """Store the offsets of all queues in its table, or of the chosen queues; nothing unless it
        runs.
        """
        if self._subscription_type is not SubscriptionType.ASSIGN:
            yield from super().persist_consumer_offset()
        elif self.state is ServiceState.RUNNING:
            yield from self.offset_store.persist_all(self.assigned.queues())

    def halt(self) -> None:
        """Cancel its loops."""
        self._cancel_tasks(self.tasks)

    def shutdown_steps(self) -> Steps[None]:
        """Leave the group and cancel its loops."""
        yield from super().shutdown_steps()
        self.halt()

    def _prepare(self) -> None:
        """Do nothing: it subscribes to nothing by itself."""

    def _after_start(self) -> Steps[None]:
        if self._subscription_type is SubscriptionType.SUBSCRIBE:
            yield from self._update_routes()
        elif self._subscription_type is SubscriptionType.ASSIGN:
            self._follow(self.assigned.queues())

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self._subscription_type not in (SubscriptionType.NONE, wanted):
            raise ClientError(
                f"the queues of {self.consumer_group} come from {self._subscription_type.value} already; "
                f"use another consumer for {wanted.value}"
            )
        self._subscription_type = wanted

    # --- Following the rebalance ---

    def _take_queues(self, topic: str, mq_all: Queues | None, mq_divided: Queues) -> None:
        """Pull just these queues of a topic: all of them when broadcasting, else the client's
        share.
        """
        queues = (
            mq_divided
            if self.message_model is MessageModel.CLUSTERING or mq_all is None
            else mq_all
        )
        self.assigned.replace(queues, topic)
        self._follow(queues, topic)

    def _take_queues_then(self, listener: MessageQueueListener) -> MessageQueueListener:
        def changed(topic: str, mq_all: Queues | None, mq_divided: Queues) -> None:
            self._take_queues(topic, mq_all, mq_divided)
            listener(topic, mq_all, mq_divided)

        return changed

    def _follow(self, queues: Collection[MessageQueue], topic: str | None = None) -> None:
        """Cancel the loops of other queues (of one topic), and begin those that are missing."""
        self._cancel_tasks(
            q for q in self.tasks if (topic is None or q.topic == topic) and q not in queues
        )
        for queue in sorted(queue for queue in queues if queue not in self.tasks):
            task = self.tasks[queue] = PullTask(queue)
            if self._run_task is not None:
                self._run_task(task)

    def _cancel_tasks(self, queues: Iterable[MessageQueue]) -> None:
        for queue in list(queues):
            self.tasks.pop(queue).cancelled = True


class RebalanceLitePull(RebalancePull):
    """Queues of a lite pull consumer: reported and stored like a pull consumer's, with the first
    offset that the group is set to.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceLitePullImpl``.
    """

    def __init__(self, consumer: LitePullConsumer) -> None:
        super().__init__(consumer)
        self._lite_consumer = consumer

    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> Steps[int]:
        """Return the offset in memory or in the store, or the first offset that the group is set to;
        -1 if none can be read.

        Raises
        ------
        ClientError
            No broker gives a first offset.
        ValueError
            The consume timestamp is invalid.
        """
        consumer, where = self._lite_consumer, self._lite_consumer.consume_from_where
        stored = yield from consumer.offset_store.read_offset(
            queue, ReadOffsetType.MEMORY_FIRST_THEN_STORE
        )
        if stored == -1:
            timestamp = consumer.consume_timestamp
            return (yield from offset_without_history(self.client_factory, queue, where, timestamp))
        return max(stored, -1)


@dataclass(slots=True, eq=False)
class QueueState:
    """One queue: its process queue, whether it is paused, and offsets (-1 for none)."""

    process_queue: ProcessQueue
    paused: bool = False
    pull_offset: int = -1
    consume_offset: int = -1
    seek_offset: int = -1


class AssignedQueues:
    """Queues that a lite pull consumer pulls, from subscriptions or chosen.

    Parameters
    ----------
    clock : Clock
        Time of queues outside the rebalance.
    process_queue_table : mapping of MessageQueue to ProcessQueue
        Queues of the rebalance; their process queues are used.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.AssignedMessageQueue``.
    """

    def __init__(
        self, clock: Clock, process_queue_table: Mapping[MessageQueue, ProcessQueue]
    ) -> None:
        self._clock = clock
        self._table = process_queue_table
        self._states: dict[MessageQueue, QueueState] = {}

    def queues(self) -> Collection[MessageQueue]:
        """Return all queues."""
        return self._states.keys()

    def state(self, queue: MessageQueue) -> QueueState | None:
        """Return the state of a queue, None if it is missing."""
        return self._states.get(queue)

    def is_paused(self, queue: MessageQueue) -> bool:
        """Return True if a queue is paused or missing."""
        state = self._states.get(queue)
        return state is None or state.paused

    def set_paused(self, queues: Iterable[MessageQueue], paused: bool) -> None:
        """Pause or resume queues; missing queues are ignored."""
        for queue in queues:
            if queue in self._states:
                self._states[queue].paused = paused

    def replace(self, queues: Collection[MessageQueue], topic: str | None = None) -> None:
        """Drop and forget queues that are not given (of one topic, or of all), and add missing queues."""
        for queue in [
            q for q in self._states if (topic is None or q.topic == topic) and q not in queues
        ]:
            self._states.pop(queue).process_queue.dropped = True
        for queue in queues:
            if queue not in self._states:
                known = self._table.get(queue)
                self._states[queue] = QueueState(
                    ProcessQueue(self._clock.now()) if known is None else known
                )

    def forget_topic(self, topic: str) -> None:
        """Forget the queues of a topic, without dropping them."""
        for queue in [queue for queue in self._states if queue.topic == topic]:
            del self._states[queue]
