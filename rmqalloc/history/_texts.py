"""The texts of a history, each kept once: names of clients, and documents of groups, clients,
topics and findings.
"""

from __future__ import annotations

import sqlite3
import zlib

from rmqalloc.history.history_errors import HistoryError

_MOST_CACHED = 200_000
_MOST_BYTES = 256 << 20
_PLAIN, _PACKED = b"\0", b"\1"
_WORTH_PACKING = 100


def encoded(text: str) -> bytes:
    """Return a text as bytes; names may hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text of bytes."""
    return data.decode("utf-8", "surrogatepass")


class HistoryTexts:
    """Texts by number, and numbers by text."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def forget(self) -> None:
        """Drop what is cached: numbers of a transaction that was not committed stand for nothing."""
        self._ids.clear()
        self._texts.clear()

    def id_of(self, text: str) -> int:
        """Return the number of a text, which is written if it is not there."""
        found = self._ids.get(text)
        if found is None:
            if len(self._ids) >= _MOST_CACHED:
                self.forget()
            found = self._ids[text] = self._kept(text)
        return found

    def _kept(self, text: str) -> int:
        body = _packed(encoded(text))
        mark = zlib.crc32(body)
        rows = self._connection.execute("SELECT id, body FROM texts WHERE hash=?", (mark,))
        for number, other in rows:
            if other == body:
                return int(number)
        made = self._connection.execute("INSERT INTO texts(hash, body) VALUES (?, ?)", (mark, body))
        return int(made.lastrowid or 0)

    def text(self, number: int) -> str:
        """Return the text of a number."""
        found = self._texts.get(number)
        if found is None:
            if len(self._texts) >= _MOST_CACHED:
                self._texts.clear()
            row = self._connection.execute(
                "SELECT body FROM texts WHERE id=?", (number,)
            ).fetchone()
            if row is None:
                raise HistoryError(f"the history is damaged: it lacks text {number}")
            found = self._texts[number] = _unpacked(row[0])
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


def _unpacked(body: bytes) -> str:
    try:
        if body[:1] != _PACKED:
            return decoded(body[1:])
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(body[1:], _MOST_BYTES)
        if unpacker.unconsumed_tail:
            raise HistoryError("the history is damaged: a text is longer than any may be")
        return decoded(data)
    except (zlib.error, UnicodeDecodeError) as error:
        raise HistoryError(f"the history is damaged: a text cannot be read ({error})") from error
