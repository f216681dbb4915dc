"""How many requests a second one server gets: a token bucket that everything shares that asks this
server.
"""

from __future__ import annotations

import asyncio

_AHEAD = 0.05
"""Seconds whose requests may leave at once after a pause."""


class Pace:
    """Lets requests pass, so many a second: in any ``t`` seconds at most ``(t + 0.05) *
    per_second``, and one more.
    """

    def __init__(self, per_second: float) -> None:
        self._pause, self._next = 1 / per_second, 0.0

    async def turn(self) -> None:
        """Wait until a request may leave; those who wait go in the order in which they came."""
        now = asyncio.get_running_loop().time()
        at = max(self._next, now - _AHEAD)
        self._next = at + self._pause
        if at > now:
            await asyncio.sleep(at - now)
