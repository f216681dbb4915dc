"""Access, allowed requests and time limits: the checks before an answer, in their order.

An attacker's site may have its name resolved to 127.0.0.1 and so reach a service on loopback as its
own origin. It cannot choose the header Host, which is checked on loopback. Beyond loopback a token
is required instead.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from http import HTTPStatus
from typing import Any

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.service.problems import MEDIA_TYPE, problem

REQUEST_SECONDS = 30.0
"""Maximum seconds of a request, from its header to the last byte of its answer."""
LONGEST_PATH = 4096
"""Maximum bytes of a path and of its parameters, each."""
LONGEST_HEADER = 16 << 10
"""Maximum bytes of all headers."""
PIECE = 64 << 10
"""Bytes of a body sent at once."""
LEAST_TOKEN = 16
"""Minimum characters of a token."""
PROBED_PATHS = ("/healthz", "/readyz")
"""Paths of probes, which cost nothing: answered regardless of the number of running requests."""
OPEN_PATHS = (*PROBED_PATHS, "/")
"""Paths that need no token because they contain no data of the cluster; so do paths below ``/static/``."""
MOST_REQUESTS = 384
"""Maximum running requests."""
MOST_OF_PEER = 256
"""Maximum running requests of one peer."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class AccessError(ArgumentError):
    """The listening address is invalid, or it requires a token that is missing or too short."""


@dataclass(frozen=True)
class Admission:
    """Rules of access.

    Attributes
    ----------
    hosts : frozenset of str
        Names that the header Host may have; empty for any name.
    token : str or None
        Required value of ``Authorization: Bearer``; it is never shown.
    """

    hosts: frozenset[str]
    token: str | None = None

    def __repr__(self) -> str:
        return f"Admission(hosts={set(self.hosts) or '{}'}, token={'***' if self.token else None})"

    @classmethod
    def of(cls, host: str, token: str | None) -> Admission:
        """Return the rules of access of an address.

        Examples
        --------
        >>> sorted(Admission.of("127.0.0.1", None).hosts)
        ['127.0.0.1', '::1', 'localhost']
        >>> Admission.of("0.0.0.0", None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        rmqalloc.service.front_door.AccessError: 0.0.0.0 is not loopback, so other machines reach it: give --token-file, ...
        """
        if token is not None and (
            len(token) < LEAST_TOKEN or not token.isascii() or any(one.isspace() for one in token)
        ):
            raise AccessError(
                f"the token must be one word of {LEAST_TOKEN} ASCII characters or more; got {len(token)} characters"
            )
        if is_loopback(host):
            return cls(frozenset(("127.0.0.1", "localhost", "::1", host.lower())), token)
        if token is None:
            raise AccessError(
                f"{host} is not loopback, so other machines reach it: give --token-file, a file with a token of {LEAST_TOKEN} "
                "characters or more"
            )
        return cls(frozenset(), token)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal, None if the request may pass."""
        headers = _Headers(scope)
        raw_path: bytes = scope.get("raw_path") or b""
        if len(raw_path) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_PATH:
            return (
                HTTPStatus.REQUEST_URI_TOO_LONG,
                f"path and parameters may have at most {LONGEST_PATH:,} bytes each",
            )
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADER:
            return (
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"all headers together may have at most {LONGEST_HEADER:,} bytes",
            )
        if self.hosts and _name_of(headers.only("host")) not in self.hosts:
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                f"the header Host must name one of {', '.join(sorted(self.hosts))}",
            )
        if raw_path and not raw_path.startswith(b"/"):
            return (HTTPStatus.BAD_REQUEST, "the target must be a path, such as /v1/groups")
        if is_open(raw_path):
            return None
        if headers.only("sec-fetch-site") in ("cross-site", "same-site"):
            return (
                HTTPStatus.FORBIDDEN,
                "the request comes from a page of another site; only the service's own page may do this",
            )
        if self.token is None:
            return None
        given = headers.only("authorization")
        right = f"Bearer {self.token}".encode()
        if not hmac.compare_digest(given.encode("latin-1", "replace"), right):
            return (
                HTTPStatus.UNAUTHORIZED,
                "send the token of --token-file: Authorization: Bearer TOKEN",
            )
        return None


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._all: list[tuple[bytes, bytes]] = list(scope["headers"])

    def only(self, name: str) -> str:
        """Return the value of a header that is there once, else an empty text."""
        values = [value for key, value in self._all if key.lower() == name.encode()]
        return values[0].decode("latin-1") if len(values) == 1 else ""


def is_open(raw_path: bytes) -> bool:
    """Return whether a path needs no token.

    Examples
    --------
    >>> [is_open(path) for path in (b"/healthz", b"/static/page.js", b"/v1/groups", b"/static/../v1/groups")]
    [True, True, False, True]
    """
    return raw_path.decode("latin-1") in OPEN_PATHS or raw_path.startswith(b"/static/")


def is_loopback(host: str) -> bool:
    """Return whether an address accepts requests from this machine only.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _name_of(host: str) -> str | None:
    """Return the name in a header Host, None if it is not a name or an address with or without a
    port.
    """
    found = _HOST.fullmatch(host.lower())
    return found and (found[1] or found[2])


