"""Rows of a history, each value of the type and in the range that its column has.

A column of sqlite holds any type, and a damaged page any value, so nothing but this module reads
rows: `HistoryConnection.rows` checks each value against the declaration of its column in `COLUMNS`,
and counts the row against the budget of the reading. A new column or table needs a line there.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Generator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rmqalloc.errors import Error
from rmqalloc.history._reading_budget import MOST_VALUE, STEPS_AT_ONCE, ReadingBudget
from rmqalloc.text import quoted

KEY_BITS = 20
"""Bits of the key of a state or an event that number what has the same moment."""
MOST_MS = (1 << 42) - 1
"""The last moment that a history can have, in the year 2109."""

_MOST_NUMBER = (1 << 63) - 1


class DamageError(Error):
    """Something in a history cannot be what a recorder wrote; `told` names the file."""


class Column(NamedTuple):
    """What a column holds: the type, the range of an integer or the longest text, and whether NULL
    is a value.
    """

    kind: type
    least: int = 0
    most: int = _MOST_NUMBER
    may_lack: bool = False

    def fault_of(self, value: object) -> str | None:
        """Return what is wrong with a value; None if nothing is."""
        if value is None and self.may_lack:
            return None
        if type(value) is not self.kind:
            return f"must be {_KINDS[self.kind]}, got {_shown(value)}"
        size = value if type(value) is int else len(value)  # type: ignore[arg-type]
        if not self.least <= size <= self.most:
            what = "" if type(value) is int else "bytes " if self.kind is bytes else "characters "
            return f"must have {what}from {self.least} to {self.most}, got {size}"
        return None


_KINDS = {int: "an integer", bytes: "bytes", str: "text"}
_NUMBER, _MOMENT = Column(int), Column(int, most=MOST_MS)
_KEY = Column(int, most=(MOST_MS + 1 << KEY_BITS) - 1)
_MOMENT_OR_NONE = _MOMENT._replace(may_lack=True)
_KIND, _FLAG = Column(int, most=2), Column(int, most=1)
_BODY, _NAME = Column(bytes, 1, MOST_VALUE), Column(bytes, 0, 1 << 20)
_TEXT = Column(str, 0, 10_000)

COLUMNS: Mapping[str, Mapping[str, Column]] = {
    "texts": {
        "id": _NUMBER,
        "hash": Column(int, most=(1 << 32) - 1),
        "used_until": _MOMENT_OR_NONE,
        "body": _BODY,
    },
    "subjects": {"id": _NUMBER, "kind": _KIND, "name": _NAME, "is_gone": _FLAG},
    "states": {"moment": _KEY, "subject": _NUMBER, "since": _MOMENT_OR_NONE, "body": _BODY},
    "events": {
        "moment": _KEY,
        "subject": _NUMBER,
        "kind": _KIND,
        "since": _MOMENT_OR_NONE,
        "value": _NUMBER,
    },
    "raised": {"fault": _TEXT, "subject": _NUMBER, "finding": _NUMBER},
    "spans": {"began": _MOMENT, "previous": _MOMENT_OR_NONE, "last": _MOMENT, "reason": _TEXT},
    "gaps": {
        "subject": _NUMBER,
        "since": _MOMENT,
        "until": _MOMENT_OR_NONE,
        "reason": _NUMBER,
    },
    "notes": {"name": _TEXT, "value": _MOMENT},
}
"""Columns of each table; the first is what names a row in messages."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

_SELECT = re.compile(r"SELECT (?:DISTINCT )?(.+?) FROM (\w+)(?: JOIN (\w+))?")
_AGGREGATE = re.compile(r"(?:min|max)\((\w+)\)")


class _Place(NamedTuple):
    """A column of a query: where it lies, and what it holds."""

    table: str
    name: str
    column: Column


class HistoryConnection(sqlite3.Connection):
    """A connection to a history, whose rows are typed.

    Attributes
    ----------
    budget : ReadingBudget
        What the present reading may still take.
    """

    budget = ReadingBudget(0)
    _path = Path()

    def guard(self, path: Path) -> None:
        """Let the file decide nothing but what its rows hold, and begin a reading of it."""
        self._path = Path(os.path.realpath(path))
        self.renew_budget()
        self.text_factory = text_of
        self.set_progress_handler(lambda: self.budget.is_out_of_steps(), STEPS_AT_ONCE)
        for limit, most in _LIMITS.items():
            self.setlimit(limit, most)
        self.execute("PRAGMA trusted_schema=OFF")
        self.execute("PRAGMA cell_size_check=ON")
        self.execute("PRAGMA mmap_size=0")

    def renew_budget(self) -> None:
        """Begin another reading: what it may take follows from the length of the file."""
        sizes = [_size(f"{self._path}{suffix}") for suffix in ("", "-wal")]
        self.budget = ReadingBudget(sum(sizes))

    def rows(
        self, query: str, values: tuple[Any, ...] = ()
    ) -> Generator[tuple[Any, ...], None, None]:
        """Yield rows of ``SELECT`` with plain columns, or their least and greatest values.

        Raises
        ------
        DamageError
            A value has not the type of its column, or is out of its range.
        OverBudgetError
            The reading takes more rows or bytes than it may.
        """
        places = _places(query)
        for row in self.execute(query, values):
            self.budget.row(_check(row, places))
            yield row

    def row(self, query: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """Return the first row; None for none."""
        return next(self.rows(query, values), None)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _check(row: tuple[Any, ...], places: tuple[_Place, ...]) -> int:
    """Check the values of a row; return their bytes."""
    n_bytes = 0
    for value, place in zip(row, places, strict=True):
        if (fault := place.column.fault_of(value)) is not None:
            raise DamageError(f"table {place.table}{_key(row, places)}: {place.name} {fault}")
        n_bytes += 8 if type(value) is int or value is None else len(value)
    return n_bytes


def _key(row: tuple[Any, ...], places: tuple[_Place, ...]) -> str:
    """Return which row it is, where the query has the column that names it."""
    for value, place in zip(row, places, strict=True):
        is_key = place.name == next(iter(COLUMNS[place.table]))
        if is_key and type(value) is int:
            return f", row with {place.name} {value}"
    return ""


@lru_cache(maxsize=100)
def _places(query: str) -> tuple[_Place, ...]:
    """Return the columns of a query."""
    found = _SELECT.match(query)
    assert found is not None, query
    tables = [table for table in found.groups()[1:] if table is not None]
    return tuple(_place(name, tables) for name in found[1].split(", "))


def _place(name: str, tables: list[str]) -> _Place:
    aggregate = _AGGREGATE.fullmatch(name)
    if aggregate is not None:
        place = _place(aggregate[1], tables)
        return place._replace(column=place.column._replace(may_lack=True))
    table = next(table for table in tables if name in COLUMNS[table])
    return _Place(table, name, COLUMNS[table][name])


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, NotUnicode):
        return "text that is not UTF-8"
    kind = _KINDS.get(type(value), "a number")
    return kind if isinstance(value, bytes) else f"{kind}: {quoted(value, 40)}"


# --- Text ---


class NotUnicode(bytes):
    """Text of the file that is not UTF-8."""


def text_of(data: bytes) -> str | NotUnicode:
    """Return text of a column; what is not UTF-8 stays bytes, which no column may hold."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return NotUnicode(data)
