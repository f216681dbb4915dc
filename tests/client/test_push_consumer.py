"""A member of groups of a little cluster on loopback: what it consumes, commits, sends back, and
how it comes and goes.
"""

import asyncio
import time
from collections import Counter

import pytest
import simulated_time
from wire_cluster import Stored, WireCluster
from wire_members import Heard, bodies, member, own, until

from rmqalloc import MessageQueue
from rmqalloc.client import (
    RECONSUME_LATER,
    SUSPEND_CURRENT_QUEUE_A_MOMENT,
    MessageModel,
    ReconsumeLater,
)


def test_it_joins_consumes_commits_and_leaves():
    async def run():
        async with WireCluster({"orders": 4}, brokers=2) as cluster:
            heard = Heard()
            for i, queue in enumerate(cluster.queues()):
                await cluster.put(queue, *bodies(*range(i * 100, i * 100 + 50)))
            async with member(cluster, heard) as consumer:
                await until(lambda: len(heard.messages) == 400)
                assert {queue for queue in consumer.queues() if queue.topic == "orders"} == set(
                    cluster.queues()
                )
                assert "@" in consumer.client_id
                await cluster.put(cluster.queues()[0], *bodies(999))
                await until(lambda: len(heard.messages) == 401)
            stored = cluster.stored("g")
            assert [stored[queue] for queue in cluster.queues()] == [51, *[50] * 7]
            assert max(Counter(heard.bodies).values()) == 1
            for broker in cluster.brokers.values():
                assert broker.count(35) == 1
                assert not broker.client_ids("g")

    asyncio.run(run())


def test_two_members_divide_and_one_takes_over():
    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            one, other = Heard(), Heard()
            async with member(cluster, one) as first:
                async with member(cluster, other) as second:
                    await until(lambda: len(own(first)) == len(own(second)) == 2)
                    assert own(first) | own(second) == set(cluster.queues())
                    for i, queue in enumerate(cluster.queues()):
                        await cluster.put(queue, *bodies(*range(i * 10, i * 10 + 10)))
                    await until(lambda: len(one.messages) + len(other.messages) == 40)
                    assert len(one.messages) == 20
                await until(lambda: own(first) == set(cluster.queues()))
                await cluster.put(cluster.queues()[3], *bodies(77))
                await until(lambda: 77 in one.bodies)
            assert sorted(one.bodies + other.bodies) == [*range(40), 77]

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_what_fails_is_sent_back_and_comes_again(kind):
    """By the broker, in the retry topic of the group, with the topic that it was sent to."""

    async def run():
        async with WireCluster({"orders": 1}) as cluster:

            def answer(messages):
                if messages[0].reconsume_times == 0 and int(messages[0].body) % 2:
                    return ReconsumeLater(3)
                if messages[0].reconsume_times == 0 and int(messages[0].body) == 4:
                    raise ValueError("four")
                return None

            heard = Heard(answer)

            async def waiting(messages):
                return heard(messages)

            async with member(cluster, heard if kind == "plain" else waiting):
                await cluster.put(cluster.queues()[0], *bodies(*range(6)))
                await until(lambda: len(heard.messages) == 10)
            again = [message for message in heard.messages if message.reconsume_times]
            assert sorted(int(message.body) for message in again) == [1, 3, 4, 5]
            assert {message.topic for message in again} == {"orders"}
            assert {message.broker_name for message in heard.messages} == {"broker-a"}
            assert sorted(one["delayLevel"] for one in cluster.sent_back) == ["0", "3", "3", "3"]
            assert {one["maxReconsumeTimes"] for one in cluster.sent_back} == {"16"}
            assert cluster.stored("g") == {cluster.queues()[0]: 6}
            assert cluster.stored("g", "%RETRY%g") == {MessageQueue("%RETRY%g", "broker-a", 0): 4}

    asyncio.run(run())


