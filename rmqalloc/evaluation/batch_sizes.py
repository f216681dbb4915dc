"""Bound the work of the rows of a batch before any row is read: a damaged row may claim any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc import scenarios
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.arrow_columns import (
    check_sound,
    filled,
    is_lists,
    is_text,
    list_lengths,
    plain,
    text_lengths,
)
from rmqalloc.fleet.columns import lengths_of, offsets_of, utf8_of
from rmqalloc.model import MAX_OF_ROW, MAX_OWNERS, MAX_ROWS

if TYPE_CHECKING:
    from rmqalloc.scenarios.scenario import Change

Counts = NDArray[np.int64]

MAX_CLIENTS_PER_BATCH = MAX_OF_ROW
"""Most clients of all rows that are worked on at once."""

MAX_NAME_BYTES = 1 << 28
"""Most bytes of names that are read, or put out, at once: an eighth of what a column of text holds. A worker keeps names
in three or four copies: as they came, sorted, picked for the rows, and on their way to Spark.
"""

MAX_TEXT_OF_COLUMN = 2**31 - 1
"""Most bytes of text in a column: Arrow counts them in int32, and so does Spark."""

_NAMES = ("consumer_group", "topic", "queues", "brokers", "client_ids")
_IN_A_COLUMN = f"at most {MAX_OWNERS} owners fit in a column"


class Sizes(NamedTuple):
    """Bounds of every row."""

    # Most queues and clients of the row in any scenario
    queues: Counts
    clients: Counts
    all_queues: Counts  # most queues in all scenarios together
    names: Counts  # most bytes of names that are read and repeated; 0 where all rows need few

    def of_rows(self, start: int, stop: int) -> Sizes:
        """Return the bounds of some rows."""
        return Sizes(*(bounds[start:stop] for bounds in self))

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
        for row in np.flatnonzero(self.names > MAX_TEXT_OF_COLUMN).tolist():
            text = f"the unit may have {self.names[row]} bytes of names in all scenarios together"
            texts.setdefault(row, f"{text}; at most {MAX_TEXT_OF_COLUMN} can be planned")
        return texts

    def check_owners(self, too_large: dict[int, str]) -> None:
        """Refuse to put the owners of all other rows in one column if they may not fit."""
        n = int(np.delete(self.all_queues, list(too_large)).sum())
        if n > MAX_OWNERS:
            raise ArgumentError(
                f"the units may have {n} queues in all scenarios together; {_IN_A_COLUMN}: "
                "use plan_stream, which divides a batch"
            )

    def pieces(
        self, max_queues: int, with_owners: bool, n_scenarios: int
    ) -> Iterator[tuple[int, int]]:
        """Cut the rows into pieces that are within all bounds or have one row; there is at least
        one piece, which may be empty.
        """
        max_queues = max(-1, min(max_queues, 1 << 62))  # so that sums with it are int64
        fits = (self.queues <= max_queues) & (self.clients <= MAX_OF_ROW)
        fits &= self.names <= MAX_TEXT_OF_COLUMN
        queues = self.all_queues if with_owners else self.queues
        rows = np.full(fits.size, n_scenarios)
        n_pieces = max(-(-fits.size * n_scenarios // MAX_ROWS), 1)
        costs = [
            (np.where(fits, queues, 0), max_queues),
            (np.where(fits, self.clients, 0), MAX_CLIENTS_PER_BATCH),
            (np.where(fits, self.names, 0), MAX_NAME_BYTES),
            # A piece costs much before its first row, so all have about as many.
            (rows, min(-(-fits.size // n_pieces) * n_scenarios, MAX_ROWS)),
        ]
        if all(int(cost.sum()) <= most for cost, most in costs):
            yield 0, fits.size
            return
        yield from cut(*costs)

    @classmethod
    def of(
        cls, batch: pa.RecordBatch, tried: Sequence[scenarios.Scenario], with_names: bool = False
    ) -> Sizes:
        """Return the bounds of the rows of a batch; a column that is missing or of the wrong type
        counts as 0. With ``with_names``, the names are kept in every scenario.

        This is the first access to a batch, so a batch whose buffers are shorter than its offsets
        claim is refused.
        """
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, column in columns.items():
            check_sound(column, name)
        read = {name: plain(columns[name], name) for name in _NAMES if name in columns}
        queues, brokers = _queues(read, batch.num_rows)
        clients = _lengths(read, "client_ids", batch.num_rows)
        most, most_clients, in_all = queues, clients, queues
        as_before = 0
        for scenario in tried:
            grown, grown_clients = _grown(scenario, queues, brokers, clients)
            most_clients = np.maximum(most_clients, grown_clients)
            if grown is queues:
                as_before += 1
            else:
                most, in_all = np.maximum(most, grown), in_all + grown
        in_all = in_all + as_before * queues
        names = _name_bytes([*read.values()], tried if with_names else (), batch.num_rows)
        return cls(most, most_clients, in_all, names)


def cut(*costs: tuple[Counts, int]) -> Iterator[tuple[int, int]]:
    """Cut rows before a cost exceeds its bound; there is at least one piece, which may be empty,
    and a row above a bound is a piece of its own.

    Examples
    --------
    >>> [*cut((np.array([3, 3, 9, 1]), 6))]
    [(0, 2), (2, 3), (3, 4)]
    """
    upto = [(offsets_of(cost), most) for cost, most in costs]
    n_rows, start = costs[0][0].size, 0
    while start < n_rows or start == 0:
        within = [
            int(np.searchsorted(sums, sums[start] + most, side="right")) - 1 for sums, most in upto
        ]
        stop = min(max(min(within), start + 1), n_rows)
        yield start, stop
        start = max(stop, 1)


class NameBytes(NamedTuple):
    """Bytes of the names that rows have in a column."""

    longest: int
    of_rows: Callable[[], Counts]

    @classmethod
    def picked(cls, lengths: Counts, places: Counts) -> NameBytes:
        """Return those of rows that pick names by their places."""
        return cls(int(lengths.max(initial=0)), lambda: lengths[places])


def cut_names(n_rows: int, columns: Sequence[NameBytes], most: int) -> Iterator[tuple[int, int]]:
    """Cut rows where their names would take too many bytes.

    Rows are looked at one by one only if as many longest names would take too many.

    Examples
    --------
    >>> [*cut_names(3, [NameBytes.picked(np.array([2, 9]), np.array([0, 0, 1]))], most=10)]
    [(0, 2), (2, 3)]
    """
    if n_rows * sum(column.longest for column in columns) <= most:
        yield 0, n_rows
        return
    n_bytes = np.zeros(n_rows, np.int64)
    for column in columns:
        n_bytes += column.of_rows()
    yield from cut((n_bytes, most))


def _name_bytes(
    columns: Sequence[pa.Array], tried: Sequence[scenarios.Scenario], n_rows: int
) -> Counts:
    """Return the most bytes of names of every row in all states together, 0 where all rows are
    within the bound for one piece.
    """
    added = sum(_added_bytes(change) for scenario in tried for change in scenario.changes)
    n_bytes = sum(column.nbytes for column in columns)
    if n_bytes * (len(tried) + 1) + added * n_rows <= MAX_NAME_BYTES:
        return np.zeros(n_rows, np.int64)
    of_rows: Counts = sum(map(_bytes_of_texts, columns), np.zeros(n_rows, np.int64))
    return of_rows * (len(tried) + 1) + added


def _added_bytes(change: Change) -> int:
    """Return the most bytes of the names that a change adds to a unit."""
    match change:
        case scenarios.AddBroker(broker_name=name):
            return len(utf8_of(name))
        case scenarios.AddClients(ids=ids) if ids is not None:
            return sum(len(utf8_of(name)) for name in ids)
        case scenarios.AddClients(count=n, name=name) | scenarios.ScaleClients(to=n, name=name):
            return (n or 0) * (len(utf8_of(name)) + len("000001"))
    return 0


def _bytes_of_texts(array: pa.Array) -> Counts:
    """Return the bytes of all texts of every row of a plain array."""
    if is_text(array.type):
        return text_lengths(array)
    if is_lists(array.type) and len(array):
        offsets = np.asarray(array.offsets).astype(np.int64)
        values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        return lengths_of(offsets_of(_bytes_of_texts(values))[offsets - offsets[0]])
    n_bytes = np.zeros(len(array), np.int64)
    for at in range(array.type.num_fields if pa.types.is_struct(array.type) else 0):
        n_bytes += _bytes_of_texts(array.field(at))
    return n_bytes


def _grown(
    scenario: scenarios.Scenario, queues: Counts, brokers: Counts, clients: Counts
) -> tuple[Counts, Counts]:
    """Return the most queues and clients that rows can have after a scenario; the same array of
    queues where they cannot change.
    """
    from rmqalloc.scenarios.scenario import AddBroker, AddClients, ScaleClients, SetQueues

    for change in scenario.changes:
        match change:
            case SetQueues(read_queue_nums=n):
                queues = queues + brokers * n
            case AddBroker(read_queue_nums=n):
                queues, brokers = queues + n, brokers + 1
            case AddClients(ids=ids, count=count):
                clients = clients + (len(ids) if ids is not None else count or 0)
            case ScaleClients(to=n):
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
    if numbers.min(initial=0) < 0 or numbers.max(initial=0) > MAX_OF_ROW:
        # A number out of bounds is what is wrong with its row, whatever the others come to.
        numbers = np.where((numbers < 0) | (numbers > MAX_OF_ROW), 0, numbers).astype(np.int64)
    sums = lengths_of(offsets_of(numbers)[offsets - begin])
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
