"""NumPy with indices of 64 bits on every machine: in a wheel for WebAssembly the rooms take ``np``
from here.

It goes into that wheel as ``rmqalloc._wide``. Offsets and positions are int64 everywhere in the
package. Where pointers have 32 bits, as in a browser, so have NumPy's own indices: `numpy.arange`
or `numpy.argsort` answer int32 there, which the kernels refuse, and `numpy.repeat` or
`numpy.bincount` refuse int64. `Wide` answers there as NumPy does where pointers have 64 bits;
elsewhere ``np`` is NumPy itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["Wide", "np"]

_INDICES = ("argmax", "argmin", "argsort", "flatnonzero", "lexsort", "nonzero", "searchsorted")
# Functions that make arrays of plain integers, and which of their arguments say how wide these are.
_FROM_NUMBERS = {
    "append": slice(0, 2),
    "array": slice(0, 1),
    "asarray": slice(0, 1),
    "concatenate": slice(0, 1),
    "full": slice(1, 2),
    "stack": slice(0, 1),
}

_UFUNCS = ("add", "logical_or", "maximum", "minimum")  # those that are used by more than a call

_unique: Callable[..., Any] = numpy.unique  # its overloads do not take flags that are passed on


class Wide:
    """NumPy, but for the functions whose answers or arguments are as wide as a pointer.

    Examples
    --------
    >>> wide = Wide()
    >>> wide.arange(3).dtype, wide.float64 is numpy.float64
    (dtype('int64'), True)
    """

    def __init__(self) -> None:
        for name in _INDICES:
            setattr(self, name, _answers_wide(getattr(numpy, name)))
        for name, values in _FROM_NUMBERS.items():
            setattr(self, name, _numbers_wide(getattr(numpy, name), values))
        for name in _UFUNCS:
            setattr(self, name, _WideUfunc(getattr(numpy, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    @staticmethod
    def arange(*bounds: Any, dtype: Any = None) -> Any:
        """As `numpy.arange`, of int64 unless told otherwise."""
        return (
            _widened(numpy.arange(*bounds)) if dtype is None else numpy.arange(*bounds, dtype=dtype)
        )

    @staticmethod
    def where(condition: Any, *values: Any) -> Any:
        """As `numpy.where`: places are int64, and so is a choice of two plain integers."""
        answer = numpy.where(condition, *values)
        return answer if any(hasattr(value, "dtype") for value in values) else _widened(answer)

    @staticmethod
    def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """As `numpy.cumsum`, which adds up narrow integers as wide ones."""
        kind = numpy.asarray(a).dtype.kind if dtype is None and out is None else ""
        return numpy.cumsum(a, axis, numpy.int64 if kind and kind in "bi" else dtype, out)

    @staticmethod
    def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
        """As `numpy.repeat`, with counts of any width."""
        return numpy.repeat(_of_numbers(a), _narrow(repeats), axis)

    @staticmethod
    def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
        """As `numpy.bincount`, with numbers of any width; counts are int64."""
        return _widened(numpy.bincount(_narrow(x), weights, minlength))

    @staticmethod
    def take(a: Any, indices: Any, axis: int | None = None) -> Any:
        """As `numpy.take`, with indices of any width."""
        return numpy.take(a, _narrow(indices), axis)

    @staticmethod
    def unique(ar: Any, *flags: bool, **options: Any) -> Any:
        """As `numpy.unique`; the positions and counts it answers are int64."""
        found = _unique(ar, *flags, **options)
        return (found[0], *map(_widened, found[1:])) if isinstance(found, tuple) else found


class _WideUfunc:
    """A ufunc whose `reduceat` takes offsets of any width, and adds up narrow integers as wide
    ones.
    """

    def __init__(self, ufunc: numpy.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._ufunc(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
        adds_up = (
            self._ufunc is numpy.add and dtype is None and numpy.asarray(array).dtype.kind in "bi"
        )
        return self._ufunc.reduceat(
            array, _narrow(indices), axis, numpy.int64 if adds_up else dtype
        )


def _narrow(numbers: Any) -> Any:
    """Numbers as this machine's NumPy takes them; none of them can be past its memory."""
    given = numpy.asarray(numbers)
    return given.astype(numpy.intp) if given.dtype == numpy.int64 or not given.size else given


def _widened(answer: Any) -> Any:
    """An answer, with int64 in place of indices; one of a tuple for each array in it."""
    if isinstance(answer, tuple):
        return tuple(map(_widened, answer))
    return answer.astype(numpy.int64) if getattr(answer, "dtype", None) == numpy.int32 else answer


def _of_numbers(given: Any) -> Any:
    """What was given; plain integers, which have no width of their own, as int64."""
    return given if hasattr(given, "dtype") else _widened(numpy.asarray(given))


def _answers_wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose answers are indices."""
    return lambda *args, **options: _widened(function(*args, **options))


def _numbers_wide(function: Callable[..., Any], values: slice) -> Callable[..., Any]:
    """The function, which makes arrays of plain integers as wide as a pointer, unless it was told a
    width.
    """

    def made(*args: Any, **options: Any) -> Any:
        answer = function(*args, **options)
        has_width = options.get("dtype") or any(
            isinstance(one, type | numpy.dtype) for one in args[values.stop :]
        )
        return answer if has_width or not any(map(_is_plain, args[values])) else _widened(answer)

    return made


def _is_plain(given: Any) -> bool:
    """Whether what was given is, or holds, integers without a width."""
    if isinstance(given, list | tuple | range):
        return any(map(_is_plain, given))
    return isinstance(given, int) and not isinstance(given, bool)


np: Any = numpy if numpy.dtype(numpy.intp).itemsize == 8 else Wide()
