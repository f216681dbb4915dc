"""Connections of a member, one per address, and what is not asked of a server that fails.

A frozen broker accepts every request and answers none. A pass over sixty of its queues that waited
for each would take minutes, so what others wait for fails at once for a while after a request that
ran into its timeout. Heartbeats and pulls still leave over the open connection, for nothing waits
behind them, and any answer to them ends the silence.

A server that is gone, or that closes connections, gets no request of any kind until its pause is
over: each would open another connection. Pauses are those of `rmqalloc.remoting.failing`.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, TypedDict

from rmqalloc.client.member_codes import MemberCode
from rmqalloc.remoting import RemotingError, ResponseCode, ResponseError
from rmqalloc.remoting.connection import Connection, SilentError
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.failing import FailingAddresses, Failure, NotAskedError
from rmqalloc.remoting.frames import Command
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
        self._now = asyncio.get_running_loop().time
        self._failing = FailingAddresses(self._now)
        self._opened_at: dict[str, float] = {}
        self._is_closed = False

    def connected(self) -> tuple[str, ...]:
        """Return the addresses with an open connection over which something came."""
        return tuple(
            address for address, connection in self._connections.items() if connection.has_answered
        )

    def failing(self) -> Mapping[str, Failure]:
        """Return the addresses that failed and have not answered since; times are of the loop's
        clock.
        """
        return self._failing.failing()

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
        """Send a request and return its answer; ``always`` does so although the server is silent,
        as long as it is connected.

        Raises
        ------
        ResponseError
            The answer has a code that is not in ``accept``.
        RemotingError
            No answer came.
        NotAskedError
            The server failed a short while ago.
        """
        connection = self._connection(address)
        if not always:
            self._failing.check(address)
        began = self._now()
        try:
            answer = await connection.ask(code, fields, body, timeout, accept)
        except RemotingError as error:
            await self._failed(connection, error, began)
            raise
        except ResponseError:
            self._answered(connection)
            raise
        self._answered(connection)
        return answer

    async def tell(
        self, address: str, code: MemberCode, fields: Mapping[str, str], body: bytes = b""
    ) -> None:
        """Send a request that is not answered, also to a silent server, as long as its connection
        takes bytes.
        """
        connection = self._connection(address)
        began = self._now()
        try:
            await connection.send(code, fields, body, 3.0)
        except RemotingError as error:
            await self._failed(connection, error, began)
            raise

    async def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        for connection in list(self._connections.values()):
            await connection.close()

    def _answered(self, connection: Connection) -> None:
        """Record an answer, unless the connection ended right after it: a server that answers once
        and closes is as good as none.
        """
        if connection.is_open:
            self._failing.answered(connection.address)

    async def _failed(self, connection: Connection, error: RemotingError, began: float) -> None:
        if isinstance(error, NotAskedError):
            return
        address = connection.address
        self._failing.failed(address, str(error), began)
        now = self._now()
        is_dead = now - max(connection.heard, self._opened_at.get(address, now)) > _DEAD_AFTER
        if isinstance(error, SilentError) and is_dead:
            log.info(
                "%s has sent nothing for %.0f s; its connection is closed", address, _DEAD_AFTER
            )
            await connection.close()

    def _is_open(self, address: str) -> None:
        self._opened_at[address] = self._now()
        self._on_open(address)

    def _is_lost(self, address: str, reason: str) -> None:
        if not self._is_closed:
            self._failing.failed(address, reason)

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
            may_open=lambda: self._failing.check(address),
            on_open=lambda: self._is_open(address),
            on_close=lambda reason: self._is_lost(address, reason),
        )
        return connection
