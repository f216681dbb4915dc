"""Connections of a member: what a silent server is spared, what leaves anyway, and for whom
requests are signed.
"""

import asyncio
from types import SimpleNamespace

import pytest
import simulated_time
from wire_cluster import WireCluster

from rmqalloc import MessageQueue
from rmqalloc.client._member_remoting import MemberRemoting
from rmqalloc.client._outcomes import Outcomes
from rmqalloc.client._servers import Servers
from rmqalloc.remoting import HeartbeatData, RemotingError, ResponseError
from rmqalloc.remoting.connection import SilentError
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.remoting.failing import NotAskedError
from rmqalloc.remoting.read_codes import ForbiddenRequestError

QUEUE = MessageQueue("orders", "broker-a", 0)


async def nothing(address, command):
    return None


def run(work, credentials=None, **more):
    async def ran():
        async with WireCluster({"orders": 2}) as cluster:
            broker = cluster.brokers["broker-a"]
            opened = []
            servers = Servers([cluster.name_server], None, credentials, "", nothing, opened.append)
            try:
                remoting = MemberRemoting(
                    servers, [*more.get("before", []), cluster.name_server], Outcomes("g", int)
                )
                await work(cluster, broker, cluster.addresses["broker-a"], servers, remoting)
            finally:
                await servers.close()
            return opened

    return simulated_time.run(ran())


def test_a_silent_server_is_spared_what_others_wait_for():
    async def work(cluster, broker, address, servers, remoting):
        broker.freeze()
        with pytest.raises(SilentError):
            await remoting.query_offset(address, "g", QUEUE)
        for ask in (remoting.query_offset(address, "g", QUEUE), remoting.max_offset(address, QUEUE),
                    remoting.consumer_ids(address, "g"), remoting.lock_batch(address, "g", "x", [QUEUE], 1_000)):  # fmt: skip
            with pytest.raises(
                RemotingError,
                match=r"gets no request for another 1\.\d s: did not answer within 5 s",
            ):
                await ask
        assert [code for code, _ in broker.asked] == [14]
        broker.thaw()
        await remoting.update_offset(address, "g", QUEUE, 7)
        await remoting.send_heartbeat(address, HeartbeatData("x"))
        assert [code for code, _ in broker.asked] == [14, 15, 34]
        assert await remoting.query_offset(address, "g", QUEUE) == 7, "it has answered"

    run(work)


def test_an_answer_that_says_no_is_an_answer():
    async def work(cluster, broker, address, servers, remoting):
        for _ in range(2):
            with pytest.raises(ResponseError):
                await remoting.query_offset(address, "g", QUEUE)

    run(work)


def test_an_answer_does_not_undo_that_the_connection_ended():
    """Else a server that answers and closes would be connected to without a pause."""

    async def work(cluster, broker, address, servers, remoting):
        send = broker._answer

        async def answer_and_damage(channel, command):
            written = []
            await send(SimpleNamespace(writer=SimpleNamespace(write=written.append)), command)
            channel.writer.write(b"".join(written) + b"\xff" * 4)

        broker._answer = answer_and_damage
        assert await remoting.max_offset(address, QUEUE) == 0
        with pytest.raises(NotAskedError, match="a frame of -1 bytes was announced"):
            await remoting.max_offset(address, QUEUE)

    run(work)


def test_a_name_server_that_is_gone_is_asked_last():
    async def work(cluster, broker, address, servers, remoting):
        for _ in range(2):
            assert (await remoting.topic_route("orders")).queue_datas[0].read_queue_nums == 2
        with pytest.raises(ResponseError):
            await remoting.topic_route("nothing")

    assert len(set(run(work, before=["127.0.0.1:9"]))) == 1


def test_what_a_name_server_answers_is_read_with_care():
    """The error says who answered."""

    async def work(cluster, broker, address, servers, remoting):
        broker.half.consumers.consumer_ids = lambda group: ["x"]
        broker._on_14 = broker._on_38
        with pytest.raises(
            RemotingError,
            match=rf"{address} answered QUERY_CONSUMER_OFFSET with an unreadable body",
        ):
            await remoting.query_offset(address, "g", QUEUE)

    run(work)


def test_other_codes_do_not_leave():
    async def work(cluster, broker, address, servers, remoting):
        with pytest.raises(ForbiddenRequestError):
            await servers.ask(address, 10, {})
        assert broker.asked == []

    run(work)


def test_requests_are_signed_for_servers_that_were_named():
    keys = Credentials("key", "secret")

    async def work(cluster, broker, address, servers, remoting):
        await remoting.send_heartbeat(address, HeartbeatData("x"))
        ((_, fields),) = broker.asked
        assert fields["AccessKey"] == "key" and fields["Signature"]
        with pytest.raises(RemotingError, match=r"no request is sent to 192\.0\.2\.7:10911"):
            await remoting.send_heartbeat("192.0.2.7:10911", HeartbeatData("x"))

    run(work, credentials=keys)


class Waiting:
    def __init__(self):
        self.ended = None

    def takes_consume_lock(self, now, wait):
        return False

    def when_ended(self, call):
        self.ended = call


@pytest.mark.parametrize("ends", [False, True])
def test_a_removal_waits_for_the_listener(ends):
    async def work(cluster, broker, address, servers, remoting):
        queue = Waiting()
        asked = asyncio.create_task(remoting.consumed(queue, 20_000 if ends else 10))
        await asyncio.sleep(0)
        if ends:
            queue.ended()
        assert await asked is ends
        assert queue.ended is None

    run(work)
