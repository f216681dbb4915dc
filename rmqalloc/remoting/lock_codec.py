"""Locks of the queues of an ordered group: requests to lock (code 41) and to unlock (42), and the
queues that are held afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable

from rmqalloc.model import MessageQueue
from rmqalloc.remoting.body_fields import (
    body_bytes,
    body_content,
    list_of,
    object_of,
    queue_content,
    queue_of,
)


def lock_body(consumer_group: str, client_id: str, queues: Iterable[MessageQueue]) -> bytes:
    """Return the body of a request to lock or to unlock; Java's ``LockBatchRequestBody`` and
    ``UnlockBatchRequestBody``.

    Examples
    --------
    >>> lock_body("g", "x", [MessageQueue("orders", "a", 3)]).decode()
    '{"consumerGroup":"g","clientId":"x","mqSet":[{"topic":"orders","brokerName":"a","queueId":3}]}'
    """
    locked = [queue_content(queue) for queue in queues]
    return body_bytes({"consumerGroup": consumer_group, "clientId": client_id, "mqSet": locked})


def read_locked(body: bytes) -> set[MessageQueue]:
    """Return the queues that are now held; Java's ``LockBatchResponseBody``.

    One unreadable queue makes the whole answer an error, as in Java: held locks stay until they
    expire, and are requested again before.

    Examples
    --------
    >>> read_locked(b'{"lockOKMQSet":[{"topic":"orders","brokerName":"a","queueId":3}]}')
    {MessageQueue(topic='orders', broker_name='a', queue_id=3)}
    """
    held = list_of(object_of(body_content(body), "locks").get("lockOKMQSet") or [], "lockOKMQSet")
    return {queue_of(one) for one in held}
