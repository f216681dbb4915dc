"""9 of the specification: what a cluster of clients promises once it has settled, whatever happened before."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from little_cluster import LittleCluster, manager_of, push, queues_of, started

from rmqalloc import sort_client_ids, sort_queues, strategy
from rmqalloc.rebalance import RouteViews, sorted_allocate
from rmqalloc.remoting import PROFILES

RULES = {
    "AVG": strategy("AVG"),
    "AVG_BY_CIRCLE": strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": strategy("CONSISTENT_HASH", virtual_nodes=4),
}
SETTLED = 45_000
steps = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from("vwxyz")),
        st.tuples(st.just("stop"), st.sampled_from("vwxyz")),
        st.tuples(st.just("kill"), st.sampled_from("vwxyz")),
        st.tuples(st.just("resize"), st.integers(1, 9)),
        st.tuples(st.just("wait"), st.integers(0, 5_000)),
        st.tuples(st.just("outage"), st.integers(1, 5_000)),
    ),
    min_size=1,
    max_size=12,
)


class Fleet:
    """Clients of one group that come and go."""

    def __init__(self, rule, orderly, profile):
        self.cluster = LittleCluster("broker-a", "broker-b")
        self.cluster.add_topic("T", 4)
        self.settings = {"strategy": RULES[rule], "orderly": orderly}
        self.profile = PROFILES[profile]
        self.running = {}

    def start(self, name):
        if name not in self.running:
            manager = manager_of(self.cluster, profile=self.profile, random=Random(name))
            self.running[name] = started(push(self.cluster, name, manager=manager, **self.settings))

    def stop(self, name):
        if name in self.running:
            self.running.pop(name).shutdown()

    def kill(self, name):
        """Its connections close with it, which brokers see."""
        if name in self.running:
            consumer = self.running.pop(name)
            consumer.client_factory.kill()
            self.cluster.factories.remove(consumer.client_factory)
            for broker in self.cluster.brokers.values():
                broker.unregister(consumer.client_id, "g")

    def resize(self, n_queues):
        self.cluster.add_topic("T", n_queues)

    def wait(self, milliseconds):
        self.cluster.clock.run_for(milliseconds)
        if self.settings["orderly"]:
            self.check_single_holders()

    def outage(self, milliseconds):
        broker = self.cluster.brokers["broker-a"]
        broker.down = True
        self.wait(milliseconds)
        broker.down = False

    def check_single_holders(self):
        """Ordered clients that hear of each other's locks never work on one queue both."""
        held = [queue for consumer in self.running.values() for queue in queues_of(consumer)]
        assert len(held) == len(set(held))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(RULES)), st.booleans(), st.sampled_from(sorted(PROFILES)), steps)
def test_p1_p2_clients_that_talk_to_brokers_only_come_to_the_same_partition(rule, orderly, profile, steps):
    fleet = Fleet(rule, orderly, profile)
    for verb, what in steps:
        getattr(fleet, verb)(what)
    fleet.start("x")
    fleet.cluster.clock.run_for(SETTLED + 65_000)  # the locks of the dead run out first
    queues = sort_queues(fleet.running["x"].rebalance.topic_subscribe_info["T"])
    client_ids = sort_client_ids(consumer.client_id for consumer in fleet.running.values())
    owned = {consumer.client_id: queues_of(consumer) for consumer in fleet.running.values()}
    expected = RULES[rule].assign(queues, client_ids)
    assert owned == {client_id: expected.queues_of(client_id) for client_id in client_ids}
    assert sorted(queue for mine in owned.values() for queue in mine) == queues


@pytest.mark.parametrize("n_clients", [1, 3, 7])
def test_one_allocation_can_answer_for_the_whole_group(n_clients):
    """Clients with one view are answered from one allocation, and come to what each would have worked out alone."""
    made = {}

    def shared(s, consumer_group, current_cid, mq_all, cid_all):
        key = mq_all, tuple(sorted(cid_all))
        if key not in made:
            made[key] = s.assign(list(mq_all), cid_all, sort=True)
        return made[key].queues_of(current_cid)

    def owners(allocate):
        cluster = LittleCluster("broker-a", "broker-b")
        cluster.add_topic("T", 10)
        views = RouteViews()
        consumers = []
        for i in range(n_clients):
            manager = manager_of(cluster, allocate=allocate, views=views)
            consumers.append(started(push(cluster, f"c{i}", manager=manager)))
        cluster.clock.run_for(25_000)
        return [queues_of(consumer) for consumer in consumers]

    assert owners(shared) == owners(sorted_allocate)
    assert len(made) <= 2 * n_clients


def test_p4_clients_beyond_the_queues_idle_and_p10_an_unknown_one_has_none():
    cluster = LittleCluster()
    cluster.add_topic("T", 2)
    consumers = [started(push(cluster, name)) for name in "xyz"]
    cluster.clock.run_for(25_000)
    assert [len(queues_of(consumer)) for consumer in consumers] == [1, 1, 0]


def test_different_subscriptions_leave_the_share_of_the_others_to_nobody():
    cluster = LittleCluster()
    queues = cluster.add_topic("T", 4)
    cluster.add_topic("U", 4)
    x, y = started(push(cluster, "x", topic="T")), started(push(cluster, "y", topic="U"))
    cluster.clock.run_for(25_000)
    assert queues_of(x, "T") == queues[:2]
    assert queues_of(y, "T") == []


def test_runs_repeat():
    def run():
        fleet = Fleet("AVG", True, "5.5")
        for name in "xyz":
            fleet.start(name)
            fleet.wait(1_700)
        fleet.kill("y")
        fleet.wait(30_000)
        return [broker.requests for broker in fleet.cluster.brokers.values()]

    assert run() == run()
