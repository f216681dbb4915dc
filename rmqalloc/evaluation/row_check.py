"""A batch of units as fleets that can be planned: what is bad is found first, so that no row
disturbs another.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.row_strategies import (
    OF_TABLES,
    StrategyColumns,
    Unusable,
    optional_column,
    rules_of_rows,
    value_of,
)
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow import columns_from_arrow
from rmqalloc.fleet.checked_columns import replaced, unchecked
from rmqalloc.fleet.columns import among, longest_of
from rmqalloc.fleet.fleet import units_alone, with_lists
from rmqalloc.fleet.lists import QueueLists
from rmqalloc.model import MAX_TEXT_BYTES, MessageQueue
from rmqalloc.scenarios.lazy_strings import DistinctLists, ordered
from rmqalloc.scenarios.subfleet import Rules, subfleet
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.base import NO_CLIENTS, NO_QUEUES
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
        A queue is listed twice, which no route of RocketMQ does.
    TOO_LARGE
        A client id of more than `MAX_CLIENT_ID_BYTES`, more queues than a batch may have, or a ring
        of more points than `MAX_POINTS`.
    BAD_STRATEGY
        The column ``strategy``, ``virtual_nodes`` or ``strategy_params`` holds an unknown strategy
        or an invalid parameter.
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


@dataclass(frozen=True, eq=False)
class Read:
    """A batch that was read."""

    # The good ones; at least one. Those with repeated or empty client ids are kept apart, for they
    # take longer ways.
    units: list[ReadUnits]
    spoiled: Bad  # rows that say nothing that could be planned, whatever a scenario changes
    # Rows that cannot be assigned as they are, and might be after a scenario: without queues or
    # clients, or with a strategy that nobody knows
    unassigned: Bad
    _whole: ReadUnits  # all rows that were read, in order, be they good or bad

    @property
    def wrong_strategies(self) -> list[str]:
        """Say what is wrong with strategies that rows name, even those of rows that are bad for
        another reason.
        """
        return [one.reason for one in self._whole.rules.table if isinstance(one, Unusable)]

    def units_of(self, rows: list[int]) -> ReadUnits:
        """Return some rows that are not spoiled, as a fleet of their own."""
        chosen = np.array(sorted(rows), np.int64)
        at = np.searchsorted(self._whole.rows, chosen)
        return ReadUnits(
            ordered(units_alone(self._whole.fleet, at).own_lists()),
            self._whole.rules.select(at),
            chosen,
        )

    def among(self, rows: NDArray[np.int64], left_out: Bad) -> Read:
        """Renumber the rows that were read: ``rows`` are their positions in the whole batch, of
        which the rows ``left_out`` were not read.
        """
        units = [ReadUnits(part.fleet, part.rules, rows[part.rows]) for part in self.units]
        spoiled, unassigned = (
            {int(rows[row]): reason for row, reason in bad.items()}
            for bad in (self.spoiled, self.unassigned)
        )
        return Read(units, left_out | spoiled, unassigned, replace(self._whole, rows=rows))


def read_batch(
    batch: pa.RecordBatch,
    default: Strategy,
    too_large: dict[int, str],
    columns: StrategyColumns = OF_TABLES,
    shares_lists: bool = True,
) -> Read:
    """Read the units of a batch: the one check of rows, for all sources and uses.

    Without ``shares_lists`` equal short lists may be kept several times, for those who count only.
    """
    if not too_large:
        return _read(batch, default, columns, shares_lists)
    rows = np.delete(np.arange(batch.num_rows), list(too_large))
    left_out = {row: Reason(ErrCode.TOO_LARGE, text) for row, text in too_large.items()}
    rest = _without(batch, list(too_large))
    return _read(rest, default, columns, shares_lists).among(rows, left_out)


def counts_only(batch: pa.RecordBatch, default: Strategy, columns: StrategyColumns) -> bool:
    """Return True if owners follow from numbers of queues and clients, whatever strategy a row has."""
    return default.decided_by == "counts" and columns.kinds.keys().isdisjoint(batch.schema.names)


def _without(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    """Return a batch without some rows, cut in slices: Arrow's ``take`` lacks the newer kinds of
    text and lists.
    """
    between = pairwise([-1, *sorted(rows), batch.num_rows])
    pieces = [batch.slice(row + 1, after - row - 1) for row, after in between]
    return next(
        iter(pa.Table.from_batches(pieces).combine_chunks().to_batches()), batch.slice(0, 0)
    )


def _read(
    batch: pa.RecordBatch, default: Strategy, columns: StrategyColumns, shares_lists: bool
) -> Read:
    """Read rows that are not too large."""
    read = columns_from_arrow(batch, "report", shares_lists)
    spoiled = {
        error.position: Reason(ErrCode.MALFORMED, error.reason) for error in read.pop("errors")
    } | _unmade(batch)
    fleet = unchecked(Fleet, **read)
    unassigned = empties(fleet)
    rules, wrong = rules_of_rows(batch, fleet, default, columns)
    for row, text in wrong.items():
        unassigned.setdefault(row, Reason(ErrCode.BAD_STRATEGY, text))
    _find_long_ids(fleet, spoiled)
    fleet = fleet.sorted()
    _find_duplicates(fleet, spoiled)
    unassigned = {row: reason for row, reason in unassigned.items() if row not in spoiled}
    units = _good(fleet, rules, [*spoiled, *unassigned])
    return Read(units, spoiled, unassigned, ReadUnits(fleet, rules, np.arange(batch.num_rows)))


def _unmade(batch: pa.RecordBatch) -> Bad:
    """Return the rows whose own ``unit_err_msg`` says why they could not be made."""
    column = optional_column(batch, "unit_err_msg", "strings")
    if column is None or column.null_count == len(column):
        return {}
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
    return {row: Reason(ErrCode.MALFORMED, _shown_text(column[row])) for row in rows}


def _shown_text(scalar: pa.Scalar) -> str:
    try:
        return shortened(value_of(scalar), MOST_SAID)
    except ArgumentError as error:
        return str(error)


def empties(fleet: Fleet) -> Bad:
    """Return the units without queues or clients, with Java's text."""
    n_queues, units = fleet.n_queues, fleet.empty_units.tolist()
    return {
        unit: Reason(ErrCode.EMPTY, NO_CLIENTS if n_queues[unit] else NO_QUEUES) for unit in units
    }


