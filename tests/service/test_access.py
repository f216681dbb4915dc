"""Who may ask, what every answer bears, and what becomes of requests that come while others are
worked on.
"""

import asyncio
import random
import threading

import pytest
from audited import group, snapshot, topic
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


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_other_methods_are_refused(readings, method):
    with served(readings) as client:
        answer = client.request(method, "/v1/groups")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


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
