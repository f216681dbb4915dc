"""The real process: what it sends to a cluster, how it ends, and what hostile connections come to."""

import contextlib
import http.client
import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
from loopback import Loopback
from serving_process import running

from rmqalloc.cli import main

PATHS = (
    "/metrics",
    "/readyz",
    "/v1/groups",
    "/v1/groups/g",
    "/v1/groups/g/plan?scale=3&assume=yes",
    "/v1/groups/g/explain?topic=orders&queue=broker-0:1&assume=yes",
    "/v1/check",
    "/v1/recommend?assume=yes",
    "/v1/snapshot",
    "/v1/status",
    "/v1/plan?remove_broker=broker-1&assume=yes",
    "/v1/schema/plan",
)

PATIENCE = 120
"""Seconds, far more than anything here takes."""

SCRIPT = """
import asyncio, sys, time
from served import readings_of, reading
from audited import group, snapshot, topic
from rmqalloc.service.front_door import Admission, FrontDoor
from rmqalloc.service.http_server import bound_socket, serve_until_ended
from rmqalloc.service.metrics import MetricsText
from rmqalloc.service.web_app import Service

readings = readings_of(reading(snapshot(group("c1"), topics=(topic(a=3),))))
service = Service(readings, MetricsText(readings, "c"), Admission.of("127.0.0.1", None))

async def app(scope, receive, send):
    if scope["path"] == "/slow":
        print("asked", file=sys.stderr, flush=True)
        await asyncio.sleep(600)
    await (large if scope["path"] == "/large" else service.app)(scope, receive, send)

async def too_large(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    try:
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x" * (1 << 16), "more_body": True})
    finally:
        print("large ended", file=sys.stderr, flush=True)

limits = [float(text) for text in sys.argv[1:]]
large = FrontDoor(too_large, Admission.of("127.0.0.1", None), *limits[1:])

with bound_socket("127.0.0.1", 0) as listening:
    print("at http://127.0.0.1:" + str(listening.getsockname()[1]) + "/", file=sys.stderr, flush=True)
    serve_until_ended(app, listening, *limits)
service.close()
print("ended well")
"""


def serving(cluster, *options):
    """`rmqalloc serve` of a cluster on loopback."""
    return running("-m", "rmqalloc", "serve", "-n", cluster.name_server, "--port", "0", *options)


def get(port, path, body=None):
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise OSError(f"{path}: {error.read().decode()}") from None


def answered(port, path):
    """An answer that may not be there at once."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return get(port, path)
        time.sleep(0.05)
    raise AssertionError(f"no answer in {PATIENCE} s")


@pytest.mark.thorough
def test_requests_of_readers_send_nothing_to_the_cluster_and_it_ends_when_told():
    with Loopback() as cluster, serving(cluster, "--every", "600s") as (program, port):
        answered(port, "/readyz")
        n_asked = len(cluster.asked)
        assert n_asked > 5, (
            "the one reading; another code than a read is no ReadCode, and would be an error of it"
        )
        for path in PATHS:
            assert get(port, path), path
        snapshot = get(port, "/v1/snapshot")
        assert b'"errors"' not in snapshot
        assert json.loads(get(port, "/v1/diff", snapshot))["queues"] == []
        get(
            port,
            "/v1/groups/g/plan?assume=yes",
            b'{"scenarios": [{"name": "x", "changes": [{"scale_clients": {"to": 2}}]}]}',
        )
        assert len(cluster.asked) == n_asked
        idle = socket.create_connection(("127.0.0.1", port))
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0, "the idle connection is not waited for"
        idle.close()


@pytest.mark.thorough
def test_a_cluster_that_hangs_does_not_keep_the_process():
    with Loopback(frozen=("name server",)) as cluster, serving(cluster) as (program, port):
        assert get(port, "/healthz")
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0


@pytest.mark.thorough
def test_answers_that_the_end_cuts_off_are_no_errors_in_the_log():
    with (
        running("-c", SCRIPT) as (program, port),
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.sendall(b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert program.stderr.readline() == "asked\n"
        program.send_signal(signal.SIGTERM)
        said = program.communicate(timeout=PATIENCE)
    assert said[0] == "ended well\n" and "Traceback" not in said[1], said


@contextlib.contextmanager
def service_of(*limits):
    """A service that ends well, whatever was sent to it."""
    with running("-c", SCRIPT, *limits) as (program, port):
        yield program, port
        assert answered(port, "/healthz")
        program.send_signal(signal.SIGTERM)
        said, log = program.communicate(timeout=PATIENCE)
        assert (said, log) == ("ended well\n", "")


@pytest.fixture(scope="module")
def port():
    """Where a service with its usual limits is."""
    with service_of() as (_, port):
        yield port


@pytest.fixture(scope="module")
def impatient():
    """A service with limits so short that on a busy machine even a good request may have to be sent
    again.

    test_connections.py has the usual limits, on a simulated clock.
    """
    with service_of("0.5", "0.5") as found:
        yield found


def raw(port, content):
    """What comes back until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as made:
        made.sendall(content)
        return received(made)


def received(made):
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := made.recv(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)


HOST = b"Host: 127.0.0.1\r\nConnection: close\r\n"


