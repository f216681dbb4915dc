"""Bodies and fields of a member: as Java writes and reads them, and whatever else comes is refused."""

import json
import re
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON_VALUES, TEXTS

from rmqalloc import MessageQueue
from rmqalloc.errors import Error
from rmqalloc.remoting import (
    PULL_CODES,
    AnswerError,
    BodyError,
    Command,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeType,
    DirectOutcome,
    DirectResult,
    HeartbeatData,
    HeartbeatReply,
    Message,
    MessageError,
    ProcessQueueInfo,
    PullStatus,
    QueueAssignment,
    SubscriptionData,
    TopicRates,
    answer_of,
    consumer_status_body,
    encode_message,
    heartbeat_body,
    lock_body,
    pull_fields,
    query_offset_fields,
    read_assignments,
    read_client_ids,
    read_direct_request,
    read_heartbeat_reply,
    read_locked,
    read_offset,
    read_offset_reset,
    read_pull_answer,
    read_status_request,
    read_topic_route,
    requested_group,
    running_properties,
    search_offset_fields,
    send_back_fields,
    update_offset_fields,
)
from rmqalloc.remoting.bodies import java_string_hash
from rmqalloc.remoting.frames import decode, encode
from rmqalloc.remoting.loose_json import JsonError, loads
from rmqalloc.snapshot.live import _answers as answers

QUEUE = MessageQueue("orders", "broker-a", 3)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
QUEUES = st.builds(MessageQueue, NAMES, NAMES, st.integers(-(1 << 31), (1 << 31) - 1))
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)


def of_java(text):
    """``String.hashCode`` as its documentation has it."""
    data, found = text.encode("utf-16-be", "surrogatepass"), 0
    for i in range(0, len(data), 2):
        found = (31 * found + int.from_bytes(data[i : i + 2])) & 0xFFFFFFFF
    return found - (found >> 31 << 32)


@given(TEXTS)
def test_hashes_of_tags_are_java_s(text):
    assert java_string_hash(text) == of_java(text)


@pytest.mark.parametrize(
    ("expression", "tags"),
    [
        ("*", set()),
        ("", set()),
        ("a", {"a"}),
        ("a||b", {"a", "b"}),
        (" a || b\t|| a ||", {"a", "b"}),
        ("||a", {"a"}),
        ("a | b", {"a | b"}),
        ("\u00a0a", {"\u00a0a"}),  # Java trims nothing above a space
        ("\x00a\x1f", {"a"}),
        ("* || a", {"*", "a"}),
    ],
)
def test_tags_of_an_expression_are_java_s(expression, tags):
    one = SubscriptionData("orders", expression)
    assert one.tags == tags and one.codes == set(map(of_java, tags))
    assert SubscriptionData("orders", expression, 0, "SQL92").tags == frozenset()


def test_a_heartbeat_has_every_field_of_java():
    one = SubscriptionData("orders", "b || a", 7)
    other = SubscriptionData("bills", "a > 5", 8, "SQL92")
    consumer = ConsumerData(
        "g", ConsumeType.ACTIVELY, subscriptions=frozenset({one, other}), unit_mode=True
    )
    assert json.loads(heartbeat_body(HeartbeatData("x", (consumer,), -5, False))) == {
        "clientID": "x", "producerDataSet": [], "heartbeatFingerprint": -5, "withoutSub": False,
        "consumerDataSet": [{
            "groupName": "g", "consumeType": "CONSUME_ACTIVELY", "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "unitMode": True,
            "subscriptionDataSet": [
                {"topic": "bills", "subString": "a > 5", "subVersion": 8, "expressionType": "SQL92", "classFilterMode": False,
                 "tagsSet": [], "codeSet": []},
                {"topic": "orders", "subString": "b || a", "subVersion": 7, "expressionType": "TAG", "classFilterMode": False,
                 "tagsSet": ["a", "b"], "codeSet": [97, 98]},
            ],
        }],
    }  # fmt: skip
    assert read_heartbeat_reply({}) == HeartbeatReply(False, False)
    assert read_heartbeat_reply({"IS_SUB_CHANGE": "true"}) == HeartbeatReply(False, True)


