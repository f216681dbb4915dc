"""A cluster as somebody to ask: name servers with failover, brokers with bounded concurrency, retries with backoff."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from rmqalloc.protocol import RemotingError, ResponseCode, ResponseError
from rmqalloc.snapshot.live import loose_json
from rmqalloc.snapshot.live.connection import Connection
from rmqalloc.snapshot.live.credentials import Credentials
from rmqalloc.snapshot.live.requests import ReadCode

NAMESRV_ADDR = "NAMESRV_ADDR"
_BUSY = (ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL)
_FIRST_PAUSE = 0.2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a cluster, and how gently.

    Attributes
    ----------
    tls : ssl.SSLContext or None
    credentials : Credentials or None
    timeout : float
        Seconds that an answer may take.
    retries : int
        Further tries after a connection broke, timed out or the server said it was busy; what goes on to a client has none.
    per_server : int
        Requests under way at one server at most.
    relayed_per_second : float
        Requests per second and broker, at most, that a broker passes on to a client (running info).
    """

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    timeout: float = 5.0
    retries: int = 2
    per_server: int = 4
    relayed_per_second: float = 50.0


def name_servers(text: str | None) -> list[str]:
    """Addresses in ``host:port;host:port``, or in the environment's NAMESRV_ADDR.

    Raises
    ------
    ValueError
        If there is none, or one is not ``host:port``.

    Examples
    --------
    >>> name_servers("10.0.0.1:9876; 10.0.0.2:9876")
    ['10.0.0.1:9876', '10.0.0.2:9876']
    """
    found = [part.strip() for part in (text or os.environ.get(NAMESRV_ADDR, "")).split(";") if part.strip()]
    if not found:
        raise ValueError(f"no name server given; give host:port, several parted by ';', or set {NAMESRV_ADDR}")
    for address in found:
        host, _, port = address.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"name server {address!r} is not host:port, such as 10.0.0.1:9876")
    return found


class Remote:
    """Asks the name servers and brokers of one cluster; an asynchronous context manager that closes its connections.

    Notes
    -----
    What a broker passes on to a client is asked of one client id at a time, over all groups and brokers, and never repeated.
    Java's client answers with threads (as many as it has processors) that it also needs to read the offsets it answers with,
    and for every other answer of a broker: a few such requests at once stop it until they time out, heartbeats included. With
    one processor a single one does, while it has queues whose offsets it must ask for; nothing can be done about that here.
    """

    def __init__(self, servers: list[str], access: Access | None = None) -> None:
        self._servers, self._access = servers, access or Access()
        self._connections: dict[str, Connection] = {}
        self._free: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(self._access.per_server))
        self._next_relay: dict[str, float] = defaultdict(float)
        self._turn: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.n_requests: dict[str, int] = defaultdict(int)
        """Requests sent so far, by address."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        for connection in self._connections.values():
            await connection.close()

    async def ask(
        self, address: str, code: ReadCode, fields: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[Any, Mapping[str, str]]:
        """The answer of one server: its body (None if empty; a broker's settings are text, all else JSON) and its fields.

        Raises
        ------
        RemotingError, ResponseError
            As `Connection.ask`, after all tries; a body that cannot be read is a RemotingError too.
        """
        if code is ReadCode.GET_CONSUMER_RUNNING_INFO:
            async with self._turn[(fields or {}).get("clientId", "")], self._free[address]:
                await self._wait_for_relay(address)
                return await self._asked(address, code, fields, body)
        async with self._free[address]:
            return await self._retried(lambda: self._asked(address, code, fields, body))

    async def ask_name_server(self, code: ReadCode, fields: Mapping[str, str] | None = None) -> Any:
        """The body that the first name server that can be reached answers.

        Raises
        ------
        RemotingError
            If none of them can be reached.
        ResponseError
            As `ask`.
        """
        failures = []
        for address in list(self._servers):
            try:
                return (await self.ask(address, code, fields))[0]
            except RemotingError as error:
                failures.append(str(error))
                # The others ask a server that works first.
                self._servers = [*(one for one in self._servers if one != address), address]
        raise RemotingError("no name server answers: " + "; ".join(failures))

    async def _asked(
        self, address: str, code: ReadCode, fields: Mapping[str, str] | None, body: bytes
    ) -> tuple[Any, Mapping[str, str]]:
        self.n_requests[address] += 1
        answer = await self._connection(address).ask(code, fields, body, self._access.timeout)
        if code is ReadCode.GET_BROKER_CONFIG:
            return answer.body.decode(errors="replace"), answer.ext_fields
        try:
            return (loose_json.loads(answer.body) if answer.body else None), answer.ext_fields
        except loose_json.JsonError as error:
            raise RemotingError(f"{address} answered {code.name} with something else than JSON: {error}") from error

    async def _retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        for left in range(self._access.retries, -1, -1):
            try:
                return await attempt()
            except (RemotingError, ResponseError) as error:
                if not left or (isinstance(error, ResponseError) and error.code not in _BUSY):
                    raise
            await asyncio.sleep(_FIRST_PAUSE * 2 ** (self._access.retries - left))
        raise AssertionError("the last try either answers or raises")

    async def _wait_for_relay(self, address: str) -> None:
        """Keep the pace of requests that a broker passes on to clients."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_relay[address])
        self._next_relay[address] = at + 1 / self._access.relayed_per_second
        await asyncio.sleep(at - now)

    def _connection(self, address: str) -> Connection:
        if address not in self._connections:
            self._connections[address] = Connection(address, self._access.tls, self._access.credentials)
        return self._connections[address]


def body_of(content: Mapping[str, Any]) -> bytes:
    """A request's body."""
    return json.dumps(content).encode()
