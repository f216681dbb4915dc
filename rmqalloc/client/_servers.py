"""Connections of a member, one per address, and what is not asked of a server that is silent.

A frozen broker accepts every request and answers none. A pass over sixty of its queues that waited
for each would take minutes, so a server that let a request run into its timeout is spared for up to
10 s what others wait for: that fails at once. Heartbeats and pulls always leave, for nothing waits
behind them, and any answer to them ends the silence.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, TypedDict

from rmqalloc.client.member_codes import MemberCode
from rmqalloc.remoting import ResponseCode, ResponseError
from rmqalloc.remoting.connection import Connection, SilentError
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.health import SilentAddresses
from rmqalloc.remoting.signed_servers import SignedServers, is_verified

_DEAD_AFTER = 60.0
"""Seconds without a single frame after which a connection that does not answer is given up, so that another one is opened."""

log = logging.getLogger(__name__)

OnRequest = Callable[[str, Command], Coroutine[Any, Any, Command | None]]
"""``on_request(address, command)``: what a server asks of the client, and the answer to it."""


class AskOptions(TypedDict, total=False):
    """Options of `Servers.ask`."""

    timeout: float
    accept: Collection[int]
    always: bool


class Servers:
    """Asks the servers of a cluster.

    Parameters
    ----------
    name_servers : list of str
        Those that the user named.
    tls, credentials, acl_address
        See `MemberSettings`.
    on_request : callable
        See `OnRequest`.
    on_open : callable
        ``on_open(address)`` is called when a connection is there, for the first time or again.
    """

    def __init__(
        self,
        name_servers: list[str],
        tls: ssl.SSLContext | None,
        credentials: Credentials | None,
        acl_address: str,
        on_request: OnRequest,
        on_open: Callable[[str], None],
    ) -> None:
        self._tls, self._credentials = tls, credentials
        self._on_request, self._on_open = on_request, on_open
        is_for_all = credentials is None or is_verified(tls)
        self._named = None if is_for_all else SignedServers(name_servers, acl_address)
        self._connections: dict[str, Connection] = {}
        self._silent = SilentAddresses()
        self._opened_at: dict[str, float] = {}

    async def ask(
        self,
        address: str,
        code: MemberCode,
        fields: Mapping[str, str],
        body: bytes = b"",
        timeout: float = 3.0,
        accept: Collection[int] = (ResponseCode.SUCCESS,),
        always: bool = False,
    ) -> Command:
        """Send a request and return its answer; ``always`` does so although the server is silent.

        Raises
        ------
        ResponseError
            The answer has a code that is not in ``accept``.
        RemotingError
            No answer came, or the server is silent.
        """
        connection = self._connection(address)
        if not always:
            self._silent.check(address)
        try:
            answer = await connection.ask(code, fields, body, timeout, accept)
        except SilentError:
            await self._is_silent(address, connection)
            raise
        except ResponseError:
            self._silent.answered(address)
            raise
        self._silent.answered(address)
        return answer

    async def tell(
        self, address: str, code: MemberCode, fields: Mapping[str, str], body: bytes = b""
    ) -> None:
        """Send a request that is not answered, also to a silent server, as long as its connection
        takes bytes.
        """
        connection = self._connection(address)
        if not connection.is_open:
            self._silent.check(address)
        try:
            await connection.send(code, fields, body, 3.0)
        except SilentError:
            await self._is_silent(address, connection)
            raise

    async def close(self) -> None:
        """Close all connections."""
        for connection in list(self._connections.values()):
            await connection.close()

    async def _is_silent(self, address: str, connection: Connection) -> None:
        self._silent.failed(address)
        now = asyncio.get_running_loop().time()
        if now - max(connection.heard, self._opened_at.get(address, now)) > _DEAD_AFTER:
            log.info(
                "%s has sent nothing for %.0f s; its connection is given up", address, _DEAD_AFTER
            )
            await connection.close()

    def _is_open(self, address: str) -> None:
        self._opened_at[address] = asyncio.get_running_loop().time()
        self._on_open(address)

    def _connection(self, address: str) -> Connection:
        if (known := self._connections.get(address)) is not None:
            return known
        if self._named is not None:
            self._named.check(address)
        connection = self._connections[address] = Connection(
            address,
            self._tls,
            self._credentials,
            codes=MemberCode,
            on_request=lambda command: self._on_request(address, command),
            on_open=lambda: self._is_open(address),
        )
        return connection
