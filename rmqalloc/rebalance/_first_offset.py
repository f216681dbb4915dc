"""Where a queue without a stored offset is read from."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rmqalloc.errors import ArgumentError
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance.driving import Steps
from rmqalloc.remoting import ConsumeFromWhere

if TYPE_CHECKING:
    from rmqalloc.rebalance._client_factory import MQClientFactory

TIMESTAMP_FORMAT = "%Y%m%d%H%M%S"
DEFAULT_LOOK_BACK = 30 * 60 * 1_000

# It imports what it needs when first called: here, before threads, whose forked children would wait
# for the import.
time.strptime("", "")


def offset_without_history(
    factory: MQClientFactory, queue: MessageQueue, where: ConsumeFromWhere, consume_timestamp: str
) -> Steps[int]:
    """Return the first offset of a queue that the group has no offset of.

    Retry topics are read from their start, except that a group which begins at a time begins them
    at their end.
    """
    retries = queue.topic.startswith(RETRY_PREFIX)
    if where is ConsumeFromWhere.FIRST_OFFSET:
        return 0  # lower than the first message it may be; reading then mends it
    if where is ConsumeFromWhere.TIMESTAMP:
        if retries:
            return (yield from factory.max_offset(queue))
        return (yield from factory.search_offset(queue, parse_timestamp(consume_timestamp)))
    return 0 if retries else (yield from factory.max_offset(queue))


def parse_timestamp(text: str) -> int:
    """Return milliseconds since the epoch of a ``yyyyMMddHHmmss`` text in local time.

    Unlike Java's lenient format, a thirteenth month is refused.

    Examples
    --------
    >>> parse_timestamp(format_timestamp(1_700_000_000_999))
    1700000000000
    """
    try:
        return int(time.mktime(time.strptime(text, TIMESTAMP_FORMAT))) * 1_000
    except (ValueError, OverflowError):
        raise ArgumentError(
            f"a consume timestamp must be yyyyMMddHHmmss in local time, got {text!r}"
        ) from None


def format_timestamp(milliseconds: int) -> str:
    """Return the text of a time, as `parse_timestamp` takes it; the part below a second is lost."""
    return time.strftime(TIMESTAMP_FORMAT, time.localtime(milliseconds // 1_000))
