"""What answers of real releases hold besides queues: expressions, start times, lite topics, whether
slaves stand in.

The bodies are what the classes of RocketMQ 5.5.0 write.
"""

import json
import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from contexts import use_context
from replayed import Replay, taken

from rmqalloc.audit import check_snapshot
from rmqalloc.cli import main
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.snapshot import Broker, Filter

CODE = ReadCode
SUBSCRIPTION = (
    '{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"TagA || TagB","subVersion":1795716638869,'
    '"tagsSet":["TagA","TagB"],"topic":"T"}'
)
STARTED = 1795247990144


def info(subscription=SUBSCRIPTION, started=STARTED, queues=(), ordered="false"):
    table = ",".join(
        f'{{"brokerName":"px","queueId":{i},"topic":"T"}}:{{"droped":false}}' for i in queues
    )
    return (
        f'{{"mqPopTable":{{}},"mqTable":{{{table}}},"properties":{{"PROP_CONSUMER_START_TIMESTAMP":"{started}",'
        f'"PROP_CONSUMEORDERLY":"{ordered}","PROP_CONSUME_TYPE":"CONSUME_PASSIVELY"}},"statusTable":{{}},'
        f'"subscriptionSet":[{subscription}],"userConsumerInfo":{{}}}}'
    )


def connections(*client_ids, subscription=SUBSCRIPTION, model="CLUSTERING"):
    listed = [{"clientId": one, "language": "JAVA", "version": 513} for one in client_ids]
    table = "{}" if subscription is None else f'{{"T":{subscription}}}'
    return f'{{"connectionSet":{json.dumps(listed)},"messageModel":"{model}","subscriptionTable":{table}}}'


# --- Expressions ---


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, Filter("TagA || TagB")),
        ({"subString": "*", "tagsSet": []}, None),
        ({"subString": None}, Filter("TagA || TagB")),
        ({"expressionType": "SQL92", "subString": "a > 1"}, Filter("a > 1", "SQL92")),
        ({"expressionType": None}, Filter("TagA || TagB")),
        ({"classFilterMode": True, "subString": "my.Filter"}, Filter("my.Filter", "CLASS")),
    ],
)
def test_expressions_of_clients_and_of_brokers_are_kept(change, expected):
    one = json.dumps(json.loads(SUBSCRIPTION) | change)
    with Replay(
        [],
        {"c": info(one)},
        {CODE.GET_CONSUMER_CONNECTION_LIST: connections("c", subscription=one)},
    ) as replay:
        (group,) = taken(replay).groups
    kept = {} if expected is None else {"T": expected}
    assert group.clients[0].filters == kept
    assert group.filters == {topic: (one,) for topic, one in kept.items()}


def test_a_client_that_does_not_say_what_it_takes_is_not_known_to_take_all():
    told = answers.running_info({"subscriptionSet": [{"topic": "T"}]})
    assert told.subscriptions == ("T",) and told.filters is None
    assert (
        answers.connections({"connectionSet": [], "subscriptionTable": {"T": {}}}).filters is None
    )


def test_clients_of_different_tags_are_a_fault_of_a_running_cluster():
    whole = json.dumps(json.loads(SUBSCRIPTION) | {"subString": "*", "tagsSet": []})
    infos = {"a": info(queues=(0, 1)), "b": info(whole, queues=(2, 3))}
    with Replay([], infos, {CODE.GET_CONSUMER_CONNECTION_LIST: connections("a", "b")}) as replay:
        found = check_snapshot(taken(replay))
    (finding,) = (one for one in found if one.rule == "mixed-subscriptions")
    assert (finding.severity, finding.clients) == (
        "error",
        ("a",),
    ) and "skipped permanently" in finding.message


@pytest.mark.parametrize("text", [pytest.param("x" * 65_537, id="65537 characters"), 7, "\ud800"])
def test_hostile_expressions_are_refused(text):
    body = {"subscriptionSet": [{"topic": "T", "subString": text}]}
    with pytest.raises(AnswerError, match="subString"):
        answers.running_info(body)


# --- Start times ---


@pytest.mark.parametrize(
    ("started", "expected"),
    [(STARTED, STARTED), ("0", None), ("-5", None), ("soon", None), ("9" * 19, None), ("٣", None)],
)
def test_when_a_client_started_is_kept(started, expected):
    with Replay([("c", "JAVA", 513)], {"c": info(started=started)}) as replay:
        (group,) = taken(replay).groups
    assert group.clients[0].start_timestamp == expected


