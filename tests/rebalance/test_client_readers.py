"""What docs/authors/build.md promises to authors of clients beyond requests: who reads, who sets what,
clocks, own consumers.
"""

import pytest
from little_cluster import (
    Changes,
    LittleCluster,
    ManualPulls,
    Reads,
    manager_of,
    push,
    queues_of,
    started,
)

from rmqalloc import MessageQueue
from rmqalloc.rebalance import LitePullConsumer, PushConsumer, ServiceState, SystemClock
from rmqalloc.remoting import PROFILES, MessageRequestMode, QueueAssignment
from rmqalloc.simulation import VirtualClock


@pytest.fixture
def cluster():
    return LittleCluster("broker-a", "broker-b", T=4)


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


def test_a_request_that_nobody_takes_leaves_the_pass_whole_and_comes_anew_after_120_s(
    cluster, caplog
):
    dispatcher, changes = Refuses(1), Changes()
    consumer = started(push(cluster, dispatcher=dispatcher, listener=changes))
    cluster.clock.run_for(2_000)
    assert {request.queue.queue_id for request, _ in dispatcher.pulls} == {0, 2, 3}
    assert len(changes.heard) == 1
    assert "no reader took" in caplog.text
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
    consumer = started(
        push(cluster, dispatcher=Refuses(0), listener=changes, client_rebalance=False)
    )
    cluster.clock.run_for(2_000)
    assert changes.heard == [("T", None, {queue})]
    assert queues_of(consumer) == [queue]


def mark_nothing(process_queue, now):
    """The author has forgotten it."""


def mark_time(process_queue, now):
    process_queue.last_pull_timestamp = now


def mark_pulling(process_queue, now):
    process_queue.pulling = True


@pytest.mark.parametrize(
    ("mark", "n_requests"), [(mark_nothing, 16), (mark_time, 8), (mark_pulling, 8)]
)
def test_a_queue_without_a_sign_of_pulls_is_dropped_after_120_s_and_given_anew(
    cluster, mark, n_requests
):
    pulls = ManualPulls()
    consumer = started(push(cluster, dispatcher=pulls))
    for _ in range(15):
        cluster.clock.run_for(10_000)
        for process_queue in consumer.rebalance.process_queue_table.values():
            mark(process_queue, cluster.clock.now())
    assert len(pulls.pulls) == n_requests
    assert [request.process_queue.dropped for request, _ in pulls.pulls] == [True] * (
        n_requests - 8
    ) + [False] * 8
    assert len(queues_of(consumer)) == 8
    expired = {
        one.is_pull_expired(cluster.clock.now())
        for one in consumer.rebalance.process_queue_table.values()
    }
    assert expired == {False}, "what a loop pulls is not stuck, whether each try is stamped or not"


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


def test_a_position_that_the_broker_does_not_have_is_mended_by_taking_the_queue_anew(cluster):
    pulls = Reads()
    consumer = started(push(cluster, dispatcher=pulls))
    cluster.clock.run_for(2_000)
    request, _ = pulls.pulls[0]
    request.process_queue.dropped = True
    consumer.offset_store.update_and_freeze_offset(request.queue, 40)
    consumer.offset_store.update_offset(
        request.queue, 7, increase_only=False
    )  # a late one changes nothing
    consumer.client_factory.finish(consumer.offset_store.persist(request.queue))
    consumer.client_factory.finish(consumer.rebalance.remove_process_queue(request.queue))
    consumer.client_factory.rebalance_immediately()
    cluster.clock.run_for(2_000)
    assert [(again.queue, again.next_offset) for again, _ in pulls.pulls[8:]] == [
        (request.queue, 40)
    ]
    assert len(queues_of(consumer)) == 8


def test_an_ordered_queue_whose_consuming_never_ends_stays_dropped_until_its_lock_is_20_s_old(
    cluster,
):
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


@pytest.mark.parametrize(("profile", "n_more"), [("5.5", 1), ("5.3", 1), ("4.9", 0)])
def test_a_connection_that_is_there_again_brings_a_heartbeat_from_5_0_on(cluster, profile, n_more):
    consumer = started(push(cluster, manager=manager_of(cluster, profile=PROFILES[profile])))
    cluster.clock.run_for(2_000)
    heartbeats = len(cluster.brokers["broker-a"].asked("heartbeat"))
    consumer.client_factory.channel_active("broker-a:master")
    assert len(cluster.brokers["broker-a"].asked("heartbeat")) == heartbeats + n_more


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


def test_an_error_of_ones_own_action_is_logged_in_real_time_and_comes_out_in_virtual_time(caplog):
    virtual = VirtualClock()
    virtual.call_later(0, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        virtual.run(until=virtual.now())
    with SystemClock() as real:
        real.call_later(0, lambda: 1 / 0)
        assert real.call(lambda: "goes on") == "goes on"
    assert "an action of the clock failed" in caplog.text


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


@pytest.mark.parametrize(
    "name", ["consumer_data", "subscribed_topics", "try_rebalance", "persist_consumer_offset"]
)
def test_a_consumer_that_fails_at_what_its_client_asks_ends_no_timer(cluster, name):
    """What then is stalled for the other groups of the client is said in ports.py; it goes on when
    the failing ends.
    """
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
