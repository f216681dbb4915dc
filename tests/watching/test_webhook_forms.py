"""The three forms of a webhook's messages, field by field, and what hostile names do to them."""

import json
from dataclasses import replace

import pytest

from rmqalloc.audit import Finding
from rmqalloc.model import MessageQueue
from rmqalloc.watching.webhook_forms import CLEARED, FORMS, MOST_FINDINGS, RAISED, FindingNews

ONE = Finding(
    "unowned-queue",
    "error",
    "orders",
    "T",
    (MessageQueue("T", "b", 3),),
    ("c1",),
    "1 of 4 queues.",
    "Start one.",
)
SET_UP, OVER = FindingNews(RAISED, ONE, 0.0), FindingNews(CLEARED, ONE, 0.0, 60.5)
HOSTILE = "<!channel> <http://x|y> & *b* `c` \x1b[2J\n\u202e\ud800"


def test_json():
    document = FORMS["json"]("n:9876", [SET_UP, OVER])
    finding = {
        "severity": "error", "rule": "unowned-queue", "consumer_group": "orders", "topic": "T", "message": "1 of 4 queues.",
        "queues": [{"topic": "T", "broker_name": "b", "queue_id": 3}], "clients": ["c1"], "advice": "Start one.",
        "n_queues": 1, "n_clients": 1,
    }  # fmt: skip
    assert document == {
        "apiVersion": "rmqalloc/v1",
        "kind": "FindingChanges",
        "cluster": "n:9876",
        "findings": [
            {"status": "raised", "since": "1970-01-01T00:00:00.000Z", "until": None, **finding},
            {
                "status": "cleared",
                "since": "1970-01-01T00:00:00.000Z",
                "until": "1970-01-01T00:01:00.500Z",
                **finding,
            },
        ],
    }


def test_slack():
    message = FORMS["slack"]("n:9876", [SET_UP, OVER])
    assert message["text"] == "rmqalloc: 1 raised, 1 cleared in n:9876"
    assert FORMS["slack"]("n", [SET_UP, SET_UP])["text"] == "rmqalloc: 2 raised in n"
    assert [one["type"] for one in message["blocks"]] == ["section"] * 3
    assert [one["text"] for one in message["blocks"]] == [
        {"type": "mrkdwn", "verbatim": True, "text": text}
        for text in (
            message["text"],
            ":red_circle: *raised* error unowned-queue orders T\n1 of 4 queues.\nStart one.",
            ":white_check_mark: *cleared* error unowned-queue orders T\n1 of 4 queues.",
        )
    ]


def test_alertmanager():
    raised, cleared = FORMS["alertmanager"]("n:9876", [SET_UP, OVER])
    fault = raised["labels"].pop("fault")
    assert raised["labels"] == {
        "alertname": "rmqalloc unowned-queue", "rule": "unowned-queue", "severity": "error", "consumer_group": "orders",
        "topic": "T", "cluster": "n:9876",
    }  # fmt: skip
    assert raised["annotations"] == {
        "summary": "1 of 4 queues.", "description": "Start one.", "queues": "T b:3", "clients": "c1"
    }  # fmt: skip
    assert (raised["startsAt"], raised["endsAt"]) == (
        "1970-01-01T00:00:00.000Z",
        "1970-01-31T00:00:00.000Z",
    )
    assert cleared["labels"] == {**raised["labels"], "fault": fault}
    assert (cleared["startsAt"], cleared["endsAt"]) == (
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:01:00.500Z",
    )
    other = FORMS["alertmanager"](
        "n:9876", [FindingNews(RAISED, replace(ONE, clients=("c2",)), 0.0)]
    )
    assert other[0]["labels"]["fault"] != fault
    no_topic = FORMS["alertmanager"](
        "n:9876", [FindingNews(RAISED, replace(ONE, topic=None, consumer_group=""), 0.0)]
    )
    assert not {"topic", "consumer_group"} & no_topic[0]["labels"].keys()


def test_an_alert_of_another_severity_ends_the_one_before():
    before = replace(ONE, severity="warning")
    ended, raised = FORMS["alertmanager"]("c", [FindingNews(RAISED, ONE, 9.0, before=before)])
    assert (ended["labels"]["severity"], ended["startsAt"], ended["endsAt"]) == (
        "warning",
        *["1970-01-01T00:00:09.000Z"] * 2,
    )
    assert {**ended["labels"], "severity": "error"} == raised["labels"]


@pytest.mark.parametrize("form", FORMS)
def test_hostile_names_are_escaped_and_of_bounded_length(form):
    queues = tuple(MessageQueue(HOSTILE * 40, HOSTILE * 40, i) for i in range(100))
    long = replace(ONE, consumer_group=HOSTILE * 1000, topic=HOSTILE * 1000, message=HOSTILE * 1000, advice="&<>" * 9000,
                   queues=queues, clients=tuple(f"{HOSTILE}{i}" for i in range(1000)))  # fmt: skip
    message = FORMS[form](HOSTILE * 1000, [FindingNews(RAISED, long, 0.0)] * MOST_FINDINGS)
    texts = list(strings(message))
    assert all(text.replace("\n", "").isprintable() for text in texts)
    assert max(map(len, texts)) < 3000
    assert len(json.dumps(message)) < 600_000
    short = FORMS[form](
        "c", [FindingNews(RAISED, replace(ONE, message=HOSTILE, consumer_group=HOSTILE), 0.0)]
    )
    if form == "slack":
        shown = short["blocks"][1]["text"]["text"]
        assert "<" not in shown and ">" not in shown and "`" not in shown and shown.count("*") == 2
        assert shown.split("\n")[1].startswith("&lt;!channel&gt; &lt;http://x|y&gt; &amp; ")
        assert (
            all(len(one["text"]["text"]) <= 3000 for one in message["blocks"])
            and len(message["blocks"]) <= 50
        )
        assert not any(
            "&" in one["text"]["text"].replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
            for one in message["blocks"]
        )


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
