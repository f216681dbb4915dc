"""Kinds of fields of documents: each kind reads a value, or raises an error with the correct form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.document_errors import DocumentError, shown
from rmqalloc.model import MAX_TEXT_BYTES, MOST_MEMBERS


class FieldError(DocumentError):
    """Data do not match the declaration of their fields."""


class ScenarioError(FieldError):
    """A scenario, or a script of a simulation, is not as it should be."""


class Kind(Protocol):
    """A kind of field."""

    def read(self, given: Any) -> Any:
        """Return the value as it is kept; FieldError "must be ..., got ..." if it is none of this
        kind.
        """

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""


def read_all(kind: Kind, given: Sequence[Any]) -> Sequence[Any]:
    """Return values of one kind as they are kept: as a column, if the kind has its own
    ``read_all``.

    FieldError states only that a value is not of this kind; `Kind.read` of each value finds it.
    """
    at_once = getattr(kind, "read_all", None)
    return list(map(kind.read, given)) if at_once is None else at_once(given)


def are_of(given: Iterable[Any], *types: type) -> bool:
    """Return whether values have exactly these types."""
    return set(map(type, given)) <= {*types}


@dataclass(frozen=True)
class Text:
    """Text, not empty unless it may be; ``choices`` if it must be one of a few words."""

    choices: tuple[str, ...] = ()
    may_be_empty: bool = False
    most_bytes: int | None = MAX_TEXT_BYTES

    def read(self, given: Any) -> str:
        """Return the text."""
        if (
            not isinstance(given, str)
            or not (given or self.may_be_empty)
            or (self.choices and given not in self.choices)
        ):
            some = "text" if self.may_be_empty else "text that is not empty"
            right = f"one of {', '.join(self.choices)}" if self.choices else some
            raise FieldError(f"must be {right}, got {shown(given)}")
        if given.isascii() and (self.most_bytes is None or len(given) <= self.most_bytes):
            return given
        try:
            n_bytes = len(given.encode())
        except UnicodeEncodeError:
            raise FieldError(
                f"must be Unicode text, got half a surrogate pair in {shown(given)}"
            ) from None
        if self.most_bytes is not None and n_bytes > self.most_bytes:
            raise FieldError(f"must be at most {self.most_bytes} bytes long, got {n_bytes}")
        return given

    def read_all(self, given: Sequence[Any]) -> Sequence[str]:
        """Return texts."""
        if not (are_of(given, str) and self._holds_all(given)):
            for text in given:
                self.read(text)
        return given

    def _holds_all(self, texts: Sequence[str]) -> bool:
        """Return True if all texts are plainly right."""
        if self.choices:
            return {*texts} <= {*self.choices}
        is_short = self.most_bytes is None or max(map(len, texts), default=0) <= self.most_bytes
        return is_short and (self.may_be_empty or all(texts)) and all(map(str.isascii, texts))

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        if self.choices:
            return {"enum": list(self.choices)}
        return {"type": "string"} if self.may_be_empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Texts:
    """One text or a list of them, kept as a tuple."""

    def read(self, given: Any) -> tuple[str, ...]:
        """Return the texts."""
        if isinstance(given, str):
            given = [given]
        if not isinstance(given, list | tuple) or not given:
            raise FieldError(
                f"must be text or a list of text that is not empty, got {shown(given)}"
            )
        texts = []
        for i, text in enumerate(given):
            try:
                texts.append(Text().read(text))
            except FieldError as error:
                raise error.inside(i) from None
        return tuple(texts)

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        one = Text().schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    least: int
    most: int

    def read(self, given: Any) -> int:
        """Return the number."""
        if (
            isinstance(given, bool)
            or not isinstance(given, int)
            or not self.least <= given <= self.most
        ):
            raise FieldError(
                f"must be a whole number from {self.least} to {self.most}, got {shown(given)}"
            )
        return given

    def read_all(self, given: Sequence[Any]) -> Sequence[int]:
        """Return numbers; of those the bounds."""
        for number in (min(given), max(given)) if given and are_of(given, int) else given:
            self.read(number)
        return given

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Number:
    """A finite number; not below ``least`` if that is given."""

    least: float | None = None

    def read(self, given: Any) -> float:
        """Return the number."""
        if not isinstance(given, bool) and isinstance(given, int | float):
            try:
                number = float(given)
            except OverflowError:
                number = math.inf
            if math.isfinite(number) and (self.least is None or number >= self.least):
                return number
        raise FieldError(
            f"must be a number{'' if self.least is None else f' from {self.least:g} on'}, got {shown(given)}"
        )

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return (
            {"type": "number"} if self.least is None else {"type": "number", "minimum": self.least}
        )


@dataclass(frozen=True)
class Params:
    """Parameters of a strategy by name."""

    def read(self, given: Any) -> dict[str, Any]:
        """Return the parameters; sets and tuples become lists."""
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise FieldError(f"must be a mapping of parameters by name, got {shown(given)}")
        return {name: self._value(name, value) for name, value in given.items()}

    @staticmethod
    def _value(name: str, given: Any) -> Any:
        if isinstance(given, set | frozenset | tuple | list):
            return list(
                Texts().read(sorted(given) if isinstance(given, set | frozenset) else list(given))
            )
        if not isinstance(given, str | int) and not (
            isinstance(given, float) and math.isfinite(given)
        ):
            raise FieldError(f"must be a number, text or a list of text, got {shown(given)}", name)
        return given

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "object"}


MAX_DURATION = 24 * 3_600_000
"""Longest time in a script, in milliseconds."""

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TIME = re.compile(r"(\d{1,9})(ms|s|m|h)", re.ASCII)


class Milliseconds(int):
    """A time that was read, so that it is not taken for a number without a unit when it is checked
    again.

    Examples
    --------
    >>> Milliseconds(90_000).to_data(), Milliseconds(1_500).to_data()
    ('90s', '1500ms')
    """

    def to_data(self) -> str:
        """Return the time as text of a script."""
        return f"{int(self)}ms" if self % 1_000 else f"{self // 1_000}s"


@dataclass(frozen=True)
class Duration:
    """A time as text with a unit (``500ms``, ``30s``, ``2m``, ``1h``), kept in milliseconds.

    A number without a unit is refused, for it could be either; 0 is 0 in all units, and allowed
    where a time may be zero.

    Examples
    --------
    >>> Duration().read("2m"), Duration().read(0)
    (120000, 0)
    """

    least: int = 0

    def read(self, given: Any) -> Milliseconds:
        """Return the milliseconds."""
        if isinstance(given, Milliseconds) or (given == 0 and type(given) is int):
            milliseconds = int(given)
        else:
            match = _TIME.fullmatch(given) if isinstance(given, str) else None
            milliseconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self.least <= milliseconds <= MAX_DURATION:
            most = f"{MAX_DURATION // _UNITS['h']}h"
            raise FieldError(
                f"must be a time such as 500ms, 30s or 2m, from {self.least}ms to {most}, got {shown(given)}{_hint(given)}"
            )
        return Milliseconds(milliseconds)

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema, all but the greatest."""
        text = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h)$"}
        if self.least:
            return {**text, "pattern": "^(?!0+[a-z])[0-9]{1,9}(ms|s|m|h)$"}
        return {"anyOf": [text, {"const": 0}]}


def _hint(given: Any) -> str:
    """Return how to write a whole number that lacks its unit."""
    text = str(given) if isinstance(given, str) or type(given) is int else ""
    if not (
        text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MAX_DURATION and len(text) < 9
    ):
        return ""
    return f', which has no unit: write "{text}s" for seconds or "{text}ms" for milliseconds'


@dataclass(frozen=True)
class Truth:
    """True or false."""

    def read(self, given: Any) -> bool:
        """Return the value."""
        if not isinstance(given, bool):
            raise FieldError(f"must be true or false, got {shown(given)}")
        return given

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Members:
    """How many clients, from ``least`` on, or their names."""

    least: int = 0

    def read(self, given: Any) -> int | tuple[str, ...]:
        """Return the number or the names."""
        if isinstance(given, int):
            return Whole(self.least, MOST_MEMBERS).read(given)
        return Texts().read(given)

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"anyOf": [Whole(self.least, MOST_MEMBERS).schema(), *Texts().schema()["anyOf"]]}
