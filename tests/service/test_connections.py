"""How long a connection may take, on a simulated clock: slow requests, others beside them, and
answers that nobody fetches.
"""

import asyncio
import contextlib
from itertools import count

import simulated_time
import uvicorn
from uvicorn.server import ServerState

from rmqalloc.service import bounded_protocol
from rmqalloc.service.bounded_protocol import BoundedProtocol
from rmqalloc.service.front_door import REQUEST_SECONDS
from rmqalloc.service.http_server import HEADER_SECONDS

ANSWER_SECONDS = REQUEST_SECONDS + 1
N_PIECES, PIECE = 1000, b"x" * (1 << 16)
HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"


async def app(scope, receive, send):
    """Answer once the whole request is there: at once, late, or with much."""
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/late":
        await asyncio.sleep(ANSWER_SECONDS - 1)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(N_PIECES if scope["path"] == "/large" else 1):
        await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body"})


def run(*clients, apart=0):
    """What each ``client(reader, writer, connections)`` comes to, and the seconds that it takes;
    all of them at once, or so many seconds apart.
    """

    async def main():
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        config.load()
        loop, state = asyncio.get_running_loop(), ServerState()

        def protocol():
            return BoundedProtocol(
                HEADER_SECONDS, ANSWER_SECONDS, config=config, server_state=state, app_state={}
            )

        server = await loop.create_server(protocol, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()

        async def timed(number, client):
            await asyncio.sleep(number * apart)
            reader, writer = await asyncio.open_connection(*address, limit=1 << 20)
            begun = loop.time()
            found = await client(reader, writer, state.connections)
            passed = loop.time() - begun
            writer.close()
            return found, round(passed, 3)

        found = await asyncio.gather(*map(timed, count(), clients))
        await asyncio.sleep(1)
        assert not state.connections
        return found

    return simulated_time.run(main())


def trickling(first, byte):
    """A client that goes on sending a byte every second until the connection ends, and what was
    answered by then.
    """

    async def client(reader, writer, _connections):
        async def send():
            writer.write(first)
            while True:
                await asyncio.sleep(1)
                writer.write(byte)

        sending = asyncio.create_task(send())
        answer = await to_the_end(reader)
        sending.cancel()
        return answer

    return client


async def to_the_end(reader):
    found = bytearray()
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(1 << 20):
            found += piece
    return bytes(found)


def fetching(path, after=0):
    """A client that fetches an answer after so many seconds: how many connections there are by
    then, status, length.
    """

    async def client(reader, writer, connections):
        writer.write(b"GET " + path + HOST + b"\r\n")
        await asyncio.sleep(after)
        n_open = len(connections)
        answer = await to_the_end(reader)
        return n_open, answer[9:12], len(answer) // len(PIECE)

    return client


async def coming_back(reader, writer, _connections):
    """A client that asks twice over one connection, with a pause: the statuses."""
    statuses = []
    for path in (b"/late", b"/"):
        writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readuntil(b"\r\n0\r\n\r\n")
        statuses.append(head[9:12])
        await asyncio.sleep(3)
    return statuses


def test_half_a_request_keeps_nobody_out(monkeypatch):
    monkeypatch.setattr(bounded_protocol, "MOST_CONNECTIONS", 4)
    half = trickling(b"GET /" + HOST + b"X: ", b"y")
    found = run(fetching(b"/late"), *[half] * 6, fetching(b"/"), fetching(b"/"), apart=1)
    assert found == [
        ((1, b"200", 1), ANSWER_SECONDS - 1),
        *[(b"", 3)] * 4,
        *[(b"", HEADER_SECONDS)] * 2,
        *[((4, b"200", 1), 0)] * 2,
    ]


class Peer(asyncio.Transport):
    """The transport of a connection from an address, and whether it was aborted."""

    def __init__(self, address):
        super().__init__({"peername": (address, 1), "sockname": ("10.0.0.9", 80)})
        self.is_aborted = False

    def abort(self):
        self.is_aborted = True


def test_the_peer_with_most_connections_gives_way_with_its_oldest(monkeypatch):
    monkeypatch.setattr(bounded_protocol, "MOST_CONNECTIONS", 4)
    peers = [Peer(f"10.0.0.{number}") for number in (1, 2, 2, 3, 3, 3)]

    async def main():
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        state = ServerState()
        for peer in peers:
            made = BoundedProtocol(10, 31, config=config, server_state=state, app_state={})
            made.connection_made(peer)
            await asyncio.sleep(1)
        assert len(state.connections) == 4

    simulated_time.run(main())
    assert [peer.is_aborted for peer in peers] == [False, True, False, True, False, False]


def test_slow_requests_are_cut_off_and_others_beside_them_are_not():
    found = run(
        trickling(b"", b"G"),
        trickling(b"GET /" + HOST + b"X: ", b"y"),
        trickling(b"POST /" + HOST + b"Content-Length: 9999\r\n\r\n", b" "),
        fetching(b"/"),
        fetching(b"/late"),
        coming_back,
    )
    assert found == [
        (b"", HEADER_SECONDS),
        (b"", HEADER_SECONDS),
        (b"", ANSWER_SECONDS),
        ((6, b"200", 1), 0),
        ((6, b"200", 1), ANSWER_SECONDS - 1),
        ([b"200", b"200"], ANSWER_SECONDS - 1 + 6),
    ]


def test_an_answer_is_given_up_where_nobody_fetches_it_and_whole_where_somebody_does():
    found = run(fetching(b"/large", ANSWER_SECONDS - 1), fetching(b"/large", ANSWER_SECONDS + 1))
    assert found[0] == ((2, b"200", N_PIECES), ANSWER_SECONDS - 1)
    assert found[1] == ((0, b"200", found[1][0][2]), ANSWER_SECONDS + 1), (
        "its connection is not waited for"
    )
    assert found[1][0][2] < N_PIECES
