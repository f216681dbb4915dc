"""What a consumer does with the queues a strategy gives it: one pass over its topics after the
other.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from rmqalloc.errors import refuse_defect
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance._requests import PopRequest, PullRequest, Queues
from rmqalloc.rebalance.allocation import UnsortableError
from rmqalloc.rebalance.driving import Request, Steps, level_of, nothing
from rmqalloc.rebalance.process_queue import PopProcessQueue, ProcessQueue
from rmqalloc.rebalance.queue_table import AnyProcessQueue, QueueTable
from rmqalloc.remoting import (
    ClientError,
    ConsumeType,
    MessageModel,
    MessageRequestMode,
    QueueAssignment,
    SubscriptionData,
)
from rmqalloc.strategies import Strategy

if TYPE_CHECKING:
    from rmqalloc.rebalance._client_factory import MQClientFactory

LOCK_TIMEOUT = 1_000

_NOTHING: frozenset[MessageQueue] = frozenset()

log = logging.getLogger(__name__)


class RebalanceImpl(ABC):
    """The queues of one consumer group in one client, and their update by the strategy.

    Methods that send requests are generators of `Steps`. A client runs one pass at a time. While a
    pass waits for an answer, only these may change its tables, wherever Java has a lock or a
    concurrent map for them: renewals of locks (marks of process queues), the end of the consumer
    (all queues are dropped), reset offsets (`remove_process_queue`), a pause (a mark of the
    consumer), subscriptions, and routes that arrive. A notice only requests the next pass. So code
    that continues after an answer checks the table again before it changes it.

    Parameters
    ----------
    consumer_group : str
        Group.
    message_model : MessageModel
        Whether clients divide queues, or each client takes all queues.
    strategy : Strategy
        How clients divide queues.

    Attributes
    ----------
    process_queue_table : QueueTable of ProcessQueue
        Pulled queues, and dropped queues that could not be removed yet.
    pop_process_queue_table : QueueTable of PopProcessQueue
        Popped queues.
    topic_subscribe_info : dict of str to frozenset of MessageQueue
        Route view of each subscribed topic.
    subscription_inner : dict of str to SubscriptionData
        Subscriptions by topic.
    client_factory : MQClientFactory
        The client; set when the consumer starts.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceImpl``.
    """

    client_factory: MQClientFactory

    def __init__(
        self, consumer_group: str, message_model: MessageModel, strategy: Strategy
    ) -> None:
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
        """Return how the consumer reads; queues of passive consumers expire when they are not pulled."""

    @abstractmethod
    def message_queue_changed(
        self, topic: str, mq_all: Queues | None, mq_divided: Queues
    ) -> Steps[None]:
        """Handle a change of a topic's queues; ``mq_all`` is None where a broker assigned them."""

    @abstractmethod
    def remove_unnecessary_message_queue(
        self, queue: MessageQueue, process_queue: ProcessQueue
    ) -> Steps[bool]:
        """Store the offset of a dropped queue and release it; False if it has to stay for now."""

    @abstractmethod
    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Remove the offset of a queue from memory before the queue is taken."""

    @abstractmethod
    def compute_pull_from_where_with_exception(self, queue: MessageQueue) -> Steps[int]:
        """Return the first offset of a new queue; ClientError where Java throws ``MQClientException``."""

    def compute_pull_from_where(self, queue: MessageQueue) -> Steps[int]:
        """Return the same, with -1 for ClientError; further errors pass."""
        try:
            return (yield from self.compute_pull_from_where_with_exception(queue))
        except ClientError as error:
            log.debug("no first offset of %s: %s", queue, error)
            return -1

    def client_rebalance(self, topic: str) -> bool:
        """Return True if the client allocates by itself, False if a broker assigns its queues."""
        return True

    def consume_init_mode(self) -> int:
        """Return where popping begins; only push consumers pop."""
        raise NotImplementedError("only push consumers pop")

    def create_process_queue(self) -> ProcessQueue:
        """Return the state of a queue before it is taken."""
        return ProcessQueue(self.client_factory.clock.now())

    def dispatch_pull_requests(self, requests: list[PullRequest], delay: int) -> None:  # noqa: B027 (most pull by themselves)
        """Begin to pull new queues."""

    def dispatch_pop_requests(self, requests: list[PopRequest], delay: int) -> None:  # noqa: B027
        """Begin to pop new queues."""

    # --- Passes ---

    def do_rebalance(self, is_order: bool) -> Steps[bool]:
        """Run a pass over all subscribed topics.

        A topic that fails does not prevent the remaining topics; a failed retry topic does not even
        count.

        Parameters
        ----------
        is_order : bool
            The group consumes in order, so new queues are locked.

        Returns
        -------
        bool
            Whether every topic has its expected queues, as far as this pass could determine.
        """
        balanced = True
        for topic in list(self.subscription_inner):
            if topic not in self.subscription_inner:
                continue
            try:
                rebalance = self._by_topic if self.client_rebalance(topic) else self._by_broker
                balanced = (yield from rebalance(topic, is_order)) and balanced
            except Exception as error:
                refuse_defect(error)
                if not topic.startswith(RETRY_PREFIX):
                    what = "pass of %s over %s failed"
                    log.log(level_of(error), what, self.consumer_group, topic, exc_info=True)
                    balanced = False
        self.truncate_message_queue_not_my_topic()
        return balanced

    def _by_topic(self, topic: str, is_order: bool) -> Steps[bool]:
        """Take all queues of a topic when broadcasting, else the strategy's share
        (``rebalanceByTopic``).
        """
        share = self.message_model is MessageModel.CLUSTERING
        return self._take_share(topic, is_order) if share else self._take_all(topic, is_order)

    def _take_all(self, topic: str, is_order: bool) -> Steps[bool]:
        view = self.topic_subscribe_info.get(topic)
        if view is None:
            yield from self._report_null_route(topic)
            return True
        need_lock = is_order and self.client_factory.profile.broadcasting_locks
        if (yield from self._update_process_queue_table(topic, view, need_lock)):
            yield from self.message_queue_changed(topic, view, view)
        return view == self.working_queues(topic)

    def _take_share(self, topic: str, is_order: bool) -> Steps[bool]:
        factory = self.client_factory
        view = self.topic_subscribe_info.get(topic)
        if factory.profile.empty_view_is_missing and not view:
            view = None
        client_ids = None
        if view is not None or factory.profile.asks_clients_first:
            client_ids = yield from factory.find_consumer_id_list(topic, self.consumer_group)
        if view is None and not topic.startswith(RETRY_PREFIX):
            yield from self._report_null_route(topic)
        if (
            view is None
            or client_ids is None
            or (factory.profile.empty_client_list_is_missing and not client_ids)
        ):
            return True
        try:
            share = factory.allocate(
                self.strategy, self.consumer_group, factory.client_id, view, client_ids
            )
        except UnsortableError:
            raise
        except Exception as error:
            refuse_defect(error)
            name = self.strategy.get_name()
            log.warning(
                "strategy %s failed for %s of %s: %s", name, topic, self.consumer_group, error
            )
            return False
        mine = frozenset(share or ())
        if self._works_on_exactly(topic, mine):
            return True
        if (yield from self._update_process_queue_table(topic, mine, is_order)):
            yield from self.message_queue_changed(topic, view, mine)
        return mine == self.working_queues(topic)

    def _report_null_route(self, topic: str) -> Steps[None]:
        """Report a topic without a route as an empty one, at every pass; its queues stay."""
        log.debug("%s has no route to %s", self.consumer_group, topic)
        if self.client_factory.profile.tells_null_route:
            yield from self.message_queue_changed(topic, _NOTHING, _NOTHING)

    # --- Passes over topics whose queues a broker assigns (5.0 and later) ---

    def _by_broker(self, topic: str, is_order: bool) -> Steps[bool]:
        """Ask a broker for the group's queues of a topic, and pull or pop them as it says.

        No answer, a refusal and a null answer change nothing; an empty answer takes everything away
        (``getRebalanceResultFromBroker``).
        """
        name, model = self.strategy.get_name(), self.message_model
        try:
            assignments = yield from self.client_factory.query_assignment(
                topic, self.consumer_group, name, model
            )
        except Exception as error:
            refuse_defect(error)
            log.debug("no assignment of %s for %s: %s", topic, self.consumer_group, error)
            return False
        if assignments is None:
            return False
        popped = _queues(assignments, popped=True)
        pulled = _queues(assignments, popped=False)
        if (yield from self._update_message_queue_assignment(topic, pulled, popped, is_order)):
            yield from self.message_queue_changed(topic, None, pulled | popped)
        return pulled | popped == self.working_queues(topic)

    def _update_message_queue_assignment(
        self, topic: str, pulled: set[MessageQueue], popped: set[MessageQueue], is_order: bool
    ) -> Steps[bool]:
        if not topic.startswith(RETRY_PREFIX):
            self._follow_mode(topic, bool(pulled), bool(popped))
        table, pop_table = self.process_queue_table, self.pop_process_queue_table
        changed = yield from self._drop_unneeded(
            topic, pulled, table, self.remove_unnecessary_message_queue
        )
        # Popped queues have nothing to store and no lock.
        changed |= yield from self._drop_unneeded(
            topic, popped, pop_table, lambda _queue, _process_queue: nothing(True)
        )
        changed |= yield from self._add_pulled(
            _wanted(pulled, table), is_order, self._first_offset_or_none
        )
        return self._add_popped(topic, popped) or changed

    def _follow_mode(self, topic: str, pulls: bool, pops: bool) -> None:
        """Subscribe a pulled topic to the retry topic of popping too, for what was popped before;
        end that of a popped one.
        """
        retry_topic = f"{RETRY_PREFIX}{self.consumer_group}_{topic}"
        if pulls and not pops:
            now = self.client_factory.clock.now()
            self.subscription_inner[retry_topic] = SubscriptionData(retry_topic, sub_version=now)
        elif pops and not pulls:
            self.subscription_inner.pop(retry_topic, None)

    # --- How the tables follow: what went is dropped and removed, what came is added ---

    def _update_process_queue_table(
        self, topic: str, target: Collection[MessageQueue], need_lock: bool
    ) -> Steps[bool]:
        """Make the pulled queues of a topic the target set, as far as locks and offsets can be had.

        A dropped ordered queue that cannot be removed yet stays in the table and keeps the same
        queue from being added again (``updateProcessQueueTableInRebalance``).
        """
        table, remove = self.process_queue_table, self.remove_unnecessary_message_queue
        removed = yield from self._drop_unneeded(topic, target, table, remove)
        swallows = self.client_factory.profile.swallows_offset_errors
        first_offset = self.compute_pull_from_where if swallows else self._first_offset_or_none
        wanted = _wanted(target, table)
        added = bool(wanted) and (yield from self._add_pulled(wanted, need_lock, first_offset))
        return removed or added

    def _drop_unneeded(
        self,
        topic: str,
        target: Collection[MessageQueue],
        table: QueueTable[AnyProcessQueue],
        remove: Callable[[MessageQueue, AnyProcessQueue], Steps[bool]],
    ) -> Steps[bool]:
        """Drop queues of a topic that are not in the target or stall, and remove those that let
        themselves be removed.
        """
        unneeded: Iterable[tuple[MessageQueue, AnyProcessQueue]] = self._dropped(
            topic, target, table
        )
        if self.client_factory.profile.drops_before_removing:
            unneeded = list(unneeded)
        changed = False
        for queue, process_queue in unneeded:
            if (yield from remove(queue, process_queue)):
                if queue in table:
                    del table[queue]
                changed = True
        return changed

    def _dropped(
        self, topic: str, target: Collection[MessageQueue], table: QueueTable[AnyProcessQueue]
    ) -> Iterator[tuple[MessageQueue, AnyProcessQueue]]:
        """Drop queues that are not needed and yield them; each is checked for standing still when
        its turn comes.
        """
        for queue, process_queue in list(table.of_topic(topic).items()):
            if queue not in target or (
                not process_queue.pulling and self._stands_still(process_queue)
            ):
                process_queue.dropped = True
                yield queue, process_queue

    def _add_pulled(
        self,
        wanted: Iterable[MessageQueue],
        need_lock: bool,
        first_offset: Callable[[MessageQueue], Steps[int]],
    ) -> Steps[bool]:
        """Add queues that are not in the table; one without a lock or an offset is left to the next
        pass, lock kept.
        """
        factory, table = self.client_factory, self.process_queue_table
        all_locked = True
        requests = []
        for queue in wanted:
            if queue in table:
                continue
            if need_lock and not (yield from self.lock(queue)):
                all_locked = False
                continue
            self.remove_dirty_offset(queue)
            process_queue = self.create_process_queue()
            process_queue.locked = True
            next_offset = yield from first_offset(queue)
            if next_offset >= 0 and table.setdefault(queue, process_queue) is process_queue:
                log.info(
                    "%s begins to read %s at offset %d", self.consumer_group, queue, next_offset
                )
                requests.append(PullRequest(self.consumer_group, queue, process_queue, next_offset))
        if not all_locked and factory.profile.lock_retry_delay is not None:
            factory.rebalance_later(factory.profile.lock_retry_delay)
        self.dispatch_pull_requests(requests, factory.profile.dispatch_delay)
        return bool(requests)

    def _add_popped(self, topic: str, target: Collection[MessageQueue]) -> bool:
        """Add queues that are not in the table of popped ones."""
        factory, table = self.client_factory, self.pop_process_queue_table
        requests = []
        for queue in sorted(table.lacks(target)):
            process_queue = table[queue] = PopProcessQueue(factory.clock.now())
            requests.append(
                PopRequest(
                    topic, self.consumer_group, queue, process_queue, self.consume_init_mode()
                )
            )
        self.dispatch_pop_requests(requests, factory.profile.dispatch_delay)
        return bool(requests)

    def _first_offset_or_none(self, queue: MessageQueue) -> Steps[int]:
        """Return the first offset of a queue, -1 for any error whatever."""
        try:
            return (yield from self.compute_pull_from_where_with_exception(queue))
        except Exception as error:
            refuse_defect(error)
            log.debug("%s has no first offset of %s: %s", self.consumer_group, queue, error)
            return -1

    # --- What the tables hold, and how queues leave them otherwise ---

    def working_queues(self, topic: str) -> set[MessageQueue]:
        """Return the queues of a topic that are pulled or popped and not dropped."""
        pulled, popped = (
            self.process_queue_table.of_topic(topic),
            self.pop_process_queue_table.of_topic(topic),
        )
        working = {queue for queue, process_queue in pulled.items() if not process_queue.dropped}
        if popped:
            working.update(
                queue for queue, process_queue in popped.items() if not process_queue.dropped
            )
        return working

    def _works_on_exactly(self, topic: str, target: AbstractSet[MessageQueue]) -> bool:
        """Return True if nothing has to be dropped, removed or added to work on just these queues
        of a topic.
        """
        pulled = self.process_queue_table.of_topic(topic)
        if pulled.keys() != target or self.pop_process_queue_table.of_topic(topic):
            return False
        for process_queue in pulled.values():
            if process_queue.dropped or (
                not process_queue.pulling and self._stands_still(process_queue)
            ):
                return False
        return True

    def _stands_still(self, process_queue: ProcessQueue | PopProcessQueue) -> bool:
        """Return True if a queue of a passive consumer was not read for too long."""
        is_passive = self.consume_type() is ConsumeType.PASSIVELY
        return is_passive and process_queue.is_pull_expired(self.client_factory.clock.now())

    def truncate_message_queue_not_my_topic(self) -> None:
        """Drop the queues of topics that are no longer subscribed.

        Offsets are not stored, queues not unlocked and changes not reported: the remaining offset is
        removed, uncommitted, when offsets are next stored, and the broker's lock of an ordered queue
        expires.
        """
        self.process_queue_table.drop_topics_not_in(self.subscription_inner)
        self.pop_process_queue_table.drop_topics_not_in(self.subscription_inner)

    def remove_process_queue(self, queue: MessageQueue) -> Steps[None]:
        """Remove one queue, stored and unlocked if possible now; for reset offsets."""
        process_queue = self.process_queue_table.pop(queue, None)
        if process_queue is not None:
            process_queue.dropped = True
            yield from self.remove_unnecessary_message_queue(queue, process_queue)

    def destroy(self) -> None:
        """Drop and forget every queue; the consumer stores and unlocks them before."""
        self.process_queue_table.drop_topics_not_in(())
        self.pop_process_queue_table.drop_topics_not_in(())

    # --- Locks at brokers ---

    def lock(self, queue: MessageQueue) -> Steps[bool]:
        """Lock one queue at its master; False if the master is unknown, does not answer or refuses."""
        factory = self.client_factory
        master = factory.routes.master_of(factory.routes.broker_of(queue))
        locked = None if master is None else (yield from self._lock_batch(master, [queue]))
        for held in locked or ():
            process_queue = self.process_queue_table.get(held)
            if process_queue is not None:
                self._renew(process_queue)
        return locked is not None and queue in locked

    def lock_all(self) -> Steps[None]:
        """Renew the locks of all queues, one request per broker; without an answer, queues stay
        unchanged and age.
        """
        for master, queues in self._queues_by_master():
            locked = yield from self._lock_batch(master, queues)
            if locked is None:
                continue
            for queue in queues:
                process_queue = self.process_queue_table.get(queue)
                if process_queue is not None and queue in locked:
                    self._renew(process_queue)
                elif process_queue is not None:
                    process_queue.locked = False

    def unlock(self, queue: MessageQueue, oneway: bool) -> Steps[None]:
        """Unlock one queue at its master, if that is known."""
        factory = self.client_factory
        master = factory.routes.master_of(factory.routes.broker_of(queue))
        if master is not None:
            yield from self._unlock_batch(master, [queue], oneway)

    def unlock_all(self, oneway: bool) -> Steps[None]:
        """Unlock all queues, one request per broker; queues of a broker that answers count as not
        locked.
        """
        for master, queues in self._queues_by_master():
            if (yield from self._unlock_batch(master, queues, oneway)):
                for queue in queues:
                    process_queue = self.process_queue_table.get(queue)
                    if process_queue is not None:
                        process_queue.locked = False

    def _lock_batch(
        self, master: str, queues: list[MessageQueue]
    ) -> Steps[set[MessageQueue] | None]:
        """Return the queues that are now held, None if the broker gave no good answer."""
        group, client_id = self.consumer_group, self.client_factory.client_id
        try:
            held: set[MessageQueue] = yield Request(
                "lock_batch", (master, group, client_id, queues, LOCK_TIMEOUT)
            )
        except Exception as error:
            refuse_defect(error)
            log.debug("%s did not lock %d queues of %s: %s", master, len(queues), group, error)
            return None
        return held

    def _unlock_batch(self, master: str, queues: list[MessageQueue], oneway: bool) -> Steps[bool]:
        group, client_id = self.consumer_group, self.client_factory.client_id
        try:
            yield Request("unlock_batch", (master, group, client_id, queues, oneway))
        except Exception as error:
            refuse_defect(error)
            log.debug("%s did not unlock %d queues of %s: %s", master, len(queues), group, error)
            return False
        return True

    def _renew(self, process_queue: ProcessQueue) -> None:
        process_queue.locked = True
        process_queue.last_lock_timestamp = self.client_factory.clock.now()

    def _queues_by_master(self) -> Iterator[tuple[str, list[MessageQueue]]]:
        """Yield the queues to lock or unlock together, by broker, without those of brokers whose
        master is unknown by then.
        """
        factory = self.client_factory
        by_broker: dict[str | None, list[MessageQueue]] = {}
        for queue, process_queue in self.process_queue_table.items():
            if process_queue.dropped and not factory.profile.locks_dropped:
                continue
            broker = factory.routes.broker_of(queue)
            if broker in by_broker:
                by_broker[broker].append(queue)
            else:
                # Before 5.5 queues were looked up by their physical broker and kept by their own,
                # which for the queues of static topics are two: the name of the latter has no
                # address, and each of its queues replaces the one before.
                by_broker[broker if factory.profile.renews_logical_locks else queue.broker_name] = [
                    queue
                ]
        for broker, queues in by_broker.items():
            master = factory.routes.master_of(broker)
            if master is not None:
                yield master, queues


def _queues(assignments: Iterable[QueueAssignment], popped: bool) -> set[MessageQueue]:
    """Return the queues to pop, or those to pull; all that are not popped are pulled."""
    return {
        assignment.queue
        for assignment in assignments
        if assignment.queue is not None and (assignment.mode is MessageRequestMode.POP) == popped
    }


def _wanted(
    target: Collection[MessageQueue], table: QueueTable[AnyProcessQueue]
) -> list[MessageQueue]:
    """Return the queues of a target, if one is missing, in an order by which runs repeat; Java has
    none.

    Whoever goes through them looks for each in the table when its turn comes: one that leaves
    meanwhile is taken again.
    """
    return sorted(target) if table.lacks(target) else []
