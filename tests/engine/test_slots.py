"""Owners by slots of any kind: loads are even, numbers are those of the page, and orders are
followed digit by digit.

Which owner a queue has by draws is compared with the page in tests/strategies/test_ordinal.py.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc._engine import slots

EVEN, DIGITS = 60, 6

ANY_SLOT = st.one_of(
    st.integers(-2, 12), st.integers(-2, 400), st.integers(0, 10**9), st.just(2**31 - 1)
)
LISTS = st.one_of(
    st.lists(ANY_SLOT, min_size=1, max_size=100),
    st.integers(1, 100).map(lambda n: list(range(n))),
    st.lists(st.integers(0, 30), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(-2, -1), min_size=1, max_size=9),
)
SEEDS = st.integers(0, 2**64 - 1)


def one(value, dtype):
    return np.array([value], dtype)


def numbers_of(given_slots):
    """The page: the first client of each slot below the limit, then repeats by slot and position,
    then those without one.
    """
    limit = 4 * sum(slot != -2 for slot in given_slots) + 64
    numbers = [-1] * len(given_slots)
    for i, slot in enumerate(given_slots):
        if 0 <= slot < limit and slot not in given_slots[:i]:
            numbers[i] = slot
    n = max(numbers) + 1
    rest = [i for i, slot in enumerate(given_slots) if slot != -2 and numbers[i] < 0]
    for i in sorted(
        rest, key=lambda i: (given_slots[i] if 0 <= given_slots[i] < limit else limit, i)
    ):
        numbers[i], n = n, n + 1
    return numbers, n


@given(lists=st.lists(LISTS | st.just([]), min_size=1, max_size=4))
def test_numbers_of_clients(lists):
    offsets = np.concatenate([[0], np.cumsum([len(slots_) for slots_ in lists])]).astype(np.int64)
    column = np.array([slot for slots_ in lists for slot in slots_] or [0], np.int32)
    n_numbers, numbers = np.empty(len(lists), np.int32), np.empty(column.size, np.int32)
    scratch = np.empty(slots.scratch_size(0, max(map(len, lists))), np.int32)
    slots.number(offsets, column, scratch, n_numbers, numbers)
    want = [numbers_of(slots_) if slots_ else ([], 0) for slots_ in lists]
    assert n_numbers.tolist() == [n for _, n in want]
    assert numbers[: offsets[-1]].tolist() == [number for of_list, _ in want for number in of_list]


@given(
    given_slots=LISTS,
    numbers=st.lists(SEEDS, min_size=1, max_size=300) | st.integers(1, 1500),
    seed=SEEDS,
    chained=st.booleans(),
)
def test_loads_are_even_and_those_who_take_no_part_own_nothing(given_slots, numbers, seed, chained):
    queues = (
        np.array(numbers, np.uint64)
        if isinstance(numbers, list)
        else np.full(numbers, seed, np.uint64)
    )
    m, n = queues.size, len(given_slots)
    out = np.full(m + 2, -7, np.int32)
    slots.own(
        *(
            one(1, np.int64),
            one(m, np.int32),
            one(0, np.int64),
            one(0, np.int64),
            one(n, np.int32),
            one(seed, np.uint64),
        ),
        *(
            queues,
            np.array(given_slots, np.int32),
            np.empty(slots.scratch_size(m, n), np.int32),
            out,
            chained,
        ),
    )
    assert out[0] == out[-1] == -7
    owners, present = out[1:-1].tolist(), [i for i, slot in enumerate(given_slots) if slot != -2]
    if not present:
        assert set(owners) == {-1}
    else:
        assert set(owners) <= set(present)
        loads = [owners.count(i) for i in present]
        assert sum(loads) == m and max(loads) - min(loads) <= 1


def by_orders(digits, starts, given_slots, m, seed):
    """Owners of m queues by orders whose first digits are given, in tables of six slots."""
    n = len(given_slots)
    out = np.empty(m, np.int32)
    slots.by_orders(
        *(
            one(0, np.int64),
            one(m, np.int32),
            one(0, np.int64),
            one(n, np.int32),
            one(seed, np.uint64),
        ),
        *(np.array(given_slots, np.int32), digits, starts, np.full(EVEN + 1, DIGITS, np.int32)),
        *(np.empty(slots.scratch_size(m, n), np.int32), out),
    )
    return out.tolist()


@given(
    given_slots=st.lists(st.integers(-2, 7), min_size=1, max_size=6).filter(
        lambda found: numbers_of(found)[1] <= DIGITS
    ),
    m=st.integers(1, 200),
    seed=SEEDS,
    drawn=st.integers(0, 2**32 - 1),
)
def test_a_queue_goes_to_the_first_slot_of_its_order_that_is_present(given_slots, m, seed, drawn):
    none = np.zeros(EVEN + 1, np.int64)
    # What a digit stands for: one queue, all slots present, and an order that is the digit alone.
    label = [
        by_orders(np.full(DIGITS, d, np.uint8), none, range(DIGITS), 1, seed)[0]
        for d in range(DIGITS)
    ]
    assert sorted(label) == list(range(DIGITS))
    starts = np.array([i * (i - 1) // 2 for i in range(EVEN + 1)], np.int64)
    n_digits = EVEN * (EVEN + 1) // 2 * DIGITS
    orders = np.random.default_rng(drawn).integers(0, 8, n_digits, np.uint8)  # some are none
    numbers, rest = numbers_of(given_slots)[0], m % EVEN
    client = {number: i for i, number in enumerate(numbers) if number >= 0}
    want = []
    for queue in range(m):
        row = starts[EVEN if queue < m - rest else rest] + queue % EVEN
        order = [label[d] for d in orders[row * DIGITS : (row + 1) * DIGITS] if d < DIGITS]
        want.append(next((client[slot] for slot in order if slot in client), -1))
    assert by_orders(orders, starts, given_slots, m, seed) == want
