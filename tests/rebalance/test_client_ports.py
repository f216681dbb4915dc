"""What docs/authors/build.md and rmqalloc/rebalance/_ports.py promise to authors of clients: when ports
are called and may fail.
"""

import pytest
from little_cluster import Changes, LittleCluster, Reads, manager_of, push, queues_of, started

from rmqalloc.rebalance import LitePullConsumer, MQClientManager, PullConsumer, ServiceState
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    RemotingError,
    ResponseCode,
    ResponseError,
)

ERRORS = [
    RemotingError("no answer"),
    ResponseError(ResponseCode.SYSTEM_ERROR, "refused"),
    ClientError("cannot"),
    OSError("broken pipe"),
    KeyError("a slip"),
]
any_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)


@pytest.fixture
def cluster():
    return LittleCluster("broker-a", "broker-b", T=4)


def refuse(cluster, kind, error, *names):
    for name in names or cluster.brokers:
        cluster.brokers[name].refuses[kind] = error


def mend(cluster):
    for broker in cluster.brokers.values():
        broker.refuses.clear()


def raising(error):
    def fail(*arguments):
        raise error.with_traceback(
            None
        )  # one that is raised again and again has an ever longer one

    return fail


# --- No error of a request loses anything for good ---

REQUESTS = [
    "heartbeat",
    "unregister",
    "consumer_ids",
    "lock",
    "unlock",
    "query_offset",
    "update_offset",
    "max_offset",
]


@pytest.mark.thorough(keep=9)
@any_error
@pytest.mark.parametrize("orderly", [False, True], ids=["concurrent", "ordered"])
@pytest.mark.parametrize("kind", [*REQUESTS, "search_offset"])
def test_when_requests_go_well_again_clients_own_and_read_everything(cluster, kind, error, orderly):
    where = ConsumeFromWhere.TIMESTAMP if kind == "search_offset" else ConsumeFromWhere.LAST_OFFSET
    settings = {"orderly": orderly, "consume_from_where": where}
    x, y, z = (push(cluster, name, dispatcher=Reads(), **settings) for name in "xyz")
    for consumer in (x, y, z):
        consumer.start()
        cluster.clock.run_for(500 if consumer is z else 30_000)
    refuse(cluster, kind, error)
    cluster.clock.run_for(60_000)
    y.shutdown()
    for (
        broker
    ) in cluster.brokers.values():  # the connections of y close, whether or not it could say so
        broker.unregister("10.0.0.1@y", "g")
    cluster.clock.run_for(30_000)
    mend(cluster)
    cluster.clock.run_for(90_000)
    assert sorted(queues_of(x) + queues_of(z)) == sorted(cluster.routes["T"].readable_queues("T"))
    for consumer in (x, z):
        read = {request.queue: request.process_queue for request, _ in consumer.dispatcher.pulls}
        assert dict(consumer.rebalance.process_queue_table) == {
            queue: read[queue] for queue in queues_of(consumer)
        }


# --- Each request by itself ---


@any_error
def test_a_failed_heartbeat_leaves_the_other_brokers_and_the_listener_told(cluster, error):
    changes = Changes()
    refuse(cluster, "heartbeat", error, "broker-a")
    consumer = started(push(cluster, listener=changes))
    assert len(cluster.brokers["broker-b"].asked("heartbeat")) == 1
    cluster.clock.run_for(31_500)
    assert consumer.state is ServiceState.RUNNING
    assert changes.heard
    asked = [len(broker.asked("heartbeat")) for broker in cluster.brokers.values()]
    assert asked[0] == asked[1] > 3
    for _ in ("refused", "without consumers"):
        steps = consumer.client_factory._heartbeats.send_to("broker-a:master")
        assert consumer.client_factory.finish(steps) is False
        consumer.shutdown()


@any_error
def test_a_consumer_that_cannot_say_that_it_leaves_ends_all_the_same(cluster, error):
    consumer = started(push(cluster))
    cluster.clock.run_for(2_000)
    refuse(cluster, "unregister", error, "broker-a")
    consumer.shutdown()
    assert consumer.state is ServiceState.SHUTDOWN_ALREADY
    assert len(cluster.brokers["broker-b"].asked("unregister")) == 1
    assert cluster.factories == [consumer.client_factory]
    assert cluster.clock.timers() == 0
    assert queues_of(consumer) == []


