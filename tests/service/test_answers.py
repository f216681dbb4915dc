"""The documents that are served: those of the verbs, as their schemas say, for whatever groups are
called.
"""

import json
from urllib.parse import quote

import pytest
from audited import group, queues, snapshot, topic
from json_schema import faults
from served import reading, readings_of, served

from rmqalloc.cli import main
from rmqalloc.service.answer_schemas import SCHEMAS_SERVED
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Lag

HOSTILE = 'a/b?c="d"&<script>\\\n\u202e%2F€ ../..'
CLUSTER = snapshot(
    group("10.0.0.1@a", "10.0.0.1@a", "10.0.0.2@b", name="twice"),
    group(
        *(f"10.0.0.{i}@c" for i in range(1, 5)), name="idle", lags=(Lag(queues([1])[0], 500, 10),)
    ),
    group("10.0.0.8@e", name=HOSTILE),
    group(
        Client("10.0.0.9@d"),
        name="doubt",
        strategy_source="assumed",
        strategy_doubt="nothing shows it",
    ),
    topics=(topic(a=3), topic("lonely", a=2)),
)
QUEUE = "a:1"


@pytest.fixture(scope="module")
def client():
    with served(
        readings_of(reading(CLUSTER), every=3600.0)
    ) as made:  # no answer is too old, however long the tests take
        yield made


@pytest.fixture
def printed(tmp_path, capsys):
    """What a verb prints of the same snapshot with ``-o json``."""

    def printed(verb, *options):
        (tmp_path / "s.json").write_text(json.dumps(to_document(CLUSTER)))
        main([verb, "-f", str(tmp_path / "s.json"), "-o", "json", *options])
        return json.loads(capsys.readouterr().out)

    return printed


def got(client, path, **params):
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_groups_are_those_of_the_verb(client, printed):
    assert got(client, "/v1/groups") == {"groups": printed("groups"), "n_rows": 4}
    assert got(client, "/v1/groups", sort="-n_clients", top=2, where="consumer_group!=idle") == {
        "groups": printed(
            "groups", "--where", "consumer_group!=idle", "--sort", "-n_clients", "--top", "2"
        ),
        "n_rows": 3,
    }


def test_a_group_is_what_show_and_check_say(client, printed):
    found = got(client, "/v1/groups/idle")
    assert found["queues"] == printed("show", "-g", "idle")
    assert found["clients"] == printed("show", "-g", "idle", "--by", "client")
    assert found["findings"] == printed("check", "-g", "idle")["findings"]
    assert [found["group"]] == printed("groups", "-g", "idle")


@pytest.mark.parametrize("path", ["/v1/check", "/v1/groups/twice/check"])
def test_findings_are_those_of_check(client, printed, path):
    of = ["-g", "twice"] if "twice" in path else []
    assert got(client, path) == printed("check", *of)
    assert got(client, path, severity="error") == printed("check", *of, "--severity", "error")


def test_a_plan_is_the_one_that_the_verb_saves(client, printed, tmp_path):
    printed(
        "plan",
        "-g",
        "idle",
        "--scale",
        "2",
        "--remove-client",
        "10.0.0.1@c",
        "--out",
        str(tmp_path / "plan.json"),
    )
    saved = json.loads((tmp_path / "plan.json").read_text())
    given = {"scale": 2, "remove_client": "10.0.0.1@c"}
    assert (found := got(client, "/v1/groups/idle/plan", **given))["digest"]
    assert found["tables"] == saved["tables"] and found["inputs"] == saved["inputs"]
    posted = client.post(
        "/v1/groups/idle/plan?show=groups,queues", json={"scenarios": saved["scenarios"]}
    ).json()
    assert posted["groups"] == printed(
        "plan", "-g", "idle", "--scale", "2", "--remove-client", "10.0.0.1@c", "--show", "groups"
    )
    assert len(posted["queues"]) == 2 * 3


def test_explanations_and_advice_are_those_of_the_verbs(client, printed):
    asked = {"topic": "orders", "queue": QUEUE}
    assert got(client, "/v1/groups/idle/explain", **asked) == printed(
        "explain", "-g", "idle", "-t", "orders", "--queue", QUEUE
    )
    assert got(client, "/v1/groups/idle/recommend")["groups"] == printed("recommend", "-g", "idle")


