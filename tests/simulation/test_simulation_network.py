"""Requests between clients and brokers: how long they take, how they fail, and what is lost."""

import weakref

import pytest

from rmqalloc import MessageQueue, strategy
from rmqalloc.broker import Broker
from rmqalloc.rebalance import UnsortableError, sorted_allocate
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    ConsumerData,
    HeartbeatData,
    MessageModel,
    RemotingError,
    ResponseError,
)
from rmqalloc.simulation import Cluster, Flow
from rmqalloc.simulation._allocation_cache import KEPT, SharedAllocation
from rmqalloc.simulation._cluster import NameServer
from rmqalloc.simulation._network import ClientRemoting, Network
from rmqalloc.simulation._virtual_clock import EPOCH, Process, VirtualClock

QUEUE = MessageQueue("t", "broker-a", 0)
ADDRESS = "broker-a:10911"
BEAT = HeartbeatData("x@1", (ConsumerData("g"),))


class Client:
    """A client that only listens."""

    is_woken = False
    changed = ()
    first_loss = 0  # so each request looks

    def __init__(self, name, network):
        self.name = name
        self.process = Process(network.clock)
        self.network = network
        self.notices = []
        self.connects = 0
        self.looks = 0
        self.remoting = ClientRemoting(network, self)

    def notified(self, consumer_group):
        self.notices.append((self.network.clock.elapsed(), consumer_group))

    def connected(self, address):
        self.connects += 1

    @property
    def reader(self):
        return self

    def look(self):
        self.looks += 1

    def offset_of(self, queue, offset):
        return offset + 1

    def wait_for_listeners(self, queues):
        self.network.clock.spend(3 * len(queues))


@pytest.fixture
def network():
    clock = VirtualClock()
    names = NameServer()
    network = Network(clock, names.topic_route, latency=20)
    broker = Broker("broker-a", clock, DEFAULT_PROFILE, topic_route=names.topic_route)
    names.register(broker, ADDRESS)
    network.brokers[ADDRESS] = broker
    return network


@pytest.fixture
def client(network):
    return Client("x", network)


def at(network, milliseconds):
    network.clock.run(EPOCH + milliseconds)


def test_a_request_takes_its_way_there_and_back(network, client):
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    assert network.clock.elapsed() == 40
    (info,) = network.brokers[ADDRESS].consumers.groups["g"].channels.values()
    assert info.last_update - EPOCH == 20
    assert client.remoting.consumer_ids(ADDRESS, "g") == ["x@1"]
    assert network.clock.elapsed() == 80
    assert dict(network.requests) == {"heartbeat": 1, "consumer_ids": 1}
    assert (client.connects, client.looks) == (1, 2)


def test_an_error_comes_back_as_slowly_as_an_answer(network, client):
    with pytest.raises(ResponseError):
        client.remoting.query_offset(ADDRESS, "g", QUEUE)
    assert network.clock.elapsed() == 40
    with pytest.raises(ResponseError):
        client.remoting.topic_route("unknown")
    assert network.clock.elapsed() == 80


def test_an_answer_that_comes_too_late_is_none_though_the_request_took_effect(network, client):
    with pytest.raises(RemotingError, match="no answer within 30 ms"):
        client.remoting.lock_batch(ADDRESS, "g", "x@1", [QUEUE], timeout=30)
    assert network.clock.elapsed() == 30
    assert client.remoting.lock_batch(ADDRESS, "g", "y@1", [QUEUE], timeout=100) == set()
    with pytest.raises(RemotingError):
        client.remoting.lock_batch(ADDRESS, "g", "x@1", [QUEUE], timeout=5)
    assert network.clock.elapsed() == 30 + 40 + 5


def test_a_broker_that_is_down_refuses_at_once(network, client):
    with pytest.raises(RemotingError, match="refuses"):
        client.remoting.consumer_ids("nowhere:1", "g")
    assert network.clock.elapsed() == 40


