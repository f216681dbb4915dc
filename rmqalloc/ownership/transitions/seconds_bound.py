"""Longest time that queues may be unowned while clients follow a change."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rmqalloc.documents.fields import FieldError, Text
from rmqalloc.errors import ArgumentError, Error
from rmqalloc.text import counted

_SECONDS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?:@(worst|p99))?")


class SecondsBound(NamedTuple):
    """The longest time that a queue may be unowned."""

    seconds: float
    of: str = "worst"  # {"worst", "p99"}: Whether it bounds the longest time at all, or the 99th percentile

    @classmethod
    def parse(cls, text: str) -> SecondsBound:
        """Parse a bound from a text such as ``30`` or ``30@p99``.

        Examples
        --------
        >>> SecondsBound.parse("30@p99"), SecondsBound.parse("2.5")
        (SecondsBound(seconds=30.0, of='p99'), SecondsBound(seconds=2.5, of='worst'))
        """
        found = _SECONDS.fullmatch(text.strip())
        if found is None:
            raise ArgumentError(
                f"must be a number of seconds such as 30, 30@worst or 30@p99, got {text!r}"
            )
        return cls(float(found[1]), found[2] or "worst")

    def of_row(self, row: Mapping[str, Any]) -> float:
        """Return the upper bound of a row in seconds; infinity if a queue stays unowned or no timer
        applies.
        """
        seconds = row[f"unowned_seconds_{self.of}"]
        return math.inf if row["unowned_after"] or seconds is None else float(seconds)

    def violation(self, row: Mapping[str, Any]) -> str:
        """Return why a row exceeds the limit."""
        if row["unowned_after"]:
            said = f"{counted(row['unowned_after'], 'queue has', 'queues have')} no owner when all clients have followed"
        elif self.of_row(row) == math.inf:
            said = "no timer states when clients follow"
        else:
            said = f"a queue has no owner for up to {self.of_row(row):,.3f} s ({self.of})"
        return f"{said}; the limit is {self.seconds:g} s"


class SecondsText(Text):
    """The kind of field that holds such a bound as text."""

    def read(self, given: Any) -> str:
        """Return the text if it is a bound."""
        text = super().read(given)
        try:
            SecondsBound.parse(text)
        except Error as error:
            raise FieldError(str(error)) from None
        return text

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the field."""
        return {"type": "string", "pattern": f"^{_SECONDS.pattern}$"}
