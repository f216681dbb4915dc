"""What a lite pull consumer does in a rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.first_offset import offset_without_history
from rmqalloc.rebalance.offset_store import ReadOffsetType
from rmqalloc.rebalance.pull import RebalancePull

if TYPE_CHECKING:
    from rmqalloc.rebalance.lite_pull_consumer import LitePullConsumer


class RebalanceLitePull(RebalancePull):
    """Queues of a lite pull consumer: told and stored as a pull consumer's, begun as the group wishes.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceLitePullImpl``.
    """

    def __init__(self, consumer: LitePullConsumer) -> None:
        super().__init__(consumer)
        self._lite_consumer = consumer

    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> int:
        """The offset in memory or in the store, or what the group wishes; -1 if none can be read.

        Raises
        ------
        ClientError
            Nobody tells a first offset.
        ValueError
            The consume timestamp is not one.
        """
        consumer = self._lite_consumer
        stored = consumer.offset_store.read_offset(queue, ReadOffsetType.MEMORY_FIRST_THEN_STORE)
        if stored == -1:
            where, timestamp = consumer.consume_from_where, consumer.consume_timestamp
            return offset_without_history(self.client_factory, queue, where, timestamp)
        return max(stored, -1)