def now_ms(less=0.0):
    return int((datetime.now(UTC).timestamp() - less) * 1000)


@pytest.mark.parametrize(
    ("age", "severity"), [(5, "warning"), (50, "warning"), (600, "error"), (None, "warning")]
)
def test_queues_of_a_new_client_may_be_on_their_way(age, severity):
    """A client learns the route of a new topic within 30 s and takes its queues 20 s later at most."""
    started = "" if age is None else now_ms(age)
    with Replay([("c", "JAVA", 513)], {"c": info(started=started, queues=(0,))}) as replay:
        found = check_snapshot(taken(replay))
    (finding,) = (one for one in found if one.rule == "actual-unowned")
    assert finding.severity == severity and len(finding.queues) == 3
    assert "though the only client reported its queues" in finding.message
    assert ("Check again in 50 s" in finding.advice) == (severity == "warning")


def test_only_queues_that_a_new_client_should_own_are_on_their_way():
    infos = {"a": info(started=now_ms(600), queues=()), "b": info(started=now_ms(5), queues=())}
    with Replay([("a", "JAVA", 513), ("b", "JAVA", 513)], infos) as replay:
        found = [one for one in check_snapshot(taken(replay)) if one.rule == "actual-unowned"]
    assert [(one.severity, [queue.queue_id for queue in one.queues]) for one in found] == [
        ("error", [0, 1]),
        ("warning", [2, 3]),
    ]


def test_time_that_is_given_settles_clients_of_unknown_age(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rmqalloc.cli._check_command.time",
        SimpleNamespace(sleep=lambda _seconds: None, monotonic=time.monotonic),
    )
    reached = ["--rule", "actual-unowned", "--fail-on", "error"]
    with Replay([("c", "JAVA", 513)], {"c": info(started="", queues=(0,))}) as replay:
        use_context(monkeypatch, tmp_path, replay.address, lag=False)
        assert main(["check", *reached]) == 0
        assert main(["check", *reached, "--settle", "20s"]) == 2
    with Replay([("c", "JAVA", 513)], {"c": info(started=now_ms(), queues=(0,))}) as replay:
        use_context(monkeypatch, tmp_path, replay.address, lag=False)
        assert main(["check", *reached, "--settle", "20s"]) == 0, "it says itself that it is new"


def test_an_ordered_group_is_given_the_time_of_its_locks():
    with Replay(
        [("c", "JAVA", 399)], {"c": info(started=now_ms(600), queues=(0,), ordered="true")}
    ) as replay:
        found = check_snapshot(taken(replay))
    (finding,) = (one for one in found if one.rule == "actual-unowned")
    assert finding.severity == "error"
    assert (
        finding.advice.startswith("Wait 60 s and check again")
        and "Do not restart clients" in finding.advice
    )


# --- Lite topics ---

LITE_GROUP = (
    '{"dataVersion":{"counter":0},"forbiddenTable":{},"subscriptionGroupTable":{"gg":{"attributes":{"%s":"T"},"brokerId":0,'
    '"consumeEnable":true,"groupName":"gg","groupRetryPolicy":{"type":"CUSTOMIZED"},"retryQueueNums":1}}}'
)


@pytest.mark.parametrize("attribute", ["lite.bind.topic", "+lite.bind.topic"])
@pytest.mark.parametrize("subscription", [None, pytest.param(SUBSCRIPTION, id="a subscription")])
def test_a_group_for_lite_topics_is_said_to_be_one(attribute, subscription):
    more = {
        CODE.GET_ALL_SUBSCRIPTION_GROUP_CONFIG: LITE_GROUP % attribute,
        CODE.GET_CONSUMER_CONNECTION_LIST: connections(
            "vm@17844@0@zm718bkj", subscription=subscription, model="LITE_SELECTIVE"
        ),
    }
    with Replay([], more=more) as replay:
        snapshot = taken(replay)
    (group,) = snapshot.groups
    assert (
        group.lite_topic == "T"
        and "T" in group.subscriptions
        and group.is_shared
        and snapshot.errors == ()
    )
    found = check_snapshot(snapshot)
    assert {one.reason for one in found.who_reads.answers} == {"lite"}
    assert [(one.rule, one.severity) for one in found] == [("lite-topics", "note")]
    assert "no-group" not in found.text() and "Every written queue" not in found.text()


