"""How long clients take to be informed: closed forms against draws, and the percentile against
drawn transitions.
"""

import numpy as np
import pytest

from rmqalloc.ownership.transitions.handovers import Handovers
from rmqalloc.ownership.transitions.notification_delay import (
    ROUTES,
    WAYS,
    NotificationDelay,
    hearing_of,
    sum_below,
)
from rmqalloc.ownership.transitions.open_queues import open_queues
from rmqalloc.ownership.transitions.seconds_bound import SecondsBound
from rmqalloc.remoting import PROFILES

N = 200_000
HEARINGS = {way: hearing_of(way) for way in WAYS} | {
    "routes": ROUTES,
    "4.9": hearing_of("notice", PROFILES["4.9"]),
    "brokers": hearing_of("notice", n_brokers=3),
    "fixed and drawn": NotificationDelay((20.0,), at_once=0.25, fixed=3.0, join_delay=5.0),
}


def drawn(hearing, n_clients, n, rng):
    """Times of clients without the common wait: a row for every draw."""
    waits = sum(
        (rng.uniform(0, wait, (n, n_clients)) for wait in hearing.waits),
        np.full((n, n_clients), hearing.fixed),
    )
    return np.where(rng.random((n, n_clients)) < hearing.at_once, 0.0, waits)


@pytest.mark.parametrize("name", HEARINGS)
def test_closed_forms_are_what_is_drawn(name):
    hearing, rng = HEARINGS[name], np.random.default_rng(5)
    one, other = drawn(hearing, 2, N, rng).T
    scale = hearing.spread / np.sqrt(N) * 4
    assert hearing.before_a_join == pytest.approx(
        np.maximum(hearing.join_delay - one, 0).mean(), abs=scale
    )
    assert hearing.after_a_join == pytest.approx(
        np.maximum(one - hearing.join_delay, 0).mean(), abs=scale
    )
    assert hearing.mean - sum(hearing.first) / 2 == pytest.approx(one.mean(), abs=scale)
    assert hearing.half_difference == pytest.approx(np.maximum(one - other, 0).mean(), abs=scale)
    for x in np.linspace(0, hearing.spread, 9):
        at = np.array([x])
        assert hearing.later_than(at)[0] == pytest.approx((one > x).mean(), abs=4 / np.sqrt(N))
        assert hearing.later_and_apart(at)[1][0] == pytest.approx(
            (one - other > x).mean(), abs=4 / np.sqrt(N)
        )
    assert one.max(initial=0) <= hearing.spread <= hearing.latest


def test_known_values():
    timer = hearing_of("timer")
    assert (timer.mean, timer.latest) == (10, 20)
    assert timer.half_difference == pytest.approx(20 / 6)
    assert hearing_of("scan").latest == 120 + 10 + 20
    assert (ROUTES.latest, ROUTES.mean, ROUTES.join_delay) == (50, 25, 1)
    assert HEARINGS["4.9"] == NotificationDelay(())
    assert hearing_of("notice").join_delay == 1
    assert sum_below(np.array([0.0, 25.0, 50.0]), (20.0, 30.0)).tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="by notice, timer, scan, crash, got 'smoke'"):
        hearing_of("smoke")


