"""One connection to a name server or broker: requests, matching answers, and requests from the
server.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import ipaddress
import logging
import math
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from enum import IntEnum
from itertools import count

from rmqalloc.errors import ArgumentError, Error, refuse_defect
from rmqalloc.remoting._response_codes import RemotingError, ResponseCode, ResponseError
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.frames import MAX_FRAME, ONEWAY, Command, FrameError, decode, encode
from rmqalloc.remoting.read_codes import ReadCode, check_code

_MAX_OPAQUE = (1 << 31) - 1  # of Java's int; numbers begin again after it

MOST_SERVED = 64
"""Maximum concurrent requests from the server; further requests are dropped, as if they had been lost."""

FRAME_WITHIN = 30.0
"""Maximum seconds of a frame from its first byte to its last; then the connection ends."""

_SERVE_WITHIN = 5.0  # seconds that the other side may take to read an answer

Handler = Callable[[Command], Command | Awaitable[Command | None] | None]
"""``on_request(command)``: handles a request from the server and returns the answer, or None for no answer."""

_UNANSWERED = (
    "the connection was closed before any answer, as ports of other protocols and of TLS do"
)
_NO_TLS = "this port does not speak TLS, but the request used it (tls is set)"
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake

_SUCCESS = (ResponseCode.SUCCESS,)

log = logging.getLogger(__name__)


class SilentError(RemotingError):
    """A server accepted a request or a connection, and did not answer in time."""


class UnreachableError(RemotingError):
    """No server accepts connections at the address."""


class LostError(RemotingError):
    """The connection ended before the answer came."""


class NotRocketMQError(LostError):
    """The server speaks another protocol, or TLS is used on one side only."""


class Connection:
    """Requests to one address. The connection is opened by the first request, and again after it broke.

    Parameters
    ----------
    address : str
        ``host:port``.
    tls : ssl.SSLContext, optional
        TLS context, see `rmqalloc.remoting.credentials.tls_context`; plain without it.
    credentials : Credentials, optional
        Signs every request.
    connect_timeout : float
        Maximum seconds until it is open: name lookup, connection, TLS, and the wait for another
        request that opens it.
    max_frame : int
        Maximum bytes of a received frame.
    codes : type of IntEnum
        Permitted requests; all further requests are refused before a byte is sent.
    on_request : callable, optional
        Called with each request from the server, in order; may be a coroutine function. Its result
        is sent back as the answer, unless the request is one-way; its error is answered with
        SYSTEM_ERROR. Without it, and beyond `MOST_SERVED` at once, requests from the server are
        dropped.
    may_open : callable, optional
        ``may_open()`` is called before the connection is opened; it raises a `RemotingError` to
        refuse, which the caller of the request gets.
    on_open, on_close : callable, optional
        ``on_open()`` after the connection was opened, for the first time or again;
        ``on_close(reason)`` after it ended. Neither may raise.

    Notes
    -----
    Java's ``NettyRemotingClient`` keeps a channel per address.
    """

    def __init__(
        self,
        address: str,
        tls: ssl.SSLContext | None = None,
        credentials: Credentials | None = None,
        connect_timeout: float = 3.0,
        max_frame: int = MAX_FRAME,
        codes: type[IntEnum] = ReadCode,
        on_request: Handler | None = None,
        may_open: Callable[[], None] | None = None,
        on_open: Callable[[], None] | None = None,
        on_close: Callable[[str], None] | None = None,
    ) -> None:
        self.address = address
        self.heard = -math.inf
        """When the last frame was received over the present connection, by the loop's clock."""
        self._tls, self._credentials = tls, credentials
        self._connect_timeout, self._max_frame, self._codes = connect_timeout, max_frame, codes
        self._on_request, self._may_open = on_request, may_open
        self._on_open, self._on_close = on_open, on_close
        self._opaque = count(1)
        self._waiting: dict[int, asyncio.Future[Command]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the connection is open now, as far as known."""
        return self._writer is not None

    @property
    def has_answered(self) -> bool:
        """Whether the connection is open now and has received a frame."""
        return self.is_open and self.heard > -math.inf

    async def ask(
        self,
        code: IntEnum,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float = 5.0,
        accept: Collection[int] = _SUCCESS,
    ) -> Command:
        """Send one request and wait for its answer.

        Parameters
        ----------
        code : IntEnum
            A permitted code.
        ext_fields : mapping, optional
            Its fields.
        body : bytes
            Its body.
        timeout : float
            Maximum seconds until the answer, once the connection is open.
        accept : collection of int
            Codes of answers that are returned; for a pull more than success.

        Raises
        ------
        ResponseError
            The answer has another code.
        RemotingError
            No answer came.
        ForbiddenRequestError
            The code is not permitted.
        """
        check_code(code, self._codes)
        writer = await self._opened()
        opaque = next(self._opaque) & _MAX_OPAQUE
        answer: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._waiting[opaque] = answer
        try:
            async with asyncio.timeout(timeout):
                with contextlib.suppress(OSError):  # the reading task knows why it ended
                    await self._send(writer, self._request(code, opaque, ext_fields, body))
                command = await answer
        except TimeoutError:
            raise SilentError(
                f"{self.address} did not answer within {timeout:g} s (request {code.name})"
            ) from None
        finally:
            self._waiting.pop(opaque, None)
            if answer.done() and not answer.cancelled():
                answer.exception()  # the connection may have ended before the answer was waited for
        if command.code not in accept:
            raise ResponseError(
                command.code, f"{command.remark or 'no reason given'} (from {self.address})"
            )
        return command

    async def send(
        self,
        code: IntEnum,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float = 5.0,
    ) -> None:
        """Send one request without an answer; its fields are those of `ask`."""
        check_code(code, self._codes)
        writer = await self._opened()
        opaque = next(self._opaque) & _MAX_OPAQUE
        try:
            async with asyncio.timeout(timeout):
                await self._send(writer, self._request(code, opaque, ext_fields, body, ONEWAY))
        except TimeoutError:
            raise SilentError(
                f"{self.address} took no bytes within {timeout:g} s (request {code.name})"
            ) from None
        except OSError as error:
            raise LostError(f"{self.address}: {_reason(error)}") from error

    async def open(self) -> None:
        """Open the connection, if it is not open."""
        await self._opened()

    async def close(self) -> None:
        """Close the connection; waiting requests get an error."""
        for task in (*self._serving, self._reading):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task
        self._reading = None
        if self._writer is not None:  # the reading task had not begun
            self._ended(self._writer, "the connection was closed")

    def _request(
        self,
        code: int,
        opaque: int,
        ext_fields: Mapping[str, str] | None,
        body: bytes,
        flag: int = 0,
    ) -> Command:
        """Return a request, signed where there are credentials."""
        fields = dict(ext_fields or {})
        if self._credentials is not None:
            fields = self._credentials.signed(fields, body)
        return Command(code, opaque, fields, body, flag=flag)

    async def _send(self, writer: asyncio.StreamWriter, command: Command) -> None:
        """Write a frame; nothing else writes, so no request leaves that is not in the set of codes."""
        if not command.is_response:
            check_code(command.code, self._codes)
        if writer.is_closing():  # it would drop what is written, and log that
            raise ConnectionResetError("the connection was closed")
        writer.write(encode(command))
        await writer.drain()

    async def _opened(self) -> asyncio.StreamWriter:
        try:
            async with asyncio.timeout(self._connect_timeout), self._opening:
                if self._writer is None:
                    if self._may_open is not None:
                        self._may_open()
                    reader, self._writer = await self._open()
                    self.heard = -math.inf
                    self._reading = asyncio.create_task(self._read(reader, self._writer))
                    if self._on_open is not None:
                        self._on_open()
                return self._writer
        except TimeoutError:
            raise SilentError(
                f"{self.address} could not be reached within {self._connect_timeout:g} s"
            ) from None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            host, port = host_and_port(self.address)
        except ArgumentError as error:
            raise UnreachableError(f"{self.address} could not be reached: {error}") from error
        try:
            return await _connected(host, port, self._tls)
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:  # ValueError: no name server can be asked for a host
            raise self._not_opened(error) from error

    def _not_opened(self, error: Exception) -> RemotingError:
        """Return the error of a connection that could not be opened."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return UnreachableError(
                f"{self.address} has a certificate that does not verify: {error.verify_message}"
            )
        if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            return NotRocketMQError(f"{self.address}: {_NO_TLS}")
        if self._tls is not None and isinstance(error, (ssl.SSLEOFError, ConnectionResetError)):
            return UnreachableError(
                f"{self.address} closed the connection during the TLS handshake, as ports without TLS do (tls is set)"
            )
        return UnreachableError(f"{self.address} could not be reached: {_reason(error)}")

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand answers to those who wait, and requests to the handler, until the connection ends."""
        kind: type[RemotingError] = LostError
        reason, defect = "the connection was closed", None
        try:
            while True:
                begun = await reader.readexactly(1)
                async with asyncio.timeout(FRAME_WITHIN):
                    begun += await reader.readexactly(3)
                    length = int.from_bytes(begun, signed=True)
                    if not 4 <= length <= self._max_frame:
                        if not self.has_answered and (spoken := _spoken(begun)) is not None:
                            kind, reason = NotRocketMQError, spoken
                            return
                        reason = f"a frame of {length} bytes was announced; the limits are 4 and {self._max_frame}"
                        return
                    data = await reader.readexactly(length)
                self._hand_over(data, writer)
                self.heard = asyncio.get_running_loop().time()
        except asyncio.IncompleteReadError as error:
            if error.partial:
                reason = "the connection was closed in the middle of an answer"
            elif not self.has_answered:
                reason = _UNANSWERED
        except TimeoutError:
            reason = f"a frame did not end within {FRAME_WITHIN:g} s"
        except (OSError, Error) as error:
            is_reset = isinstance(error, ConnectionError) and not self.has_answered
            reason = _UNANSWERED if is_reset else _reason(error)
        except (
            Exception
        ) as error:  # a defect, which those who wait get as it is: nobody awaits this task
            defect = error
        finally:
            self._ended(writer, reason, kind, defect)

    def _ended(
        self,
        writer: asyncio.StreamWriter,
        reason: str,
        kind: type[RemotingError] = LostError,
        defect: Exception | None = None,
    ) -> None:
        """Take leave of a connection; what waits for an answer on it gets an error."""
        self._writer = None
        writer.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(defect or kind(f"{self.address}: {reason}"))
        if self._on_close is not None:
            self._on_close(reason)

    def _hand_over(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """Give an answer to who waits for it; one that cannot be read is an error of that request,
        if it says which.
        """
        try:
            command = decode(data)
        except FrameError as error:
            waiting = self._waiting.get(error.opaque) if error.opaque is not None else None
            if waiting is None:
                raise
            if not waiting.done():
                waiting.set_exception(RemotingError(f"{self.address}: {error}"))
            return
        if not command.is_response:
            self._take(command, writer)
        elif (waiting := self._waiting.get(command.opaque)) is not None and not waiting.done():
            waiting.set_result(command)

    def _take(self, request: Command, writer: asyncio.StreamWriter) -> None:
        """Give a request of the other side to the handler."""
        if self._on_request is None or len(self._serving) >= MOST_SERVED:
            return
        try:
            answer = self._on_request(request)
        except Exception as error:
            answer = _failed(self.address, request, error)
        if inspect.isawaitable(answer) or (answer is not None and not request.is_oneway):
            task = asyncio.create_task(self._serve(request, answer, writer))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(
        self,
        request: Command,
        answer: Command | Awaitable[Command | None] | None,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Send the answer to a request of the other side, when there is one."""
        try:
            found = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            found = _failed(self.address, request, error)
        if found is None or request.is_oneway:
            return
        with contextlib.suppress(OSError):  # whoever asked has gone, or does not read
            async with asyncio.timeout(_SERVE_WITHIN):
                await self._send(writer, found.answering(request))


