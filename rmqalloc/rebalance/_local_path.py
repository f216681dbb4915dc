"""A pass over one topic that the client allocates itself."""

from __future__ import annotations

import logging
from collections.abc import Set as AbstractSet

from rmqalloc.defects import refuse_defect
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance._group_queues import GroupQueues
from rmqalloc.rebalance._table_update import update_process_queue_table
from rmqalloc.rebalance.allocation import UnsortableError
from rmqalloc.remoting import MessageModel

log = logging.getLogger(__name__)

_NOTHING: frozenset[MessageQueue] = frozenset()


def rebalance_by_topic(impl: GroupQueues, topic: str, is_order: bool) -> bool:
    """Give the group what it should have of a topic: all of it when broadcasting, else the strategy's share.

    Notes
    -----
    ``RebalanceImpl.rebalanceByTopic``.
    """
    if impl.message_model is MessageModel.BROADCASTING:
        return _take_all(impl, topic, is_order)
    return _take_share(impl, topic, is_order)


def _take_all(impl: GroupQueues, topic: str, is_order: bool) -> bool:
    view = impl.topic_subscribe_info.get(topic)
    if view is None:
        _tell_null_route(impl, topic)
        return True
    need_lock = is_order and impl.client_factory.profile.broadcasting_locks
    if update_process_queue_table(impl, topic, view, need_lock):
        impl.message_queue_changed(topic, view, view)
    return view == impl.working_queues(topic)


def _take_share(impl: GroupQueues, topic: str, is_order: bool) -> bool:
    factory = impl.client_factory
    view = _view_to_divide(impl, topic)
    client_ids = None
    if view is not None or factory.profile.asks_clients_first:
        client_ids = factory.find_consumer_id_list(topic, impl.consumer_group)
    if view is None and not topic.startswith(RETRY_PREFIX):
        _tell_null_route(impl, topic)
    if view is None or client_ids is None or (factory.profile.empty_client_list_is_missing and not client_ids):
        return True
    try:
        share = factory.allocate(impl.strategy, impl.consumer_group, factory.client_id, view, client_ids)
    except UnsortableError:
        raise
    except Exception as error:
        refuse_defect(error)
        log.warning("strategy %s failed for %s of %s: %s", impl.strategy.get_name(), topic, impl.consumer_group, error)
        return False
    mine = frozenset(share or ())
    if update_process_queue_table(impl, topic, mine, is_order):
        impl.message_queue_changed(topic, view, mine)
    return mine == impl.working_queues(topic)


def _view_to_divide(impl: GroupQueues, topic: str) -> AbstractSet[MessageQueue] | None:
    """Return the queues of a topic to divide; None without a route and, since 5.5, also without a queue in it."""
    view = impl.topic_subscribe_info.get(topic)
    return None if impl.client_factory.profile.empty_view_is_missing and not view else view


def _tell_null_route(impl: GroupQueues, topic: str) -> None:
    """Report a topic without a route as an empty one, at every pass; its queues stay."""
    log.info("%s has no route to %s", impl.consumer_group, topic)
    if impl.client_factory.profile.tells_null_route:
        impl.message_queue_changed(topic, _NOTHING, _NOTHING)
