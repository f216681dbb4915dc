"""What ports that are no servers, and servers that come and go, cost a member: connections, lines of
the log, and the time until it is back.
"""

import asyncio
import logging

import pytest
import simulated_time
from hostile_ports import PORTS, closes, counted, hostile_port, silent
from wire_cluster import WireCluster
from wire_members import AT_ONCE, Heard, bodies, member, until

from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import HeartbeatData, failing
from rmqalloc.remoting.failing import NotAskedError

PULL, HEART_BEAT, QUERY_OFFSET = 11, 34, 14


class Outage:
    """A broker of a running member that is something else for a while."""

    def __init__(self, cluster, name="broker-b"):
        self.broker, self.address = cluster.brokers[name], cluster.addresses[name]
        self.came = []

    def begin(self, serve):
        self.broker.instead = counted(serve, self.came)
        self.broker.drop_connections()

    async def end(self):
        """Let the broker return; the seconds until it is pulled from."""
        loop, n_pulls = asyncio.get_running_loop(), self.broker.count(PULL)
        self.broker.instead, begun = None, loop.time()
        await until(lambda: self.broker.count(PULL) > n_pulls)
        return loop.time() - begun


def queues_of(consumer, name):
    return [queue for queue in consumer.queues() if queue.broker_name == name]


def lines_of(caplog, address):
    """Lines of importance that are about an address, and what the log says of failing servers."""
    return [
        record.getMessage()
        for record in caplog.records
        if (record.levelno >= logging.WARNING or record.name == failing.__name__)
        and address in record.getMessage()
    ]


@pytest.fixture(autouse=True)
def recoveries_are_logged(caplog):
    caplog.set_level(logging.INFO, logger=failing.__name__)


def run_outage(serve, seconds, n_queues=4):
    """A member of two brokers, one of which is something else for a while; the outage, and the
    seconds until the broker was found again.
    """

    async def run():
        async with WireCluster({"orders": n_queues}, brokers=2) as cluster:
            cluster.longest_poll = 15
            heard, settings = Heard(), {"intervals": Intervals(), "profile": AT_ONCE}
            async with member(cluster, heard.in_loop, close_within=0.1, **settings) as consumer:
                await until(lambda: len(queues_of(consumer, "broker-b")) >= n_queues)
                await until(lambda: cluster.brokers["broker-b"].waiting >= n_queues)
                outage = Outage(cluster)
                outage.begin(serve)
                await asyncio.sleep(seconds)
                healthy = next(q for q in cluster.queues() if q.broker_name == "broker-a")
                await cluster.put(healthy, *bodies(1))
                await until(lambda: heard.bodies == [1], within=1)
                found_after = await outage.end()
                lost = next(q for q in cluster.queues() if q.broker_name == "broker-b")
                await cluster.put(lost, *bodies(2))
                await until(lambda: heard.bodies == [1, 2], within=1)
                assert consumer._member._servers.failing() == {}
                return outage, found_after

    return simulated_time.run(run())


@pytest.mark.parametrize("port", ["closes", "HTTP", "TLS alert", "SSH"])
def test_a_broker_that_is_something_else_costs_few_connections(port, caplog):
    outage, found_after = run_outage(PORTS[port], 20)
    assert len(outage.came) <= 25
    assert found_after <= 20 / 3 + 0.1
    assert [line.split()[1] for line in lines_of(caplog, outage.address)] == ["failed:", "answers"]


@pytest.mark.parametrize("seconds", [1, 10])
def test_a_broker_that_restarts_is_found_within_a_third_of_its_absence(seconds):
    outage, found_after = run_outage(closes, seconds)
    assert found_after <= max(seconds / 3, 0.2) + 0.1, outage.came


def test_after_a_long_absence_it_is_found_within_thirty_seconds(caplog):
    outage, found_after = run_outage(closes, 600)
    assert found_after <= 30
    assert len([at for at in outage.came if at > outage.came[0] + 200]) <= 17
    lines = lines_of(caplog, outage.address)
    assert len(lines) <= 2 + 600 / 60
    assert "the last: the connection was closed before any answer" in lines[1]