@given(st.lists(QUEUES, max_size=4))
def test_locked_queues_are_those_of_the_request(queues):
    asked = json.loads(lock_body("g", "x", queues))
    assert (asked["consumerGroup"], asked["clientId"]) == ("g", "x")
    assert read_locked(json.dumps({"lockOKMQSet": asked["mqSet"]}).encode()) == set(queues)
    assert read_locked(b"{}") == set()


@given(QUEUES, LONGS)
def test_fields_of_offsets(queue, offset):
    of_queue = {"topic": queue.topic, "queueId": str(queue.queue_id), "bname": queue.broker_name}
    assert query_offset_fields("g", queue) == {"consumerGroup": "g"} | of_queue
    assert (
        update_offset_fields("g", queue, offset)
        == {"consumerGroup": "g", "commitOffset": str(offset)} | of_queue
    )
    assert search_offset_fields(queue, offset) == {"timestamp": str(offset)} | of_queue
    assert read_offset({"offset": str(offset)}) == offset


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "the field offset is missing"),
        pytest.param(
            {"offset": "x"},
            "a number from -9223372036854775808 to 9223372036854775807 was expected, got 'x'",
            id="offset x",
        ),
        ({"offset": "9223372036854775808"}, "a number from"),
        ({"offset": "1.0"}, "a number from"),
        ({"offset": "٣"}, "a number from"),
    ],
)
def test_offsets_that_are_none(fields, said):
    with pytest.raises(AnswerError, match=re.escape(said)):
        read_offset(fields)


def test_fields_of_a_pull():
    one = SubscriptionData("orders", "a", 7)
    assert pull_fields("g", QUEUE, 40, one) == {
        "consumerGroup": "g", "topic": "orders", "queueId": "3", "bname": "broker-a", "queueOffset": "40", "maxMsgNums": "32",
        "sysFlag": "2", "commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "7", "expressionType": "TAG",
    }  # fmt: skip
    bounds = {"max_bytes": 9, "max_messages": 1}
    more = pull_fields(
        "g", QUEUE, 40, one, commit_offset=0, suspend_ms=None, sends_expression=True, **bounds
    )
    names = (
        "sysFlag",
        "commitOffset",
        "suspendTimeoutMillis",
        "subscription",
        "maxMsgBytes",
        "maxMsgNums",
    )
    assert [more[name] for name in names] == ["5", "0", "0", "a", "9", "1"]


@given(st.sampled_from(PULL_CODES), LONGS, LONGS, LONGS, st.binary(max_size=9))
def test_answers_to_pulls(code, begin, least, most, body):
    fields = {
        "nextBeginOffset": f"{begin}",
        "minOffset": f"{least}",
        "maxOffset": f"{most}",
        "suggestWhichBrokerId": "1",
    }
    found = read_pull_answer(decode(encode(Command(code, 7, fields, body))[4:]))
    assert (found.next_begin_offset, found.min_offset, found.max_offset) == (begin, least, most)
    assert (found.suggested_broker_id, found.offset_delta) == (1, 0)
    assert found.body == (body if found.status is PullStatus.FOUND else b"")


def test_answers_to_pulls_that_are_none():
    for command in (Command(0), Command(19, ext_fields={"nextBeginOffset": "1"}), Command(1)):
        with pytest.raises(AnswerError):
            read_pull_answer(command)


def test_fields_of_what_is_sent_back():
    assert send_back_fields("g", 4096, 3, origin_topic="orders", origin_msg_id="7F", broker_name="b", unit_mode=True) == {
        "offset": "4096", "group": "g", "delayLevel": "3", "originMsgId": "7F", "originTopic": "orders", "unitMode": "true",
        "maxReconsumeTimes": "16", "bname": "b",
    }  # fmt: skip


STATIC = {
    "bname": "b",
    "totalQueues": 8,
    "epoch": 3,
    "scope": "__global__",
    "currIdMap": {"5": 0, "6": 1},
}


