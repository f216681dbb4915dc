"""Add up the figures of a run scenario by scenario, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.fleet.arrow_columns import Column, filled
from rmqalloc.fleet.columns import Index, distinct_strings
from rmqalloc.results.renderer import skew_text

SUMS = {"queues": "n_queues", "unowned": "unowned", "idle": "idle", "moved": "moved"}
"""Totals that are sums of a plan's column; the columns by total."""


class Totals(NamedTuple):
    """Sums over planned units.

    Attributes
    ----------
    units, bad_units : int
        Rows, and how many of them are bad.
    queues, unowned, idle, moved : int
        Queues, queues without an owner, clients without a queue, and queues that change owner, of
        the good units.
    max_skew : float
        Greatest skew of a good unit; 0.0 if there is none.

    Examples
    --------
    >>> Totals(units=2, queues=8, max_skew=1.5).plus(Totals(units=1, bad_units=1))
    Totals(units=3, bad_units=1, queues=8, unowned=0, idle=0, moved=0, max_skew=1.5)
    """

    units: int = 0
    bad_units: int = 0
    queues: int = 0
    unowned: int = 0
    idle: int = 0
    moved: int = 0
    max_skew: float = 0.0

    def plus(self, other: Totals) -> Totals:
        """Return the totals of both together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self._fields[:-1]}
        return Totals(**sums, max_skew=max(self.max_skew, other.max_skew))

    def rows(self, seconds: float) -> Iterator[tuple[str, str]]:
        """Yield the label and value of every line of a summary."""
        yield "units", f"{self.units:,}"
        yield "bad units", f"{self.bad_units:,}"
        yield "queues", f"{self.queues:,}"
        yield "unowned queues", f"{self.unowned:,}"
        yield "idle clients", f"{self.idle:,}"
        yield "max skew", skew_text(self.max_skew)
        yield "seconds", f"{seconds:,.2f}"
        yield "units/s", f"{self.units / max(seconds, 1e-9):,.0f}"


ByScenario = Mapping[str, Totals]
"""Totals of every scenario by its name, in the order in which they first came; "" is for units without a best one."""


def totals_of(batch: pa.RecordBatch) -> ByScenario:
    """Return the totals of one planned batch.

    Examples
    --------
    >>> from rmqalloc.evaluation import PLAN_SCHEMA
    >>> totals_of(pa.RecordBatch.from_pylist([{"scenario": "current", "n_queues": 4, "err_code": 0}], PLAN_SCHEMA))
    {'current': Totals(units=1, bad_units=0, queues=4, unowned=0, idle=0, moved=0, max_skew=0.0)}
    """
    scenarios = Column.of(batch, "scenario")
    number, table = distinct_strings(scenarios.text()[0])
    names = [*table.to_list(), ""]
    if (nowhere := scenarios.nulls()).size:
        number = number.copy()
        number[nowhere] = len(names) - 1
    figures = {name: filled(batch.column(of)) for name, of in SUMS.items()}
    figures["bad_units"] = np.asarray(batch.column("err_code")) != ErrCode.GOOD
    skew = filled(batch.column("skew"))
    totals = {}
    for rows in _rows_of_each(number):
        sums = {name: int(column[rows].sum(dtype=np.int64)) for name, column in figures.items()}
        units = number[rows]
        totals[names[units[0]]] = Totals(units.size, **sums, max_skew=float(skew[rows].max()))
    return totals


def _rows_of_each(number: Index) -> list[Any]:
    """Return the rows of every scenario, in the order in which scenarios first come."""
    if not number.any():  # of one scenario, nothing has to be picked
        return [slice(None)] if number.size else []
    # Numbers of 16 bits are sorted in one pass.
    order = np.argsort(number.astype(np.min_scalar_type(number.max())), kind="stable")
    rows = np.split(order, 1 + np.flatnonzero(np.diff(number[order])))
    return sorted(rows, key=lambda some: int(some[0]))


def added(totals: ByScenario, more: ByScenario) -> ByScenario:
    """Return the totals of both together."""
    return {
        name: totals.get(name, Totals()).plus(more.get(name, Totals()))
        for name in {**totals, **more}
    }


def two_columns(rows: Iterator[tuple[str, str]]) -> str:
    """Return a summary as text: labels to the left, values to the right."""
    return aligned(list(rows), "<>")


def aligned(rows: Sequence[Sequence[str]], flush: Iterable[str]) -> str:
    """Lay cells out in columns two blanks apart, each column flush left (``<``) or right (``>``).

    Examples
    --------
    >>> print(aligned([["units", "12"], ["skew", "1.5"]], "<>"))
    units   12
    skew   1.5
    """
    columns = [
        [f"{cell:{to}{max(map(len, column))}}" for cell in column]
        for column, to in zip(zip(*rows, strict=True), flush, strict=True)
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))
