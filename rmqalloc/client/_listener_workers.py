"""User code at work: a listener that is called for batches of messages, several at once, at little
cost per batch.

A plain function may block, so it never runs in the event loop, where it would hold back heartbeats:
it runs in threads. One hop between the loop and a thread costs as much as twenty quick listeners,
so a thread that was called takes one batch after the other until none waits, and all that ended
meanwhile is reported in one go. Another thread joins it only where work still waits a millisecond
later: a listener that blocks soon has as many threads as it may, a quick one keeps to a single
thread. An async function runs in tasks of the loop, by the same rule: another task joins as soon as
the first ones wait.

A listener may never return. Its threads are daemons, so that neither the loop nor the process waits
for them, and a task of it that goes on after it was cancelled has its coroutine closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._tally import Tally
from rmqalloc.client.results import (
    Listener,
    Outcome,
    ReconsumeLater,
    SuspendCurrentQueue,
    outcome_of,
)
from rmqalloc.model import MessageQueue

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

_JOIN_AFTER = 0.001
_BREATH = 32
_MOST_CLOSES = 16
_LOGGED_EVERY = 60.0
_MOST_KINDS = 100

T = TypeVar("T")

log = logging.getLogger(__name__)


class UserCode:
    """A listener, and how its answers are read.

    Parameters
    ----------
    listener : callable
        Plain or async.
    in_order : bool
        Kind of its answers.
    tally : Tally, optional
        Where its messages are counted.

    Attributes
    ----------
    failure : Outcome
        The outcome of messages for which it raised, or gave an answer that is none; no answer of
        its own is this object.
    """

    def __init__(self, listener: Listener, in_order: bool, tally: Tally | None = None) -> None:
        self._listener: Callable[..., Any] = listener
        self._in_order = in_order
        self._failures = Repeats()
        self._direct: set[asyncio.Task[Any]] = set()
        self.tally = Tally() if tally is None else tally
        self.is_async = _is_async(listener)
        self.failure: Outcome = SuspendCurrentQueue() if in_order else ReconsumeLater()

    def call(self, messages: Sequence[Message]) -> Outcome:
        """Call a plain listener, in a thread; an error of it, `SystemExit` too, counts as "later"."""
        try:
            return outcome_of(self._listener(messages), self._in_order)
        except BaseException as error:  # the thread has nobody else to tell
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
        task = asyncio.get_running_loop().create_task(self._awaited(messages))
        self._direct.add(task)
        task.add_done_callback(self._direct.discard)
        await asyncio.wait([task])  # who cancels this does not wait for the listener
        return outcome_of(task.result(), self._in_order)

    async def close(self, within: float = 0.0) -> None:
        """End calls outside of their turn."""
        await end_tasks(self._direct, within)

    # --- From where it is called ---

    def at_work(self) -> AbstractContextManager[None]:
        """Let what the listener calls find out that it is called by the listener."""
        return _Call(self)

    def is_caller(self) -> bool:
        """Return True in a call of this listener, and in what such a call began, until it returns."""
        call = _call.get()
        return call is not None and call.code is self

    def _called(self, messages: Sequence[Message]) -> Any:
        with self.at_work():
            return self._listener(messages)

    async def _awaited(self, messages: Sequence[Message]) -> object:
        if not self.is_async:
            thread = DaemonThreads(1)
            answer = thread.run(partial(self._called, messages))
            thread.close()
            return await answer
        with self.at_work():
            return await self._listener(messages)

    def _failed(self, error: BaseException, messages: Sequence[Message]) -> Outcome:
        place, first = _place(error), messages[0]
        due = self._failures.due((type(error), place), len(messages))
        if due is not None and due.is_first:
            log.warning("a listener failed, its %d messages are delivered again: %s, queue offset %d",
                        due.n_messages, first.topic, first.queue_offset, exc_info=error)  # fmt: skip
        elif due is not None:
            log.warning("a listener failed again (%s, %s), %d more messages are delivered again, last of %s, queue offset %d",
                        type(error).__name__, place, due.n_messages, first.topic, first.queue_offset)  # fmt: skip
        return self.failure


class Batch:
    """Messages of one queue that a listener is to be given together."""

    __slots__ = ("begun", "messages", "process_queue", "queue", "spent")

    def __init__(
        self, messages: Sequence[Message], process_queue: PulledQueue, queue: MessageQueue
    ) -> None:
        self.messages = messages
        self.process_queue = process_queue
        self.queue = queue
        self.begun = self.spent = 0.0


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
        self._threads = None if code.is_async else DaemonThreads(most)
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

    async def close(self, within: float = 0.0) -> None:
        """End its tasks; threads end with the call of the listener that they are in."""
        self.forget_waiting()
        await end_tasks(self._tasks, within)
        if self._threads is not None:
            self._threads.close()

    # --- In the loop ---

    def _join(self) -> None:
        """Let one more runner begin where work waits, and look again soon."""
        if not self._waiting or self._n_running >= self._most or (self._joins and self._n_running):
            return
        self._n_running += 1
        self._idle.clear()
        self._joins = True
        if self._threads is not None:
            self._threads.do(self._run_in_thread)
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
        wait, clock, n_done = self._code.wait, self._loop.time, 0
        ended, leave = self._ended.append, self._at_work.discard
        try:
            with self._code.at_work():
                batch = self._begin(clock())
                while batch is not None:
                    try:
                        outcome = await wait(batch.messages)
                    finally:
                        leave(batch)
                    now = clock()
                    batch.spent = now - batch.begun
                    ended((batch, outcome))
                    n_done += 1
                    if not self._is_report_due:
                        self._is_report_due = True
                        self._loop.call_soon(self._report_ended)
                    if n_done % _BREATH == 0:
                        await asyncio.sleep(0)
                        now = clock()
                    batch = self._begin(now)
        finally:
            self._runner_ended()

    # --- In threads ---

    def _run_in_thread(self) -> Callable[[], None]:
        """Take batches until none waits; return what the loop is to do then."""
        call, clock = self._code.call, self._loop.time
        ended, leave = self._ended.append, self._at_work.discard
        with self._code.at_work():
            batch = self._begin(clock())
            while batch is not None:
                outcome = call(batch.messages)
                now = clock()
                batch.spent = now - batch.begun
                leave(batch)
                ended((batch, outcome))
                if not self._is_report_due:
                    self._is_report_due = True
                    call_in(self._loop, self._report_ended)
                batch = self._begin(now)
        return self._runner_ended

    def _begin(self, now: float) -> Batch | None:
        """Take the batch whose turn it is, queues that were given up aside. Deques and sets do each
        step as a whole.
        """
        try:
            while (batch := self._waiting.popleft()).process_queue.dropped:
                pass
        except IndexError:
            return None
        batch.begun = now
        self._at_work.add(batch)
        return batch


class DaemonThreads:
    """Threads that are started as they are needed and that nobody waits for, not even the end of
    the process; `concurrent.futures` waits for its own.

    Parameters
    ----------
    most : int
        Threads at most.
    """

    def __init__(self, most: int) -> None:
        self._most, self._loop = most, asyncio.get_running_loop()
        self._work: SimpleQueue[Callable[[], Callable[[], None]] | None] = SimpleQueue()
        self._n_threads = self._n_given = 0

    def do(self, work: Callable[[], Callable[[], None]]) -> None:
        """Call ``work()``, which raises nothing, in a thread, and in the loop what it returns."""
        self._n_given += 1
        self._work.put(work)
        if self._n_threads < min(self._n_given, self._most):
            self._n_threads += 1
            name = f"rmqalloc-listener-{self._n_threads}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Call ``work()`` in a thread; return its result to come."""
        answer: asyncio.Future[T] = self._loop.create_future()

        def working() -> Callable[[], None]:
            try:
                give: Callable[[], None] = partial(answer.set_result, work())
            except BaseException as error:
                give = partial(answer.set_exception, error)
            return lambda: None if answer.done() else give()  # done: nobody waits any longer

        self.do(working)
        return answer

    def close(self) -> None:
        """Let each thread end after what was given to it."""
        for _ in range(self._n_threads):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            call_in(self._loop, partial(self._ended, work()))

    def _ended(self, action: Callable[[], None]) -> None:
        self._n_given -= 1
        action()


