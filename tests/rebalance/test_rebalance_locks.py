"""4.9 of the specification: locks of ordered groups, as the client sees them."""

import pytest
from little_cluster import LittleCluster, ManualPulls, manager_of, push, queues_of, started

from rmqalloc import MessageQueue, strategy
from rmqalloc.rebalance import ProcessQueue
from rmqalloc.remoting import (
    BrokerData,
    MessageModel,
    QueueData,
    RemotingError,
    TopicQueueMappingInfo,
    TopicRouteData,
)


@pytest.fixture
def cluster():
    return LittleCluster("broker-a", "broker-b")


def ordered(cluster, n_queues=2, **settings):
    cluster.add_topic("T", n_queues)
    consumer = started(push(cluster, orderly=True, **settings))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    return consumer


def requests(cluster, kind):
    """Requests of one kind at all brokers: the broker, what was asked for, and the last detail."""
    return [
        (name, what, detail)
        for name, broker in sorted(cluster.brokers.items())
        for *_, what, detail in broker.asked(kind)
    ]


def forget_requests(cluster):
    for broker in cluster.brokers.values():
        broker.requests.clear()


def test_4_9_a_queue_is_locked_alone_at_the_master_of_its_broker_within_a_second(cluster):
    consumer = ordered(cluster, n_queues=1)
    a, b = queues_of(consumer)
    assert requests(cluster, "lock") == [("broker-a", {a}, 1_000), ("broker-b", {b}, 1_000)]


def test_4_9_locking_renews_every_queue_the_broker_names(cluster):
    consumer = ordered(cluster)
    first, second = queues_of(consumer)[:2]
    table = consumer.rebalance.process_queue_table
    for process_queue in table.values():
        process_queue.locked = False
    cluster.brokers["broker-a"].lock = lambda consumer_group, client_id, queues: {first, second}
    cluster.clock.jump(5)
    assert consumer.client_factory.finish(consumer.rebalance.lock(first))
    assert [table[queue].locked for queue in queues_of(consumer)] == [True, True, False, False]
    assert table[second].last_lock_timestamp == cluster.clock.now()


def test_4_9_a_lock_is_refused_without_a_master_an_answer_or_the_queue_in_it(cluster):
    consumer = ordered(cluster)
    queue = queues_of(consumer)[0]
    broker = cluster.brokers["broker-a"]
    broker.locks["g", queue] = "somebody", cluster.clock.now()
    assert not consumer.client_factory.finish(consumer.rebalance.lock(queue))
    broker.locks.clear()
    broker.down = True
    assert not consumer.client_factory.finish(consumer.rebalance.lock(queue))
    broker.down = False
    consumer.client_factory.routes.broker_addresses["broker-a"] = {1: "broker-a:slave"}
    assert not consumer.client_factory.finish(consumer.rebalance.lock(queue)), (
        "a slave is not asked"
    )
    assert not consumer.client_factory.finish(
        consumer.rebalance.lock(MessageQueue("T", "broker-z", 0))
    )


def test_4_9_a_new_queue_counts_its_lock_from_its_creation(cluster):
    consumer = ordered(cluster)
    (process_queue, *_) = consumer.rebalance.process_queue_table.values()
    assert process_queue.locked and process_queue.last_lock_timestamp == cluster.clock.now()


def test_4_9_all_locks_are_renewed_after_a_second_and_then_every_20_s_by_two_services_one_request_per_broker(
    cluster,
):
    consumer = ordered(cluster)
    forget_requests(cluster)
    start = cluster.clock.now()
    cluster.clock.run_for(41_000)
    renewals = [
        (at - start, len(what)) for at, *_, what, _ in cluster.brokers["broker-a"].asked("lock")
    ]
    assert renewals == [(at, 2) for at in (1_000, 1_000, 21_000, 21_000, 41_000, 41_000)]
    assert {
        process_queue.last_lock_timestamp - start for process_queue in table_of(consumer).values()
    } == {41_000}


def table_of(consumer):
    return consumer.rebalance.process_queue_table


@pytest.mark.parametrize(
    "settings", [{"orderly": False}, {"orderly": True, "message_model": MessageModel.BROADCASTING}]
)
def test_4_9_nobody_else_renews_locks(cluster, settings, tmp_path):
    cluster.add_topic("T", 2)
    started(push(cluster, manager=manager_of(cluster, offset_directory=tmp_path), **settings))
    cluster.clock.run_for(60_000)
    assert requests(cluster, "lock") == []


def test_4_9_renewing_marks_what_was_lost_and_leaves_alone_what_was_not_answered(cluster):
    consumer = ordered(cluster)
    a0, a1, b0, _ = queues_of(consumer)
    cluster.brokers["broker-a"].locks["g", a1] = "somebody", cluster.clock.now()
    cluster.brokers["broker-b"].down = True
    cluster.clock.jump(5_000)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    table, now = table_of(consumer), cluster.clock.now()
    assert [table[queue].locked for queue in (a0, a1, b0)] == [True, False, True]
    assert [now - table[queue].last_lock_timestamp for queue in (a0, a1, b0)] == [0, 5_000, 5_000]


def test_4_9_renewing_passes_dropped_queues_over(cluster):
    consumer = ordered(cluster)
    a0 = queues_of(consumer)[0]
    table_of(consumer)[a0].dropped = True
    forget_requests(cluster)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    assert all(a0 not in what for _, what, _ in requests(cluster, "lock"))


