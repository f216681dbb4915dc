"""How many bytes the pages of a Parquet file unpack to, as their own headers say it.

The footer says it too, but nothing holds it to the pages: a reader makes room for what a page's header says. So the headers are
read here before any page is. They are Thrift structures in its compact protocol, of which this follows as much as they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_DELTA_BYTE_ARRAY = 7
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_MOST_DEPTH = 8
_UNPACKED, _PACKED, _DATA, _DATA_2 = 2, 3, 5, 8
_ENCODING = {_DATA: 2, _DATA_2: 4}


class PageError(ValueError):
    """The pages of a file are not as Parquet has them."""


class Page(NamedTuple):
    """What the header of a page says.

    Attributes
    ----------
    n_bytes : int
        Of the page as it is unpacked.
    is_delta : bool
        Whether its texts begin as those before them do, so that a few bytes may stand for any number.
    """

    n_bytes: int
    is_delta: bool


def pages(data: bytes, metadata: Any) -> Iterator[Page]:
    """Every page of a file.

    Parameters
    ----------
    data : bytes
        The file.
    metadata : pyarrow.parquet.FileMetaData

    Raises
    ------
    PageError
        A header is damaged or says what cannot be.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if not column.total_compressed_size:  # no page, no row
                continue
            offsets = (column.data_page_offset, column.dictionary_page_offset or 0)
            at = min((offset for offset in offsets if offset), default=0)  # 0: there is no such page
            yield from _of_column(data, at, at + column.total_compressed_size)


def _of_column(data: bytes, at: int, end: int) -> Iterator[Page]:
    if not 0 <= at <= end <= len(data):
        raise PageError("a column lies outside of the file")
    while at < end:
        header = _Header(data, at, end)
        fields = header.struct()
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if not (isinstance(unpacked, int) and isinstance(packed, int) and unpacked >= 0 <= packed):
            raise PageError(f"the header of the page at byte {at} has no sizes")
        inner = [(fields[kind], number) for kind, number in _ENCODING.items() if isinstance(fields.get(kind), dict)]
        yield Page(unpacked, any(one.get(number) == _DELTA_BYTE_ARRAY for one, number in inner))
        at = header.at + packed


class _Header:
    """Reads one structure."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data, self.at, self._end = data, at, end

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Fields by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._zigzag()
            fields[number] = self._value(kind & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise PageError("the header of a page is nested too deeply")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if _BYTE < kind < _DOUBLE:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind not in (_BYTE, _DOUBLE, _BINARY):
            raise PageError(f"the header of a page has a field of the unknown kind {kind}")
        length = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint()  # moves on by itself
        self.at += length
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
            self._value(_BYTE if head & 15 in (_TRUE, _FALSE) else head & 15, depth + 1)

    def _byte(self) -> int:
        if self.at >= self._end:
            raise PageError("the header of a page is cut")
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise PageError("the header of a page has a number that is too long")

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
