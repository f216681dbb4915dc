"""Answers cut to a number of rows and bytes, with counts of what is left out."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from rmqalloc.results.renderer import encodable
from rmqalloc.text import shortened

MOST_BYTES = 200_000
"""Most bytes of one answer as JSON; assistants read all of it."""

MOST_TEXT = 1_000
"""Most characters of one text of an answer, such as a client id."""

MOST_FIELDS = 100
"""Most entries of a mapping; a row of a table has fewer columns."""

MOST_OF_PATH = 60
"""Most characters of one name where it is said what is left out."""

MOST_DEPTH = 32
"""Most lists and mappings within each other; the documents of the verbs have fewer than ten."""


class BoundedAnswer(NamedTuple):
    """A document as far as it fits, and how many things are left out by where they stood."""

    document: Any
    left_out: dict[str, int]


def bounded(document: Any, most_rows: int, most_bytes: int = MOST_BYTES) -> BoundedAnswer:
    """Cut a document of plain data, so that no list is longer than ``most_rows`` and its JSON no
    longer than ``most_bytes``.

    Parameters
    ----------
    document : plain data
        Numbers that JSON does not know (infinite, not a number) become null.
    most_rows : int
        Most entries of every list.
    most_bytes : int
        If the document is longer, lists are halved until it fits.

    Examples
    --------
    >>> bounded({"queues": [1, 2, 3], "name": "orders"}, 2)
    BoundedAnswer(document={'queues': [1, 2], 'name': 'orders'}, left_out={'queues': 1})
    >>> bounded({"queues": [1, 2, 3, 4, 5, 6]}, 6, most_bytes=20)
    BoundedAnswer(document={'queues': [1, 2, 3]}, left_out={'queues': 3})
    """
    rows = most_rows
    while True:
        left_out: Counter[str] = Counter()
        kept = _cut(document, rows, "", left_out, MOST_DEPTH)
        if len(text_of(kept)) <= most_bytes:
            return BoundedAnswer(kept, dict(left_out))
        if rows == 0:
            return BoundedAnswer(None, {"": 1})
        rows //= 2


def text_of(document: Any) -> str:
    """Return a document as JSON in ASCII: a name cannot hold an escape of a terminal, or a mark
    that turns the direction.

    Examples
    --------
    >>> text_of({"client_id": "a\\u202e\\x1b[2J"})
    '{"client_id":"a\\\\u202e\\\\u001b[2J"}'
    """
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _cut(value: Any, most: int, where: str, left_out: Counter[str], depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, where, left_out)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == 0:
        left_out[where] += len(value)
        return None
    if isinstance(value, Mapping):
        return _fields(value, most, where, left_out, depth)
    if len(value) > most:
        left_out[where] += len(value) - most
    return [_cut(one, most, f"{where}[]", left_out, depth - 1) for one in value[:most]]


def _fields(
    value: Mapping[Any, Any], most: int, where: str, left_out: Counter[str], depth: int
) -> dict[str, Any]:
    """Cut a mapping; its names may come from the cluster, too, so a path names none that is not
    short.
    """
    if len(value) > MOST_FIELDS:
        left_out[where] += len(value) - MOST_FIELDS
    kept = {}
    for name, one in islice(value.items(), MOST_FIELDS):
        path = shortened(str(name), MOST_OF_PATH)
        kept[_text(str(name), where, left_out)] = _cut(
            one, most, f"{where}.{path}" if where else path, left_out, depth - 1
        )
    return kept


def _text(text: str, where: str, left_out: Counter[str]) -> str:
    """Return text of bounded length that UTF-8 can hold."""
    if len(text) > MOST_TEXT:
        left_out[f"{where} (characters)"] += len(text) - MOST_TEXT
        text = shortened(text, MOST_TEXT)
    return text if text.isascii() else encodable(text, None)
