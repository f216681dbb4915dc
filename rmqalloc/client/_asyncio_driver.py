"""Steps of a client, taken to their end by an event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from rmqalloc.rebalance.driving import Done, Request, Steps
from rmqalloc.remoting.clock import Timer

T = TypeVar("T")

log = logging.getLogger(__name__)


class AsyncioDriver:
    """Answers each request by the method of the same name of an object whose methods are ``async``.

    Parameters
    ----------
    remoting : object
        `rmqalloc.rebalance.Remoting` with ``async def``.

    Examples
    --------
    >>> class Broker:
    ...     async def max_offset(self, address, queue):
    ...         return 40
    >>> def steps():
    ...     return (yield Request("max_offset", ("10.0.0.1:10911", None))) + 2
    >>> asyncio.run(AsyncioDriver(Broker()).finish(steps()))
    42
    """

    def __init__(self, remoting: object) -> None:
        self._remoting = remoting
        self._tasks: set[asyncio.Task[None]] = set()

    def drive(self, steps: Steps[Any], done: Done) -> None:
        """Take steps to their first request at once, and further in a task."""
        try:
            request = next(steps)
        except StopIteration as end:
            done(end.value, None)
        except Exception as error:
            done(None, error)
        else:
            task = asyncio.get_running_loop().create_task(self._drive(steps, request, done))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finish(self, steps: Steps[T]) -> T:
        """Take steps to their end and return their result, or raise their error."""
        try:
            request = next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        return await self._finish(steps, request)

    async def close(self) -> None:
        """End what is under way; nobody gets its results."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drive(self, steps: Steps[Any], request: Request, done: Done) -> None:
        try:
            result = await self._finish(steps, request)
        except Exception as error:
            done(None, error)
        else:
            done(result, None)

    async def _finish(self, steps: Steps[T], request: Request) -> T:
        try:
            while True:
                try:
                    answer = await getattr(self._remoting, request.method)(*request.arguments)
                except Exception as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()


# An event loop as the clock of a client.


class LoopClock:
    """The time of day at its making, carried on by the loop's own clock, which never jumps; actions
    run in the loop.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
        Whose time and timers to use.

    Examples
    --------
    >>> async def tried():
    ...     clock, called = LoopClock(asyncio.get_running_loop()), asyncio.Event()
    ...     clock.call_later(1, called.set)
    ...     await called.wait()
    ...     return abs(clock.now() - time.time() * 1_000) < 1_000
    >>> asyncio.run(tried())
    True
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._origin = time.time() - loop.time()

    def now(self) -> int:
        """Return milliseconds since the epoch."""
        return int((self._origin + self._loop.time()) * 1_000)

    def call_later(self, delay: int, action: Callable[[], None]) -> Timer:
        """Call ``action`` once, ``delay`` milliseconds from now."""
        return self._loop.call_later(max(0, delay) / 1_000, action)
