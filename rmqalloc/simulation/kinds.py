"""What the fields of a script may hold beyond those of scenarios: times, numbers of clients, lists of parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from rmqalloc.whatif.scenarios.fields import Checked, ScenarioError, Texts, Whole

MAX_DURATION = 24 * 3_600_000
"""Longest time in a script, in milliseconds."""

MOST_MEMBERS = 5_000
"""Most clients that one group may start with."""

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TIME = re.compile(r"(\d{1,9})(ms|s|m|h)", re.ASCII)


class Milliseconds(int):
    """A time that was read, so that it is not taken for a number without a unit when it is checked again.

    Examples
    --------
    >>> Milliseconds(90_000).to_data(), Milliseconds(1_500).to_data()
    ('90s', '1500ms')
    """

    def to_data(self) -> str:
        """The time as a script says it."""
        return f"{int(self)}ms" if self % 1_000 else f"{self // 1_000}s"


@dataclass(frozen=True)
class Duration:
    """A time as text with a unit (``500ms``, ``30s``, ``2m``, ``1h``), kept in milliseconds.

    A number without a unit is refused, for it could be either; 0 is 0 in all units, and allowed where a time may be zero.

    Examples
    --------
    >>> Duration().read("2m"), Duration().read(0)
    (120000, 0)
    """

    least: int = 0

    def read(self, given: Any) -> Milliseconds:
        """The milliseconds."""
        if isinstance(given, Milliseconds) or (given == 0 and type(given) is int):
            milliseconds = int(given)
        else:
            match = _TIME.fullmatch(given) if isinstance(given, str) else None
            milliseconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self.least <= milliseconds <= MAX_DURATION:
            raise ScenarioError(
                f"must be a time such as 500ms, 30s or 2m, from {self.least}ms to 24h, got {shown(given)}{_hint(given)}"
            )
        return Milliseconds(milliseconds)

    def schema(self) -> dict[str, Any]:
        """JSON Schema, all but the bound of 24 h."""
        text = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h)$"}
        if self.least:
            return {**text, "pattern": "^(?!0+[a-z])[0-9]{1,9}(ms|s|m|h)$"}
        return {"anyOf": [text, {"const": 0}]}


def _hint(given: Any) -> str:
    """How to write a whole number that lacks its unit."""
    text = str(given) if isinstance(given, str) or type(given) is int else ""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MAX_DURATION and len(text) < 9):
        return ""
    return f', which has no unit: write "{text}s" for seconds or "{text}ms" for milliseconds'


@dataclass(frozen=True)
class Truth:
    """True or false."""

    def read(self, given: Any) -> bool:
        """The value."""
        if not isinstance(given, bool):
            raise ScenarioError(f"must be true or false, got {shown(given)}")
        return given

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Members:
    """How many clients, or their names."""

    def read(self, given: Any) -> int | tuple[str, ...]:
        """The number or the names."""
        if isinstance(given, int):
            return Whole(0, MOST_MEMBERS).read(given)
        return Texts().read(given)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"anyOf": [Whole(0, MOST_MEMBERS).schema(), *Texts().schema()["anyOf"]]}


@dataclass(frozen=True)
class Part:
    """Data with fields of its own."""

    cls: type[Checked]

    def read(self, given: Any) -> Any:
        """The part."""
        return given if isinstance(given, self.cls) else self.cls.of(given)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return self.cls.schema()


@dataclass(frozen=True)
class Parts:
    """A list of data with fields of its own."""

    cls: type[Checked]

    def read(self, given: Any) -> tuple[Any, ...]:
        """The parts."""
        if not isinstance(given, list | tuple):
            raise ScenarioError(f"must be a list, got {shown(given)}")
        parts = []
        for i, one in enumerate(given):
            try:
                parts.append(Part(self.cls).read(one))
            except ScenarioError as error:
                raise error.inside(i) from None
        return tuple(parts)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "array", "items": described(self.cls)}


def described(cls: type[Checked]) -> dict[str, Any]:
    """JSON Schema of data with fields of its own; its description is the first line of the docstring."""
    return {**cls.schema(), "description": (cls.__doc__ or "").partition("\n")[0].replace("`", "")}