def test_a_partition_costs_the_timeout_and_loses_what_is_sent(network, client):
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    at(network, 100)
    client.remoting.update_offset(ADDRESS, "g", QUEUE, 1)
    network.partitions.add(("x", "broker-a"))
    client.remoting.update_offset(ADDRESS, "g", QUEUE, 5)
    at(network, 200)
    with pytest.raises(RemotingError, match="within 3000 ms"):
        client.remoting.consumer_ids(ADDRESS, "g")
    assert network.clock.elapsed() == 3_200
    network.partitions.clear()
    with pytest.raises(ResponseError):
        client.remoting.query_offset(ADDRESS, "g", QUEUE)


def test_what_is_only_sent_takes_effect_when_it_arrives(network, client):
    client.remoting.update_offset(ADDRESS, "g", QUEUE, 7)
    broker = network.brokers[ADDRESS]
    with pytest.raises(ResponseError):
        broker.offsets.query_offset("g", QUEUE)
    assert network.clock.elapsed() == 0
    at(network, 20)
    assert broker.offsets.query_offset("g", QUEUE) == 8, "the host says which offset"
    client.remoting.lock_batch(ADDRESS, "g", "x@1", [QUEUE], 1_000)
    for oneway, spent in ((True, 3), (False, 43)):
        before = network.clock.elapsed()
        client.remoting.unlock_batch(ADDRESS, "g", "x@1", [QUEUE], oneway)
        assert network.clock.elapsed() - before == spent
    at(network, 300)
    assert client.remoting.lock_batch(ADDRESS, "g", "y@1", [QUEUE], 1_000) == {QUEUE}


def test_a_member_leaves_when_its_word_arrives(network, client):
    other = Client("y", network)
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    other.remoting.send_heartbeat(ADDRESS, HeartbeatData("y@1", (ConsumerData("g"),)))
    at(network, 1_000)
    del other.notices[:]
    client.remoting.unregister_client(ADDRESS, "x@1", "g")
    at(network, 2_000)
    assert network.brokers[ADDRESS].consumers.consumer_ids("g") == ["y@1"]
    assert other.notices == [(1_040, "g")]


def test_notices_of_one_moment_are_one_and_those_of_lost_connections_none(network, client):
    broker = network.brokers[ADDRESS]
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    at(network, 100)
    client.notices.clear()
    (channel,) = broker.consumers.groups["g"].channels
    for _ in range(3):
        channel.notify_consumer_ids_changed("g")
    before = network.n_notices
    at(network, 200)
    assert (client.notices, before) == ([(120, "g")], network.n_notices)
    channel.notify_consumer_ids_changed("g")
    network.partitions.add(("x", "broker-a"))
    at(network, 300)
    network.partitions.clear()
    channel.notify_consumer_ids_changed("g")
    channel.close()
    at(network, 400)
    assert client.notices == [(120, "g")]


def test_a_closed_connection_is_told_to_the_broker_and_made_anew(network, client):
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    client.remoting.connections[ADDRESS].close()
    at(network, 100)
    assert network.brokers[ADDRESS].consumers.groups == {}
    client.remoting.update_offset(ADDRESS, "g", QUEUE, 1)
    assert client.connects == 2
    network.brokers.clear()
    client.remoting.connections[ADDRESS].close()
    with pytest.raises(RemotingError):
        client.remoting.update_offset(ADDRESS, "g", QUEUE, 1)


def test_other_requests_are_answered(network, client):
    broker = network.brokers[ADDRESS]
    client.remoting.send_heartbeat(ADDRESS, BEAT)
    answer = client.remoting.query_assignment(
        ADDRESS, "%RETRY%g", "g", "x@1", "AVG", MessageModel.CLUSTERING
    )
    assert [one.queue for one in answer] == [MessageQueue("%RETRY%g", "broker-a", 0)]
    assert client.remoting.max_offset(ADDRESS, QUEUE) == broker.store.max_offset(QUEUE)
    assert client.remoting.search_offset(ADDRESS, QUEUE, 5) == 0


