"""What is said of ports that are no RocketMQ, by real sockets on loopback."""

import asyncio
import json

import pytest
from hostile_ports import HTTP, PORTS, closes, hostile_port
from scripted_server import answering, server

from rmqalloc.remoting import Connection, ReadCode, RemotingError, UnreachableError, tls_context
from rmqalloc.remoting.client import Remote
from rmqalloc.remoting.connection import LostError, NotRocketMQError, SilentError

UNANSWERED = (
    "the connection was closed before any answer, as ports of other protocols and of TLS do"
)
CODE = ReadCode.GET_BROKER_CLUSTER_INFO


def error_of(serve, tls=None, timeout=60.0):
    """The error of a request to a port, without the address."""

    async def main():
        async with hostile_port(serve) as (address, _):
            connection = Connection(address, tls, connect_timeout=60.0)
            with pytest.raises(RemotingError, match=f"^{address}") as caught:
                await connection.ask(CODE, timeout=timeout)
            await connection.close()
            return caught.value

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("port", "kind", "text"),
    [
        ("HTTP", NotRocketMQError, "this port speaks HTTP, not RocketMQ"),
        ("TLS alert", NotRocketMQError, "this port speaks TLS, but the request did not use it"),
        ("SSH", NotRocketMQError, "this port does not speak RocketMQ: its first bytes are 'SSH-'"),
        ("SMTP", NotRocketMQError, "its first bytes are '220 '"),
        ("Redis", NotRocketMQError, "its first bytes are '-ERR'"),
        ("closes", LostError, UNANSWERED),
        ("resets", LostError, UNANSWERED),
        ("resets later", LostError, UNANSWERED),
    ],
)
def test_a_port_that_is_no_rocketmq(port, kind, text):
    error = error_of(PORTS[port])
    assert type(error) is kind and text in str(error)


def test_a_port_that_never_answers():
    assert type(error_of(PORTS["silent"], timeout=0.01)) is SilentError


async def reads_and_closes(reader, writer):
    await reader.read(1 << 16)


def test_a_port_that_closes_at_the_first_request():
    error = error_of(reads_and_closes)
    assert type(error) is LostError and UNANSWERED in str(error)


@pytest.mark.parametrize("port", ["HTTP", "SSH"])
def test_a_port_without_tls_that_is_asked_with_it(port):
    error = error_of(PORTS[port], tls_context(verify=False))
    assert type(
        error
    ) is NotRocketMQError and "this port does not speak TLS, but the request used it" in str(error)


@pytest.mark.parametrize("serve", [closes, reads_and_closes])
def test_a_port_that_closes_at_a_tls_handshake(serve):
    error = error_of(serve, tls_context(verify=False))
    assert type(
        error
    ) is UnreachableError and "closed the connection during the TLS handshake" in str(error)


def test_what_comes_after_an_answer_is_a_damaged_frame():
    async def handle(request, writer):
        await answering()(request, writer)
        writer.write(HTTP)

    async def main():
        ended = asyncio.get_running_loop().create_future()
        async with server(handle) as address:
            connection = Connection(address, on_close=ended.set_result)
            await connection.ask(CODE, timeout=60)
            assert "a frame of 1213486160 bytes was announced" in await ended
            assert not connection.has_answered

    asyncio.run(main())


def test_a_reader_tries_a_port_of_http_once():
    async def main():
        async with hostile_port(PORTS["HTTP"]) as (address, came), Remote([address]) as remote:
            for _ in range(3):
                with pytest.raises(
                    RemotingError,
                    match=rf"no name server answers: {address}.*: this port speaks HTTP, not RocketMQ$",
                ):
                    await remote.ask_name_server(CODE)
            assert len(came) == 1

    asyncio.run(main())


def test_may_open_refuses_a_connection_and_nothing_else():
    async def main():
        is_refused = True

        def may_open():
            if is_refused:
                raise UnreachableError("not now")

        async with server(answering(json.dumps({}).encode())) as address:
            connection = Connection(address, may_open=may_open)
            with pytest.raises(UnreachableError, match="not now"):
                await connection.ask(CODE)
            assert not connection.is_open
            is_refused = False
            await connection.ask(CODE)
            is_refused = True
            await connection.ask(CODE)
            await connection.close()

    asyncio.run(main())
