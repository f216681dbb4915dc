"""The tables of a plan's file: read strictly, so that whoever reads a plan may rely on how its rows
stand to one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.plans._plan import (
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    OF_OWNERS,
    QUEUES_SCHEMA,
    UNITS_SCHEMA,
)
from rmqalloc.plans.plan_writing import PlanError
from rmqalloc.scenarios import CURRENT

SCHEMAS = {
    "units": UNITS_SCHEMA,
    "groups": GROUPS_SCHEMA,
    "clients": CLIENTS_SCHEMA,
    "queues": QUEUES_SCHEMA,
}

_FIGURES = {field.name for field in UNITS_SCHEMA if not pa.types.is_string(field.type)} - {
    "err_code"
}
_MAY_BE_NULL = {
    "units": {*_FIGURES, "strategy", "err_msg"},
    "groups": {"least_moves", "backlog_moved", *OF_OWNERS},
    "clients": {"machine_room"},
    "queues": {"owner_before", "others_before", "owner_after", "others_after", "lag"},
}
_NULL_IF_GOOD = {"least_moves", "cross_room"}
"""Figures that a unit without an error may lack."""

_WORDS = {
    ("clients", "status"): ("stays", "new", "gone"),
    ("queues", "change"): ("kept", "moved", "new", "gone", "unowned"),
}

Tables = dict[str, pa.Table]


def read_tables(stored: Mapping[str, Any], scenarios: Sequence[str]) -> Tables:
    """Return the tables of a plan's file."""
    if stored.keys() != SCHEMAS.keys():
        raise PlanError(f"tables must be {', '.join(SCHEMAS)}, got {', '.join(stored)}")
    tables = {name: _table(stored[name], name, schema) for name, schema in SCHEMAS.items()}
    for problem in _problems(tables, [CURRENT, *scenarios]):
        raise PlanError(f"tables.{problem}")
    return tables


def _problems(tables: Tables, states: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with values and rows."""
    for name, table in tables.items():
        for field in table.schema:
            column = table[field.name]
            if field.name not in _MAY_BE_NULL[name] and column.null_count:
                yield f"{name}.{field.name} has no value in row {_first(pc.is_null(column))}"
            if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
                below = pc.fill_null(pc.less(column, 0), False)
                if pc.any(below).as_py():
                    yield f"{name}.{field.name} is negative in row {_first(below)}"
    for (name, column_name), words in _WORDS.items():
        wrong = pc.invert(pc.is_in(tables[name][column_name], pa.array(words)))
        if pc.any(wrong).as_py():
            yield f"{name}.{column_name} must be one of {', '.join(words)}; row {_first(wrong)} is not"
    yield from _readers_lacking(tables["queues"])
    yield from _figures_lacking(tables["units"])
    yield from _out_of_place(tables, states)


def _readers_lacking(queues: pa.Table) -> Iterator[str]:
    """Yield queues with other owners beside none, or with none or nobody among the others."""
    for when in ("before", "after"):
        others = queues[f"others_{when}"]
        there = pc.fill_null(pc.greater(pc.list_value_length(others), 0), False)
        wrong = pc.or_(
            pc.and_(pc.is_valid(others), pc.invert(there)),
            pc.and_(there, pc.is_null(queues[f"owner_{when}"])),
        )
        if pc.any(wrong).as_py():
            yield f"queues.others_{when} must be null or names beside the owner; row {_first(wrong)} is not"
        if pc.list_flatten(others).null_count:
            yield f"queues.others_{when} holds a name that is null"


def _figures_lacking(units: pa.Table) -> Iterator[str]:
    """Yield figures that are there though a unit has an error, or the other way round."""
    good = pc.equal(units["err_code"], 0)
    changed = pc.and_(good, pc.not_equal(units["scenario"], CURRENT))
    for name in sorted(_FIGURES):
        has = pc.is_valid(units[name])
        wrong = pc.and_(has, pc.invert(good))
        if name not in _NULL_IF_GOOD:
            needed = changed if name in OF_OWNERS else good
            wrong = pc.or_(wrong, pc.and_(needed, pc.invert(has)))
        if name != "cross_room" and pc.any(wrong).as_py():
            yield f"units.{name} and units.err_code do not match in row {_first(wrong)}"


def _out_of_place(tables: Tables, states: Sequence[str]) -> Iterator[str]:
    """Yield rows that do not stand where their scenario, group and topic belong."""
    rows = list(zip(_pairs(tables["units"]), tables["units"]["scenario"].to_pylist(), strict=True))
    units = [pair for pair, _ in rows[:: len(states)]]
    if rows != list(product(units, states)):
        yield f"units must have a row for each of {', '.join(states)}, unit by unit"
    if len(set(units)) < len(units):
        yield "units has a group and topic twice"
    groups = dict.fromkeys(group for group, _ in units)
    if _pairs(tables["groups"], "scenario", "consumer_group") != list(product(states, groups)):
        yield "groups must have a row for each group of units, scenario by scenario"
    scenario_numbers = {name: number for number, name in enumerate(states)}
    unit_numbers = {pair: number for number, pair in enumerate(units)}
    for name in ("clients", "queues"):
        table = tables[name]
        names = table["scenario"].to_pylist()
        scenario = np.array([scenario_numbers.get(scenario, -1) for scenario in names], np.int64)
        unit = np.array([unit_numbers.get(pair, -1) for pair in _pairs(table)], np.int64)
        is_unknown = (scenario < 0) | (unit < 0)
        if is_unknown.any():
            yield f"{name} has a scenario, group or topic that is not in units, in row {int(np.argmax(is_unknown))}"
        elif (np.diff(scenario * max(len(units), 1) + unit) < 0).any():
            yield f"{name} must be ordered by scenario, and within a scenario in the order of units"


def _pairs(
    table: pa.Table, first: str = "consumer_group", second: str = "topic"
) -> list[tuple[str, str]]:
    return list(zip(table[first].to_pylist(), table[second].to_pylist(), strict=True))


def _first(mask: Any) -> int:
    return int(pc.index(mask, True).as_py())


def _table(columns: Any, name: str, schema: pa.Schema) -> pa.Table:
    """Return the table that `rmqalloc.plans._plan.plain_column` wrote."""
    if not isinstance(columns, Mapping) or columns.keys() != set(schema.names):
        raise PlanError(f"tables.{name} must be a mapping of the columns {', '.join(schema.names)}")
    made = [
        _column(columns[field.name], f"tables.{name}.{field.name}", field.type) for field in schema
    ]
    if len({len(column) for column in made}) > 1:
        raise PlanError(f"the columns of tables.{name} must have equal numbers of rows")
    return pa.table(made, schema=schema)


def _column(data: Any, place: str, kind: pa.DataType) -> pa.Array:
    is_text = pa.types.is_string(kind)
    coded = data if isinstance(data, Mapping) else {}
    words, rows = (coded.get("words"), coded.get("rows")) if is_text else ([], data)
    if not isinstance(words, list) or not isinstance(rows, list):
        raise PlanError(f"{place} must be {'a mapping of words and rows' if is_text else 'a list'}")
    try:
        if not is_text:
            return pa.array(rows, kind)
        return pa.DictionaryArray.from_arrays(
            pa.array(rows, pa.int32()), pa.array(words, pa.string())
        ).dictionary_decode()
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise PlanError(f"{place} cannot be read as {kind}: {error}") from None
