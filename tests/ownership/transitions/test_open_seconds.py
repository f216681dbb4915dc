"""For how long queues of several readers are open: known values, and draws of the times at which
clients are informed.
"""

import math

import numpy as np
import pytest

from rmqalloc.ownership.transitions._chances import OpenSeconds, ReaderCounts, open_seconds
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay, hearing_of
from rmqalloc.ownership.transitions.seconds_bound import SecondsBound

LEAVE = NotificationDelay((20.0,), first=(5.0, 10.0))
"""A common wait of 5 to 10 s, and one of each client of up to 20 s."""
JOIN = NotificationDelay((20.0,), join_delay=1.0)
NEVER = OpenSeconds(0.0, 0.0)


def kinds(*rows):
    """Reader counts: gives up, takes up, joins, stays; each kind is one queue."""
    one = np.ones(len(rows), np.int64)
    return ReaderCounts(*np.array(rows, np.int64).T, one, one)


@pytest.mark.parametrize(
    ("kind", "hearing", "unowned", "double"),
    [
        (
            (1, 1, 0, 0),
            LEAVE,
            (20.0, LEAVE.half_difference),
            (20.0, LEAVE.half_difference),
        ),  # passes to another
        ((0, 1, 0, 0), LEAVE, (30.0, LEAVE.mean), NEVER),  # unread from the change on
        ((1, 0, 0, 1), LEAVE, NEVER, (30.0, LEAVE.mean)),  # read twice from the change on
        ((1, 0, 0, 0), LEAVE, NEVER, NEVER),  # stays unread
        ((0, 1, 0, 1), LEAVE, NEVER, NEVER),  # stays read twice
        ((1, 0, 0, 2), LEAVE, NEVER, NEVER),
        ((0, 0, 0, 1), LEAVE, NEVER, NEVER),
        ((0, 0, 1, 0), JOIN, (1.0, 1.0), NEVER),  # unread until the client that joins acts
        ((1, 0, 1, 0), JOIN, (1.0, JOIN.before_a_join), (19.0, JOIN.after_a_join)),
    ],
)
def test_known_values(kind, hearing, unowned, double):
    found = [list(one) for one in open_seconds(kinds(kind), hearing)]
    assert found == [pytest.approx(known, abs=1e-9) for known in (unowned, double)]


def test_kinds_add_up_by_their_queues_and_those_that_do_not_count_are_no_part():
    two = kinds((0, 1, 0, 0), (1, 1, 0, 0))
    assert open_seconds(two, LEAVE)[0] == pytest.approx((30.0, LEAVE.mean + LEAVE.half_difference))
    counted = two._replace(unowned=np.array([0, 3]), double_owned=np.array([0, 0]))
    assert open_seconds(counted, LEAVE) == (pytest.approx((20.0, 3 * LEAVE.half_difference)), NEVER)


def lasts(is_open, times):
    """Seconds for which each draw is open; it changes at the given times alone."""
    moments = np.sort(np.hstack([np.zeros((len(times), 1)), times]), axis=1)
    middles, total = (moments[:, 1:] + moments[:, :-1]) / 2, np.zeros(len(times))
    for middle, width in zip(middles.T, np.diff(moments).T, strict=True):
        total += width * is_open(times <= middle[:, None])
    return total


@pytest.mark.parametrize("name", ["leave", "join", "notice", "scan", "brokers"])
@pytest.mark.parametrize("seed", range(4))
def test_draws_last_as_long_on_average_and_none_longer(name, seed):
    """Readers of one queue: the last one joins if the change is a join."""
    hearing = {"leave": LEAVE, "join": JOIN, "brokers": hearing_of("notice", n_brokers=3)}.get(
        name
    ) or hearing_of(name)
    rng, joins = np.random.default_rng(seed), name == "join"
    kind = gives_up, takes_up, joined, stays = (
        *rng.integers(0, 3, 2),
        int(joins),
        int(rng.integers(0, 2)),
    )
    n, draws = gives_up + takes_up + joined, 40_000
    waits = sum(
        (rng.uniform(0, wait, (draws, n)) for wait in hearing.waits),
        np.full((draws, n), hearing.fixed),
    )
    times = np.where(rng.random((draws, n)) < hearing.at_once, 0.0, waits) + rng.uniform(
        *hearing.first, (draws, 1)
    )
    times[:, gives_up + takes_up :] = hearing.join_delay

    def readers(informed):
        return stays + (~informed[:, :gives_up]).sum(axis=1) + informed[:, gives_up:].sum(axis=1)

    at_last = stays + takes_up + joined
    found = open_seconds(kinds(kind), hearing)
    for one, few, most, is_over in ((found[0], -1, 0, at_last > 0), (found[1], 2, 99, at_last < 2)):

        def within(informed, most=most, few=few):
            return (readers(informed) <= most) & (readers(informed) >= few)

        seconds = lasts(within, times) * is_over
        assert one.total == pytest.approx(
            seconds.mean(), abs=seconds.std() / np.sqrt(draws) * 4 + 1e-9
        )
        assert seconds.max() <= one.longest + 1e-9


@pytest.mark.parametrize(
    ("seconds", "unowned_after", "bound"),
    [(2.5, 0, 2.5), (0.0, 0, 0.0), (2.5, 1, math.inf), (None, 0, math.inf)],
)
@pytest.mark.parametrize("of", ["worst", "p99"])
def test_a_row_has_no_bound_if_queues_stay_unowned_or_no_timer_applies(
    of, seconds, unowned_after, bound
):
    row = {
        "unowned_seconds_worst": -1.0,
        "unowned_seconds_p99": -1.0,
        "unowned_after": unowned_after,
    }
    row[f"unowned_seconds_{of}"] = seconds
    assert SecondsBound(9.0, of).of_row(row) == bound


def test_a_violation_names_the_reason():
    bound = SecondsBound.parse("2")
    row = {"unowned_seconds_worst": 1234.5, "unowned_after": 0}
    allowed = "the limit is 2 s"
    assert bound.violation(row) == f"a queue has no owner for up to 1,234.500 s (worst); {allowed}"
    assert (
        bound.violation(row | {"unowned_seconds_worst": None})
        == f"no timer states when clients follow; {allowed}"
    )
    for n, said in ((1, "1 queue has"), (2, "2 queues have")):
        assert bound.violation(row | {"unowned_after": n}).startswith(
            f"{said} no owner when all clients have followed"
        )
