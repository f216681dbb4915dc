"""Real time for the client half, and actions at a fixed rate on any clock."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, TypeVar

from rmqalloc.errors import refuse_defect
from rmqalloc.rebalance.driving import Lane, Steps, level_of
from rmqalloc.remoting.clock import Clock, Timer

Result = TypeVar("Result")

log = logging.getLogger(__name__)

_CLOSED = "this clock is closed and takes no further calls"


class FixedRate:
    """An action that is called repeatedly until it is cancelled; its errors are logged and change
    nothing.

    Parameters
    ----------
    clock : Clock
        Its timers are used.
    first : int
        Milliseconds to the first call.
    period : int
        Milliseconds between calls; a late call does not delay those after it.
    action : callable
        The action; with a lane, a function that returns the steps for the lane.
    lane : Lane, optional
        Lane of the action. The next call waits for the end of the previous call.

    Notes
    -----
    ``ScheduledExecutorService.scheduleAtFixedRate``, around actions that catch what they throw.
    """

    def __init__(
        self,
        clock: Clock,
        first: int,
        period: int,
        action: Callable[[], Steps[object] | None],
        lane: Lane | None = None,
    ) -> None:
        self._clock = clock
        self._lane = lane
        self._period = period
        self._action = action
        self._due = clock.now() + first
        self._cancelled = False
        self._timer: Timer = clock.call_later(first, self._call)

    def cancel(self) -> None:
        """Stop: no further call."""
        self._cancelled = True
        self._timer.cancel()

    def _call(self) -> None:
        if self._lane is not None:
            self._lane.do(self._steps(), self._ended, self._due)
            return
        try:
            self._action()
        except Exception as error:
            self._ended(None, error)
        else:
            self._ended(None, None)

    def _steps(self) -> Steps[None]:
        """Do it in its turn, if it is still wanted then."""
        if not self._cancelled and (steps := self._action()) is not None:
            yield from steps

    def _ended(self, _result: object, error: BaseException | None) -> None:
        if error is not None:
            if isinstance(error, Exception):
                refuse_defect(error)
            log.log(level_of(error), "a periodic action failed", exc_info=error)
        if not self._cancelled:
            self._due += self._period
            wait = self._due - self._clock.now()
            if wait <= 0 and self._lane is not None and self._lane.is_waited_for:
                self._call()  # it is late: what waits in the lane and was due before comes first
            else:
                self._timer = self._clock.call_later(max(0, wait), self._call)


@dataclass(slots=True, eq=False)
class _Entry:
    """A timer of `SystemClock`, cancelled when its action is gone; ``future`` is set where somebody
    waits for it.
    """

    action: Callable[[], None] | None
    future: Future[Any] | None = None

    def cancel(self) -> None:
        self.action = None


class SystemClock:
    """The time of day, and one thread that runs all actions in turn.

    The time is taken once and continued by a clock that never jumps, so that timers keep their
    distance. Java spreads a client over several threads; here a waiting action (such as a request
    without an answer) delays all further actions. Use it as a context manager, or `close` it.

    Examples
    --------
    >>> with SystemClock() as clock:
    ...     clock.call(lambda: "on the clock's thread")
    "on the clock's thread"
    """

    def __init__(self) -> None:
        self._origin = time.time_ns() // 1_000_000 - _monotonic()
        self._entries: list[tuple[int, int, _Entry]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="rmqalloc-clock", daemon=True)
        self._thread.start()

    def now(self) -> int:
        """Return milliseconds since the epoch."""
        return self._origin + _monotonic()

    def call_later(self, delay: int, action: Callable[[], None]) -> Timer:
        """Call ``action`` once, ``delay`` milliseconds from now; from any thread."""
        return self._push(delay, _Entry(action))

    def call(self, action: Callable[[], Result]) -> Result:
        """Call ``action`` on the clock's thread, wait for it, and return its result or raise its
        error.

        Raises
        ------
        RuntimeError
            The clock is closed, or was closed before the call.
        """
        if threading.current_thread() is self._thread:
            return action()
        future: Future[Result] = Future()
        self._push(0, _Entry(lambda: _complete(future, action), future))
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError(_CLOSED) from None

    def close(self) -> None:
        """Wait for the running action, if any, and drop all waiting actions."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> "SystemClock":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _push(self, delay: int, entry: _Entry) -> _Entry:
        with self._changed:
            if self._closed:
                raise RuntimeError(_CLOSED)
            heapq.heappush(self._entries, (_monotonic() + delay, next(self._order), entry))
            self._changed.notify()
        return entry

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            if (action := entry.action) is not None:
                try:
                    action()
                except Exception:
                    log.exception("an action of the clock failed")
        for _, _, entry in self._entries:
            if entry.future is not None:
                entry.future.cancel()

    def _next(self) -> _Entry | None:
        """Return the next entry when it is due, None when the clock is closed."""
        with self._changed:
            while not self._closed:
                if self._entries and self._entries[0][0] <= _monotonic():
                    return heapq.heappop(self._entries)[2]
                self._changed.wait(
                    (self._entries[0][0] - _monotonic()) / 1000 if self._entries else None
                )
        return None


def _monotonic() -> int:
    return time.monotonic_ns() // 1_000_000


def _complete(future: Future[Result], action: Callable[[], Result]) -> None:
    try:
        future.set_result(action())
    except BaseException as error:
        future.set_exception(error)
