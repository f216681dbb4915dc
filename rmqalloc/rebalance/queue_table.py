"""Queues with a client's state of each, by queue and by topic."""

from collections.abc import Container, Iterable, Iterator, Mapping, MutableMapping
from typing import TypeVar

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.process_queue import PopProcessQueue, ProcessQueue

AnyProcessQueue = TypeVar("AnyProcessQueue", ProcessQueue, PopProcessQueue)


class QueueTable(MutableMapping[MessageQueue, AnyProcessQueue]):
    """Process queues by queue, with an index by topic, so that a pass over a topic reads only its own
    queues.

    Examples
    --------
    >>> table = QueueTable()
    >>> table[MessageQueue("orders", "broker-a", 0)] = ProcessQueue(now=0)
    >>> len(table), list(table.of_topic("orders")), list(table.of_topic("bills"))
    (1, [MessageQueue(topic='orders', broker_name='broker-a', queue_id=0)], [])
    """

    __slots__ = ("_by_topic", "_queues")

    def __init__(self) -> None:
        self._queues: dict[MessageQueue, AnyProcessQueue] = {}
        self._by_topic: dict[str, dict[MessageQueue, AnyProcessQueue]] = {}

    def __getitem__(self, queue: MessageQueue) -> AnyProcessQueue:
        return self._queues[queue]

    def __setitem__(self, queue: MessageQueue, process_queue: AnyProcessQueue) -> None:
        self._queues[queue] = process_queue
        self._by_topic.setdefault(queue.topic, {})[queue] = process_queue

    def __delitem__(self, queue: MessageQueue) -> None:
        del self._queues[queue]
        queues = self._by_topic[queue.topic]
        del queues[queue]
        if not queues:
            del self._by_topic[queue.topic]

    def __contains__(self, queue: object) -> bool:
        return queue in self._queues

    def lacks(self, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Return those of some queues that are missing in the table."""
        known = self._queues
        return [queue for queue in queues if queue not in known]

    def setdefault(self, queue: MessageQueue, process_queue: AnyProcessQueue) -> AnyProcessQueue:
        """Return the value of a queue; add it if it is missing. Unlike in other mappings, no error is
        raised and caught meanwhile.
        """
        known = self._queues.get(queue)
        if known is None:
            self[queue] = known = process_queue
        return known

    def __iter__(self) -> Iterator[MessageQueue]:
        for queues in self._by_topic.values():
            yield from queues

    def __len__(self) -> int:
        return len(self._queues)

    def copied(self) -> dict[MessageQueue, AnyProcessQueue]:
        """Return a copy as of one moment, even in a thread other than the one that changes it."""
        return self._queues.copy()

    def of_topic(self, topic: str) -> Mapping[MessageQueue, AnyProcessQueue]:
        """Return the queues of one topic: a view, which code that changes the table meanwhile has to
        copy.
        """
        return self._by_topic.get(topic, {})

    def drop_topics_not_in(self, topics: Container[str]) -> None:
        """Drop and forget every queue of other topics."""
        for topic in [topic for topic in self._by_topic if topic not in topics]:
            for queue, process_queue in self._by_topic.pop(topic).items():
                process_queue.dropped = True
                del self._queues[queue]
