"""The worst units of a plan, found in one pass over its batches, and of parts of a plan together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, PlanSpec
from rmqalloc.fleet.arrow_columns import text_lengths
from rmqalloc.text import shortened

MAX_NAME = 255
"""Longest name here in characters, as brokers allow for a group: the driver collects what every task found."""

_SHOWN = (
    "n_queues",
    "n_clients",
    "idle",
    "unowned",
    "max_load",
    "skew",
    "moved",
    "least_moves",
    "clients_affected",
)

Worst = Mapping[str, list[dict[str, Any]]]
"""Rows of `worst_columns` by scenario, the worst first."""


def worst_columns(spec: PlanSpec) -> list[str]:
    """Return the columns that describe a bad unit: its names, then the criteria, then other
    figures.

    Examples
    --------
    >>> worst_columns(PlanSpec("AVG", best_by=("moved",)))[:4]
    ['consumer_group', 'topic', 'moved', 'n_queues']
    """
    return [*dict.fromkeys(["consumer_group", "topic", *spec.best_by, *_SHOWN])]


def worst_of(batches: Iterable[pa.RecordBatch], spec: PlanSpec, n: int) -> Worst:
    """Return the worst units of every scenario.

    Examples
    --------
    >>> rows = [{"consumer_group": g, "topic": "T", "scenario": "current", "moved": m, "err_code": 0}
    ...         for g, m in (("a", 1), ("b", 3), ("c", 3))]
    >>> found = worst_of([pa.RecordBatch.from_pylist(rows, PLAN_SCHEMA)], PlanSpec("AVG", best_by=("moved",)), 2)
    >>> [row["consumer_group"] for row in found["current"]]
    ['b', 'c']
    """
    ranking = Ranking(spec, n)
    for batch in batches:
        ranking.add(batch)
    return ranking.worst()


class Ranking:
    """The worst units of the batches that have come so far; arguments as `worst_of`."""

    def __init__(self, spec: PlanSpec, n: int) -> None:
        self._spec, self._n = spec, n
        self._schema = _schema(worst_columns(spec))
        self._held = {name: self._schema.empty_table() for name in spec.names}

    def add(self, batch: pa.RecordBatch) -> None:
        """Rank the rows of another batch."""
        if not self._n:
            return
        named = {name: batch.column(name) for name in self._schema.names}
        for name in ("consumer_group", "topic"):
            named[name] = _short(named[name])
        table = pa.table(named).cast(self._schema)
        weights = [np.asarray(_weight(batch.column(name))) for name in self._spec.best_by]
        names = self._spec.names
        for name, rows in zip(names, _rows_by_state(batch, names), strict=True):
            held = self._held[name]
            # Most rows of a large plan are better than all that are held, and cost one comparison.
            rows = _contenders(table, weights, rows, held.slice(self._n - 1))
            if rows.size:
                self._held[name] = self._first(pa.concat_tables([held, table.take(rows)]))

    def worst(self) -> Worst:
        """Return the worst units, as `worst_of`."""
        return {name: table.to_pylist() for name, table in self._held.items()}

    def _first(self, table: pa.Table) -> pa.Table:
        """Return the worst rows, in order."""
        keys = [(name, "descending") for name in self._spec.best_by]
        keys += [("consumer_group", "ascending"), ("topic", "ascending")]
        return table.take(pc.select_k_unstable(table, min(self._n, table.num_rows), keys))


def _short(names: pa.Array) -> pa.Array:
    """Return names of at most `MAX_NAME` characters."""
    is_long = text_lengths(names) > MAX_NAME
    if not is_long.any():
        return names
    short = [shortened(name, MAX_NAME) for name in names.filter(pa.array(is_long)).to_pylist()]
    return pc.replace_with_mask(names, pa.array(is_long), pa.array(short, names.type))


def _rows_by_state(batch: pa.RecordBatch, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return the positions of the good rows of every state, in their order."""
    number = pc.index_in(batch.column("scenario"), pa.array(names, pa.string()))
    is_good = np.asarray(batch.column("err_code")) == 0
    states = np.where(is_good, number.fill_null(-1).to_numpy(), -1)
    order = np.argsort(states, kind="stable")
    bounds = np.searchsorted(states[order], np.arange(len(names) + 1))
    return [order[start:stop] for start, stop in pairwise(bounds)]


def _contenders(
    table: pa.Table, weights: Sequence[NDArray[Any]], rows: NDArray[np.int64], last: pa.Table
) -> NDArray[np.int64]:
    """Return the rows at least as bad as the last one held; all rows if there is room."""
    if not last.num_rows:
        return rows
    worse = np.zeros(rows.size, np.bool_)
    equal = np.ones(rows.size, np.bool_)
    bound = last.column_names[2 : 2 + len(weights)]
    for weight, name in zip(weights, bound, strict=True):
        weights_here, held_weight = weight[rows], _weight(last[name])[0].as_py()
        worse |= equal & (weights_here > held_weight)
        equal &= weights_here == held_weight
    groups, tied = table["consumer_group"].take(rows[equal]), np.flatnonzero(equal)
    worse[tied] = np.asarray(pc.less_equal(groups, last["consumer_group"][0]).fill_null(True))
    return rows[worse]


def _weight(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return figures as they are compared: null is less than any number."""
    return column.cast(pa.float64()).fill_null(-np.inf)


def merged(parts: Iterable[Worst], spec: PlanSpec, n: int) -> Worst:
    """Return the worst units of several parts of a plan, given the ``n`` worst of each part."""
    schema = _schema([*worst_columns(spec), "scenario", "err_code"])
    found: list[dict[str, Any]] = []
    for part in parts:
        for name, rows in part.items():
            found += [{**row, "scenario": name, "err_code": 0} for row in rows]
    return worst_of([pa.RecordBatch.from_pylist(found, schema)], spec, n)


def _schema(columns: Iterable[str]) -> pa.Schema:
    return pa.schema([PLAN_SCHEMA.field(name) for name in columns])
