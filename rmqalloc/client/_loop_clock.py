"""An event loop as the clock of a client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rmqalloc.remoting.clock import Timer


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
