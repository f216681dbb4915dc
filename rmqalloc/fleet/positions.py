"""Positions of units, queues and rows: checked once, by NumPy's rules, before a kernel uses them.

A kernel does not check positions, and would read foreign memory at a position below 0 or past the
end. Every position from a caller is checked here; positions that rmqalloc computes are not
(`units_alone`, `Strings.take_unchecked`).
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError

Offsets = NDArray[np.int64]


def position(given: Any, n: int, what: str) -> int:
    """Return one position among ``n``, from 0 on; a negative one counts from the end.

    Examples
    --------
    >>> position(-1, 3, "unit"), position(np.int8(2), 3, "unit")
    (2, 2)
    """
    number = given if type(given) is int else _integer(given, what)
    if not -n <= number < n:
        raise IndexError(f"there is no {what} {number}: {_bounds(n)}")
    return number if number >= 0 else number + n


def positions(given: Any, n: int, what: str) -> Offsets:
    """Return positions among ``n``, from 0 on, of whatever NumPy takes as one index of a vector.

    Examples
    --------
    >>> positions([-1, 0], 3, "unit").tolist(), positions(np.array([True, False, True]), 3, "unit").tolist()
    ([2, 0], [0, 2])
    """
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in "iu":
        return _by_numpy(given, n, what)
    if not given.size:
        return given.astype(np.int64)
    least, most = int(given.min()), int(given.max())
    if least < -n or most >= n:
        raise IndexError(f"there is no {what} {most if most >= n else least}: {_bounds(n)}")
    rows = given.astype(np.int64, copy=False)
    return rows if least >= 0 else np.where(rows < 0, rows + n, rows)


def _integer(given: Any, what: str) -> int:
    try:
        if not isinstance(given, bool):
            return index(given)
    except TypeError:  # an array of several, a float, no number at all
        pass
    raise ArgumentTypeError(f"the position of a {what} must be an integer, got {given!r}")


def _by_numpy(given: Any, n: int, what: str) -> Offsets:
    """`positions` of a mask, a list, a slice, or of what is no index."""
    try:
        rows: Offsets = np.arange(n, dtype=np.int64)[given]
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        raise IndexError(f"{_shown(given)} is not an index of {n} {what}s: {error}") from None
    if rows.ndim != 1:
        raise IndexError(
            f"{_shown(given)} is not an index of {n} {what}s: give a vector of positions, a mask of as many, or a slice"
        )
    return rows


def _bounds(n: int) -> str:
    return f"positions are {-n} to {n - 1}" if n else "there are none"


def _shown(given: Any) -> str:
    """Return what was given, in a few words."""
    if isinstance(given, np.ndarray):
        return f"an array of {given.dtype} of shape {given.shape}"
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:60]}..."


def counted_owners(given: Any, n_queues: int) -> NDArray[np.int32]:
    """Return an owners vector of a fleet, whatever it names."""
    if not isinstance(given, np.ndarray):
        raise ArgumentTypeError(
            f"owners must be a numpy array of int32, got {type(given).__name__}"
        )
    if given.dtype != np.int32 or given.shape != (n_queues,):
        raise ArgumentError(
            f"owners must be int32 of shape ({n_queues},), one entry per queue of the fleet, "
            f"got {given.dtype} of shape {given.shape}"
        )
    return given
