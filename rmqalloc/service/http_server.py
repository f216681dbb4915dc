"""The server: a socket that is bound before the service reports itself ready, connections bounded in
number and time, a quick end.

uvicorn limits the idle time of a connection and the size of a header. `BoundedProtocol` limits the
time until a header has arrived, the time until an answer is received, and the number of
connections.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from rmqalloc.service.front_door import LONGEST_HEADER, REQUEST_SECONDS, App

BACKLOG = 512
HEADER_SECONDS = 10.0
"""Maximum seconds of a connection without a whole request, slow headers included."""
END_SECONDS = 1
"""Seconds for running answers after a request to end the process."""


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; raise OSError with the reason if it cannot.

    Examples
    --------
    >>> with bound_socket("127.0.0.1", 0) as made:
    ...     made.getsockname()[0]
    '127.0.0.1'
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def serve_until_ended(
    app: App,
    listening: socket.socket,
    header_seconds: float = HEADER_SECONDS,
    answer_seconds: float = REQUEST_SECONDS + 1,
) -> None:
    """Answer requests until SIGTERM or SIGINT; running answers then get a second.

    Parameters
    ----------
    app : callable
        An ASGI application.
    listening : socket
    header_seconds, answer_seconds : float
        Maximum seconds until a request has arrived, and until its answer is received.
    """
    import uvicorn

    from rmqalloc.service.bounded_protocol import BoundedProtocol

    config = uvicorn.Config(
        app,
        http=partial(BoundedProtocol, header_seconds, answer_seconds),  # type: ignore[arg-type]
        loop="asyncio",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEADER,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=END_SECONDS,
    )
    with _told_to_end():
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Let SIGTERM pass once the server has ended by it: uvicorn raises it again, and the end is a
    good one.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    log = logging.getLogger("uvicorn.error")
    log.addFilter(_is_of_interest)
    try:
        yield
    finally:
        log.removeFilter(_is_of_interest)
        signal.signal(signal.SIGTERM, before)


def _is_of_interest(record: logging.LogRecord) -> bool:
    """Return whether a record is to be logged: no answer that the end of the process or its
    deadline cut off, of which each would be a page of traceback that a peer can ask for.

    They delayed the end by seconds, and for as long as nobody read standard error.
    """
    cut_off = asyncio.CancelledError, TimeoutError
    return not (record.exc_info and isinstance(record.exc_info[1], cut_off))
