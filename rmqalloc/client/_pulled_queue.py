"""A queue that is read, with the messages that were pulled and are not consumed yet.

Messages of a queue are consumed side by side and end in any order, and one number says how far the
group has come: the offset of the first message that is not consumed. The table keeps what was
pulled in the order of offsets; a message leaves it when it is consumed, and the first one left is
that offset. Consuming in order takes messages out instead and keeps them aside until they are
committed, or puts them back in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from rmqalloc.rebalance import ProcessQueue

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

NOTHING = -1


class PulledQueue(ProcessQueue):
    """`ProcessQueue` with its messages; only the loop's thread touches them.

    Attributes
    ----------
    last_consume_timestamp : int
        When messages of it were last consumed, in milliseconds since the epoch.
    next_offset : int
        Where the next pull begins, for those who ask how the client is.
    max_offset : int
        Where the next message of the queue will be, as the last answer to a pull said; -1 before.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.ProcessQueue``.
    """

    __slots__ = (
        "_consuming_in_order", "_end", "_taken", "_waiting", "_when_ended", "last_consume_timestamp", "max_offset",
        "next_offset",
    )  # fmt: skip

    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.last_consume_timestamp = now
        self.next_offset = 0
        self.max_offset = -1
        self._waiting: dict[int, Message] = {}
        self._taken: dict[int, Message] = {}
        self._end = 0
        self._consuming_in_order = False
        self._when_ended: Callable[[], None] | None = None

    def put(self, messages: Sequence[Message]) -> bool:
        """Add messages that were pulled; return True if nobody consumes the queue in order yet, so
        that somebody should begin.

        Notes
        -----
        ``putMessage``.
        """
        waiting = self._waiting
        n_before, n_bytes = len(waiting), 0
        is_sorted = True
        for message in messages:
            offset = message.queue_offset
            if offset >= self._end:
                self._end = offset + 1
            else:
                is_sorted = False
            if offset not in waiting:
                n_bytes += len(message.raw_body)
            waiting[offset] = message
        if not is_sorted:
            self._waiting = dict(sorted(waiting.items()))
        self.add_messages(len(waiting) - n_before, n_bytes)
        begins = bool(waiting) and not self._consuming_in_order
        self._consuming_in_order = self._consuming_in_order or begins
        return begins

    def remove(self, messages: Sequence[Message]) -> int:
        """Remove consumed messages; return how far the queue is consumed, -1 if nothing waited in
        it.

        Notes
        -----
        ``removeMessage``.
        """
        waiting = self._waiting
        if not waiting:
            return NOTHING
        n_removed, n_bytes = 0, 0
        for message in messages:
            if waiting.pop(message.queue_offset, None) is not None:
                n_removed += 1
                n_bytes += len(message.raw_body)
        self.remove_messages(n_removed, n_bytes)
        return next(iter(waiting), self._end)

    def first(self) -> Message | None:
        """Return the message with the least offset."""
        return next(iter(self._waiting.values()), None)

    def holds(self, message: Message) -> bool:
        """Return True if a message still waits or is being consumed."""
        return message.queue_offset in self._waiting

    @property
    def span(self) -> int:
        """Offsets from the first message to the last one; ``getMaxSpan``."""
        waiting = self._waiting
        return next(reversed(waiting)) - next(iter(waiting)) if waiting else 0

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Least and greatest offset of the messages that wait."""
        waiting = self._waiting
        return (next(iter(waiting)), next(reversed(waiting))) if waiting else None

    @property
    def taken_bounds(self) -> tuple[int, int] | None:
        """Least and greatest offset of the messages that are taken out in order."""
        taken = self._taken
        return (next(iter(taken)), next(reversed(taken))) if taken else None

    @property
    def n_taken(self) -> int:
        """Messages that are taken out in order and not committed."""
        return len(self._taken)

    # --- In order ---

    def take(self, n_messages: int) -> list[Message]:
        """Take out the first messages; none left ends consuming until messages are put again.

        Notes
        -----
        ``takeMessages``.
        """
        offsets = list(islice(self._waiting, n_messages))
        taken = [self._waiting.pop(offset) for offset in offsets]
        self._taken.update(zip(offsets, taken, strict=True))
        if not taken:
            self._consuming_in_order = False
        return taken

    def commit(self, messages: Sequence[Message]) -> int:
        """Forget messages that were taken out and are consumed; return the offset after them, -1 if
        there were none.
        """
        n_removed, n_bytes = 0, 0
        for message in messages:
            if self._taken.pop(message.queue_offset, None) is not None:
                n_removed += 1
                n_bytes += len(message.raw_body)
        self.remove_messages(n_removed, n_bytes)
        return messages[-1].queue_offset + 1 if messages else NOTHING

    def put_back(self, messages: Sequence[Message]) -> None:
        """Put messages that were taken out back in front.

        Notes
        -----
        ``makeMessageToConsumeAgain``.
        """
        if messages:
            again = {message.queue_offset: message for message in messages}
            for offset in again:
                self._taken.pop(offset, None)
            self._waiting = again | self._waiting

    def end_consuming(self) -> None:
        """Release the consume lock, and let who waits for it know."""
        super().end_consuming()
        if self._when_ended is not None:
            self._when_ended()

    def when_ended(self, call: Callable[[], None] | None) -> None:
        """Call this when the consume lock is released next; None for nobody."""
        self._when_ended = call

    def clear(self) -> None:
        """Forget all messages."""
        self._waiting, self._taken = {}, {}
        self.remove_messages(self.n_messages, self.n_bytes)
