"""The forms in which an allocation is returned: owners or an error, owners or null, owners by name.
Imports no pyspark.

Strict functions raise for the first bad row of a batch, with its reason and its columns; functions
named ``try_...`` return null for it. An answer is one array for a whole batch, so the names of all
rows must fit in it: a row whose names do not is bad too. `spark_udfs._sql_owners` gives them arguments in SQL's form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_sizes import MAX_TEXT_OF_COLUMN, Counts
from rmqalloc.evaluation.expand import names_of_owners
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import list_lengths, utf8
from rmqalloc.fleet.columns import lengths_of, offsets_of, ranges
from rmqalloc.text import shortened
from spark_udfs._arrow_owners import allocate_arrays

OWNERS_DDL = "array<int>"
OWNERS_OR_ERROR_DDL = "struct<owners: array<int>, error: string>"
NAMED_DDL = "array<struct<broker_name: string, queue_id: int, client_id: string>>"

_NAMED = pa.struct(
    [("broker_name", pa.string()), ("queue_id", pa.int32()), ("client_id", pa.string())]
)
_MOST_SHOWN = 120


def allocate(strategy: Any, queues: pa.Array, clients: pa.Array, **given: Any) -> pa.Array:
    """Return the owners of the queues of every row; arguments as `spark_udfs._arrow_owners.allocate_arrays`.

    Raises
    ------
    ValueError
        A row is bad.

    Examples
    --------
    >>> allocate("AVG", pa.array([4]), pa.array([3])).to_pylist()
    [[0, 0, 1, 2]]
    >>> allocate("AVG", pa.array([4, 0]), pa.array([3, 3]))
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: row 2 of 2 in its batch (queues 0, clients 3): mqAll is null or mqAll empty; \
try_allocate returns NULL for a bad row, allocate_or_error its reason
    """
    answer = allocate_arrays(strategy, queues, clients, **given)
    columns = {"queues": queues, "clients": clients, "topic": given.get("topic")}
    refuse_bad(answer, columns, "try_allocate")
    return answer.field("owners")


def try_allocate(strategy: Any, queues: pa.Array, clients: pa.Array, **given: Any) -> pa.Array:
    """Return the owners of the queues of every row, null in a bad one."""
    return allocate_arrays(strategy, queues, clients, **given).field("owners")


def owners(strategy: Any, queues: pa.Array, clients: pa.Array, **given: Any) -> pa.Array:
    """Return broker, queue id and owner of the queues of every row, in Java's order; else as
    `allocate`.

    Examples
    --------
    >>> brokers = pa.array([[{"broker_name": "b", "read_queue_nums": 2}]])
    >>> owners("AVG", brokers, pa.array([["c9", "c1"]]))[0][1].as_py()
    {'broker_name': 'b', 'queue_id': 1, 'client_id': 'c9'}
    """
    refuse_counts(queues, clients)
    answer = allocate_arrays(strategy, queues, clients, **given)
    refuse_bad(answer, {"clients": clients, "topic": given.get("topic")}, "try_owners")
    return by_name(queues, clients, answer.field("owners"), strict=True)


def try_owners(strategy: Any, queues: pa.Array, clients: pa.Array, **given: Any) -> pa.Array:
    """Return the owners by name as `owners`, null in a bad row."""
    refuse_counts(queues, clients)
    return by_name(queues, clients, try_allocate(strategy, queues, clients, **given))


def refuse_counts(queues: Any, clients: Any) -> None:
    """Refuse numbers in place of names, on the driver and in workers."""
    for name, value in (("queues", queues), ("clients", clients)):
        if isinstance(value, pa.Array):
            is_count, got = pa.types.is_integer(value.type), value.type
        else:
            is_count, got = isinstance(value, int), value
        if is_count:
            raise ArgumentTypeError(
                f"owners returns names, so {name} must be a list of them, got {got}; use allocate"
            )


def refuse_bad(answer: pa.StructArray, columns: dict[str, pa.Array | None], other: str) -> None:
    """Raise ArgumentError for the first bad row; ``other`` names the function that returns NULL."""
    errors = answer.field("error")
    if errors.null_count == len(errors):
        return
    is_bad = np.asarray(errors.is_valid())
    row = int(np.flatnonzero(is_bad)[0])
    shown = []
    for name, column in columns.items():
        if column is None:
            continue
        if name == "queues" and not pa.types.is_integer(column.type):
            continue
        (value,) = utf8(column.slice(row, 1)).to_pylist()
        shown.append(f"{name} {shortened(repr(value), _MOST_SHOWN)}")
    raise ArgumentError(
        f"row {row + 1:,} of {len(errors):,} in its batch ({', '.join(shown)}): {errors[row]}; "
        f"{other} returns NULL for a bad row, allocate_or_error its reason"
    )


def by_name(
    queues: pa.Array,
    clients: pa.Array,
    positions: pa.Array,
    strict: bool = False,
    most_bytes: int = MAX_TEXT_OF_COLUMN,
) -> pa.Array:
    """Return broker, queue id and client of each owner, which is a position; null where that is,
    and where the names do not fit beside those of other rows. With ``strict`` that raises.
    """
    if positions.null_count == len(positions):
        return pa.nulls(len(positions), pa.list_(_NAMED))
    is_single = queues.type.value_type.get_field_index("queue_id") >= 0
    nothing = pa.repeat("", len(positions))
    lists = {"queues" if is_single else "brokers": queues, "client_ids": clients}
    units = pa.RecordBatch.from_pydict({"consumer_group": nothing, "topic": nothing} | lists)
    good = units.filter(positions.is_valid()) if positions.null_count else units
    fleet = Fleet.from_arrow(good).sorted()
    named = names_of_owners(fleet, np.asarray(positions.flatten()), np.arange(fleet.n_units))
    lengths = list_lengths(positions)
    offsets, is_null = offsets_of(lengths), positions.is_null()
    which: Counts | slice = slice(None)
    if offsets[-1] * named.n_bytes.longest > most_bytes:
        n_bytes = lengths_of(offsets_of(named.n_bytes.of_rows())[offsets])
        fits = _fitting(n_bytes, most_bytes)
        if strict and not fits.all():
            raise ArgumentError(_does_not_fit(n_bytes, int(np.argmin(fits)), most_bytes))
        is_null = pa.array(np.asarray(is_null) | ~fits)
        lengths = np.where(fits, lengths, 0)
        which, offsets = ranges(offsets[:-1], lengths), offsets_of(lengths)
    columns = named.columns(which)
    arrays = [columns[field.name] for field in _NAMED]
    entries = pa.StructArray.from_arrays(arrays, fields=list(_NAMED))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), entries, mask=is_null)


def _fitting(n_bytes: Counts, most: int) -> NDArray[np.bool_]:
    """Return which rows fit, taken in their order, a smaller one after a larger one that does not."""
    fits, total = np.ones(n_bytes.size, np.bool_), 0
    for row, size in enumerate(n_bytes.tolist()):
        fits[row] = total + size <= most
        total += size if fits[row] else 0
    return fits


def _does_not_fit(n_bytes: Counts, row: int, most: int) -> str:
    """Return why the names of a row do not fit."""
    where = f"row {row + 1:,} of {n_bytes.size:,} in its batch: the names of its owners take {n_bytes[row]:,} bytes"
    if n_bytes[row] > most:
        return f"{where}, and one value holds at most {most:,}; expand_owners returns a row for every queue"
    return (
        f"{where}, those of all rows {n_bytes.sum():,}, and a batch holds at most {most:,}: "
        "lower spark.sql.execution.arrow.maxRecordsPerBatch, or use expand_owners, which splits batches; "
        "try_owners returns NULL for a row that does not fit"
    )
