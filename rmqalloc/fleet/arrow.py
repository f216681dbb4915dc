"""Fleets from Arrow columns, and owners back to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet.arrow_columns import Column, Places
from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    Strings,
    distinct_lists,
    distinct_rows,
    distinct_strings,
    gather,
    lengths_of,
    longest_of,
    offsets_of,
    ranges,
    runs,
    take_stretches,
)
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.fleet.unit_errors import FleetError, UnitError, check_on_error
from rmqalloc.fleet.unit_sizes import over_bound, too_many
from rmqalloc.model import MAX_OF_ROW, MAX_PER_UNIT
from rmqalloc.results import compute as pc

# Lists of fewer, on average, are sorted in less time than equal ones are found.
_FEW_CLIENTS = 8

Rooms = tuple[Strings, NDArray[np.bool_]]

# From so many queues or bytes on, offsets are int64.
_OF_INT64 = 2**31

# The C library counts no piece above 32 MiB.
_MOST_KEPT = 31 << 20


def columns_from_arrow(data: Any, on_error: str, shares_lists: bool = True) -> dict[str, Any]:
    """Return the columns of a `Fleet` by name; see `Fleet.from_arrow`.

    Without ``shares_lists``, equal topics and lists are found only among long lists: sorting short
    lists again takes less time, and some readers need only sorted lists.
    """
    check_on_error(on_error)
    table = _table(data)
    _keep_memory(2 * table.get_total_buffer_size())  # checks and owners take as much again
    bad = _BadUnits()
    groups, topics = _names(table, "consumer_group", bad), _names(table, "topic", bad)
    unit_topic = topic_rows = np.arange(table.num_rows, dtype=np.int32)
    if shares_lists:
        unit_topic, topic_rows = distinct_rows(topics.values, topics.offsets)
    topic_table = topics if topic_rows.size == len(topics) else topics.take_unchecked(topic_rows)
    queues = _QueueRows.read(table, bad)
    clients = _ClientRows.read(table, bad)
    room_table = _number_rooms(queues, clients)
    bad_rows = np.array(sorted(bad.reasons), np.int64)
    unit_queue_list, queue_lists = queues.lists(unit_topic, topic_rows, bad_rows)
    unit_client_list, client_lists = clients.lists(bad_rows, shares_lists)
    errors = [
        UnitError(row, groups[row], topics[row], bad.reasons[row]) for row in bad_rows.tolist()
    ]
    if errors and on_error == "raise":
        raise FleetError(errors, table.num_rows)
    return {
        "consumer_groups": groups, "topics": topic_table, "brokers": queues.brokers, "rooms": room_table,
        "unit_topic": unit_topic, "unit_queue_list": unit_queue_list, "unit_client_list": unit_client_list,
        "queue_lists": queue_lists, "client_lists": client_lists, "errors": tuple(errors),
    }  # fmt: skip


def owners_table(
    names: dict[str, Strings], offsets: Offsets, owners: NDArray[np.int32]
) -> pa.Table:
    """See `Fleet.to_arrow`."""
    if offsets[-1] < _OF_INT64:
        column = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(owners))
    else:
        column = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(owners))
    return pa.table(
        {**{name: text_array(column) for name, column in names.items()}, "owners": column}
    )


def units_table(names: dict[str, Strings], n_queues: Index, n_clients: Index) -> pa.Table:
    """See `Fleet.to_arrow`."""
    texts = {name: text_array(column) for name, column in names.items()}
    return pa.table({**texts, "n_queues": n_queues, "n_clients": n_clients})


def text_array(column: Strings) -> pa.Array:
    """Return text as an Arrow array that shares its memory; a lone surrogate, which Arrow cannot
    hold, reads ``?``.
    """
    column = column.as_java_bytes
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(column.offsets)),
        pa.py_buffer(column.values),
    ]
    array = pa.Array.from_buffers(pa.large_string(), len(column), buffers)
    return pc.cast(array, pa.string()) if column.offsets[-1] < _OF_INT64 else array


class _BadUnits:
    """Rows that cannot be assigned, each with the first reason found."""

    def __init__(self) -> None:
        self.reasons: dict[int, str] = {}

    def note(self, rows: Places, reason: Callable[[int], str]) -> None:
        """Mark rows; ``reason`` is asked with the place of a row in ``rows``."""
        for i, row in enumerate(rows.tolist()):
            if row not in self.reasons:
                self.reasons[row] = reason(i)

    def note_elements(
        self, offsets: Offsets, elements: Places, reason: Callable[[int, int], str]
    ) -> None:
        """Mark the rows of elements of lists; ``reason`` is asked with an element and its place in
        its row.
        """
        if elements.size:
            rows = np.searchsorted(offsets, elements, side="right") - 1
            self.note(rows, lambda i: reason(int(elements[i]), int(elements[i] - offsets[rows[i]])))


@dataclass
class _QueueRows:
    """The column ``queues`` or ``brokers``: per entry a broker and its queue id or its number of
    queues.
    """

    offsets: Offsets
    codes: Index
    brokers: Strings
    numbers: Index
    is_compact: bool
    rooms: Rooms | None
    room_codes: Index | None = None

    @classmethod
    def read(cls, table: pa.Table, bad: _BadUnits) -> _QueueRows:
        compact = not _has(table, "queues")
        if not compact and _has(table, "brokers"):
            raise ArgumentTypeError(
                "the table has a column queues and a column brokers; drop one of them: brokers if "
                "the queues are listed, queues if they are 0 to read_queue_nums - 1 of each broker"
            )
        name, number_name = ("brokers", "read_queue_nums") if compact else ("queues", "queue_id")
        if not _has(table, name):
            raise ArgumentTypeError(
                f"the table has neither a queues nor a brokers column; it has {table.column_names}"
            )
        offsets, entries = _lists(table, name, bad)
        names, numbers = entries.fields("broker_name", number_name)
        text, broken = names.text()
        codes, brokers = distinct_strings(text)
        bad.note_elements(offsets, broken, _not_utf8(names, "broker_name"))
        bad.note_elements(
            offsets,
            names.nulls(),
            lambda _, at: f"broker_name at position {at} of {name} is null; it must be a string",
        )
        least, most = (0, MAX_OF_ROW) if compact else (-(2**31), 2**31 - 1)
        valid, wrong = numbers.integers(least, most)

        def reason(i: int, at: int) -> str:
            given = numbers.at(i)
            shown = "null" if given is None else given
            return f"{number_name} at position {at} of {name} must be an integer from {least} to {most}, got {shown}"

        bad.note_elements(offsets, wrong, reason)
        if compact:
            valid = _within_bound(offsets, valid, bad)
        return cls(
            offsets,
            codes,
            brokers,
            valid,
            compact,
            _rooms(table, "broker_rooms", offsets, name, bad),
        )

    def lists(
        self, unit_topic: Index, topic_rows: Index, bad_rows: Places
    ) -> tuple[Index, QueueLists]:
        """Number the distinct lists and cut them into routes."""
        columns = [
            self.codes,
            self.numbers,
            *([] if self.room_codes is None else [self.room_codes]),
        ]
        kinds, firsts = distinct_lists(unit_topic, topic_rows, self.offsets, columns)
        offsets = self.offsets
        if firsts.size < kinds.size:
            begins, offsets = offsets[firsts], offsets_of(lengths_of(offsets)[firsts])
            columns = [take_stretches(column, begins, offsets) for column in columns]
        brokers, numbers, *room = columns
        rooms = room[0] if room else None
        offsets = _with_none(offsets)
        if self.is_compact:
            list_routes, route_offsets, ids = offsets, offsets_of(numbers), None
        else:
            list_routes, route_offsets = runs(
                offsets, [brokers] if rooms is None else [brokers, rooms]
            )
            brokers, ids = brokers[route_offsets[:-1]], numbers
            rooms = None if rooms is None else rooms[route_offsets[:-1]]
        route_topic = np.repeat(unit_topic[firsts], lengths_of(list_routes[:-1]))
        lists = QueueLists.of_routes(list_routes, route_offsets, route_topic, brokers, rooms, ids)
        return _with_empty(kinds, bad_rows, firsts.size), lists


@dataclass
class _ClientRows:
    """The column ``client_ids``."""

    offsets: Offsets
    client_ids: Strings
    rooms: Rooms | None
    room_codes: Index | None = None

    @classmethod
    def read(cls, table: pa.Table, bad: _BadUnits) -> _ClientRows:
        offsets, column = _lists(table, "client_ids", bad)
        ids, broken = column.text()
        bad.note_elements(offsets, broken, _not_utf8(column, "client id"))
        bad.note_elements(
            offsets,
            column.nulls(),
            lambda _, at: f"client id at position {at} is null; every client id must be a string",
        )
        return cls(offsets, ids, _rooms(table, "client_rooms", offsets, "client_ids", bad))

    def lists(self, bad_rows: Places, shares_lists: bool) -> tuple[Index, ClientLists]:
        """Number the distinct lists; where all are distinct the text is not copied."""
        offsets, ids, rooms = self.offsets, self.client_ids, self.room_codes
        kinds = firsts = np.arange(offsets.size - 1, dtype=np.int32)
        if shares_lists or len(ids) > _FEW_CLIENTS * kinds.size:
            kinds, firsts = distinct_rows(ids.values, ids.offsets[offsets])
        if firsts.size < kinds.size:  # of one text, but is it cut in the same way?
            lengths = lengths_of(ids.offsets).astype(np.int32)
            columns = [lengths] if rooms is None else [lengths, rooms]
            kinds, firsts = distinct_lists(kinds, firsts, offsets, columns)
        if firsts.size < kinds.size:
            ids, begins = ids.take_lists(firsts, offsets), offsets[firsts]
            offsets = offsets_of(lengths_of(offsets)[firsts])
            rooms = None if rooms is None else take_stretches(rooms, begins, offsets)
        lists = ClientLists.of_slots(_with_none(offsets), ids, rooms)
        return _with_empty(kinds, bad_rows, firsts.size), lists


def _with_none(offsets: Offsets) -> Offsets:
    """Return offsets of the lists and of an empty one behind them."""
    return np.concatenate([offsets, offsets[-1:]])


def _with_empty(kinds: Index, bad_rows: Places, n_kinds: int) -> Index:
    """Return lists of the units; a bad one gets the empty list, which comes last."""
    if bad_rows.size:
        kinds = kinds.copy()
        kinds[bad_rows] = n_kinds
    return kinds


def _within_bound(offsets: Offsets, numbers: Index, bad: _BadUnits) -> Index:
    """Return numbers of queues of brokers; rows that come to too many are bad, and have none from
    here on.
    """
    if int(numbers.max(initial=0)) * longest_of(offsets) <= MAX_PER_UNIT:
        return numbers
    totals = lengths_of(offsets_of(numbers)[offsets])
    rows = over_bound(totals)
    bad.note(rows, lambda i: too_many(int(totals[rows[i]]), "queues"))
    numbers = numbers.copy()
    numbers[ranges(offsets[rows], lengths_of(offsets)[rows])] = 0
    return numbers


def _number_rooms(queues: _QueueRows, clients: _ClientRows) -> Strings:
    """Number the machine rooms of both sides together, -1 where missing, and return the table of
    their names.
    """
    sides = [side for side in (queues, clients) if side.rooms is not None]
    texts = [side.rooms[0] for side in sides if side.rooms is not None]
    if not texts:
        return Strings.from_list([])
    codes, table = distinct_strings(Strings.joined(texts))
    for side in sides:
        assert side.rooms is not None
        own, codes = codes[: len(side.rooms[0])], codes[len(side.rooms[0]) :]
        side.room_codes = np.where(side.rooms[1], np.int32(-1), own)
    return table


def _rooms(
    table: pa.Table, name: str, beside: Offsets, beside_name: str, bad: _BadUnits
) -> Rooms | None:
    """Return a column of machine rooms, which must be as long as the column it stands beside, row
    by row.
    """
    if not _has(table, name):
        return None
    offsets, column = _lists(table, name, bad)
    have, want = lengths_of(offsets), lengths_of(beside)
    rows = np.flatnonzero(have != want)
    bad.note(
        rows,
        lambda i: (
            f"{name} has {have[rows[i]]} entries beside {want[rows[i]]} in {beside_name}; give one for each"
        ),
    )
    text, broken = column.text()
    bad.note_elements(offsets, broken, _not_utf8(column, "machine room"))
    null = np.equal(lengths_of(text.offsets), 0)
    null[column.nulls()] = True
    # Rows that do not fit are bad; the others keep their places beside the other column.
    places = ranges(offsets[:-1], np.minimum(have, want))
    fitted = ranges(beside[:-1], np.minimum(have, want))
    source = np.full(int(beside[-1]), -1, np.int64)
    source[fitted] = places
    missing = (source < 0) | null[source] if len(text) else np.ones(source.size, bool)
    lengths = np.where(missing, 0, lengths_of(text.offsets)[source] if len(text) else 0)
    starts = text.offsets[:-1][source] if len(text) else np.zeros(source.size, np.int64)
    offsets = offsets_of(lengths)
    return Strings.of_bytes(gather(text.values, starts, offsets), offsets), missing


def _keep_memory(n_bytes: int) -> None:
    """Have the allocator keep about twice so much of what will be freed, for the next batch.

    The C library of Linux keeps free what was twice its largest piece so far. The rest a process
    gets from the system again, page by page, and waits longer for the pages of a batch than for all
    the work on it.
    """
    np.empty(min(n_bytes, _MOST_KEPT), np.uint8)


def _table(data: Any) -> pa.Table:
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    raise ArgumentTypeError(
        f"expected an Arrow table (an object with __arrow_c_stream__), got {type(data).__name__}"
    )


def _has(table: pa.Table, name: str) -> bool:
    return bool(table.schema.get_field_index(name) >= 0)


def _names(table: pa.Table, name: str, bad: _BadUnits) -> Strings:
    column = Column.of(table, name)
    bad.note(column.nulls(), lambda _: f"{name} is null; it must be a string")
    text, broken = column.text()
    bad.note(broken, lambda i: f"{name} is not UTF-8: {column.shown(int(broken[i]))}")
    return text


def _not_utf8(column: Column, what: str) -> Callable[[int, int], str]:
    """Return the reason why an element of a column of lists, at some place of its list, is no text."""
    return lambda element, at: (
        f"{what} at position {at} of {column.name} is not UTF-8: {column.shown(element)}"
    )


def _lists(table: pa.Table, name: str, bad: _BadUnits) -> tuple[Offsets, Column]:
    column = Column.of(table, name)
    bad.note(column.nulls(), lambda _: f"{name} is null; give a list")
    offsets, entries = column.lists()
    rows = over_bound(lengths_of(offsets))
    if rows.size:  # no kernel may see such a list, not even one of a bad row
        n = int(offsets[rows[0] + 1] - offsets[rows[0]])
        raise ArgumentError(
            f"row {rows[0]} of column {name} has {n} entries; at most {MAX_PER_UNIT} can be assigned"
        )
    return offsets, entries
