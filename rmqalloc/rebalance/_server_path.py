"""A pass over one topic whose queues a broker assigns (5.0 and later)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rmqalloc.defects import refuse_defect
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance._group_queues import GroupQueues
from rmqalloc.rebalance._table_update import add_popped, add_pulled, drop_unneeded, offset_or_nothing
from rmqalloc.remoting import MessageRequestMode, QueueAssignment, SubscriptionData

log = logging.getLogger(__name__)


def rebalance_by_broker(impl: GroupQueues, topic: str, is_order: bool) -> bool:
    """Ask a broker for the group's queues of a topic, and pull or pop them as it says.

    No answer, a refusal and a null answer change nothing; an empty answer takes everything away.

    Notes
    -----
    ``RebalanceImpl.getRebalanceResultFromBroker`` and ``updateMessageQueueAssignment``.
    """
    try:
        assignments = impl.client_factory.query_assignment(
            topic, impl.consumer_group, impl.strategy.get_name(), impl.message_model
        )
    except Exception as error:
        refuse_defect(error)
        log.info("no assignment of %s for %s: %s", topic, impl.consumer_group, error)
        return False
    if assignments is None:
        return False
    popped = _queues(assignments, popped=True)
    pulled = _queues(assignments, popped=False)
    if _update_tables(impl, topic, pulled, popped, is_order):
        impl.message_queue_changed(topic, None, pulled | popped)
    return pulled | popped == impl.working_queues(topic)


def _queues(assignments: Iterable[QueueAssignment], popped: bool) -> set[MessageQueue]:
    """Return the queues to pop, or those to pull; all that are not popped are pulled."""
    return {
        assignment.queue
        for assignment in assignments
        if assignment.queue is not None and (assignment.mode is MessageRequestMode.POP) == popped
    }


def _update_tables(
    impl: GroupQueues, topic: str, pulled: set[MessageQueue], popped: set[MessageQueue], is_order: bool
) -> bool:
    if not topic.startswith(RETRY_PREFIX):
        _follow_mode(impl, topic, bool(pulled), bool(popped))
    changed = [
        drop_unneeded(impl, topic, pulled, impl.process_queue_table, impl.remove_unnecessary_message_queue),
        # Popped queues have nothing to store and no lock.
        drop_unneeded(impl, topic, popped, impl.pop_process_queue_table, lambda _queue, _process_queue: True),
        add_pulled(impl, pulled, is_order, offset_or_nothing(impl)),
        add_popped(impl, topic, popped),
    ]
    return any(changed)


def _follow_mode(impl: GroupQueues, topic: str, pulls: bool, pops: bool) -> None:
    """Subscribe a pulled topic to the retry topic of popping too, for what was popped before; end that of a popped one."""
    retry_topic = f"{RETRY_PREFIX}{impl.consumer_group}_{topic}"
    if pulls and not pops:
        now = impl.client_factory.clock.now()
        impl.subscription_inner[retry_topic] = SubscriptionData(retry_topic, sub_version=now)
    elif pops and not pulls:
        impl.subscription_inner.pop(retry_topic, None)
