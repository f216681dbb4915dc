"""Consuming side by side: batches of any queue at once, each queue stored up to its first message
that is not consumed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from rmqalloc import rebalance
from rmqalloc.client._listener_workers import Batch, Ended, ListenerWorkers, Repeats, UserCode
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.results import CONSUME_SUCCESS, DEAD_LETTERS, Outcome, ReconsumeLater
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import MessageModel

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

CONSUME_AGAIN_AFTER = 5.0
"""Seconds until messages that could not be sent back are consumed again here."""

CLEANED_LEVEL = 3
CLEANED_AT_ONCE = 16

SendBack = Callable[["Message", MessageQueue, int], Awaitable[bool]]
"""``send_back(message, queue, delay_level)`` answers whether the broker has taken a message back."""

log = logging.getLogger(__name__)


class ConcurrentService:
    """Gives messages to a listener and settles what becomes of them.

    Parameters
    ----------
    consumer : rmqalloc.rebalance.PushConsumer
        Whose offsets are kept.
    code : UserCode
        The listener.
    send_back : callable
        See `SendBack`.
    n_workers, batch_size : int
        Calls of the listener at once, and messages of each.
    consume_timeout : float
        Minutes that the listener may take before its messages are sent back.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService``.
    """

    def __init__(
        self,
        consumer: rebalance.PushConsumer,
        code: UserCode,
        send_back: SendBack,
        n_workers: int,
        batch_size: int,
        consume_timeout: float,
    ) -> None:
        self._consumer, self._code, self._send_back = consumer, code, send_back
        self._batch_size, self._consume_timeout = batch_size, consume_timeout * 60
        self._workers = ListenerWorkers(code, n_workers, self._ended)
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost = Repeats()
        self._is_ending = False
        self._do(self._clean_expired())

    def submit(
        self,
        messages: Sequence[Message],
        process_queue: PulledQueue,
        queue: MessageQueue,
        begins: bool = True,
    ) -> None:
        """Consume messages that were pulled, when a worker is free."""
        size = self._batch_size
        if self._is_ending:
            return
        self._workers.add(
            Batch(messages[i : i + size], process_queue, queue)
            for i in range(0, len(messages), size)
        )

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_ending = True
        self._workers.forget_waiting()

    async def idle(self) -> None:
        """Wait until the listener has nothing at work and all it gave back is sent."""
        await self._workers.idle()
        for task in [task for task in self._tasks if task.get_name() == _GIVES_BACK]:
            await asyncio.wait([task])

    async def close(self, within: float = 0.0) -> None:
        """End everything; an async listener may take ``within`` seconds to end once it is
        cancelled.
        """
        self.stop()
        await self._workers.close(within)
        await self._code.close(within)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, batches: Ended) -> None:
        consumed: dict[PulledQueue, tuple[MessageQueue, list[Message]]] = {}
        now = self._consumer.manager.clock.now()
        tally, failure, n_consumed = self._code.tally, self._code.failure, 0
        tally.consume.add_all([batch.spent for batch, _outcome in batches])
        for batch, outcome in batches:
            process_queue = batch.process_queue
            if outcome is CONSUME_SUCCESS:
                n_consumed += len(batch.messages)
            elif outcome is failure:
                tally.failed += len(batch.messages)
            if process_queue.dropped:
                continue
            process_queue.last_consume_timestamp = now
            if outcome is CONSUME_SUCCESS or not self._is_sent_back(batch, outcome):
                consumed.setdefault(process_queue, (batch.queue, []))[1].extend(batch.messages)
        tally.consumed += n_consumed
        for process_queue, (queue, messages) in consumed.items():
            self._remove(messages, process_queue, queue)

    def _is_sent_back(self, batch: Batch, outcome: Outcome) -> bool:
        """Begin to give a batch back; False where nobody takes it, so that it counts as consumed."""
        if self._consumer.message_model is MessageModel.BROADCASTING:
            if (due := self._lost.due(batch.queue.topic, len(batch.messages))) is not None:
                log.warning("%d messages of %s were not consumed, and a broadcasting group gets no second delivery",
                            due.n_messages, batch.queue.topic)  # fmt: skip
            return False
        self._do(
            self._give_back(
                batch, outcome.delay_level if isinstance(outcome, ReconsumeLater) else 0
            ),
            _GIVES_BACK,
        )
        return True

    async def _give_back(self, batch: Batch, delay_level: int) -> None:
        process_queue, gone, kept = batch.process_queue, [], []
        for message in batch.messages:
            if not process_queue.holds(message) or await self._send_back(
                message, batch.queue, delay_level
            ):
                gone.append(message)
            else:
                message.reconsume_times += 1
                kept.append(message)
        if delay_level != DEAD_LETTERS:
            self._code.tally.retried += len(batch.messages)
        if gone:
            self._remove(gone, process_queue, batch.queue)
        if kept and not process_queue.dropped:
            loop = asyncio.get_running_loop()
            loop.call_later(CONSUME_AGAIN_AFTER, self.submit, kept, process_queue, batch.queue)

    def _remove(
        self, messages: Sequence[Message], process_queue: PulledQueue, queue: MessageQueue
    ) -> None:
        offset = process_queue.remove(messages)
        if offset >= 0 and not process_queue.dropped:
            self._consumer.offset_store.update_offset(queue, offset, increase_only=True)

    async def _clean_expired(self) -> None:
        """Send back what a listener does not come to an end with, where it holds a queue's offset
        back.
        """
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._consume_timeout)
            expired = [
                one
                for one in self._workers.at_work
                if loop.time() - one.begun > self._consume_timeout
            ]
            for batch in sorted(expired, key=lambda batch: batch.messages[0].queue_offset):
                await self._clean(batch)

    async def _clean(self, batch: Batch) -> None:
        process_queue = batch.process_queue
        for message in batch.messages[:CLEANED_AT_ONCE]:
            if process_queue.dropped or process_queue.first() is not message:
                return
            if not await self._send_back(message, batch.queue, CLEANED_LEVEL):
                return
            log.warning("%s offset %d was sent back: its listener has had it for %.0f minutes", batch.queue,
                        message.queue_offset, self._consume_timeout / 60)  # fmt: skip
            self._code.tally.retried += 1
            self._remove([message], process_queue, batch.queue)

    def _do(self, work: Coroutine[Any, Any, None], name: str | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_GIVES_BACK = "gives messages back"
