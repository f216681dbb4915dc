"""Long tables as Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds
from numpy.typing import NDArray

from rmqalloc.documents import Source, read_budget
from rmqalloc.documents.read_budget import most_rows
from rmqalloc.snapshot.files._from_columns import Cells, NotPlainError, snapshot_of
from rmqalloc.snapshot.files._from_rows import Rows
from rmqalloc.snapshot.files._parquet_pages import PageError, pages
from rmqalloc.snapshot.files._table_columns import COLUMNS, Row, column_names
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError, check_range, least
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import printable, shortened

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in COLUMNS.items()])
"""Columns as they are written."""

_WORDS = pa.dictionary(pa.int32(), pa.string())
_ROWS_AT_ONCE = 1 << 16

_MOST_AT_ONCE = 1 << 21
"""Rows at most of which whole columns are held, some 200 bytes for each."""


def read(source: Source) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot of a Parquet file whose columns are
    `rmqalloc.snapshot.files._table_columns`, and warnings.

    Raises
    ------
    SnapshotError
        If it is none; the message names the file, the row (from 1) and the column.
    """
    number = 0
    try:
        given = _opened(source)
        if (snapshot := _by_columns(given)) is not None:
            return snapshot, ()
        table = Rows(given.names.values())
        for row in _rows(given):
            number += 1
            if row:
                table.add(row)
    except SnapshotError as error:
        raise source.error(f"row {number}: {error}" if number else str(error)) from None
    except (
        pa.ArrowException,
        OSError,
        UnicodeDecodeError,
        PageError,
    ) as error:  # of Arrow, and of the pages' headers
        raise source.error(
            f"not Parquet, or damaged or cut: {' '.join(str(error).split())[:200]}"
        ) from None
    return table.checked(source)


def write(snapshot: Snapshot) -> bytes:
    """Return the bytes of a Parquet file with all columns."""
    out = io.BytesIO()
    rows = list(to_rows(snapshot))
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), out, compression="zstd")
    _check_size(data := out.getvalue(), len(rows))
    return data


class _Given(NamedTuple):
    """A file, and the columns that are read by what they are named there and here."""

    file: pq.ParquetFile
    names: dict[str, str]


def _opened(source: Source) -> _Given:
    content = pa.BufferReader(source.data)
    schema = pq.read_schema(content)
    names = column_names(schema.names)
    for field in schema:
        _check_kind(field)
    # Texts stay dictionaries: then a text that is repeated is one text in memory, too.
    texts = [field.name for field in schema if _is_text(field.type)]
    file = pq.ParquetFile(content, read_dictionary=texts)
    _check_size(source.data, file.metadata.num_rows)
    return _Given(
        file, {given: name for given, name in zip(schema.names, names, strict=True) if name}
    )


def _by_columns(given: _Given) -> Snapshot | None:
    """Return the snapshot of a plain table; None where rows must be read one by one, be it to say
    what is wrong.
    """
    if given.file.metadata.num_rows > _MOST_AT_ONCE:
        return None
    try:
        table = given.file.read([*given.names])
        table.validate(full=True)  # a damaged file may hold places outside of its dictionaries
        table = table.unify_dictionaries().combine_chunks()
        columns = {
            name: _cells(name, table.column(in_file)) for in_file, name in given.names.items()
        }
        return snapshot_of({name: cells for name, cells in columns.items() if cells is not None})
    except (NotPlainError, SnapshotError, pa.ArrowException, OSError, UnicodeDecodeError):
        return None


def _cells(name: str, column: pa.ChunkedArray) -> Cells | None:
    """Return the cells of a column, None where none is filled."""
    n = len(column)
    if column.null_count == n:
        return None
    kind, [chunk] = COLUMNS[name], column.chunks
    if column.type != (_WORDS if kind is str else _TYPES[kind]):
        raise NotPlainError
    bits, data = (chunk.indices if kind is str else chunk).buffers()
    is_filled = _bits(bits, n) if column.null_count else np.ones(n, np.bool_)
    if kind is bool:
        return Cells(is_filled, _bits(data, n))
    numbers = np.frombuffer(data, np.int32 if kind is str else np.dtype(kind), n)
    numbers = np.where(is_filled, numbers, 0)
    if kind is int and numbers.min() < least(name):
        raise NotPlainError
    if kind is not str:
        return Cells(is_filled, numbers)
    words = np.array(chunk.dictionary.to_pylist(), object)
    return Cells(is_filled & (words != "")[numbers], numbers, words)


