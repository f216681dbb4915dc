"""What a lite pull consumer knows of each queue it pulls."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.remoting.clock import Clock


@dataclass(slots=True, eq=False)
class QueueState:
    """One queue: what the rebalance knows of it, whether it is paused, and offsets (-1 for none)."""

    process_queue: ProcessQueue
    paused: bool = False
    pull_offset: int = -1
    consume_offset: int = -1
    seek_offset: int = -1


class AssignedQueues:
    """Queues a lite pull consumer pulls, from subscriptions or chosen.

    Parameters
    ----------
    clock : Clock
        Time of queues that the rebalance does not know.
    process_queue_table : mapping of MessageQueue to ProcessQueue
        Those it does know; their process queues are adopted.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.AssignedMessageQueue``.
    """

    def __init__(self, clock: Clock, process_queue_table: Mapping[MessageQueue, ProcessQueue]) -> None:
        self._clock = clock
        self._table = process_queue_table
        self._states: dict[MessageQueue, QueueState] = {}

    def queues(self) -> Collection[MessageQueue]:
        """All of them."""
        return self._states.keys()

    def state(self, queue: MessageQueue) -> QueueState | None:
        """One of them."""
        return self._states.get(queue)

    def is_paused(self, queue: MessageQueue) -> bool:
        """Whether a queue is paused, or not there."""
        state = self._states.get(queue)
        return state is None or state.paused

    def set_paused(self, queues: Iterable[MessageQueue], paused: bool) -> None:
        """Pause queues or let them go on; those not there are passed over."""
        for queue in queues:
            if queue in self._states:
                self._states[queue].paused = paused

    def replace(self, queues: Collection[MessageQueue], topic: str | None = None) -> None:
        """Drop and forget queues that are not given (of one topic, or of all), and add those that are missing."""
        for queue in [q for q in self._states if (topic is None or q.topic == topic) and q not in queues]:
            self._states.pop(queue).process_queue.dropped = True
        for queue in queues:
            if queue not in self._states:
                known = self._table.get(queue)
                self._states[queue] = QueueState(ProcessQueue(self._clock.now()) if known is None else known)

    def forget_topic(self, topic: str) -> None:
        """Forget the queues of a topic, without dropping them."""
        for queue in [queue for queue in self._states if queue.topic == topic]:
            del self._states[queue]
