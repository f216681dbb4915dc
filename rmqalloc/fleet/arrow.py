"""Fleets from Arrow columns, and owners back to them. The only file of this room that knows pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    Strings,
    distinct_rows,
    distinct_strings,
    gather,
    list_positions,
    offsets_of,
    ranges,
)
from rmqalloc.fleet.errors import FleetError, UnitError, check_on_error
from rmqalloc.fleet.fleet import ClientLists, Fleet, QueueLists

Mask = NDArray[np.bool_]

# More queues than any broker holds; a damaged row must not ask for all the memory there is.
MAX_READ_QUEUE_NUMS = 2**24


def build(data: Any, on_error: str) -> Fleet:
    """See `Fleet.from_arrow`."""
    check_on_error(on_error)
    table = _table(data)
    bad = _BadUnits(table.num_rows)
    groups, topics = _names(table, "consumer_group", bad), _names(table, "topic", bad)
    unit_topic, topic_table = distinct_strings(topics)
    queues = _QueueRows.read(table, bad)
    clients = _ClientRows.read(table, bad)
    room_table = _number_rooms(queues, clients)
    unit_queue_list, queue_lists, brokers = queues.lists(unit_topic, bad.rows)
    unit_client_list, client_lists = clients.lists(bad.rows)
    errors = [UnitError(row, groups[row], topics[row], reason) for row, reason in sorted(bad.reasons.items())]
    if errors and on_error == "raise":
        raise FleetError(errors, table.num_rows)
    return Fleet(
        groups, topic_table, brokers, room_table, unit_topic, unit_queue_list, unit_client_list, queue_lists,
        client_lists, tuple(errors),
    )  # fmt: skip


def owners_table(fleet: Fleet, owners: NDArray[np.int32]) -> pa.Table:
    """See `Fleet.to_arrow`."""
    offsets = fleet.queue_offsets
    if owners.shape != (offsets[-1],) or owners.dtype != np.int32:
        raise ValueError(
            f"owners must be int32 of shape ({offsets[-1]},), one entry per queue of the fleet, "
            f"got {owners.dtype} of shape {owners.shape}"
        )
    if offsets[-1] < 2**31:
        column = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(owners))
    else:
        column = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(owners))
    names = [fleet.consumer_groups, fleet.topics.take(fleet.unit_topic)]
    return pa.table([*map(text_array, names), column], ["consumer_group", "topic", "owners"])


def text_array(column: Strings) -> pa.Array:
    """A column of text as an Arrow array that shares its memory; a lone surrogate, which Arrow cannot hold, reads ``?``."""
    column = column.as_java_bytes
    buffers = [None, pa.py_buffer(np.ascontiguousarray(column.offsets)), pa.py_buffer(column.values)]
    array = pa.Array.from_buffers(pa.large_string(), len(column), buffers)
    return array.cast(pa.string()) if column.offsets[-1] < 2**31 else array


class _BadUnits:
    """Rows that cannot be assigned, each with the first reason found."""

    def __init__(self, n_rows: int) -> None:
        self.rows: Mask = np.zeros(n_rows, bool)
        self.reasons: dict[int, str] = {}

    def note(self, rows: NDArray[Any], reason: Callable[[int], str]) -> None:
        """Mark rows; ``reason`` is asked with the place of a row in ``rows``."""
        for i, row in enumerate(rows.tolist()):
            self.reasons.setdefault(row, reason(i))
        self.rows[rows] = True


@dataclass
class _Lists:
    """A list column: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: Offsets
    values: pa.Array

    def rows_of(self, elements: NDArray[Any]) -> NDArray[Any]:
        """Row that each element belongs to."""
        return np.searchsorted(self.offsets, elements, side="right") - 1

    def note(self, bad: _BadUnits, wrong: Mask, reason: Callable[[int, int], str]) -> None:
        """Mark the rows of wrong elements; ``reason`` is asked with an element and its place in its row."""
        elements = np.flatnonzero(wrong)
        rows = self.rows_of(elements)
        bad.note(rows, lambda i: reason(int(elements[i]), int(elements[i] - self.offsets[rows[i]])))


