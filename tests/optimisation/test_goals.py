"""Goals: columns of steps added up, fronts, bounds."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.optimisation.goals import Steps, excess, non_dominated

ROWS = {
    "consumer_group": ["0"] * 3 + ["1"] * 2,
    "step": [0, 1, 2, 0, 1],
    "action": [""] * 5,
    "moved": [7, 2, 3, 0, 5],  # a state before counts in no figure
    "unowned_written": [9, 4, 1, 0, 6],
    "unowned_is_exact": [True, False, True, True, True],
    "idle": [1, 5, 2, 0, 3],
}
LATER = {
    "unowned_seconds_worst": [0.0, 20.0, 1.5, 0.0, 2.0],
    "unowned_queue_seconds": [0.0, 4.0, 3.0, 0.0, 0.5],
}
BEGINS = [False, True, False, False, True]


def test_figures_are_sums_maxima_and_what_is_last():
    unknown = {name: [None if of else 0.0 for of in column] for name, column in LATER.items()}
    table = pa.table(
        ROWS | {name: pa.array(column, pa.float64()) for name, column in unknown.items()}
    )
    steps = Steps.of(table, BEGINS, 60.0)
    names = ("moves", "unowned", "idle", "batches", "duration")
    assert steps.figures(names).tolist() == [[5, 4, 2, 1, 120], [5, 6, 3, 1, 60]]
    assert steps.are_exact(names).tolist() == [[True, False, True, True, True], [True] * 5]
    with pytest.raises(ValueError, match="goal unowned_seconds is not known: no timer says"):
        steps.figures(("unowned_seconds",))


def test_seconds_count_where_steps_have_them():
    steps = Steps.of(pa.table(ROWS | LATER), BEGINS, 60.0)
    found = steps.figures(("unowned_seconds", "unowned_queue_seconds", "duration"))
    assert found.tolist() == [[20.0, 7.0, 141.5], [2.0, 0.5, 62.0]]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=40))
def test_a_front_is_what_nothing_betters(points):
    rows = np.array(points, float).reshape(-1, 3)
    found = [points[one] for one in non_dominated(rows).tolist()]
    bettered = {
        one
        for one in points
        for other in points
        if other != one and all(a <= b for a, b in zip(other, one, strict=True))
    }
    assert found == sorted(set(points) - bettered)
    assert non_dominated(rows).tolist() == [points.index(one) for one in found]


def test_what_exceeds_a_bound_counts_in_parts_of_it():
    figures = np.array([[4.0, 10.0], [2.0, 30.0]])
    assert excess(figures, ("idle", "moves"), {"moves": 20, "idle": 0}).tolist() == [
        [0, 4],
        [0.5, 2],
    ]
    assert excess(figures, ("idle", "moves"), {}).shape == (2, 0)
