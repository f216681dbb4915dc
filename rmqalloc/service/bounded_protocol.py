"""Connections of the server, bounded in number and time: uvicorn's protocol with a deadline for
each whole request and each whole answer. No byte renews the deadline.

Connections without a request do not keep new connections out. If there are too many, the server
closes the oldest connection without a request, first of the peer with the most connections.
`FrontDoor` limits running requests to a lower number, so there is always a connection to close.

Only the server imports this module, when it starts, because uvicorn comes with an extra.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rmqalloc.service.front_door import peer_of

MOST_CONNECTIONS = 512


class BoundedProtocol(H11Protocol):
    """One connection.

    Parameters
    ----------
    header_seconds : float
        Maximum seconds without a whole header.
    answer_seconds : float
        Maximum seconds of the body and its answer together, until the answer is received.
    *given, **more
        Arguments of uvicorn.
    """

    def __init__(
        self, header_seconds: float, answer_seconds: float, *given: Any, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self._most = header_seconds, answer_seconds
        self._peer = ""
        self._since = 0.0
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a new connection; if there are too many, close one without a request."""
        super().connection_made(transport)
        self._peer = peer_of(self.client[0]) if self.client else ""
        self._since = self.loop.time()
        self._looked()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching the connection."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the last byte of a header begins its answer."""
        was_answering = self._is_answering
        super().data_received(data)
        if self._is_answering and not was_answering:
            self._since = self.loop.time()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._since = self.loop.time()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP. End the connection if an answer is under way, because the
        two answers would be read as one.
        """
        if self._is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def _make_room(self) -> None:
        """Close the oldest connection without a request, of the peer that has most connections."""
        there: set[BoundedProtocol] = self.connections  # type: ignore[assignment]
        n_of = Counter(connection._peer for connection in there)
        waiting = [connection for connection in there if not connection._is_answering]
        oldest = max(waiting, key=lambda found: (n_of[found._peer], -found._since))
        self.connections.discard(oldest)  # it is lost in the loop's next turn
        oldest.transport.abort()

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
