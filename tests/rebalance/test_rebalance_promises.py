"""9 of the specification: what a cluster of clients promises once it has settled, whatever happened
before.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from little_cluster import LittleCluster, manager_of, push, queues_of, started
from little_fleet import LIVES, RULES, Fleet

from rmqalloc.rebalance import RouteViews, sorted_allocate
from rmqalloc.remoting import PROFILES


@examples(60)
@given(st.sampled_from(sorted(RULES)), st.booleans(), st.sampled_from(sorted(PROFILES)), LIVES)
def test_p1_p2_clients_that_talk_to_brokers_only_come_to_the_same_partition(
    rule, orderly, profile, lives
):
    fleet = Fleet(rule, orderly, profile)
    for verb, what in lives:
        getattr(fleet, verb)(what)
    fleet.check_settled()


@pytest.mark.parametrize("n_clients", [1, 3, 7])
def test_one_allocation_can_answer_for_the_whole_group(n_clients):
    """Clients with one view are answered from one allocation, and come to what each would have
    worked out alone.
    """
    made = {}

    def shared(s, consumer_group, current_cid, mq_all, cid_all):
        key = mq_all, tuple(sorted(cid_all))
        if key not in made:
            made[key] = s.assign(list(mq_all), cid_all, sort=True)
        return made[key].queues_of(current_cid)

    def owners(allocate):
        cluster = LittleCluster("broker-a", "broker-b", T=10)
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
    cluster = LittleCluster(T=2)
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
