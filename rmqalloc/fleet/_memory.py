"""Which memory a fleet holds, so that nobody writes owners into it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


class HeldMemory:
    """The memory of every array that an object holds or has computed and keeps, as it is now.

    Attributes of what it looks at are only ever added, never replaced, so as long as there are as
    many, they are the same.

    Examples
    --------
    >>> class Column: ...
    >>> column = Column()
    >>> column.numbers = np.arange(6)
    >>> held = HeldMemory(column, (Column,))
    >>> held.overlaps(column.numbers[2:4]), held.overlaps(np.arange(6)), held.is_current(column)
    (True, False, True)
    >>> column.squares = column.numbers ** 2
    >>> held.is_current(column)
    False
    """

    def __init__(self, holder: object, kinds: tuple[type, ...]) -> None:
        self._n = len(
            vars(holder)
        )  # before they are looked at: other threads may keep more meanwhile
        # Without the holder's own, which would be a cycle and keep its memory until the next
        # collection.
        self._inner: list[dict[str, Any]] = []
        self._arrays: list[NDArray[Any]] = []
        for value in _values(holder):
            if isinstance(value, np.ndarray):
                self._arrays.append(value)
            elif isinstance(value, kinds) and value is not holder:
                inner = HeldMemory(value, kinds)
                self._inner += [vars(value), *inner._inner]
                self._n += inner._n
                self._arrays += inner._arrays
        bounds = sorted(
            (*_bounds(array), at) for at, array in enumerate(self._arrays) if array.size
        )
        self._starts, self._ends, self._at = (
            (list(column) for column in zip(*bounds, strict=True)) if bounds else ([], [], [])
        )
        self._longest = max((end - start for start, end, _ in bounds), default=0)

    def is_current(self, holder: object) -> bool:
        """Return whether nothing was added to the holder since."""
        return len(vars(holder)) + sum(map(len, self._inner)) == self._n

    def overlaps(self, array: NDArray[Any]) -> bool:
        """Does an array share memory with any of these?"""
        if not array.size:
            return False
        start, end = _bounds(array)
        # Whatever begins at or after the end, or so early that the longest of all would not reach
        # here, lies apart.
        near = range(
            bisect_right(self._starts, start - self._longest), bisect_right(self._starts, end - 1)
        )
        return any(
            self._ends[i] > start and np.shares_memory(self._arrays[self._at[i]], array)
            for i in near
        )


def _values(holder: object) -> Iterator[Any]:
    for value in list(vars(holder).values()):
        yield from value if isinstance(value, tuple) else (value,)


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    """Return first byte of an array, and the one after its last."""
    start = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return start, start + array.nbytes
    spans = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    return start + sum(span for span in spans if span < 0), start + sum(
        span for span in spans if span > 0
    ) + array.itemsize
