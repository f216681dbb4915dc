"""The parameters of an address, read strictly: only known names, each at most as often as allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import parse_qsl

from rmqalloc.errors import ArgumentError
from rmqalloc.text import did_you_mean, quoted

MOST = 200
"""Maximum parameters of one address."""


class ParameterError(ArgumentError):
    """A parameter of an address is unknown, repeated, or has a value that cannot be read."""


class Parameters:
    """The parameters of one request.

    Parameters
    ----------
    query : bytes
        Text after the question mark.
    known : collection of str
        Permitted names.

    Examples
    --------
    >>> given = Parameters(b"top=5&sort=-idle", ("top", "sort"))
    >>> given.number("top", 100), given.text("sort"), given.texts("show")
    (5, '-idle', ())
    >>> Parameters(b"to=5", ("top", "sort"))
    Traceback (most recent call last):
    rmqalloc.service.query_parameters.ParameterError: there is no parameter 'to'; known are top, sort; did you mean top?
    """

    def __init__(self, query: bytes, known: Collection[str]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in _pairs(query):
            if name not in known:
                there = f"known are {', '.join(known)}" if known else "this address has none"
                raise ParameterError(
                    f"there is no parameter {quoted(name)}; {there}{did_you_mean(name, known)}"
                )
            self._given.setdefault(name, []).append(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values of a parameter; empty if it is not given."""
        return tuple(self._given.get(name, ()))

    def text(self, name: str) -> str | None:
        """Return the value of a parameter, None if it is not given."""
        values = self.texts(name)
        if len(values) > 1:
            raise ParameterError(f"{name} is given {len(values)} times; give it once")
        return values[0] if values else None

    def needed(self, name: str, example: str) -> str:
        """Return the value of a required parameter."""
        value = self.text(name)
        if not value:
            raise ParameterError(f"{name} is missing; give it, such as ?{name}={example}")
        return value

    def number(self, name: str, most: int) -> int | None:
        """Return a whole number from 1 on, None if it is not given."""
        value = self.text(name)
        if value is None:
            return None
        if not (
            value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= most
        ):
            raise ParameterError(
                f"{name} must be a whole number from 1 to {most:,}, got {quoted(value)}"
            )
        return int(value)

    def names(self, name: str, there: Sequence[str]) -> tuple[str, ...]:
        """Return the names of a list separated by commas, each of them a known name."""
        value = self.text(name)
        found = tuple(dict.fromkeys(value.split(","))) if value else ()
        for one in found:
            if one not in there:
                raise ParameterError(
                    f"{name}: there is no {quoted(one)}; there are {', '.join(there)}{did_you_mean(one, there)}"
                )
        return found

    def of(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the values of those parameters that are given, in the order of the names."""
        return {name: tuple(values) for name, values in self._given.items() if name in names}


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST
        )
    except ValueError as error:
        raise ParameterError(
            f"the parameters are not UTF-8 in percent encoding, or more than {MOST}: {error}"
        ) from None
