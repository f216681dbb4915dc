"""JSON text: the data, and the position of each value in the text.

The reader of the standard library is fast and lenient: it keeps the last of two equal keys, and it
accepts NaN and 1e999. A lost key shows if the keys of the data and of the text are counted. If
something may be wrong, the text is read again with hooks that stop at the error without its
position. Only then the text is read token by token to find the position, as far as that is possible
in a few seconds.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Set
from gc import is_tracked
from itertools import chain
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from rmqalloc.documents.document_errors import (
    TextError,
    key_given_twice,
    nested_too_deeply,
    too_many_digits,
)
from rmqalloc.documents.memory import no_collection
from rmqalloc.documents.read_budget import MAX_DEPTH, MOST_MADE_OF_MARK, made_of_json, most_made
from rmqalloc.errors import Error

_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'["{}\[\],]|-?Infinity|NaN|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?')
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF_PAIR = re.compile(rf"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")
_MANY_DIGITS = re.compile("[0-9]{640}")  # the fewest at which Python may refuse a number
_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = "text must be Unicode, got half a surrogate pair"
_NESTED = frozenset((dict, list))
_DECODER = json.JSONDecoder()
_MOST_TOKENS = 4_000_000
"""Tokens that are gone through for the place of a fault; a few seconds' worth."""


class _RefusedError(Error, ValueError):
    """Something is wrong that `_fault` finds, unless it is too far down."""


def loads(text: str) -> Any:
    """Return data of JSON text.

    Examples
    --------
    >>> loads('{"a": {"b": 1, "c": 2, "b": 3}}')
    Traceback (most recent call last):
    rmqalloc.documents.document_errors.TextError: 1:24: key 'b' is given twice, first in line 1; give it once
    """
    if len(text) * MOST_MADE_OF_MARK > most_made():  # else it is not too much, whatever it holds
        check_made(made_of_json(text))
    try:
        with no_collection():
            return _checked(text)
    except json.JSONDecodeError as error:
        raise TextError(f"not JSON: {error.msg}", error.lineno, error.colno) from None
    except _RefusedError as error:
        if (found := _fault(text)) is None:
            raise TextError(str(error)) from None
        what, at = found
        raise TextError(what, _line(text, at), _column(text, at)) from None


def check_made(made: int) -> None:
    """Raise `TextError` if text whose data take that much memory, by `made_of_json`, is not read."""
    if made > most_made():
        raise TextError(
            f"contains more values than {most_made() >> 20} MiB of memory have room for; give a smaller file"
        )


def check_depth(data: Any) -> None:
    """Raise `TextError` if data are nested deeper than is read."""
    if _shape(data)[1]:
        raise TextError(nested_too_deeply())


def _checked(text: str) -> Any:
    try:
        data = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return _strict(text)
    n_keys, is_deep = _shape(data)
    is_whole = n_keys == text.count(":") or (n_keys == text.count('":') and not _parts_colons(text))
    return data if is_whole and not is_deep and not _may_hold_half(text) else _strict(text)


def _strict(text: str) -> Any:
    try:
        data = json.loads(
            text, object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite
        )
    except (json.JSONDecodeError, _RefusedError):
        raise
    except RecursionError as error:
        raise _RefusedError(f"not JSON: {error}") from None
    except ValueError as error:
        if not _MANY_DIGITS.search(text):  # then it is a defect of the hooks
            raise
        raise _RefusedError(f"not JSON: {error}") from None
    if _shape(data)[1]:
        raise _RefusedError(nested_too_deeply())
    if _may_hold_half(text) and _HALF_PAIR.search(text.replace("\\\\", "##")):
        raise _RefusedError(_HALF)
    return data


def place(text: str, parts: tuple[str | int, ...]) -> tuple[int, int]:
    """Return the line and column, from 1, of the value at that place, or of the innermost part of
    it that is there.

    Examples
    --------
    >>> place('{"a": [1,\\n {"b": 2}]}', ("a", 1, "b"))
    (2, 8)
    """
    at = _skip(text, 0)
    for part in parts:
        found = (
            _member(text, at, part)
            if text[at] == "{"
            else _element(text, at, part)
            if text[at] == "["
            else None
        )
        if found is None:
            break
        at = found
    return _line(text, at), _column(text, at)


