"""How a member is doing, for those who ask a broker (code 307): mqadmin's ``consumerStatus``,
dashboards, `rmqalloc.check`.
"""

from __future__ import annotations

from rmqalloc import rebalance
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.member_settings import MemberSettings
from rmqalloc.rebalance import ProcessQueue
from rmqalloc.remoting.running_info_codec import (
    ConsumerRunningInfo,
    ProcessQueueInfo,
    running_properties,
)

CLIENT_VERSION = "V5_3_3"
"""Name of the release that `rmqalloc.remoting.frames` has in the header of each frame."""

_MIB = 20


def running_info(
    consumer: rebalance.PushConsumer,
    settings: MemberSettings,
    name_servers: list[str],
    started: int,
) -> ConsumerRunningInfo:
    """Return what Java's ``DefaultMQPushConsumerImpl.consumerRunningInfo`` says of a consumer."""
    offsets = consumer.offset_store.offsets()
    queues = {
        queue: _info(process_queue, offsets.get(queue, 0))
        for queue, process_queue in consumer.rebalance.process_queue_table.items()
    }
    properties = running_properties(
        start_timestamp=started,
        name_server=";".join(name_servers),
        strategy=consumer.strategy.get_name(),
        client_version=CLIENT_VERSION,
        is_ordered=consumer.orderly,
        threads=settings.consume_concurrently,
        client_rebalance=consumer.client_rebalance,
    )
    return ConsumerRunningInfo(properties, tuple(consumer.subscriptions()), queues)


def _info(process_queue: ProcessQueue, commit_offset: int) -> ProcessQueueInfo:
    assert isinstance(process_queue, PulledQueue)
    least, greatest = process_queue.bounds or (0, 0)
    taken_least, taken_greatest = process_queue.taken_bounds or (0, 0)
    return ProcessQueueInfo(
        commit_offset=commit_offset,
        cached_msg_min_offset=least,
        cached_msg_max_offset=greatest,
        cached_msg_count=process_queue.n_messages,
        cached_msg_size_in_mib=process_queue.n_bytes >> _MIB,
        transaction_msg_min_offset=taken_least,
        transaction_msg_max_offset=taken_greatest,
        transaction_msg_count=process_queue.n_taken,
        locked=process_queue.locked,
        try_unlock_times=process_queue.try_unlock_times,
        last_lock_timestamp=process_queue.last_lock_timestamp,
        dropped=process_queue.dropped,
        last_pull_timestamp=process_queue.last_pull_timestamp,
        last_consume_timestamp=process_queue.last_consume_timestamp,
    )
