"""Everything that a member sends and reads, at a real broker: pulls, commits, messages sent back,
and what brokers ask.
"""

import json
import threading
import time
import zlib

import pytest
from live_cluster import mqadmin
from live_proofs import SETTLES_WITHIN
from wire_member import (
    LOCK_BATCH,
    PULL,
    QUERY_ASSIGNMENT,
    SEND_BACK,
    UNLOCK_BATCH,
    UNREGISTER,
    UPDATE_OFFSET,
    Refused,
    WireMember,
)

from rmqalloc import MessageQueue
from rmqalloc.remoting import (
    PULL_CODES,
    Command,
    ConsumerData,
    ConsumerRunningInfo,
    DirectOutcome,
    DirectResult,
    HeartbeatData,
    MessageModel,
    ProcessQueueInfo,
    PullStatus,
    QueueAssignment,
    SubscriptionData,
    TopicRates,
    assignment_body,
    consumer_status_body,
    decode_messages,
    lock_body,
    pull_fields,
    query_offset_fields,
    queue_request_fields,
    read_assignments,
    read_direct_request,
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
    tagged,
    topic_route_fields,
    unregister_fields,
    update_offset_fields,
)
from rmqalloc.remoting.loose_json import loads
from rmqalloc.snapshot.live import _answers as answers

pytestmark = pytest.mark.cluster

CONFIGURE = 25
SEND, TOPIC_CONFIG, QUERY_OFFSET, SEARCH, MAX, MIN, ROUTE = 10, 17, 14, 29, 30, 31, 105
RESET_OFFSET, CONSUMER_STATUS, RUNNING_INFO, DIRECTLY = 222, 223, 307, 309
TOPIC, GROUP, CLIENT_ID = "wire-bodies", "wire-bodies-group", "127.0.0.1@wire"
SUBSCRIPTION = SubscriptionData(TOPIC, "paid || Aa", 5)
RETRY = SubscriptionData(f"%RETRY%{GROUP}", "*", 5)


@pytest.fixture(scope="module")
def broker(cluster):
    """Name and address of a broker that has the topic; a group may be created by its first
    heartbeat.
    """
    (name, address), *_ = cluster.running.items()
    with WireMember() as administrator:
        fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6",
                  "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}  # fmt: skip
        administrator.ask(address, TOPIC_CONFIG, fields)
    return name, address


@pytest.fixture
def member(broker):
    """A member of the group, whom the broker knows."""
    with WireMember() as wire:
        wire.send_heartbeat(
            broker[1],
            HeartbeatData(
                CLIENT_ID, (ConsumerData(GROUP, subscriptions=frozenset({SUBSCRIPTION, RETRY})),)
            ),
        )
        yield wire
        wire.ask(broker[1], UNREGISTER, unregister_fields(CLIENT_ID, GROUP))


def send(wire, address, body, tag, queue_id=0, sys_flag=0):
    """Send a message as a producer does; its id by where it is stored, and its offset."""
    properties = f"UNIQ_KEY\1{tag}-{len(body)}\2" + (f"TAGS\1{tag}\2" if tag else "")
    fields = {"producerGroup": "p", "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": "1",
              "queueId": f"{queue_id}", "sysFlag": f"{sys_flag}", "bornTimestamp": "1700000000000", "flag": "9",
              "properties": properties, "reconsumeTimes": "0", "unitMode": "false", "batch": "false"}  # fmt: skip
    answer = wire.ask(address, SEND, fields, body)
    offset = int(answer.ext_fields["queueOffset"])
    queue, deadline = MessageQueue(TOPIC, "", queue_id), time.monotonic() + SETTLES_WITHIN
    while (
        offset_of(wire, address, MAX, queue_request_fields(queue)) <= offset
    ):  # brokers index messages a little later
        assert time.monotonic() < deadline
    return answer.ext_fields["msgId"], offset


def pulled(wire, address, queue, offset, subscription=SUBSCRIPTION, **more):
    return read_pull_answer(
        wire.ask(
            address,
            PULL,
            pull_fields(GROUP, queue, offset, subscription, **more),
            accept=PULL_CODES,
        )
    )


