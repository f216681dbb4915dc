"""Goals: figures of a way to carry out a change, each a column of its steps and how that is added
up. All are minimised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.text import did_you_mean

Figures = NDArray[np.float64]


class Goal(NamedTuple):
    """A figure to keep small: a column of `Rollout.steps`, ``seconds`` or ``begins_batch``, and how
    steps are put together.
    """

    column: str
    over_steps: str  # sum, max or last, without the state before the first step
    kind: pa.DataType = pa.int64()
    exact: str | None = (
        None  # column that says where the figure is exact; elsewhere it is an upper bound
    )


GOALS: Mapping[str, Goal] = {
    "moves": Goal("moved", "sum"),
    "idle": Goal("idle", "last"),
    "unowned": Goal("unowned_written", "max", exact="unowned_is_exact"),
    "double_owned": Goal("double_owned", "max", exact="double_owned_is_exact"),
    "unowned_seconds": Goal("unowned_seconds_worst", "max", pa.float64()),
    "unowned_queue_seconds": Goal("unowned_queue_seconds", "sum", pa.float64()),
    "duration": Goal("seconds", "sum", pa.float64()),
    "batches": Goal("begins_batch", "sum"),
    "load": Goal("max_load", "last"),
    "clients": Goal("n_clients", "last"),
    "queues": Goal("n_queues", "last"),
}
"""All goals, by the names that they have in results; options have dashes for underscores."""

DEFAULT_GOALS = ("unowned", "moves", "duration")


def goals_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return goals by their names, dashes or underscores in them, each once.

    Examples
    --------
    >>> goals_named(["unowned-seconds", "moves"])
    ('unowned_seconds', 'moves')
    """
    found = tuple(dict.fromkeys(name.replace("-", "_") for name in names))
    if not found:
        raise ArgumentError(f"there is no goal; give some of {', '.join(GOALS)}")
    for name in found:
        if name not in GOALS:
            raise ArgumentError(
                f"goals are {', '.join(GOALS)}, got {name!r}{did_you_mean(name, GOALS)}"
            )
    return found


def bounds_named(bounds: Mapping[str, float]) -> dict[str, float]:
    """Return bounds by the names of their goals."""
    for name, most in bounds.items():
        if not most >= 0:
            raise ArgumentError(f"the bound of {name} must be a number from 0 on, got {most}")
    return dict(zip(goals_named(bounds), bounds.values(), strict=True)) if bounds else {}


class Steps(NamedTuple):
    """The steps of many ways, laid end to end; each begins with step 0, the state before."""

    columns: Mapping[str, NDArray[Any]]
    starts: NDArray[np.int64]  # row of every way's step 0

    @classmethod
    def of(cls, table: pa.Table, begins_batch: Sequence[bool], step_seconds: float) -> Steps:
        """Read the columns of a table of steps.

        ``seconds`` is what a step takes: ``step_seconds``, and where it is known the time until the
        last written queue has an owner again.
        """
        names = [name for name in table.column_names if name not in ("consumer_group", "action")]
        columns = {name: table[name].to_numpy() for name in names}
        waits = np.nan_to_num(columns["unowned_seconds_worst"])
        columns["seconds"] = np.where(columns["step"] > 0, step_seconds + waits, 0.0)
        columns["begins_batch"] = np.array(begins_batch, np.int64)
        return cls(columns, np.flatnonzero(columns["step"] == 0))

    def figures(self, names: Sequence[str]) -> Figures:
        """Return the figures of every way, a row each and a column for each goal."""
        return np.stack(
            [self._figure(GOALS[name], name).astype(np.float64) for name in names], axis=1
        )

    def are_exact(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of these are exact: a step with an exact figure attains the greatest."""
        exact = np.ones((self.starts.size, len(names)), bool)
        way = np.cumsum(self.columns["step"] == 0) - 1
        for place, goal in enumerate(GOALS[name] for name in names):
            if goal.exact is not None:
                greatest = self._figure(goal, goal.column)[way]
                reached = self.columns[goal.exact] & (self._counted(goal) == greatest)
                exact[:, place] = np.logical_or.reduceat(reached, self.starts)
        return exact

    def _figure(self, goal: Goal, name: str) -> NDArray[Any]:
        if (
            self.columns[goal.column].dtype.kind == "f"
            and np.isnan(self.columns[goal.column]).any()
        ):
            raise ArgumentError(
                f"goal {name} is not known: no timer says when clients follow a change of strategy"
            )
        if goal.over_steps == "last":
            found: NDArray[Any] = self.columns[goal.column][
                np.append(self.starts[1:], self.columns["step"].size) - 1
            ]
        else:
            put_together = np.add if goal.over_steps == "sum" else np.maximum
            found = put_together.reduceat(self._counted(goal), self.starts)
        return found

    def _counted(self, goal: Goal) -> NDArray[Any]:
        """Return a column without the state before."""
        return np.where(self.columns["step"] > 0, self.columns[goal.column], 0)


def non_dominated(figures: Figures) -> NDArray[np.int64]:
    """Return the Pareto front: rows that no other row betters in one figure without being worse in
    another.

    Examples
    --------
    >>> non_dominated(np.array([[3.0, 1], [1, 3], [2, 2], [2, 3], [1, 3]])).tolist()
    [1, 2, 0]
    """
    kept: list[int] = []
    # In this order a row can only be dominated by one before it.
    for position in np.unique(figures, axis=0, return_index=True)[1].tolist():
        if not (figures[kept] <= figures[position]).all(axis=1).any():
            kept.append(position)
    return np.array(kept, np.int64)


def excess(figures: Figures, names: Sequence[str], bounds: Mapping[str, float]) -> Figures:
    """Return by how much each bound is exceeded, relative to the bound: a row for every way, a
    column for every bound.
    """
    columns = [names.index(name) for name in bounds]
    most = np.array(list(bounds.values()), np.float64)
    over: Figures = np.maximum(figures[:, columns] - most, 0) / np.maximum(most, 1)
    return over
