"""Columns that a plan does not read, put beside the rows that are planned of their unit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet.arrow_columns import taken

MAX_CARRIED_BYTES = 1 << 26
"""Most bytes of such columns in an output batch: a value stands in every row of its unit, and there may be thousands."""


def check_carried(carry: Collection[str], planned: pa.Schema) -> None:
    """Raise an error if a column to carry has the name of a column of the plan.

    Examples
    --------
    >>> check_carried(["Skew"], pa.schema([("skew", pa.float64())]))
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: the result has a column skew of its own, so Skew cannot be carried: rename it, ...
    """
    if wrong := [name for name in carry if not isinstance(name, str)]:
        raise ArgumentTypeError(f"carry must hold names of columns, got {wrong[0]!r}")
    own = {name.lower(): name for name in planned.names}
    if taken := [name for name in carry if name.lower() in own]:
        theirs = ", ".join(own[name.lower()] for name in taken)
        of_its_own = "columns {} of their" if len(taken) > 1 else "a column {} of its"
        raise ArgumentError(
            f"the result has {of_its_own.format(theirs)} own, so {', '.join(taken)} cannot be carried: "
            "rename it, or leave it out with carry="
        )


def with_carried(
    planned: pa.RecordBatch, units: pa.RecordBatch, rows: NDArray[np.int64], carry: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan with columns of their units behind their own.

    Examples
    --------
    >>> planned = pa.RecordBatch.from_pydict({"scenario": ["current", "less"]})
    >>> units = pa.RecordBatch.from_pydict({"topic": ["T"], "region": ["eu"]})
    >>> [batch] = with_carried(planned, units, np.array([0, 0]), ["region"])
    >>> batch.to_pydict()
    {'scenario': ['current', 'less'], 'region': ['eu', 'eu']}
    """
    if not carry:
        yield planned
        return
    others = units.select(list(carry))
    schema = pa.schema([*planned.schema, *others.schema])
    each_once = rows.size == units.num_rows and bool((rows == np.arange(rows.size)).all())
    for start, stop in [(0, rows.size)] if each_once else _cuts(others, rows):
        columns = (
            others.columns
            if each_once
            else [taken(column, rows[start:stop]) for column in others.columns]
        )
        yield pa.RecordBatch.from_arrays(
            [*planned.slice(start, stop - start).columns, *columns], schema=schema
        )


def _cuts(others: pa.RecordBatch, rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield where to cut rows: in halves, as long as what they repeat may take too many bytes."""
    left = [(0, rows.size)]
    while left:
        start, stop = left.pop()
        if stop - start > 1 and _bytes(others, rows[start:stop]) > MAX_CARRIED_BYTES:
            middle = (start + stop) // 2
            left += [(middle, stop), (start, middle)]
        else:
            yield start, stop


def _bytes(others: pa.RecordBatch, rows: NDArray[np.int64]) -> int:
    """Bound the bytes that these rows take: all of their units as often as the most frequent one."""
    units = rows[-1] - rows[0] + 1
    return int(others.slice(rows[0], units).nbytes * np.bincount(rows - rows[0]).max())