def test_in_order_one_queue_after_the_other_under_locks():
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            failed = set()

            def answer(messages):
                number = int(messages[0].body)
                if number == 7 and number not in failed:
                    failed.add(number)
                    return SUSPEND_CURRENT_QUEUE_A_MOMENT
                return None

            heard = Heard(answer)
            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(*range(100)))
            async with member(cluster, heard, orderly=True, suspend_current_queue_time=20):
                await until(lambda: len(heard.messages) == 101)
                assert cluster.brokers["broker-a"].count(41) >= 1
            assert [int(one.body) for one in heard.messages] == [*range(8), *range(7, 100)]
            assert cluster.stored("g")[queue] == 100
            locks = cluster.brokers["broker-a"].half.locks
            assert locks.try_lock_batch("g", cluster.queues(), "another") == set(
                cluster.queues()
            ), "all are given back"

    asyncio.run(run())


def test_in_order_a_queue_is_handed_over_between_two_messages():
    """The removal waits until the listener has returned, and then gives the lock back: nobody waits
    for it to run out.
    """

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            gate, begun = asyncio.Event(), asyncio.Event()

            async def slow(messages):
                heard(messages)
                begun.set()
                if not gate.is_set():
                    await gate.wait()

            heard, other = Heard(), Heard()
            for i, queue in enumerate(cluster.queues()):
                await cluster.put(queue, *bodies(*range(i * 10, i * 10 + 5)))
            async with member(cluster, slow, orderly=True) as first:
                await begun.wait()
                async with member(cluster, other, orderly=True) as second:
                    broker = cluster.brokers["broker-a"]
                    await until(lambda: len(broker.client_ids("g")) == 2)
                    assert other.messages == []
                    gate.set()
                    await until(
                        lambda: (
                            len(own(second)) == 1
                            and len(heard.messages) + len(other.messages) == 10
                        )
                    )
                    assert own(first) | own(second) == set(cluster.queues())
            assert sorted(heard.bodies + other.bodies) == [*range(5), *range(10, 15)]
            for one in (heard, other):
                for queue_id in (0, 1):
                    numbers = [
                        int(message.body)
                        for message in one.messages
                        if message.queue_id == queue_id
                    ]
                    assert numbers == sorted(numbers)

    asyncio.run(run())


def test_in_order_what_fails_too_often_is_a_dead_letter():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard = Heard(lambda messages: RECONSUME_LATER if int(messages[0].body) == 1 else None)
            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(0, 1, 2))
            settings = {"orderly": True, "suspend_current_queue_time": 10, "max_reconsume_times": 2}
            async with member(cluster, heard, **settings):
                await until(lambda: 2 in heard.bodies)
            assert [int(one.body) for one in heard.messages] == [0, 1, 1, 1, 2]
            assert [one["delayLevel"] for one in cluster.sent_back] == ["-1"]
            assert cluster.stored("g")[queue] == 3

    asyncio.run(run())


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_each_message_is_counted(kind, orderly):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:

            def answer(messages):
                number, again = int(messages[0].body), messages[0].reconsume_times
                if number == 3 and not again:
                    raise ValueError("three")
                return RECONSUME_LATER if number == 5 and again < 2 else time.sleep(0.01)

            async def waiting(messages):
                return heard(messages)

            heard = Heard(answer)
            listener = heard if kind == "plain" else waiting
            await cluster.put(cluster.queues()[0], *bodies(*range(10)))
            settings = {"orderly": orderly, "suspend_current_queue_time": 10}
            async with member(cluster, listener, **settings) as consumer:
                await until(lambda: len(heard.messages) == 13)
            tally = consumer._member.tally
            assert (tally.consumed, tally.failed, tally.retried) == (10, 1, 3)
            assert sum(tally.consume.counts) == 13 and sum(tally.consume.counts[2:]) >= 10
            assert 0.1 <= tally.consume.total < 100

    asyncio.run(run())