def _good(fleet: Fleet, rules: Rules, bad: list[int]) -> list[ReadUnits]:
    """Return all units but the bad ones; irregular ones are a part of their own."""
    lists = fleet.client_lists
    distinct = DistinctLists.of_slots(lists.offsets, lists.client_ids, lists.slot_room)
    if not bad and not lists.irregular.any():
        whole = with_lists(fleet, fleet.queue_lists, distinct)
        return [ReadUnits(whole, rules, np.arange(fleet.n_units))]
    good = np.ones(fleet.n_units, bool)
    good[bad] = False
    regular = lists.irregular[fleet.unit_client_list] == 0
    units = []
    for kind, lists_ in ((regular, distinct), (~regular, lists)):
        rows = np.flatnonzero(good & kind)
        if (
            rows.size or kind is regular
        ):  # there is always one, whose fleet shows what the table knows
            units.append(
                ReadUnits(
                    subfleet(replaced(fleet, client_lists=lists_), rows), rules.select(rows), rows
                )
            )
    return units


def _find_long_ids(fleet: Fleet, bad: Bad) -> None:
    """Find rows with a client id that is too long."""
    lists = fleet.client_lists
    if longest_of(lists.client_ids.offsets[lists.offsets]) <= MAX_CLIENT_ID_BYTES:
        return  # of nearly all tables, even of all ids of a list together
    lengths = np.diff(lists.client_ids.offsets)
    for slot in np.flatnonzero(lengths > MAX_CLIENT_ID_BYTES).tolist():
        in_list = int(np.searchsorted(lists.offsets, slot, side="right")) - 1
        place = slot - int(lists.offsets[in_list])
        text = f"client id at position {place} is {lengths[slot]} bytes long; at most {MAX_CLIENT_ID_BYTES} can be planned"
        for unit in np.flatnonzero(fleet.unit_client_list == in_list).tolist():
            bad.setdefault(unit, Reason(ErrCode.TOO_LARGE, text))


def _find_duplicates(fleet: Fleet, bad: Bad) -> None:
    """Find rows with a repeated queue; in Java's order its entries stand side by side."""
    lists = fleet.queue_lists
    if lists.given_ids is None and not _has_broker_twice(lists):
        return  # nearly all tables of brokers: there is no need to count out their queues
    ids, route = lists.queue_ids, lists.queue_route
    again = 1 + np.flatnonzero(ids[1:] == ids[:-1])
    for name in (lists.route_topic, lists.route_broker):
        again = again[name[route[again]] == name[route[again - 1]]]
    in_list = np.searchsorted(lists.offsets, again, side="right") - 1
    inside = lists.offsets[in_list] < again
    first = dict(
        zip(reversed(in_list[inside].tolist()), reversed(again[inside].tolist()), strict=True)
    )
    for unit in np.flatnonzero(among(fleet.unit_queue_list, first)).tolist() if first else ():
        place = first[int(fleet.unit_queue_list[unit])]
        topic, broker = int(lists.route_topic[route[place]]), int(lists.route_broker[route[place]])
        queue = MessageQueue(fleet.topics[topic], fleet.brokers[broker], int(ids[place]))
        bad.setdefault(unit, Reason(ErrCode.DUPLICATE_QUEUE, queue_twice(queue)))


def queue_twice(queue: MessageQueue) -> str:
    """Return what is wrong with a unit that has a queue twice."""
    return f"{queue} is there twice; give every queue once"


def _has_broker_twice(lists: QueueLists) -> bool:
    """Return True if two routes of a list in Java's order are of one broker."""
    topic, broker, n = lists.route_topic, lists.route_broker, int(lists.list_routes[-1])
    again = (broker[1:n] == broker[: n - 1]) & (topic[1:n] == topic[: n - 1])
    begins = lists.list_routes[(lists.list_routes > 0) & (lists.list_routes < n)]
    again[begins - 1] = False
    return bool(again.any())
