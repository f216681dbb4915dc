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
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rmqalloc import rebalance
from rmqalloc.client._concurrent_service import SendBack
from rmqalloc.client._listener_workers import DaemonThreads, UserCode, end_tasks
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.results import CONSUME_SUCCESS, DEAD_LETTERS, Outcome, SuspendCurrentQueue
from rmqalloc.model import MessageQueue

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

_BATCHES_AT_ONCE = 32
_STRETCH = 0.005

log = logging.getLogger(__name__)

Batches = Sequence[Sequence["Message"]]


class _Stretch:
    """Batches of a queue that the listener is given one after the other, and what became of the
    first of them: all but the last consumed.

    Attributes
    ----------
    outcomes : list of Outcome
        Outcomes of the first batches.
    times : list of float
        When the first call of the listener began, and when each call ended.
    """

    __slots__ = ("batches", "outcomes", "times")

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.outcomes: list[Outcome] = []
        self.times: list[float] = []

    def durations(self) -> list[float]:
        """Return how long each call took."""
        return [ended - begun for begun, ended in pairwise(self.times)]


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
        self._threads = None if code.is_async else DaemonThreads(n_workers)
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

    async def close(self, within: float = 0.0) -> None:
        """End everything; an async listener may take ``within`` seconds to end once it is
        cancelled, and a thread ends with the call of the listener that it is in.
        """
        self.stop()
        await end_tasks(self._tasks, within)
        await self._code.close(within)
        if self._threads is not None:
            self._threads.close()

    def _begin(self, process_queue: PulledQueue, queue: MessageQueue, delay: int) -> None:
        """Begin to consume a queue, ``delay`` milliseconds from now."""
        if self._is_ending:
            return
        if delay:
            self._loop.call_later(delay / 1_000, self._begin, process_queue, queue, 0)
        else:
            self._do(self._consume(process_queue, queue))

    async def _consume(self, process_queue: PulledQueue, queue: MessageQueue) -> None:
        """Consume a queue until it is empty, given up or suspended, or its lock is lost."""
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
        last: Outcome = CONSUME_SUCCESS
        stretch, waits = _Stretch(batches), True
        try:
            await self._called(stretch, process_queue)
            last = stretch.outcomes[-1]
            waits = last is not CONSUME_SUCCESS and await self._must_wait(
                batches[len(stretch.outcomes) - 1], queue
            )
        finally:  # a member that ends cancels this, and what the listener has finished counts
            process_queue.last_consume_timestamp = self._consumer.manager.clock.now()
            n_done = size * self._counted(stretch, waits)
            self._settle(messages[:n_done], messages[n_done:], process_queue, queue)
        if not waits:
            return None
        pause = last if isinstance(last, SuspendCurrentQueue) else SuspendCurrentQueue()
        return pause.bounded(self._suspend_time)

    def _counted(self, stretch: _Stretch, waits: bool) -> int:
        """Count what the listener was given; return how many batches are done with, those that come
        again aside.
        """
        tally, outcomes = self._code.tally, list(stretch.outcomes)
        tally.consume.add_all(stretch.durations())
        n_consumed = outcomes.count(CONSUME_SUCCESS)
        tally.consumed += sum(map(len, stretch.batches[:n_consumed]))
        if n_consumed == len(outcomes):
            return n_consumed
        n_messages = len(stretch.batches[n_consumed])
        tally.failed += n_messages if outcomes[-1] is self._code.failure else 0
        tally.retried += n_messages if waits else 0
        return n_consumed + (not waits)

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

    async def _called(self, stretch: _Stretch, process_queue: PulledQueue) -> None:
        """Give batches to the listener until the stretch ends."""
        if self._threads is not None:
            await self._threads.run(partial(self._call_some, stretch, process_queue))
            return
        async with self._free:
            with self._code.at_work():
                stretch.times.append(time.monotonic())
                for batch in stretch.batches:
                    outcome = await self._code.wait(batch)
                    if not self._goes_on(stretch, outcome, process_queue):
                        break
        await asyncio.sleep(0)

    def _call_some(self, stretch: _Stretch, process_queue: PulledQueue) -> None:
        """Do the same in a thread."""
        with self._code.at_work():
            stretch.times.append(time.monotonic())
            for batch in stretch.batches:
                outcome = self._code.call(batch)
                if not self._goes_on(stretch, outcome, process_queue):
                    break

    def _goes_on(self, stretch: _Stretch, outcome: Outcome, process_queue: PulledQueue) -> bool:
        """Note an outcome; return True if the next batch may be given to the listener."""
        now, locks = time.monotonic(), self._consumer.orderly_service
        stretch.outcomes.append(outcome)
        stretch.times.append(now)
        return (
            outcome is CONSUME_SUCCESS
            and now < stretch.times[0] + _STRETCH
            and not process_queue.dropped
            and not self._is_ending
            and (locks is None or locks.may_consume(process_queue))
        )

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
