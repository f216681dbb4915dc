"""Corrected figures of queues with several readers, against every set of informed clients."""

from itertools import combinations

import numpy as np
import pytest

from rmqalloc.ownership.transitions.open_queues import Open
from rmqalloc.ownership.transitions.open_shared_queues import ReadersOfStep, correct_row


def corrected(step, most=0):
    """Figures without a reader (all, written, not written) and with several; the step is in the
    second of two rows.
    """
    names = "unowned", "unowned_written", "unowned_dry"
    unowned = {
        name: Open(*np.full((1, 2), most), np.zeros(2, bool), *np.full((5, 2), -7.0))
        for name in (*names, "double")
    }
    double = unowned.pop("double")
    correct_row(1, step, unowned, double)
    for one in (*unowned.values(), double):
        assert not one.is_exact[0] and one.expected[0] == -7 and one.seconds_p99[0] == -7, (
            "another row"
        )
    return [*unowned.values(), double]


def numbers(step, informed):
    """Open queues of the four kinds while these clients are informed."""
    found = np.zeros(4, int)
    shared = step.shared if step.shared is not None else np.zeros(step.written.size, bool)
    for old, new, written, is_shared in zip(
        step.old.T, step.new.T, step.written, shared, strict=True
    ):
        readers = {one for one in old.tolist() if one not in informed} | {
            one for one in new.tolist() if one in informed
        }
        readers.discard(-1)
        found += [
            not readers,
            not readers and written,
            not readers and not written,
            len(readers) > 1 and not is_shared,
        ]
    return found


def drawn(seed, needs_one):
    rng = np.random.default_rng(seed)
    n, n_queues = int(rng.integers(2, 6)), int(rng.integers(1, 7))
    joins = np.arange(n) == n - 1 if seed % 2 else np.zeros(n, bool)
    old, new = (
        np.array([rng.permutation(n + 1)[:2] for _ in range(n_queues)]).T - 1 for _ in range(2)
    )
    old[np.isin(old, np.flatnonzero(joins))] = -1
    shared = rng.random(n_queues) < 0.3 if seed % 3 else None
    return ReadersOfStep(
        old, new, rng.random(n_queues) < 0.6, np.ones(n, bool), joins, needs_one, None, shared
    )


@pytest.mark.parametrize("needs_one", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_figures_are_those_of_all_sets(seed, needs_one):
    step = drawn(seed, needs_one)
    joins = set(np.flatnonzero(step.joins).tolist())
    late = sorted(set(range(step.joins.size)) - joins)
    sets = [
        set(some)
        for k in range(int(needs_one), step.joins.size + 1)
        for some in combinations(range(step.joins.size), k)
    ]
    most = np.max([numbers(step, some) for some in sets], axis=0)
    of_one_size = [
        np.mean([numbers(step, {*some, *joins}) for some in combinations(late, k)], axis=0)
        for k in range(int(needs_one), len(late) + 1)
    ]
    found = corrected(step)
    assert [one.most[1] for one in found] == most.tolist()
    assert [one.expected[1] for one in found] == pytest.approx(np.max(of_one_size, axis=0))
    assert [one.after[1] for one in found] == numbers(step, {*late, *joins}).tolist()
    assert all(
        one.is_exact[1] and np.isnan(one.seconds_worst[1]) and np.isnan(one.queue_seconds[1])
        for one in found
    )


@pytest.mark.parametrize("n", [12, 13])
def test_the_most_is_exact_up_to_twelve_clients_that_change_and_a_bound_beyond(n):
    """Clients pass queues on, one to the next; three queues have two readers before or after, and
    one is shared.
    """
    old = np.array([[*range(n), 0, 0, 2, 3], [*[-1] * n, 1, -1, 3, 4]])
    new = np.array([[*np.roll(range(n), 1), 0, 0, 4, 3], [*[-1] * n, -1, 1, -1, 4]])
    shared = np.arange(n + 4) == n + 3
    every, none = np.ones(n + 4, bool), np.zeros(n, bool)
    *unowned, double = corrected(
        ReadersOfStep(old, new, every, ~none, none, False, None, shared), most=50
    )
    assert [bool(one.is_exact[1]) for one in (*unowned, double)] == [n == 12] * 4
    if n > 12:
        assert [one.most[1] for one in unowned] == [50, 50, 50], "as the graphs say"
        assert double.most[1] == 50 + 3
    else:
        assert max(one.most[1] for one in (*unowned, double)) < 50
    assert double.after[1] == 1
