"""User code at work: a listener that is called for batches of messages, several at once, at little
cost per batch.

A plain function may block, so it never runs in the event loop, where it would hold back heartbeats:
it runs in threads. One hop between the loop and a thread costs as much as twenty quick listeners,
so a thread that was called takes one batch after the other until none waits, and all that ended
meanwhile is reported in one go. Another thread joins it only where work still waits a millisecond
later: a listener that blocks soon has as many threads as it may, a quick one keeps to a single
thread. An async function runs in tasks of the loop, by the same rule: another task joins as soon as
the first ones wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.results import Listener, Outcome, failed, outcome_of
from rmqalloc.model import MessageQueue

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

_JOIN_AFTER = 0.001
_BREATH = 32

log = logging.getLogger(__name__)


class UserCode:
    """A listener, and how its answers are read.

    Parameters
    ----------
    listener : callable
        Plain or async.
    in_order : bool
        Kind of its answers.
    """

    def __init__(self, listener: Listener, in_order: bool) -> None:
        self._listener: Callable[..., Any] = listener
        self._in_order = in_order
        self.is_async = _is_async(listener)

    def call(self, messages: Sequence[Message]) -> Outcome:
        """Call a plain listener; an error of it is logged and counts as "later"."""
        try:
            return outcome_of(self._listener(messages), self._in_order)
        except Exception as error:
            return self._failed(error, messages)

    async def wait(self, messages: Sequence[Message]) -> Outcome:
        """Call an async listener in the same way."""
        try:
            return outcome_of(await self._listener(messages), self._in_order)
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            return self._failed(error, messages)  # of something that the listener waited for
        except Exception as error:
            return self._failed(error, messages)

    async def directly(self, messages: Sequence[Message]) -> Outcome:
        """Call either kind outside of its turn, and let its error pass."""
        answer = (
            self._listener(messages)
            if self.is_async
            else asyncio.to_thread(self._listener, messages)
        )
        return outcome_of(await answer, self._in_order)

    def _failed(self, error: BaseException, messages: Sequence[Message]) -> Outcome:
        first = messages[0]
        log.warning(
            "a listener failed, its %d messages come again: %s, queue offset %d",
            len(messages), first.topic, first.queue_offset, exc_info=error,
        )  # fmt: skip
        return failed(self._in_order)


class Batch:
    """Messages of one queue that a listener is to be given together."""

    __slots__ = ("begun", "messages", "process_queue", "queue")

    def __init__(
        self, messages: Sequence[Message], process_queue: PulledQueue, queue: MessageQueue
    ) -> None:
        self.messages = messages
        self.process_queue = process_queue
        self.queue = queue
        self.begun = 0.0


Ended = list[tuple[Batch, Outcome]]


class ListenerWorkers:
    """Calls a listener for batches, in the order in which they come, ``most`` at once.

    Parameters
    ----------
    code : UserCode
        What is called.
    most : int
        Threads, or tasks, at once.
    ended : callable
        ``ended(batches)`` is called in the loop with batches and their outcomes.
    """

    def __init__(self, code: UserCode, most: int, ended: Callable[[Ended], None]) -> None:
        self._code, self._most, self._report = code, most, ended
        self._loop = asyncio.get_running_loop()
        self._threads = None if code.is_async else ThreadPoolExecutor(most, "rmqalloc-listener")
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: deque[Batch] = deque()
        self._ended: deque[tuple[Batch, Outcome]] = deque()
        self._at_work: set[Batch] = set()
        self._n_running = 0
        self._is_report_due = False
        self._joins = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def at_work(self) -> list[Batch]:
        """Batches that the listener has now; ``begun`` says since when, by the loop's clock."""
        return list(self._at_work)

    def add(self, batches: Iterable[Batch]) -> None:
        """Give these to the listener when their turn comes."""
        self._waiting.extend(batches)
        self._join()

    def forget_waiting(self) -> None:
        """Drop what has not begun."""
        self._waiting.clear()

    async def idle(self) -> None:
        """Wait until the listener has nothing at work."""
        await self._idle.wait()

    async def close(self) -> None:
        """End its tasks; threads end with the call of the listener that they are in."""
        self.forget_waiting()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    # --- In the loop ---

    def _join(self) -> None:
        """Let one more runner begin where work waits, and look again soon."""
        if not self._waiting or self._n_running >= self._most or (self._joins and self._n_running):
            return
        self._n_running += 1
        self._idle.clear()
        self._joins = True
        if self._threads is not None:
            self._threads.submit(self._run_in_thread)
            self._loop.call_later(_JOIN_AFTER, self._join_again)
        else:
            task = self._loop.create_task(self._run_in_loop())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            self._loop.call_soon(self._join_again)

    def _join_again(self) -> None:
        self._joins = False
        self._join()

    def _runner_ended(self) -> None:
        self._n_running -= 1
        self._report_ended()
        if not self._n_running:
            self._idle.set()
        self._join()

    def _report_ended(self) -> None:
        self._is_report_due = False
        ended = []
        while self._ended:
            ended.append(self._ended.popleft())
        if ended:
            self._report(ended)

    async def _run_in_loop(self) -> None:
        n_done = 0
        try:
            while (batch := self._begin()) is not None:
                try:
                    self._ended.append((batch, await self._code.wait(batch.messages)))
                finally:
                    self._at_work.discard(batch)
                n_done += 1
                if not self._is_report_due:
                    self._is_report_due = True
                    self._loop.call_soon(self._report_ended)
                if n_done % _BREATH == 0:
                    await asyncio.sleep(0)
        finally:
            self._runner_ended()

    # --- In threads ---

    def _run_in_thread(self) -> None:
        call = self._code.call
        try:
            while (batch := self._begin()) is not None:
                outcome = call(batch.messages)
                self._at_work.discard(batch)
                self._ended.append((batch, outcome))
                if not self._is_report_due:
                    self._is_report_due = True
                    self._in_loop(self._report_ended)
        finally:
            self._in_loop(self._runner_ended)

    def _in_loop(self, action: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed before the listener returned
            self._loop.call_soon_threadsafe(action)

    def _begin(self) -> Batch | None:
        """Take the batch whose turn it is, queues that were given up aside. Deques and sets do each
        step as a whole.
        """
        try:
            while (batch := self._waiting.popleft()).process_queue.dropped:
                pass
        except IndexError:
            return None
        batch.begun = self._loop.time()
        self._at_work.add(batch)
        return batch


def _is_async(listener: object) -> bool:
    """Return True for an async function, a method, partial or object whose call is one."""
    unwrapped = inspect.unwrap(listener) if callable(listener) else listener
    call = getattr(unwrapped, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(unwrapped) or inspect.iscoroutinefunction(call)
