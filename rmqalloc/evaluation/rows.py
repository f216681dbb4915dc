"""A batch of units as fleets that can be planned: what is bad is found first, so that no row disturbs another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.documents import DocumentError, json_text
from rmqalloc.documents.fields import MAX_TEXT_BYTES, MAX_VIRTUAL_NODES
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import shown_bytes
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import among
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.model import MessageQueue
from rmqalloc.scenarios.applied_changes import ordered
from rmqalloc.scenarios.lazy_strings import DistinctLists
from rmqalloc.scenarios.subfleet import Rules, subfleet
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.base import NO_CLIENTS, NO_QUEUES
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.spelled import with_params
from rmqalloc.text import MOST_SAID, shortened

MAX_CLIENT_ID_BYTES = MAX_TEXT_BYTES
"""Longest client id of a row, as UTF-8."""


class ErrCode(IntEnum):
    """Why a row has no figures; 0 where it has.

    Attributes
    ----------
    GOOD
        Nothing is wrong.
    MALFORMED
        A null, a number out of range, or lists that do not fit each other.
    EMPTY
        No queues or no clients; Java's text.
    DUPLICATE_QUEUE
        A queue stands there twice, which no route of RocketMQ says.
    TOO_LARGE
        A client id of more than `MAX_CLIENT_ID_BYTES`, more queues than a batch may have, or a ring of more points than
        `MAX_POINTS`.
    BAD_STRATEGY
        The column ``strategy``, ``virtual_nodes`` or ``strategy_params`` holds something that there is not.
    REFUSED
        The strategy refuses the unit, e.g. because a machine room is missing; Java's text.
    """

    GOOD = 0
    MALFORMED = 1
    EMPTY = 2
    DUPLICATE_QUEUE = 3
    TOO_LARGE = 4
    BAD_STRATEGY = 5
    REFUSED = 6


class Reason(NamedTuple):
    """Why a row is bad."""

    code: ErrCode
    text: str


Bad = dict[int, Reason]


@dataclass(frozen=True, eq=False)
class ReadUnits:
    """Good units of a batch."""

    fleet: Fleet  # in Java's order
    rules: Rules  # their strategies
    rows: NDArray[np.int64]  # shape (fleet.n_units,): their rows in the batch.

    def without(self, units: list[int]) -> ReadUnits:
        """Return all but some of the units."""
        rest = np.delete(np.arange(self.rows.size), units)
        return ReadUnits(subfleet(self.fleet, rest), self.rules.select(rest), self.rows[rest])


class Unusable(Strategy):
    """Stands for a strategy that a row names and nobody knows: it assigns nothing, until a scenario sets another."""

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


@dataclass(frozen=True, eq=False)
class Read:
    """A batch that was read."""

    # The good ones; at least one. Those with repeated or empty client ids are kept apart, for they take longer ways.
    units: list[ReadUnits]
    spoiled: Bad  # rows that say nothing that could be planned, whatever a scenario changes
    # Rows that cannot be assigned as they are, and might be after a scenario: without queues or clients, or with a strategy
    # that nobody knows
    unassigned: Bad
    _whole: ReadUnits  # all rows that were read, in order, be they good or bad

    def units_of(self, rows: list[int]) -> ReadUnits:
        """Return some rows that are not spoiled, as a fleet of their own."""
        chosen = np.array(sorted(rows), np.int64)
        at = np.searchsorted(self._whole.rows, chosen)
        return ReadUnits(ordered(units_alone(self._whole.fleet, at).own_lists()), self._whole.rules.select(at), chosen)

    def among(self, rows: NDArray[np.int64], left_out: Bad) -> Read:
        """Renumber what was read: these are its rows in the whole batch, of which others were left out."""
        units = [ReadUnits(part.fleet, part.rules, rows[part.rows]) for part in self.units]
        spoiled, unassigned = (
            {int(rows[row]): reason for row, reason in bad.items()} for bad in (self.spoiled, self.unassigned)
        )
        return Read(units, left_out | spoiled, unassigned, replace(self._whole, rows=rows))


def read_batch(batch: pa.RecordBatch, default: Strategy, too_large: dict[int, str]) -> Read:
    """Read the units of a batch."""
    if not too_large:
        return _read(batch, default)
    rows = np.delete(np.arange(batch.num_rows), list(too_large))
    left_out = {row: Reason(ErrCode.TOO_LARGE, text) for row, text in too_large.items()}
    return _read(_without(batch, list(too_large)), default).among(rows, left_out)


def _without(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    """Return a batch without some rows, cut in slices: Arrow's ``take`` lacks the newer kinds of text and lists."""
    between = pairwise([-1, *sorted(rows), batch.num_rows])
    pieces = [batch.slice(row + 1, after - row - 1) for row, after in between]
    return next(iter(pa.Table.from_batches(pieces).combine_chunks().to_batches()), batch.slice(0, 0))


