"""The expected number against all sets of informed clients: by their number where no timer applies,
else by their share.
"""

from itertools import combinations

import numpy as np
import pytest

from rmqalloc.ownership.transitions.handovers import Handovers
from rmqalloc.ownership.transitions.notification_delay import hearing_of
from rmqalloc.ownership.transitions.open_queues import open_queues


def unowned(old, new, informed):
    """Queues without an owner once these clients have followed; -1 is nobody."""
    has_left = [o < 0 or o in informed for o in old]
    return sum(
        gone and n not in informed
        for gone, o, n in zip(has_left, old, new, strict=True)
        if o != n or o < 0
    )


def greatest_mean(old, new, n, needs_one):
    sizes = range(int(needs_one), n + 1)
    return max(
        np.mean([unowned(old, new, set(some)) for some in combinations(range(n), k)]) for k in sizes
    )


def opened(old, new, n, needs_one=False, hearing=None):
    old, new = np.array(old, np.int64), np.array(new, np.int64)
    nobody = np.zeros(n, bool)
    counted = np.ones(old.size, bool)
    at = np.zeros(old.size, np.int64)
    of = Handovers(
        np.array([0, n]),
        np.arange(n),
        at,
        old,
        new,
        old >= 0,
        new >= 0,
        counted,
        np.array([needs_one]),
        nobody,
    )
    return open_queues(of.unowned(), [hearing], np.array([0]))


def found(old, new, n, needs_one):
    return opened(old, new, n, needs_one).expected[0]


@pytest.mark.parametrize("needs_one", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_expected_number_is_the_greatest_mean_over_sets_of_one_size(seed, needs_one):
    rng = np.random.default_rng(seed)
    n, n_queues = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    old, new = rng.integers(-1, n, (2, n_queues)).tolist()
    assert found(old, new, n, needs_one) == pytest.approx(greatest_mean(old, new, n, needs_one)), (
        old,
        new,
    )


@pytest.mark.parametrize("needs_one", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "n"),
    [
        ([-1], [0], 1),  # one client, which has to follow before it reads
        ([0], [-1], 1),  # and which gives up what it had
        ([0, 1], [1, 0], 2),  # a swap
        ([-1, 0], [0, -1], 1),  # as many are open before as after
        ([0, -1, -1], [1, 2, 2], 3),  # two sizes of a set tie
        ([0, 0, 1, 1], [1, 1, 0, 0], 2),
    ],
)
def test_one_client_and_ties(old, new, n, needs_one):
    assert found(old, new, n, needs_one) == pytest.approx(greatest_mean(old, new, n, needs_one))


@pytest.mark.parametrize("seed", range(20))
def test_by_a_timer_it_is_the_greatest_mean_over_shares_of_informed_clients(seed):
    rng = np.random.default_rng(seed)
    n, n_queues = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    old, new = rng.integers(-1, n, (2, n_queues))
    row, is_there, every = np.zeros(n_queues, np.int64), np.ones(n_queues, bool), np.zeros(n, bool)
    step = Handovers(
        np.array([0, n]),
        np.arange(n),
        row,
        old,
        new,
        old >= 0,
        new >= 0,
        is_there,
        ~is_there[:1],
        every,
    )
    shares, means = np.linspace(0, 1, 1_001), np.zeros((2, 1_001))
    for informed in (set(some) for k in range(n + 1) for some in combinations(range(n), k)):
        double = sum(
            0 <= one != other >= 0 and one not in informed and other in informed
            for one, other in zip(old, new, strict=True)
        )
        chance = shares ** len(informed) * (1 - shares) ** (n - len(informed))
        means += np.outer([unowned(old.tolist(), new.tolist(), informed), double], chance)
    found = [
        open_queues(one, [hearing_of("timer")], np.array([0]))
        for one in (step.unowned(), step.double_owned())
    ]
    assert [one.expected[0] for one in found] == pytest.approx(means.max(axis=1), abs=1e-4)


def test_one_client_that_takes_over_from_many_bounds_the_percentile_by_itself():
    """It waits longer than x with 0.05 (1 - x), so 0.8 s are enough, however many queues wait for
    it.
    """
    taken_over = opened(range(1, 21), [0] * 20, 21, hearing=hearing_of("notice"))
    assert taken_over.seconds_p99[0] == pytest.approx(0.8, abs=0.0011)


@pytest.mark.parametrize("client", [0, 1])
def test_a_client_that_need_not_be_informed_and_reads_a_queue_throughout_opens_nothing(client):
    stays, no = np.array([client]), np.zeros(1, bool)
    of = Handovers(
        np.array([0, 2]),
        np.arange(2),
        np.array([0]),
        stays,
        stays,
        no,
        no,
        ~no,
        no,
        np.zeros(2, bool),
    )
    for one in (of.unowned(), of.double_owned()):
        found = open_queues(one, [hearing_of("timer")], np.array([0]))
        assert (found.most[0], found.expected[0], found.after[0], found.seconds_worst[0]) == (
            0,
            0,
            0,
            0,
        )
