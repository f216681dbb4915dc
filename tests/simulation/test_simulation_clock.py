"""Virtual time: order of timers, waiting, and processes that stall or die."""

from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.simulation._virtual_clock import EPOCH, Process, VirtualClock


def at(clock, milliseconds):
    clock.run(EPOCH + milliseconds)


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=30))
def test_timers_fire_in_order_of_time_and_then_of_setting(timers):
    clock, fired = VirtualClock(), []
    for number, (delay, cancelled) in enumerate(timers):
        timer = clock.call_later(
            delay, lambda one=(delay, number): fired.append((clock.elapsed(), *one))
        )
        if cancelled:
            timer.cancel()
    at(clock, 25)
    assert all(now <= 25 for now, _, _ in fired)
    at(clock, 100)
    assert fired == sorted(
        (delay, delay, number) for number, (delay, gone) in enumerate(timers) if not gone
    )


def test_time_spent_waiting_delays_the_rest_of_an_action_and_nothing_else():
    clock, seen = VirtualClock(), []

    def slow():
        clock.spend(100)
        seen.append(("slow", clock.elapsed()))
        clock.call_later(10, lambda: seen.append(("after slow", clock.elapsed())))

    clock.call_later(5, slow)
    clock.call_later(6, lambda: seen.append(("beside", clock.elapsed())))
    at(clock, 1_000)
    assert seen == [("slow", 105), ("beside", 6), ("after slow", 115)]
    assert clock.elapsed() == 1_000


def test_two_actions_of_one_moment_wait_each_for_itself():
    clock = VirtualClock()
    clock.spend(7)
    clock.begin_action()
    assert clock.elapsed() == 0


def test_a_frozen_process_catches_up_when_thawed():
    clock, seen = VirtualClock(), []
    process = Process(clock, after=lambda: seen.append("looked"))
    process.call_later(10, lambda: seen.append(("first", clock.elapsed())))
    second = process.call_later(20, lambda: seen.append("second"))
    process.call_later(30, lambda: (seen.append(("third", clock.elapsed())), second.cancel()))
    at(clock, 5)
    process.freeze()
    process.do(lambda: second.cancel())
    at(clock, 40)
    assert seen == []
    process.thaw()
    assert seen == ["looked", ("first", 40), "looked", "looked", ("third", 40), "looked"]


def test_nothing_of_a_dead_process_happens():
    clock, seen = VirtualClock(), []
    process = Process(clock)
    process.call_later(10, lambda: seen.append("timer"))
    process.freeze()
    process.do(lambda: seen.append("waiting"))
    process.die()
    process.thaw()
    process.do(lambda: seen.append("late"))
    at(clock, 100)
    assert seen == []
