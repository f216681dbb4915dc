"""Answers that real clusters gave, replayed: clients behind a proxy, consumers that pull, brokers
without a master, modes.
"""

import json
from dataclasses import replace

import pytest
from contexts import use_context
from replayed import Replay, taken

from rmqalloc.audit import check_snapshot
from rmqalloc.cli import main
from rmqalloc.evidence import Verb, known
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.loose_json import Pairs
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Lag, Snapshot, Topic, TopicBroker

GRPC = ("vm@17844@0@zm718bkj", "vm@17844@1@zn03r1ym")
"""Two gRPC clients of 5.0.8 in one Java process behind a proxy of 5.5.0, whose release they bear."""


def info(**properties):
    return json.dumps(
        {
            "mqTable": {},
            "mqPopTable": {},
            "properties": properties,
            "subscriptionSet": [{"topic": "T"}],
        }
    )


# --- Groups that a broker does not let consume ---


@pytest.mark.parametrize(
    ("settings", "paused"),
    [('{"consumeEnable":false}', ("px",)), ('{"consumeEnable":true}', ()), ("{}", ())],
)
def test_brokers_that_do_not_let_a_group_consume_are_kept(settings, paused):
    answer = {
        ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG: f'{{"subscriptionGroupTable":{{"gg":{settings}}}}}'
    }
    with Replay([("c1", "JAVA", 479)], more=answer) as replay:
        snapshot = taken(replay, running_info=False)
    assert [group.paused_brokers for group in snapshot.groups] == [paused]
    assert replay.asked.count(ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG) == 1
    assert [one.rule for one in check_snapshot(snapshot) if one.severity == "error"] == [
        "consumption-disabled"
    ] * len(paused)


# --- Clients behind a proxy ---


@pytest.mark.parametrize(
    ("client_id", "is_behind"),
    [
        (GRPC[0], True),
        ("pod-7@1@0@-1y2p0ij32e8e7", True),
        ("any id", False),
        ("192.0.2.2@lite_pull-b@STREAM", False),
        ("10.0.0.1@4121@7@STREAM", False),
        ("10.0.0.1@4121#77@unit", False),
        ("10.0.0.1@4121", False),
    ],
)
def test_who_is_behind_a_proxy(client_id, is_behind):
    """The id alone says it: a client of any language and release may speak to brokers, see
    `test_live_silence`.
    """
    assert is_behind_proxy(client_id) is is_behind


def test_clients_behind_a_proxy_are_not_asked_and_own_nothing_that_is_planned():
    with Replay([(one, "JAVA", 513) for one in GRPC]) as replay:
        snapshot = taken(replay)
    (group,) = snapshot.groups
    assert group.is_shared and group.client_ids == sorted(GRPC) and snapshot.errors == ()
    assert ReadCode.GET_CONSUMER_RUNNING_INFO not in replay.asked
    decided = known(snapshot).decisions(Verb.COMPARE)
    assert list(decided.warnings()) == [
        "left out: gg: its clients share the messages of every queue, as clients behind a proxy do"
    ]
    (finding,) = check_snapshot(snapshot)
    assert (finding.rule, finding.severity) == ("shared-queues", "note")
    assert finding.message.startswith("All clients of the group share the messages of every queue")


def test_one_client_behind_a_proxy_makes_all_queues_shared():
    told = info(PROP_CONSUME_TYPE="CONSUME_PASSIVELY")
    with Replay(
        [(GRPC[0], "JAVA", 513), ("10.0.0.1@c", "JAVA", 399)], {"10.0.0.1@c": told}
    ) as replay:
        snapshot = taken(replay)
    assert snapshot.groups[0].is_shared
    assert replay.asked.count(ReadCode.GET_CONSUMER_RUNNING_INFO) == 1
    (finding,) = check_snapshot(snapshot)
    assert finding.clients == (GRPC[0],)
    assert "1 of 2 clients of the group share" in finding.message
    assert "1 client divides the queues anyway, so messages go to both kinds" in finding.message


