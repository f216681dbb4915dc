"""How a member ends: within its time, whatever its listener does, and with what was finished
stored.
"""

import asyncio
import re
import signal
import sys
import threading

import pytest
import simulated_time
from checkout import ROOT
from wire_cluster import WireCluster
from wire_members import Heard, bodies, member, own, until

from rmqalloc import ArgumentError
from rmqalloc.client import PushConsumer
from rmqalloc.remoting import ClientError

HEART_BEAT, UNREGISTER = 34, 35
PAGE = ROOT / "docs" / "authors" / "member.md"


class Hanging:
    """A listener that never returns from the message with a number in its body."""

    def __init__(self, number):
        self._number = str(number).encode()
        self.begun, self.gate = threading.Event(), threading.Event()

    def _hangs(self, messages):
        if bytes(messages[0].body) != self._number:
            return False
        self.begun.set()
        return True

    def plain(self, messages):
        if self._hangs(messages):
            self.gate.wait(3_600)

    async def waiting(self, messages):
        if self._hangs(messages):
            await asyncio.get_running_loop().create_future()

    async def stubborn(self, messages):
        while self._hangs(messages):
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                pass
            finally:
                await asyncio.sleep(0)


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("kind", ["plain", "waiting", "stubborn"])
def test_it_ends_in_time_with_a_listener_that_never_returns(kind, orderly):
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            queue, hanging = cluster.queues()[0], Hanging(3)
            await cluster.put(queue, *bodies(0, 1, 2, 3, 4))
            settings = {"consume_concurrently": 1, "orderly": orderly}
            consumer = member(cluster, getattr(hanging, kind), close_within=2, **settings)
            await consumer.start()
            if kind == "plain":
                await asyncio.to_thread(hanging.begun.wait, 60)
            await until(hanging.begun.is_set)
            now = asyncio.get_running_loop().time()
            await consumer.close()
            assert asyncio.get_running_loop().time() <= now + 2
            assert cluster.stored("g") == {queue: 3}
            assert cluster.brokers["broker-a"].client_ids("g") == []
            if orderly:
                locks = cluster.brokers["broker-a"].half.locks
                assert locks.try_lock_batch("g", [queue], "another") == {queue}
            tasks = [task for task in asyncio.all_tasks() if "consume" in repr(task.get_coro())]
            assert tasks == []
            hanging.gate.set()

    simulated_time.run(run())


def test_a_frozen_broker_takes_no_time_from_the_others():
    """Neither of leaving, nor of what a listener uses up."""

    async def run():
        async with WireCluster({"orders": 1}, brokers=3) as cluster:
            frozen, *healthy = cluster.brokers.values()
            hanging = Hanging(1)
            async with member(cluster, hanging.waiting) as consumer:
                await until(lambda: own(consumer) == set(cluster.queues()))
                for queue in cluster.queues():
                    await cluster.put(queue, *bodies(0))
                await cluster.put(cluster.queues()[1], *bodies(1))
                await until(hanging.begun.is_set)
                frozen.freeze()
                now = asyncio.get_running_loop().time()
                await consumer.close(timeout=1)
                assert asyncio.get_running_loop().time() <= now + 1
            assert [broker.client_ids("g") for broker in healthy] == [[], []]
            assert frozen.count(UNREGISTER) == 1
            assert [cluster.stored("g").get(queue) for queue in cluster.queues()[1:]] == [1, 1]

    simulated_time.run(run())