def _read(batch: pa.RecordBatch, default: Strategy) -> Read:
    """Read rows that are not too large."""
    fleet = Fleet.from_arrow(batch, on_error="report")
    spoiled = {error.position: Reason(ErrCode.MALFORMED, error.reason) for error in fleet.errors} | _unmade(batch)
    unassigned = empties(fleet)
    fleet = replaced(fleet, errors=())
    rules = _rules(batch, fleet, default, unassigned)
    _find_long_ids(fleet, spoiled)
    fleet = fleet.sorted()
    _find_duplicates(fleet, spoiled)
    unassigned = {row: reason for row, reason in unassigned.items() if row not in spoiled}
    units = _good(fleet, rules, [*spoiled, *unassigned])
    return Read(units, spoiled, unassigned, ReadUnits(fleet, rules, np.arange(batch.num_rows)))


def _unmade(batch: pa.RecordBatch) -> Bad:
    """Return the rows whose own ``unit_err_msg`` says why they could not be made."""
    column = _column(batch, "unit_err_msg", _is_text, "strings")
    if column is None or column.null_count == len(column):
        return {}
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
    return {row: Reason(ErrCode.MALFORMED, _shown_text(column[row])) for row in rows}


def _shown_text(scalar: pa.Scalar) -> str:
    try:
        return shortened(_given(scalar), MOST_SAID)
    except ArgumentError as error:
        return str(error)


def empties(fleet: Fleet) -> Bad:
    """Return the units without queues or clients, with Java's text."""
    n_queues, units = fleet.n_queues, fleet.empty_units.tolist()
    return {unit: Reason(ErrCode.EMPTY, NO_CLIENTS if n_queues[unit] else NO_QUEUES) for unit in units}


def _good(fleet: Fleet, rules: Rules, bad: list[int]) -> list[ReadUnits]:
    """Return all units but the bad ones; irregular ones are a part of their own."""
    lists = fleet.client_lists
    distinct = DistinctLists.of_slots(lists.offsets, lists.client_ids, lists.slot_room)
    if not bad and not lists.irregular.any():
        return [ReadUnits(replaced(fleet, client_lists=distinct), rules, np.arange(fleet.n_units))]
    good = np.ones(fleet.n_units, bool)
    good[bad] = False
    regular = lists.irregular[fleet.unit_client_list] == 0
    units = []
    for kind, lists_ in ((regular, distinct), (~regular, lists)):
        rows = np.flatnonzero(good & kind)
        if rows.size or kind is regular:  # there is always one, whose fleet shows what the table knows
            units.append(ReadUnits(subfleet(replaced(fleet, client_lists=lists_), rows), rules.select(rows), rows))
    return units


def _rules(batch: pa.RecordBatch, fleet: Fleet, default: Strategy, bad: Bad) -> Rules:
    """Read the strategies of all rows from the optional columns ``strategy``, ``virtual_nodes`` and ``strategy_params``.

    A strategy that nobody knows is `Unusable`, and its rows are bad unless they are for another reason already.
    """
    _check_columns(fleet, default)
    columns = [
        _column(batch, "strategy", _is_text, "strings"),
        _column(batch, "virtual_nodes", pa.types.is_integer, "integers"),
        _column(batch, "strategy_params", _is_text, "strings"),
    ]
    if all(column is None for column in columns):
        return Rules.same(default, batch.num_rows)
    kinds, firsts = kinds_of([column for column in columns if column is not None])
    table = []
    for kind, first in enumerate(firsts.tolist()):
        try:
            name, nodes, params = (None if column is None else _given(column[first]) for column in columns)
            table.append(_rule(fleet, default, name, nodes, params))
        except Error as error:
            table.append(Unusable(str(error)))
            for row in np.flatnonzero(kinds == kind).tolist():
                bad.setdefault(row, Reason(ErrCode.BAD_STRATEGY, str(error)))
    return Rules(tuple(table) or (default,), kinds.astype(np.int32))


