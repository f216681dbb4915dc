"""Snapshots: what is written is read back, and what is wrong is refused with the name of its field."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import MessageQueue
from rmqalloc.model import MAX_QUEUES
from rmqalloc.remoting.body_fields import AnswerError
from rmqalloc.remoting.loose_json import Pairs
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live import _members as members
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, SourceError, Topic, TopicBroker

TEXTS = st.text(max_size=8)
COUNTS = st.integers(0, 2**40)
QUEUES = st.builds(MessageQueue, TEXTS, TEXTS, st.integers(-(2**31), 2**31 - 1))
N_QUEUES = st.integers(0, MAX_QUEUES)
BROKERS = st.builds(
    TopicBroker, TEXTS, N_QUEUES, st.none() | N_QUEUES, st.integers(0, 7), st.none() | TEXTS
)


def tuples(of):
    return st.lists(of, max_size=3).map(tuple)


CLIENTS = st.builds(
    Client, TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.none() | COUNTS,
    st.none() | tuples(TEXTS), st.none() | tuples(QUEUES), st.none() | st.dictionaries(TEXTS, st.dictionaries(TEXTS, COUNTS)),
)  # fmt: skip
GROUPS = st.builds(
    Group, TEXTS, tuples(TEXTS), tuples(CLIENTS), strategy_params=st.dictionaries(TEXTS, COUNTS), is_ordered=st.booleans(),
    lags=tuples(st.builds(Lag, QUEUES, COUNTS, st.integers(-1, 9), st.none() | COUNTS)),
    consume_tps=st.none() | st.floats(0, 9),
    broker_client_ids=st.none() | st.dictionaries(TEXTS, tuples(TEXTS), max_size=2), paused_brokers=tuples(TEXTS),
)  # fmt: skip
SNAPSHOTS = st.builds(
    Snapshot, tuples(st.builds(Topic, TEXTS, tuples(BROKERS))), tuples(GROUPS),
    tuples(st.builds(SourceError, TEXTS, TEXTS, TEXTS)), st.none() | TEXTS, st.none() | TEXTS,
)  # fmt: skip


@given(SNAPSHOTS)
def test_what_is_written_is_read_back(snapshot):
    assert from_document(json.loads(json.dumps(to_document(snapshot)))) == snapshot


HEAD = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot"}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"kind": "Snapshot"}, "apiVersion must be 'rmqalloc/v2' or 'rmqalloc/v1', got None"),
        (HEAD | {"topic": []}, "topic is not known; known are topics, groups"),
        (HEAD | {"topics": {}}, "topics must be a list, got {}"),
        (
            HEAD | {"groups": [{"name": "g", "is_ordered": 1}]},
            r"groups\[0\].is_ordered must be true or false, got 1",
        ),
        (
            HEAD | {"groups": [{"name": "g", "consume_tps": "x"}]},
            r"consume_tps must be a number, got 'x'",
        ),
        (
            HEAD | {"groups": [{"name": "g", "clients": ["c"]}]},
            r"groups\[0\].clients\[0\] must be a mapping, got 'c'",
        ),
        pytest.param(
            HEAD
            | {"topics": [{"name": "T", "brokers": [{"broker_name": "b", "read_queue_nums": -1}]}]},
            r"topics\[0\].brokers\[0\].read_queue_nums must be a whole number from 0 to 1048576, got -1",
            id="read_queue_nums",
        ),
        (
            HEAD
            | {
                "groups": [
                    {
                        "name": "g",
                        "clients": [
                            {"client_id": "c", "owned": [{"topic": "T", "broker_name": "b"}]}
                        ],
                    }
                ]
            },
            r"groups\[0\].clients\[0\].owned\[0\].queue_id is missing",
        ),
    ],
)
def test_what_is_wrong_names_its_field(document, said):
    with pytest.raises(SnapshotError, match=said):
        from_document(document)


def test_queues_of_a_topic_are_those_that_can_be_read():
    topic = Topic("T", (TopicBroker("a", 2), TopicBroker("b", 3, perm=2), TopicBroker("c", 2, 1)))
    assert [(q.broker_name, q.queue_id) for q in topic.queues()] == [
        ("a", 0),
        ("a", 1),
        ("c", 0),
        ("c", 1),
    ]
    assert [broker.n_dry_queues for broker in topic.brokers] == [0, 0, 1]
    assert [broker.n_written_queues for broker in topic.brokers] == [2, 3, 1]
    read_only = TopicBroker("d", 2, perm=4)
    assert (read_only.n_written_queues, read_only.n_dry_queues) == (0, 2)


REBALANCE = "org.apache.rocketmq.client.consumer.rebalance"


def queue_key(topic, broker, number):
    return {"topic": topic, "brokerName": broker, "queueId": number}


def test_running_info_of_a_java_client():
    info = answers.running_info(
        {
            "properties": {
                "allocateMessageQueueStrategy": f"{REBALANCE}.AllocateMessageQueueConsistentHash@1f",
                "PROP_CONSUMEORDERLY": "false",
                "clientRebalance": "true",
            },
            "subscriptionSet": [{"topic": "orders"}, {"topic": "%RETRY%g"}],
            "mqTable": Pairs(
                [
                    (queue_key("orders", "a", 1), {"droped": False}),
                    (queue_key("orders", "a", 0), {"droped": True}),
                ]
            ),
            "mqPopTable": {},
        }
    )
    assert info.owned == (MessageQueue("orders", "a", 1),)
    assert (info.strategy, info.subscriptions) == ("CONSISTENT_HASH", ("%RETRY%g", "orders"))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "x",
        {"mqTable": {"a": 1}},
        {"mqTable": Pairs([("q", {})])},
        {"mqTable": Pairs([({"topic": "T"}, {})])},
    ],
)
def test_running_info_of_another_kind_is_refused(body):
    with pytest.raises(AnswerError, match="expected"):
        answers.running_info(body)


def view(*client_ids):
    connections = tuple(
        answers.ClientConnection(client_id, "JAVA", "5.3.3") for client_id in client_ids
    )
    return answers.Connections(connections, frozenset({"T"}), "CLUSTERING")


def test_brokers_that_list_other_clients_are_told_apart():
    routes = {"T": Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4)))}
    same = members.group(
        "g", {"a": view("1", "2"), "b": view("1", "2"), "elsewhere": view()}, {}, routes
    )
    assert same.broker_client_ids is None
    split = members.group("g", {"a": view("1"), "b": view("1", "2")}, {}, routes)
    assert split.client_ids == ["1", "2"]
    assert split.broker_client_ids == {"a": ("1",), "b": ("1", "2")}


def test_a_group_reads_what_any_of_its_clients_subscribes_to():
    """A broker lists what the client of the last heartbeat does; which one that is changes all the
    time.
    """
    infos = {
        one: answers.RunningInfo((), (), topics, "AVG", False, True)
        for one, topics in {"1": ("T",), "2": ("T", "U")}.items()
    }
    group = members.group("g", {"a": view("1", "2")}, infos, {})
    assert (group.subscriptions, [client.subscriptions for client in group.clients]) == (
        ("T", "U"),
        [("T",), ("T", "U")],
    )


def test_a_client_id_with_two_connections_is_two_clients_of_which_one_answers():
    info = answers.RunningInfo((MessageQueue("T", "a", 0),), (), ("T",), "AVG", False, True)
    group = members.group("g", {"a": view("1", "1")}, {"1": info}, {})
    assert [client.owned for client in group.clients] == [(MessageQueue("T", "a", 0),), None]