def test_pulls_find_what_was_sent(member, broker):
    name, address = broker
    queue = MessageQueue(TOPIC, name, 0)
    sent = [
        send(member, address, b"1", "paid"), send(member, address, b"22", "BB"), send(member, address, b"333", "other"),
        send(member, address, zlib.compress(b"4" * 500), "paid", sys_flag=1), send(member, address, b"55555", "Aa"),
    ]  # fmt: skip
    answer = pulled(member, address, queue, sent[0][1], commit_offset=sent[0][1])
    assert (answer.status, answer.next_begin_offset, answer.max_offset) == (
        PullStatus.FOUND,
        sent[-1][1] + 1,
        sent[-1][1] + 1,
    )
    assert (answer.min_offset, answer.suggested_broker_id, answer.offset_delta) == (0, 0, 0)
    found = decode_messages(answer.body)
    assert [one.tags for one in found] == ["paid", "BB", "paid", "Aa"], (
        "the broker compares hashes, and Aa and BB have one"
    )
    mine = tagged(found, SUBSCRIPTION.tags)
    assert [one.body for one in mine] == [b"1", b"4" * 500, b"55555"]
    assert [(one.offset_msg_id, one.queue_offset) for one in mine] == [sent[0], sent[3], sent[4]]
    assert {
        (one.topic, one.queue_id, one.flag, one.born_timestamp, one.store_host) for one in mine
    } == {(TOPIC, 0, 9, 1_700_000_000_000, address)}
    assert [one.msg_id for one in mine] == [
        "paid-1",
        f"paid-{len(zlib.compress(b'4' * 500))}",
        "Aa-5",
    ]
    for one in mine:
        one.check_body()
    assert offset_of(member, address, QUERY_OFFSET, query_offset_fields(GROUP, queue)) == sent[0][1]
    expression = SubscriptionData(TOPIC, "other", 6)
    other = pulled(
        member, address, queue, sent[0][1], expression, sends_expression=True, max_messages=1
    )
    assert [one.body for one in decode_messages(other.body)] == [b"333"]
    assert (
        pulled(member, address, queue, sent[-1][1] + 1, suspend_ms=None).status
        is PullStatus.NO_NEW_MSG
    )
    assert (
        pulled(member, address, queue, 1 << 40, suspend_ms=None).status is PullStatus.OFFSET_ILLEGAL
    )


def offset_of(wire, address, code, fields):
    return read_offset(wire.ask(address, code, fields).ext_fields)


def test_offsets_locks_routes_and_assignments(member, broker, cluster):
    name, address = broker
    queue = MessageQueue(TOPIC, name, 1)
    _, offset = send(member, address, b"x", "paid", queue_id=1)
    member.ask(address, UPDATE_OFFSET, update_offset_fields(GROUP, queue, offset))
    assert offset_of(member, address, QUERY_OFFSET, query_offset_fields(GROUP, queue)) == offset
    assert offset_of(member, address, MAX, queue_request_fields(queue)) == offset + 1
    assert offset_of(member, address, MIN, queue_request_fields(queue)) == 0
    assert offset_of(member, address, SEARCH, search_offset_fields(queue, 1)) == 0
    body = lock_body(GROUP, CLIENT_ID, [queue])
    assert read_locked(member.ask(address, LOCK_BATCH, body=body).body) == {queue}
    other = lock_body(GROUP, "somebody else", [queue])
    assert read_locked(member.ask(address, LOCK_BATCH, body=other).body) == set()
    member.ask(address, UNLOCK_BATCH, body=body)
    assert read_locked(member.ask(address, LOCK_BATCH, body=other).body) == {queue}
    member.ask(address, UNLOCK_BATCH, body=other)
    assert member.consumer_ids(address, GROUP) == [CLIENT_ID]
    deadline = time.monotonic() + SETTLES_WITHIN
    while True:  # a broker registers a new topic a little later
        try:
            route = read_topic_route(
                member.ask(cluster.name_server, ROUTE, topic_route_fields(TOPIC)).body
            )
            break
        except Refused:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert list(route.readable_queues(TOPIC)) == [MessageQueue(TOPIC, name, 0), queue]
    assert [(one.broker_name, one.master) for one in route.broker_datas] == [broker]
    body = assignment_body(TOPIC, GROUP, CLIENT_ID, "AVG", MessageModel.CLUSTERING)
    found = read_assignments(member.ask(address, QUERY_ASSIGNMENT, body=body).body)
    assert found is None or set(found) == {
        QueueAssignment(MessageQueue(TOPIC, name, i)) for i in (0, 1)
    }


def test_a_message_that_is_sent_back_comes_again(member, broker):
    name, address = broker
    queue = MessageQueue(TOPIC, name, 0)
    msg_id, offset = send(member, address, b"again", "paid")
    [one] = decode_messages(pulled(member, address, queue, offset, max_messages=1).body)
    back = send_back_fields(
        GROUP,
        one.commit_log_offset,
        1,
        origin_topic=TOPIC,
        origin_msg_id=one.msg_id,
        broker_name=name,
    )
    member.ask(address, SEND_BACK, back)
    again = MessageQueue(RETRY.topic, name, 0)
    while (
        answer := pulled(member, address, again, 0, RETRY, suspend_ms=10_000)
    ).status is not PullStatus.FOUND:
        assert answer.status is PullStatus.NO_NEW_MSG
    last = decode_messages(answer.body)[-1]
    assert (last.topic, last.retry_topic, last.reconsume_times, last.body) == (
        RETRY.topic,
        TOPIC,
        1,
        b"again",
    )
    assert last.msg_id == "paid-5" and last.properties["ORIGIN_MESSAGE_ID"] == one.offset_msg_id
    assert msg_id == one.offset_msg_id != last.offset_msg_id