def peer_of(address: str) -> str:
    """Return the peer of an address. For IPv6 this is the network of 64 bits, because one machine
    may have all addresses in it.

    Examples
    --------
    >>> peer_of("10.0.0.1"), peer_of("::ffff:10.0.0.1"), peer_of("2001:db8::1:2"), peer_of("")
    ('10.0.0.1', '10.0.0.1', '2001:db8::', '')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, ipaddress.IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(found) >> 64 << 64))


class _Requests:
    """The requests that are worked on, bounded in all and by peer."""

    def __init__(self) -> None:
        self._n_of: Counter[str] = Counter()

    def excess(self, peer: str) -> str | None:
        """Return why no further request of a peer is worked on, None if one may be."""
        if self._n_of[peer] >= MOST_OF_PEER:
            return f"{MOST_OF_PEER} requests from your address are running; try again in a second"
        if self._n_of.total() >= MOST_REQUESTS:
            return f"{MOST_REQUESTS} requests are running; try again in a second"
        return None

    @contextmanager
    def worked_on(self, peer: str) -> Iterator[None]:
        """Count a request until its answer is fetched or given up."""
        self._n_of[peer] += 1
        try:
            yield
        finally:
            self._n_of[peer] -= 1
            self._n_of += Counter()  # drops peers without a request


def _pieces(event: MutableMapping[str, Any]) -> Iterator[MutableMapping[str, Any]]:
    """Yield an event, a long body piece by piece: whoever fetches it slowly has one of them in
    memory, and not all.
    """
    body: bytes = event.get("body", b"")
    if event["type"] != "http.response.body" or len(body) <= PIECE:
        yield event
        return
    last = (len(body) - 1) // PIECE * PIECE
    for start in range(0, last, PIECE):
        yield {**event, "body": body[start : start + PIECE], "more_body": True}
    yield {**event, "body": body[last:]}


class FrontDoor:
    """Guard an ASGI application: refuse requests, limit their time, and set
    the strict headers of every answer.

    Parameters
    ----------
    app : callable
        An ASGI application.
    access : Admission
    seconds : float
        Maximum seconds of a request.
    """

    def __init__(self, app: App, access: Admission, seconds: float = REQUEST_SECONDS) -> None:
        self._app, self._access, self._seconds = app, access, seconds
        self._requests = _Requests()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        scope = self._undecoded(scope)
        started, is_head = False, scope["method"] == "HEAD"

        async def send_strictly(event: MutableMapping[str, Any]) -> None:
            nonlocal started
            if event["type"] == "http.response.start":
                started = True
                mine = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                event = {**event, "headers": [*event.get("headers", ()), *mine]}
            for piece in _pieces(event):
                await send(piece)

        refused = self._access.refusal(scope)
        if refused is not None:
            await refuse(*refused, send_strictly, is_head)
            return
        peer = peer_of((scope.get("client") or [""])[0])
        is_probe = scope["path"] in PROBED_PATHS
        excess = None if is_probe else self._requests.excess(peer)
        if excess is not None:
            await refuse(HTTPStatus.SERVICE_UNAVAILABLE, excess, send_strictly, is_head)
            return
        try:
            with nullcontext() if is_probe else self._requests.worked_on(peer):
                async with asyncio.timeout(self._seconds):
                    await self._app(scope, receive, send_strictly)
        except TimeoutError:
            if started:
                raise
            text = f"the answer took longer than {self._seconds:g} s"
            await refuse(HTTPStatus.SERVICE_UNAVAILABLE, text, send_strictly, is_head)

    @staticmethod
    def _undecoded(scope: Scope) -> Scope:
        """Return a scope whose path is as it was sent: a slash that is part of a name is %2F, and
        no part of the path.
        """
        raw = scope.get("raw_path") or scope["path"].encode()
        return {**scope, "path": raw.decode("latin-1"), "root_path": ""}


async def refuse(status: int, detail: str, send: Send, is_head: bool = False) -> None:
    """Send a refusal."""
    from rmqalloc.service.cluster_answers import json_bytes

    body = json_bytes(problem(status, detail))
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    extra = {
        HTTPStatus.UNAUTHORIZED: (b"www-authenticate", b"Bearer"),
        HTTPStatus.SERVICE_UNAVAILABLE: (b"retry-after", b"1"),
    }
    if status in extra:
        headers.append(extra[HTTPStatus(status)])
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})