def places(text: str, key: str) -> list[tuple[int, int]]:
    """Return lines and columns, from 1, of the elements of the list under a key of the whole; none
    if there is no such list.

    Examples
    --------
    >>> places('{"a": [1,\\n {"b": 2}]}', "a")
    [(1, 8), (2, 2)]
    """
    start = _skip(text, 0)
    at = _member(text, start, key) if text[start] == "{" else None
    if at is None or text[at] != "[":
        return []
    found, counted, line = [], 0, 1
    at = _skip(text, at + 1)
    while text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        found.append((line, _column(text, at)))
        at = _next(text, at)
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _column(text: str, at: int) -> int:
    return at - text.rfind("\n", 0, at)


def _member(text: str, at: int, key: str | int) -> int | None:
    """Return where the value of a key of the object at ``at`` begins."""
    at = _skip(text, at + 1)
    while text[at] == '"':
        name, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        if name == key:
            return at
        at = _next(text, at)
    return None


def _element(text: str, at: int, number: str | int) -> int | None:
    """Return where an element of the list at ``at`` begins."""
    at, count = _skip(text, at + 1), 0
    while text[at] != "]":
        if count == number:
            return at
        at, count = _next(text, at), count + 1
    return None


def _next(text: str, at: int) -> int:
    """Return what follows the value at ``at`` and its comma: the next value, or the end of what it
    stands in.
    """
    at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


# --- What the reader of the standard library would let pass ---


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(again, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _RefusedError(key_given_twice(again))
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedError(_no_number_of_json(text))
    return number


def _shape(data: Any) -> tuple[int, bool]:
    """Return the number of keys, and whether more than `MAX_DEPTH` lists and objects lie in one
    another.
    """
    n_keys, level = 0, [data] if type(data) in _NESTED else []
    for _ in range(MAX_DEPTH):
        kinds = set(map(type, level))
        objects, lists = (_of_type(kind, kinds, level) for kind in (dict, list))
        n_keys += sum(map(len, objects))
        # An object in which nothing can lie is not tracked, and most are such.
        values = map(dict.values, filter(is_tracked, objects))
        items = chain.from_iterable(chain(values, lists))
        level = [item for item in items if type(item) in _NESTED]
        if not level:
            return n_keys, False
    return n_keys, True


def _of_type(kind: type, kinds: Set[type], items: list[Any]) -> list[Any]:
    """Return the items of one type, given the types that there are."""
    if kind not in kinds:
        return []
    return items if len(kinds) == 1 else [item for item in items if type(item) is kind]


def _parts_colons(text: str) -> bool:
    """Return whether there may be a key with a space before its colon."""
    return any(space in text and f"{space}:" in text for space in " \t\r\n")


def _may_hold_half(text: str) -> bool:
    return "\\" in text and "\\u" in text  # one character is found faster than two


def _fault(text: str) -> tuple[str, int] | None:
    """Return the first thing refused in text that is JSON up to there, and its place; None if it is
    too far down.
    """
    open_keys: list[
        dict[str, int] | None
    ] = []  # of every object that is not closed; None for a list
    is_key, at = False, 0
    for _ in range(_MOST_TOKENS):
        if not (found := _TOKEN.search(text, at)):
            break
        token, start, at = found[0], found.start(), found.end()
        if token == '"':
            string, at = scanstring(text, at)
            keys = open_keys[-1] if is_key else None
            if keys is not None and keys.setdefault(string, start) != start:
                return key_given_twice(string, _line(text, keys[string])), start
            if _SURROGATE.search(string):
                return _HALF, start
            is_key = False
        elif token in "{[":
            open_keys.append({} if token == "{" else None)
            is_key = token == "{"
            if len(open_keys) > MAX_DEPTH:
                return nested_too_deeply(), start
        elif token in "}]":
            open_keys.pop()
            is_key = False
        elif token == ",":
            is_key = True  # of an object; a list has no keys
        elif what := _number_fault(token):
            return what, start
    return None


def _number_fault(token: str) -> str | None:
    if token.lstrip("-").isdigit():
        n_digits = len(token.lstrip("-"))
        return too_many_digits(n_digits) if 0 < sys.get_int_max_str_digits() < n_digits else None
    if token.endswith(("Infinity", "NaN")) or math.isinf(float(token)):
        return _no_number_of_json(token)
    return None


def _no_number_of_json(token: str) -> str:
    return f"{token[:40]} is not a JSON number"
