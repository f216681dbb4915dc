"""A member in a real group: it divides queues with a Java consumer, consumes what that does not,
and hands over.
"""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from live_cluster import BROKERS
from wire_members import QUICK, Heard, until

from rmqalloc import MessageQueue
from rmqalloc.client import ConsumeFromWhere, MemberCode, PushConsumer
from rmqalloc.remoting.connection import Connection
from rmqalloc.remoting.offset_codec import query_offset_fields, read_offset
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

pytestmark = pytest.mark.cluster

QUEUES = 4


def topic_of(java, cluster, topic):
    for address in cluster.running.values():
        java.do("topic", topic=topic, broker=address, read=QUEUES, write=QUEUES)
    return {MessageQueue(topic, name, number) for name in BROKERS for number in range(QUEUES)}


async def stored(cluster, group, queue):
    """The offset that a broker has of a group."""
    connection = Connection(cluster.running[queue.broker_name], codes=MemberCode)
    try:
        fields = query_offset_fields(group, queue)
        return read_offset(
            (await connection.ask(MemberCode.QUERY_CONSUMER_OFFSET, fields)).ext_fields
        )
    finally:
        await connection.close()


def of(consumer, topic):
    return {queue for queue in consumer.queues() if queue.topic == topic}


class Java:
    """Commands to the Java consumers, from a loop."""

    def __init__(self, java, group):
        self._java, self._group = java, group

    async def do(self, what, *arguments, **settings):
        return await asyncio.to_thread(getattr(self._java, what), *arguments, **settings)

    async def owns(self, topic):
        found = await self.do("owns", self._group)
        return {queue for owned in found.values() for queue in owned if queue.topic == topic}

    async def n_consumed(self):
        return sum((await self.do("do", "consumed", group=self._group)).values())


async def until_all(java, heard, n_messages):
    """Wait until two consumers have so many messages together; how many of them Java has."""
    async with asyncio.timeout(300):
        while (n_java := await java.n_consumed()) + len(heard.messages) < n_messages:
            await asyncio.sleep(0.1)
    return n_java


async def until_divided(java, consumer, topic, queues):
    async with asyncio.timeout(300):
        while len(of(consumer, topic)) != QUEUES or await java.owns(topic) != queues - of(
            consumer, topic
        ):
            await asyncio.sleep(0.1)


def test_it_shares_a_group_with_java(cluster, java):
    group = topic = "wire-shared"
    queues, heard, process = topic_of(java, cluster, topic), Heard(), Java(java, group)

    async def run():
        consumer = PushConsumer(
            group, name_server=cluster.name_server, listener=heard, intervals=QUICK,
            consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
        )  # fmt: skip
        consumer.subscribe(topic)
        async with consumer:
            await until(lambda: of(consumer, topic) == queues)
            await process.do("join", group, "j", [topic], strategy="AVG")
            await until_divided(process, consumer, topic, queues)
            await process.do("do", "send", topic=topic, count=200)
            await until_all(process, heard, 200)
            await seen_as_it_is(cluster, consumer, group)
            await process.do("leave", group, "j")
            await until(lambda: of(consumer, topic) == queues)
            await process.do("do", "send", topic=topic, count=100)
            n_java = await until_all(process, heard, 300)
        assert n_java and n_java + len(heard.messages) == 300
        places = Counter(
            (message.queue_id, message.store_host, message.queue_offset)
            for message in heard.messages
        )
        assert max(places.values()) == 1
        assert sum([await stored(cluster, group, queue) for queue in sorted(queues)]) == 300

    asyncio.run(run())


async def seen_as_it_is(cluster, consumer, group):
    """What `rmqalloc` reads of the member by its broker: what it owns, that it says so itself, and
    its strategy.
    """
    snapshot = await asyncio.to_thread(
        take_snapshot, [cluster.name_server], wanted=Wanted((group,), lag=False)
    )
    (seen,) = snapshot.groups
    (client,) = [one for one in seen.clients if one.client_id == consumer.client_id]
    assert set(client.owned) == consumer.queues()
    assert len(seen.clients) == 2 and client.strategy == "AVG"


@pytest.mark.parametrize("orderly", [False, True])
def test_it_seeks_by_time(cluster, java, orderly):
    group = topic = f"wire-sought-{orderly}"
    queues, heard = topic_of(java, cluster, topic), Heard()
    send = Java(java, group)

    async def run():
        consumer = PushConsumer(
            group, name_server=cluster.name_server, listener=heard, intervals=QUICK,
            consume_from_where=ConsumeFromWhere.FIRST_OFFSET, orderly=orderly,
        )  # fmt: skip
        consumer.subscribe(topic)
        async with consumer:
            await until(lambda: of(consumer, topic) == queues)
            await send.do("do", "send", topic=topic, count=40)
            await until(lambda: len(heard.messages) == 40)
            await asyncio.sleep(0.1)
            between = datetime.now(UTC)
            await asyncio.sleep(0.1)
            await send.do("do", "send", topic=topic, count=40)
            await until(lambda: len(heard.messages) == 80)
            later = heard.messages[40:]
            for to, again in (
                (between, later),
                (datetime.fromtimestamp(0, UTC), [*heard.messages]),
            ):
                del heard.messages[:]
                assert set(await consumer.seek(topic, to)) == queues
                await until(lambda: len(heard.messages) == len(again))  # noqa: B023 (awaited)
                assert places(heard.messages) == places(again)
                await until(lambda: of(consumer, topic) == queues)
            await consumer.seek(topic, datetime.now(UTC) + timedelta(hours=1))
            await until(lambda: of(consumer, topic) == queues)
        assert places(heard.messages) == places(again)
        assert sum([await stored(cluster, group, queue) for queue in sorted(queues)]) == 80

    asyncio.run(run())


def places(messages):
    return sorted(
        (message.broker_name, message.queue_id, message.queue_offset) for message in messages
    )
