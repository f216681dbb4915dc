"""Fields of requests about offsets: stored offsets (codes 14, 15), the first (31) and last (30)
offset of a queue, and offsets by time (29).
"""

from __future__ import annotations

from collections.abc import Mapping

from rmqalloc.model import MessageQueue
from rmqalloc.remoting.body_fields import number_field


def queue_request_fields(queue: MessageQueue) -> dict[str, str]:
    """Return the fields of a request for a queue's first or last offset.

    Java's ``GetMinOffsetRequestHeader`` and ``GetMaxOffsetRequestHeader``; brokers of static topics
    use ``bname``.

    Examples
    --------
    >>> queue_request_fields(MessageQueue("orders", "broker-a", 3))
    {'topic': 'orders', 'queueId': '3', 'bname': 'broker-a'}
    """
    return {"topic": queue.topic, "queueId": str(queue.queue_id), "bname": queue.broker_name}


def query_offset_fields(consumer_group: str, queue: MessageQueue) -> dict[str, str]:
    """Return the fields of a request for a stored offset; Java's
    ``QueryConsumerOffsetRequestHeader``.

    Examples
    --------
    >>> query_offset_fields("billing", MessageQueue("orders", "broker-a", 3))["consumerGroup"]
    'billing'
    """
    return {"consumerGroup": consumer_group} | queue_request_fields(queue)


def update_offset_fields(consumer_group: str, queue: MessageQueue, offset: int) -> dict[str, str]:
    """Return the fields of a request that stores an offset; Java's
    ``UpdateConsumerOffsetRequestHeader``.

    Examples
    --------
    >>> update_offset_fields("billing", MessageQueue("orders", "broker-a", 3), 41)["commitOffset"]
    '41'
    """
    return query_offset_fields(consumer_group, queue) | {"commitOffset": str(offset)}


def search_offset_fields(queue: MessageQueue, timestamp: int) -> dict[str, str]:
    """Return the fields of a request for the first offset stored at a time (ms) or later; Java's
    ``SearchOffsetRequestHeader``.

    Examples
    --------
    >>> search_offset_fields(MessageQueue("orders", "broker-a", 3), 1_700_000_000_000)["timestamp"]
    '1700000000000'
    """
    return queue_request_fields(queue) | {"timestamp": str(timestamp)}


def read_offset(ext_fields: Mapping[str, str]) -> int:
    """Return the offset in the fields of an answer.

    Examples
    --------
    >>> read_offset({"offset": "42"})
    42
    """
    return number_field(ext_fields, "offset")
