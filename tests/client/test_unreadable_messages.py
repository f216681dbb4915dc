"""Messages that cannot be read, and answers that lead nowhere: each costs itself, and queues go on."""

import asyncio
import logging
import struct
import threading

import pytest
import simulated_time
from wire_cluster import FOUND, NOT_FOUND, WireCluster
from wire_members import Heard, bodies, member, until

from rmqalloc.client import _body_reader, _pulling
from rmqalloc.remoting import Command

PULL = 11
KINDS = {
    "garbage": lambda data: b"\xff" * 120,
    "magic code": lambda data: data[:4] + b"????" + data[8:],
    "size": lambda data: b"\x7f\xff\xff\xff" + data[4:],
    "batch of something else": lambda data: data[:36] + struct.pack(">i", 192) + data[40:],
}


def damage(broker, is_bad, change):
    """Let a broker send some messages damaged."""
    encoded = broker._encoded
    broker._encoded = lambda queue, offset, stored: (
        change(encoded(queue, offset, stored)) if is_bad(offset) else encoded(queue, offset, stored)
    )


def tally(consumer):
    return consumer._member.tally


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_message_costs_itself(kind, orderly):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard, [queue] = Heard(), cluster.queues()
            damage(
                cluster.brokers["broker-a"], lambda offset: offset % 10 in (0, 5, 6), KINDS[kind]
            )
            await cluster.put(queue, *bodies(*range(100)))
            async with member(cluster, heard.in_loop, orderly=orderly) as consumer:
                await until(lambda: cluster.stored("g") == {queue: 100})
                assert tally(consumer).undecodable == 30
            assert heard.bodies == [n for n in range(100) if n % 10 not in (0, 5, 6)]

    simulated_time.run(run())


@pytest.mark.parametrize("orderly", [False, True])
def test_messages_before_one_hold_the_offset_back(orderly):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            gate, [queue], seen = asyncio.Event(), cluster.queues(), []

            async def listener(messages):
                seen.extend(int(message.body) for message in messages)
                if seen[-1] == 3:
                    await gate.wait()

            damage(
                cluster.brokers["broker-a"], lambda offset: 4 <= offset < 40, KINDS["magic code"]
            )
            await cluster.put(queue, *bodies(*range(40)))
            async with member(cluster, listener, orderly=orderly) as consumer:
                await until(lambda: tally(consumer).undecodable == 36)
                await asyncio.sleep(5)
                assert cluster.stored("g").get(queue, 0) <= 3
                gate.set()
                await until(lambda: cluster.stored("g") == {queue: 40})
            assert seen == [0, 1, 2, 3]

    simulated_time.run(run())


def test_a_queue_full_of_them_is_a_line_a_minute(caplog, monkeypatch):
    caplog.set_level(logging.WARNING, _pulling.__name__)
    assert _pulling.LOGGED_EVERY == 60
    monkeypatch.setattr(_pulling, "LOGGED_EVERY", 5.0)

    async def run():
        async with WireCluster({"orders": 2}) as cluster:
            damage(cluster.brokers["broker-a"], lambda offset: True, KINDS["garbage"])
            async with member(cluster, Heard().in_loop) as consumer:
                for minute in range(3):
                    for queue in cluster.queues():
                        await cluster.put(queue, *bodies(*range(50)))
                    await until(lambda n=minute: tally(consumer).undecodable == 100 * (n + 1))
                    await asyncio.sleep(_pulling.LOGGED_EVERY)

    simulated_time.run(run())
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 6
    assert sum("at offset 0, which" in line and "; 1 since the last" in line for line in said) == 2
    assert sum("at offset 50, which" in line and "; 50 since" in line for line in said) == 2


WRONG = {
    "the same offset": lambda offset: (FOUND, offset),
    "back": lambda offset: (FOUND, offset - 3),
    "before the first": lambda offset: (FOUND, -(1 << 63)),
    "nothing and back": lambda offset: (NOT_FOUND, offset - 1),
    "moved before the first": lambda offset: (21, -1),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_answer_that_leads_back_is_asked_for_again_after_a_pause(kind, caplog):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            heard, [queue], broker = Heard(), cluster.queues(), cluster.brokers["broker-a"]
            await cluster.put(queue, *bodies(*range(64)))
            right, n_wrong = broker._pulled, 0

            def answer(code, following, of, body=b""):
                nonlocal n_wrong
                if following != 64 or n_wrong > 5:
                    return right(code, following, of, body)
                n_wrong += 1
                wrong, offset = WRONG[kind](32)
                return right(wrong, offset, of, body if wrong == FOUND else b"")

            broker._pulled = answer
            async with member(cluster, heard.in_loop):
                begun = asyncio.get_running_loop().time()
                await until(lambda: cluster.stored("g") == {queue: 64})
                spent = asyncio.get_running_loop().time() - begun
            assert n_wrong == 6 and spent > 6 * _pulling.AFTER_ERROR / 1_000
            assert heard.bodies == [*range(64)]

    simulated_time.run(run())
    assert "at offset 32 must continue from" in caplog.text


def test_a_broker_that_waits_for_no_message_is_not_asked_without_end():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            cluster.longest_poll = 0
            broker, heard = cluster.brokers["broker-a"], Heard()
            async with member(cluster, heard.in_loop):
                await until(lambda: broker.count(PULL))
                before = broker.count(PULL)
                await asyncio.sleep(10)
                assert 10 < broker.count(PULL) - before <= 2 * 10_000 / _pulling.BETWEEN_EMPTY + 4
                await cluster.put(cluster.queues()[0], *bodies(1))
                await until(lambda: heard.bodies == [1])

    simulated_time.run(run())


def test_a_large_body_is_read_on_a_thread_and_its_error_comes_back():
    async def run():
        reader, large = _body_reader.BodyReader(), Command(0, body=b"x" * 50_000)
        gate, begun = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(command):
            loop.call_soon_threadsafe(begun.set)
            assert gate.wait(60)
            return len(command.body)

        task = asyncio.create_task(reader.read(slow, large))
        await begun.wait()
        assert await reader.read(lambda command: "at once", Command(0, body=b"x")) == "at once"
        gate.set()
        assert await task == 50_000
        with pytest.raises(ZeroDivisionError):
            await reader.read(lambda command: 1 / 0, large)

    asyncio.run(run())
