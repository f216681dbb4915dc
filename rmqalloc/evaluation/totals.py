"""Add up the figures of a run scenario by scenario, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.fleet.arrow_columns import Column, filled
from rmqalloc.fleet.columns import distinct_strings
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
    figures = {name: filled(batch.column(of)) for name, of in (SUMS | {"max_skew": "skew"}).items()}
    figures["bad"] = np.asarray(batch.column("err_code")) != ErrCode.GOOD
    # Rows of a scenario side by side, as they come; numbers of 16 bits are sorted in one pass.
    order = np.argsort(number.astype(np.min_scalar_type(len(names))), kind="stable")
    begins = np.flatnonzero(np.diff(number[order], prepend=-1))
    columns = {name: column[order] for name, column in figures.items()}
    most = np.maximum.reduceat(columns.pop("max_skew"), begins) if begins.size else ()
    sums = {
        name: np.add.reduceat(column, begins, dtype=np.int64)
        for name, column in columns.items()
        if begins.size
    }
    units = np.diff(begins, append=number.size)
    totals = {}
    for at in np.argsort(order[begins]).tolist():
        own = {name: int(column[at]) for name, column in sums.items()}
        bad_units = own.pop("bad")
        name = names[number[order[begins[at]]]]
        totals[name] = Totals(int(units[at]), bad_units, **own, max_skew=float(most[at]))
    return totals


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
