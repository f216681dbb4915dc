"""What docs/clients.md and rmqalloc/rebalance/ports.py promise to authors of clients: when ports are called and may fail."""

import pytest
from little_cluster import Changes, LittleCluster, ManualPulls, manager_of, push, queues_of, started

from rmqalloc import MessageQueue
from rmqalloc.protocol import (
    ClientError,
    ConsumeFromWhere,
    MessageRequestMode,
    QueueAssignment,
    RemotingError,
    ResponseCode,
    ResponseError,
)
from rmqalloc.rebalance import LitePullConsumer, MQClientManager, PushConsumer, ServiceState, SystemClock
from rmqalloc.simulation import VirtualClock

ERRORS = [
    RemotingError("no answer"),
    ResponseError(ResponseCode.SYSTEM_ERROR, "refused"),
    ClientError("cannot"),
    OSError("broken pipe"),
    KeyError("a slip"),
]
any_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)


class Reads(ManualPulls):
    """Every request is read for ever."""

    def pull_later(self, request, delay):
        super().pull_later(request, delay)
        request.process_queue.pulling = True


@pytest.fixture
def cluster():
    cluster = LittleCluster("broker-a", "broker-b")
    cluster.add_topic("T", 4)
    return cluster


def refuse(cluster, kind, error, *names):
    for name in names or cluster.brokers:
        cluster.brokers[name].refuses[kind] = error


def mend(cluster):
    for broker in cluster.brokers.values():
        broker.refuses.clear()


def raising(error):
    def fail(*arguments):
        raise error.with_traceback(None)  # one that is raised again and again has an ever longer one

    return fail


# --- No error of a request loses anything for good ---

REQUESTS = ["heartbeat", "unregister", "consumer_ids", "lock", "unlock", "query_offset", "update_offset", "max_offset"]


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
    for broker in cluster.brokers.values():  # the connections of y close, whether or not it could say so
        broker.unregister("10.0.0.1@y", "g")
    cluster.clock.run_for(30_000)
    mend(cluster)
    cluster.clock.run_for(90_000)
    assert sorted(queues_of(x) + queues_of(z)) == sorted(cluster.routes["T"].readable_queues("T"))
    for consumer in (x, z):
        read = {request.queue: request.process_queue for request, _ in consumer.dispatcher.pulls}
        assert dict(consumer.rebalance.process_queue_table) == {queue: read[queue] for queue in queues_of(consumer)}


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
    assert not consumer.client_factory._heartbeats.send_to("broker-a:master")


@any_error
def test_a_consumer_that_cannot_say_that_it_leaves_ends_all_the_same(cluster, error):
    consumer = started(push(cluster))
    cluster.clock.run_for(2_000)
    refuse(cluster, "unregister", error, "broker-a")
    consumer.shutdown()
    assert consumer.state is ServiceState.SHUTDOWN_ALREADY
    assert len(cluster.brokers["broker-b"].asked("unregister")) == 1
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
    assert sum(len(broker.asked("consumer_ids")) for broker in cluster.brokers.values()) - asked == 3


@any_error
def test_a_queue_whose_lock_cannot_be_asked_for_is_tried_each_second_and_the_others_are_taken(cluster, error):
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


@pytest.mark.parametrize("error", [error for error in ERRORS if not isinstance(error, ResponseError)], ids=repr)
def test_a_route_that_cannot_be_asked_for_ends_the_poll_and_the_start(cluster, error):
    cluster.add_topic("U", 1)
    consumer = started(push(cluster, dispatcher=Reads()))
    consumer.subscribe("U")
    remoting = consumer.client_factory.remoting
    remoting.topic_route = raising(error)
    cluster.clock.run_for(25_000)
    assert (len(queues_of(consumer)), queues_of(consumer, "U")) == (8, [])
    del remoting.topic_route
    cluster.clock.run_for(30_000)
    assert len(queues_of(consumer, "U")) == 2
    connect = cluster.connect
    cluster.connect = lambda factory: failing_route(connect(factory), error)
    late = push(cluster, "late")
    with pytest.raises(type(error)):
        late.start()
    assert late.state is ServiceState.SHUTDOWN_ALREADY
    assert late.manager.factories == {}


def failing_route(remoting, error):
    remoting.topic_route = raising(error)
    return remoting


@any_error
def test_a_failed_assignment_leaves_the_topic_as_it_is_and_is_asked_for_each_second(cluster, error):
    refuse(cluster, "assignment", error)
    consumer = started(push(cluster, client_rebalance=False))
    cluster.clock.run_for(5_500)
    asked = [request for broker in cluster.brokers.values() for request in broker.asked("assignment")]
    assert [request[3] for request in asked].count("T") == 5
    assert queues_of(consumer) == []


