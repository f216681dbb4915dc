"""Connections against servers that misbehave in every way: always a clear error, never a wait
without end.
"""

import asyncio
import json
import struct
import subprocess
import tracemalloc
from collections import Counter
from types import SimpleNamespace

import pytest
import simulated_time
from scripted_server import answering, server
from simulated_time import Simulation

from rmqalloc.remoting import RemotingError, ResponseError, health
from rmqalloc.remoting.client import Access, Remote, name_servers
from rmqalloc.remoting.connection import Connection, SilentError
from rmqalloc.remoting.credentials import Credentials, tls_context
from rmqalloc.remoting.frames import RESPONSE, Command, encode
from rmqalloc.remoting.read_codes import ForbiddenRequestError, ReadCode

CODE = ReadCode.GET_BROKER_CLUSTER_INFO


def raw(data, close=False):
    async def handle(_request, writer):
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return handle


async def ask(address, timeout=15.0, **settings):
    connection = Connection(address, **settings)
    try:
        return await connection.ask(CODE, timeout=timeout)
    finally:
        await connection.close()


def run(handle, passes=0.0, **settings):
    """The answer of a server, after so many seconds of a simulated clock."""

    async def main():
        async with server(handle) as address:
            return await ask(address, **settings)

    simulation = Simulation()
    begun = simulation.now
    try:
        return simulation.run(main())
    finally:
        assert simulation.now - begun == passes


def test_an_answer():
    assert run(answering(b'{"a":1}')).body == b'{"a":1}'


def test_answers_out_of_order_find_their_requests():
    async def main():
        held = []

        async def handle(request, writer):
            held.append(request)
            if len(held) == 10:
                for one in reversed(held):
                    writer.write(
                        encode(
                            Command(
                                0,
                                one.opaque,
                                {},
                                json.dumps(one.ext_fields).encode(),
                                None,
                                RESPONSE,
                            )
                        )
                    )

        async with server(handle) as address:
            connection = Connection(address)
            asked = [connection.ask(CODE, {"topic": str(i)}) for i in range(10)]
            assert [json.loads(a.body)["topic"] for a in await asyncio.gather(*asked)] == [
                str(i) for i in range(10)
            ]
            await connection.close()

    simulated_time.run(main())


def test_requests_of_the_server_are_dropped():
    async def handle(request, writer):
        writer.write(encode(Command(40, request.opaque, {"consumerGroup": "g"})))
        await answering(b"[]")(request, writer)

    assert run(handle).body == b"[]"


def test_an_error_of_the_server():
    with pytest.raises(ResponseError, match=r"code 17 \(TOPIC_NOT_EXIST\): no such topic"):
        run(answering(code=17, remark="no such topic"))


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        (raw(b""), "did not answer within 15 s"),
        (raw(b"", close=True), "the connection was closed"),
        (raw(struct.pack(">i", 100) + b"cut", close=True), "closed in the middle of an answer"),
        (raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "this port speaks HTTP, not RocketMQ"),
        (raw(struct.pack(">i", -5)), "a frame of -5 bytes"),
        (raw(struct.pack(">ii", 4, 9 << 24)), "serialisation 9 is unknown"),
        (raw(struct.pack(">ii", 6, 2) + b"{]"), "not the JSON of a command"),
    ],
)
def test_a_server_that_misbehaves(handle, said):
    with pytest.raises(RemotingError, match=said):
        run(handle, passes=15.0 if "within" in said else 0.0)


def test_nobody_listens():
    with pytest.raises(RemotingError, match="could not be reached"):
        simulated_time.run(ask("127.0.0.1:1"))


def test_sixteen_mebibytes_are_read_and_more_than_allowed_is_not():
    body = b'["' + b"x" * (16 << 20) + b'"]'
    assert run(answering(body)).body == body
    tracemalloc.start()
    with pytest.raises(
        RemotingError, match=r"a frame of 2000000000 bytes was announced; the limits are 4 and \d+"
    ):
        run(raw(struct.pack(">i", 2_000_000_000)))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_broken_connection_is_opened_again():
    calls = []

    async def handle(request, writer):
        calls.append(request)
        if len(calls) == 1:
            writer.close()
        else:
            await answering(b"[2]")(request, writer)

    async def main():
        async with server(handle) as address, Remote([address], Access(retries=1)) as remote:
            return await remote.ask(address, CODE)

    assert simulated_time.run(main())[0] == [2]
    assert len(calls) == 2


def test_a_busy_server_is_asked_again_and_a_refusal_is_not():
    calls = []

    async def busy(request, writer):
        calls.append(request)
        await answering(code=2, remark="busy")(request, writer)

    async def refusing(request, writer):
        calls.append(request)
        await answering(code=16, remark="no permission")(request, writer)

    async def main(handle):
        async with server(handle) as address, Remote([address], Access(retries=2)) as remote:
            await remote.ask(address, CODE)

    with pytest.raises(ResponseError, match="SYSTEM_BUSY"):
        simulated_time.run(main(busy))
    assert len(calls) == 3
    with pytest.raises(ResponseError, match=r"NO_PERMISSION.*no permission"):
        simulated_time.run(main(refusing))
    assert len(calls) == 4


def test_the_next_name_server_is_asked():
    async def main():
        async with (
            server(answering(b"[1]")) as address,
            Remote(["127.0.0.1:1", address], Access(retries=0)) as remote,
        ):
            assert await remote.ask_name_server(CODE) == [1]
            assert await remote.ask_name_server(CODE) == [1]
            assert remote.n_requests["127.0.0.1:1"] == 1, (
                "the one that works is asked first from now on"
            )

    simulated_time.run(main())
    with pytest.raises(
        RemotingError, match=r"no name server answers: 127.0.0.1:1 .*; 127.0.0.1:2 "
    ):
        simulated_time.run(
            Remote(["127.0.0.1:1", "127.0.0.1:2"], Access(retries=0)).ask_name_server(CODE)
        )


