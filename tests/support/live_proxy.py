"""A man in the middle: passes frames between a program and real servers, and keeps every request
that left the program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from rmqalloc.remoting.frames import Command, decode


class Recording:
    """Proxies of one name server and of all brokers that its answers name.

    Attributes
    ----------
    requests : list of (address of the server, Command)
    leftovers : list of bytes
        What was sent after the last whole frame of a connection.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, Command]] = []
        self.leftovers: list[bytes] = []
        self._instead: dict[bytes, bytes] = {}

    async def proxy(self, stack: contextlib.AsyncExitStack, address: str) -> str:
        """Stand in for one server; its address in answers becomes the proxy's, which is as long."""
        for _ in range(50):
            server = await asyncio.start_server(
                lambda r, w: self._serve(address, r, w), "127.0.0.1", 0
            )
            own = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            if len(own) == len(address):
                break
            server.close()
        await stack.enter_async_context(_closing(server))
        self._instead[address.encode()] = own.encode()
        return own

    async def _serve(
        self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, _, port = address.rpartition(":")
        there, to_server = await asyncio.open_connection(host, int(port))
        answers = asyncio.create_task(self._pass(there, writer, None))
        await self._pass(reader, to_server, address)
        await answers

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str | None
    ) -> None:
        """Frame by frame; requests to an address are kept, answers have addresses of servers
        replaced.
        """
        try:
            while True:
                length = await reader.readexactly(4)
                frame = await reader.readexactly(int.from_bytes(length))
                if address is not None:
                    self.requests.append((address, decode(frame)))
                else:
                    for real, own in self._instead.items():
                        frame = frame.replace(real, own)
                writer.write(length + frame)
                await writer.drain()
        except asyncio.IncompleteReadError as error:
            if error.partial:
                self.leftovers.append(error.partial)
        except ConnectionError:
            pass
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def _closing(server: asyncio.Server) -> AsyncIterator[None]:
    try:
        yield
    finally:
        server.close()
