"""Queues with several readers against every set of informed clients, tried one by one."""

from itertools import combinations

import numpy as np
import pytest

from rmqalloc.ownership.transitions._chances import (
    ReaderCounts,
    expected_by_chance,
    expected_by_number,
)
from rmqalloc.ownership.transitions.open_shared_queues import most_in_subsets


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, kinds = int(rng.integers(0, 6)), int(rng.integers(1, 5))
    old, new = rng.integers(0, 1 << n, (2, kinds))
    return n, old, new, rng.integers(1, 4, kinds), rng.random(kinds) < 0.8


def opened(old, new, counts, written, informed):
    """Queues without a reader and with several, once these clients are informed."""
    unowned = double = 0
    for a, b, count, is_written in zip(
        old.tolist(), new.tolist(), counts.tolist(), written.tolist(), strict=True
    ):
        n_readers = ((a & ~informed) | (b & informed)).bit_count()
        unowned += count * (n_readers == 0 and is_written)
        double += count * (n_readers > 1)
    return unowned, double


def reader_counts(old, new, counts, written, joins):
    """Queues by how many clients change or stay."""
    goes, comes, stays = old & ~new, new & ~old, old & new
    columns = (
        np.array([one.bit_count() for one in bits.tolist()])
        for bits in (goes, comes & ~joins, comes & joins, stays)
    )
    return ReaderCounts(*columns, counts * written, counts).distinct()


@pytest.mark.parametrize("needs_one", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_most_over_all_sets(seed, needs_one):
    n, old, new, counts, written = drawn(seed)
    sets = range(int(needs_one and n > 0), 1 << n)
    tried = [opened(old, new, counts, written, informed) for informed in sets]
    assert most_in_subsets(old, new, (counts * written, counts), n, needs_one) == tuple(
        map(max, zip(*tried, strict=True))
    )


@pytest.mark.parametrize("needs_one", [False, True])
def test_one_client_has_to_be_informed_if_there_is_one(needs_one):
    """It gives up what another reads, too: double until then. Without a client there is nobody to
    inform.
    """
    one = np.ones(1, np.int64)
    assert most_in_subsets(0b11 * one, 0b10 * one, (one, one), 2, needs_one) == (0, 1)
    assert most_in_subsets(0b1 * one, 0b1 * one, (one, one), 1, needs_one) == (0, 0)
    assert most_in_subsets(0 * one, 0b1 * one, (one, one), 1, needs_one) == (int(not needs_one), 0)
    assert most_in_subsets(0 * one, 0 * one, (one, one), 0, needs_one) == (1, 0)


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("seed", range(30))
def test_the_greatest_mean_over_sets_of_one_size(seed, least):
    n, old, new, counts, written = drawn(seed)
    kinds = reader_counts(old, new, counts, written | True, 0)
    n_informees = max(n, least)
    means = [
        np.mean(
            [opened(old, new, counts, written | True, sum(some)) for some in combinations(bits, k)],
            axis=0,
        )
        for bits in [[1 << client for client in range(n_informees)]]
        for k in range(least, n_informees + 1)
    ]
    assert expected_by_number(kinds, n_informees, least) == pytest.approx(
        tuple(np.max(means, axis=0))
    )


@pytest.mark.parametrize("joins", [0, 0b1, 0b11])
@pytest.mark.parametrize("seed", range(12))
def test_the_greatest_expected_number_over_probabilities(seed, joins):
    n, old, new, counts, written = drawn(seed)
    joins &= (1 << n) - 1
    old &= ~joins
    found = expected_by_chance(reader_counts(old, new, counts, written, joins), 0.25)
    most = np.zeros(2)
    for acting, low, high in ((0, 0.0, 0.25), (joins, 0.25, 1.0)):
        for p in np.linspace(low, high, 65):
            total = np.zeros(2)
            for informed in range(1 << n):
                if informed & joins == acting:
                    k = (informed & ~joins).bit_count()
                    share = p**k * (1 - p) ** (n - joins.bit_count() - k)
                    total += share * np.array(opened(old, new, counts, written, informed))
            most = np.maximum(most, total)
    assert found == pytest.approx(tuple(most), abs=2e-3)
