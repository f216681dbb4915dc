"""Requests to a cluster: name servers with failover, brokers with bounded concurrency, retries with
backoff.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self, TypeVar

from rmqalloc.errors import ArgumentError
from rmqalloc.remoting import (
    RemotingError,
    ResponseCode,
    ResponseError,
    loose_json,
)
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.body_fields import BodyError
from rmqalloc.remoting.connection import Connection, SilentError
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.health import MOST_RELAYED, Health, Relays, SilentClients
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.remoting.signed_servers import SignedServers, is_verified

# What answers came to, by digests of their bodies: most answers of a cluster are those of the
# reading before.


class Remembered:
    """Results of pure functions of bodies, from this reading and the last reading.

    Examples
    --------
    >>> answers = Remembered([len])
    >>> answers.keep(len, b"abc", 3)
    >>> answers.turn()
    >>> answers.get(len, b"abc"), answers.get(max, b"abc"), answers.get(len, b"ab")
    (3, None, None)
    """

    def __init__(self, pure: Collection[Callable[[Any], Any]] = ()) -> None:
        self._names = {function: f"{i}".encode() for i, function in enumerate(pure)}
        self._last: dict[bytes, Any] = {}
        self._now: dict[bytes, Any] = {}

    def turn(self) -> None:
        """Begin a reading: results that the last reading did not use are dropped."""
        self._last, self._now = self._now, {}

    def get(self, read: Callable[[Any], T], body: bytes) -> T | None:
        """Return the result for an equal body, None if there is none."""
        if read not in self._names:
            return None
        key = self._key(read, body)
        found: T | None = self._now.get(key)
        if found is None and (found := self._last.pop(key, None)) is not None:
            self._now[key] = found
        return found

    def keep(self, read: Callable[[Any], T], body: bytes, found: T) -> None:
        """Store the result for a body."""
        if read in self._names:
            self._now[self._key(read, body)] = found

    def _key(self, read: Callable[[Any], Any], body: bytes) -> bytes:
        return blake2b(body, digest_size=16, person=self._names[read]).digest()


__all__ = [
    "MOST_RELAYED",
    "NAMESRV_ADDR",
    "Access",
    "BodyError",
    "DeadlineError",
    "Remote",
    "name_servers",
]

NAMESRV_ADDR = "NAMESRV_ADDR"
_BUSY = (ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL)
_OF_SETTINGS = (ReadCode.GET_BROKER_CONFIG, ReadCode.GET_NAMESRV_CONFIG)
_FIRST_PAUSE = 0.2
_ANSWERS_PER_DEADLINE = 6
_CONNECT_WITHIN, _LEAST_WITHIN = 3.0, 0.5
_READ_AT_ONCE = (
    1 << 16
)  # bytes of a body; a longer one is read on a thread, so that everything else goes on
_READ_WITHIN = 10.0  # seconds, for a body that is not regular

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """Settings of requests to a cluster: TLS, signatures, time limits and load limits."""

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    # servers that are signed for, without it those on hosts of name servers; with TLS that verifies
    # servers, all are
    named: SignedServers | None = None
    timeout: float = 5.0  # seconds that an answer may take
    # further tries after a connection broke, timed out or the server said it was busy; what goes on
    # to a client has none
    retries: int = 2
    per_server: int = 4  # requests under way at one server at most
    # requests per second and broker, at most, that a broker passes on to a client (running info)
    relayed_per_second: float = 50.0
    # seconds that everything together may take; requests that are not answered by then fail. One
    # answer may take a sixth of it at most, so that a server that is frozen does not use it up
    deadline: float | None = None
    # requests per second that one server gets at most, of whatever kind; None for no bound
    per_second: float | None = None

    @property
    def answer_within(self) -> float:
        """Maximum seconds of an answer, limited by the deadline of the whole reading if there is one.

        Examples
        --------
        >>> Access().answer_within, Access(deadline=30.0).answer_within, Access(deadline=6.0).answer_within
        (5.0, 5.0, 1.0)
        """
        share = self.timeout if self.deadline is None else self.deadline / _ANSWERS_PER_DEADLINE
        return min(self.timeout, max(share, _LEAST_WITHIN))


class DeadlineError(RemotingError):
    """The time for the whole reading is over."""


def name_servers(text: str | None) -> list[str]:
    """Return addresses from ``host:port;host:port``, or from the environment variable NAMESRV_ADDR.

    Examples
    --------
    >>> name_servers("10.0.0.1:9876; 10.0.0.2:9876")
    ['10.0.0.1:9876', '10.0.0.2:9876']
    """
    found = [
        part.strip()
        for part in (text or os.environ.get(NAMESRV_ADDR, "")).split(";")
        if part.strip()
    ]
    if not found:
        raise ArgumentError(
            f"no name server given; give host:port, several separated by ';', or set {NAMESRV_ADDR}"
        )
    for address in found:
        try:
            host_and_port(address)
        except ArgumentError as error:
            raise ArgumentError(f"name server {error}") from None
    return found


class Remote:
    """Send requests to the name servers and brokers of one cluster; an asynchronous context manager
    that closes its connections.

    Notes
    -----
    Requests that a broker forwards to a client are sent to one client id at a time, over all groups and brokers, and never
    repeated. Java's client answers with threads (as many as it has processors) that it also needs for every other answer of a
    broker, such as the offsets in its answer. A few concurrent requests block it until they time out, heartbeats included. With
    one processor a single request does so, while the client has queues whose offsets it must read; this cannot be avoided here.
    Different clients get requests concurrently (`MOST_RELAYED`); a client that was silent once gets no further requests for its
    remaining groups.

    A server that failed to answer twice, with no answer in between, is down: further requests to it
    fail at once.

    Call `begin` before each further reading over the same connections: silent servers and clients
    get requests again after pauses that double. ``pure`` are those functions among the ``read``
    arguments whose result depends only on the body and is never modified: a body equal to a body of
    this or the last reading returns the same result again.
    """

    def __init__(
        self,
        servers: list[str],
        access: Access | None = None,
        pure: Collection[Callable[[Any], Any]] = (),
    ) -> None:
        self._servers, self._access = servers, access or Access()
        is_for_all = self._access.credentials is None or is_verified(self._access.tls)
        self._named = None if is_for_all else self._access.named or SignedServers(servers)
        self._connections: dict[str, Connection] = {}
        self._free: dict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(self._access.per_server)
        )
        self._relays: dict[str, Relays] = defaultdict(
            lambda: Relays(self._access.relayed_per_second)
        )
        self._turn: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._probing: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._paces: dict[str, Pace] = {}
        self._silent = SilentClients()
        self._health = Health()
        self._remembered = Remembered(pure)
        self._until: float | None = None
        self._n_asked = 0
        self._reader = ThreadPoolExecutor(1, "rmqalloc-reader")
        self._is_closed = False
        self.n_requests: dict[str, int] = defaultdict(int)
        """Requests sent so far, by address."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._is_closed = True
        self._reader.shutdown(wait=False, cancel_futures=True)
        for connection in self._connections.values():
            await connection.close()

    def begin(self) -> None:
        """Begin another reading: its deadline counts from now, and silent servers whose pause is over
        get requests again.
        """
        self._until, self._n_asked = None, 0
        self._health.revive()
        self._silent.revive()
        self._remembered.turn()
        self._turn.clear()  # no request is under way between readings

    async def keep_only(self, addresses: Collection[str]) -> None:
        """Close connections to all servers except these and the name servers, and forget their
        failures.
        """
        kept = {*addresses, *self._servers}
        by_address: tuple[dict[str, Any], ...] = (
            self._free, self._relays, self._probing, self._paces, self.n_requests
        )  # fmt: skip
        for one in by_address:
            for address in one.keys() - kept:
                del one[address]
        self._health.keep_only(kept)
        for address in self._connections.keys() - kept:
            await self._connections.pop(address).close()

    def is_up(self, address: str) -> bool:
        """Return whether a server still answers, as far as known."""
        return self._health.is_up(address)

    def is_asked(self, address: str) -> bool:
        """Return whether requests are sent to a server: it is up, and may get the signature that they
        need.
        """
        return self.is_up(address) and self.is_signed_for(address)

    def is_signed_for(self, address: str) -> bool:
        """Return whether a server may get signed requests."""
        return self._named is None or address in self._named

    async def ask(
        self,
        address: str,
        code: ReadCode,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        read: Callable[[Any], Any] = lambda content: content,
    ) -> tuple[Any, Mapping[str, str]]:
        """Send a request to one server; return the body (None if empty; text for a server's settings,
        else JSON) and the fields.
        """
        if self._named is not None:
            self._named.check(address)
        is_relayed = code is ReadCode.GET_CONSUMER_RUNNING_INFO
        ask = self._relayed if is_relayed else self._direct
        loop = asyncio.get_running_loop()
        if self._until is None and self._access.deadline is not None:
            self._until = loop.time() + self._access.deadline
        self._n_asked += 1
        # Those who wait give up in the order in which they came: out of a long queue any other
        # would take its square in time.
        until = None if self._until is None else self._until + self._n_asked * 1e-7
        try:
            async with asyncio.timeout_at(until):
                if until is None or loop.time() < until:
                    return await ask(address, code, fields or {}, body, read)
        except TimeoutError:
            pass
        raise DeadlineError(
            f"{address} had not answered by the deadline of {self._access.deadline:g} s"
        )

    async def ask_name_server(
        self,
        code: ReadCode,
        fields: Mapping[str, str] | None = None,
        read: Callable[[Any], Any] = lambda content: content,
    ) -> Any:
        """Return the body from the first name server that answers."""
        failures = []
        for address in list(self._servers):
            try:
                return (await self.ask(address, code, fields, read=read))[0]
            except DeadlineError:
                raise
            except RemotingError as error:
                failures.append(str(error))
                # The others ask a server that works first.
                self._servers = [*(one for one in self._servers if one != address), address]
        raise RemotingError("no name server answers: " + "; ".join(failures))

    async def _direct(
        self,
        address: str,
        code: ReadCode,
        fields: Mapping[str, str],
        body: bytes,
        read: Callable[[Any], T],
    ) -> tuple[T, Mapping[str, str]]:
        """Return the answer of a server itself."""
        async with self._free[address]:
            return await self._retried(
                address, lambda: self._asked(address, code, fields, body, read)
            )

    async def _relayed(
        self,
        address: str,
        code: ReadCode,
        fields: Mapping[str, str],
        body: bytes,
        read: Callable[[Any], T],
    ) -> tuple[T, Mapping[str, str]]:
        """Return the answer of a client through a broker."""
        client_id, relays = fields.get("clientId", ""), self._relays[address]
        async with self._turn[client_id]:
            self._check_client(address, client_id)
            sent, is_waited_for = await relays.begin(), False
            try:
                self._check_client(address, client_id)
                answer = await self._asked(address, code, fields, body, read)
                self._silent.answered(client_id)
                return answer
            except SilentError:
                is_waited_for = await self._is_alive(address, fields, sent)
                if is_waited_for:
                    self._silent.failed(client_id)
                raise
            except ResponseError as error:
                if error.code == ResponseCode.CONSUME_MSG_TIMEOUT:
                    self._silent.failed(client_id)
                raise
            finally:
                relays.end(sent, is_waited_for)

    def _check_client(self, address: str, client_id: str) -> None:
        """Raise if a client or the broker that it is asked through has been silent."""
        self._health.check(address)
        if client_id in self._silent:
            raise RemotingError(
                f"client {client_id} did not answer before and gets no further request"
            )

    async def _is_alive(self, address: str, fields: Mapping[str, str], sent: float) -> bool:
        """Return whether a broker answers, so that it was the client who did not; asked only if
        nothing came from it since.
        """
        async with self._probing[address]:
            if self._connection(address).heard < sent:
                group = {"consumerGroup": fields.get("consumerGroup", "")}
                try:
                    await self._asked(
                        address, ReadCode.GET_CONSUMER_CONNECTION_LIST, group, b"", lambda _: None
                    )
                except ResponseError:
                    return True
                except RemotingError:
                    return False
            return True

    async def _asked(
        self,
        address: str,
        code: ReadCode,
        fields: Mapping[str, str],
        body: bytes,
        read: Callable[[Any], T],
    ) -> tuple[T, Mapping[str, str]]:
        """Try once."""
        self._health.check(address)
        if self._access.per_second is not None:
            await self._pace(address).turn()
            self._health.check(address)
        self.n_requests[address] += 1
        try:
            answer = await self._connection(address).ask(
                code, fields, body, self._access.answer_within
            )
        except ResponseError:
            self._health.answered(address)
            raise
        except RemotingError as error:
            if not isinstance(error, SilentError) or code is not ReadCode.GET_CONSUMER_RUNNING_INFO:
                self._health.failed(address, error)
            raise
        self._health.answered(address)
        return await self._content(address, code, answer.body, read), answer.ext_fields

    async def _content(
        self, address: str, code: ReadCode, body: bytes, read: Callable[[Any], T]
    ) -> T:
        """Return what an answer's body comes to, within bounds of size and time, see
        `loose_json.loads`.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + _READ_WITHIN

        if (known := self._remembered.get(read, body)) is not None:
            return known

        def content() -> T:
            if code in _OF_SETTINGS:
                return read(body.decode(errors="replace"))
            return read(
                loose_json.loads(body, lambda: self._is_closed or loop.time() > end)
                if body
                else None
            )

        try:
            found = (
                content()
                if len(body) <= _READ_AT_ONCE
                else await loop.run_in_executor(self._reader, content)
            )
        except loose_json.JsonError as error:
            raise BodyError(
                f"{address} answered {code.name} with a body that is not JSON: {error}"
            ) from error
        self._remembered.keep(read, body, found)
        return found

    async def _retried(self, address: str, attempt: Callable[[], Awaitable[T]]) -> T:
        for left in range(self._access.retries, -1, -1):
            try:
                return await attempt()
            except (RemotingError, ResponseError) as error:
                is_final = isinstance(error, BodyError) or (
                    isinstance(error, ResponseError) and error.code not in _BUSY
                )
                if not left or is_final or not self._health.is_up(address):
                    raise
            # Not all at the same time again: what broke the connection for all may be the answer to
            # one of them.
            pause = _FIRST_PAUSE * 2 ** (self._access.retries - left)
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
        raise AssertionError("the last try either answers or raises")

    def _pace(self, address: str) -> Pace:
        if address not in self._paces:
            self._paces[address] = Pace(self._access.per_second or math.inf)
        return self._paces[address]

    def _connection(self, address: str) -> Connection:
        if address not in self._connections:
            if self._named is not None:
                self._named.check(address)
            within = min(_CONNECT_WITHIN, self._access.answer_within)
            self._connections[address] = Connection(
                address, self._access.tls, self._access.credentials, within
            )
        return self._connections[address]


# How many requests a second one server gets: a token bucket that everything shares that asks this
# server.

_AHEAD = 0.05
"""Seconds of requests that may be sent at once after a pause."""


class Pace:
    """Limit requests to a rate: in any ``t`` seconds at most ``(t + 0.05) * per_second`` requests, and
    one more.
    """

    def __init__(self, per_second: float) -> None:
        self._pause, self._next = 1 / per_second, 0.0

    async def turn(self) -> None:
        """Wait until a request may be sent, in the order of the calls."""
        now = asyncio.get_running_loop().time()
        at = max(self._next, now - _AHEAD)
        self._next = at + self._pause
        if at > now:
            await asyncio.sleep(at - now)
