"""JSON as RocketMQ's servers write it: keys may be bare numbers or whole objects, which no standard
parser accepts.

A body comes from the network and may be made as expensive as possible, so its size is checked
before it is read: see `MAX_MARKS`. The standard library reads standard JSON. In a body that it
cannot read, bare keys are first put in quotes, by one expression that passes every character a
bounded number of times. The tolerant parser below reads the remaining bodies, one step per value.
per value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from rmqalloc.errors import Error

MAX_DEPTH = 64
"""Maximum nesting; bodies of servers have about six levels."""

MAX_MARKS = 3_000_000
"""Maximum brackets, braces and commas of a body. They bound its values, and so the time and memory of reading it.

A broker sends 16 MiB at most unless configured otherwise, which are the offsets of 110,000 queues, with 10 marks each.
300,000 queues or 3,000,000 topics are within the bound.
"""

_CHECKED_EVERY = 4096  # values of the tolerant parser between two looks at the time

_NO_MARKS = bytes(set(range(256)) - set(b"{}[],"))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"{[")], _STEPS[list(b"}]")] = 1, -1

_BLANK = r"[ \t\r\n]*+"  # what JSON has; \s is more
_STRING = r'"(?:[^"\\]++|\\.)*+'
# An object of named scalars. Its strings are passed whole, so that no bracket within them counts;
# one without an end fails.
_FLAT = rf'\{{(?=")(?:[^{{}}\[\]"]++|{_STRING}")*+\}}'
# What may be a key, at the outermost; a string without an end reaches to the end, or every quote in
# it would start another.
_KEYS = re.compile(
    rf'{_STRING}(?:"|\Z)|(?P<flat>{_FLAT}){_BLANK}(?P<object>:)?|'
    rf"(?<=[{{,]){_BLANK}(?P<number>-?(?:0|[1-9][0-9]{{0,17}}+)){_BLANK}:",
    re.DOTALL,
)
_KEY = "\0"  # no string of the standard decoder begins so: `_rewritten` takes no body with an escaped NUL

_SPACE = re.compile(_BLANK)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][-+]?[0-9]++)?")
_FLAT_OBJECT = re.compile(_FLAT, re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


class JsonError(Error, ValueError):
    """Text is not JSON, not even in RocketMQ's form, or would cost too much to read."""


class Pairs(list[tuple[Any, Any]]):
    """An object with keys that are not texts: its (key, value) pairs in order."""


def loads(body: bytes, is_over: Callable[[], bool] = lambda: False) -> Any:
    """Read a body.

    Examples
    --------
    >>> loads(b'{0:"10.0.0.1:10911"}')
    {'0': '10.0.0.1:10911'}
    >>> loads(b'{{"topic":"T","queueId":0}:{"brokerOffset":7}}')
    [({'topic': 'T', 'queueId': 0}, {'brokerOffset': 7})]
    """
    is_deep = _weighed(body) > MAX_DEPTH
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise JsonError(f"a body is not UTF-8: {body[:60]!r}") from error
    if (
        not is_deep
    ):  # else brackets within strings may have been counted: only the tolerant parser knows
        for read in (_decoded, _rewritten):
            try:
                return read(text)
            except (json.JSONDecodeError, RecursionError):
                pass
    return tolerant(text, is_over)


def _weighed(body: bytes) -> int:
    """Return the nesting of a body at most, brackets within its strings included."""
    marks = body.translate(None, _NO_MARKS)
    if len(marks) > MAX_MARKS:
        raise JsonError(
            f"a body has {len(marks):,} brackets and commas; the limit is {MAX_MARKS:,}"
        )
    return int(np.cumsum(_STEPS[np.frombuffer(marks, np.uint8)], dtype=np.int32).max(initial=0))


def _no_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not a number of JSON")


_STANDARD = json.JSONDecoder(parse_constant=_no_constant)
_LENIENT = json.JSONDecoder(parse_constant=_no_constant, strict=False)
_scan: Callable[[str, int], tuple[Any, int]] = vars(_LENIENT)[
    "scan_once"
]  # `raw_decode` without its errors


_LONG_NUMBER = "a number has too many digits"


def _decoded(text: str) -> Any:
    try:
        return _STANDARD.decode(text)
    except (json.JSONDecodeError, JsonError):
        raise
    except ValueError as error:
        raise JsonError(_LONG_NUMBER) from error


# --- Bare keys in quotes, then the standard decoder ---


