"""What a consumer does with the queues a strategy gives it: the pass over its topics."""

from __future__ import annotations

import logging

from rmqalloc.defects import refuse_defect
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance._group_queues import GroupQueues
from rmqalloc.rebalance._local_path import rebalance_by_topic
from rmqalloc.rebalance._server_path import rebalance_by_broker

log = logging.getLogger(__name__)


class RebalanceImpl(GroupQueues):
    """The queues of one consumer group in one client, and how they follow the strategy.

    Parameters and attributes are those of `GroupQueues`.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceImpl``.
    """

    def do_rebalance(self, is_order: bool) -> bool:
        """Run a pass over all subscribed topics.

        A topic that fails does not keep the others from being done; a failed retry topic does not even count.

        Parameters
        ----------
        is_order : bool
            The group consumes in order, so new queues are locked.

        Returns
        -------
        bool
            Whether every topic has what it should have, as far as this pass could know.
        """
        balanced = True
        for topic in list(self.subscription_inner):
            if topic not in self.subscription_inner:
                continue
            try:
                rebalance = rebalance_by_topic if self.client_rebalance(topic) else rebalance_by_broker
                balanced = rebalance(self, topic, is_order) and balanced
            except Exception as error:
                refuse_defect(error)
                if not topic.startswith(RETRY_PREFIX):
                    log.warning("pass of %s over %s failed", self.consumer_group, topic, exc_info=True)
                    balanced = False
        self.truncate_message_queue_not_my_topic()
        return balanced

    def truncate_message_queue_not_my_topic(self) -> None:
        """Drop the queues of topics no longer subscribed to.

        Nothing is stored, unlocked or reported: the offset left over is forgotten, uncommitted, when offsets are next stored,
        and the broker's lock of an ordered queue runs out.
        """
        self.process_queue_table.drop_topics_not_in(self.subscription_inner)
        self.pop_process_queue_table.drop_topics_not_in(self.subscription_inner)

    def remove_process_queue(self, queue: MessageQueue) -> None:
        """Take one queue out, stored and unlocked if that can be done now; for offsets that were reset."""
        process_queue = self.process_queue_table.pop(queue, None)
        if process_queue is not None:
            process_queue.dropped = True
            self.remove_unnecessary_message_queue(queue, process_queue)

    def destroy(self) -> None:
        """Drop and forget every queue; storing and unlocking is the consumer's business, before this."""
        self.process_queue_table.drop_topics_not_in(())
        self.pop_process_queue_table.drop_topics_not_in(())
