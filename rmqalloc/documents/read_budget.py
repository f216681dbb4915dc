"""How much is read of anything that comes from outside: one budget of bytes, and what follows from
it for every form.

A few bytes can stand for many: a packed file for its content, an empty list for an object of
Python, a Parquet file for rows that repeat. So every reader counts before it makes anything: bytes
as they are unpacked, values of JSON by their brackets and commas, rows of tables as they are
declared or read.
"""

from __future__ import annotations

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MOST_MADE_OF_MARK",
    "made_of_json",
    "most_made",
    "most_rows",
]

MAX_BYTES = 256 << 20
"""Bytes of one file at most, unpacked; 100,000 clients with the queues they own and their lags take about 50 MB as JSON."""

MAX_DEPTH = 64
"""Nesting that is followed, in YAML and in JSON; a snapshot has about eight levels."""

_MADE_PER_BYTE = 12
_BYTES_PER_ROW = 32
_OBJECT, _LIST, _VALUE, _QUOTE = 240, 120, 32, 30
"""Bytes that Python takes for what JSON writes with these marks, rounded up; a text has two quotes."""

MOST_MADE_OF_MARK = _OBJECT
"""Bytes of memory at most for a character of JSON."""


def most_made() -> int:
    """Return bytes of memory at most that the data of one file may take; a snapshot takes about ten
    times its JSON.
    """
    return _MADE_PER_BYTE * MAX_BYTES


def most_rows() -> int:
    """Return rows of one table at most, in CSV and in Parquet; a row is seldom shorter than 32
    bytes as text.
    """
    return MAX_BYTES // _BYTES_PER_ROW


def made_of_json(text: str) -> int:
    """About how much memory the data of JSON text takes, never much less than it does; marks within
    texts count too.

    Examples
    --------
    >>> made_of_json('[{"a": 1}, {}]')
    692
    """
    marks = (("{", _OBJECT), ("[", _LIST), (",", _VALUE), ('"', _QUOTE))
    return sum(text.count(mark) * size for mark, size in marks)