def kinds_of(columns: list[pa.Array]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number rows by their values; return the number of each row, and the first row of each number."""
    kinds = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        kinds = np.unique(kinds * (codes.size + 1) + codes, return_inverse=True)[1]
    return kinds, np.unique(kinds, return_index=True)[1]


def _given(scalar: pa.Scalar) -> Any:
    """Return the value of a row as a Python object."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        raise ArgumentError(f"the text is not UTF-8: {shown_bytes(scalar)}") from None


def _rule(fleet: Fleet, default: Strategy, name: str | None, virtual_nodes: int | None, params: str | None) -> Strategy:
    """Return the strategy that a row names, with its own parameters where it has some."""
    is_default = name is None or name == default.get_name()
    if is_default and params is None:
        made = default
    else:
        outer, given = with_params(name or default.get_name(), _params(params))
        made = rule(outer, **given)
    _check_columns(fleet, made)
    if virtual_nodes is None:
        return made
    if not 0 <= virtual_nodes <= MAX_VIRTUAL_NODES:
        raise ArgumentError(f"virtual_nodes must be from 0 to {MAX_VIRTUAL_NODES}, got {virtual_nodes}")
    return made.with_virtual_nodes(virtual_nodes)


def _params(text: str | None) -> dict[str, Any]:
    """Parse the parameters of a strategy from JSON."""
    try:
        params = json_text.loads(text or "{}")
    except DocumentError as error:
        raise ArgumentError(f"strategy_params must be a JSON object, got {text!r}: {error}") from None
    if not isinstance(params, dict):
        raise ArgumentTypeError(f"strategy_params must be a JSON object, got {text!r}")
    return params


def _check_columns(fleet: Fleet, s: Strategy) -> None:
    """Refuse a strategy that needs columns which the table does not have."""
    s.fleet_errors(units_alone(fleet, np.zeros(0, np.int64)))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _column(batch: pa.RecordBatch, name: str, is_right: Callable[[pa.DataType], Any], words: str) -> pa.Array | None:
    """Return an optional column; None if it is missing or of type null."""
    if name not in batch.schema.names:
        return None
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return None
    if not is_right(column.type):
        raise ArgumentTypeError(f"column {name} must hold {words}, got {column.type}")
    return column


def _find_long_ids(fleet: Fleet, bad: Bad) -> None:
    """Find rows with a client id that is too long."""
    lists = fleet.client_lists
    lengths = np.diff(lists.client_ids.offsets)
    for slot in np.flatnonzero(lengths > MAX_CLIENT_ID_BYTES).tolist():
        in_list = int(np.searchsorted(lists.offsets, slot, side="right")) - 1
        place = slot - int(lists.offsets[in_list])
        text = (
            f"client id at position {place} is {lengths[slot]} bytes long; at most {MAX_CLIENT_ID_BYTES} can be planned"
        )
        for unit in np.flatnonzero(fleet.unit_client_list == in_list).tolist():
            bad.setdefault(unit, Reason(ErrCode.TOO_LARGE, text))


def _find_duplicates(fleet: Fleet, bad: Bad) -> None:
    """Find rows with a repeated queue; in Java's order its entries stand side by side."""
    lists = fleet.queue_lists
    ids, route = lists.queue_ids, lists.queue_route
    again = 1 + np.flatnonzero(ids[1:] == ids[:-1])
    for name in (lists.route_topic, lists.route_broker):
        again = again[name[route[again]] == name[route[again - 1]]]
    in_list = np.searchsorted(lists.offsets, again, side="right") - 1
    inside = lists.offsets[in_list] < again
    first = dict(zip(reversed(in_list[inside].tolist()), reversed(again[inside].tolist()), strict=True))
    for unit in np.flatnonzero(among(fleet.unit_queue_list, first)).tolist() if first else ():
        place = first[int(fleet.unit_queue_list[unit])]
        topic, broker = int(lists.route_topic[route[place]]), int(lists.route_broker[route[place]])
        queue = MessageQueue(fleet.topics[topic], fleet.brokers[broker], int(ids[place]))
        bad.setdefault(unit, Reason(ErrCode.DUPLICATE_QUEUE, f"{queue} is there twice; give every queue once"))