# --- Routes and shared allocations ---


def test_a_route_is_one_object_until_it_changes():
    cluster = Cluster(DEFAULT_PROFILE)
    for name in ("broker-b", "broker-a"):
        cluster.start_broker(name)
        cluster.set_topic("t", name, 2)
    route = cluster.network.topic_route("t")
    assert [data.broker_name for data in route.broker_datas] == ["broker-a", "broker-b"]
    assert cluster.network.topic_route("t") is route
    cluster.set_topic("t", "broker-a", 3)
    assert cluster.network.topic_route("t") is not route
    cluster.stop_broker("broker-b")
    assert [data.read_queue_nums for data in cluster.network.topic_route("t").queue_datas] == [3]


def test_a_broker_that_crashed_stays_in_routes_for_two_minutes():
    cluster = Cluster(DEFAULT_PROFILE)
    cluster.start_broker("broker-a")
    cluster.set_topic("t", "broker-a", 2)
    cluster.stop_broker("broker-a", crash=True)
    cluster.run(119_999)
    assert cluster.network.topic_route("t").queue_datas
    cluster.run(120_000)
    with pytest.raises(ResponseError):
        cluster.network.topic_route("t")
    cluster.start_broker("broker-a")
    cluster.stop_broker("broker-a", crash=True)
    cluster.start_broker("broker-a")
    cluster.run(300_000)
    assert cluster.network.topic_route("t").queue_datas, "it has come back in time"


@pytest.mark.parametrize(
    "s",
    [
        strategy("AVG"),
        strategy("CONSISTENT_HASH"),
        strategy("MACHINE_ROOM", machine_rooms={"hz"}),
        strategy("CONFIG", message_queues=[QUEUE]),
        strategy("POP", inner=strategy("AVG"), pop_share_queue_num=1),
    ],
    ids=lambda s: s.get_name(),
)
@pytest.mark.parametrize("client_ids", [["b", "a", "c"], ["b", "a", "b"], ["é", "a", ""], []])
def test_a_shared_allocation_answers_as_each_client_would_alone(s, client_ids):
    queues = frozenset(MessageQueue("t", name, i) for name in ("hz@1", "sh@1") for i in range(4))
    shared = SharedAllocation()
    for _ in range(2):
        for client_id in [*client_ids, "ghost", ""]:
            assert answer(shared, s, client_id, queues, client_ids) == answer(
                sorted_allocate, s, client_id, queues, client_ids
            )


def answer(allocate, s, client_id, queues, client_ids):
    try:
        return list(allocate(s, "g", client_id, queues, client_ids))
    except (ValueError, TypeError) as error:
        return type(error), str(error)


def test_a_shared_allocation_refuses_what_cannot_be_sorted():
    with pytest.raises(UnsortableError):
        SharedAllocation()(strategy("AVG"), "g", "a", frozenset([QUEUE]), ["a", None])


def test_a_shared_allocation_forgets_old_views_and_never_mixes_them_up():
    shared, s, views = SharedAllocation(), strategy("AVG"), []
    for n in range(1, KEPT * 2):
        queues = frozenset(MessageQueue("t", "b", i) for i in range(n))
        views.append(weakref.ref(queues))
        assert len(shared(s, "g", "a", queues, ["a"])) == n
    assert [view() is not None for view in views] == [False] * (KEPT - 1) + [True] * KEPT


def test_flows_are_watched_per_topic():
    cluster = Cluster(DEFAULT_PROFILE)
    cluster.start_broker("broker-a")
    cluster.set_topic("t", "broker-a", 2)
    group = cluster.add_group("g", {"t": Flow(1, 1)}, strategy("AVG"))
    assert cluster.expected_owners(group, "broker-a") == {
        QUEUE: None,
        MessageQueue("t", "broker-a", 1): None,
    }