def call_in(loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
    """Call something in a loop, from a thread; nothing if the loop was closed meanwhile."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(action)


async def end_tasks(tasks: Collection[asyncio.Task[Any]], within: float) -> None:
    """Cancel tasks, and close the coroutines of those that go on for longer than ``within`` seconds.

    `asyncio.run` waits for every task, so one that a listener keeps at work would keep the process.
    """
    for task in (cancelled := list(tasks)):
        task.cancel()
    if not cancelled:
        return
    _ended, left = await asyncio.wait(cancelled, timeout=within)
    for task in left:
        log.warning("a listener did not end when it was cancelled; its coroutine is closed")
        task.add_done_callback(_is_seen)
        _close_coroutine(task)
        task.cancel()
    await asyncio.sleep(0)


def _close_coroutine(task: asyncio.Task[Any]) -> None:
    """Raise `GeneratorExit` where a task waits, as often as its coroutine waits again."""
    coroutine = task.get_coro()
    for _ in range(_MOST_CLOSES):
        with contextlib.suppress(Exception):
            coroutine.close()
            return


def _is_seen(task: asyncio.Task[Any]) -> None:
    """Take the error of a task whose coroutine was closed, so that nobody misses it."""
    if not task.cancelled():
        task.exception()


# From where something is called.


class _Call:
    """A call of a listener, or several in a row; ``code`` is None once they have returned."""

    __slots__ = ("code",)

    def __init__(self, code: UserCode) -> None:
        self.code: UserCode | None = code

    def __enter__(self) -> None:
        _call.set(self)

    def __exit__(self, *_error: object) -> None:
        self.code = None


_call: ContextVar[_Call | None] = ContextVar("rmqalloc_listener", default=None)


# Failures, each kind of them written out once and counted from then on.


class Due(NamedTuple):
    """A line that the log is due: of how many messages, and whether it is the first of its kind."""

    n_messages: int
    is_first: bool


class Repeats:
    """Counts what happens again and again, so that each kind of it has one line in the log at once
    and then one per minute at most; may be called from any thread.

    Examples
    --------
    >>> repeats = Repeats()
    >>> repeats.due("late", 3), repeats.due("late", 4)
    (Due(n_messages=3, is_first=True), None)
    """

    def __init__(self) -> None:
        self._kinds: dict[object, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def due(self, kind: Hashable, n_messages: int) -> Due | None:
        """Count messages; return what is to be logged, if a line is due."""
        now = time.monotonic()
        with self._lock:
            if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
                kind = None  # all further kinds together
            n_before, logged = self._kinds.get(kind, (0, -math.inf))
            n_messages += n_before
            is_due = now - logged >= _LOGGED_EVERY
            self._kinds[kind] = (0, now) if is_due else (n_messages, logged)
        return Due(n_messages, logged == -math.inf) if is_due else None


def _place(error: BaseException) -> str:
    """Return the line of code that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _is_async(listener: object) -> bool:
    """Return True for an async function, a method, partial or object whose call is one."""
    unwrapped = inspect.unwrap(listener) if callable(listener) else listener
    call = getattr(unwrapped, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(unwrapped) or inspect.iscoroutinefunction(call)