def test_strategies_in_doubt_are_accepted_where_that_is_asked_for(client, printed):
    asked = {"show": "groups", "scale": 2}
    assert client.get("/v1/groups/doubt/plan", params=asked).status_code == 404
    accepted = printed(
        "plan", "-g", "doubt", "--scale", "2", "--require", "any", "--show", "groups"
    )
    assert got(client, "/v1/groups/doubt/plan", **asked, assume="yes")["groups"] == accepted
    assert client.get("/v1/groups/doubt/plan?assume=maybe").status_code == 400
    assert client.get("/v1/groups/idle/plan?allow_partial=maybe").status_code == 400
    whole, partly = (
        got(client, "/v1/groups/idle/plan", **asked, allow_partial=yes) for yes in ("no", "yes")
    )
    assert whole["groups"] == partly["groups"]


def test_a_snapshot_that_is_posted_is_compared_with_now(client, printed):
    snapshot = got(client, "/v1/snapshot")
    assert snapshot == json.loads(json.dumps(to_document(CLUSTER)))
    one = next(group for group in snapshot["groups"] if group["name"] == "idle")
    one["clients"] = one["clients"][:2]
    found = client.post("/v1/groups/idle/diff", json=snapshot).json()
    assert [row["change"] for row in found["queues"]] == ["moved"] * len(found["queues"]) != []
    assert {row["status"] for row in found["clients"]} or found["clients"]


def test_documents_are_as_their_schemas_say(client):
    documents = {
        "groups": got(client, "/v1/groups"),
        "group": got(client, "/v1/groups/twice"),
        "check": got(client, "/v1/check"),
        "plan": got(client, "/v1/plan"),
        "explain": got(client, "/v1/groups/idle/explain", topic="orders", queue=QUEUE),
        "recommend": got(client, "/v1/recommend"),
        "diff": client.post("/v1/diff", json=got(client, "/v1/snapshot")).json(),
        "snapshot": got(client, "/v1/snapshot"),
        "scenarios": {"scenarios": [{"name": "x", "changes": [{"scale_clients": {"to": 2}}]}]},
        "guard": client.get("/v1/guard?stop=10.0.0.1@c").json(),
        "problem": client.get("/v1/groups/none").json(),
    }
    assert list(documents) and set(documents) == set(SCHEMAS_SERVED) == set(
        got(client, "/v1/schema")["documents"]
    )
    for name, document in documents.items():
        schema = got(client, f"/v1/schema/{name}")
        unpacked = {**schema, "type": "object"}
        assert list(faults(document, unpacked, unpacked)) == [], name
    assert list(faults({}, got(client, "/v1/schema/group"), {})) != []


def test_a_name_may_hold_anything(client):
    where = f"/v1/groups/{quote(HOSTILE, safe='')}"
    found = got(client, where)
    assert found["group"]["consumer_group"] == HOSTILE and len(found["queues"]) == 3
    assert (
        got(client, f"{where}/plan", scale=2, show="groups")["groups"][0]["consumer_group"]
        == HOSTILE
    )
    answer = client.get(where)
    assert answer.content.isascii() and b"\n" not in answer.content
    for header, value in answer.headers.items():
        assert "\n" not in value and "script>" not in value, header


