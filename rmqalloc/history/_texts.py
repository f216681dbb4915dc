"""The texts of a history, each kept once: names of clients, and documents of groups, clients,
topics and findings.
"""

from __future__ import annotations

import sys
import zlib
from typing import Any, Generic, TypeVar

from rmqalloc.history._reading_budget import MOST_TEXT, ReadingBudget
from rmqalloc.history._rows import DamageError, HistoryConnection
from rmqalloc.history.history_errors import HistoryError

_MOST_CACHED = 16 << 20
"""Bytes of each cache; texts of 20,000 groups of four clients take about as much."""
_MOST_IDS = 64 << 20
"""Bytes of the texts whose numbers a recorder keeps at hand."""
_PLAIN, _PACKED = b"\0", b"\1"
_WORTH_PACKING = 100


def encoded(text: str) -> bytes:
    """Return a text as bytes; names may hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text of bytes."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamageError(f"a text is not UTF-8: {error.reason} at byte {error.start}") from error


Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values at hand, up to so many bytes; then all are dropped."""

    def __init__(self, most: int = _MOST_CACHED) -> None:
        self._most, self._size = most, 0
        self._values: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the value of a key; None for none."""
        return self._values.get(key)

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep a value that takes so many bytes, unless it alone is too long."""
        if self._size + size > self._most:
            self.clear()
        if size <= self._most:
            self._values[key] = value
            self._size += size

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()
        self._size = 0


class HistoryTexts:
    """Texts by number, and numbers by text.

    Attributes
    ----------
    layouts, documents : BoundedCache
        What was made of texts: queues and snapshots.
    """

    def __init__(self, connection: HistoryConnection) -> None:
        self._connection = connection
        self._ids: BoundedCache[str, int] = BoundedCache(_MOST_IDS)
        self._texts: BoundedCache[int, str] = BoundedCache()
        self.layouts: BoundedCache[str, Any] = BoundedCache()
        self.documents: BoundedCache[str, Any] = BoundedCache()

    @property
    def budget(self) -> ReadingBudget:
        """What the present reading may still take."""
        return self._connection.budget

    def forget(self) -> None:
        """Drop what is cached: numbers of a transaction that was not committed stand for nothing."""
        self._ids.clear()
        self._texts.clear()

    def id_of(self, text: str) -> int:
        """Return the number of a text, which is written if it is not there."""
        found = self._ids.get(text)
        if found is None:
            found = self._kept(text)
            self._ids.keep(text, found, sys.getsizeof(text))
        return found

    def _kept(self, text: str) -> int:
        data = encoded(text)
        if len(data) >= MOST_TEXT:
            raise HistoryError(
                f"a document of {len(data):,} bytes is too long for a history; the limit is {MOST_TEXT:,} bytes"
            )
        body = _packed(data)
        mark = zlib.crc32(body)
        rows = self._connection.rows("SELECT id, body FROM texts WHERE hash=?", (mark,))
        for number, kept in rows:
            if kept == body:
                return int(number)
        made = self._connection.execute("INSERT INTO texts(hash, body) VALUES (?, ?)", (mark, body))
        return int(made.lastrowid or 0)

    def text(self, number: int) -> str:
        """Return the text of a number."""
        found = self._texts.get(number)
        if found is None:
            where = f"table texts, row with id {number}"
            row = self._connection.row("SELECT id, hash, body FROM texts WHERE id=?", (number,))
            if row is None:
                raise DamageError(f"{where} is missing")
            _, mark, body = row
            if zlib.crc32(body) != mark:
                raise DamageError(f"{where}: body does not match hash")
            found = _unpacked(body, self.budget, where)
            self._texts.keep(number, found, sys.getsizeof(found))
        return found

    def used_until(self, numbers: set[int], ms: int) -> None:
        """Note that texts were in use up to a moment."""
        rows = [(ms, number, ms) for number in numbers]
        self._connection.executemany(
            "UPDATE texts SET used_until=? WHERE id=? AND (used_until IS NULL OR used_until<?)",
            rows,
        )


def _packed(data: bytes) -> bytes:
    if len(data) >= _WORTH_PACKING:
        packed = zlib.compress(data, 6)
        if len(packed) < len(data):
            return _PACKED + packed
    return _PLAIN + data


def _unpacked(body: bytes, budget: ReadingBudget, where: str) -> str:
    """Return the text of a body, whose length as text is counted before it is made."""
    data = body[1:]
    if body[:1] == _PACKED:
        unpacker, most = zlib.decompressobj(), min(MOST_TEXT, budget.bytes_left)
        try:
            data = unpacker.decompress(data, most + 1)
        except zlib.error as error:
            raise DamageError(f"{where}: body cannot be unpacked: {error}") from error
        budget.read(len(data))
        if len(data) > MOST_TEXT:
            raise DamageError(f"{where}: body has more than {MOST_TEXT:,} bytes unpacked")
        if not unpacker.eof:
            raise DamageError(f"{where}: the packed body ends too early")
    elif body[:1] != _PLAIN:
        raise DamageError(f"{where}: body begins with {body[0]}, which is not valid for a text")
    budget.check_room(4 * len(data))
    return decoded(data)
