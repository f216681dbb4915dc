"""How far consumer groups have come, queue by queue."""

from collections.abc import Mapping

from rmqalloc.model import MessageQueue
from rmqalloc.remoting import ResponseCode, ResponseError


class ConsumerOffsetManager:
    """Committed offsets of one broker.

    Notes
    -----
    ``org.apache.rocketmq.broker.offset.ConsumerOffsetManager``. A commit is believed, forward or backward: a former owner
    that commits late sets the queue back.
    """

    def __init__(self) -> None:
        self._offsets: dict[str, dict[MessageQueue, int]] = {}

    def commit_offset(self, consumer_group: str, queue: MessageQueue, offset: int) -> None:
        """Keep an offset (code 15)."""
        self.commit_offsets(consumer_group, {queue: offset})

    def commit_offsets(self, consumer_group: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Keep the offsets of several queues."""
        self._offsets.setdefault(consumer_group, {}).update(offsets)

    def query_offset(self, consumer_group: str, queue: MessageQueue) -> int:
        """Return the offset kept (code 14).

        Raises
        ------
        ResponseError
            QUERY_NOT_FOUND: there is none.
        """
        offset = self._offsets.get(consumer_group, {}).get(queue)
        if offset is None:
            raise ResponseError(
                ResponseCode.QUERY_NOT_FOUND, f"{consumer_group} has no offset of {queue}"
            )
        return offset