@pytest.mark.parametrize(("path", "status", "said"), [
    ("/v1/groups/idel", 404, "near it is 'idle'"), ("/v1/groups/idle%00", 404, "no consumer group matches"),
    ("/v1/groups/%ff", 400, "not UTF-8"), ("/v1/groups?tpo=3", 400, "did you mean top?"), ("/v1/groups?top=0", 400, "1 to"),
    ("/v1/groups?top=1&top=2", 400, "given 2 times"), ("/v1/groups?sort=x", 400, "no column 'x'"),
    ("/v1/groups?where=x", 400, "not a condition"), ("/v1/groups/idle/plan?scale=x", 400, "scale: 'x' is not a whole number"),
    ("/v1/groups/idle/plan?remove_client=nobody", 404, "nobody"), ("/v1/groups/idle/plan?to_strategy=X", 400, "to_strategy:"),
    ("/v1/groups/idle/plan?scale=99999&to_strategy=CONSISTENT_HASH:99", 413, "1,000,000"),
    ("/v1/groups/idle/plan?show=x", 400, "no 'x'"),
    ("/v1/groups/idle/explain?topic=orders", 400, "queue is missing"),
    ("/v1/groups/idle/explain?topic=orders&queue=1", 400, "BROKER:ID"),
    ("/v1/groups/idle/explain?topic=orders&queue=a:9", 400, "not 9"), ("/v1/check?severity=x", 400, "severity must"),
    ("/v1/recommend?balance=x", 400, "balance must"), ("/v1/schema/x", 404, "no document 'x'"),
    ("/v1/groups?%ff=1", 400, "UTF-8"), ("/v1/none", 404, "Not Found"),
    pytest.param("/v1/groups?" + "&".join(["a=1"] * 300), 400, "200", id="300 parameters"),
    ("/static/..%2f..%2fweb_app.py", 404, "no such page"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_a_problem_document(client, path, status, said):
    client.base_url = "http://127.0.0.1"
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), answer.text
    assert said in answer.json()["detail"] and answer.json()["status"] == status


def test_what_is_posted_is_read_strictly(client):
    def post(content, kind="application/json", path="/v1/plan"):
        answer = client.post(path, content=content, headers={"content-type": kind})
        return answer.status_code, answer.json()["detail"] if answer.status_code >= 400 else ""

    good = '{"scenarios": [{"name": "x", "changes": [{"scale_clients": {"to": 2}}]}]}'
    assert post(good)[0] == 200
    assert (
        post("scenarios:\n- name: x\n  changes:\n  - scale_clients: {to: 2}\n", "application/yaml")[
            0
        ]
        == 200
    )
    assert post(good, "text/plain") == (
        415,
        "the header Content-Type must be application/json or application/yaml",
    )
    assert post(good.replace('"to": 2', '"to": 2, "to": 3'))[1].startswith(
        "the posted scenarios:1:"
    )
    assert post("[" * 100_000) == (400, post("[" * 100_000)[1])
    assert post(b"\xff")[0] == post("{}")[0] == post('{"scenarios": 5}')[0] == post("")[0] == 400
    assert post(" " * (256 << 10) + good)[0] == 413
    assert (
        post('{"kind": "Snapshot"}', path="/v1/diff")[0]
        == post("[]", path="/v1/groups/idle/diff")[0]
        == 400
    )
    many = [{"name": str(i), "changes": [{"scale_clients": {"to": 2}}]} for i in range(51)]
    assert post(json.dumps({"scenarios": many}))[0] == 413
    assert post(good, path="/v1/plan?scale=3")[0] == 400
    assert client.post("/v1/groups", json={}).status_code == 405
    assert client.get("/v1/diff").status_code == 400
    assert client.post("/v1/diff?at=03:10", json={}).status_code == 400
    assert "--history" in client.get("/v1/diff?at=03:10").json()["detail"]


class Leases:
    """In place of the guard: an answer for each client."""

    def may_stop(self, known, target, groups):
        self.seen = [one.name for one in known.given.groups], tuple(groups)
        return type("Answer", (), {"to_dict": lambda _: {"verdict": target, "reason": "x"}})()


@pytest.mark.thorough
def test_the_guard_says_its_verdict_as_a_status(monkeypatch):
    monkeypatch.setattr("rmqalloc.service.web_app.GuardLeases", Leases)
    readings = readings_of(reading(CLUSTER))
    with served(readings) as client:
        for verdict, status in (("yes", 200), ("no", 409), ("unknown", 503), ("odd", 503)):
            answer = client.get("/v1/groups/idle/guard", params={"stop": verdict})
            assert (answer.status_code, answer.json()["verdict"]) == (status, verdict)
        assert client.service._leases.seen == (["idle"], ("idle",))
        assert client.get("/v1/guard?stop=yes").status_code == 200
        assert len(client.service._leases.seen[0]) == 4
        assert client.get("/v1/groups/idle/guard").status_code == 400
        assert client.get("/v1/groups/none/guard?stop=yes").status_code == 404
    old = readings_of(reading(CLUSTER, at=0.0))
    with served(old) as client:
        assert client.get("/v1/groups/idle/guard?stop=yes").status_code == 503, (
            "an old reading does not say it"
        )
        assert client.get("/v1/groups/idle").status_code == 200
