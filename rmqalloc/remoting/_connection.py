"""One connection to a name server or broker: requests out, answers matched to them, everything else dropped."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from itertools import count

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.remoting import (
    RemotingError,
    ResponseError,
    read_codes,
)
from rmqalloc.remoting import (
    _frame as frame,
)
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.credentials import Credentials

_MAX_OPAQUE = (1 << 31) - 1  # of Java's int; numbers begin again after it


class SilentError(RemotingError):
    """A server took a request, or a connection, and did not answer in time."""


class UnreachableError(RemotingError):
    """There is nobody to connect to."""


class Connection:
    """Requests to one address; opened at the first, opened again when it broke."""

    def __init__(
        self,
        address: str,
        tls: ssl.SSLContext | None = None,
        credentials: Credentials | None = None,
        connect_timeout: float = 3.0,
        max_frame: int = frame.MAX_FRAME,
    ) -> None:
        self.address = address
        self.heard = 0.0
        """When the last frame came, by the loop's clock."""
        self._tls, self._credentials = tls, credentials
        self._connect_timeout, self._max_frame = connect_timeout, max_frame
        self._opaque = count(1)
        self._waiting: dict[int, asyncio.Future[frame.Command]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def ask(
        self,
        code: read_codes.ReadCode,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float = 5.0,
    ) -> frame.Command:
        """Send one request and wait for its answer."""
        read_codes.check_read_code(code)
        writer = await self._opened()
        fields = dict(ext_fields or {})
        if self._credentials is not None:
            fields = self._credentials.signed(fields, body)
        opaque = next(self._opaque) & _MAX_OPAQUE
        answer: asyncio.Future[frame.Command] = asyncio.get_running_loop().create_future()
        self._waiting[opaque] = answer
        try:
            async with asyncio.timeout(timeout):
                writer.write(frame.encode(frame.Command(code, opaque, fields, body)))
                await writer.drain()
                command = await answer
        except TimeoutError:
            raise SilentError(f"{self.address} did not answer within {timeout:g} s (request {code.name})") from None
        except OSError as error:
            raise RemotingError(f"{self.address}: {_reason(error)}") from error
        finally:
            self._waiting.pop(opaque, None)
        if command.code:
            raise ResponseError(command.code, f"{command.remark or 'no reason given'} (from {self.address})")
        return command

    async def close(self) -> None:
        """Close; what still waits gets an error."""
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._reading
            self._reading = None

    async def _opened(self) -> asyncio.StreamWriter:
        async with self._opening:
            if self._writer is None:
                reader, self._writer = await self._open()
                self._reading = asyncio.create_task(self._read(reader, self._writer))
            return self._writer

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            host, port = host_and_port(self.address)
        except ArgumentError as error:
            raise UnreachableError(f"{self.address} could not be reached: {error}") from error
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await asyncio.open_connection(host, port, ssl=self._tls)
        except TimeoutError:
            raise SilentError(f"{self.address} could not be reached within {self._connect_timeout:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise UnreachableError(
                f"{self.address} has a certificate that does not verify: {error.verify_message}"
            ) from error
        except (OSError, ValueError) as error:  # ValueError: a host that no name server can be asked for
            raise UnreachableError(f"{self.address} could not be reached: {_reason(error)}") from error

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand answers to those who wait, until the connection ends; requests of the other side are dropped."""
        reason, defect = "the connection was closed", None
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(4), signed=True)
                if not 4 <= length <= self._max_frame:
                    reason = f"a frame of {length} bytes was announced; from 4 to {self._max_frame} are read"
                    return
                data = await reader.readexactly(length)
                self.heard = asyncio.get_running_loop().time()
                self._hand_over(data)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                reason = "the connection was closed in the midst of an answer"
        except (OSError, Error) as error:
            reason = _reason(error)
        except Exception as error:  # a defect, which those who wait get as it is: nobody awaits this task
            defect = error
        finally:
            self._writer = None
            writer.close()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(defect or RemotingError(f"{self.address}: {reason}"))

    def _hand_over(self, data: bytes) -> None:
        """Give an answer to who waits for it; one that cannot be read is an error of that request, if it says which."""
        try:
            command = frame.decode(data)
        except frame.FrameError as error:
            waiting = self._waiting.get(error.opaque) if error.opaque is not None else None
            if waiting is None:
                raise
            if not waiting.done():
                waiting.set_exception(RemotingError(f"{self.address}: {error}"))
            return
        waiting = self._waiting.get(command.opaque) if command.is_response else None
        if waiting is not None and not waiting.done():
            waiting.set_result(command)


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