def test_what_is_lost_to_a_group_that_broadcasts_is_logged_once(caplog, tmp_path):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard = Heard(lambda messages: RECONSUME_LATER)
            await cluster.put(cluster.queues()[0], *bodies(*range(20)))
            settings = {"message_model": MessageModel.BROADCASTING, "offset_directory": tmp_path}
            async with member(cluster, heard.in_loop, **settings) as consumer:
                await until(lambda: len(heard.messages) == 20)
            assert consumer._member.tally.consumed == consumer._member.tally.retried == 0

    simulated_time.run(run())
    assert caplog.text.count("a broadcasting group gets no second delivery") == 1


def test_broadcasting_members_each_read_all_and_keep_offsets_in_a_file(tmp_path):
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            settings = {"message_model": MessageModel.BROADCASTING}
            one, other, again = Heard(), Heard(), Heard()
            for i, queue in enumerate(cluster.queues()):
                await cluster.put(queue, *bodies(i * 10, i * 10 + 1))
            first = member(cluster, one, instance_name="a", offset_directory=tmp_path, **settings)
            second = member(
                cluster, other, instance_name="b", offset_directory=tmp_path, **settings
            )
            async with first, second:
                await until(lambda: len(one.messages) == len(other.messages) == 4)
            await cluster.put(cluster.queues()[0], *bodies(99))
            async with member(
                cluster, again, instance_name="a", offset_directory=tmp_path, **settings
            ):
                await until(lambda: again.messages)
            assert again.bodies == [99]
            assert cluster.stored("g") == {} and cluster.sent_back == []

    asyncio.run(run())


def test_tags_are_compared_here_too():
    """Brokers compare hashes of tags only; this one compares nothing."""

    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard = Heard()
            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(1), tag="paid")
            await cluster.put(queue, *bodies(2), tag="open")
            await cluster.put(queue, *bodies(3))
            consumer = member(cluster, heard)
            consumer.subscribe("orders", "paid || refunded")
            async with consumer:
                await until(lambda: heard.messages)
                await cluster.put(queue, *bodies(4), tag="refunded")
                await cluster.put(queue, *bodies(5), tag="open")
                await until(lambda: cluster.stored("g") == {queue: 5})
            assert heard.bodies == [1, 4]

    asyncio.run(run())


def test_brokers_may_assign():
    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            heard = Heard()
            async with member(cluster, heard, client_rebalance=False) as consumer:
                await until(lambda: own(consumer) == set(cluster.queues()))
                await cluster.put(cluster.queues()[2], *bodies(5))
                await until(lambda: heard.bodies == [5])
            assert cluster.brokers["broker-a"].count(400)

    asyncio.run(run())


def test_a_slave_is_pulled_where_the_broker_suggests_it():
    """And gets no offsets: only a master stores them."""

    async def run():
        async with WireCluster({"orders": 1}, brokers=2) as cluster:
            master, slave = cluster.brokers.values()
            del slave.half.topics["orders"]
            cluster.slaves = {master.name: slave.name}
            slave.name, master.suggested, slave.suggested = master.name, "1", "1"
            heard, queue = Heard(), cluster.queues()[0]
            await master.put(queue, Stored(b"1"))
            slave.logs, slave.first = master.logs, master.first
            async with member(cluster, heard):
                await until(lambda: heard.bodies == [1] and slave.count(11) > 2)
            flags = {int(fields["sysFlag"]) & 1 for code, fields in slave.asked if code == 11}
            assert flags == {0}

    asyncio.run(run())


def test_while_paused_nothing_is_pulled():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard = Heard()
            async with member(cluster, heard.in_loop) as consumer:
                await until(lambda: own(consumer))
                await cluster.put(cluster.queues()[0], *bodies(1))
                await until(lambda: heard.messages)
                consumer.pause()
                broker = cluster.brokers["broker-a"]
                await until(lambda: not broker.waiting)
                await cluster.put(cluster.queues()[0], *bodies(2))
                before = broker.count(11)
                await asyncio.sleep(5)
                assert heard.bodies == [1] and broker.count(11) == before
                consumer.resume()
                await until(lambda: heard.bodies == [1, 2])

    simulated_time.run(run())
