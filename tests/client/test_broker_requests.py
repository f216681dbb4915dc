"""What brokers ask of a member, over its own connection: running info, offsets, resets, a message
to consume at once.
"""

import asyncio
import json

import pytest
from wire_cluster import Stored, WireCluster, message_bytes
from wire_members import Heard, bodies, member, own, until

from rmqalloc import MessageQueue
from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import ResponseCode, loose_json
from rmqalloc.snapshot.live import _answers as answers

RUNNING_INFO, STATUS, RESET, DIRECTLY, NOTICE = 307, 221, 220, 309, 40


def run(work, listener=None, **settings):
    """Let a member of one broker with two queues consume five messages of the first, then do some
    work.
    """

    async def ran():
        async with WireCluster({"orders": 2}) as cluster:
            heard = listener or Heard()
            queue, broker = cluster.queues()[0], cluster.brokers["broker-a"]
            await cluster.put(queue, *bodies(*range(5)))
            async with member(cluster, heard, **settings) as consumer:
                await until(
                    lambda: own(consumer) == set(cluster.queues()) and len(heard.messages) == 5
                )
                await until(lambda: cluster.stored("g").get(queue) == 5)
                (channel,) = broker.channels.values()
                await work(cluster, queue, channel, consumer, heard)

    asyncio.run(ran())


@pytest.mark.parametrize("orderly", [False, True])
def test_running_info(orderly):
    async def work(cluster, queue, channel, consumer, _heard):
        answer = await channel.ask(
            RUNNING_INFO, {"consumerGroup": "g", "clientId": consumer.client_id}
        )
        said = loose_json.loads(answer.body)
        assert said["properties"]["PROP_CONSUMEORDERLY"] == str(orderly).lower()
        assert said["properties"]["allocateMessageQueueStrategy"].endswith(
            ".AllocateMessageQueueAveragely"
        )
        assert answers.running_info(said).is_of_rmqalloc
        assert said["properties"]["PROP_NAMESERVER_ADDR"] == cluster.name_server
        tables = {(key["topic"], key["queueId"]): value for key, value in said["mqTable"]}
        assert {("orders", 0), ("orders", 1)} <= tables.keys()
        assert (tables["orders", 0]["commitOffset"], tables["orders", 0]["cachedMsgCount"]) == (
            5,
            0,
        )
        assert {one["topic"] for one in said["subscriptionSet"]} == {"orders", "%RETRY%g"}

    run(work, orderly=orderly)


def test_another_group_is_not_here():
    async def work(_cluster, _queue, channel, consumer, _heard):
        for code in (RUNNING_INFO, DIRECTLY):
            answer = await channel.ask(
                code, {"consumerGroup": "another", "clientId": consumer.client_id}
            )
            assert (
                answer.code == ResponseCode.SYSTEM_ERROR and "<another> not exist" in answer.remark
            )
        answer = await channel.ask(STATUS, {"topic": "orders", "group": "another"})
        assert answer.code == ResponseCode.SYSTEM_ERROR
        answer = await channel.ask(999, {})
        assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED

    run(work)


def test_offsets_in_memory():
    async def work(_cluster, _queue, channel, _consumer, _heard):
        answer = await channel.ask(STATUS, {"topic": "orders", "group": "g"})
        table = loose_json.loads(answer.body)["messageQueueTable"]
        assert {(key["topic"], key["queueId"]): offset for key, offset in table}["orders", 0] == 5

    run(work)


@pytest.mark.parametrize("orderly", [False, True])
def test_offsets_that_are_reset_are_consumed_from(orderly):
    async def work(cluster, queue, channel, consumer, heard):
        table = f'{{"offsetTable":{{{{"topic":"orders","brokerName":"broker-a","queueId":{queue.queue_id}}}:2}}}}'
        channel.send(RESET, {"topic": "orders", "group": "another"}, table.encode(), flag=2)
        channel.send(RESET, {"topic": "orders", "group": "g"}, table.encode(), flag=2)
        await until(lambda: len(heard.messages) == 8)
        assert [int(message.body) for message in heard.messages[5:]] == [2, 3, 4]
        await until(lambda: cluster.stored("g").get(queue) == 5)
        assert own(consumer) == set(cluster.queues())

    run(work, orderly=orderly, intervals=Intervals(rebalance=600_000, persist=200, lock=300))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        pytest.param(b"7", "CR_SUCCESS", id="7-CR_SUCCESS"),
        pytest.param(b"8", "CR_LATER", id="8-CR_LATER"),
        pytest.param(b"9", "CR_THROW_EXCEPTION", id="9-CR_THROW_EXCEPTION"),
        (None, "CR_THROW_EXCEPTION"),
    ],
)
def test_a_message_is_consumed_at_once(body, result):
    def answer(messages):
        if messages[0].body == b"9":
            raise ValueError("nine")
        return False if messages[0].body == b"never" else None

    async def work(cluster, queue, channel, consumer, heard):
        data = b"\0\0\0\x08rest" if body is None else message_bytes(queue, 4, 99, Stored(body), {})
        if body == b"8":
            heard._answer = lambda messages: SUSPEND
        fields = {
            "consumerGroup": "g",
            "clientId": consumer.client_id,
            "msgId": "7F",
            "brokerName": "broker-a",
        }
        said = json.loads((await channel.ask(DIRECTLY, fields, data)).body)
        assert (said["consumeResult"], said["order"]) == (result, False)
        assert body is None or heard.messages[-1].body == body
        assert cluster.stored("g").get(queue) == 5 and cluster.sent_back == []

    from rmqalloc.client import SUSPEND_CURRENT_QUEUE_A_MOMENT as SUSPEND

    run(work, Heard(answer))


def test_hostile_requests_change_nothing():
    async def work(cluster, _queue, channel, consumer, _heard):
        channel.send(RESET, {"topic": "orders", "group": "g"}, b"{" * 100, flag=2)
        channel.send(
            RESET,
            {"topic": "orders", "group": "g"},
            b'{"offsetTable":{{"topic":[],"queueId":"x"}:1e99}}',
            flag=2,
        )
        channel.send(RESET, {}, b"", flag=2)
        channel.send(NOTICE, {}, flag=2)
        answer = await channel.ask(RUNNING_INFO, {"consumerGroup": "g"})
        assert answer.code == 0
        assert own(consumer) == set(cluster.queues())

    run(work)


def test_a_notice_starts_a_pass():
    async def work(cluster, _queue, channel, consumer, _heard):
        broker = cluster.brokers["broker-a"]
        before = broker.count(38)
        channel.notify_consumer_ids_changed("g")
        await until(lambda: broker.count(38) > before)

    run(work, intervals=Intervals(rebalance=600_000, persist=200))


def test_a_queue_of_another_name_is_left_alone():
    async def work(cluster, queue, channel, consumer, heard):
        other = MessageQueue("orders", "broker-z", 0)
        table = f'{{"offsetTable":{{{{"topic":"{other.topic}","brokerName":"{other.broker_name}","queueId":0}}:2}}}}'
        channel.send(RESET, {"topic": "orders", "group": "g"}, table.encode(), flag=2)
        await channel.ask(RUNNING_INFO, {"consumerGroup": "g"})
        assert len(heard.messages) == 5 and cluster.stored("g") == {queue: 5}

    run(work)
