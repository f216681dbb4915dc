"""Consuming in order: of each queue one batch after the other, and only under the broker's lock.

A quick listener that is no async function gets several batches per hop into its thread, as many as
it takes in 5 ms; a slow one gets one. Each batch still ends before the next begins, and what was
not given to it goes back in front of its queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from rmqalloc import rebalance
from rmqalloc.client._concurrent_service import SendBack
from rmqalloc.client._listener_workers import UserCode
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.results import CONSUME_SUCCESS, DEAD_LETTERS, Outcome, SuspendCurrentQueue
from rmqalloc.model import MessageQueue

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

_BATCHES_AT_ONCE = 32
_STRETCH = 0.005

log = logging.getLogger(__name__)

Batches = Sequence[Sequence["Message"]]


class OrderedService:
    """Gives the messages of each queue to a listener in order, and settles what becomes of them.

    Parameters
    ----------
    consumer : rmqalloc.rebalance.PushConsumer
        Whose offsets are kept, and whose locks are looked at.
    code : UserCode
        The listener.
    send_back : callable
        See `SendBack`.
    n_workers, batch_size : int
        Queues that are consumed at once, and messages of each call.
    suspend_time : int
        Milliseconds that a queue rests where the listener says so, or fails.
    max_reconsume_times : int
        Tries of a message before it goes to the dead letters; -1 for any number.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService``. Queues take turns after each stretch of 5 ms, so
    none of them needs Java's bound of 60 s at a time.
    """

    def __init__(
        self,
        consumer: rebalance.PushConsumer,
        code: UserCode,
        send_back: SendBack,
        n_workers: int,
        batch_size: int,
        suspend_time: int,
        max_reconsume_times: int,
    ) -> None:
        self._consumer, self._code, self._send_back = consumer, code, send_back
        self._batch_size, self._suspend_time, self._max_reconsume_times = (
            batch_size,
            suspend_time,
            max_reconsume_times,
        )
        self._threads = (
            None if code.is_async else ThreadPoolExecutor(n_workers, "rmqalloc-listener")
        )
        self._free = asyncio.Semaphore(n_workers)
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False

    def submit(
        self,
        messages: Sequence[Message],
        process_queue: PulledQueue,
        queue: MessageQueue,
        begins: bool,
    ) -> None:
        """Begin to consume a queue, unless somebody does already."""
        if begins:
            self._begin(process_queue, queue, 0)

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_ending = True

    async def idle(self) -> None:
        """Wait until the listener has nothing at work."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """End everything at once; a thread ends with the call of the listener that it is in."""
        self.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, process_queue: PulledQueue, queue: MessageQueue, delay: int) -> None:
        if not self._is_ending:
            self._do(self._consume(process_queue, queue, delay))

    async def _consume(self, process_queue: PulledQueue, queue: MessageQueue, delay: int) -> None:
        """Consume a queue until it is empty, given up or suspended, or its lock is lost."""
        await asyncio.sleep(delay / 1_000)
        locks = self._consumer.orderly_service
        while not (process_queue.dropped or self._is_ending):
            if locks is not None and not locks.may_consume(process_queue):
                locks.lock_later(queue, lambda pause: self._begin(process_queue, queue, pause))
                return
            messages = process_queue.take(self._batch_size * _BATCHES_AT_ONCE)
            if not messages:
                return
            process_queue.begin_consuming()
            try:
                pause = await self._consume_some(messages, process_queue, queue)
            finally:
                process_queue.end_consuming()
            if pause is not None:
                self._begin(process_queue, queue, pause)
                return

    async def _consume_some(
        self, messages: list[Message], process_queue: PulledQueue, queue: MessageQueue
    ) -> int | None:
        """Give messages to the listener and settle them; return the pause that the queue is to
        make.
        """
        size = self._batch_size
        batches = [messages[i : i + size] for i in range(0, len(messages), size)]
        outcomes = await self._called(batches, process_queue)
        process_queue.last_consume_timestamp = self._consumer.manager.clock.now()
        n_tried, last = len(outcomes), outcomes[-1] if outcomes else CONSUME_SUCCESS
        if last is CONSUME_SUCCESS:
            self._settle(
                messages[: n_tried * size], messages[n_tried * size :], process_queue, queue
            )
            return None
        n_good = (n_tried - 1) * size
        if await self._must_wait(batches[n_tried - 1], queue):
            self._settle(messages[:n_good], messages[n_good:], process_queue, queue)
            pause = last if isinstance(last, SuspendCurrentQueue) else SuspendCurrentQueue()
            return pause.bounded(self._suspend_time)
        self._settle(messages[: n_tried * size], messages[n_tried * size :], process_queue, queue)
        return None

    def _settle(
        self,
        consumed: list[Message],
        others: list[Message],
        process_queue: PulledQueue,
        queue: MessageQueue,
    ) -> None:
        """Commit what is consumed and put the others back.

        A queue that is being given up stays in the table, locked, while its listener is at work,
        and its offset is stored after that: what was consumed until then need not be consumed
        again. Once it has left the table it is somebody else's.
        """
        offset = process_queue.commit(consumed)
        process_queue.put_back(others)
        if offset >= 0 and self._consumer.rebalance.process_queue_table.get(queue) is process_queue:
            self._consumer.offset_store.update_offset(queue, offset, increase_only=False)

    async def _must_wait(self, messages: Sequence[Message], queue: MessageQueue) -> bool:
        """Return False if the broker has all these messages among the dead letters, so that the
        queue may go on.

        Notes
        -----
        ``checkReconsumeTimes``.
        """
        waits = False
        for message in messages:
            is_spent = 0 <= self._max_reconsume_times <= message.reconsume_times
            if not is_spent or not await self._send_back(message, queue, DEAD_LETTERS):
                message.reconsume_times += 1
                waits = True
        return waits

    # --- The listener ---

    async def _called(self, batches: Batches, process_queue: PulledQueue) -> list[Outcome]:
        """Return the outcomes of the batches that the listener was given: the first ones, all but
        the last consumed.
        """
        if self._threads is not None:
            return await self._loop.run_in_executor(
                self._threads, self._call_some, batches, process_queue
            )
        outcomes: list[Outcome] = []
        async with self._free:
            end = time.monotonic() + _STRETCH
            while not outcomes or self._goes_on(outcomes, batches, process_queue, end):
                outcomes.append(await self._code.wait(batches[len(outcomes)]))
        await asyncio.sleep(0)
        return outcomes

    def _call_some(self, batches: Batches, process_queue: PulledQueue) -> list[Outcome]:
        """Do the same in a thread."""
        outcomes: list[Outcome] = []
        end = time.monotonic() + _STRETCH
        while not outcomes or self._goes_on(outcomes, batches, process_queue, end):
            outcomes.append(self._code.call(batches[len(outcomes)]))
        return outcomes

    def _goes_on(
        self, outcomes: list[Outcome], batches: Batches, process_queue: PulledQueue, end: float
    ) -> bool:
        locks = self._consumer.orderly_service
        return (
            len(outcomes) < len(batches)
            and outcomes[-1] is CONSUME_SUCCESS
            and time.monotonic() < end
            and not process_queue.dropped
            and (locks is None or locks.may_consume(process_queue))
        )

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
