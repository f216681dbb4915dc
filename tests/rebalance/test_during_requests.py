"""What happens while a request waits counts from then on, as far as Java looks at it again."""

import pytest
from little_cluster import LittleCluster, Reads, VirtualClock, manager_of, push, queues_of, started

from rmqalloc.rebalance import FixedRate, Lane, Request, VirtualDriver
from rmqalloc.remoting import (
    BrokerData,
    ConsumeFromWhere,
    QueueData,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)


class Holding:
    """Holds requests of one kind, and answers the others at once."""

    def __init__(self, cluster, method):
        self.cluster, self.method = cluster, method
        self.held = []

    def __call__(self, factory):
        remoting = self.cluster.connect(factory)

        def begin(request, answered):
            if request.method == self.method:
                self.held.append((remoting, request, answered))
            else:
                answered(*outcome(remoting, request))

        return VirtualDriver(begin)

    def release(self):
        remoting, request, answered = self.held.pop(0)
        answered(*outcome(remoting, request))


def outcome(remoting, request):
    try:
        return getattr(remoting, request.method)(*request.arguments), None
    except ResponseError as error:
        return None, error


def test_a_heartbeat_goes_to_the_addresses_that_brokers_have_by_then():
    cluster = LittleCluster("broker-a", "broker-b", T=1)
    cluster.addresses["broker-b:moved"] = cluster.brokers["broker-b"]
    holding = Holding(cluster, "send_heartbeat")
    consumer = push(cluster, manager=manager_of(cluster, connect=holding))
    consumer.start()
    assert [request.address for _, request, _ in holding.held] == ["broker-a:master"]
    moved = TopicRouteData(
        (QueueData("broker-b", 1, 1),), (BrokerData("broker-b", {0: "broker-b:moved"}),)
    )
    consumer.client_factory.routes.put("T", moved)
    holding.release()
    assert [request.address for _, request, _ in holding.held] == ["broker-b:moved"]


def test_a_queue_that_goes_while_a_pass_waits_is_taken_by_the_same_pass():
    cluster = LittleCluster()
    first, _, last = cluster.add_topic("T", 3)
    holding = Holding(cluster, None)
    consumer = started(
        push(cluster, manager=manager_of(cluster, connect=holding), dispatcher=Reads())
    )
    factory = consumer.client_factory
    cluster.clock.run_for(5_000)
    holding.method = "query_offset"
    factory.run(consumer.rebalance.remove_process_queue(first))
    factory.rebalance_immediately()
    cluster.clock.run_for(0)
    factory.run(consumer.rebalance.remove_process_queue(last))
    for queue in (first, last):
        assert [request.arguments[-1] for _, request, _ in holding.held] == [queue]
        holding.release()
    assert not holding.held and len(queues_of(consumer)) == 3


@pytest.mark.parametrize(
    ("before", "asked"),
    [(ConsumeFromWhere.LAST_OFFSET, "max_offset"), (ConsumeFromWhere.TIMESTAMP, "search_offset")],
)
def test_where_a_queue_begins_is_as_the_consumer_was_set_when_it_asked_for_the_offset(
    before, asked
):
    cluster = LittleCluster()
    (queue,) = cluster.add_topic("T", 1)
    consumer = started(push(cluster, consume_from_where=before))
    cluster.clock.run_for(50)
    steps = consumer.rebalance.compute_pull_from_where_with_exception(queue)
    assert next(steps).method == "query_offset"
    consumer.consume_from_where = ConsumeFromWhere.FIRST_OFFSET
    assert steps.throw(ResponseError(ResponseCode.QUERY_NOT_FOUND, "none")).method == asked


def test_what_is_late_in_a_lane_is_done_by_the_time_at_which_it_was_due():
    clock, seen, held = VirtualClock(), [], []
    lane = Lane(VirtualDriver(lambda request, answered: held.append(answered)))

    def steps(name):
        seen.append(name)
        if name == "slow" and seen.count("slow") == 1:
            yield Request("topic_route", ("T",))

    for name, first, period in (("slow", 0, 100), ("often", 10, 15), ("once", 32, 100)):
        FixedRate(clock, first, period, lambda name=name: steps(name), lane)
    clock.run_for(50)
    assert seen == ["slow"]
    held[0](None, None)
    assert seen == ["slow", "often", "often", "once", "often"]