def test_a_client_may_be_told_of_changes_from_within_a_request(cluster):
    consumer = started(push(cluster, dispatcher=Reads()))
    factory = consumer.client_factory
    ask = factory.remoting.consumer_ids
    asked = []

    def consumer_ids(address, consumer_group):
        asked.append(cluster.clock.now())
        if len(asked) == 1:
            factory.notify_consumer_ids_changed(consumer_group)
        return ask(address, consumer_group)

    factory.remoting.consumer_ids = consumer_ids
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


# --- Who reads ---


class Refuses(ManualPulls):
    """Takes no request of one queue."""

    def __init__(self, queue_id):
        super().__init__()
        self.queue_id = queue_id

    def pull_later(self, request, delay):
        if request.queue.queue_id == self.queue_id:
            raise OSError("no thread")
        request.process_queue.pulling = True
        super().pull_later(request, delay)

    def pop_later(self, request, delay):
        raise OSError("no thread")


def test_a_request_that_nobody_takes_leaves_the_pass_whole_and_comes_anew_after_120_s(cluster, caplog):
    dispatcher, changes = Refuses(1), Changes()
    consumer = started(push(cluster, dispatcher=dispatcher, listener=changes))
    cluster.clock.run_for(2_000)
    assert {request.queue.queue_id for request, _ in dispatcher.pulls} == {0, 2, 3}
    assert len(changes.heard) == 1
    assert "nobody reads" in caplog.text
    dispatcher.queue_id = None
    cluster.clock.run_for(118_000)
    assert len(dispatcher.pulls) == 6
    cluster.clock.run_for(22_000)
    assert [request.queue.queue_id for request, _ in dispatcher.pulls[6:]] == [1, 1]
    assert len(queues_of(consumer)) == 8


def test_popped_queues_that_nobody_takes_leave_the_pass_whole_too(cluster):
    changes = Changes()
    queue = MessageQueue("T", "broker-a", 0)
    for broker in cluster.brokers.values():
        broker.assignments["T", "10.0.0.1@x"] = [QueueAssignment(queue, MessageRequestMode.POP)]
    consumer = started(push(cluster, dispatcher=Refuses(0), listener=changes, client_rebalance=False))
    cluster.clock.run_for(2_000)
    assert changes.heard == [("T", None, {queue})]
    assert queues_of(consumer) == [queue]


def mark_nothing(process_queue, now):
    """The author has forgotten it."""


def mark_time(process_queue, now):
    process_queue.last_pull_timestamp = now


def mark_pulling(process_queue, now):
    process_queue.pulling = True


@pytest.mark.parametrize(("mark", "n_requests"), [(mark_nothing, 16), (mark_time, 8), (mark_pulling, 8)])
def test_a_queue_without_a_sign_of_pulls_is_dropped_after_120_s_and_given_anew(cluster, mark, n_requests):
    pulls = ManualPulls()
    consumer = started(push(cluster, dispatcher=pulls))
    for _ in range(15):
        cluster.clock.run_for(10_000)
        for process_queue in consumer.rebalance.process_queue_table.values():
            mark(process_queue, cluster.clock.now())
    assert len(pulls.pulls) == n_requests
    assert [request.process_queue.dropped for request, _ in pulls.pulls] == [True] * (n_requests - 8) + [False] * 8
    assert len(queues_of(consumer)) == 8


@pytest.mark.parametrize("stamped", [False, True], ids=["not stamped", "stamped"])
def test_resuming_after_120_s_gives_every_queue_anew_unless_pauses_are_stamped(cluster, stamped):
    pulls = ManualPulls()
    consumer = started(push(cluster, dispatcher=pulls))
    cluster.clock.run_for(2_000)
    consumer.pause()
    cluster.clock.run_for(121_000)
    assert len(pulls.pulls) == len(queues_of(consumer)) == 8
    for request, _ in pulls.pulls if stamped else ():
        request.process_queue.last_pull_timestamp = cluster.clock.now()
    consumer.resume()
    assert len(pulls.pulls) == (8 if stamped else 16)
    assert len(queues_of(consumer)) == 8