def test_garbage_in_a_body_is_an_error_of_that_server():
    async def main():
        async with (
            server(answering(b"<html>")) as address,
            Remote([address], Access(retries=0)) as remote,
        ):
            await remote.ask(address, CODE)

    with pytest.raises(
        RemotingError, match="answered GET_BROKER_CLUSTER_INFO with a body that is not JSON"
    ):
        simulated_time.run(main())


def test_at_most_so_many_requests_are_under_way():
    running, most = 0, 0

    async def handle(request, writer):
        nonlocal running, most
        running += 1
        most = max(most, running)

        async def later():
            nonlocal running
            await asyncio.sleep(0.02)
            running -= 1
            await answering()(request, writer)

        writer.later = asyncio.create_task(later())

    async def main():
        async with server(handle) as address, Remote([address], Access(per_server=3)) as remote:
            await asyncio.gather(*(remote.ask(address, CODE) for _ in range(20)))

    simulated_time.run(main())
    assert most == 3


def test_one_client_is_asked_one_thing_at_a_time_over_all_groups_and_never_twice():
    """Its few threads may all be taken by such requests, and then it reads no answers of brokers
    any more.
    """
    running, most, asked, tasks = Counter(), Counter(), Counter(), []

    async def handle(request, writer):
        if request.code != ReadCode.GET_CONSUMER_RUNNING_INFO:  # whether the broker is alive
            await answering()(request, writer)
            return
        client_id = request.ext_fields["clientId"]
        running[client_id] += 1
        running["all"] += 1
        asked[client_id] += 1
        most.update({name: max(0, running[name] - most[name]) for name in (client_id, "all")})

        async def later():
            await asyncio.sleep(0.02)
            running.subtract([client_id, "all"])
            if client_id != "silent":
                await answering()(request, writer)

        tasks.append(asyncio.create_task(later()))

    async def main():
        async with (
            server(handle) as a,
            server(handle) as b,
            Remote([a], Access(timeout=2)) as remote,
        ):
            code = ReadCode.GET_CONSUMER_RUNNING_INFO
            clients = [("x", a), ("y", a), ("x", b), ("y", b), ("silent", a)]
            asked_for = [
                remote.ask(address, code, {"consumerGroup": group, "clientId": one})
                for group in ("g", "h")
                for one, address in clients
            ]
            return await asyncio.gather(*asked_for, return_exceptions=True)

    answers = simulated_time.run(main())
    assert most["x"] == most["y"] == 1
    assert most["all"] > 1
    assert sum(isinstance(one, RemotingError) for one in answers) == 2
    assert asked == {"x": 4, "y": 4, "silent": 1}, (
        "a silent client is not asked again in its other group"
    )


def test_nothing_but_reads_leaves():
    """Not even through the lowest door, and no connection is opened for it."""
    seen = []

    async def handle(request, writer):
        seen.append(request.code)
        await answering()(request, writer)

    async def main():
        async with server(handle) as address:
            connection = Connection(address)
            for code in (34, 35, 41, 42, 15, 401):
                with pytest.raises(ForbiddenRequestError):
                    await connection.ask(code)
            await connection.ask(CODE)
            await connection.close()

    simulated_time.run(main())
    assert seen == [CODE]


def test_requests_are_signed():
    seen = []

    async def handle(request, writer):
        seen.append(request.ext_fields)
        await answering()(request, writer)

    keys = Credentials("ak", "sk")
    run(handle, credentials=keys)
    assert seen == [keys.signed({}, b"")]


@pytest.fixture
def certificate(tmp_path):
    """A certificate of 127.0.0.1 that nobody else vouches for."""
    key, path = tmp_path / "key.pem", tmp_path / "certificate.pem"
    arguments = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        ["openssl", *arguments.split(), "-keyout", key, "-out", path],
        check=True,
        capture_output=True,
    )
    return path, key


def test_tls(certificate):
    path, key = certificate
    import ssl

    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(path, key)

    async def main(tls):
        async with server(answering(b"[3]"), ssl=serving) as address:
            return await ask(address, tls=tls)

    assert asyncio.run(main(tls_context(ca=path))).body == b"[3]"
    assert asyncio.run(main(tls_context(verify=False))).body == b"[3]"
    with pytest.raises(
        RemotingError, match="certificate that does not verify: self-signed certificate"
    ):
        asyncio.run(main(tls_context()))


@pytest.mark.parametrize(
    "text", ["", " ; ", "host", "host:", ":9876", "host:0", "host:70000", "host:nine"]
)
def test_name_servers_are_checked(text, monkeypatch):
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ValueError, match=r"host:port"):
        name_servers(text)


def test_name_servers_of_the_environment(monkeypatch):
    monkeypatch.setenv("NAMESRV_ADDR", "a:1;b:2")
    assert name_servers(None) == ["a:1", "b:2"]
    assert name_servers("c:3") == ["c:3"]


def test_a_server_that_was_down_has_one_try_once_its_pause_is_over(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: now[0]))
    servers = health.Health()
    for pause in (1.0, 2.0):
        while servers.is_up("a"):
            servers.failed("a", SilentError("no"))
        with pytest.raises(health.DownError, match="2 tries in a row failed, the last with: no"):
            servers.check("a")
        now[0] += pause - 0.1
        servers.revive()
        assert not servers.is_up("a")
        now[0] += 0.1
        servers.revive()
        assert servers.is_up("a")