def _bits(data: pa.Buffer, n: int) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(data, np.uint8), count=n, bitorder="little").view(np.bool_)


def _rows(table: _Given) -> Iterator[Row]:
    given, named = [*table.names], [*table.names.values()]
    readers = [_Column(name) for name in named]
    for batch in table.file.iter_batches(_ROWS_AT_ONCE, columns=given):
        batch.validate(full=True)  # a damaged file may hold places outside of its dictionaries
        columns = {
            name: reader.values(batch.column(one))
            for name, one, reader in zip(named, given, readers, strict=True)
        }
        holds_any = {
            name
            for name, one in zip(named, given, strict=True)
            if batch.column(one).null_count < len(batch)
        }
        filled = {name: cells for name, cells in columns.items() if name in holds_any}
        for cells in zip(*filled.values(), strict=True) if filled else repeat((), len(batch)):
            yield {
                name: cell
                for name, cell in zip(filled, cells, strict=True)
                if cell is not None and cell != ""
            }


def _is_text(kind: Any) -> bool:
    """Return whether a column holds bytes, which may be read as a dictionary; some writers do not
    say that they are text.
    """
    return any(
        is_one(kind)
        for is_one in (
            kinds.is_string,
            kinds.is_large_string,
            kinds.is_binary,
            kinds.is_large_binary,
        )
    )


def _check_kind(field: pa.Field) -> None:
    """Refuse lists and the like before they are read: a few bytes can stand for any number of their
    elements.
    """
    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    if not (
        _is_text(kind) or kinds.is_null(kind) or kinds.is_decimal(kind) or kinds.is_primitive(kind)
    ):
        raise SnapshotError(
            f"column {shortened(printable(field.name), 80)} is of the type {kind}; text or numbers are read"
        )


def _check_size(data: bytes, n_rows: int) -> None:
    """Refuse what is more than a plain file could hold."""
    if n_rows > most_rows():
        raise SnapshotError(f"has {n_rows} rows; up to {most_rows()} are read")
    n_bytes = 0
    for page in pages(data):
        n_bytes += page.n_bytes
        if n_bytes > read_budget.MAX_BYTES:
            raise SnapshotError(
                f"has more than {read_budget.MAX_BYTES >> 20} MiB unpacked; give fewer groups"
            )
        if page.is_delta:
            raise SnapshotError(
                "is written with the encoding DELTA_BYTE_ARRAY, which can grow without bound; write it plain"
            )


class _Column:
    """Reads a column, batch by batch."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._dictionary: Any = None
        self._words: list[Any] = []

    def values(self, column: Any) -> list[Any]:
        """Return Python values, None for null."""
        if COLUMNS[self._name] is str and kinds.is_dictionary(column.type):
            if self._dictionary is None or not column.dictionary.equals(self._dictionary):
                self._dictionary, self._words = (
                    column.dictionary,
                    column.dictionary.cast(pa.string()).to_pylist(),
                )
            return [None if i is None else self._words[i] for i in column.indices.to_pylist()]
        return _values(self._name, column)


def _values(name: str, column: Any) -> list[Any]:
    """Return Python values of a column that is no dictionary of texts."""
    kind = COLUMNS[name]
    if kinds.is_null(column.type):
        return [None] * len(column)
    if kind is not str and (kinds.is_string(column.type) or kinds.is_dictionary(column.type)):
        raise SnapshotError(f"column {name} holds text; {kind.__name__} is needed")
    try:
        cells = column.cast(_TYPES[kind])
    except pa.ArrowException as error:
        raise SnapshotError(f"column {name} cannot be read as {_TYPES[kind]}: {error}") from None
    values: list[Any] = cells.to_pylist()
    if kind is int:
        low = next((value for value in values if value is not None and value < least(name)), 0)
        check_range(name, low)
    return values