def test_a_group_for_lite_topics_without_clients_reads_nothing():
    more = {CODE.GET_ALL_SUBSCRIPTION_GROUP_CONFIG: LITE_GROUP % "lite.bind.topic", CODE.GET_CONSUMER_CONNECTION_LIST: 206,
            CODE.GET_CONSUME_STATS: '{"consumeTps":0,"offsetTable":{}}'}  # fmt: skip
    with Replay([], more=more) as replay:
        found = check_snapshot(taken(replay, lag=True))
    assert {one.reason for one in found.who_reads.answers} == {"no-client"}


# --- Whether a slave stands in ---

SLAVE_THAT_MAY = '{"brokerAddrTable":{"px":{"brokerAddrs":{1:"%s"},"enableActingMaster":true}},"clusterAddrTable":{}}'


@pytest.mark.parametrize(
    ("settings", "role", "is_doubted"),
    [
        ("clusterTest=false\nsupportActingMaster=true\n", "ACTING_MASTER", False),
        ("supportActingMaster=false\n", "SLAVE", False),
        ("clusterTest=false\n", "SLAVE", False),
        (16, "ACTING_MASTER", True),
    ],
)
def test_a_slave_stands_in_only_if_the_name_server_lets_it(settings, role, is_doubted):
    with Replay([("c", "JAVA", 513)], {"c": info()}, {CODE.GET_NAMESRV_CONFIG: settings}) as replay:
        replay.more[CODE.GET_BROKER_CLUSTER_INFO] = SLAVE_THAT_MAY % replay.address
        snapshot = taken(replay)
    (broker,) = snapshot.brokers
    assert broker.role == role and (broker.role_doubt is not None) == is_doubted
    assert replay.asked.count(CODE.GET_NAMESRV_CONFIG) == 1
    (finding,) = (one for one in check_snapshot(snapshot) if one.rule == "no-master")
    assert ("whether it acts as master is not known" in finding.message) == is_doubted


def test_the_name_server_is_asked_only_where_it_matters():
    with Replay([("c", "JAVA", 513)], {"c": info()}) as replay:
        assert taken(replay).brokers == (Broker("px", replay.address),)
    assert CODE.GET_NAMESRV_CONFIG not in replay.asked


# --- A file and the cluster as it is now ---


def test_a_file_is_compared_with_a_running_cluster(tmp_path, capsys, monkeypatch):
    saved = tmp_path / "before.json"
    both, one = [("a", "JAVA", 513), ("b", "JAVA", 513)], [("a", "JAVA", 513)]
    with Replay(both, {"a": info(queues=(0, 1)), "b": info(queues=(2, 3))}) as replay:
        use_context(monkeypatch, tmp_path, replay.address, lag=False)
        assert main(["snapshot", "--out", str(saved)]) == 0
        replay.clients, replay.infos = one, {"a": info(queues=(0, 1, 2, 3))}
        capsys.readouterr()
        shown = ["--show", "queues", "-o", "json", "--detailed-exitcode"]
        assert main(["diff", str(saved), *shown]) == 2
        moved = json.loads(capsys.readouterr().out)
        assert {(row["queue_id"], row["owner_before"], row["owner_after"]) for row in moved} == {
            (2, "b", "a"),
            (3, "b", "a"),
        }
        assert main(["diff", str(saved), "-g", "gg"]) == 0
        assert main(["diff", "-n", replay.address, str(saved), str(saved)]) == 64
        assert "B and -n are both given" in capsys.readouterr().err


def test_a_group_that_is_gone_from_the_cluster_is_a_difference(tmp_path, capsys, monkeypatch):
    saved = tmp_path / "before.json"
    with Replay([("a", "JAVA", 513)], {"a": info(queues=(0, 1, 2, 3))}) as replay:
        use_context(monkeypatch, tmp_path, replay.address, lag=False)
        assert main(["snapshot", "--out", str(saved)]) == 0
        replay.more[CODE.GET_ALL_SUBSCRIPTION_GROUP_CONFIG] = '{"subscriptionGroupTable":{}}'
        code = main(["diff", str(saved), "-g", "gg", "--detailed-exitcode"])
    assert code == 2, capsys.readouterr()


def test_one_file_is_nothing_to_compare(capsys, monkeypatch):
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    assert main(["diff", "example:orders"]) == 64
    assert "give a second file, or -n HOST:PORT" in capsys.readouterr().err
