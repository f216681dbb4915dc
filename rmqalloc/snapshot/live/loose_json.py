"""JSON as RocketMQ's servers write it: keys may be bare numbers or whole objects, which no standard reader takes."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 64
"""Nesting that is followed; what servers send has about six levels."""

_STRINGS = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,400})?([eE][-+]?\d{1,3})?")
_WORDS = {"true": True, "false": False, "null": None}


class JsonError(ValueError):
    """Text that is not JSON, not even as RocketMQ writes it."""


class Pairs(list[tuple[Any, Any]]):
    """An object whose keys are not texts: its (key, value) pairs in order."""


def loads(body: bytes) -> Any:
    """Read a body.

    Returns
    -------
    object
        As `json.loads`; an object with a key that is an object itself becomes `Pairs`, a bare number as key a string.

    Raises
    ------
    JsonError
        If the body cannot be read.

    Examples
    --------
    >>> loads(b'{0:"10.0.0.1:10911"}')
    {'0': '10.0.0.1:10911'}
    >>> loads(b'{{"topic":"T","queueId":0}:{"brokerOffset":7}}')
    [({'topic': 'T', 'queueId': 0}, {'brokerOffset': 7})]
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise JsonError(f"a body is not UTF-8: {body[:60]!r}") from error
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        value, at = _value(text, _skip(text, 0), 0)
    except (json.JSONDecodeError, IndexError) as error:
        raise JsonError(f"a body ends in the midst or is damaged: {text[:60]!r}") from error
    if _skip(text, at) != len(text):
        raise JsonError(f"a body goes on after its end at character {at}: {text[at : at + 60]!r}")
    return value


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise JsonError(f"a body is nested deeper than {MAX_DEPTH} levels")
    first = text[at]
    if first == "{":
        return _object(text, at + 1, depth + 1)
    if first == "[":
        return _array(text, at + 1, depth + 1)
    if first == '"':
        return _STRINGS.raw_decode(text, at)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    number = _NUMBER.match(text, at)
    if number is None:
        raise JsonError(f"no value at character {at}: {text[at : at + 60]!r}")
    is_whole = number.group(1) is None and number.group(2) is None
    return (int(number.group()) if is_whole else float(number.group())), number.end()


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _skip(text, at)
    if text[at] == "]":
        return items, at + 1
    while True:
        item, at = _value(text, at, depth)
        items.append(item)
        at, is_last = _after(text, at, "]")
        if is_last:
            return items, at


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any] | Pairs, int]:
    pairs = Pairs()
    at = _skip(text, at)
    if text[at] == "}":
        return {}, at + 1
    while True:
        key, at = _value(text, at, depth)
        at = _skip(text, at)
        if text[at] != ":":
            raise JsonError(f"no colon at character {at}: {text[at : at + 60]!r}")
        value, at = _value(text, _skip(text, at + 1), depth)
        pairs.append((key, value))
        at, is_last = _after(text, at, "}")
        if is_last:
            break
    if any(isinstance(key, (dict, list)) for key, _ in pairs):
        return pairs, at
    return {key if isinstance(key, str) else json.dumps(key): value for key, value in pairs}, at


def _after(text: str, at: int, end: str) -> tuple[int, bool]:
    """Where the next item begins, or what follows the end."""
    at = _skip(text, at)
    if text[at] not in ("," + end):
        raise JsonError(f"neither a comma nor {end} at character {at}: {text[at : at + 60]!r}")
    return _skip(text, at + 1), text[at] == end
