"""Deadlines of the wire against a peer that sends or takes a byte a second: each is of the whole
operation, and no byte renews it. The clock is simulated, but for names that are looked up on a
thread.
"""

import asyncio
import contextlib
import socket
import threading

import pytest
from simulated_time import Simulation

from rmqalloc.remoting.client import Access, Remote
from rmqalloc.remoting.connection import FRAME_WITHIN, Connection, SilentError
from rmqalloc.remoting.credentials import tls_context
from rmqalloc.remoting.frames import RESPONSE, Command, decode, encode
from rmqalloc.remoting.read_codes import ReadCode

CODE = ReadCode.GET_BROKER_CLUSTER_INFO
ANSWER_WITHIN, CONNECT_WITHIN = 5.0, 3.0


async def trickle(data, writer):
    """Send a byte a second, as long as somebody is there."""
    with contextlib.suppress(ConnectionError):
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)


def answer_of(request, body):
    return encode(Command(0, request.opaque, {}, body, None, RESPONSE))


async def requests(reader):
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            yield decode(await reader.readexactly(int.from_bytes(await reader.readexactly(4))))


def seconds(ask, serve):
    """How long a question takes on the simulated clock, and what it ends in."""
    simulation = Simulation()

    async def serve_to_the_end(reader, writer):
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    address = simulation.serve(serve_to_the_end)

    async def main():
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            found = await ask(address)
        except SilentError as error:
            found = str(error)
        took = round(loop.time() - begun, 3)
        await asyncio.sleep(600)  # until the server has seen that its peer left
        return took, found

    return simulation.run(main())


async def asked(address, **how):
    connection = Connection(address, connect_timeout=CONNECT_WITHIN, **how)
    try:
        return (await connection.ask(CODE, timeout=ANSWER_WITHIN)).body
    finally:
        await connection.close()


@pytest.mark.parametrize("n_at_once", [0, 3, 4, 20, 100])
def test_an_answer_of_which_a_byte_comes_each_second_has_the_time_of_an_answer(n_at_once):
    async def serve(reader, writer):
        async for request in requests(reader):
            data = answer_of(request, b"x" * 1000)
            writer.write(data[:n_at_once])
            await trickle(data[n_at_once:], writer)

    took, found = seconds(asked, serve)
    assert took == ANSWER_WITHIN and "did not answer within 5 s" in found


def test_a_handshake_of_which_a_byte_comes_each_second_has_the_time_of_a_connection():
    async def serve(_reader, writer):
        await trickle(b"\x16\x03\x03\x40\x00" + b"x" * 1000, writer)

    async def ask(address):
        return await asked(address, tls=tls_context(verify=False))

    took, found = seconds(ask, serve)
    assert took == CONNECT_WITHIN and "could not be reached within 3 s" in found


def test_requests_that_wait_for_one_connection_wait_no_longer_than_the_first():
    async def serve(reader, _writer):
        await reader.read()

    async def ask(address):
        connection = Connection(address, tls_context(verify=False), connect_timeout=CONNECT_WITHIN)
        asking = [connection.ask(CODE) for _ in range(20)]
        found = await asyncio.gather(*asking, return_exceptions=True)
        return {type(error) for error in found}

    assert seconds(ask, serve) == (CONNECT_WITHIN, {SilentError})


def test_a_peer_that_takes_a_byte_each_second_has_the_time_of_an_answer():
    async def serve(reader, _writer):
        with contextlib.suppress(ConnectionError):
            while await reader.read(1):
                await asyncio.sleep(1)

    async def ask(address):
        connection = Connection(address)
        try:
            return await connection.ask(CODE, body=b"x" * (16 << 20), timeout=ANSWER_WITHIN)
        finally:
            await connection.close()

    assert seconds(ask, serve)[0] == ANSWER_WITHIN


def test_a_connection_ends_where_a_frame_does_not_and_the_next_one_answers():
    reasons = []

    async def serve(reader, writer):
        async for request in requests(reader):
            data = answer_of(request, b"x" * 1000)
            if len(reasons) == 0:
                await trickle(data, writer)
            else:
                writer.write(data)

    async def ask(address):
        connection = Connection(address, on_close=reasons.append)
        with pytest.raises(SilentError):
            await connection.ask(CODE, timeout=ANSWER_WITHIN)
        await asyncio.sleep(FRAME_WITHIN - ANSWER_WITHIN + 0.5)
        found = await connection.ask(CODE, timeout=ANSWER_WITHIN)
        await connection.close()
        return found.body

    assert seconds(ask, serve) == (FRAME_WITHIN + 0.5, b"x" * 1000)
    assert reasons[0] == "a frame did not end within 30 s"


def test_a_whole_reading_of_such_servers_has_the_time_of_the_deadline():
    async def serve(reader, writer):
        async for request in requests(reader):
            await trickle(answer_of(request, b"{}" * 500), writer)

    async def ask(address):
        access = Access(deadline=60.0, retries=2)
        async with Remote([address], access) as remote:
            asking = [remote.ask(address, CODE) for _ in range(50)]
            await asyncio.gather(*asking, return_exceptions=True)

    assert seconds(ask, serve)[0] <= 60.0


def test_a_name_that_nobody_resolves_keeps_neither_a_request_nor_the_end(monkeypatch):
    go, has_begun, has_ended = threading.Event(), threading.Event(), threading.Event()

    def getaddrinfo(*_asked, **_how):
        has_begun.set()
        go.wait(5)
        has_ended.set()
        raise socket.gaierror("given up")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(SilentError, match=r"within 0.1 s"):
        asyncio.run(Connection("broker.example:10911", connect_timeout=0.1).open())
    assert has_begun.is_set() and not has_ended.is_set(), "asyncio.run did not wait for the look-up"
    go.set()


def test_each_address_of_a_name_is_tried(monkeypatch):
    def getaddrinfo(_host, port, *_given, **_how):
        return [(family, 1, 6, "", ("127.0.0.1", port)) for family in (socket.AF_INET,) * 2]

    async def serve(reader, writer):
        async for request in requests(reader):
            writer.write(answer_of(request, b"found"))
        writer.close()
        has_ended.set()

    tried, has_ended = [], asyncio.Event()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        connect = asyncio.open_connection

        async def first_refuses(host, *given, **how):
            tried.append(host)
            if len(tried) == 1:
                raise ConnectionRefusedError
            return await connect(host, *given, **how)

        monkeypatch.setattr(asyncio, "open_connection", first_refuses)
        try:
            return await asked(f"broker.example:{port}")
        finally:
            server.close()
            await asyncio.wait_for(has_ended.wait(), 5)

    assert asyncio.run(main()) == b"found" and len(tried) == 2
