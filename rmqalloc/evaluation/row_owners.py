"""The owners of rows, or what is wrong with each, without figures: what column functions show of
the one check of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.evaluation.batch_planning import MAX_QUEUES_PER_BATCH, pieces
from rmqalloc.evaluation.batch_sizes import Sizes
from rmqalloc.evaluation.row_check import Bad, ErrCode, Reason, counts_only, read_batch
from rmqalloc.evaluation.row_strategies import StrategyColumns, Unusable, rules_of_rows
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import check_type
from rmqalloc.fleet.columns import offsets_of, ranges, take_stretches
from rmqalloc.model import MAX_OF_ROW
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.base import NO_CLIENTS, NO_QUEUES

Counts = NDArray[np.int64]

_NO_UNITS = Fleet.from_groups([])


class RowOwners(NamedTuple):
    """Owners of the good rows, null in bad rows, and the errors of the bad rows."""

    owners: pa.ListArray
    bad: Bad
    wrong_strategies: list[str]  # even those of rows that are bad for another reason

    @classmethod
    def of(
        cls, lengths: Counts, owners: NDArray[np.int32], bad: Bad, wrong_strategies: list[str]
    ) -> RowOwners:
        """Return lists of the lengths, null where a row is bad."""
        offsets, is_bad = (
            pa.array(offsets_of(lengths).astype(np.int32)),
            np.zeros(lengths.size, np.bool_),
        )
        is_bad[list(bad)] = True
        mask = pa.array(is_bad) if bad else None
        return cls(
            pa.ListArray.from_arrays(offsets, pa.array(owners), mask=mask), bad, wrong_strategies
        )

    def answer(self) -> pa.StructArray:
        """Return a struct for every row: owners, or an error."""
        n_rows = len(self.owners)
        texts = (self.bad[row].text if row in self.bad else None for row in range(n_rows))
        errors = pa.array(texts, pa.string()) if self.bad else pa.nulls(n_rows, pa.string())
        return pa.StructArray.from_arrays([self.owners, errors], ["owners", "error"])


def owners_of_rows(
    batch: pa.RecordBatch, default: Strategy, columns: StrategyColumns
) -> Iterator[RowOwners]:
    """Yield the owners of a batch of units, in pieces of a bounded number of queues."""
    for piece, too_large in pieces([batch], (), MAX_QUEUES_PER_BATCH, with_owners=True):
        shares_lists = not counts_only(piece, default, columns)
        read = read_batch(piece, default, too_large, columns, shares_lists)
        bad, parts = read.spoiled | read.unassigned, []
        (lengths, starts), begin = np.zeros((2, piece.num_rows), np.int64), 0
        for units in read.units:
            owners, refused = Assigner(units.fleet, keeps=False).owners(units.fleet, units.rules)
            starts[units.rows], lengths[units.rows] = (
                begin + units.fleet.queue_offsets[:-1],
                units.fleet.n_queues,
            )
            begin += owners.size
            parts.append(owners)
            bad |= {int(units.rows[unit]): reason for unit, reason in refused.items()}
        lengths[list(bad)] = 0
        laid = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if bad or len(parts) > 1:
            laid = take_stretches(laid, starts, offsets_of(lengths))
        yield RowOwners.of(lengths, laid, bad, read.wrong_strategies)


def owners_of_counts(
    batch: pa.RecordBatch, default: Strategy, columns: StrategyColumns
) -> Iterator[RowOwners]:
    """Yield the owners of rows of which ``queues`` and ``clients`` are numbers, by strategies that
    need no more.

    Such rows stand for units of distinct client ids; their bounds are `counts_of`.
    """
    counts, bad = {}, Bad()
    for side, none in (("clients", NO_CLIENTS), ("queues", NO_QUEUES)):
        counts[side], wrong = counts_of(batch.column(side), side)
        for row in np.flatnonzero(counts[side] == 0).tolist():
            given = batch.column(side)[row].as_py()
            text = f"the number of {side} must be from 0 to {MAX_OF_ROW}, got {'null' if given is None else given}"
            bad[row] = (
                Reason(ErrCode.MALFORMED, text) if wrong[row] else Reason(ErrCode.EMPTY, none)
            )
    rules, texts = rules_of_rows(batch, _NO_UNITS, default, columns)
    for row, text in texts.items():
        bad.setdefault(row, Reason(ErrCode.BAD_STRATEGY, text))
    lengths, clients = counts["queues"].copy(), counts["clients"].astype(np.int32)
    lengths[list(bad)] = 0
    unusable = [one.reason for one in rules.table if isinstance(one, Unusable)]
    nothing = np.zeros_like(lengths)
    for start, stop in Sizes(lengths, nothing, lengths, nothing).pieces(
        MAX_QUEUES_PER_BATCH, True, 1
    ):
        some, offsets = slice(start, stop), offsets_of(lengths[start:stop])
        laid = np.empty(int(offsets[-1]), np.int32)
        for made, rows in rules.select(np.arange(start, stop)).by_strategy():
            own = offsets_of(lengths[some][rows])
            owners = laid if rows.size == stop - start else np.empty(int(own[-1]), np.int32)
            if owners.size:
                made._owners_by_count(own, clients[some][rows], owners)
            if owners is not laid:
                laid[ranges(offsets[:-1][rows], lengths[some][rows])] = owners
        here = {row - start: reason for row, reason in bad.items() if start <= row < stop}
        yield RowOwners.of(lengths[some], laid, here, unusable)


def counts_of(numbers: pa.Array, name: str) -> tuple[Counts, NDArray[np.bool_]]:
    """Return numbers from 0 to `MAX_OF_ROW`, and where they are null or out of bounds; such entries
    are 0.

    Examples
    --------
    >>> counts_of(pa.array([4, None, -1]), "clients")
    (array([4, 0, 0]), array([False,  True,  True]))
    """
    check_type(name, numbers.type, pa.types.is_integer(numbers.type), "numbers or lists")
    counts = np.asarray(numbers.fill_null(0))
    bad = np.asarray(numbers.is_null()) | (counts < 0) | (counts > MAX_OF_ROW)
    return np.where(bad, 0, counts).astype(np.int64), bad
