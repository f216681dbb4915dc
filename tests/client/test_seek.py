"""Seeking by time: which queues are moved and to where, beside a listener at work, beside other
members, and where a broker does not answer.
"""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
import simulated_time
from wire_cluster import Stored, WireCluster
from wire_members import Heard, bodies, member, own, until

from rmqalloc.client import (
    ArgumentError,
    ArgumentTypeError,
    ClientError,
    PushConsumer,
)
from rmqalloc.rebalance import Intervals

SEARCH = 29
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def minute(number):
    return NOON + timedelta(minutes=number)


async def fill(cluster, n_messages=5):
    """Store a message a minute in every queue, from noon on."""
    for i, queue in enumerate(cluster.queues()):
        stored = [
            Stored(body, stored_at=int(minute(j).timestamp() * 1_000))
            for j, body in enumerate(bodies(*range(i * 10, i * 10 + n_messages)))
        ]
        await cluster.brokers[queue.broker_name].put(queue, *stored)


@pytest.mark.parametrize("orderly", [False, True])
def test_its_queues_are_read_from_a_time_on(orderly):
    """At once: passes come every ten minutes here."""

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            await fill(cluster)
            heard, rare = Heard(), Intervals(rebalance=600_000, persist=200, lock=300)
            async with member(cluster, heard, orderly=orderly, intervals=rare) as consumer:
                await until(lambda: len(heard.messages) == 10)
                moved = await consumer.seek("orders", minute(3))
                assert moved == dict.fromkeys(cluster.queues(), 3)
                await until(lambda: len(heard.messages) == 14)
                assert own(consumer) == set(cluster.queues())
            assert sorted(int(message.body) for message in heard.messages[10:]) == [3, 4, 13, 14]
            assert cluster.stored("g") == dict.fromkeys(cluster.queues(), 5)

    asyncio.run(run())


def test_times_are_those_of_the_zone_and_before_all_messages_is_the_first():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            await fill(cluster)
            (queue,) = cluster.queues()
            heard = Heard()
            async with member(cluster, heard) as consumer:
                await until(lambda: len(heard.messages) == 5)
                there = timezone(timedelta(hours=5, minutes=30))
                assert await consumer.seek("orders", minute(4).astimezone(there)) == {queue: 4}
                await until(lambda: own(consumer))
                assert await consumer.seek("orders", datetime(1, 1, 1, tzinfo=UTC)) == {queue: 0}
                await until(lambda: own(consumer))
                times = [
                    fields["timestamp"]
                    for code, fields in cluster.brokers["broker-a"].asked
                    if code == SEARCH
                ]
                assert times[-1] == "0"
                late = minute(4) + timedelta(microseconds=1_000)
                assert await consumer.seek("orders", late) == {queue: 5}

    asyncio.run(run())


def test_a_message_at_work_is_finished_and_does_not_count():
    """Neither as consumed nor as failed."""

    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            await fill(cluster)
            (queue,) = cluster.queues()
            gate, begun, heard = asyncio.Event(), asyncio.Event(), Heard()

            async def listener(messages):
                heard(messages)
                if not gate.is_set():
                    begun.set()
                    await gate.wait()
                    raise ValueError("fails after the seek")

            async with member(cluster, listener, consume_concurrently=1) as consumer:
                await begun.wait()
                await consumer.seek("orders", minute(2))
                gate.set()
                await until(lambda: len(heard.messages) == 4)
                await until(lambda: cluster.stored("g") == {queue: 5})
            assert heard.bodies == [0, 2, 3, 4] and cluster.sent_back == []

    asyncio.run(run())


def test_all_queues_stop_before_one_waits_for_its_listener():
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            await fill(cluster)
            gate, heard = asyncio.Event(), Heard()

            async def listener(messages):
                heard(messages)
                await gate.wait()

            async with member(cluster, listener, orderly=True) as consumer:
                await until(lambda: len(heard.messages) == 2)
                seeking = asyncio.create_task(consumer.seek("orders", minute(4)))
                await until(lambda: own(consumer) != set(cluster.queues()))
                assert own(consumer) == set()
                gate.set()
                await seeking
                await until(lambda: heard.bodies == [0, 4, 10, 14])

    asyncio.run(run())


