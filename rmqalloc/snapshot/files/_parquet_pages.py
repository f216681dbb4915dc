"""How many bytes the pages of a Parquet file unpack to, as their own headers say it.

The footer says it too, but nothing holds it to the pages: a reader makes room for what a page's
header says. So the headers are read here before any page is. They are Thrift structures in its
compact protocol, of which this follows as much as they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rmqalloc.errors import Error

_DELTA_BYTE_ARRAY = 7
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_MOST_DEPTH = 8
_TAIL = 8  # the length of the footer, and PAR1
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
_ALL_PACKED, _DATA_AT, _DICTIONARY_AT = 7, 9, 11
_UNPACKED, _PACKED, _DATA, _DATA_2 = 2, 3, 5, 8
_ENCODING = {_DATA: 2, _DATA_2: 4}


class PageError(Error, ValueError):
    """The pages of a file are not as Parquet has them."""


class Page(NamedTuple):
    """What a header says."""

    n_bytes: int  # of the page as it is unpacked
    is_delta: bool  # whether its texts begin as those before them do, so that a few bytes may stand for any number


def pages(data: bytes) -> Iterator[Page]:
    """Yield every page of a file whose footer Arrow has read.

    The footer is read here once more: asked for a column that is damaged, Arrow ends the process.
    """
    end = len(data) - _TAIL
    footer = _Header(data, end - int.from_bytes(data[end : end + 4], "little"), end).struct()
    for group in _structs(footer.get(_ROW_GROUPS)):
        for column in _structs(group.get(_COLUMNS)):
            [said] = _structs([column.get(_METADATA)])
            packed, *offsets = (
                _number(said, number) for number in (_ALL_PACKED, _DATA_AT, _DICTIONARY_AT)
            )
            if packed:
                at = min(
                    (offset for offset in offsets if offset), default=0
                )  # 0: there is no such page
                yield from _of_column(data, at, at + packed)


def _structs(items: Any) -> list[dict[int, Any]]:
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise PageError("the footer is damaged")
    return items


def _number(fields: dict[int, Any], number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int):
        raise PageError("the footer is damaged")
    return value


def _of_column(data: bytes, at: int, end: int) -> Iterator[Page]:
    if not 0 <= at <= end <= len(data):
        raise PageError("a column lies outside of the file")
    while at < end:
        header = _Header(data, at, end)
        fields = header.struct()
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if not (isinstance(unpacked, int) and isinstance(packed, int) and unpacked >= 0 <= packed):
            raise PageError(f"the header of the page at byte {at} has no sizes")
        inner = [
            (fields[kind], number)
            for kind, number in _ENCODING.items()
            if isinstance(fields.get(kind), dict)
        ]
        yield Page(unpacked, any(one.get(number) == _DELTA_BYTE_ARRAY for one, number in inner))
        at = header.at + packed


class _Header:
    """Reads one structure."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data, self.at, self._end = data, at, end
        if at < 0:
            raise PageError("a header lies outside of the file")

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return fields by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._zigzag()
            fields[number] = self._value(kind & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise PageError("a header is nested too deeply")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if _BYTE < kind < _DOUBLE:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind not in (_BYTE, _DOUBLE, _BINARY):
            raise PageError(f"a header has a field of the unknown kind {kind}")
        length = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint()  # moves on by itself
        self.at += length
        return None

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        if count > self._end - self.at:  # each takes a byte at least
            raise PageError("a list is longer than the file")
        return [
            self._value(_BYTE if head & 15 in (_TRUE, _FALSE) else head & 15, depth + 1)
            for _ in range(count)
        ]

    def _byte(self) -> int:
        if self.at >= self._end:
            raise PageError("a header is cut")
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
        raise PageError("a header has a number that is too long")

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
