"""The figures of a whole run, added up scenario by scenario while its batches pass by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.evaluation.plan_batch import PLAN_SCHEMA, PlanSpec

_SUMS = ("n_queues", "unowned", "idle", "moved")


class Totals(NamedTuple):
    """Sums over planned units.

    Attributes
    ----------
    units, bad_units : int
        Rows, and how many of them are bad.
    queues, unowned, idle, moved : int
        Queues, queues without an owner, clients without a queue, and queues that change owner, of the good units.
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
        """Totals of both together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self._fields[:-1]}
        return Totals(**sums, max_skew=max(self.max_skew, other.max_skew))

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


ByScenario = Mapping[str, Totals]
"""Totals of every scenario by its name, in the order in which they first came; "" is for units without a best one."""


def totals_of(batch: pa.RecordBatch) -> ByScenario:
    """Totals of one planned batch.

    Examples
    --------
    >>> from rmqalloc.evaluation.plan_batch import PLAN_SCHEMA
    >>> totals_of(pa.RecordBatch.from_pylist([{"scenario": "current", "n_queues": 4, "err_code": 0}], PLAN_SCHEMA))
    {'current': Totals(units=1, bad_units=0, queues=4, unowned=0, idle=0, moved=0, max_skew=0)}
    """
    columns = ["scenario", *_SUMS, "skew", "err_code"]
    table = pa.table([batch.column(name) for name in columns], columns)
    table = table.append_column("bad", pc.not_equal(table["err_code"], 0).cast(pa.int64()))
    wanted = [("err_code", "count"), ("bad", "sum"), *((name, "sum") for name in _SUMS), ("skew", "max")]
    found = table.group_by("scenario", use_threads=False).aggregate(wanted).to_pylist()
    return {row["scenario"] or "": Totals(*(row[f"{name}_{how}"] or 0 for name, how in wanted)) for row in found}


def added(totals: ByScenario, more: ByScenario) -> ByScenario:
    """Totals of both together."""
    return {name: totals.get(name, Totals()).plus(more.get(name, Totals())) for name in {**totals, **more}}


def two_columns(rows: Iterator[tuple[str, str]]) -> str:
    """A summary as text: labels to the left, values to the right."""
    lines = list(rows)
    labels = max(len(label) for label, _ in lines)
    values = max(len(value) for _, value in lines)
    return "\n".join(f"{label:<{labels}}  {value:>{values}}" for label, value in lines)


_SHOWN = ("n_queues", "n_clients", "idle", "unowned", "max_load", "skew", "moved", "least_moves", "clients_affected")

Worst = Mapping[str, list[dict[str, Any]]]
"""Rows of `worst_columns` by scenario, the worst first."""


def worst_columns(spec: PlanSpec) -> list[str]:
    """Columns that tell of a bad unit: its names, and what is weighed first.

    Examples
    --------
    >>> worst_columns(PlanSpec("AVG", best_by=("moved",)))[:4]
    ['consumer_group', 'topic', 'moved', 'n_queues']
    """
    return [*dict.fromkeys(["consumer_group", "topic", *spec.best_by, *_SHOWN])]


def worst_of(batches: Iterable[pa.RecordBatch], spec: PlanSpec, n: int) -> Worst:
    """The worst units of every scenario.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        A plan, or `worst_columns` of it with ``scenario`` and ``err_code``.
    spec : PlanSpec
        What was planned; the worst have most of what ``best_by`` weighs, the weightiest first. Of equals the first by
        group and topic is worse.
    n : int
        How many units of each scenario; bad rows are none of them.

    Examples
    --------
    >>> rows = [{"consumer_group": g, "topic": "T", "scenario": "current", "moved": m, "err_code": 0}
    ...         for g, m in (("a", 1), ("b", 3), ("c", 3))]
    >>> found = worst_of([pa.RecordBatch.from_pylist(rows, PLAN_SCHEMA)], PlanSpec("AVG", best_by=("moved",)), 2)
    >>> [row["consumer_group"] for row in found["current"]]
    ['b', 'c']
    """
    columns = worst_columns(spec)
    keys = [(name, "descending") for name in spec.best_by] + [("consumer_group", "ascending"), ("topic", "ascending")]
    held = {name: _schema(columns).empty_table() for name in spec.names}
    for batch in batches:
        good = batch.filter(pc.equal(batch.column("err_code"), 0))
        for name in spec.names:
            mine = good.filter(pc.equal(good.column("scenario"), name)).select(columns)
            both = pa.concat_tables([held[name], pa.Table.from_batches([mine], _schema(columns))])
            held[name] = both.take(pc.select_k_unstable(both, min(n, both.num_rows), keys))
    return {name: table.to_pylist() for name, table in held.items()}


def merged(parts: Iterable[Worst], spec: PlanSpec, n: int) -> Worst:
    """The worst of several parts of a plan, of which each gave as many."""
    kind = _schema(worst_columns(spec)).append(PLAN_SCHEMA.field("scenario")).append(PLAN_SCHEMA.field("err_code"))
    found = (
        [{**row, "scenario": name, "err_code": 0} for name, rows in part.items() for row in rows] for part in parts
    )
    return worst_of([pa.RecordBatch.from_pylist([row for rows in found for row in rows], kind)], spec, n)


def _schema(columns: Iterable[str]) -> pa.Schema:
    return pa.schema([PLAN_SCHEMA.field(name) for name in columns])
