"""What a pull consumer does in a rebalance: it is told its queues, and does the rest itself."""

from __future__ import annotations

import logging
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.rebalance.rebalance_impl import RebalanceImpl
from rmqalloc.remoting import ConsumeType

if TYPE_CHECKING:
    from rmqalloc.rebalance.consumer import Consumer

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
        """Active."""
        return ConsumeType.ACTIVELY

    def message_queue_changed(
        self, topic: str, mq_all: AbstractSet[MessageQueue] | None, mq_divided: AbstractSet[MessageQueue]
    ) -> None:
        """Tell the listener; its errors are logged and change nothing."""
        if self._consumer.listener is not None:
            try:
                self._consumer.listener(topic, mq_all, mq_divided)
            except Exception:
                log.warning("the queue listener of %s failed", self.consumer_group, exc_info=True)

    def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Store the offset and forget it."""
        self._consumer.offset_store.persist(queue)
        self._consumer.offset_store.remove_offset(queue)
        return True

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Forget what memory holds of it."""
        self._consumer.offset_store.remove_offset(queue)

    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> int:
        """Always 0: such a consumer decides by itself."""
        return 0