def test_a_route_has_its_brokers_and_its_logical_queues():
    body = {
        "queueDatas": [
            {
                "brokerName": "b",
                "readQueueNums": 4,
                "writeQueueNums": 8,
                "perm": 6,
                "topicSysFlag": 0,
            }
        ],
        "brokerDatas": [
            {
                "brokerName": "b",
                "cluster": "c",
                "brokerAddrs": {"0": "h:1", "1": "h:2"},
                "zoneName": None,
            }
        ],
        "topicQueueMappingByBroker": {
            "b": {
                "topic": "t",
                "bname": "b",
                "totalQueues": 8,
                "epoch": 3,
                "scope": "__global__",
                "currIdMap": {"5": 0, "6": 1},
            }
        },
        "orderTopicConf": None,
    }
    route = read_topic_route(json.dumps(body).encode())
    assert route.queue_datas[0].write_queue_nums == 8 and route.broker_datas[0].addresses == {
        0: "h:1",
        1: "h:2",
    }
    mapping = route.topic_queue_mapping["b"]
    assert (mapping.total_queues, mapping.epoch, mapping.scope, mapping.current_id_map) == (
        8,
        3,
        "__global__",
        {5: 0, 6: 1},
    )
    assert not read_topic_route(b'{"queueDatas":[]}').topic_queue_mapping


def test_assignments():
    queue = {"topic": "t", "brokerName": "b", "queueId": 1}
    body = {
        "messageQueueAssignments": [{"messageQueue": queue, "mode": "PULL"}, {"messageQueue": None}]
    }
    assert read_assignments(json.dumps(body).encode()) == [
        QueueAssignment(MessageQueue("t", "b", 1)),
        QueueAssignment(None),
    ]
    with pytest.raises(
        AnswerError, match="the mode of an assignment must be PULL or POP, got 'PUSH'"
    ):
        read_assignments(json.dumps({"messageQueueAssignments": [{"mode": "PUSH"}]}).encode())


INFOS = st.builds(
    ProcessQueueInfo, LONGS, LONGS, LONGS, locked=st.booleans(), dropped=st.booleans()
)


@given(
    st.dictionaries(QUEUES, INFOS, max_size=4),
    st.sampled_from(["AVG", "STABLE/1", "MY_OWN"]),
    st.booleans(),
)
def test_what_a_member_does_is_read_by_our_reader(queues, strategy, is_ordered):
    properties = running_properties(
        start_timestamp=5,
        name_server="h:1",
        strategy=strategy,
        client_version="V",
        is_ordered=is_ordered,
    )
    subscriptions = (SubscriptionData("orders", "a"), SubscriptionData("bills"))
    body = ConsumerRunningInfo(
        properties, subscriptions, queues, {"orders": TopicRates(1.5)}
    ).encode()
    content = loads(body)
    found = answers.running_info(content)
    assert found.owned == tuple(sorted(queue for queue, info in queues.items() if not info.dropped))
    assert (found.strategy, found.is_ordered) == (
        None if strategy == "MY_OWN" else strategy,
        is_ordered,
    )
    assert (
        found.subscriptions == ("bills", "orders")
        and found.start_timestamp == 5
        and set(found.filters) == {"orders"}
    )
    assert content["statusTable"]["orders"]["pullRT"] == 1.5
    by_queue = {
        answers.queue_of(key): value for key, value in answers.queue_pairs(content["mqTable"])
    }
    assert {queue: value["commitOffset"] for queue, value in by_queue.items()} == {
        queue: info.commit_offset for queue, info in queues.items()
    }


def test_names_of_what_a_member_does_are_java_s():
    value = loads(
        ConsumerRunningInfo({}, (), {QUEUE: ProcessQueueInfo()}, {"t": TopicRates()}).encode()
    )
    [(_, info)] = value["mqTable"]
    assert info.keys() == {
        "commitOffset", "cachedMsgMinOffset", "cachedMsgMaxOffset", "cachedMsgCount", "cachedMsgSizeInMiB",
        "transactionMsgMinOffset", "transactionMsgMaxOffset", "transactionMsgCount", "locked", "tryUnlockTimes",
        "lastLockTimestamp", "droped", "lastPullTimestamp", "lastConsumeTimestamp",
    }  # fmt: skip
    assert value["statusTable"]["t"].keys() == {
        "pullRT", "pullTPS", "consumeRT", "consumeOKTPS", "consumeFailedTPS", "consumeFailedMsgs",
    }  # fmt: skip