async def _connected(
    host: str, port: int, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of a host that can be connected to."""
    name = host if tls is not None else None
    *addresses, last = await _addresses(host, port)
    for address in addresses:
        with contextlib.suppress(OSError):
            return await asyncio.open_connection(address, port, ssl=tls, server_hostname=name)
    return await asyncio.open_connection(last, port, ssl=tls, server_hostname=name)


async def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host.

    The loop would look up a name on a thread that `asyncio.run` and the end of the process wait
    for, long after the time-out; nobody waits for a daemon thread.
    """
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def give(outcome: list[str] | Exception) -> None:
        if found.done():  # given up
            return
        if isinstance(outcome, Exception):
            found.set_exception(outcome)
        else:
            found.set_result(outcome)

    def look_up() -> None:
        outcome: list[str] | Exception
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            outcome = [str(info[4][0]) for info in infos]
        except (OSError, ValueError) as error:
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(give, outcome)

    threading.Thread(target=look_up, name="rmqalloc-names", daemon=True).start()
    return await found


def _spoken(begun: bytes) -> str | None:
    """Return what the first bytes of a port say it speaks; None where that is not known.

    RocketMQ begins with the length of a frame. Text makes that longer than any frame.
    """
    if begun == b"HTTP":
        return "this port speaks HTTP, not RocketMQ"
    if begun[:2] in _TLS_RECORDS:
        return "this port speaks TLS, but the request did not use it (tls is not set)"
    if all(0x20 <= byte < 0x7F for byte in begun):
        return f"this port does not speak RocketMQ: its first bytes are {begun.decode()!r}"
    return None


def _failed(address: str, request: Command, error: Exception) -> Command:
    """Return the answer to a request whose handler failed; a defect of the program is raised."""
    refuse_defect(error)
    log.warning("request %d of %s failed: %s", request.code, address, error)
    return Command(ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}: {error}")


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
