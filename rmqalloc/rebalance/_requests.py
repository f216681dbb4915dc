"""What a rebalance asks the reading side of a consumer to do."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.process_queue import PopProcessQueue, ProcessQueue

Queues = AbstractSet[MessageQueue]

INIT_FROM_MIN = 0
INIT_FROM_MAX = 1


@dataclass(slots=True, eq=False)
class PullRequest:
    """Pull a queue from an offset on, repeatedly, until its process queue is dropped.

    ``previously_locked`` states that an ordered queue has been pulled under its lock; see
    `RebalancePush.prepare_ordered_pull`.
    """

    consumer_group: str
    queue: MessageQueue
    process_queue: ProcessQueue
    next_offset: int
    previously_locked: bool = False


@dataclass(slots=True, eq=False)
class PopRequest:
    """Pop a queue repeatedly until its process queue is dropped; ``init_mode`` sets the beginning of
    a new group.

    ``init_mode`` is `INIT_FROM_MIN` for groups that consume from the first offset, else
    `INIT_FROM_MAX`.
    """

    topic: str
    consumer_group: str
    queue: MessageQueue
    process_queue: PopProcessQueue
    init_mode: int


@dataclass(slots=True, eq=False)
class PullTask:
    """A lite pull consumer's loop over one queue, until it is cancelled."""

    queue: MessageQueue
    cancelled: bool = False
