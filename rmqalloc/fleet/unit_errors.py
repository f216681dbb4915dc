"""Errors of units that a fleet cannot assign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rmqalloc.errors import ArgumentError, Error

REPORT = 'Use on_error="report" to assign the remaining units.'


class UnitError(NamedTuple):
    """The reason why one unit of a fleet cannot be assigned.

    Attributes
    ----------
    position : int
        Place of the unit in the fleet.
    consumer_group, topic : str
        Names of the unit; empty if they are missing.
    reason : str
        Description of the fault; Java's text if Java throws an IllegalArgumentException.
    """

    position: int
    consumer_group: str
    topic: str
    reason: str

    def __str__(self) -> str:
        return f"unit {self.position} (consumer group {self.consumer_group!r}, topic {self.topic!r}): {self.reason}"


class FleetError(Error, ValueError):
    """Some units of a fleet cannot be assigned.

    Attributes
    ----------
    errors : list of UnitError
        All errors, by position.
    """

    SHOWN = 5

    def __init__(self, errors: Sequence[UnitError], n_units: int, hint: str = REPORT) -> None:
        from rmqalloc.results.and_more import first_of

        self.errors = list(errors)
        self.n_units = n_units
        self.hint = hint
        shown = "; ".join(first_of([*map(str, self.errors)], self.SHOWN))
        super().__init__(
            f"{len(self.errors)} of {n_units} units cannot be assigned: {shown}. {hint}"
        )

    def __reduce__(self) -> tuple[type[FleetError], tuple[list[UnitError], int, str]]:
        return type(self), (self.errors, self.n_units, self.hint)

    def among(self, units: Sequence[int], n_units: int) -> FleetError:
        """Return the same of a fleet of which the units in question are some."""
        errors = [error._replace(position=units[error.position]) for error in self.errors]
        return FleetError(errors, n_units, self.hint)


def check_on_error(on_error: str) -> None:
    """Raise an error unless ``on_error`` is "raise" or "report"."""
    if on_error not in ("raise", "report"):
        raise ArgumentError(f'on_error must be "raise" or "report", got {on_error!r}')
