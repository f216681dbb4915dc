"""Limits of one unit. Positions in its lists are int32; totals of a fleet are int64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.columns import Index, Offsets, among, lengths_of
from rmqalloc.fleet.unit_errors import FleetError, UnitError
from rmqalloc.model import MAX_PER_UNIT

_FEWER = "Give fewer, or split the unit."


def over_bound(lengths: Offsets) -> NDArray[np.int64]:
    """Return positions of the lists that are too long for a unit."""
    return np.flatnonzero(lengths > MAX_PER_UNIT)


def too_many(n: int, what: str) -> str:
    """Return the error of a unit with too many queues or clients.

    Examples
    --------
    >>> too_many(2**31, "queues")
    'the unit has 2147483648 queues; at most 2147483647 can be assigned'
    """
    return f"the unit has {n} {what}; at most {MAX_PER_UNIT} can be assigned"


def check_size(n: int, what: str) -> None:
    """Refuse a list that is too long for a unit."""
    if n > MAX_PER_UNIT:
        raise ArgumentError(too_many(n, what))


def unit_sizes(
    offsets: Offsets, unit_list: Index, what: str, names_of: Callable[[int], tuple[str, str]]
) -> Index:
    """Return lengths of the lists that units name, as int32."""
    lengths = lengths_of(offsets)
    lists = over_bound(lengths)
    units = np.flatnonzero(among(unit_list, lists)) if lists.size else lists
    if units.size:
        counts = lengths[unit_list[units]].tolist()
        named = zip(units.tolist(), counts, strict=True)
        errors = [UnitError(unit, *names_of(unit), too_many(n, what)) for unit, n in named]
        raise FleetError(errors, unit_list.size, _FEWER)
    return lengths.astype(np.int32)[unit_list]
