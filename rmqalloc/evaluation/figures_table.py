"""The table of a plan: put the outcomes of units and scenarios in their rows, and choose the best
row of every unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation.balance import mean_load
from rmqalloc.evaluation.batch_sizes import NameBytes, cut_names
from rmqalloc.evaluation.evaluate import EvaluatedUnits, Evaluation, Outcome, ScenarioState
from rmqalloc.evaluation.row_check import Bad, ErrCode, Reason
from rmqalloc.fleet.arrow_columns import plain, text_lengths, utf8
from rmqalloc.fleet.columns import offsets_of, take_stretches
from rmqalloc.results import compute as pc
from rmqalloc.results.schemas import columns

PLAN_SCHEMA = columns(
    "consumer_group topic scenario strategy: string",
    "n_queues n_clients idle unowned min_load: int32",
    "mean_load: float64",
    "max_load: int32",
    "skew: float64",
    "moved least_moves clients_affected cross_room err_code: int32",
    "err_msg: string",
)
"""Columns of a plan; see `rmqalloc.evaluation.plan_batch`."""

_FIGURES = PLAN_SCHEMA.names[4:-2]
"""Figures of every row, as `Outcome.figures` holds them; ``mean_load`` follows from others."""

OWNERS_FIELD = pa.field("owners", pa.list_(pa.int32()))
"""The column that the output "owners" has behind those."""

CRITERIA = (
    "unowned",
    "idle",
    "skew",
    "moved",
    "least_moves",
    "clients_affected",
    "cross_room",
    "max_load",
    "n_clients",
)
"""Columns that a best scenario can have least of."""

BEST_BY = ("unowned", "idle", "skew", "moved")
"""The default order of goals: first nothing is unowned or idle, then loads are even, then few queues move."""

Places = NDArray[np.int64]
Parts = tuple[EvaluatedUnits, ...]
Mask = NDArray[np.bool_]


def figures_schema(output: str) -> pa.Schema:
    """Return the columns of a plan with that output."""
    return PLAN_SCHEMA.append(OWNERS_FIELD) if output == "owners" else PLAN_SCHEMA


class FiguresTable:
    """Rows of a plan, from an evaluation.

    Figures are kept once for all units and scenarios that share them: a unit in a scenario is a
    place among these figures. Bad rows without figures have the places at the end. Places are a
    table of scenarios and columns, where units of a kind that all states treat alike share a column.
    """

    def __init__(self, evaluation: Evaluation, n_units: int, scenarios: Sequence[str]) -> None:
        self._scenarios = scenarios
        self._column: Places = np.zeros(n_units, np.int64)
        self._outcomes: list[Outcome] = []
        self._starts: dict[int, int] = {}
        self._n_places = 0
        self._bad = Bad()
        tables: list[Places] = []
        n_columns = 0
        for rows, of_states in _side_by_side(evaluation.states, n_units):
            kinds = _kinds(rows, of_states)
            table = np.array([self._places(parts, rows, kinds) for parts in of_states])
            self._column[rows] = n_columns + kinds
            tables.append(table)
            n_columns += table.shape[1]
        spoiled = [*evaluation.spoiled]
        self._column[spoiled] = n_columns + np.arange(len(spoiled))
        tables.append(np.zeros((len(scenarios), len(spoiled)), np.int64))
        self._at: Places = np.concatenate(tables, axis=1)
        for at, state in zip(self._at, evaluation.states, strict=True):
            for part in state.parts:
                if not part.layers:
                    self._put_bad(at, self._column[part.rows], part.bad.values())
        self._put_bad(self._at, self._column[spoiled], evaluation.spoiled.values())

    def _start(self, outcome: Outcome) -> int:
        """Return where the figures of an outcome begin; those of a new one are added at the end."""
        if id(outcome) not in self._starts:
            self._starts[id(outcome)] = self._n_places
            for place, reason in outcome.bad.items():
                self._bad[self._n_places + place] = reason
            self._outcomes.append(outcome)
            self._n_places += outcome.rules.of_unit.size
        return self._starts[id(outcome)]

    def _places(self, parts: Parts, rows: Places, kinds: Places) -> Places:
        """Return the places of units in a state, by kinds if its one layer has these."""
        if len(parts) == 1 and len(parts[0].layers) == 1 and parts[0].layers[0].kinds is kinds:
            return self._start(parts[0].layers[0].outcome) + parts[0].layers[0].of_kind
        places = np.zeros(kinds.size, np.int64)
        for part in parts:
            for layer in part.layers:
                at = layer.units if part.rows is rows else part.rows[layer.units]
                places[at] = self._start(layer.outcome) + layer.places
        return places

    def _put_bad(self, at: Places, columns: Places, reasons: Collection[Reason]) -> None:
        """Give bad units, by their columns, places with their reasons."""
        at[..., columns] = self._n_places + np.arange(len(reasons))
        self._bad.update(enumerate(reasons, start=self._n_places))
        self._n_places += len(reasons)

    def batches(
        self, units: pa.RecordBatch, output: str, best_by: Sequence[str], most_bytes: int
    ) -> Iterator[tuple[pa.RecordBatch, Places]]:
        """Yield the rows, unit by unit in the order of the batch, and which unit each is of; in
        pieces of at most ``most_bytes`` of names, or of one row.
        """
        n_scenarios, n_units = len(self._scenarios), self._column.size
        codes = np.zeros(self._n_places, np.int32)
        codes[list(self._bad)] = [reason.code for reason in self._bad.values()]
        if output == "best":
            scenario, unit = self._best(best_by, codes), np.arange(n_units)
        else:
            scenario = np.tile(np.arange(n_scenarios), n_units)
            unit = np.repeat(np.arange(n_units), n_scenarios)
        named = {}
        for name in ("consumer_group", "topic"):
            text = plain(units.column(name), name)
            named[name] = utf8(text if text.type == pa.string() else text.cast(pa.string()))
        picked = [NameBytes.picked(text_lengths(text), unit) for text in named.values()]
        picked.append(
            NameBytes.picked(text_lengths(pa.array(self._scenarios, pa.string())), scenario)
        )
        if self._bad:
            said = np.zeros(self._n_places, np.int64)
            said[list(self._bad)] = [len(reason.text.encode()) for reason in self._bad.values()]
            picked.append(NameBytes.picked(said, self._at[scenario, self._column[unit]]))
        for start, stop in cut_names(unit.size, picked, most_bytes):
            which = slice(start, stop)
            columns = self._columns(scenario[which], unit[which], codes, output)
            for name, text in named.items():
                is_whole = unit.size == n_units
                columns[name] = text[which] if is_whole else pc.take(text, pa.array(unit[which]))
            schema = figures_schema(output)
            arrays = [columns[name] for name in schema.names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema), unit[which]

    def _columns(
        self, scenario: Places, unit: Places, codes: NDArray[np.int32], output: str
    ) -> dict[str, pa.Array]:
        """Return the columns of some rows, without the names of their units."""
        at = self._at[scenario, self._column[unit]]
        bad = codes[at] != ErrCode.GOOD if self._bad else None
        known = filter(self._is_known, _FIGURES)
        columns = {name: pa.array(np.take(self._figure(name), at), mask=bad) for name in known}
        columns.setdefault("cross_room", pa.nulls(at.size, pa.int32()))
        no_best = bad if output == "best" else None
        columns["scenario"] = words_column(self._scenarios, scenario, no_best)
        columns["strategy"] = self._strategies(at, bad)
        columns["err_code"], columns["err_msg"] = pa.array(codes[at]), self._messages(at, bad)
        if output == "owners":
            columns["owners"] = self._owners(at, bad)
        return columns

    def _figure(self, name: str) -> NDArray[Any]:
        """Return a figure at all places; where no machine rooms are known nothing crosses them."""
        if name == "mean_load":
            return mean_load(self._figure("n_queues"), self._figure("n_clients"))
        parts = []
        if self._is_known(name):
            parts = [outcome.figures[name] for outcome in self._outcomes]
        return self._laid(parts, np.float64 if name == "skew" else np.int32)

    def _laid(self, parts: Sequence[NDArray[Any]], kind: type) -> NDArray[Any]:
        """Lay values of the outcomes end to end; the bad places behind have 0."""
        return np.concatenate([*parts, np.zeros(self._n_places - sum(map(len, parts)), kind)])

    def _best(self, best_by: Sequence[str], codes: NDArray[np.int32]) -> Places:
        """Return the number of every unit's best scenario by the criteria; "current" if there are
        no scenarios.
        """
        keys = [np.where(codes == ErrCode.GOOD, self._figure(name), np.inf) for name in best_by]
        if self._n_places <= self._at.shape[1]:
            keys = [_ranks(keys)]
        first = min(1, len(self._scenarios) - 1)
        best = np.full(self._at.shape[1], first)
        held = [np.take(key, self._at[first]) for key in keys]
        for scenario in range(2, len(self._scenarios)):
            tried = [np.take(key, self._at[scenario]) for key in keys]
            better, tie = np.zeros(best.size, bool), np.ones(best.size, bool)
            for tried_key, held_key in zip(tried, held, strict=True):
                better |= tie & (tried_key < held_key)
                tie &= tried_key == held_key
            best[better] = scenario
            for tried_key, held_key in zip(tried, held, strict=True):
                np.copyto(held_key, tried_key, where=better)
        of_units: Places = best[self._column]
        return of_units

    def _is_known(self, name: str) -> bool:
        """Return False for ``cross_room`` where no machine rooms are known."""
        return name != "cross_room" or any(name in outcome.figures for outcome in self._outcomes)

    def _strategies(self, at: Places, bad: Mask | None) -> pa.Array:
        """Return the names of the strategies."""
        names: list[str] = []
        codes = []
        for outcome in self._outcomes:
            codes.append(outcome.rules.of_unit + len(names))
            names += [strategy.get_name() for strategy in outcome.rules.table]
        return words_column(names, self._laid(codes, np.int32)[at], bad)

    def _messages(self, at: Places, bad: Mask | None) -> pa.Array:
        """Return what is wrong with each row, null where nothing is."""
        if bad is None:
            return pa.nulls(at.size, pa.string())
        number = np.zeros(self._n_places, np.int64)
        number[list(self._bad)] = np.arange(len(self._bad))
        return words_column([reason.text for reason in self._bad.values()], number[at], ~bad)

    def _owners(self, at: Places, bad: Mask | None) -> pa.Array:
        """Return the owners as lists."""
        starts, begin = [], 0
        for outcome in self._outcomes:
            starts.append(outcome.offsets[:-1] + begin)
            begin += int(outcome.offsets[-1])
        lengths = self._figure("n_queues")[at]
        lengths = lengths if bad is None else np.where(bad, 0, lengths)
        nothing = np.zeros(0, np.int32)
        owners = np.concatenate([nothing, *(outcome.owners for outcome in self._outcomes)])
        offsets = offsets_of(lengths)
        picked = take_stretches(owners, self._laid(starts, np.int64)[at], offsets)
        mask = None if bad is None else pa.array(bad)
        return pa.ListArray.from_arrays(
            pa.array(offsets.astype(np.int32)), pa.array(picked), mask=mask
        )


def _side_by_side(
    states: Sequence[ScenarioState], n_units: int
) -> Iterator[tuple[Places, list[Parts]]]:
    """Yield the parts of all states that have the same units, with the rows of these; once all
    rows, where a state has other parts than the first.
    """
    rows_of = [[id(part.rows) for part in state.parts] for state in states]
    if all(rows == rows_of[0] for rows in rows_of):
        for parts in zip(*(state.parts for state in states), strict=True):
            yield parts[0].rows, [(part,) for part in parts]
    else:
        yield np.arange(n_units), [state.parts for state in states]


def _kinds(rows: Places, of_states: Sequence[Parts]) -> Places:
    """Return the kind of each unit where every state treats units of a kind alike; else each is a
    kind of its own.
    """
    layers = [layer for parts in of_states for part in parts for layer in part.layers]
    if len(layers) == len(of_states) and all(layer.by_kind for layer in layers):
        return layers[0].kinds
    return np.arange(rows.size)


def _ranks(keys: list[NDArray[Any]]) -> Places:
    """Rank places by several keys, the most important first; equal places have one rank."""
    order = np.lexsort(keys[::-1])
    steps = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.append(0, np.cumsum(steps))[: order.size]
    return ranks


def words_column(words: Sequence[str], number: NDArray[Any], null: Mask | None = None) -> pa.Array:
    """Return a column that picks words by their numbers."""
    if null is None and len(words) == 1:
        return pa.repeat(pa.scalar(words[0], pa.string()), number.size)
    codes = pa.array(number.astype(np.int32), mask=null)
    return pc.take(pa.array(words, pa.string()), codes)