@any_error
def test_without_a_client_list_a_topic_stays_as_it_is_until_the_usual_next_pass(cluster, error):
    consumer = started(push(cluster, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    owned = queues_of(consumer)
    assert len(owned) == 8
    refuse(cluster, "consumer_ids", error)
    asked = sum(len(broker.asked("consumer_ids")) for broker in cluster.brokers.values())
    cluster.clock.run_for(60_000)
    assert queues_of(consumer) == owned
    assert (
        sum(len(broker.asked("consumer_ids")) for broker in cluster.brokers.values()) - asked == 3
    )


@any_error
def test_a_queue_whose_lock_cannot_be_asked_for_is_tried_each_second_and_the_others_are_taken(
    cluster, error
):
    refuse(cluster, "lock", error, "broker-a")
    consumer = started(push(cluster, orderly=True, dispatcher=Reads()))
    cluster.clock.run_for(5_000)
    assert {queue.broker_name for queue in queues_of(consumer)} == {"broker-b"}
    mend(cluster)
    cluster.clock.run_for(1_000)
    assert len(queues_of(consumer)) == 8


@any_error
def test_locks_that_cannot_be_renewed_count_as_lost_30_s_after_the_last_time(cluster, error):
    consumer = started(push(cluster, orderly=True, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    process_queue = consumer.rebalance.process_queue_table[queues_of(consumer)[0]]
    refuse(cluster, "lock", error)
    cluster.clock.run_for(process_queue.last_lock_timestamp + 30_000 - cluster.clock.now())
    assert process_queue.locked and consumer.orderly_service.may_consume(process_queue)
    cluster.clock.run_for(1)
    assert process_queue.locked and not consumer.orderly_service.may_consume(process_queue)


@any_error
def test_a_queue_that_cannot_be_unlocked_is_given_up_all_the_same(cluster, error):
    consumer = started(push(cluster, orderly=True, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    refuse(cluster, "unlock", error)
    started(push(cluster, "y", orderly=True))
    cluster.clock.run_for(2_000)
    assert len(queues_of(consumer)) == 4
    assert len(consumer.rebalance.process_queue_table) == 4


@any_error
@pytest.mark.parametrize("kind", ["query_offset", "max_offset", "search_offset"])
def test_a_queue_whose_first_offset_cannot_be_asked_for_is_tried_each_second(cluster, kind, error):
    where = ConsumeFromWhere.TIMESTAMP if kind == "search_offset" else ConsumeFromWhere.LAST_OFFSET
    refuse(cluster, kind, error, "broker-a")
    consumer = started(push(cluster, dispatcher=Reads(), consume_from_where=where))
    cluster.clock.run_for(5_000)
    assert {queue.broker_name for queue in queues_of(consumer)} == {"broker-b"}
    assert len(cluster.brokers["broker-a"].asked(kind)) == 4 * 5
    mend(cluster)
    cluster.clock.run_for(1_000)
    assert len(queues_of(consumer)) == 8


@any_error
def test_an_offset_that_cannot_be_stored_is_sent_again_5_s_later(cluster, error):
    consumer = started(push(cluster, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    queue = queues_of(consumer)[0]
    consumer.offset_store.update_offset(queue, 7, increase_only=True)
    refuse(cluster, "update_offset", error)
    cluster.clock.run_for(10_000)
    assert ("g", queue) not in cluster.brokers["broker-a"].offsets
    mend(cluster)
    cluster.clock.run_for(5_000)
    assert cluster.brokers["broker-a"].offsets["g", queue] == 7


@pytest.mark.parametrize(
    "error",
    [error for error in ERRORS if not isinstance(error, ResponseError)],
    ids=lambda error: type(error).__name__,
)
def test_a_route_that_cannot_be_asked_for_ends_the_poll_and_the_start(cluster, error):
    cluster.add_topic("U", 1)
    consumer = started(push(cluster, dispatcher=Reads()))
    consumer.subscribe("U")
    remoting = consumer.client_factory.driver.remoting
    remoting.topic_route = raising(error)
    cluster.clock.run_for(25_000)
    assert (len(queues_of(consumer)), queues_of(consumer, "U")) == (8, [])
    del remoting.topic_route
    cluster.clock.run_for(30_000)
    assert len(queues_of(consumer, "U")) == 2
    connect = cluster.connect
    cluster.connect = lambda factory: failing_route(connect(factory), error)
    for late in (push(cluster, "late"), lite_pull(cluster)):
        with pytest.raises(type(error)):
            late.start()
        assert late.state is ServiceState.SHUTDOWN_ALREADY
        assert late.manager.factories == {}
    patient = PullConsumer(manager_of(cluster), "pull")
    patient.subscribe("T")
    patient.start()
    assert patient.state is ServiceState.RUNNING


def lite_pull(cluster):
    consumer = LitePullConsumer(manager_of(cluster), "lite")
    consumer.subscribe("T")
    return consumer


def failing_route(remoting, error):
    remoting.topic_route = raising(error)
    return remoting


@any_error
def test_a_failed_assignment_leaves_the_topic_as_it_is_and_is_asked_for_each_second(cluster, error):
    refuse(cluster, "assignment", error)
    consumer = started(push(cluster, client_rebalance=False))
    cluster.clock.run_for(5_500)
    asked = [
        request for broker in cluster.brokers.values() for request in broker.asked("assignment")
    ]
    assert [request[3] for request in asked].count("T") == 5
    assert queues_of(consumer) == []


def test_a_client_may_be_told_of_changes_from_within_a_request(cluster):
    consumer = started(push(cluster, dispatcher=Reads()))
    factory = consumer.client_factory
    ask = factory.driver.remoting.consumer_ids
    asked = []

    def consumer_ids(address, consumer_group):
        asked.append(cluster.clock.now())
        if len(asked) == 1:
            factory.notify_consumer_ids_changed(consumer_group)
        return ask(address, consumer_group)

    factory.driver.remoting.consumer_ids = consumer_ids
    cluster.clock.run_for(10_000)
    assert len(asked) == 2
    assert len(queues_of(consumer)) == 8


def test_a_client_without_a_connection_does_not_start_and_leaves_no_trace():
    cluster = LittleCluster()
    manager = MQClientManager(cluster.clock, raising(OSError("no socket")))
    consumer = push(cluster, manager=manager)
    with pytest.raises(OSError, match="no socket"):
        consumer.start()
    assert consumer.state is ServiceState.START_FAILED
    assert (manager.factories, cluster.clock.timers()) == ({}, 0)
    with pytest.raises(ClientError, match="starts once"):
        consumer.start()