@dataclass
class _QueueRows:
    """The column ``queues`` or ``brokers``: per entry a broker and its queue id or its number of queues."""

    lists_: _Lists
    brokers: Strings
    numbers: NDArray[np.int64]
    is_compact: bool
    rooms: tuple[Strings, Mask] | None
    room_codes: Index | None = None

    @classmethod
    def read(cls, table: pa.Table, bad: _BadUnits) -> _QueueRows:
        compact = "queues" not in table.column_names
        name, number_name = ("brokers", "read_queue_nums") if compact else ("queues", "queue_id")
        if name not in table.column_names:
            raise TypeError(f"the table has neither a queues nor a brokers column; it has {table.column_names}")
        lists = _lists(table, name, bad)
        names, numbers = _struct_fields(lists.values, name, ("broker_name", number_name))
        brokers, null = _text(names, f"{name}.broker_name")
        lists.note(bad, null, lambda _, at: f"broker_name at position {at} of {name} is null; it must be a string")
        least, most = (0, MAX_READ_QUEUE_NUMS) if compact else (-(2**31), 2**31 - 1)
        valid, wrong = _integers(numbers, f"{name}.{number_name}", least, most)

        def reason(i: int, at: int) -> str:
            given = numbers[i].as_py()
            shown = "null" if given is None else given
            return f"{number_name} at position {at} of {name} must be an integer from {least} to {most}, got {shown}"

        lists.note(bad, wrong, reason)
        return cls(lists, brokers, valid, compact, _rooms(table, "broker_rooms", lists, name, bad))

    def lists(self, unit_topic: Index, bad_rows: Mask) -> tuple[Index, QueueLists, Strings]:
        """Number the distinct lists and cut them into routes."""
        codes, table = distinct_strings(self.brokers)
        rooms = self.room_codes
        entries = np.stack([codes, self.numbers.astype(np.int32), codes if rooms is None else rooms], axis=1)
        offsets = self.lists_.offsets
        topic_offsets = np.arange(unit_topic.size + 1, dtype=np.int64) * 4
        kinds, firsts = distinct_rows(
            entries.reshape(-1).view(np.uint8), offsets * 12, unit_topic.view(np.uint8), topic_offsets
        )
        lengths = np.diff(offsets)[firsts]
        places = ranges(offsets[firsts], lengths)
        topics = np.repeat(unit_topic[firsts], lengths)
        make = self._compact if self.is_compact else self._explicit
        lists = make(
            offsets_of(np.append(lengths, 0)),
            topics,
            codes[places],
            self.numbers[places],
            None if rooms is None else rooms[places],
        )
        return _with_empty(kinds, bad_rows, firsts.size), lists, table

    @staticmethod
    def _compact(
        offsets: Offsets, topics: Index, brokers: Index, numbers: NDArray[np.int64], rooms: Index | None
    ) -> QueueLists:
        """Every entry is a route with ids 0 to n-1."""
        route_offsets = offsets_of(numbers)
        return QueueLists(route_offsets[offsets], list_positions(route_offsets), route_offsets, topics, brokers, rooms)

    @staticmethod
    def _explicit(
        offsets: Offsets, topics: Index, brokers: Index, numbers: NDArray[np.int64], rooms: Index | None
    ) -> QueueLists:
        """Every entry is a queue; neighbours of one broker make a route."""
        each = np.arange(brokers.size + 1, dtype=np.int64)
        return QueueLists(offsets, numbers.astype(np.int32), each, topics, brokers, rooms).rearranged(
            each[:-1], offsets
        )


