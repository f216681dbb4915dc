"""Who may ask, what every answer bears, and what becomes of requests that come while others are
worked on.
"""

import asyncio
import random
import threading
from urllib.parse import urlsplit

import pytest
from audited import group, snapshot, topic
from hypothesis import given
from hypothesis import strategies as st
from served import reading as of
from served import readings_of, served

from rmqalloc.service import front_door, web_app
from rmqalloc.service.front_door import PIECE, AccessError, Admission, FrontDoor

CLUSTER = snapshot(group("c1", "c2"), topics=(topic(a=3),))
TOKEN = "0123456789abcdef"


@pytest.fixture
def readings():
    return readings_of(of(CLUSTER))


def test_every_answer_bears_the_strict_headers(readings):
    with served(readings) as client:
        for path in ("/healthz", "/metrics", "/v1/groups", "/v1/none", "/v1/groups?x=1"):
            headers = client.get(path).headers
            assert {name: headers[name] for name in front_door.HEADERS} == front_door.HEADERS, path
            policy = headers["content-security-policy"]
            assert (
                "default-src 'none'" in policy
                and "frame-ancestors 'none'" in policy
                and "unsafe" not in policy
            )
            assert "server" not in headers and "access-control-allow-origin" not in headers
        assert float(client.get("/v1/groups").headers["rmqalloc-age"]) < 60


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    "host",
    [
        "[::1]evil",
        "[::1]:80evil",
        "[::1]:",
        "[::1",
        "localhost:80:80",
        "localhost:123456",
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "[::2]",
        "localhost.",
        "127.0.0.1@evil",
    ],
)
def test_on_loopback_the_host_must_be_this_machine(readings, host):
    with served(readings) as client:
        assert client.get("/v1/groups", headers={"host": host}).status_code == 421
        for mine in ("127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080"):
            assert client.get("/v1/groups", headers={"host": mine}).status_code == 200


def test_beyond_loopback_a_token_is_needed(readings):
    for host in ("0.0.0.0", "::", "10.0.0.1", "", "monitoring"):
        with pytest.raises(AccessError, match="--token-file"):
            Admission.of(host, None)
    for short in ("", "short", "has blanks in it and is long", "0123456789abcde€"):
        with pytest.raises(AccessError, match="16 ASCII characters"):
            Admission.of("0.0.0.0", short)
    with served(readings, host="0.0.0.0", token=TOKEN) as client:
        right = {"authorization": f"Bearer {TOKEN}"}
        assert client.get("/v1/groups", headers=right).status_code == 200
        assert (
            client.get("/v1/groups", headers=right | {"host": "monitoring:8080"}).status_code == 200
        )
        for wrong in (
            "",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"bearer {TOKEN}",
            "Basic x",
            "Bearer \xff",
        ):
            answer = client.get("/metrics", headers={"authorization": wrong.encode("latin-1")})
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in answer.text
        assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        for closed in (
            "/healthz/",
            "/static/../v1/groups",
            "/static/%2e%2e/metrics",
            "//v1/groups",
            "/v1/schema",
            "/docs",
        ):
            assert client.get(closed).status_code in (401, 404), closed
    assert TOKEN not in repr(Admission.of("0.0.0.0", TOKEN))


HOST_PARTS = ["127.0.0.1", "localhost", "[::1]", ":", "80", "@", "evil", *"/?#.[]%"]


@given(st.lists(st.sampled_from(HOST_PARTS), max_size=5))
def test_a_host_that_passes_is_one_for_a_reader_of_addresses_too(parts):
    host = "".join(parts)
    headers = [(b"host", host.encode())]
    scope = {"type": "http", "method": "GET", "query_string": b"", "headers": headers}
    access = Admission.of("127.0.0.1", None)
    if access.refusal(scope) is None:
        found = urlsplit(f"http://{host}")
        assert (found.hostname in access.hosts, found.username, found.path) == (True, None, "")


def test_tokens_are_compared_in_constant_time(readings, monkeypatch):
    def compare(*texts):
        compared.append(texts)
        return False

    compared = []
    monkeypatch.setattr(front_door.hmac, "compare_digest", compare)
    with served(readings, host="0.0.0.0", token=TOKEN) as client:
        right = f"Bearer {TOKEN}"
        assert client.get("/v1/groups", headers={"authorization": right}).status_code == 401
    assert compared == [(right.encode(), right.encode())]


ALLOWED = {
    "/healthz": "GET, HEAD",
    "/metrics": "GET, HEAD",
    "/static/page.js": "GET, HEAD",
    "/v1/groups": "GET, HEAD",
    "/v1/plan?assume=yes&scale=3": "GET, HEAD, POST",
    "/v1/guard?stop=c1": "GET",
    "/v1/groups/g/guard?stop=c1": "GET",
}


@pytest.mark.parametrize("path", ALLOWED)
def test_methods_that_a_path_does_not_have_are_refused(readings, path):
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"]
    refused = [method for method in methods if method not in ALLOWED[path].split(", ")]
    with served(readings) as client:
        for method in methods:
            answer = client.request(method, path)
            assert (answer.status_code == 405) is (method in refused), method
            assert answer.headers.get("allow") == (ALLOWED[path] if method in refused else None)


