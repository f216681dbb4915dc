"""The search for ORDINAL's tables: what it finds is balanced whatever slots fail, and what it says
to be impossible is so.
"""

from collections import Counter
from itertools import combinations, combinations_with_replacement, permutations

import pytest
import specified
from order_tables import is_balanced, orders_of

SECONDS = 300  # far more than it takes; a search that is cut short is no answer
PROVEN_QUICKLY = {3: 5, 4: 5, 5: 6, 6: 5, 8: 6, 10: 6, 12: 6}
"""Queues, and the fewest slots for which they have no table."""


def differences(orders, n_slots):
    """By how much loads differ under each pattern of failures, counted one by one."""
    for size in range(1, n_slots + 1):
        for present in combinations(range(n_slots), size):
            loads = Counter(min(present, key=order.index) for order in orders)
            yield max(loads[slot] for slot in present) - min(loads[slot] for slot in present)


def worst(orders, n_slots):
    """The most by which two loads differ under any pattern of failures."""
    return max(differences(orders, n_slots))


@pytest.mark.parametrize(
    ("n_queues", "n_slots"),
    [(1, 3), (2, 3), (5, 3), (3, 4), (7, 4), (5, 5), (8, 5), (30, 6), (51, 6)],
)
def test_what_is_found_is_balanced_whatever_slots_fail(n_queues, n_slots):
    orders = orders_of(n_queues, n_slots, SECONDS)
    assert len(orders) == n_queues
    assert {tuple(sorted(order)) for order in orders} == {tuple(range(n_slots))}
    assert worst(orders, n_slots) <= 1 and is_balanced(orders, n_slots)


@pytest.mark.parametrize(("n_queues", "n_slots"), PROVEN_QUICKLY.items())
def test_what_is_impossible_is_said_and_the_committed_table_has_a_slot_less(n_queues, n_slots):
    assert orders_of(n_queues, n_slots, SECONDS) == []
    committed = [tuple(map(int, order)) for order in specified.tables()[n_queues]]
    assert len(committed[0]) == n_slots - 1
    assert worst(committed, n_slots - 1) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_queues", sorted({n for n, one in specified.tables().items() if len(one[0]) < 6})
)
def test_no_committed_table_could_have_another_slot(n_queues):
    assert orders_of(n_queues, len(specified.tables()[n_queues][0]) + 1, 3_600) == []


def test_a_search_that_is_cut_short_is_no_answer():
    assert orders_of(7, 6, 0.01) is None


@pytest.mark.parametrize(
    ("n_queues", "n_slots", "possible"), [(2, 4, True), (3, 4, True), (2, 5, True), (3, 5, False)]
)
def test_brute_force_agrees(n_queues, n_slots, possible):
    """Every choice of orders; of five slots, which would be 300,000, those with the order 0, 1, 2,
    3, 4 in them.
    """
    every = list(permutations(range(n_slots)))
    begins, n_free = ((every[0],), n_queues - 1) if n_slots == 5 else ((), n_queues)
    chosen = ((*begins, *more) for more in combinations_with_replacement(every, n_free))
    assert (
        any(all(one <= 1 for one in differences(orders, n_slots)) for orders in chosen) is possible
    )
    assert bool(orders_of(n_queues, n_slots, SECONDS)) is possible


def test_a_table_that_is_not_balanced_is_seen():
    orders = [tuple(map(int, order)) for order in specified.tables()[24]]
    assert is_balanced(orders, 6)
    orders[0] = orders[0][::-1]
    assert not is_balanced(orders, 6) and worst(orders, 6) > 1
