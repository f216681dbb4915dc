"""Connections of the server, bounded in number and time: uvicorn's protocol, which looks now and
then how long one takes.

It is imported by the server alone, when it starts: uvicorn comes with an extra.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 512


class BoundedProtocol(H11Protocol):
    """One connection.

    Parameters
    ----------
    header_seconds : float
        That it may be without a whole request.
    answer_seconds : float
        That an answer may take, until it is fetched.
    *given, **more
        As uvicorn gives them.
    """

    def __init__(
        self, header_seconds: float, answer_seconds: float, *given: Any, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self._most = header_seconds, answer_seconds
        self._since = 0.0
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Take a new connection, unless there are too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._looked()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; with the last of a header its answer begins."""
        was_answering = self._is_answering
        super().data_received(data)
        if self._is_answering and not was_answering:
            self._since = self.loop.time()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._since = self.loop.time()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _looked(self) -> None:
        header_seconds, answer_seconds = self._most
        left = (
            self._since
            + (answer_seconds if self._is_answering else header_seconds)
            - self.loop.time()
        )
        if left <= 0:
            self.transport.abort()  # not closed: what is not fetched would be waited for
        else:
            self._look = self.loop.call_later(min(left, header_seconds), self._looked)
