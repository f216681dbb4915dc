"""What a member does when servers are frozen, gone, busy or wrong, and when its listener hangs."""

import asyncio
import threading

import pytest
import simulated_time
from wire_cluster import WireCluster
from wire_members import QUICK, Heard, bodies, member, own, until

from rmqalloc.client import RECONSUME_LATER, PushConsumer, _concurrent_service, _pulling
from rmqalloc.rebalance import MQClientFactory
from rmqalloc.remoting import ClientError, RemotingError, ResponseCode

HEART_BEAT, PULL, QUERY_OFFSET, UPDATE_OFFSET = 34, 11, 14, 15


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(_pulling, "AFTER_ERROR", 50)
    monkeypatch.setattr(_concurrent_service, "CONSUME_AGAIN_AFTER", 0.05)


def test_a_frozen_broker_costs_nothing_at_the_others():
    async def run():
        async with WireCluster({"orders": 2}, brokers=2) as cluster:
            heard = Heard()
            healthy, frozen = cluster.brokers.values()
            async with member(cluster, heard.in_loop, close_within=0.1) as consumer:
                await until(lambda: own(consumer) == set(cluster.queues()))
                frozen.freeze()
                before = healthy.count(HEART_BEAT)
                await until(lambda: healthy.count(HEART_BEAT) > before + 5)
                queue = next(one for one in cluster.queues() if one.broker_name == healthy.name)
                await cluster.put(queue, *bodies(*range(40)))
                await until(lambda: len(heard.messages) == 40)
                assert healthy.client_ids("g") == [consumer.client_id]
                frozen.thaw()
                await cluster.put(
                    next(one for one in cluster.queues() if one.broker_name == frozen.name),
                    *bodies(40),
                )
                await until(lambda: len(heard.messages) == 41)

    simulated_time.run(run())


def test_a_member_joins_beside_a_frozen_broker():
    """Its first pass asks offsets of the frozen one, and its heartbeats to the other do not wait
    for them.
    """

    async def run():
        async with WireCluster({"orders": 4}, brokers=2) as cluster:
            healthy, frozen = cluster.brokers.values()
            frozen.slow = {QUERY_OFFSET}
            frozen.freeze()
            async with member(cluster, Heard().in_loop, close_within=0.1) as consumer:
                await until(lambda: frozen.count(QUERY_OFFSET) and healthy.count(HEART_BEAT) > 6)
                assert frozen.count(HEART_BEAT) > 6
                assert frozen.count(QUERY_OFFSET) == 1, (
                    "one waits, and the others are not asked meanwhile"
                )
                frozen.thaw()
                await until(lambda: own(consumer) == set(cluster.queues()))

    simulated_time.run(run())


def test_a_notice_during_a_pass_is_not_lost():
    async def run():
        async with WireCluster({"orders": 4}) as cluster:
            broker = cluster.brokers["broker-a"]
            broker.slow = {QUERY_OFFSET}
            broker.freeze()
            settings = {
                "intervals": QUICK.__class__(rebalance=60_000, route_poll=300, heartbeat=300)
            }
            async with member(cluster, Heard().in_loop, **settings) as first:
                await until(lambda: broker.count(QUERY_OFFSET))
                async with member(cluster, Heard().in_loop, **settings) as second:
                    await until(lambda: len(broker.client_ids("g")) == 2)
                    broker.thaw()
                    await until(lambda: len(own(first)) == len(own(second)) == 2)

    simulated_time.run(run())


def test_a_lost_connection_is_opened_again_and_greeted(monkeypatch):
    """By a heartbeat at once, as in Java: without it the broker would not know the member for up to
    30 s.
    """
    greeted = []
    active = MQClientFactory.channel_active

    def channel_active(factory, address):
        greeted.append(address)
        active(factory, address)

    monkeypatch.setattr(MQClientFactory, "channel_active", channel_active)

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            heard, broker = Heard(), cluster.brokers["broker-a"]
            address = cluster.addresses["broker-a"]
            async with member(cluster, heard.in_loop) as consumer:
                await until(lambda: own(consumer) == set(cluster.queues()))
                assert greeted.count(address) == 1
                broker.drop_connections()
                await until(
                    lambda: (
                        greeted.count(address) == 2
                        and broker.client_ids("g") == [consumer.client_id]
                    )
                )
                await cluster.put(cluster.queues()[0], *bodies(1))
                await until(lambda: heard.bodies == [1])

    simulated_time.run(run())


def test_an_offset_that_a_broker_no_longer_has_moves_the_queue():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard, queue, broker = Heard(), cluster.queues()[0], cluster.brokers["broker-a"]
            await cluster.put(queue, *bodies(*range(8)))
            cluster.offsets["g", queue], broker.first[queue] = 2, 5
            async with member(cluster, heard.in_loop):
                await until(lambda: heard.bodies == [5, 6, 7])
                stored = [
                    fields["commitOffset"] for code, fields in broker.asked if code == UPDATE_OFFSET
                ]
                assert stored[0] == "5", "before anything is consumed"
            assert cluster.stored("g") == {queue: 8}

    simulated_time.run(run())


def test_what_cannot_be_sent_back_is_consumed_again_here():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard = Heard(
                lambda messages: RECONSUME_LATER if messages[0].reconsume_times < 2 else None
            )
            broker, queue = cluster.brokers["broker-a"], cluster.queues()[0]
            broker.refused[36] = ResponseCode.SYSTEM_BUSY
            await cluster.put(queue, *bodies(1))
            async with member(cluster, heard.in_loop):
                await until(lambda: len(heard.messages) == 3)
                await until(lambda: cluster.stored("g") == {queue: 1})
            assert cluster.sent_back == []

    simulated_time.run(run())