def test_nothing_is_claimed_of_shared_queues_whatever_is_said_of_them():
    queue = MessageQueue("T", "px", 0)
    clients = (
        Client("10.0.0.1@c", owned=(queue,), strategy="AVG", language="JAVA", version="4.9.3"),
        Client(
            "10.0.0.1@c", owned=(queue,), strategy="AVG_BY_CIRCLE", language="JAVA", version="5.3.3"
        ),
        Client(GRPC[0], owned=(queue,), language="CPP", version="5.0.0"),
    )
    lists = {"px": ("10.0.0.1@c",), "py": (GRPC[0],)}
    group = Group("g", ("T",), clients, strategy="AVG", is_shared=True, broker_client_ids=lists)
    snapshot = Snapshot((Topic("T", (TopicBroker("px", 4), TopicBroker("py", 4))),), (group,))
    assert [one.rule for one in check_snapshot(snapshot)] == ["shared-queues"]
    alike = replace(snapshot, groups=(replace(group, broker_client_ids=None),))
    assert [one.rule for one in check_snapshot(alike)] == ["shared-queues"]
    owned = replace(snapshot, groups=(replace(group, is_shared=False),))
    rules = {one.rule for one in check_snapshot(owned)}
    assert rules >= {
        "actual-unowned",
        "duplicate-client-id",
        "mixed-strategies",
        "mixed-versions",
        "split-client-list",
    }


# --- Queues that brokers assign ---

SERVED = info(clientRebalance="false", PROP_CONSUMEORDERLY="false")
OWN = info(clientRebalance="true")
SET_TO_POP = json.dumps(
    {
        "messageRequestModeMap": {
            "T": {"gg": {"topic": "T", "consumerGroup": "gg", "mode": "POP", "popShareQueueNum": 3}}
        }
    }
)
MODES, SETTINGS = ReadCode.GET_ALL_MESSAGE_REQUEST_MODE, ReadCode.GET_BROKER_CONFIG
POP_BY_DEFAULT = "defaultMessageRequestMode=POP\ndefaultPopShareQueueNum=-1\n"


@pytest.mark.parametrize(
    ("said", "more", "expected"),
    [
        pytest.param(SERVED, {}, ("PULL", 0), id="brokers assign"),
        pytest.param(SERVED, {MODES: SET_TO_POP}, ("POP", 3), id="set to POP"),
        pytest.param(SERVED, {SETTINGS: POP_BY_DEFAULT}, ("POP", -1), id="POP by default"),
        pytest.param(SERVED, {MODES: 3}, ("PULL", 0), id="modes that cannot be read"),
        pytest.param(
            OWN, {MODES: SET_TO_POP, SETTINGS: POP_BY_DEFAULT}, (None, 0), id="clients assign"
        ),
        pytest.param(
            info(clientRebalance="false", PROP_CONSUMEORDERLY="true"),
            {MODES: SET_TO_POP},
            (None, 0),
            id="in order",
        ),
    ],
)
def test_whether_brokers_assign_and_how_is_read_not_guessed(said, more, expected):
    with Replay([("c", "JAVA", 513)], {"c": said}, more) as replay:
        snapshot = taken(replay)
    (group,) = snapshot.groups
    assert (group.server_assignment, group.pop_share_queue_num) == expected
    assert snapshot.errors == ()
    is_asked = '"clientRebalance": "false"' in said and '"PROP_CONSUMEORDERLY": "false"' in said
    assert (MODES in replay.asked) is is_asked


@pytest.mark.parametrize(
    ("version", "more", "expected"),
    [
        (513, {MODES: SET_TO_POP}, "POP"),
        (513, {SETTINGS: POP_BY_DEFAULT}, None),
        (399, {MODES: SET_TO_POP}, None),
    ],
)
def test_a_group_nobody_says_anything_of_pops_if_it_was_set_so(version, more, expected):
    with Replay([("c", "JAVA", version)], {}, more) as replay:
        (group,) = taken(replay, running_info=False).groups
    assert group.server_assignment == expected


def test_a_refusal_to_tell_is_told():
    with Replay([("c", "JAVA", 513)], {"c": SERVED}, {SETTINGS: 16}) as replay:
        snapshot = taken(replay)
    assert snapshot.groups[0].server_assignment == "PULL"
    assert [one.request for one in snapshot.errors] == ["GET_BROKER_CONFIG"]