def test_an_offset_told_after_its_queue_was_dropped_is_never_stored(cluster):
    consumer = started(push(cluster, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    owned = queues_of(consumer)
    started(push(cluster, "y"))
    cluster.clock.run_for(2_000)
    (gone, *_) = sorted(set(owned) - set(queues_of(consumer)))
    consumer.offset_store.update_offset(gone, 99, increase_only=True)
    cluster.clock.run_for(20_000)
    assert ("g", gone) not in cluster.brokers[gone.broker_name].offsets


def test_a_position_is_the_readers_once_the_request_was_handed_over(cluster):
    pulls = Reads()
    consumer = started(push(cluster, dispatcher=pulls))
    cluster.clock.run_for(2_000)
    request = pulls.pulls[0][0]
    request.next_offset = 500
    cluster.clock.run_for(60_000)
    assert request.next_offset == 500
    assert consumer.offset_store.offsets() == {}
    assert not any(broker.asked("update_offset") for broker in cluster.brokers.values())


def test_an_ordered_queue_whose_consuming_never_ends_stays_dropped_until_its_lock_is_20_s_old(cluster):
    pulls = Reads()
    consumer = started(push(cluster, orderly=True, dispatcher=pulls))
    cluster.clock.run_for(2_000)
    for request, _ in pulls.pulls:
        request.process_queue.begin_consuming()
    started(push(cluster, "y", orderly=True))
    cluster.clock.run_for(10_000)
    table = consumer.rebalance.process_queue_table
    dropped = [process_queue for process_queue in table.values() if process_queue.dropped]
    assert len(dropped) == 4 == len(queues_of(consumer))
    assert [process_queue.try_unlock_times for process_queue in dropped] == [1] * 4
    cluster.clock.run_for(15_000)
    assert not any(process_queue.dropped for process_queue in table.values())


def test_run_task_that_raises_leaves_its_queue_unread_until_it_is_chosen_anew(cluster):
    begun = []

    def run_task(task):
        begun.append(task)
        if len(begun) == 1:
            raise OSError("no thread")

    consumer = LitePullConsumer(manager_of(cluster), "g", run_task=run_task)
    consumer.start()
    a, b = (MessageQueue("T", "broker-a", queue_id) for queue_id in (0, 1))
    with pytest.raises(OSError, match="no thread"):
        consumer.assign([a, b])
    consumer.assign([a, b])
    assert [task.queue for task in begun] == [a, b]
    consumer.assign([b])
    consumer.assign([a, b])
    assert [task.queue for task in begun] == [a, b, a]
    assert begun[0].cancelled and not begun[2].cancelled


# --- Clocks, and consumers of one's own ---


def test_no_clock_calls_an_action_before_it_has_taken_it():
    seen = []
    virtual = VirtualClock()
    virtual.call_later(0, lambda: seen.append("virtual"))
    assert seen == []
    virtual.run(until=virtual.now())
    with SystemClock() as real:

        def action():
            real.call_later(0, lambda: seen.append("real"))
            seen.append("taken")

        real.call(action)
        real.call(lambda: None)
    assert seen == ["virtual", "taken", "real"]


def test_a_listener_ends_its_consumer_by_the_clock_not_in_the_pass(cluster):
    heard = []

    def listener(topic, mq_all, mq_divided):
        heard.append(len(mq_divided))
        cluster.clock.call_later(0, consumer.shutdown)

    consumer = push(cluster, listener=listener)
    consumer.start()
    cluster.clock.run_for(5_000)
    assert heard == [8]
    assert consumer.state is ServiceState.SHUTDOWN_ALREADY
    assert (queues_of(consumer), cluster.clock.timers()) == ([], 0)


class Failing(PushConsumer):
    """Fails at what it is told to."""

    fails = ""

    def consumer_data(self):
        return self._or_fail("consumer_data", super().consumer_data)

    def subscribed_topics(self):
        return self._or_fail("subscribed_topics", super().subscribed_topics)

    def try_rebalance(self):
        return self._or_fail("try_rebalance", super().try_rebalance)

    def persist_consumer_offset(self):
        return self._or_fail("persist_consumer_offset", super().persist_consumer_offset)

    def _or_fail(self, name, method):
        if self.fails == name:
            raise OSError(name)
        return method()


@pytest.mark.parametrize("name", ["consumer_data", "subscribed_topics", "try_rebalance", "persist_consumer_offset"])
def test_a_consumer_that_fails_at_what_its_client_asks_ends_no_timer(cluster, name):
    """What then stands still for the other groups of the client is said in ports.py; it goes on when the failing ends."""
    manager = manager_of(cluster)
    first = Failing(manager, "first", identity=push(cluster).identity, dispatcher=Reads())
    first.subscribe("T")
    first.start()
    second = started(push(cluster, group="second", manager=manager, dispatcher=Reads()))
    cluster.clock.run_for(2_000)
    queue = queues_of(second)[0]
    second.offset_store.update_offset(queue, 7, increase_only=True)
    cluster.add_topic("T", 6)
    first.fails = name
    for broker in cluster.brokers.values():
        broker.requests.clear()
    cluster.clock.run_for(45_000)
    broker = cluster.brokers["broker-a"]
    assert bool(broker.asked("heartbeat")) == (name != "consumer_data")
    assert len(queues_of(second)) == (8 if name == "subscribed_topics" else 12)
    assert (("second", queue) in broker.offsets) == (name != "persist_consumer_offset")
    first.fails = ""
    cluster.clock.run_for(45_000)
    assert broker.asked("heartbeat")
    assert len(queues_of(second)) == 12
    assert ("second", queue) in broker.offsets