def handovers(n, old, new, joins=()):
    old, new = np.array(old), np.array(new)
    is_join = np.isin(np.arange(n), joins)
    return Handovers(
        np.array([0, n]), np.arange(n), np.zeros(old.size, np.int64), old, new, old >= 0, new >= 0,
        np.ones(old.size, bool), np.array([False]), is_join,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["notice", "timer", "scan", "routes", "brokers", "fixed and drawn"]
)
@pytest.mark.parametrize("seed", range(6))
def test_the_percentile_is_never_too_low_nor_the_sum_wrong(name, seed):
    rng, hearing = np.random.default_rng(seed), HEARINGS[name]
    n = int(rng.integers(1, 9))
    old, new = rng.integers(-1, n, 12), rng.integers(0, n, 12)
    joins = [0] if seed % 2 else []
    old[np.isin(old, joins)] = -1
    hearing = hearing.of_a_join() if joins else hearing
    times = drawn(hearing, n, 40_000, rng) + rng.uniform(*hearing.first, (40_000, 1))
    times[:, joins] = hearing.join_delay
    gone = np.where(old < 0, 0.0, times[:, old])
    step = handovers(n, old, new, joins)
    for queues, waits in (
        (step.unowned(), times[:, new] - gone),
        (step.double_owned(), gone - times[:, new]),
    ):
        found = open_queues(queues, [hearing], np.array([0]))
        seconds = np.where(old == new, 0.0, np.maximum(waits, 0.0))
        longest = seconds.max(axis=1)
        assert np.quantile(longest, 0.989) <= found.seconds_p99[0] <= found.seconds_worst[0] + 1e-9
        assert longest.max() <= found.seconds_worst[0]
        error = seconds.sum(axis=1).std() / np.sqrt(40_000) * 4 + 1e-9
        assert found.queue_seconds[0] == pytest.approx(seconds.sum(axis=1).mean(), abs=error)
        assert found.after[0] == 0


def test_what_waits_for_nobody_takes_no_time():
    still = open_queues(
        handovers(3, [0, 1, 2], [0, 1, 2]).unowned(), [hearing_of("timer")], np.array([0])
    )
    assert (still.most[0], still.expected[0], still.seconds_worst[0], still.queue_seconds[0]) == (
        0,
        0,
        0,
        0,
    )
    joined = open_queues(
        handovers(2, [0, 0], [0, 1], joins=[1]).unowned(), [hearing_of("timer")], np.array([0])
    )
    assert joined.seconds_worst[0] == 1  # until it acts
    assert joined.expected[0] == pytest.approx(1 / 20)
    assert joined.queue_seconds[0] == pytest.approx(1 / 40)
    new = open_queues(
        handovers(2, [-1, 0], [1, 0], joins=[1]).unowned(), [hearing_of("timer")], np.array([0])
    )
    assert (new.expected[0], new.seconds_worst[0], new.seconds_p99[0], new.queue_seconds[0]) == (
        1,
        1,
        1,
        1,
    )
    unknown = open_queues(handovers(2, [0, 1], [1, 0]).unowned(), [None], np.array([0]))
    assert np.isnan(unknown.seconds_worst[0]) and unknown.expected[0] == 1
    lost = open_queues(
        handovers(2, [0, 1], [-1, 1]).unowned(), [hearing_of("timer")], np.array([0])
    )
    assert (lost.after[0], lost.seconds_worst[0]) == (1, 0)


@pytest.mark.parametrize("text", ["", "x", "-1", "30@p98", "30 s", "1e3", "30@", "@p99", "١"])
def test_what_is_no_bound_is_refused(text):
    with pytest.raises(ValueError, match="30@p99"):
        SecondsBound.parse(text)


def test_locks_of_a_client_that_was_killed_hold_its_queues_of_an_ordered_group():
    stopped, killed = hearing_of("notice"), hearing_of("crash", is_ordered=True)
    assert hearing_of("crash") == stopped and hearing_of("notice", is_ordered=True) == stopped
    assert (killed.first, killed.latest) == ((40.0, 60.0), 61.0)
    assert killed.of_a_join() == stopped, "a client that joins waits for nobody's locks"
    for hearing, of_the_dead in ((stopped, 1.0), (killed, 61.0)):
        lost = open_queues(handovers(2, [-1, 0], [1, 0]).unowned(), [hearing], np.array([0]))
        assert lost.seconds_worst[0] == of_the_dead
        passed = open_queues(handovers(2, [0, 1], [1, 0]).unowned(), [hearing], np.array([0]))
        assert passed.seconds_worst[0] == 1.0, "between two that live no lock is left behind"
