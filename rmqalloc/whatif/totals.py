"""The figures of a whole run, added up while its batches pass by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc


class Totals(NamedTuple):
    """Sums over assigned units.

    Attributes
    ----------
    units, bad_units : int
        Rows, and how many of them have an error.
    queues, unowned, idle : int
        Queues, queues without an owner, and clients without a queue, of the good units.
    max_skew : float
        Greatest skew of a good unit; 0.0 if there is none.

    Examples
    --------
    >>> Totals(units=2, queues=8, max_skew=1.5).plus(Totals(units=1, bad_units=1))
    Totals(units=3, bad_units=1, queues=8, unowned=0, idle=0, max_skew=1.5)
    """

    units: int = 0
    bad_units: int = 0
    queues: int = 0
    unowned: int = 0
    idle: int = 0
    max_skew: float = 0.0

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Totals:
        """Totals of one assigned batch."""
        return cls(
            units=batch.num_rows,
            bad_units=batch.num_rows - batch.column("error").null_count,
            queues=pc.sum(batch.column("n_queues")).as_py() or 0,
            unowned=pc.sum(batch.column("unowned")).as_py() or 0,
            idle=pc.sum(batch.column("idle")).as_py() or 0,
            max_skew=pc.max(batch.column("skew")).as_py() or 0.0,
        )

    def plus(self, other: Totals) -> Totals:
        """Totals of both together."""
        return Totals(
            units=self.units + other.units,
            bad_units=self.bad_units + other.bad_units,
            queues=self.queues + other.queues,
            unowned=self.unowned + other.unowned,
            idle=self.idle + other.idle,
            max_skew=max(self.max_skew, other.max_skew),
        )

    def rows(self, seconds: float) -> Iterator[tuple[str, str]]:
        """Label and value of every line of a summary."""
        yield "units", f"{self.units:,}"
        yield "bad units", f"{self.bad_units:,}"
        yield "queues", f"{self.queues:,}"
        yield "unowned queues", f"{self.unowned:,}"
        yield "idle clients", f"{self.idle:,}"
        yield "max skew", f"{self.max_skew:,.3f}"
        yield "seconds", f"{seconds:,.2f}"
        yield "units/s", f"{self.units / max(seconds, 1e-9):,.0f}"


def two_columns(rows: Iterator[tuple[str, str]]) -> str:
    """A summary as text: labels to the left, values to the right."""
    lines = list(rows)
    labels = max(len(label) for label, _ in lines)
    values = max(len(value) for _, value in lines)
    return "\n".join(f"{label:<{labels}}  {value:>{values}}" for label, value in lines)
