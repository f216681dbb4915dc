"""Which servers are still worth asking, and how much may be asked of a broker that passes requests on to clients."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from rmqalloc.remoting import RemotingError
from rmqalloc.remoting._connection import SilentError, UnreachableError

_MOST_FAILURES = {SilentError: 2, UnreachableError: 3}
_MOST_BROKEN = 12
"""Tries in a row that a broken connection may spoil: one bad frame spoils those under way, and these are tried again."""

MOST_RELAYED = 12
"""Clients that are asked at once through one broker. It gives each a thread of its `adminBrokerThreadPoolNums` (16), from which
all our other requests are answered, too."""

RELAY_LASTS = 10.0
"""Seconds for which a broker waits for a client (``Broker2Client.callClient``), and keeps that thread."""


class DownError(RemotingError):
    """A server that did not answer before is not asked again."""


class Health:
    """Failures of servers since each last answered."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, type[Exception]], int] = defaultdict(int)
        self._down: dict[str, str] = {}

    def check(self, address: str) -> None:
        """Raise `DownError` if a server is down."""
        if address in self._down:
            raise DownError(f"{address} is down for this run: {self._down[address]}")

    def is_up(self, address: str) -> bool:
        """Return whether a server is asked."""
        return address not in self._down

    def answered(self, address: str) -> None:
        """Record that a server has answered, be it by a refusal."""
        for kind in (*_MOST_FAILURES, RemotingError):
            self._failures.pop((address, kind), None)

    def failed(self, address: str, error: RemotingError) -> None:
        """Record that a server has not answered."""
        kind = next((one for one in _MOST_FAILURES if isinstance(error, one)), RemotingError)
        self._failures[address, kind] += 1
        n, most = self._failures[address, kind], _MOST_FAILURES.get(kind, _MOST_BROKEN)
        if n >= most and address not in self._down:
            self._down[address] = f"{n} tries in a row failed, the last with: {error}"


class Relays:
    """Requests that one broker passes on to clients: so many at once, so many a second."""

    def __init__(self, per_second: float) -> None:
        self._free = asyncio.Semaphore(MOST_RELAYED)
        self._pause, self._next = 1 / per_second, 0.0

    async def begin(self) -> float:
        """Wait for a place and for the turn; the time at which the request may be sent."""
        await self._free.acquire()
        try:
            now = asyncio.get_running_loop().time()
            at = max(now, self._next)
            self._next = at + self._pause
            await asyncio.sleep(at - now)
        except BaseException:
            self._free.release()
            raise
        return at

    def end(self, sent: float, is_waited_for: bool) -> None:
        """Give the place back; where the broker still waits for a silent client, only when it stops to."""
        loop = asyncio.get_running_loop()
        if is_waited_for and loop.time() < sent + RELAY_LASTS:
            loop.call_at(sent + RELAY_LASTS, self._free.release)
        else:
            self._free.release()