@given(st.dictionaries(QUEUES, st.integers(0, (1 << 63) - 1), max_size=4))
def test_offsets_by_queue(offsets):
    body = consumer_status_body(offsets)
    table = loads(body)["messageQueueTable"]
    assert {answers.queue_of(key): value for key, value in answers.queue_pairs(table)} == offsets
    fields = {"topic": "t", "group": "g", "timestamp": "1", "isForce": "true"}
    reset = body.replace(b"messageQueueTable", b"offsetTable")
    assert read_offset_reset(Command(220, ext_fields=fields, body=reset)).offsets == offsets
    listed = [
        {"topic": q.topic, "brokerName": q.broker_name, "queueId": q.queue_id, "offset": n}
        for q, n in offsets.items()
    ]
    found = read_offset_reset(
        Command(220, ext_fields=fields, body=json.dumps({"offsetTable": listed}).encode())
    )
    assert (found.topic, found.consumer_group, found.offsets) == ("t", "g", offsets)
    assert read_offset_reset(Command(220, ext_fields=fields)).offsets == {}


def test_requests_of_brokers():
    assert requested_group(Command(40, ext_fields={"consumerGroup": "g"})) == "g"
    assert read_status_request(Command(221, ext_fields={"topic": "t", "group": "g"})) == ("t", "g")
    message = encode_message(Message("t", b"1"))
    found = read_direct_request(
        Command(309, ext_fields={"consumerGroup": "g", "brokerName": "b"}, body=message)
    )
    assert (found.consumer_group, found.broker_name, found.message.body) == ("g", "b", b"1")
    for body in (b"", message * 2, b"x"):
        with pytest.raises(MessageError):
            read_direct_request(Command(309, ext_fields={"consumerGroup": "g"}, body=body))
    assert json.loads(DirectResult(DirectOutcome.LATER, "why", 5, True, False).encode()) == {
        "order": True, "autoCommit": False, "consumeResult": "CR_LATER", "remark": "why", "spentTimeMills": 5,
    }  # fmt: skip
    assert [one.value for one in DirectOutcome] == ["CR_" + one.name for one in DirectOutcome]


READERS = {
    "client ids": read_client_ids, "locked": read_locked, "assignments": read_assignments, "route": read_topic_route,
    "reset": lambda body: read_offset_reset(Command(220, ext_fields={"topic": "t", "group": "g"}, body=body)),
}  # fmt: skip
KEYS = ["consumerIdList", "lockOKMQSet", "messageQueueAssignments", "messageQueue", "mode", "queueDatas", "brokerDatas",
        "brokerName", "readQueueNums", "writeQueueNums", "perm", "brokerAddrs", "cluster", "offsetTable", "topic", "queueId",
        "topicQueueMappingByBroker", "currIdMap", "totalQueues", "scope", "epoch"]  # fmt: skip
NEAR = st.recursive(
    JSON_VALUES | st.sampled_from([1 << 31, 1 << 63, -1, "0", "PULL", "h:1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("perm", "is_int"), [(0, True), ((1 << 31) - 1, True), (1 << 31, False), (-1, False)]
)
def test_a_number_is_in_javas_range_or_refused(perm, is_int):
    body = json.dumps(
        {"queueDatas": [{"brokerName": "b", "readQueueNums": 4, "writeQueueNums": 8, "perm": perm}]}
    )
    with nullcontext() if is_int else pytest.raises(AnswerError, match=str(perm)):
        assert read_topic_route(body.encode()).queue_datas[0].perm == perm


@pytest.mark.parametrize("name", READERS)
@given(content=NEAR)
def test_whatever_comes_is_read_or_refused(name, content):
    with suppress(AnswerError):
        READERS[name](json.dumps(content).encode())


@pytest.mark.parametrize("name", READERS)
@given(st.binary(max_size=30))
def test_garbage_is_refused_and_its_sender_named(name, body):
    try:
        READERS[name](body)
    except (AnswerError, JsonError) as error:
        with pytest.raises(BodyError) as said, answer_of("10.0.0.1:1", "THIS"):
            raise error
        assert str(said.value).startswith("10.0.0.1:1 answered THIS with an unreadable body: ")
        assert "\n" not in str(said.value) and isinstance(said.value, Error)