def test_to_look_at_the_headers_of_guard_takes_no_lease(readings, monkeypatch):
    class Leases:
        def may_stop(self, *_asked):
            taken.append(1)

    taken = []
    monkeypatch.setattr(web_app, "GuardLeases", Leases)
    with served(readings) as client:
        client.head("/v1/guard?stop=c1")
        assert taken == []
        client.get("/v1/guard?stop=c1")
        assert taken == [1]


def test_requests_of_a_peer_are_bounded_and_probes_are_not(monkeypatch):
    monkeypatch.setattr(front_door, "MOST_OF_PEER", 2)
    monkeypatch.setattr(front_door, "MOST_REQUESTS", 3)

    async def main():
        go = asyncio.Event()

        async def app(scope, _receive, send):
            if scope["path"] not in front_door.PROBED_PATHS:
                await go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body"})

        door = FrontDoor(app, Admission(frozenset()))

        async def status(peer, path="/v1/groups"):
            sent = []

            async def keep(event):
                sent.append(event)

            raw = path.encode()
            scope = {"type": "http", "method": "GET", "path": path, "raw_path": raw}
            await door(scope | {"query_string": b"", "headers": [], "client": peer}, None, keep)
            return sent[0]["status"]

        working = [asyncio.create_task(status(("10.0.0.1", port))) for port in (1, 2)]
        await asyncio.sleep(0)
        assert await status(("10.0.0.1", 3)) == 503
        assert await status(("10.0.0.1", 3), "/healthz") == 200
        working += [asyncio.create_task(status(("10.0.0.2", 1)))]
        await asyncio.sleep(0)
        assert await status(("10.0.0.3", 1)) == 503, "three are worked on"
        assert await status(("10.0.0.3", 1), "/readyz") == 200
        go.set()
        assert await asyncio.gather(*working) == [200, 200, 200]
        assert await status(("10.0.0.1", 3)) == 200

    asyncio.run(main())


def test_pages_of_other_sites_get_nothing(readings):
    with served(readings) as client:
        for site in ("cross-site", "same-site"):
            assert client.get("/v1/groups", headers={"sec-fetch-site": site}).status_code == 403
            assert client.get("/healthz", headers={"sec-fetch-site": site}).status_code == 200
        assert (
            client.get("/v1/groups", headers={"sec-fetch-site": "same-origin"}).status_code == 200
        )


def test_head_is_get_without_a_body(readings):
    with served(readings) as client:
        assert client.head("/v1/groups").headers["content-length"] == str(
            len(client.get("/v1/groups").content)
        )


def test_long_paths_and_parameters_are_refused(readings):
    with served(readings) as client:
        assert client.get("/v1/groups/" + "x" * 5000).status_code == 414
        assert client.get("/v1/groups?where=" + "x" * 5000).status_code == 414


def test_what_is_too_much_is_asked_to_come_back(readings, monkeypatch):
    """Heavy answers take the threads for them alone: whoever asks for what is known already is
    answered meanwhile.
    """
    go, begun = threading.Event(), threading.Semaphore(0)

    def slow(asked):
        begun.release()
        assert go.wait(300)
        return {"verdict": "yes"}

    monkeypatch.setattr(
        web_app, "QUESTIONS", {**web_app.QUESTIONS, "/v1/slow": web_app.Question(slow, ("n",))}
    )
    monkeypatch.setattr(web_app, "MOST_HEAVY", 2)
    with served(readings) as client:
        found = []

        def ask(n):  # each another question: one that several ask is worked out once
            found.append(client.get(f"/v1/slow?n={n}").status_code)

        asking = [threading.Thread(target=ask, args=(n,)) for n in range(2)]
        for one in asking:
            one.start()
            assert begun.acquire(timeout=300)
        refused = client.get("/v1/slow?n=2")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert client.get("/v1/groups").status_code == client.get("/metrics").status_code == 200
        go.set()
        for one in asking:
            one.join()
        assert found == [200, 200]
        assert client.get("/v1/slow?n=3").status_code == 200


def test_an_answer_that_takes_too_long_is_given_up(readings, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr(
        web_app, "QUESTIONS", {"/v1/slow": web_app.Question(lambda _asked: go.wait(300) and {})}
    )
    with served(readings) as client:
        client.service.app._seconds = 0.2
        answer = client.get("/v1/slow")
        assert (answer.status_code, answer.headers["retry-after"]) == (
            503,
            "1",
        ) and "longer than 0.2 s" in answer.text
        go.set()


def test_a_defect_is_a_500_that_says_nothing_of_its_inside(readings, monkeypatch):
    def defect(_asked):
        raise KeyError("secret")

    monkeypatch.setattr(web_app, "QUESTIONS", {"/v1/defect": web_app.Question(defect)})
    with served(readings) as client:
        answer = client.get("/v1/defect")
        assert (
            answer.status_code == 500
            and "secret" not in answer.text
            and "a defect of rmqalloc" in answer.text
        )
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
def test_a_long_body_is_sent_whole_and_piece_by_piece(length):
    body, sent = random.Random(7).randbytes(length), []

    async def app(_scope, _receive, send):
        await send({"type": "http.response.body", "body": body})

    async def keep(event):
        sent.append(event)

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(FrontDoor(app, Admission.of("127.0.0.1", None))(scope, None, keep))
    assert b"".join(event["body"] for event in sent) == body
    assert [event.get("more_body", False) for event in sent] == [True] * (
        max(0, length - 1) // PIECE
    ) + [False]
    assert max(len(event["body"]) for event in sent) <= PIECE
