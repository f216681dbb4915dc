"""Bound the work of the rows of a batch before any row is read: a damaged one may claim anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc import scenarios
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.arrow_columns import check_sound, filled, is_lists, list_lengths, plain
from rmqalloc.fleet.columns import offsets_of
from rmqalloc.model import MAX_OF_ROW, MAX_OWNERS, MAX_ROWS

Counts = NDArray[np.int64]

MAX_CLIENTS_PER_BATCH = MAX_OF_ROW
"""Most clients of all rows that are worked on at once."""

_IN_A_COLUMN = f"at most {MAX_OWNERS} owners fit in a column"


class Sizes(NamedTuple):
    """Bounds of every row."""

    # Most queues and clients of the row in any scenario
    queues: Counts
    clients: Counts
    all_queues: Counts  # most queues in all scenarios together

    def of_rows(self, start: int, stop: int) -> Sizes:
        """Return the bounds of some rows."""
        return Sizes(self.queues[start:stop], self.clients[start:stop], self.all_queues[start:stop])

    def too_large(self, max_queues: int, with_owners: bool = False) -> dict[int, str]:
        """Return the reasons of rows that would take too much memory, or more owners than a column
        of lists can hold.
        """
        texts: dict[int, str] = {}
        for what, counts, most in (
            ("queues", self.queues, max_queues),
            ("clients", self.clients, MAX_OF_ROW),
        ):
            for row in np.flatnonzero(counts > most).tolist():
                text = f"the unit has, or some scenario could give it, {counts[row]} {what}; at most {most} can be planned"
                texts.setdefault(row, text)
        for row in np.flatnonzero(self.all_queues > MAX_OWNERS).tolist() if with_owners else ():
            text = f"the unit may have {self.all_queues[row]} queues in all scenarios together; {_IN_A_COLUMN}"
            texts.setdefault(row, text)
        return texts

    def check_owners(self, too_large: dict[int, str]) -> None:
        """Refuse to put the owners of all rows but those in one column where they may not fit."""
        n = int(np.delete(self.all_queues, list(too_large)).sum())
        if n > MAX_OWNERS:
            raise ArgumentError(
                f"the units may have {n} queues in all scenarios together; {_IN_A_COLUMN}: "
                "use plan_stream, which cuts a batch in pieces"
            )

    def pieces(
        self, max_queues: int, with_owners: bool, n_scenarios: int
    ) -> Iterator[tuple[int, int]]:
        """Cut the rows into pieces that are within all bounds, or of one row; there is at least
        one, if an empty one.
        """
        max_queues = max(-1, min(max_queues, 1 << 62))  # so that sums with it are int64
        fits = (self.queues <= max_queues) & (self.clients <= MAX_OF_ROW)
        queues = self.all_queues if with_owners else self.queues
        rows = np.full(fits.size, n_scenarios)
        n_pieces = max(-(-fits.size * n_scenarios // MAX_ROWS), 1)
        costs = [
            (np.where(fits, queues, 0), max_queues),
            (np.where(fits, self.clients, 0), MAX_CLIENTS_PER_BATCH),
            # A piece costs much before its first row, so all have about as many.
            (rows, min(-(-fits.size // n_pieces) * n_scenarios, MAX_ROWS)),
        ]
        if all(int(cost.sum()) <= most for cost, most in costs):
            yield 0, fits.size
            return
        upto = [(offsets_of(cost), most) for cost, most in costs]
        start = 0
        while start < fits.size or start == 0:
            within = [
                int(np.searchsorted(sums, sums[start] + most, side="right")) - 1
                for sums, most in upto
            ]
            stop = min(max(min(within), start + 1), fits.size)
            yield start, stop
            start = max(stop, 1)

    @classmethod
    def of(cls, batch: pa.RecordBatch, tried: Sequence[scenarios.Scenario]) -> Sizes:
        """Return the bounds of the rows of a batch; a column that is missing or of the wrong type
        counts as 0.

        It is the first to look at a batch, so it refuses one whose buffers do not hold what its
        offsets say.
        """
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, column in columns.items():
            check_sound(column, name)
        read = {
            name: plain(columns[name], name)
            for name in ("queues", "brokers", "client_ids")
            if name in columns
        }
        queues, brokers = _queues(read, batch.num_rows)
        clients = _lengths(read, "client_ids", batch.num_rows)
        most, most_clients, in_all = queues, clients, queues
        for scenario in tried:
            grown, grown_clients = _grown(scenario, queues, brokers, clients)
            most, most_clients = np.maximum(most, grown), np.maximum(most_clients, grown_clients)
            in_all = in_all + grown
        return cls(most, most_clients, in_all)


def _grown(
    scenario: scenarios.Scenario, queues: Counts, brokers: Counts, clients: Counts
) -> tuple[Counts, Counts]:
    """Return the most queues and clients that rows can have after a scenario."""
    for change in scenario.changes:
        match change:
            case scenarios.SetQueues(read_queue_nums=n):
                queues = queues + brokers * n
            case scenarios.AddBroker(read_queue_nums=n):
                queues, brokers = queues + n, brokers + 1
            case scenarios.AddClients(ids=ids, count=count):
                clients = clients + (len(ids) if ids is not None else count or 0)
            case scenarios.ScaleClients(to=n):
                clients = np.maximum(clients, n)
    return queues, clients


def _queues(columns: Mapping[str, pa.Array], n_rows: int) -> tuple[Counts, Counts]:
    """Return the numbers of queues and of brokers of every row."""
    if "queues" in columns or "brokers" not in columns:
        entries = _lengths(columns, "queues", n_rows)
        return entries, entries
    entries = _lengths(columns, "brokers", n_rows)
    column = columns["brokers"]
    at = _place_of_numbers(column.type)
    if at is None or not n_rows:
        return entries, entries
    offsets = np.asarray(column.offsets).astype(np.int64, copy=False)
    begin = int(offsets[0])
    numbers = filled(column.values.slice(begin, int(offsets[-1]) - begin).flatten()[at])
    # No broker has more than an int32 counts; a sum over damaged rows that claim more must not
    # overflow.
    claimed = np.clip(numbers.astype(np.int64, copy=False), 0, 1 << 31)
    sums = np.diff(offsets_of(claimed)[offsets - begin])
    return np.where(entries > 0, sums, 0), entries  # a null may lie over some


def _place_of_numbers(lists: pa.DataType) -> int | None:
    """Return the place of each broker's read-queue count, or None if the column is missing."""
    if not is_lists(lists) or not pa.types.is_struct(lists.value_type):
        return None
    at = int(lists.value_type.get_field_index("read_queue_nums"))
    return at if at >= 0 and pa.types.is_integer(lists.value_type.field(at).type) else None


def _lengths(columns: Mapping[str, pa.Array], name: str, n_rows: int) -> Counts:
    """Return the length of every list of a column, 0 for a null."""
    if name not in columns or not is_lists(columns[name].type):
        return np.zeros(n_rows, np.int64)
    return list_lengths(columns[name])
