"""What is wrong in a file that people write, and where."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterable
from typing import Any, Self

from rmqalloc.documents.read_budget import MAX_DEPTH
from rmqalloc.errors import Error
from rmqalloc.text import did_you_mean, printable, shortened

Part = str | int
"""A key of a mapping or a position in a list."""


class DocumentError(Error, ValueError):
    """A document is wrong; the message names the place, the fault and the correct form.

    Attributes
    ----------
    what : str
        The fault, and the correct form.
    parts : tuple of str and int
        Place in the data: keys and list positions, outermost first. A single field may be given by
        name.
    place : str
        Text of the place in the message; default: `path_text`.
    """

    def __init__(
        self, what: str, parts: tuple[Part, ...] | str = (), place: str | None = None
    ) -> None:
        super().__init__(what, parts, place)
        self.what = what
        self.parts: tuple[Part, ...] = (parts,) if isinstance(parts, str) else parts
        self.place = path_text(self.parts) if place is None else place

    def __str__(self) -> str:
        return f"{self.place} {self.what}".strip()

    def inside(self, part: Part) -> Self:
        """Return the same error, which turned out to be within something."""
        return type(self)(self.what, (part, *self.parts))

    def under(self, heading: str, *parts: Part) -> Self:
        """Return the same error within something that the message calls by ``heading`` instead of
        by its parts.
        """
        return type(self)(self.what, (*parts, *self.parts), f"{heading} {self.place}".strip())


class TextError(DocumentError):
    """Text is not YAML or JSON as it is read here.

    Attributes
    ----------
    line, column : int, optional
        Where, from 1, as far as it is known.
    """

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(
            what, (), ":".join(str(one) for one in (line, column, "") if one is not None)
        )
        self.args = (what, line, column)
        self.line, self.column = line, column


def key_given_twice(key: str, first_line: int | None = None) -> str:
    """Return the message for the second of two equal keys of a mapping; ``first_line`` is the line
    of the first key, if known.

    Examples
    --------
    >>> key_given_twice("changes", 3)
    "key 'changes' is given twice, first in line 3; give it once"
    """
    first = "" if first_line is None else f", first in line {first_line}"
    return f"key '{shortened(printable(key), 80)}' is given twice{first}; give it once"


def nested_too_deeply() -> str:
    """Return the message for data with more than `MAX_DEPTH` levels."""
    return f"is nested deeper than {MAX_DEPTH} levels"


def too_many_digits(n_digits: int) -> str:
    """Return the message for an integer with too many digits for Python."""
    return f"a whole number has at most {sys.get_int_max_str_digits()} digits, got {n_digits}"


def path_text(parts: Iterable[Part]) -> str:
    """Return how people read a place.

    Examples
    --------
    >>> path_text(("groups", 3, "name"))
    'groups[3].name'
    """
    shown = (
        f"[{part}]" if isinstance(part, int) else f".{shortened(printable(part), 80)}"
        for part in parts
    )
    return "".join(shown).removeprefix(".")


def known_names(given: str, names: Iterable[str]) -> str:
    """Return the known names, and the name that was probably meant.

    Examples
    --------
    >>> known_names("brokerName", ["topic", "broker_name"])
    'known are topic, broker_name; did you mean broker_name?'
    """
    known = list(names)
    return f"known are {', '.join(known)}{did_you_mean(given, known)}"


def shown(value: Any) -> str:
    """Return a short picture of a value, which could be a whole file or a number too long to print."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    return reprlib.repr(value)
