"""JSON text: data, and where in the text a piece of it stands."""

from __future__ import annotations

import json
import re
from collections import Counter
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from rmqalloc.snapshot.document import SnapshotError
from rmqalloc.snapshot.files.source import Source

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def parse(source: Source) -> Any:
    """Data of a JSON file.

    Raises
    ------
    SnapshotError
        If it is not JSON, an object has one key twice, or it is nested too deeply.
    """
    text = source.text()
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise source.error("is nested too deeply") from None
    except SnapshotError as error:
        raise source.error(str(error)) from None
    except ValueError as error:
        raise source.error(f"not JSON: {error}") from None


def place(text: str, parts: tuple[str | int, ...]) -> tuple[int, int]:
    """Line and column, from 1, of the value at that place, or of the innermost part of it that is there.

    Examples
    --------
    >>> place('{"a": [1,\\n {"b": 2}]}', ("a", 1, "b"))
    (2, 8)
    """
    at = _skip(text, 0)
    for part in parts:
        found = _member(text, at, part) if text[at] == "{" else _element(text, at, part) if text[at] == "[" else None
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _member(text: str, at: int, key: str | int) -> int | None:
    """Where the value of a key of the object at ``at`` begins."""
    at = _skip(text, at + 1)
    while text[at] == '"':
        name, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        if name == key:
            return at
        at = _next(text, at)
    return None


def _element(text: str, at: int, number: str | int) -> int | None:
    """Where an element of the list at ``at`` begins."""
    at, count = _skip(text, at + 1), 0
    while text[at] != "]":
        if count == number:
            return at
        at, count = _next(text, at), count + 1
    return None


def _next(text: str, at: int) -> int:
    """What follows the value at ``at`` and its comma: the next value, or the end of what it stands in."""
    at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise SnapshotError("is given twice in one object", (counts.most_common(1)[0][0],))
    return found


def _no_number(text: str) -> NoReturn:
    raise SnapshotError(f"{text} is not a number that JSON has")