def test_queues_of_other_members_stay():
    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            await fill(cluster)
            one, other = Heard(), Heard()
            async with member(cluster, one) as first, member(cluster, other) as second:
                await until(lambda: len(own(first)) == len(own(second)) == 2)
                await until(lambda: cluster.stored("g") == dict.fromkeys(cluster.queues(), 5))
                del one.messages[:], other.messages[:]
                moved = await first.seek("orders", minute(1))
                await until(lambda: len(one.messages) == 8)
                assert set(moved) == own(first) and other.messages == []

    asyncio.run(run())


def test_during_a_rebalance_it_takes_its_turn():
    """A second member takes queues over while a broker is slow to answer: they stay where they were,
    the others are moved, and both members go on.
    """

    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            await fill(cluster)
            broker = cluster.brokers["broker-a"]
            one, other = Heard(), Heard()
            async with member(cluster, one) as first:
                await until(lambda: len(one.messages) == 20)
                await until(lambda: cluster.stored("g") == dict.fromkeys(cluster.queues(), 5))
                broker.slow = {SEARCH}
                broker.freeze()
                del one.messages[:]
                seeking = asyncio.create_task(first.seek("orders", minute(2)))
                await until(lambda: broker.count(SEARCH))
                async with member(cluster, other) as second:
                    await until(lambda: len(broker.client_ids("g")) == 2)
                    assert own(first) == set(cluster.queues())
                    broker.thaw()
                    assert await seeking == dict.fromkeys(cluster.queues(), 2)
                    await until(lambda: len(own(first)) == len(own(second)) == 2)
                    again = [queue.queue_id * 10 + i for queue in own(first) for i in (2, 3, 4)]
                    await until(lambda: one.bodies == sorted(again))
                    for queue in cluster.queues():
                        await cluster.put(queue, *bodies(99))
                    await until(lambda: len([*one.messages, *other.messages]) == 10)
                    await until(lambda: cluster.stored("g") == dict.fromkeys(cluster.queues(), 6))
                    assert other.bodies == [99, 99]

    asyncio.run(run())


def test_where_a_broker_refuses_no_queue_is_moved():
    async def run():
        async with WireCluster({"orders": 2}, brokers=2) as cluster:
            await fill(cluster)
            heard = Heard()
            async with member(cluster, heard) as consumer:
                await until(lambda: len(heard.messages) == 20)
                cluster.brokers["broker-b"].refused = {SEARCH: 1}
                with pytest.raises(ClientError, match=r"gave no offset of .*refused by the test"):
                    await consumer.seek("orders", NOON)
                assert own(consumer) == set(cluster.queues())
            assert len(heard.messages) == 20
            assert cluster.stored("g") == dict.fromkeys(cluster.queues(), 5)

    asyncio.run(run())


def test_it_ends_where_the_consumer_is_closed_meanwhile():
    """The broker takes two seconds for each of many queues, longer than the end waits for a pass."""

    async def run():
        async with WireCluster({"orders": 16}) as cluster:
            broker = cluster.brokers["broker-a"]
            search = broker._on_29

            async def slow_search(*request):
                await asyncio.sleep(2)
                return await search(*request)

            broker._on_29 = slow_search
            consumer = member(cluster, Heard().in_loop)
            async with consumer:
                await until(lambda: len(own(consumer)) == 16)
                seeking = asyncio.create_task(consumer.seek("orders", NOON))
                await until(lambda: broker.count(SEARCH))
            with pytest.raises(ClientError, match="closed before the seek ended"):
                await asyncio.wait_for(seeking, 60)
            with pytest.raises(ClientError, match="is shut down"):
                await consumer.seek("orders", NOON)

    simulated_time.run(run())


@pytest.mark.parametrize(
    ("topic", "to", "error", "said"),
    [
        ("orders", datetime(2026, 11, 30), ArgumentError, "with a time zone"),
        ("orders", 1_700_000_000_000, ArgumentTypeError, "takes a datetime, got int"),
        ("bills", NOON, ArgumentError, "subscribed topic (orders), got 'bills'"),
        ("orders", NOON, ClientError, "has not started"),
    ],
)
def test_what_cannot_be_sought_is_said(topic, to, error, said):
    consumer = PushConsumer("g", name_server="127.0.0.1:9876", listener=print)
    consumer.subscribe("orders")
    with pytest.raises(error) as caught:
        asyncio.run(consumer.seek(topic, to))
    assert said in str(caught.value)
