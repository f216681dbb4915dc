"""Waiting of a client without blocking: its work as steps that yield requests, and drivers that
answer them.

Java spreads a client over threads, each of which blocks in its requests. Here the same work is a
generator (`Steps`) that yields a `Request` where Java would block, and continues with its answer, or
with its error if there is no answer. Each of Java's threads is a `Lane`: it does one thing after
another, each to its end, and no lane waits for another lane.

Three drivers run steps to their end: `BlockingDriver` over a `Remoting` whose requests block (in
virtual time such a request spends its time on the clock), `VirtualDriver` for answers that arrive
while time passes, and the asyncio driver of `rmqalloc.client`.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Generator
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from rmqalloc.errors import refuse_defect
from rmqalloc.remoting import RemotingError

T = TypeVar("T")

log = logging.getLogger(__name__)


class Request(NamedTuple):
    """One request to a name server or broker.

    Attributes
    ----------
    method : str
        A method of `rmqalloc.rebalance.Remoting`.
    arguments : tuple
        Its arguments, in order.
    """

    method: str
    arguments: tuple[Any, ...]

    @property
    def address(self) -> str | None:
        """Return the broker of the request, None for a name server."""
        return None if self.method == "topic_route" else self.arguments[0]


Steps = Generator[Request, Any, T]
"""Work that yields requests, receives their answers, and returns a result; the error of a failed request is thrown in."""

Done = Callable[[Any, BaseException | None], None]
"""``done(result, error)``: steps have ended, with a result or with the error that they raised."""


def nothing(result: T) -> Steps[T]:
    """Return a result without a request.

    Examples
    --------
    >>> BlockingDriver(None).finish(nothing(7))
    7
    """
    return result
    yield


@runtime_checkable
class Driver(Protocol):
    """Runs steps to their end."""

    def drive(self, steps: Steps[Any], done: Done) -> None:
        """Send each request of ``steps``, answer it, and call ``done`` once, when they have ended.

        Answers are sent in by the clock's thread, never two at once. It may return before the steps
        have ended.
        """


class BlockingDriver:
    """Runs steps by blocking ports: `drive` returns when they have ended.

    Parameters
    ----------
    remoting : Remoting
        Answers requests.

    Examples
    --------
    >>> class Broker:
    ...     def consumer_ids(self, address, consumer_group):
    ...         return [f"x of {consumer_group} at {address}"]
    >>> def steps():
    ...     found = yield Request("consumer_ids", ("10.0.0.1:10911", "g"))
    ...     return found[0]
    >>> BlockingDriver(Broker()).finish(steps())
    'x of g at 10.0.0.1:10911'
    """

    def __init__(self, remoting: Any) -> None:
        self.remoting = remoting

    def drive(self, steps: Steps[Any], done: Done) -> None:
        """Run steps to their end, then call ``done``."""
        try:
            result = self.finish(steps)
        except Exception as error:
            done(None, error)
        else:
            done(result, None)

    def finish(self, steps: Steps[T]) -> T:
        """Run steps to their end and return their result, or raise their error."""
        remoting = self.remoting
        try:
            method, arguments = next(steps)
            while True:
                try:
                    answer = getattr(remoting, method)(*arguments)
                except Exception as error:
                    method, arguments = steps.throw(error)
                else:
                    method, arguments = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class VirtualDriver:
    """Runs steps by answers that are given at any time: in virtual time, or released by a script.

    Parameters
    ----------
    begin : callable
        ``begin(request, answered)`` begins a request; ``answered(answer, error)`` must be called
        once, at once or later.

    Examples
    --------
    >>> waiting, ended = [], []
    >>> driver = VirtualDriver(lambda request, answered: waiting.append(answered))
    >>> def steps():
    ...     return (yield Request("max_offset", ("10.0.0.1:10911", None)))
    >>> driver.drive(steps(), lambda result, error: ended.append(result))
    >>> len(ended)
    0
    >>> waiting[0](40, None)
    >>> ended
    [40]
    """

    def __init__(self, begin: Callable[[Request, Done], None]) -> None:
        self._begin = begin

    def drive(self, steps: Steps[Any], done: Done) -> None:
        """Run steps to their first request; the answers continue them."""
        self._go_on(steps, done, None, None)

    def _go_on(
        self, steps: Steps[Any], done: Done, answer: Any, failed: BaseException | None
    ) -> None:
        try:
            request = steps.send(answer) if failed is None else steps.throw(failed)
        except StopIteration as end:
            done(end.value, None)
            return
        except Exception as error:
            done(None, error)
            return
        self._begin(request, lambda result, error: self._go_on(steps, done, result, error))


class Lane:
    """One of Java's threads of a client: it runs its work in turn, in the order of due times.

    Parameters
    ----------
    driver : Driver
        Runs its steps to their end.

    Attributes
    ----------
    is_busy : bool
        Work is running in it.

    Examples
    --------
    >>> lane, ended = Lane(BlockingDriver(None)), []
    >>> lane.do(nothing("a"), lambda result, error: ended.append(result))
    >>> ended
    ['a']
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._waiting: list[tuple[int, int, Steps[Any], Done]] = []
        self._order = count()
        self._done: Done = _nobody_waits
        self._goes_on = False
        self.is_busy = False

    def do(self, steps: Steps[Any], done: Done, due: int = 0) -> None:
        """Run work in turn, then call ``done``; waiting work with the earliest ``due`` (ms) runs
        first.
        """
        if self.is_busy or self._goes_on or self._waiting:
            heapq.heappush(self._waiting, (due, next(self._order), steps, done))
            self._next()
            return
        self._goes_on = True
        try:
            self._begin(steps, done)
        finally:
            self._goes_on = False
        if self._waiting:
            self._next()

    @property
    def is_waited_for(self) -> bool:
        """Return True if work waits in it."""
        return bool(self._waiting)

    def forget_waiting(self) -> None:
        """Drop work that has not begun; its ``done`` is never called."""
        self._waiting.clear()

    def _next(self) -> None:
        """Begin what waits; what ends at once is followed by this loop, not by a call within a
        call.
        """
        if self.is_busy or self._goes_on:
            return
        self._goes_on = True
        try:
            while self._waiting and not self.is_busy:
                _, _, steps, done = heapq.heappop(self._waiting)
                self._begin(steps, done)
        finally:
            self._goes_on = False

    def _begin(self, steps: Steps[Any], done: Done) -> None:
        self.is_busy = True
        self._done = done
        self._driver.drive(steps, self._ended)

    def _ended(self, result: Any, error: BaseException | None) -> None:
        self.is_busy = False
        self._done(result, error)
        if self._waiting:
            self._next()


def _nobody_waits(_result: Any, _error: BaseException | None) -> None:
    """Stand for the ``done`` of a lane that has done nothing yet."""


def level_of(error: BaseException) -> int:
    """Return the log level of an error of a client: lower if a server does not answer, which the
    transport has logged already.

    Examples
    --------
    >>> logging.getLevelName(level_of(RemotingError("10.0.0.1:9876 did not answer")))
    'DEBUG'
    """
    return logging.DEBUG if isinstance(error, RemotingError) else logging.WARNING


def logged(what: str) -> Done:
    """Return a ``done`` for work without a waiting caller: its error is logged."""

    def done(_result: Any, error: BaseException | None) -> None:
        if error is not None:
            if isinstance(error, Exception):
                refuse_defect(error)
            log.log(level_of(error), "%s failed", what, exc_info=error)

    return done
