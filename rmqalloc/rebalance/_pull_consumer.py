"""A pull consumer: it learns which queues are its own and reads them as it likes."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Unpack

from rmqalloc.errors import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._client_factory import MQClientManager
from rmqalloc.rebalance._consumer import Consumer, Settings
from rmqalloc.rebalance._rebalance_impl import RebalanceImpl
from rmqalloc.rebalance._requests import Queues
from rmqalloc.rebalance.driving import Steps, nothing
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.remoting import ConsumeType, SubscriptionData


class PullConsumer(Consumer):
    """A consumer whose caller pulls.

    Parameters
    ----------
    manager, consumer_group, **settings
        As for `Consumer`.
    enable_rebalance : bool
        False leaves its queues as they are; no effect before 5.x.

    Attributes
    ----------
    register_topics : set of str
        Topics that it reports to brokers. The topics at `start` are allocated; topics added later
        are only reported.
    register_subscriptions : set of SubscriptionData
        Subscriptions to report instead, if any (5.x).

    Notes
    -----
    ``DefaultMQPullConsumer`` and ``DefaultMQPullConsumerImpl``.
    """

    rebalance: RebalancePull

    def __init__(
        self,
        manager: MQClientManager,
        consumer_group: str,
        *,
        enable_rebalance: bool = True,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.enable_rebalance = enable_rebalance
        self.register_topics: set[str] = set()
        self.register_subscriptions: set[SubscriptionData] = set()
        self.rebalance = RebalancePull(self)

    def subscribe(self, topic: str) -> None:
        """Register a topic."""
        self.register_topics.add(topic)

    def unsubscribe(self, topic: str) -> None:
        """Stop reporting a topic, and end its allocation: the next pass drops its queues.

        In Java these are two steps; ``DefaultMQPullConsumerImpl.unsubscribe`` alone does not remove
        the topic from heartbeats.
        """
        self.register_topics.discard(topic)
        self.rebalance.subscription_inner.pop(topic, None)

    def subscriptions(self) -> Iterable[SubscriptionData]:
        """Return its registered topics, always with version 0, or the subscriptions registered in
        their place.
        """
        if self.register_subscriptions and self.manager.profile.told_subscriptions:
            return self.register_subscriptions
        return [SubscriptionData(topic) for topic in sorted(self.register_topics)]

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; nothing if the rebalance is switched off."""
        if not self.enable_rebalance and self.manager.profile.pull_passes_switch:
            return nothing(True)
        return self.rebalance.do_rebalance(False)

    def halt(self) -> None:
        """Do nothing: it has no timers."""

    def _after_start(self) -> Steps[None]:
        """Do nothing: it waits for its timers."""
        return nothing(None)

    def _prepare(self) -> None:
        for topic in sorted(self.register_topics):
            self._subscribe(topic, "*")


log = logging.getLogger(__name__)


class RebalancePull(RebalanceImpl):
    """Queues of a pull consumer.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalancePullImpl``.
    """

    def __init__(self, consumer: Consumer) -> None:
        super().__init__(consumer.consumer_group, consumer.message_model, consumer.strategy)
        self._consumer = consumer

    def consume_type(self) -> ConsumeType:
        """The consumer pulls when its caller requests it: CONSUME_ACTIVELY."""
        return ConsumeType.ACTIVELY

    def message_queue_changed(
        self, topic: str, mq_all: Queues | None, mq_divided: Queues
    ) -> Steps[None]:
        """Call the listener; its errors are logged and change nothing."""
        if self._consumer.listener is not None:
            try:
                self._consumer.listener(topic, mq_all, mq_divided)
            except Exception as error:
                refuse_defect(error)
                log.warning("the queue listener of %s failed", self.consumer_group, exc_info=True)
        return nothing(None)

    def remove_unnecessary_message_queue(
        self, queue: MessageQueue, process_queue: ProcessQueue
    ) -> Steps[bool]:
        """Store the offset and remove it from memory."""
        yield from self._consumer.offset_store.persist(queue)
        self._consumer.offset_store.remove_offset(queue)
        return True

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Remove the offset from memory."""
        self._consumer.offset_store.remove_offset(queue)

    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> Steps[int]:
        """Return 0: the caller of such a consumer chooses its offsets."""
        return nothing(0)
