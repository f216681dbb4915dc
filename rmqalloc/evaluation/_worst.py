"""The worst units of a plan, found in one pass over its batches, and of parts of a plan together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.evaluation._plan_batch import PLAN_SCHEMA, PlanSpec

_SHOWN = ("n_queues", "n_clients", "idle", "unowned", "max_load", "skew", "moved", "least_moves", "clients_affected")

Worst = Mapping[str, list[dict[str, Any]]]
"""Rows of `worst_columns` by scenario, the worst first."""


def worst_columns(spec: PlanSpec) -> list[str]:
    """Columns that describe a bad unit: its names, and what is weighed first.

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
