"""Parameters of strategies as data: their names, types and text, and whether a text can give them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

from rmqalloc.errors import ArgumentError, ArgumentTypeError

ParameterKind = Literal[
    "count",
    "names",
    "decimal",
    "text",
    "numbers",
    "owners",
    "queues",
    "strategy",
    "resolver",
    "function",
    "switch",
]


class Parameter(NamedTuple):
    """One parameter of a strategy."""

    name: str  # as the constructor takes it
    # "count" is a number from 0 on and "names" a collection of texts: these have a short form
    # such as CONSISTENT_HASH:160. These, "decimal" (a number with few decimals), "text" and "switch" (yes or no) can
    # be spelled behind the strategy's name. No text gives "numbers" (whole numbers by name),
    # "owners" (client ids by queue), "queues" (lists of queues), "strategy" (another one, which is
    # part of the name), "resolver" (from a broker or a client to its machine room) and "function"
    # (a hash function)
    kind: ParameterKind
    text: str  # what it is, as a sentence begins
    is_needed: bool = False  # whether nothing can be divided without it
    default: int | None = None  # RocketMQ's default of a count
    metavar: str = "N"  # what a command line's help calls one value

    @property
    def is_plain(self) -> bool:
        """Whether it has a short form."""
        return self.kind in ("count", "names")

    @property
    def is_spelled(self) -> bool:
        """Whether a text behind the strategy's name can give it, see `rmqalloc.strategies.spelled`.

        Examples
        --------
        >>> Parameter("tables", "switch", "Go by tables").is_spelled, Parameter("weights", "numbers", "Weights").is_spelled
        (True, False)
        """
        return self.is_plain or self.kind in ("decimal", "text", "switch")


def decimal_units(name: str, given: Any, unit: int, least: int, most: int) -> int:
    """Return a number with few decimals as a whole number of units: what integers compute is the
    same on every platform.

    Examples
    --------
    >>> decimal_units("share", 0.05, 10_000, 0, 10_000), decimal_units("share", "1", 10_000, 0, 10_000)
    (500, 10000)
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str | Decimal):
        raise ArgumentTypeError(f"{name} must be a number, got {given!r}")
    try:
        units = Decimal(str(given)) * unit
    except InvalidOperation:
        raise ArgumentError(f"{name} must be a number, got {given!r}") from None
    if not (units.is_finite() and least <= units <= most):
        raise ArgumentError(
            f"{name} must be from {Decimal(least) / unit} to {Decimal(most) / unit}, got {given!r}"
        )
    if units != int(units):
        raise ArgumentError(
            f"{name} must have at most {len(str(unit)) - 1} decimals, got {given!r}"
        )
    return int(units)
