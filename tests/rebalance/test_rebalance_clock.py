"""The clock of real time, actions at a fixed rate, and a client that runs on both."""

import logging
import threading

import pytest
from little_cluster import LittleCluster, VirtualClock, push, queues_of

from rmqalloc.rebalance import BlockingDriver, FixedRate, Lane, SystemClock
from rmqalloc.rebalance.driving import nothing

PATIENCE = 300


# --- A fixed rate ---


def test_a_fixed_rate_is_kept_however_late_a_call_is():
    clock, times = VirtualClock(0), []
    FixedRate(clock, 10, 100, lambda: times.append(clock.now()))
    clock.run_for(110)
    clock.jump(250)
    clock.run_for(100)
    assert times == [10, 110, 360, 360, 410], "two calls were due meanwhile"


def test_errors_do_not_end_it_and_cancelling_does(caplog):
    clock, times = VirtualClock(0), []

    def fail():
        times.append(clock.now())
        raise RuntimeError("user code")

    rate = FixedRate(clock, 0, 10, fail)
    with caplog.at_level(logging.WARNING):
        clock.run_for(20)
    assert times == [0, 10, 20]
    assert "user code" in caplog.text
    rate.cancel()
    clock.run_for(100)
    assert len(times) == 3


def test_what_is_later_at_every_turn_holds_up_nothing_but_its_lane():
    clock, seen = VirtualClock(0), []
    lane = Lane(BlockingDriver(None))

    def too_long():
        seen.append(clock.now())
        clock.jump(12)
        yield from ()

    rate = FixedRate(clock, 10, 10, too_long, lane)
    clock.call_later(25, lambda: seen.append("else"))
    clock.call_later(1_000, rate.cancel)
    clock.run_for(2_000)
    assert "else" in seen[:4]
    assert 80 <= len(seen) <= 85


def test_a_lane_may_be_given_its_next_work_by_what_ends_at_once_however_often():
    lane, left = Lane(BlockingDriver(None)), [5_000]

    def again(_result, _error):
        left[0] -= 1
        if left[0]:
            lane.do(nothing(None), again)

    lane.do(nothing(None), again)
    assert left == [0]


def test_it_may_be_cancelled_by_its_own_action():
    clock, times = VirtualClock(0), []
    rate = FixedRate(clock, 5, 10, lambda: (times.append(clock.now()), rate.cancel()))
    clock.run_for(100)
    assert times == [5]


# --- Real time ---


@pytest.fixture
def clock():
    with SystemClock() as clock:
        yield clock


def test_what_is_due_does_not_wait_for_what_is_not_and_all_is_on_one_thread(clock):
    seen, done = [], threading.Event()
    clock.call_later(3_600_000, lambda: seen.append("late"))
    clock.call_later(5, lambda: (seen.append(threading.current_thread()), done.set()))
    assert done.wait(PATIENCE)
    assert seen == [clock.call(threading.current_thread)]


def test_of_several_due_at_once_the_first_asked_for_comes_first(clock):
    seen = []
    clock.call(lambda: [clock.call_later(-1, lambda i=i: seen.append(i)) for i in range(20)])
    clock.call(lambda: None)
    assert seen == list(range(20))


def test_a_cancelled_timer_does_not_come(clock):
    seen = []
    clock.call(lambda: clock.call_later(0, lambda: seen.append("no")).cancel())
    clock.call(lambda: None)
    assert seen == []


def test_a_call_brings_its_result_or_its_error(clock):
    assert clock.call(lambda: clock.call(lambda: 7)) == 7, (
        "a call from its own thread does not wait for itself"
    )
    with pytest.raises(ZeroDivisionError):
        clock.call(lambda: 1 // 0)
    assert clock.call(lambda: 8) == 8


def test_an_action_that_fails_does_not_end_the_clock(clock, caplog):
    with caplog.at_level(logging.ERROR):
        clock.call_later(0, lambda: 1 // 0)
        clock.call(lambda: None)
    assert "ZeroDivisionError" in caplog.text


def test_a_closed_clock_takes_nothing_and_drops_what_was_waiting():
    clock, seen = SystemClock(), []
    clock.call_later(60_000, lambda: seen.append("late"))
    clock.close()
    clock.close()
    with pytest.raises(RuntimeError, match="closed"):
        clock.call_later(0, lambda: None)
    assert seen == []


def test_closing_waits_for_the_action_at_work():
    clock, begun, release, done = SystemClock(), threading.Event(), threading.Event(), []
    clock.call_later(0, lambda: (begun.set(), release.wait(PATIENCE), done.append("whole")))
    assert begun.wait(PATIENCE)
    threading.Timer(0.05, release.set).start()
    clock.close()
    assert done == ["whole"]


def test_a_call_that_waits_for_a_clock_that_closes_ends_too():
    clock, asking = SystemClock(), threading.Event()
    errors = []

    def ask():
        asking.set()
        try:
            clock.call(lambda: None)
        except RuntimeError as error:
            errors.append(str(error))

    asker = threading.Thread(target=ask)
    clock.call(lambda: (asker.start(), asking.wait(PATIENCE), clock.close()))
    asker.join(PATIENCE)
    assert not asker.is_alive()
    assert errors == ["this clock is closed and takes no further calls"]


def test_it_may_be_closed_from_its_own_thread():
    clock = SystemClock()
    clock.call(clock.close)
    with pytest.raises(RuntimeError, match="closed"):
        clock.call(lambda: None)


def test_the_same_clients_run_in_real_time(clock):
    cluster = LittleCluster()
    cluster.clock = cluster.broker.clock = clock
    cluster.add_topic("T", 4)
    settled = threading.Event()

    def listener(topic, mq_all, mq_divided):
        if {len(queues_of(consumer)) for consumer in consumers} == {2}:
            settled.set()

    consumers = [push(cluster, name, listener=listener) for name in "xy"]
    for consumer in consumers:
        clock.call(consumer.start)
    assert settled.wait(PATIENCE)
    for consumer in consumers:
        clock.call(consumer.shutdown)
    assert cluster.broker.groups == {"g": {}}
