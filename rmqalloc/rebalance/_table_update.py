"""How the table of process queues follows a set of queues: what went is dropped and removed, what came is added."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator

from rmqalloc.defects import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._group_queues import GroupQueues
from rmqalloc.rebalance._requests import PopRequest, PullRequest
from rmqalloc.rebalance.process_queue import PopProcessQueue
from rmqalloc.rebalance.queue_table import AnyProcessQueue, QueueTable
from rmqalloc.remoting import ConsumeType

log = logging.getLogger(__name__)


def update_process_queue_table(
    impl: GroupQueues, topic: str, target: Collection[MessageQueue], need_lock: bool
) -> bool:
    """Make the pulled queues of a topic the target set, as far as locks and offsets can be had.

    A dropped ordered queue that cannot be removed yet stays in the table and keeps the same queue from being added again.

    Notes
    -----
    ``RebalanceImpl.updateProcessQueueTableInRebalance``.
    """
    removed = drop_unneeded(impl, topic, target, impl.process_queue_table, impl.remove_unnecessary_message_queue)
    swallowing = impl.client_factory.profile.swallows_offset_errors
    added = add_pulled(impl, target, need_lock, impl.compute_pull_from_where if swallowing else offset_or_nothing(impl))
    return removed or added


def drop_unneeded(
    impl: GroupQueues,
    topic: str,
    target: Collection[MessageQueue],
    table: QueueTable[AnyProcessQueue],
    remove: Callable[[MessageQueue, AnyProcessQueue], bool],
) -> bool:
    """Drop queues of a topic that are not in the target or stall, and remove those that let themselves be removed."""
    unneeded = _dropped(impl, topic, target, table)
    changed = False
    for queue, process_queue in list(unneeded) if impl.client_factory.profile.drops_before_removing else unneeded:
        if remove(queue, process_queue):
            if queue in table:
                del table[queue]
            changed = True
    return changed


def _dropped(
    impl: GroupQueues, topic: str, target: Collection[MessageQueue], table: QueueTable[AnyProcessQueue]
) -> Iterator[tuple[MessageQueue, AnyProcessQueue]]:
    """Drop queues that are not needed and yield them; each is checked for standing still when its turn comes."""
    clock = impl.client_factory.clock
    passive = impl.consume_type() is ConsumeType.PASSIVELY
    for queue, process_queue in list(table.of_topic(topic).items()):
        if queue not in target or (
            passive and not process_queue.pulling and process_queue.is_pull_expired(clock.now())
        ):
            process_queue.dropped = True
            yield queue, process_queue


def add_pulled(
    impl: GroupQueues,
    target: Collection[MessageQueue],
    need_lock: bool,
    first_offset: Callable[[MessageQueue], int],
) -> bool:
    """Add queues that are not in the table; one without a lock or an offset is left to the next pass, lock kept."""
    factory, table = impl.client_factory, impl.process_queue_table
    all_locked = True
    requests = []
    for queue in _missing(target, table):
        if need_lock and not impl.lock(queue):
            all_locked = False
            continue
        impl.remove_dirty_offset(queue)
        process_queue = impl.create_process_queue()
        process_queue.locked = True
        next_offset = first_offset(queue)
        if next_offset >= 0 and table.setdefault(queue, process_queue) is process_queue:
            requests.append(PullRequest(impl.consumer_group, queue, process_queue, next_offset))
    if not all_locked and factory.profile.lock_retry_delay is not None:
        factory.rebalance_later(factory.profile.lock_retry_delay)
    impl.dispatch_pull_requests(requests, factory.profile.dispatch_delay)
    return bool(requests)


def add_popped(impl: GroupQueues, topic: str, target: Collection[MessageQueue]) -> bool:
    """Add queues that are not in the table of popped ones."""
    factory, table = impl.client_factory, impl.pop_process_queue_table
    requests = []
    for queue in _missing(target, table):
        process_queue = table[queue] = PopProcessQueue(factory.clock.now())
        requests.append(PopRequest(topic, impl.consumer_group, queue, process_queue, impl.consume_init_mode()))
    impl.dispatch_pop_requests(requests, factory.profile.dispatch_delay)
    return bool(requests)


def offset_or_nothing(impl: GroupQueues) -> Callable[[MessageQueue], int]:
    """Return a function for the first offset of a queue, with -1 for any error whatever."""

    def first_offset(queue: MessageQueue) -> int:
        try:
            return impl.compute_pull_from_where_with_exception(queue)
        except Exception as error:
            refuse_defect(error)
            log.info("%s has no first offset of %s: %s", impl.consumer_group, queue, error)
            return -1

    return first_offset


def _missing(target: Collection[MessageQueue], table: QueueTable[AnyProcessQueue]) -> list[MessageQueue]:
    """Return missing queues in an order that does not depend on hashes, so that runs repeat; Java has none."""
    return sorted(table.lacks(target))