def test_a_busy_broker_is_asked_again():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard, broker = Heard(), cluster.brokers["broker-a"]
            broker.refused[PULL] = ResponseCode.FLOW_CONTROL
            await cluster.put(cluster.queues()[0], *bodies(1))
            async with member(cluster, heard.in_loop):
                await until(lambda: broker.count(PULL) > 5)
                broker.refused.clear()
                await until(lambda: heard.bodies == [1])

    simulated_time.run(run())


def test_bytes_that_are_no_messages_stop_no_queue(caplog):
    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            heard, broker = Heard(), cluster.brokers["broker-a"]
            bad, good = cluster.queues()
            encoded = broker._encoded
            broker._encoded = lambda queue, *rest: (
                b"\xff" * 200 if queue == bad else encoded(queue, *rest)
            )
            for queue in (bad, good):
                await cluster.put(queue, *bodies(1))
            async with member(cluster, heard.in_loop):
                await until(lambda: len(cluster.stored("g")) == 2)
            assert {message.queue_id for message in heard.messages} == {good.queue_id}
            assert cluster.stored("g") == {good: 1, bad: 1}

    simulated_time.run(run())
    assert "has an unreadable message at offset 0, which is skipped" in caplog.text


@pytest.mark.parametrize("orderly", [False, True])
def test_closing_waits_for_the_listener_but_not_for_ever(orderly):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate, begun = threading.Event(), threading.Event()

            def listener(messages):
                begun.set()
                gate.wait(300)

            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(1, 2))
            settings = {"consume_concurrently": 1, "orderly": orderly}
            consumer = member(cluster, listener, close_within=0.2, **settings)
            await consumer.start()
            await until(begun.is_set)
            await consumer.close()
            await consumer.close()
            gate.set()
            assert cluster.stored("g").get(queue, 0) == 0, "it is delivered again"
            assert cluster.brokers["broker-a"].client_ids("g") == []
            heard = Heard()
            async with member(cluster, heard, orderly=orderly):
                await until(lambda: heard.bodies == [1, 2])

    asyncio.run(run())


def test_what_a_listener_ends_while_closing_is_committed():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate, begun = asyncio.Event(), asyncio.Event()

            async def listener(messages):
                begun.set()
                await gate.wait()

            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(1, 2, 3))
            consumer = member(cluster, listener, consume_concurrently=1)
            await consumer.start()
            await begun.wait()
            closing = asyncio.create_task(consumer.close())
            await until(lambda: consumer._member._pulling._is_closed)
            gate.set()
            await closing
            assert cluster.stored("g") == {queue: 1}, "and nothing else was begun"

    simulated_time.run(run())


def test_messages_that_a_listener_does_not_give_back_are_sent_back():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate = asyncio.Event()

            async def listener(messages):
                if int(messages[0].body) == 1 and not messages[0].reconsume_times:
                    await gate.wait()

            queue = cluster.queues()[0]
            await cluster.put(queue, *bodies(1, 2))
            async with member(cluster, listener, consume_timeout=0.1 / 60):
                await until(lambda: cluster.stored("g").get(queue) == 2)
                gate.set()
            assert [one["delayLevel"] for one in cluster.sent_back] == ["3"]

    simulated_time.run(run())


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({"pull_threshold_for_queue": 10}, 10 + 4),
        ({"consume_concurrently_max_span": 12}, 12 + 1 + 4),
    ],
)
def test_no_more_is_pulled_than_may_wait(settings, most):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate = asyncio.Event()

            async def listener(messages):
                await gate.wait()

            queue, broker = cluster.queues()[0], cluster.brokers["broker-a"]
            await cluster.put(queue, *bodies(*range(100)))
            async with member(cluster, listener, pull_batch_size=4, **settings) as consumer:
                await until(lambda: own(consumer))
                process_queue = consumer._member.consumer.rebalance.process_queue_table[queue]
                await until(lambda: process_queue.n_messages > most - 4)
                n_pulls = broker.count(PULL)
                await asyncio.sleep(3)
                of_retries = sum(
                    code == PULL and fields["topic"] != "orders"
                    for code, fields in broker.asked[n_pulls:]
                )
                assert (
                    process_queue.n_messages <= most
                    and broker.count(PULL) - n_pulls <= of_retries + 1
                )
                gate.set()
                await until(lambda: cluster.stored("g").get(queue) == 100)

    simulated_time.run(run())


def test_without_a_name_server_it_does_not_start():
    async def run():
        consumer = PushConsumer("g", name_server="127.0.0.1:9", listener=print)
        consumer.subscribe("orders")
        with pytest.raises(RemotingError, match="no name server answers"):
            await consumer.start()
        assert consumer.queues() == set()
        await consumer.close()

    simulated_time.run(run())


def test_it_starts_once_and_subscribed():
    async def run():
        async with WireCluster() as cluster:
            bare = PushConsumer("g", name_server=cluster.name_server, listener=print)
            with pytest.raises(ClientError, match="must subscribe to a topic before it starts"):
                await bare.start()
            with pytest.raises(ClientError, match="has not started"):
                bare.pause()
            async with member(cluster, print) as consumer:
                with pytest.raises(ClientError, match="starts once"):
                    await consumer.start()
            with pytest.raises(ClientError, match="starts once"):
                await consumer.start()

    simulated_time.run(run())