def test_only_brokers_of_the_topics_count_and_shares_that_differ_are_none():
    def modes(share, topic="T"):
        return answers.Modes(
            {(topic, "g"): answers.GroupMode(True, share)}, answers.GroupMode(False, 0)
        )

    served = {"c": answers.RunningInfo((), (), ("T",), "AVG", False, False)}
    view = {
        "a": answers.Connections(
            (answers.ClientConnection("c", "JAVA", "5.5.0"),),
            frozenset({"T", "%RETRY%g"}),
            "CLUSTERING",
        )
    }
    routes = {"T": Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4)))}

    def read(told):
        group = members.group("g", view, served, routes, modes=told)
        return group.server_assignment, group.pop_share_queue_num

    assert read({"a": modes(2), "b": modes(2)}) == ("POP", 2)
    assert read({"a": modes(2), "b": modes(4)}) == ("POP", 0)
    assert read({"elsewhere": modes(2)}) == ("PULL", 0)
    assert read({"a": modes(2, "%RETRY%g")}) == ("PULL", 0)


# --- What clients tell ---


@pytest.mark.parametrize(
    ("table", "kind", "owned"),
    [
        ({}, "CONSUME_PASSIVELY", ()),
        ({}, "CONSUME_ACTIVELY", None),
        (None, "CONSUME_PASSIVELY", None),
        (None, "CONSUME_ACTIVELY", None),
        (Pairs([({"topic": "T", "brokerName": "a", "queueId": 1}, {"droped": False})]), "CONSUME_ACTIVELY",
         (MessageQueue("T", "a", 1),)),
        (Pairs([({"topic": "T", "brokerName": "a", "queueId": 1}, {"droped": True})]), "CONSUME_ACTIVELY", ()),
    ],
)  # fmt: skip
def test_an_empty_table_of_a_consumer_that_pulls_tells_nothing(table, kind, owned):
    body = {"properties": {"PROP_CONSUME_TYPE": kind}} | (
        {} if table is None else {"mqTable": table}
    )
    told = answers.running_info(body)
    assert told.owned == owned
    view = {
        "a": answers.Connections(
            (answers.ClientConnection("c", "JAVA", "4.9.8"),), frozenset({"T"}), "CLUSTERING"
        )
    }
    assert members.group("g", view, {"c": told}, {}).clients[0].owned == owned
    popped = told._replace(popped=(MessageQueue("T", "a", -1),))
    assert members.group("g", view, {"c": popped}, {}).clients[0].owned == (
        MessageQueue("T", "a", -1),
        *(owned or ()),
    )


@pytest.mark.parametrize(
    ("java_class", "strategy"),
    [
        pytest.param(
            "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@782ab401",
            "AVG",
            id="AVG of RocketMQ",
        ),
        pytest.param(
            "org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby@1",
            "MACHINE_ROOM_NEARBY",
            id="MACHINE_ROOM_NEARBY of RocketMQ",
        ),
        ("io.github.rmqalloc.strategies.AllocateOrdinal@1", "ORDINAL/1"),
        ("io.github.rmqalloc.strategies.AllocateOrdinal2@1", "ORDINAL/2"),
        ("io.github.rmqalloc.strategies.AllocateStable@1", "STABLE/1"),
        ("io.rmqalloc.live.own.AllocateMessageQueueAveragely@1", None),
        pytest.param(
            "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely$1@1",
            None,
            id="a class within AVG of RocketMQ",
        ),
        ("io.rmqalloc.live.Strategies$1@1", None),
        ("AllocateMessageQueueAveragely", None),
        ("", None),
    ],
)
def test_only_classes_of_rocketmq_and_ours_tell_a_strategy(java_class, strategy):
    assert (
        answers.running_info({"properties": {"allocateMessageQueueStrategy": java_class}}).strategy
        == strategy
    )


def test_the_strategy_of_the_group_is_left_open():
    told = info(
        allocateMessageQueueStrategy="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@1"
    )
    with Replay([("c", "JAVA", 513)], {"c": told}) as replay:
        (group,) = taken(replay).groups
    assert (group.strategy, group.clients[0].strategy) == (None, "AVG")