def asked_through(broker, member, code, fields, answer):
    """What somebody gets who asks the member through the broker."""
    serving = threading.Thread(target=member.serve, args=(broker[1], answer))
    serving.start()
    try:
        with WireMember() as administrator:
            return administrator.ask(broker[1], code, fields)
    finally:
        serving.join()


def running(name):
    """What a member says of itself: it has both queues."""
    info = ProcessQueueInfo(
        7,
        7,
        9,
        3,
        locked=True,
        last_pull_timestamp=5,
        last_lock_timestamp=6,
        last_consume_timestamp=4,
    )
    queues = {MessageQueue(TOPIC, name, i): info for i in (0, 1)}
    properties = running_properties(
        start_timestamp=1_700_000_000_000, name_server="127.0.0.1:9876", strategy="CONSISTENT_HASH",
        client_version="V5_3_3", threads=20, is_ordered=True,
    )  # fmt: skip
    return ConsumerRunningInfo(
        properties, (RETRY, SUBSCRIPTION), queues, {TOPIC: TopicRates(1.5, 2.5, 3.5, 4.5, 5.5, 6)}
    )


def test_what_a_member_does_is_read_by_us_and_by_mqadmin(member, broker, cluster):
    name, _ = broker

    def answer(request):
        if request.code == RUNNING_INFO:
            assert requested_group(request) == GROUP
            return Command(0, body=running(name).encode())
        return None

    fields = {"consumerGroup": GROUP, "clientId": CLIENT_ID, "jstackEnable": "false"}
    got = answers.running_info(
        loads(asked_through(broker, member, RUNNING_INFO, fields, answer).body)
    )
    assert got.owned == (MessageQueue(TOPIC, name, 0), MessageQueue(TOPIC, name, 1))
    assert (got.strategy, got.is_ordered, got.client_rebalance) == ("CONSISTENT_HASH", True, True)
    assert got.subscriptions == (RETRY.topic, TOPIC) and got.start_timestamp == 1_700_000_000_000
    assert got.filters[TOPIC].expression == "paid || Aa"

    serving = threading.Thread(target=member.serve, args=(broker[1], answer))
    serving.start()
    said = mqadmin(
        cluster, "consumerStatus", "-n", cluster.name_server, "-g", GROUP, "-i", CLIENT_ID
    )
    serving.join()
    assert "#Consumer MQ Detail#" in said and "PROP_CONSUMEORDERLY" in said
    rows = [line.split()[:4] for line in said.splitlines() if line.startswith(TOPIC)]
    assert [TOPIC, name, "0", "7"] in rows and [TOPIC, name, "1", "7"] in rows


def test_a_message_is_consumed_directly(member, broker):
    msg_id, _ = send(member, broker[1], b"directly", "paid")
    got = []

    def answer(request):
        if request.code == DIRECTLY:
            got.append(read_direct_request(request))
            return Command(0, body=DirectResult(DirectOutcome.SUCCESS, spent_ms=12).encode())
        return None

    fields = {
        "consumerGroup": GROUP,
        "clientId": CLIENT_ID,
        "msgId": msg_id,
        "brokerName": broker[0],
        "topic": TOPIC,
    }
    said = json.loads(asked_through(broker, member, DIRECTLY, fields, answer).body)
    assert (said["consumeResult"], said["spentTimeMills"], said["order"]) == (
        "CR_SUCCESS",
        12,
        False,
    )
    assert (got[0].consumer_group, got[0].message.body, got[0].message.offset_msg_id) == (
        GROUP,
        b"directly",
        msg_id,
    )


def test_offsets_are_reported_and_reset(member, broker):
    queue = MessageQueue(TOPIC, broker[0], 0)

    def status(request):
        if request.code == 221:
            assert read_status_request(request) == (TOPIC, GROUP)
            return Command(0, body=consumer_status_body({queue: 41}))
        return None

    said = asked_through(
        broker, member, CONSUMER_STATUS, {"topic": TOPIC, "group": GROUP, "clientAddr": ""}, status
    )
    assert b"41" in said.body and CLIENT_ID.encode() in said.body

    found = []

    def reset(request):
        if request.code == 220:
            assert request.is_oneway
            found.append(read_offset_reset(request))
            return Command(0)
        return None

    fields = {"topic": TOPIC, "group": GROUP, "timestamp": "1", "isForce": "true", "queueId": "-1"}
    with (
        WireMember() as administrator
    ):  # brokers of 5.5 keep it for themselves, and the next pull is answered by it
        administrator.ask(broker[1], CONFIGURE, body=b"useServerSideResetOffset=false")
        asked_through(broker, member, RESET_OFFSET, fields, reset)
        administrator.ask(broker[1], CONFIGURE, body=b"useServerSideResetOffset=true")
    [one] = found
    assert (one.topic, one.consumer_group) == (TOPIC, GROUP)
    assert one.offsets == {MessageQueue(TOPIC, broker[0], i): 0 for i in (0, 1)}