def _rewritten(text: str) -> Any:
    """Return a body whose bare keys are numbers, or objects without objects in them.

    Only a key has a colon after it, so what is taken for one is one; keys that are objects become
    numbers of a list, which is read at once.
    """
    if "\\u0000" in text:
        raise json.JSONDecodeError("a body with an escaped NUL is not rewritten", text[:60], 0)
    parts: list[str] = []
    objects: list[str] = []
    at = 0
    for found in _KEYS.finditer(text):
        kind = found.lastgroup
        if kind == "object":
            parts += text[at : found.start()], f'"\\u0000{len(objects)}":'
            objects.append(found["flat"])
        elif kind == "number":
            parts += text[at : found.start()], f'"{found["number"]}":'
        else:
            continue
        at = found.end()
    if not parts:
        raise json.JSONDecodeError("a body has no bare keys", text[:60], 0)
    value = _decoded("".join([*parts, text[at:]]))
    return _restored(value, _decoded("[" + ",".join(objects) + "]")) if objects else value


def _restored(value: Any, keys: list[Any]) -> Any:
    """Return a value with the keys put back that were objects."""
    if isinstance(value, list):
        return [_restored(item, keys) if isinstance(item, (dict, list)) else item for item in value]
    for key, item in value.items():
        if isinstance(item, (dict, list)):
            value[key] = _restored(item, keys)
    if _KEY in "".join(value):  # faster than to look at every key
        return Pairs(
            (keys[int(key[1:])] if key[:1] == _KEY else key, item) for key, item in value.items()
        )
    return value


# --- The tolerant parser ---


def tolerant(text: str, is_over: Callable[[], bool] = lambda: False) -> Any:
    """Return the result of `loads` by the parser that accepts bare keys of any kind and control
    characters in strings.
    """
    parser = _Parser(text, is_over)
    try:
        value, at = parser.value(_skip(text, 0), 0)
    except (json.JSONDecodeError, IndexError) as error:
        raise JsonError(f"a body ends too early or is damaged: {text[:60]!r}") from error
    if _skip(text, at) != len(text):
        raise JsonError(f"a body continues after its end at character {at}: {text[at : at + 60]!r}")
    return value


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Parser:
    """One text, read from left to right; every method answers a value and where it ends."""

    __slots__ = ("_is_over", "_left", "_text")

    def __init__(self, text: str, is_over: Callable[[], bool]) -> None:
        self._text, self._is_over, self._left = text, is_over, _CHECKED_EVERY

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        text = self._text
        self._left -= 1
        if not self._left:
            self._left = _CHECKED_EVERY
            if self._is_over():
                raise JsonError("a body takes too long to read")
        first = text[at]
        if first == "{" and _FLAT_OBJECT.match(text, at):
            try:
                return _scan(text, at)
            except (json.JSONDecodeError, StopIteration):
                pass  # a bare key in it
            except JsonError:
                raise
            except ValueError as error:
                raise JsonError(_LONG_NUMBER) from error
        if first in "{[":
            if depth == MAX_DEPTH:
                raise JsonError(f"a body is nested deeper than {MAX_DEPTH} levels")
            return (self._object if first == "{" else self._array)(at + 1, depth + 1)
        if first == '"':
            return _LENIENT.raw_decode(text, at)
        for word, value in _WORDS.items():
            if text.startswith(word, at):
                return value, at + len(word)
        number = _NUMBER.match(text, at)
        if number is None:
            raise JsonError(f"no value at character {at}: {text[at : at + 60]!r}")
        is_whole = number[1] is None and number[2] is None
        try:
            return (int(number[0]) if is_whole else float(number[0])), number.end()
        except ValueError as error:
            raise JsonError(_LONG_NUMBER) from error

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = _skip(self._text, at)
        if self._text[at] == "]":
            return items, at + 1
        while True:
            item, at = self.value(at, depth)
            items.append(item)
            at, is_last = self._after(at, "]")
            if is_last:
                return items, at

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any] | Pairs, int]:
        text, pairs = self._text, Pairs()
        at = _skip(text, at)
        if text[at] == "}":
            return {}, at + 1
        is_last = has_objects = False
        while not is_last:
            begin = at
            key, at = self.value(begin, depth)
            if not isinstance(key, (dict, list, str)):
                key = text[begin:at]  # as it is written: -0 is not 0
            at = _skip(text, at)
            if text[at] != ":":
                raise JsonError(f"no colon at character {at}: {text[at : at + 60]!r}")
            value, at = self.value(_skip(text, at + 1), depth)
            if isinstance(key, (dict, list)):
                has_objects = True
            pairs.append((key, value))
            at, is_last = self._after(at, "}")
        return (pairs if has_objects else dict(pairs)), at

    def _after(self, at: int, end: str) -> tuple[int, bool]:
        """Return where the next item begins, or what follows the end."""
        text = self._text
        at = _skip(text, at)
        if text[at] not in ("," + end):
            raise JsonError(f"neither a comma nor {end} at character {at}: {text[at : at + 60]!r}")
        return _skip(text, at + 1) if text[at] != end else at + 1, text[at] == end
