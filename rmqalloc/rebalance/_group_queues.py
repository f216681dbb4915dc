"""The queues of a consumer group in one client: their state, their locks, and what kinds of consumers do differently."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from rmqalloc.defects import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._requests import PopRequest, PullRequest, Queues
from rmqalloc.rebalance.process_queue import PopProcessQueue, ProcessQueue
from rmqalloc.rebalance.queue_table import QueueTable
from rmqalloc.remoting import ClientError, ConsumeType, MessageModel, SubscriptionData
from rmqalloc.strategies import Strategy

if TYPE_CHECKING:
    from rmqalloc.rebalance._client_factory import MQClientFactory

LOCK_TIMEOUT = 1_000

log = logging.getLogger(__name__)


class GroupQueues(ABC):
    """The queues of one consumer group in one client; `RebalanceImpl` makes them follow the strategy.

    Parameters
    ----------
    consumer_group : str
        Group.
    message_model : MessageModel
        Whether clients divide queues or each take all.
    strategy : Strategy
        How they divide them.

    Attributes
    ----------
    process_queue_table : QueueTable of ProcessQueue
        Queues that are pulled, and dropped ones that could not be removed yet.
    pop_process_queue_table : QueueTable of PopProcessQueue
        Queues that are popped.
    topic_subscribe_info : dict of str to frozenset of MessageQueue
        Route view of each subscribed topic.
    subscription_inner : dict of str to SubscriptionData
        Subscriptions by topic.
    client_factory : MQClientFactory
        The client; set when the consumer starts.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceImpl``, but for its passes.
    """

    client_factory: MQClientFactory

    def __init__(self, consumer_group: str, message_model: MessageModel, strategy: Strategy) -> None:
        self.consumer_group = consumer_group
        self.message_model = message_model
        self.strategy = strategy
        self.process_queue_table: QueueTable[ProcessQueue] = QueueTable()
        self.pop_process_queue_table: QueueTable[PopProcessQueue] = QueueTable()
        self.topic_subscribe_info: dict[str, AbstractSet[MessageQueue]] = {}
        self.subscription_inner: dict[str, SubscriptionData] = {}

    # --- What the kinds of consumers do differently ---

    @abstractmethod
    def consume_type(self) -> ConsumeType:
        """Return how the consumer reads; queues of passive ones expire when they are not pulled."""

    @abstractmethod
    def message_queue_changed(self, topic: str, mq_all: Queues | None, mq_divided: Queues) -> None:
        """Handle a change of a topic's queues; ``mq_all`` is None where a broker assigned them."""

    @abstractmethod
    def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Store the offset of a dropped queue and let it go; False if it has to stay for now."""

    @abstractmethod
    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Forget the offset that memory holds of a queue that is about to be taken."""

    @abstractmethod
    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> int:
        """Return the offset a new queue is read from; ClientError where Java throws ``MQClientException``."""

    def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """Return the same, with -1 for ClientError; other errors pass."""
        try:
            return self.compute_pull_from_where_with_exception(queue)
        except ClientError as error:
            log.info("no first offset of %s: %s", queue, error)
            return -1

    def client_rebalance(self, topic: str) -> bool:
        """Return True if the client allocates itself, rather than asking a broker to."""
        return True

    def consume_init_mode(self) -> int:
        """Return where popping begins; only push consumers pop."""
        raise NotImplementedError("only push consumers pop")

    def create_process_queue(self) -> ProcessQueue:
        """Return the state of a queue that is about to be taken."""
        return ProcessQueue(self.client_factory.clock.now())

    def dispatch_pull_requests(self, requests: list[PullRequest], delay: int) -> None:  # noqa: B027 (most pull by themselves)
        """Begin to pull new queues."""

    def dispatch_pop_requests(self, requests: list[PopRequest], delay: int) -> None:  # noqa: B027
        """Begin to pop new queues."""

    def working_queues(self, topic: str) -> set[MessageQueue]:
        """Return the queues of a topic that are pulled or popped and not dropped."""
        pulled, popped = self.process_queue_table.of_topic(topic), self.pop_process_queue_table.of_topic(topic)
        working = {queue for queue, process_queue in pulled.items() if not process_queue.dropped}
        if popped:
            working.update(queue for queue, process_queue in popped.items() if not process_queue.dropped)
        return working

    # --- Locks at brokers ---

    def lock(self, queue: MessageQueue) -> bool:
        """Lock one queue at its master; False if that is unknown, does not answer or says no."""
        factory = self.client_factory
        master = factory.routes.master_of(factory.routes.broker_of(queue))
        locked = None if master is None else self._lock_batch(master, [queue])
        for held in locked or ():
            process_queue = self.process_queue_table.get(held)
            if process_queue is not None:
                self._renew(process_queue)
        return locked is not None and queue in locked

    def lock_all(self) -> None:
        """Renew the locks of all queues, one request per broker; where nobody answers, queues stay as they are and age."""
        for master, queues in self._queues_by_master():
            locked = self._lock_batch(master, queues)
            if locked is None:
                continue
            for queue in queues:
                process_queue = self.process_queue_table.get(queue)
                if process_queue is not None and queue in locked:
                    self._renew(process_queue)
                elif process_queue is not None:
                    process_queue.locked = False

    def unlock(self, queue: MessageQueue, oneway: bool) -> None:
        """Unlock one queue at its master, if that is known."""
        factory = self.client_factory
        master = factory.routes.master_of(factory.routes.broker_of(queue))
        if master is not None:
            self._unlock_batch(master, [queue], oneway)

    def unlock_all(self, oneway: bool) -> None:
        """Unlock all queues, one request per broker; those of a broker that answers count as not locked."""
        for master, queues in self._queues_by_master():
            if self._unlock_batch(master, queues, oneway):
                for queue in queues:
                    process_queue = self.process_queue_table.get(queue)
                    if process_queue is not None:
                        process_queue.locked = False

    def _lock_batch(self, master: str, queues: list[MessageQueue]) -> set[MessageQueue] | None:
        """Return the queues that are now held, None if the broker gave no good answer."""
        factory = self.client_factory
        try:
            return factory.remoting.lock_batch(master, self.consumer_group, factory.client_id, queues, LOCK_TIMEOUT)
        except Exception as error:
            refuse_defect(error)
            log.info("%s did not lock %d queues of %s: %s", master, len(queues), self.consumer_group, error)
            return None

    def _unlock_batch(self, master: str, queues: list[MessageQueue], oneway: bool) -> bool:
        factory = self.client_factory
        try:
            factory.remoting.unlock_batch(master, self.consumer_group, factory.client_id, queues, oneway)
        except Exception as error:
            refuse_defect(error)
            log.info("%s did not unlock %d queues of %s: %s", master, len(queues), self.consumer_group, error)
            return False
        return True

    def _renew(self, process_queue: ProcessQueue) -> None:
        process_queue.locked = True
        process_queue.last_lock_timestamp = self.client_factory.clock.now()

    def _queues_by_master(self) -> list[tuple[str, list[MessageQueue]]]:
        """Return the queues to lock or unlock together, by broker, without those of brokers whose master is unknown."""
        factory = self.client_factory
        by_broker: dict[str | None, list[MessageQueue]] = {}
        for queue, process_queue in self.process_queue_table.items():
            if process_queue.dropped and not factory.profile.locks_dropped:
                continue
            broker = factory.routes.broker_of(queue)
            if broker in by_broker:
                by_broker[broker].append(queue)
            else:
                # Before 5.5 queues were looked up by their physical broker and kept by their own, which for the queues of
                # static topics are two: the name of the latter has no address, and each of its queues replaces the one before.
                by_broker[broker if factory.profile.renews_logical_locks else queue.broker_name] = [queue]
        with_masters = ((factory.routes.master_of(broker), queues) for broker, queues in by_broker.items())
        return [(master, queues) for master, queues in with_masters if master is not None]
