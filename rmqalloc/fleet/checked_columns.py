"""Checks of columns that callers construct; rmqalloc itself uses `unchecked`.

A kernel trusts offsets and row numbers, so a wrong column could read foreign memory. The
constructors of `Strings`, `QueueLists`, `ClientLists` and `Fleet` therefore check their arguments.
Readers, sorters and scenarios of rmqalloc produce correct columns and skip the checks.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ragged
from rmqalloc.errors import ArgumentError, ArgumentTypeError

Offsets = NDArray[np.int64]
Columns = TypeVar("Columns")


def unchecked(kind: type[Columns], **columns: Any) -> Columns:
    """Return an instance of a kind of columns, whose constructor is not asked: for callers inside
    rmqalloc.
    """
    made = object.__new__(kind)
    made.__dict__.update(columns)
    return made


def replaced(columns: Columns, **others: Any) -> Columns:
    """`dataclasses.replace` by columns that need no check: for callers inside rmqalloc."""
    kept = columns.__dict__
    fields = {name: kept[name] for name in type(columns).__dataclass_fields__ if name in kept}  # type: ignore[attr-defined]
    return unchecked(type(columns), **(fields | others))


def check_offsets(offsets: Offsets, size: int, name: str) -> None:
    """Raise an error if offsets decrease or exceed the values; they would read foreign memory."""
    misfit = np.zeros(1, np.uint8)
    ragged.find_misfit(offsets, size, misfit)
    if misfit[0]:
        at = int(
            np.flatnonzero((np.diff(offsets) < 0) | (offsets[1:] > size) | (offsets[:-1] < 0))[0]
        )
        raise ArgumentError(
            f"the offsets of column {name} do not fit: entry {at} runs from {offsets[at]} to {offsets[at + 1]} "
            f"of {size} values; offsets must not decrease and must end within the values"
        )


def check_dtype(array: Any, kind: type[np.generic], name: str) -> None:
    """Raise an error unless a value is a numpy array of a type."""
    if not isinstance(array, np.ndarray) or array.dtype != kind:
        what = getattr(array, "dtype", type(array).__name__)
        raise ArgumentTypeError(f"{name} must be a numpy array of {kind.__name__}, got {what}")


def check_vector(array: Any, kind: type[np.generic], name: str, size: int | None = None) -> None:
    """Refuse an array that a kernel could not read: of another type or shape, or one that is not
    contiguous.
    """
    check_dtype(array, kind, name)
    if array.ndim != 1 or not array.flags.c_contiguous or not array.flags.aligned:
        raise ArgumentError(
            f"{name} must be a contiguous, aligned vector, got an array of shape {array.shape}"
        )
    if size is not None and array.size != size:
        raise ArgumentError(f"{name} must have {size} entries, got {array.size}")


def check_ends(offsets: Any, size: int, name: str) -> None:
    """Refuse offsets of lists that do not run from 0 to the end of what they hold."""
    check_vector(offsets, np.int64, name)
    if not offsets.size:
        raise ArgumentError(f"{name} must have one entry more than there are lists, got none")
    check_offsets(offsets, size, name)
    if offsets[0] != 0 or offsets[-1] != size:
        raise ArgumentError(f"{name} must run from 0 to {size}, got {offsets[0]} to {offsets[-1]}")


def check_rows(rows: Any, size: int | None, n: int, name: str, least: int = 0) -> None:
    """Refuse numbers of rows of a table of ``n`` that are not there."""
    check_vector(rows, np.int32, name, size)
    if rows.size and not least <= int(rows.min()) <= int(rows.max()) < n:
        raise ArgumentError(
            f"{name} must be from {least} to {n - 1}, got {rows.min()} to {rows.max()}"
        )


def check_text(values: Any, offsets: Any) -> None:
    """Refuse a column of text that is cut where there is no text, or in the middle of a character."""
    check_vector(values, np.uint8, "values")
    check_vector(offsets, np.int64, "offsets")
    if not values.size or not offsets.size:
        raise ArgumentError(
            "values must have at least one byte and offsets at least one entry, even without any text"
        )
    if not 0 <= int(offsets[0]) <= values.size:
        raise ArgumentError(f"offsets must begin within the {values.size} values, got {offsets[0]}")
    check_offsets(offsets, values.size, "of text")
    text = values[offsets[0] : offsets[-1]].tobytes()
    if text.isascii():
        return
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"the text is not UTF-8: {error}") from None
    starts = offsets[:-1][offsets[1:] > offsets[:-1]]
    if ((values[starts] & 0xC0) == 0x80).any():
        raise ArgumentError(
            "a string begins inside of a character; offsets must lie between characters"
        )


def check_kind(given: Any, kind: type, name: str) -> None:
    """Raise an error unless a value is a column of this kind."""
    if not isinstance(given, kind):
        raise ArgumentTypeError(
            f"{name} must be {kind.__name__}, got {type(given).__name__}; build fleets with from_groups or from_arrow"
        )
