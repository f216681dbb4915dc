"""Servers that still get requests, and the load limit of a broker that forwards requests to
clients.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Container

from rmqalloc.remoting._response_codes import RemotingError
from rmqalloc.remoting.connection import NotRocketMQError, SilentError, UnreachableError

_MOST_FAILURES = {NotRocketMQError: 1, SilentError: 2, UnreachableError: 3}
_MOST_BROKEN = 12
"""Failed tries in a row before a server is down: one bad frame fails all requests under way, which are tried again."""

MOST_RELAYED = 12
"""Maximum clients with requests at once through one broker. The broker uses a thread of its `adminBrokerThreadPoolNums` (16)
for each of them, from which it also answers all our further requests."""

RELAY_LASTS = 10.0
"""Seconds that a broker waits for a client (``Broker2Client.callClient``), and occupies that thread."""


_PAUSES_OF_BROKERS, _PAUSES_OF_CLIENTS = (1.0, 30.0), (RELAY_LASTS, 300.0)
"""Seconds until a silent server gets requests again: after its first failure, and at most."""


class DownError(RemotingError):
    """A server that did not answer before gets no further request."""


class BackOff:
    """Pauses before further requests to silent servers; they double while the server stays silent.

    Examples
    --------
    >>> pauses = BackOff(1.0, 3.0)
    >>> pauses.failed("c", 10.0)
    >>> pauses.is_over("c", 10.5), pauses.is_over("c", 11.0)
    (False, True)
    >>> pauses.failed("c", 11.0)
    >>> pauses.is_over("c", 12.5), pauses.is_over("c", 13.0)
    (False, True)
    """

    def __init__(self, first: float, most: float) -> None:
        self._first, self._most = first, most
        self._pauses: dict[str, tuple[float, float]] = {}  # its end, and seconds

    def failed(self, name: str, now: float) -> None:
        """Begin a pause, twice as long as the previous pause."""
        pause = min(self._pauses[name][1] * 2, self._most) if name in self._pauses else self._first
        self._pauses[name] = now + pause, pause

    def is_over(self, name: str, now: float) -> bool:
        """Return whether a pause is over."""
        return name not in self._pauses or now >= self._pauses[name][0]

    def forget(self, name: str) -> None:
        """Reset the next pause to the shortest."""
        self._pauses.pop(name, None)

    def keep_only(self, names: Container[str]) -> None:
        """Forget all names except these."""
        self._pauses = {name: one for name, one in self._pauses.items() if name in names}

    def forget_old(self, now: float) -> None:
        """Drop pauses that ended long ago without a further failure."""
        self._pauses = {
            name: one for name, one in self._pauses.items() if now < one[0] + self._most
        }


class SilentClients:
    """Clients that did not answer. They get requests again when a pause is over and a reading begins."""

    def __init__(self) -> None:
        self._silent: set[str] = set()
        self._pauses = BackOff(*_PAUSES_OF_CLIENTS)

    def __contains__(self, client_id: object) -> bool:
        return client_id in self._silent

    def failed(self, client_id: str) -> None:
        """Record that a client has not answered."""
        self._silent.add(client_id)
        self._pauses.failed(client_id, time.monotonic())

    def answered(self, client_id: str) -> None:
        """Record that a client has answered."""
        self._pauses.forget(client_id)

    def revive(self) -> None:
        """Allow requests to clients whose pause is over."""
        now = time.monotonic()
        self._silent = {one for one in self._silent if not self._pauses.is_over(one, now)}
        self._pauses.forget_old(now)


class Health:
    """Failures of servers since their last answers."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, type[Exception]], int] = defaultdict(int)
        self._down: dict[str, str] = {}
        self._pauses = BackOff(*_PAUSES_OF_BROKERS)

    def check(self, address: str) -> None:
        """Raise `DownError` if a server is down."""
        if address in self._down:
            raise DownError(f"{address} is down for this run: {self._down[address]}")

    def is_up(self, address: str) -> bool:
        """Return whether a server gets requests."""
        return address not in self._down

    def answered(self, address: str) -> None:
        """Record an answer of a server, even a refusal."""
        for kind in (*_MOST_FAILURES, RemotingError):
            self._failures.pop((address, kind), None)
        self._pauses.forget(address)

    def failed(self, address: str, error: RemotingError) -> None:
        """Record that a server has not answered."""
        kind = next((one for one in _MOST_FAILURES if isinstance(error, one)), RemotingError)
        self._failures[address, kind] += 1
        n, most = self._failures[address, kind], _MOST_FAILURES.get(kind, _MOST_BROKEN)
        if n >= most and address not in self._down:
            tries = f"{n} tries in a row failed, the last with: " if n > 1 else ""
            self._down[address] = f"{tries}{error}"
            self._pauses.failed(address, time.monotonic())

    def revive(self) -> None:
        """Allow requests to servers whose pause is over; a single failure then marks a server as
        down again.
        """
        now = time.monotonic()
        for address in [one for one in self._down if self._pauses.is_over(one, now)]:
            del self._down[address]
            for kind in (*_MOST_FAILURES, RemotingError):
                self._failures[address, kind] = _MOST_FAILURES.get(kind, _MOST_BROKEN) - 1

    def keep_only(self, addresses: Container[str]) -> None:
        """Forget all servers except these."""
        self._failures = defaultdict(
            int, {key: n for key, n in self._failures.items() if key[0] in addresses}
        )
        for address in [one for one in self._down if one not in addresses]:
            del self._down[address]
        self._pauses.forget_old(time.monotonic())


class Relays:
    """Requests that one broker forwards to clients, with limits of concurrency and of rate."""

    def __init__(self, per_second: float) -> None:
        self._free = asyncio.Semaphore(MOST_RELAYED)
        self._pause, self._next = 1 / per_second, 0.0

    async def begin(self) -> float:
        """Wait for a free place and for the rate; return the time at which the request may be sent."""
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
        """Release the place; while the broker still waits for a silent client, only when it stops
        waiting.
        """
        loop = asyncio.get_running_loop()
        if is_waited_for and loop.time() < sent + RELAY_LASTS:
            loop.call_at(sent + RELAY_LASTS, self._free.release)
        else:
            self._free.release()