@pytest.mark.parametrize(("content", "status"), [
    pytest.param(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n", b"200", id="a page"),
    pytest.param(b"GET /v1/groups/../status HTTP/1.1\r\n" + HOST + b"\r\n", b"404", id="a folder above"),
    pytest.param(b"GET /static/../../web_app.py HTTP/1.1\r\n" + HOST + b"\r\n", b"404", id="a file above"),
    pytest.param(b"GET /v1/groups/%2e%2e HTTP/1.1\r\n" + HOST + b"\r\n", b"404", id="an escaped folder above"),
    pytest.param(b"GET http://evil.example/v1/groups HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"400", id="an address of another host"),
    pytest.param(b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", b"400", id="no path"),
    pytest.param(b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n" + HOST + b"\r\n", b"400", id="a tunnel"),
    pytest.param(b"GET /v1/groups HTTP/1.1\r\nHost: [::1]evil\r\nConnection: close\r\n\r\n",
                 b"421", id="a host after an address"),
    pytest.param(b"GET /v1/groups/a%0d%0aSet-Cookie:%20x HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"404", id="a header in a path"),
    pytest.param(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
                 b"400", id="two hosts"),
    pytest.param(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", b"400", id="no host"),
    pytest.param(b"GET /healthz HTTP/1.0\r\n\r\n", b"421", id="HTTP/1.0"),
    pytest.param(b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n",
                 b"400", id="a header of 1 MiB"),
    pytest.param(b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 10_000 + HOST + b"\r\n", b"431", id="10000 headers"),
    pytest.param(b"\x16\x03\x01 no HTTP at all\r\n\r\n", b"400", id="no HTTP"),
    pytest.param(b"GET /\x00 HTTP/1.1\r\n" + HOST + b"\r\n", b"400", id="a zero byte"),
    pytest.param(b"POST /v1/plan HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                 + b"10000\r\n" + b" " * 0x10000 + b"\r\n" + (b"10000\r\n" + b" " * 0x10000 + b"\r\n") * 5, b"413",
                 id="a body in pieces"),
    pytest.param(b"POST /v1/plan HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
                 + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", b"", id="a piece without a length"),
])  # fmt: skip
def test_hostile_requests_are_answered_or_cut_off(port, content, status):
    answer = raw(port, content)
    if (
        answer or len(content) < 100_000
    ):  # what comes after the refusal may reset the connection before it is read
        assert answer[9:12] == status, answer[:200]
    assert b"Set-Cookie" not in answer.partition(b"\r\n\r\n")[0]


def test_a_body_that_is_cut_off_is_no_defect(port):
    """What the log has of it is looked at when the service ends."""
    head = b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as made:
        made.sendall(b"POST /v1/plan HTTP/1.1\r\n" + HOST + head + b"{")
        made.shutdown(socket.SHUT_WR)
        assert received(made) == b""


def trickled(port, first, rest):
    """Whether the service ends a connection that goes on sending byte by byte."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as made,
        contextlib.suppress(OSError),
    ):
        made.sendall(first)
        for byte in rest:
            time.sleep(0.05)
            made.sendall(bytes([byte]))
        return False
    return True


def test_slow_requests_are_cut_off_while_others_are_answered(impatient):
    """Each goes on for half a minute, sixty times as long as it may."""
    body = (
        b"POST /v1/plan HTTP/1.1\r\n"
        + HOST
        + b"Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
    )
    slow = {
        "header": (b"GET /healthz HTTP/1.1\r\n" + HOST, b"X: " + b"y" * 600),
        "nothing": (b"", b"G" * 600),
        "body": (body, b" " * 600),
    }
    found, (_, port) = {}, impatient
    threads = [
        threading.Thread(target=lambda n=n, s=s: found.update({n: trickled(port, *s)}))
        for n, s in slow.items()
    ]
    for one in threads:
        one.start()
    assert answered(port, "/v1/groups")
    for one in threads:
        one.join()
    assert found == dict.fromkeys(slow, True)


def test_an_answer_that_nobody_fetches_is_given_up(impatient):
    program, port = impatient
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect(("127.0.0.1", port))
        made.sendall(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
        assert "large ended\n" in iter(program.stderr.readline, ""), "before anything is fetched"
        made.settimeout(PATIENCE)
        assert len(received(made)) < 1000 << 16


def test_addresses_that_cannot_be_served_at_are_refused(tmp_path, capsys):
    def refused(*arguments):
        return main(["serve", *map(str, arguments)]), capsys.readouterr().err.splitlines()[-1]

    (tmp_path / "token").write_text("short\n")
    beyond = ("-f", "example:seed", "--host", "0.0.0.0")
    code, said = refused(*beyond)
    assert code == 64 and "--token-file" in said
    code, said = refused(*beyond, "--token-file", tmp_path / "token")
    assert code == 64 and "16 ASCII" in said and "short" not in said
    assert (
        refused("-n", "nowhere")[0]
        == refused()[0]
        == refused("-f", "example:seed", "-n", "10.0.0.1:9876")[0]
        == 64
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refused("-f", "example:seed", "--port", taken.getsockname()[1])
        assert code == 1 and "in use" in said
