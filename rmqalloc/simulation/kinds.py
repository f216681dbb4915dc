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


@dataclass(frozen=True)
class Duration:
    """A time as text with a unit (``500ms``, ``30s``, ``2m``, ``1h``), kept in milliseconds.

    Examples
    --------
    >>> Duration().read("2m")
    120000
    """

    least: int = 0

    def read(self, given: Any) -> int:
        """The milliseconds."""
        if isinstance(given, int) and not isinstance(given, bool) and self.least <= given <= MAX_DURATION:
            return given
        match = _TIME.fullmatch(given) if isinstance(given, str) else None
        milliseconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self.least <= milliseconds <= MAX_DURATION:
            raise ScenarioError(
                f"must be a time such as 500ms, 30s or 2m, from {self.least}ms to 24h, got {shown(given)}"
            )
        return milliseconds

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {
            "anyOf": [{"type": "string", "pattern": r"^\d+(ms|s|m|h)$"}, {"type": "integer", "minimum": self.least}]
        }


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
                parts.append(one if isinstance(one, self.cls) else self.cls.of(one))
            except ScenarioError as error:
                raise error.inside(i) from None
        return tuple(parts)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "array", "items": self.cls.schema()}