@dataclass
class _ClientRows:
    """The column ``client_ids``."""

    lists_: _Lists
    client_ids: Strings
    rooms: tuple[Strings, Mask] | None
    room_codes: Index | None = None

    @classmethod
    def read(cls, table: pa.Table, bad: _BadUnits) -> _ClientRows:
        lists = _lists(table, "client_ids", bad)
        ids, null = _text(lists.values, "client_ids")
        lists.note(bad, null, lambda _, at: f"client id at position {at} is null; every client id must be a string")
        return cls(lists, ids, _rooms(table, "client_rooms", lists, "client_ids", bad))

    def lists(self, bad_rows: Mask) -> tuple[Index, ClientLists]:
        """Number the distinct lists; where all are distinct the text is not copied."""
        offsets, ids = self.lists_.offsets, self.client_ids
        lengths = np.diff(ids.offsets)
        others = (
            lengths.astype(np.int32)
            if self.room_codes is None
            else np.stack([lengths.astype(np.int32), self.room_codes], axis=1)
        )
        width = 4 if self.room_codes is None else 8
        kinds, firsts = distinct_rows(
            ids.values, ids.offsets[offsets], others.reshape(-1).view(np.uint8), offsets * width
        )
        sizes = np.diff(offsets)[firsts]
        rooms = self.room_codes
        if firsts.size != offsets.size - 1:
            places = ranges(offsets[firsts], sizes)
            ids, rooms = ids.take(places), None if rooms is None else rooms[places]
        return _with_empty(kinds, bad_rows, firsts.size), ClientLists(offsets_of(np.append(sizes, 0)), ids, rooms)


def _with_empty(kinds: Index, bad_rows: Mask, n_kinds: int) -> Index:
    """Lists of the units; a bad one gets the empty list, which comes last."""
    kinds[bad_rows] = n_kinds
    return kinds


def _number_rooms(queues: _QueueRows, clients: _ClientRows) -> Strings:
    """Number the machine rooms of both sides together, -1 where missing; returns the table of their names."""
    sides = [side for side in (queues, clients) if side.rooms is not None]
    texts = [side.rooms[0] for side in sides if side.rooms is not None]
    codes, table = distinct_strings(Strings.joined(texts))
    for side in sides:
        assert side.rooms is not None
        own, codes = codes[: len(side.rooms[0])], codes[len(side.rooms[0]) :]
        side.room_codes = np.where(side.rooms[1], np.int32(-1), own)
    return table


def _rooms(table: pa.Table, name: str, beside: _Lists, beside_name: str, bad: _BadUnits) -> tuple[Strings, Mask] | None:
    """A column of machine rooms, which must be as long as the column it stands beside, row by row."""
    if name not in table.column_names:
        return None
    lists = _lists(table, name, bad)
    have, want = np.diff(lists.offsets), np.diff(beside.offsets)
    rows = np.flatnonzero(have != want)
    bad.note(
        rows, lambda i: f"{name} has {have[rows[i]]} entries beside {want[rows[i]]} in {beside_name}; give one for each"
    )
    text, null = _text(lists.values, name)
    # Rows that do not fit are bad; the others keep their places beside the other column.
    places = ranges(lists.offsets[:-1], np.minimum(have, want))
    fitted = ranges(beside.offsets[:-1], np.minimum(have, want))
    source = np.full(int(beside.offsets[-1]), -1, np.int64)
    source[fitted] = places
    missing = (source < 0) | (null | (np.diff(text.offsets) == 0))[source] if len(text) else np.ones(source.size, bool)
    lengths = np.where(missing, 0, np.diff(text.offsets)[source] if len(text) else 0)
    starts = text.offsets[:-1][source] if len(text) else np.zeros(source.size, np.int64)
    offsets = offsets_of(lengths)
    return Strings(gather(text.values, starts, offsets), offsets), missing


def _table(data: Any) -> pa.Table:
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    raise TypeError(f"expected an Arrow table (an object with __arrow_c_stream__), got {type(data).__name__}")


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise TypeError(f"the table has no column {name}; it has {table.column_names}")
    return table.column(name)


