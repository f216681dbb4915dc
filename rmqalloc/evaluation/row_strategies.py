"""Strategies of rows: as their columns state, built once for all rows with equal columns.

A null strategy, like a missing column, means the default: the spec's, or AVG for functions. Any
other text, also empty text, must name a strategy. An error in the strategy of a row concerns that
row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import (
    check_type,
    is_lists,
    is_text,
    list_lengths,
    plain,
    shown_bytes,
    utf8,
)
from rmqalloc.fleet.columns import offsets_of
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.model import MAX_VIRTUAL_NODES
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import whole_rule
from rmqalloc.strategies.spelled import with_params
from rmqalloc.text import quoted

Holds = Literal["strings", "integers", "any values"]


class Unusable(Strategy):
    """Placeholder for an unknown strategy of a row: it assigns nothing until a scenario sets a known
    strategy.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def get_name(self) -> str:
        """Return no strategy has this name."""
        return ""

    def _owners(self, fleet: Fleet, out: NDArray[np.int32], threads: int = 1) -> None:
        out.fill(-1)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        for unit in range(fleet.n_units):
            reasons.setdefault(unit, self.reason)


@dataclass(frozen=True)
class StrategyColumns:
    """Optional columns that say the strategy of a row, and who makes it of their values; a null is
    left out of these.
    """

    kinds: Mapping[str, Holds]
    make: Callable[[Fleet, Strategy, dict[str, Any]], Strategy]


def rules_of_rows(
    batch: pa.RecordBatch, fleet: Fleet, default: Strategy, columns: StrategyColumns
) -> tuple[Rules, dict[int, str]]:
    """Return the strategies of all rows, and the rows whose strategy is wrong, which have
    `Unusable`.
    """
    check_columns(fleet, default)
    read = {name: optional_column(batch, name, holds) for name, holds in columns.kinds.items()}
    given = {name: column for name, column in read.items() if column is not None}
    if not given:
        reason = default.reason if isinstance(default, Unusable) else None
        return Rules.same(default, batch.num_rows), dict.fromkeys(
            range(batch.num_rows), reason
        ) if reason else {}
    kinds, firsts = kinds_of(list(given.values()))
    table: list[Strategy] = []
    wrong: dict[int, str] = {}
    for kind, first in enumerate(firsts.tolist()):
        try:
            values = {
                name: value_of(column[first])
                for name, column in given.items()
                if column[first].is_valid
            }
            table.append(columns.make(fleet, default, values))
        except Error as error:
            table.append(Unusable(str(error)))
            wrong |= dict.fromkeys(np.flatnonzero(kinds == kind).tolist(), str(error))
    return Rules(tuple(table) or (default,), kinds.astype(np.int32)), wrong


def with_own_nodes(made: Strategy, virtual_nodes: int | None) -> Strategy:
    """Return a strategy with the virtual nodes of a row, which must be within bounds; itself if it
    has no ring.
    """
    if virtual_nodes is None:
        return made
    if not 0 <= virtual_nodes <= MAX_VIRTUAL_NODES:
        raise ArgumentError(
            f"virtual_nodes must be from 0 to {MAX_VIRTUAL_NODES}, got {virtual_nodes}"
        )
    return made.with_virtual_nodes(virtual_nodes)


def check_columns(fleet: Fleet, made: Strategy) -> None:
    """Refuse a strategy that needs columns which the table does not have."""
    made.fleet_errors(units_alone(fleet, np.zeros(0, np.int64)))


def optional_column(batch: pa.RecordBatch, name: str, holds: Holds) -> pa.Array | None:
    """Return an optional column in plain form; None if it is missing or of type null."""
    if name not in batch.schema.names:
        return None
    column = plain(batch.column(name), name)
    if pa.types.is_null(column.type):
        return None
    if holds != "any values":
        is_right = is_text(column.type) if holds == "strings" else pa.types.is_integer(column.type)
        check_type(name, column.type, is_right, holds)
    return column


def value_of(scalar: pa.Scalar) -> Any:
    """Return the value of a row as a Python object."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        raise ArgumentError(f"the text is not UTF-8: {shown_bytes(scalar)}") from None


def kinds_of(columns: list[pa.Array]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number rows by their values; return the number of each row, and the first row of each number."""
    from rmqalloc.results import compute as pc

    kinds = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        keys = _list_keys(column) if is_lists(column.type) else column
        codes = pc.dictionary_encode(keys, null_encoding="encode").indices.to_numpy(
            zero_copy_only=False
        )
        kinds = np.unique(kinds * (codes.size + 1) + codes, return_inverse=True)[1]
    return kinds, np.unique(kinds, return_index=True)[1]


def _list_keys(lists: pa.Array) -> pa.Array:
    """Return a text for every list that no other list has: its strings end to end, each after its
    length.
    """
    from rmqalloc.results import compute as pc

    texts = utf8(lists.flatten().cast(pa.string()))
    sized = pc.binary_join_element_wise(
        pc.binary_length(texts).cast(pa.string()), texts, ":"
    ).fill_null("null")
    offsets = pa.array(offsets_of(list_lengths(lists)).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, sized, mask=lists.is_null()), "")


def _of_table(fleet: Fleet, default: Strategy, given: dict[str, Any]) -> Strategy:
    """Return the strategy that a row of a table names, with its own parameters where it has some."""
    name, params = given.get("strategy", default.get_name()), given.get("strategy_params")
    if name == default.get_name() and params is None:
        made = default
    else:
        outer, taken = with_params(name, _params(params))
        made = whole_rule(outer, **taken)
    check_columns(fleet, made)
    return with_own_nodes(made, given.get("virtual_nodes"))


def _params(text: str | None) -> dict[str, Any]:
    """Parse the parameters of a strategy from JSON."""
    from rmqalloc.documents import DocumentError, json_text

    try:
        params = json_text.loads(text or "{}")
    except DocumentError as error:
        raise ArgumentError(
            f"strategy_params must be a JSON object, got {quoted(text)}: {error}"
        ) from None
    if not isinstance(params, dict):
        raise ArgumentTypeError(f"strategy_params must be a JSON object, got {quoted(text)}")
    return params


OF_TABLES = StrategyColumns(
    {"strategy": "strings", "virtual_nodes": "integers", "strategy_params": "strings"}, _of_table
)
"""The columns of a table of units, see `rmqalloc.evaluation.plan_batch`."""