def test_4_9_unlocking_all_asks_each_master_once_and_marks_what_it_unlocked(cluster):
    consumer = ordered(cluster)
    cluster.brokers["broker-b"].refuses["unlock"] = RemotingError("timeout")
    consumer.client_factory.finish(consumer.rebalance.unlock_all(oneway=False))
    assert [(name, len(what), oneway) for name, what, oneway in requests(cluster, "unlock")] == [
        ("broker-a", 2, False),
        ("broker-b", 2, False),
    ]
    table = table_of(consumer)
    assert [table[queue].locked for queue in queues_of(consumer)] == [False, False, True, True]


def test_4_9_unlocking_one_queue_needs_its_master_and_no_answer(cluster):
    consumer = ordered(cluster)
    queue = queues_of(consumer)[0]
    cluster.brokers["broker-a"].refuses["unlock"] = RemotingError("timeout")
    consumer.client_factory.finish(consumer.rebalance.unlock(queue, oneway=False))
    consumer.client_factory.routes.broker_addresses.clear()
    consumer.client_factory.finish(consumer.rebalance.unlock(queue, oneway=False))
    assert requests(cluster, "unlock") == [("broker-a", {queue}, False)]


def test_4_9_a_lock_is_lost_after_more_than_30_s(cluster):
    process_queue = ProcessQueue(now=0)
    assert not process_queue.is_lock_expired(30_000)
    assert process_queue.is_lock_expired(30_001)


def test_4_9_consuming_needs_a_lock_that_is_not_lost(cluster):
    consumer = ordered(cluster)
    (process_queue, *_) = table_of(consumer).values()
    may = consumer.orderly_service.may_consume
    assert may(process_queue)
    cluster.clock.jump(30_001)
    assert not may(process_queue)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    assert may(process_queue)
    process_queue.locked = False
    assert not may(process_queue)


def test_4_9_a_broadcasting_group_consumes_in_order_without_locks(cluster, tmp_path):
    manager = manager_of(cluster, offset_directory=tmp_path)
    consumer = ordered(cluster, message_model=MessageModel.BROADCASTING, manager=manager)
    (process_queue, *_) = table_of(consumer).values()
    process_queue.locked = False
    assert consumer.orderly_service.may_consume(process_queue)
    consumer.shutdown()
    assert requests(cluster, "unlock") == []


def test_4_9_a_lost_lock_is_retried_in_10_ms_and_consuming_resumes_soon_or_in_3_s(cluster):
    consumer = ordered(cluster)
    queue = queues_of(consumer)[0]
    resumed = []
    consumer.orderly_service.lock_later(queue, resumed.append)
    cluster.clock.run_for(9)
    assert resumed == []
    cluster.clock.run_for(1)
    assert resumed == [10]
    cluster.brokers["broker-a"].down = True
    consumer.orderly_service.lock_later(queue, resumed.append)
    cluster.clock.run_for(10)
    assert resumed == [10, 3_000]


def test_4_9_one_queue_is_consumed_for_60_s_at_a_stretch(cluster):
    consumer = ordered(cluster)
    since = cluster.clock.now()
    cluster.clock.jump(60_000)
    assert consumer.orderly_service.may_go_on(since)
    cluster.clock.jump(1)
    assert not consumer.orderly_service.may_go_on(since)


def test_4_9_an_ordered_queue_is_pulled_under_its_lock_the_first_time_from_its_offset_read_anew(
    cluster,
):
    pulls = ManualPulls()
    consumer = ordered(cluster, n_queues=1, dispatcher=pulls)
    request, _ = pulls.pulls[0]

    def ready(request):
        return consumer.client_factory.finish(consumer.rebalance.prepare_ordered_pull(request))

    request.process_queue.locked = False
    assert not ready(request)
    request.process_queue.locked = True
    broker = cluster.brokers["broker-a"]
    broker.down = True
    assert not ready(request), "its offset cannot be read"
    broker.down = False
    assert ready(request)
    assert (request.next_offset, request.previously_locked) == (0, True)
    request.previously_locked = False
    broker.offsets["g", request.queue] = 12
    assert ready(request)
    assert (request.next_offset, request.previously_locked) == (12, True)
    broker.offsets["g", request.queue] = 15
    assert ready(request)
    assert request.next_offset == 12


def test_4_9_two_ordered_clients_never_hold_a_queue_both(cluster):
    cluster.add_topic("T", 4)
    x, y = (push(cluster, name, orderly=True) for name in "xy")
    x.start()
    cluster.clock.run_for(5_000)
    for process_queue in table_of(x).values():
        process_queue.begin_consuming(cluster.clock.now() + 8_000)
    y.start()
    for _ in range(40):
        cluster.clock.run_for(500)
        assert not set(queues_of(x)) & set(queues_of(y))
    assert len(queues_of(x)) == len(queues_of(y)) == 4


def static_route():
    """A static topic of four logical queues, two on each broker."""
    mapping = {
        name: TopicQueueMappingInfo(name, 4, current_id_map=dict.fromkeys(ids, 0))
        for name, ids in (("broker-a", (0, 1)), ("broker-b", (2, 3)))
    }
    return TopicRouteData(
        tuple(QueueData(name, 1, 1) for name in mapping),
        tuple(BrokerData(name, {0: f"{name}:master"}) for name in mapping),
        mapping,
    )


def test_4_9_logical_queues_are_renewed_with_their_physical_broker(cluster):
    cluster.routes["S"] = static_route()
    queues = [MessageQueue("S", "__syslo__global__", i) for i in range(4)]
    consumer = started(
        push(cluster, topic="S", orderly=True, strategy=strategy("CONFIG", message_queues=queues))
    )
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    forget_requests(cluster)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    assert [(name, what) for name, what, _ in requests(cluster, "lock")] == [
        ("broker-a", set(queues[:2])),
        ("broker-b", set(queues[2:])),
    ]
