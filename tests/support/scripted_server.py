"""A server on loopback in the test's own event loop, whose answers a test scripts frame by frame."""

import asyncio
import struct
from contextlib import asynccontextmanager

from rmqalloc.remoting.frames import RESPONSE, Command, decode, encode


@asynccontextmanager
async def server(handle, ssl=None):
    """A server on loopback whose ``handle(request, writer)`` is called for every frame that comes."""

    async def serve(reader, writer):
        try:
            while True:
                length = struct.unpack(">i", await reader.readexactly(4))[0]
                await handle(decode(await reader.readexactly(length)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ssl)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


def answering(body=b"{}", code=0, remark=None, delay=0.0):
    async def handle(request, writer):
        await asyncio.sleep(delay)
        writer.write(encode(Command(code, request.opaque, {}, body, remark, RESPONSE)))

    return handle