def _names(table: pa.Table, name: str, bad: _BadUnits) -> Strings:
    column = _column(table, name)
    text, null = _text(_concat([_decoded(c) for c in column.chunks], column.type), name)
    bad.note(np.flatnonzero(null), lambda _: f"{name} is null; it must be a string")
    return text


def _decoded(array: pa.Array) -> pa.Array:
    """Values of a dictionary, and text in its widest form, so that chunks of any size can be joined."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    return array


def _concat(arrays: list[pa.Array], type_: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else _decoded(pa.array([], type_))


def _lists(table: pa.Table, name: str, bad: _BadUnits) -> _Lists:
    """A list column of any width, chunked or sliced, as offsets from 0 and the values between them."""
    column = _column(table, name)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise TypeError(f"column {name} must be a list, got {kind}")
    lengths: list[NDArray[Any]] = []
    values: list[pa.Array] = []
    for chunk in column.chunks:
        offsets = np.asarray(chunk.offsets).astype(np.int64)
        _check_offsets(offsets, len(chunk.values), name)
        lengths.append(np.diff(offsets))
        values.append(_decoded(chunk.values.slice(offsets[0], offsets[-1] - offsets[0])))
    if column.null_count:
        rows = np.flatnonzero(np.asarray(column.is_null()))
        bad.note(rows, lambda _: f"{name} is null; give a list")
    return _Lists(offsets_of(np.concatenate([np.zeros(0, np.int64), *lengths])), _concat(values, kind.value_type))


def _struct_fields(values: pa.Array, name: str, fields: tuple[str, str]) -> list[pa.Array]:
    if not pa.types.is_struct(values.type) or any(values.type.get_field_index(f) < 0 for f in fields):
        raise TypeError(f"column {name} must be a list of struct<{', '.join(fields)}>, got a list of {values.type}")
    flat = values.flatten()
    return [_decoded(flat[values.type.get_field_index(field)]) for field in fields]


def _text(array: pa.Array, name: str) -> tuple[Strings, Mask]:
    """A text array as a column that shares its memory, and where it is null."""
    if pa.types.is_null(array.type):
        array = array.cast(pa.large_string())
    if not pa.types.is_large_string(array.type):
        raise TypeError(f"column {name} must hold strings, got {array.type}")
    buffers = array.buffers()
    offsets = np.zeros(1, np.int64)
    if len(array):
        offsets = np.frombuffer(buffers[1], np.int64)[array.offset : array.offset + len(array) + 1]
    values = (
        np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None and buffers[2].size else np.zeros(1, np.uint8)
    )
    _check_offsets(offsets, values.size, name)
    return Strings(values, offsets), _nulls(array)


def _check_offsets(offsets: Offsets, size: int, name: str) -> None:
    """Refuse offsets that run backwards or past the values, which would read memory that is not theirs."""
    wrong = np.flatnonzero((np.diff(offsets) < 0) | (offsets[1:] > size) | (offsets[:-1] < 0))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(
            f"the offsets of column {name} do not fit: entry {at} runs from {offsets[at]} to {offsets[at + 1]} "
            f"of {size} values; "
            "offsets must not decrease and must end within the values"
        )


def _integers(array: pa.Array, name: str, least: int, most: int) -> tuple[NDArray[np.int64], Mask]:
    """An integer array, and where it is null or out of bounds; such entries read 0."""
    if not (pa.types.is_integer(array.type) or pa.types.is_null(array.type)):
        raise TypeError(f"column {name} must hold integers, got {array.type}")
    null = _nulls(array)
    numbers = np.asarray(array.fill_null(0).cast(pa.int64(), safe=False)) if len(array) else np.zeros(0, np.int64)
    wrong = null | (numbers < least) | (numbers > most)
    return np.where(wrong, 0, numbers), wrong


def _nulls(array: pa.Array) -> Mask:
    return np.asarray(array.is_null()) if array.null_count else np.zeros(len(array), bool)
