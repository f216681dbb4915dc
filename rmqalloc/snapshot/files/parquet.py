"""Long tables as Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from rmqalloc.documents import Source
from rmqalloc.snapshot.document import SnapshotError, least
from rmqalloc.snapshot.files.columns import COLUMNS, Row, column_names
from rmqalloc.snapshot.files.from_rows import Rows
from rmqalloc.snapshot.files.to_rows import to_rows
from rmqalloc.snapshot.model import Snapshot

MAX_ROWS = 20_000_000
"""Rows of a file at most; a few bytes can say that there are billions."""

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in COLUMNS.items()])
"""Columns as they are written."""

_ROWS_AT_ONCE = 1 << 16


def read(source: Source) -> tuple[Snapshot, tuple[str, ...]]:
    """The snapshot of a Parquet file whose columns are `rmqalloc.snapshot.files.columns`, and warnings.

    Raises
    ------
    SnapshotError
        If it is none; the message names the file, the row (from 1) and the column.
    """
    table, number = Rows(), 0
    try:
        for row in _rows(source):
            number += 1
            if row:
                table.add(row)
    except SnapshotError as error:
        raise source.error(f"row {number}: {error}" if number else str(error)) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise source.error(f"not Parquet, or damaged or cut: {' '.join(str(error).split())[:200]}") from None
    return table.checked(source)


def write(snapshot: Snapshot) -> bytes:
    """The bytes of a Parquet file with all columns."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(to_rows(snapshot)), SCHEMA), out, compression="zstd")
    return out.getvalue()


def _rows(source: Source) -> Iterator[Row]:
    content = pa.BufferReader(source.data)
    schema = pq.read_schema(content)
    names = column_names(schema.names)
    # Texts stay dictionaries: then a text that is repeated is one text in memory, too.
    texts = [field.name for field in schema if kinds.is_string(field.type) or kinds.is_large_string(field.type)]
    file = pq.ParquetFile(content, read_dictionary=texts)
    if file.metadata.num_rows > MAX_ROWS:
        raise SnapshotError(f"has {file.metadata.num_rows} rows; up to {MAX_ROWS} are read")
    given = [field.name for field, name in zip(schema, names, strict=True) if name]
    named = [name for name in names if name]
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=given):
        batch.validate(full=True)  # a damaged file may hold places outside of its dictionaries
        columns = [
            _values(name, batch.column(i)) for name, i in zip(named, map(batch.schema.names.index, given), strict=True)
        ]
        for cells in zip(*columns, strict=True):
            yield {name: cell for name, cell in zip(named, cells, strict=True) if cell is not None and cell != ""}


def _values(name: str, column: Any) -> list[Any]:
    """Python values of a column, None for null."""
    kind = COLUMNS[name]
    if kind is str and kinds.is_dictionary(column.type):
        words = column.dictionary.cast(pa.string()).to_pylist()
        return [None if i is None else words[i] for i in column.indices.to_pylist()]
    if kinds.is_null(column.type):
        return [None] * len(column)
    if kind is not str and (kinds.is_string(column.type) or kinds.is_dictionary(column.type)):
        raise SnapshotError(f"column {name} holds text; {kind.__name__} is needed")
    try:
        values: list[Any] = column.cast(_TYPES[kind]).to_pylist()
    except pa.ArrowException as error:
        raise SnapshotError(f"column {name} cannot be read as {_TYPES[kind]}: {error}") from None
    if (
        kind is int
        and (low := next((one for one in values if one is not None and one < least(name)), None)) is not None
    ):
        raise SnapshotError(f"{name} must be from {least(name)} to {2**63 - 1}, got {low}")
    return values