def test_all_calls_wait_for_the_same_end():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            hanging = Hanging(0)
            await cluster.put(cluster.queues()[0], *bodies(0))
            async with member(cluster, hanging.waiting) as consumer:
                await until(hanging.begun.is_set)
                first, second = (asyncio.create_task(consumer.close(it)) for it in (5, 3_600))
                await asyncio.sleep(1)
                assert not first.done() and not second.done()
                first.cancel()
                await asyncio.wait([first])
                assert first.cancelled()
                now = asyncio.get_running_loop().time()
                await second
                assert 1 < asyncio.get_running_loop().time() - now <= 4
                await consumer.close()
            assert cluster.brokers["broker-a"].client_ids("g") == []

    simulated_time.run(run())


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_listener_may_close_its_consumer(kind, orderly):
    """Its call counts, and nothing after it."""

    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            loop, queue, closed = asyncio.get_running_loop(), cluster.queues()[0], []
            await cluster.put(queue, *bodies(0, 1, 2))

            async def closing(messages):
                if int(messages[0].body) == 1:
                    await consumer.close(timeout=20)
                    closed.append(True)

            def plain(messages):
                asyncio.run_coroutine_threadsafe(closing(messages), loop).result(60)

            listener = closing if kind == "async" else plain
            settings = {"orderly": orderly, "consume_concurrently": 1}
            consumer = member(cluster, listener, **settings)
            await consumer.start()
            await until(lambda: consumer._member._closing is not None)
            await consumer.close()
            assert closed == [True]
            assert cluster.stored("g") == {queue: 2}

    asyncio.run(run())


def test_what_a_listener_has_begun_waits_for_the_end_once_it_has_returned():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            returned, tasks = asyncio.Event(), []

            async def later():
                await returned.wait()
                await consumer.close()
                return cluster.brokers["broker-a"].client_ids("g")

            async def listener(messages):
                tasks.append(asyncio.create_task(later()))

            await cluster.put(cluster.queues()[0], *bodies(0))
            consumer = member(cluster, listener)
            await consumer.start()
            await until(lambda: cluster.stored("g") == {cluster.queues()[0]: 1})
            returned.set()
            assert await tasks[0] == []

    simulated_time.run(run())


def test_closed_while_it_starts():
    async def run():
        async def silent(reader, writer):
            asked.set()
            await reader.read(-1)
            writer.close()

        asked = asyncio.Event()
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        consumer = PushConsumer("g", name_server=address, listener=print)
        consumer.subscribe("orders")
        starting = asyncio.create_task(consumer.start())
        await asked.wait()
        await consumer.close(timeout=0)
        with pytest.raises(ClientError, match="a consumer of g was closed while it started"):
            await starting
        server.close()

    simulated_time.run(run())


def test_closed_before_it_starts():
    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            consumer = member(cluster, Heard())
            await consumer.close()
            with pytest.raises(ClientError, match="a consumer of g was closed before it started"):
                await consumer.start()
            assert consumer.client_id is None

    simulated_time.run(run())


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_time_below_zero_is_refused(timeout):
    consumer = PushConsumer("g", name_server="10.0.0.1:9876", listener=print)
    with pytest.raises(ArgumentError, match="timeout must be a number of seconds from 0 on, got"):
        asyncio.run(consumer.close(timeout))


LISTENERS = {
    "plain": """
def stuck(messages):
    print("begun", flush=True)
    time.sleep(3_600)
""",
    "stubborn": """
async def stuck(messages):
    print("begun", flush=True)
    while True:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            pass
""",
}


@pytest.mark.parametrize(
    ("kind", "orderly", "number"),
    [("plain", True, signal.SIGTERM), ("stubborn", False, signal.SIGINT)],
)
def test_the_program_of_the_page_ends_by_a_signal(kind, orderly, number, tmp_path):
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]

    async def run():
        async with WireCluster({"orders": 1}) as cluster:
            settings = f"listener=stuck, close_within=0.4, orderly={orderly}"
            (tmp_path / "program.py").write_text(
                f"import asyncio, time\n{LISTENERS[kind]}\n"
                + program.replace("10.0.0.1:9876", cluster.name_server).replace(
                    "listener=bill", settings
                )
            )
            cluster.offsets["billing", cluster.queues()[0]] = 0
            await cluster.put(cluster.queues()[0], b"0", tag="paid")
            running = await asyncio.create_subprocess_exec(
                sys.executable, tmp_path / "program.py", stdout=asyncio.subprocess.PIPE
            )
            try:
                async with asyncio.timeout(60):
                    assert await running.stdout.readline() == b"begun\n"
                running.send_signal(number)
                async with asyncio.timeout(30):
                    assert await running.wait() == 0
            finally:
                if running.returncode is None:
                    running.kill()
            assert cluster.brokers["broker-a"].count(UNREGISTER) == 1

    asyncio.run(run())