def test_all_queues_of_a_broker_share_one_connection(caplog):
    outage, _ = run_outage(closes, 20, n_queues=150)
    assert len(outage.came) <= 25
    assert len(outage.broker.channels) <= 1
    assert len(lines_of(caplog, "")) == 2


def test_a_silent_broker_keeps_its_connection():
    async def run():
        async with WireCluster({"orders": 2}, brokers=2) as cluster:
            outage, servers = Outage(cluster), None
            outage.begin(silent)
            async with member(cluster, print, close_within=0.1) as consumer:
                await asyncio.sleep(20)
                servers = consumer._member._servers
                assert len(outage.came) == 1
                assert outage.address not in servers.connected()
                failure = servers.failing()[outage.address]
                assert failure.reason.startswith("did not answer within")
                assert failure.since < asyncio.get_running_loop().time() - 15

    simulated_time.run(run())


@pytest.mark.parametrize("port", ["closes", "HTTP", "silent"])
def test_a_name_server_that_is_something_else_is_asked_last(port, caplog):
    async def run():
        async with WireCluster({"orders": 2}) as cluster, hostile_port(PORTS[port]) as found:
            address, came = found
            both = type("", (), {"name_server": f"{address};{cluster.name_server}"})
            async with member(both, print, close_within=0.1) as consumer:
                await asyncio.sleep(20)
                assert len(consumer.queues()) >= 2 and len(came) == 1
            return address

    address = simulated_time.run(run())
    assert len(lines_of(caplog, address)) == 1


def test_what_is_known_of_servers():
    async def run():
        async with WireCluster({"orders": 2}) as cluster, member(cluster, print) as consumer:
            await until(lambda: len(consumer.queues()) >= 2)
            servers, address = consumer._member._servers, cluster.addresses["broker-a"]
            assert set(servers.connected()) == {cluster.name_server, address}
            assert servers.failing() == {}
            outage = Outage(cluster, "broker-a")
            outage.begin(closes)
            await until(lambda: len(outage.came) > 3)
            assert servers.connected() == (cluster.name_server,)
            failure = servers.failing()[address]
            assert failure.reason.startswith("the connection was closed")
            assert failure.next_try > failure.since and failure.n_tries > 3

            await outage.end()
            assert address in servers.connected() and servers.failing() == {}

    simulated_time.run(run())


def test_requests_that_always_leave_wait_for_a_connection_too():
    async def run():
        async with WireCluster({"orders": 2}) as cluster, member(cluster, print) as consumer:
            await until(lambda: len(consumer.queues()) >= 2)
            outage, remoting = Outage(cluster, "broker-a"), consumer._member._remoting
            outage.begin(closes)
            await until(lambda: len(outage.came) > 8)
            n_came = len(outage.came)
            for _ in range(50):
                with pytest.raises(NotAskedError, match="failed and gets no request for another"):
                    await remoting.send_heartbeat(outage.address, HeartbeatData("x"))
            assert len(outage.came) == n_came

    simulated_time.run(run())


def test_a_member_that_was_frozen_pulls_again_within_seconds():
    """Its pulls have then waited for minutes, which says nothing of its brokers."""

    async def run():
        async with WireCluster({"orders": 2}) as cluster, member(cluster, print) as consumer:
            await until(lambda: len(consumer.queues()) >= 2)
            broker, loop = cluster.brokers["broker-a"], asyncio.get_running_loop()
            await until(lambda: broker.waiting >= 2)
            broker.drop_connections()
            loop.simulation.now += 300
            thawed, n_pulls = loop.time(), broker.count(PULL)
            await until(lambda: broker.count(PULL) > n_pulls)
            assert loop.time() - thawed < 2

    simulated_time.run(run())