# --- Brokers and their masters ---


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        ({"brokerAddrs": {"0": "m:1", "1": "s:1"}}, Broker("b", "m:1")),
        ({"brokerAddrs": {"2": "s:2", "10": "s:10"}}, Broker("b", "s:2", "SLAVE")),
        (
            {"brokerAddrs": {"1": "s:1"}, "enableActingMaster": True},
            Broker("b", "s:1", "ACTING_MASTER"),
        ),
        ({"brokerAddrs": {"0": "m:1"}, "enableActingMaster": True}, Broker("b", "m:1")),
    ],
)
def test_whom_of_a_broker_is_asked(broker, expected):
    assert answers.brokers({"brokerAddrTable": {"b": broker, "none": {"brokerAddrs": {}}}}) == (
        expected,
    )


def bereft(role="SLAVE", is_ordered=True):
    """A group on broker a, whose master is there, and on b, of which a slave is left."""
    topic = Topic("T", (TopicBroker("a", 2), TopicBroker("b", 2)))
    lags = tuple(Lag(queue, 10, 4) for queue in topic.queues())
    group = Group(
        "g", ("T",), (Client("c1"), Client("c2")), strategy="AVG", is_ordered=is_ordered, lags=lags
    )
    return Snapshot((topic,), (group,), brokers=(Broker("a", "m:1"), Broker("b", "s:2", role)))


NEW_RULES = ("no-master", "ordered-lock-holder-gone", "lag-from-slave")


@pytest.mark.parametrize(
    ("snapshot", "rules"),
    [
        (bereft(), NEW_RULES),
        (bereft(is_ordered=False), ("no-master", "lag-from-slave")),
        (bereft("ACTING_MASTER"), ("no-master", "lag-from-slave")),
        (bereft("MASTER"), ()),
    ],
)
def test_what_a_master_that_is_gone_means(snapshot, rules):
    findings = check_snapshot(snapshot)
    assert tuple(one.rule for one in findings) == rules
    for one in findings:
        assert (
            one.queues == (MessageQueue("T", "b", 0), MessageQueue("T", "b", 1))
            and one.topic == "T"
        )


def test_how_the_findings_read():
    by_rule = {one.rule: one.message for one in check_snapshot(bereft())}
    assert by_rule["no-master"] == (
        "Broker b has no master, only the slave s:2: producers cannot write to 2 queues of T there, and messages that the "
        "slave had not copied are not consumed until the master is back."
    )
    assert by_rule["ordered-lock-holder-gone"].endswith(
        "there once the last locks are 30 s old; 12 messages wait there."
    )
    assert "was read from a slave" in by_rule["lag-from-slave"]
    (acting, *_) = check_snapshot(bereft("ACTING_MASTER"))
    assert "s:2, which acts as master for offsets and locks (enableActingMaster)" in acting.message


def test_roles_in_files_are_checked():
    check_values(bereft())
    with pytest.raises(
        SnapshotError,
        match=r"brokers\[1\].role must be one of MASTER, SLAVE, ACTING_MASTER, got 'BOSS'",
    ):
        check_values(bereft("BOSS"))
    with pytest.raises(SnapshotError, match=r"brokers\[1\].broker_name repeats broker a"):
        check_values(Snapshot(brokers=(Broker("a", "x"), Broker("a", "y"))))


def test_the_verbs_say_that_a_master_is_gone_and_that_nothing_matches(
    capsys, tmp_path, monkeypatch
):
    with Replay([("c", "JAVA", 399)]) as replay:
        alive = replay.answer(Command(ReadCode.GET_BROKER_CLUSTER_INFO, 1, {}))
        replay.more[ReadCode.GET_BROKER_CLUSTER_INFO] = alive.replace("{0:", "{1:")
        use_context(monkeypatch, tmp_path, replay.address, lag=False, running_info=False)
        told = ["snapshot"]
        assert main(told) == 0
        said = capsys.readouterr()
        assert f"broker px has no master; its slave {replay.address}, was read" in said.err
        assert json.loads(said.out)["brokers"] == [
            {"broker_name": "px", "address": replay.address, "role": "SLAVE"}
        ]
        for option in ("-g", "-t"):
            assert main([*told, option, "other"]) == 1
            assert "matches 'other'" in capsys.readouterr().err
        replay.more[ReadCode.GET_BROKER_CLUSTER_INFO] = (
            '{"brokerAddrTable":{},"clusterAddrTable":{}}'
        )
        for verb in ("snapshot", "check"):
            assert main([verb, "-n", replay.address]) == 1
            said = capsys.readouterr()
            assert said.out == "" and "knows no broker" in said.err
