"""Ports that are no RocketMQ: what each does with a connection, as asyncio serves it."""

import asyncio
import socket
import struct
from contextlib import asynccontextmanager, suppress


async def closes(reader, writer):
    """Accept and close, as a balancer whose server is gone."""


async def silent(reader, writer):
    """Accept, read and never answer."""
    while await reader.read(1 << 16):
        pass


async def resets(reader, writer):
    """Accept and reset."""
    reset(writer)


async def resets_later(reader, writer):
    """Reset at the first bytes."""
    await reader.read(1)
    reset(writer)


def reset(writer):
    """Let the end of a connection be a reset."""
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    writer.transport.abort()


def answers(data, at_once=False):
    """Answer the first bytes by others, or greet by them, then close."""

    async def serve(reader, writer):
        if not at_once:
            await reader.read(1)
        writer.write(data)
        await writer.drain()

    return serve


HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"

PORTS = {
    "closes": closes,
    "silent": silent,
    "resets": resets,
    "resets later": resets_later,
    "HTTP": answers(HTTP),
    "TLS alert": answers(TLS_ALERT),
    "SSH": answers(b"SSH-2.0-OpenSSH_9.6\r\n", at_once=True),
    "SMTP": answers(b"220 mail.example.org ESMTP Postfix\r\n", at_once=True),
    "Redis": answers(b"-ERR unknown command\r\n"),
}
"""What a port does, by its name."""


def counted(serve, came):
    """Serve a connection and close it; the time at which it came is kept, of the loop's clock."""

    async def served(reader, writer):
        came.append(asyncio.get_running_loop().time())
        with suppress(ConnectionError, asyncio.CancelledError):
            await serve(reader, writer)
        writer.close()

    return served


@asynccontextmanager
async def hostile_port(serve, port=0):
    """Serve a port; gives its address, and when connections came."""
    came = []
    listening = await asyncio.start_server(counted(serve, came), "127.0.0.1", port)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}", came
    finally:
        listening.close()
