"""Connections of the server, bounded in number and time: uvicorn's protocol with a deadline for
each whole request and each whole answer, which no byte renews.

Connections without a request keep nobody out: where there are too many, the oldest of them is
closed in favour of the new one, first of the peer that has most connections. `FrontDoor` bounds the
requests that are worked on to fewer, so there is always one to close.

It is imported by the server alone, when it starts: uvicorn comes with an extra.
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
        That it may be without a whole header.
    answer_seconds : float
        That the body and its answer may take together, until the answer is fetched.
    *given, **more
        As uvicorn gives them.
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
        """Take a new connection; if there are too many, close one that has no request."""
        super().connection_made(transport)
        self._peer = peer_of(self.client[0]) if self.client else ""
        self._since = self.loop.time()
        self._looked()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

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

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; end the connection if its last request is being answered, as the
        two answers would be one.
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
