"""How far a running member is behind in its queues, from what its last pulls said."""

from __future__ import annotations

from typing import cast

from rmqalloc import rebalance
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.model import MessageQueue


def lag_of(process_queue: PulledQueue, committed: int) -> int | None:
    """Return how many messages of a queue are not consumed, None before the first answer to a pull.

    Parameters
    ----------
    process_queue : PulledQueue
        The queue.
    committed : int
        Its committed offset. Below zero where nothing is committed yet; then what was not pulled
        counts, and what was pulled and is not consumed.

    Examples
    --------
    >>> queue = PulledQueue(0)
    >>> lag_of(queue, 7)
    >>> queue.max_offset, queue.next_offset, queue.n_messages = 10, 8, 1
    >>> lag_of(queue, 7), lag_of(queue, -1)
    (3, 3)
    """
    if process_queue.max_offset < 0:
        return None
    if committed < 0:
        committed = process_queue.next_offset - process_queue.n_messages
    return max(0, process_queue.max_offset - committed)


def lags(consumer: rebalance.PushConsumer) -> dict[MessageQueue, int | None]:
    """Return the lag of each queue that a consumer works on; see `lag_of`. Any thread may ask."""
    if not hasattr(consumer, "offset_store"):
        return {}
    committed = consumer.offset_store.memory_offset
    return {
        queue: lag_of(cast(PulledQueue, process_queue), committed(queue))
        for queue, process_queue in consumer.rebalance.process_queue_table.copied().items()
        if not process_queue.dropped
    }
