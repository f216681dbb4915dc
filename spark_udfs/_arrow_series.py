"""Functions of Arrow arrays as functions of pandas' series, for releases of PySpark that have no
Arrow functions.

Spark sends such functions Arrow data anyway, and PySpark turns it into series and back. That loses
types: whole numbers beside a null become floats, and a column that holds nothing but nulls has no
type at all. Here both are restored, so that ``body`` answers what it answers in an Arrow function.
Two things cannot be: a NaN is a null, and a whole number above 2**53 beside a null is rounded; no
count, owner or position is as large. Imports no pyspark, and pandas only where it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.fleet.arrow_columns import is_lists
from spark_udfs._arrow_owners import QUEUES

_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_OF_NULLS = {
    "queues": QUEUES,
    "brokers": _BROKERS,
    "queue_id": pa.int32(),
    "read_queue_nums": pa.int32(),
    "virtual_nodes": pa.int32(),
}
"""Types of the fields that are no texts; asked for where a field holds nothing but nulls."""


def on_series(body: Callable[..., Any], form: str = "array") -> Callable[..., Any]:
    """Return a function of series that does what ``body`` does with Arrow arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> on_series(lambda numbers: pc.add(numbers, 1))(pd.Series([1.0, None])).tolist()
    [2, None]
    """

    # PySpark tells the kinds of functions apart by their annotations, which it evaluates.
    def converted(*series: Any, **named: Any) -> Any:
        arrays = {name: from_series(one) for name, one in named.items()}
        return to_series(body(*map(from_series, series), **arrays), form)

    return converted


def from_series(column: Any) -> pa.Array:
    """Return a column in Arrow as it was before PySpark turned it into a series; a data frame is a
    struct.

    Examples
    --------
    >>> import pandas as pd
    >>> from_series(pd.Series([4.0, None])).type, from_series(pd.Series([0.5, None])).type
    (DataType(int64), DataType(double))
    """
    if column.ndim == 2:
        names = list(column.columns)
        fields = [_typed(from_series(column[name]), name) for name in names]
        return pa.StructArray.from_arrays(fields, names)
    if column.dtype == "object":
        # PySpark makes an empty list an array of floats, whatever it is a list of.
        column = column.map(
            lambda value: [] if isinstance(value, np.ndarray) and not value.size else value
        )
    return _typed(pa.array(column, from_pandas=True), "")


def to_series(array: pa.Array, form: str = "array") -> Any:
    """Return the series, or for the form "frame" the data frame, that PySpark turns into this
    array; see `on_series`.

    Examples
    --------
    >>> to_series(pa.array([{"a": 1}, None]), "structs").tolist()
    [[{'a': 1}], [None]]
    """
    import pandas as pd

    if form == "frame":
        columns = zip([field.name for field in array.type], array.flatten(), strict=True)
        return pd.DataFrame(
            {name: pd.Series(column.to_pylist(), dtype="object") for name, column in columns}
        )
    if form == "structs":
        return pd.Series([[row] for row in array.to_pylist()], dtype="object")
    if (
        is_lists(array.type)
        and pa.types.is_integer(array.type.value_type)
        and not array.flatten().null_count
    ):
        return array.to_pandas()
    return pd.Series(array.to_pylist(), dtype="object")


def _typed(array: pa.Array, name: str) -> pa.Array:
    """Return the array with whole numbers where they became floats, and with types where nulls have
    none.
    """
    kind = _restored(array, name)
    return array if kind == array.type else array.cast(kind)


def _restored(array: pa.Array, name: str) -> pa.DataType:
    """Return the type that the column of a table had; ``name`` is that of a field, "" if it is
    none.
    """
    kind = array.type
    if pa.types.is_struct(kind):
        fields = zip(kind, array.flatten(), strict=True)
        return pa.struct([(field.name, _restored(inner, field.name)) for field, inner in fields])
    if is_lists(kind) and not pa.types.is_null(kind.value_type):
        return pa.list_(_restored(array.flatten(), ""))
    if pa.types.is_null(kind if not is_lists(kind) else kind.value_type):
        none = pa.list_(pa.string()) if is_lists(kind) else pa.string()
        return _OF_NULLS.get(name, none) if name else kind
    return pa.int64() if pa.types.is_floating(kind) and _were_whole(array) else kind


def _were_whole(floats: pa.Array) -> bool:
    """Return True if they are the floats that whole numbers become beside nulls."""
    whole = pc.all(pc.equal(pc.floor(floats), floats)).as_py()
    in_bounds = pc.all(pc.less(pc.abs(floats), 2.0**63)).as_py()
    return bool(floats.null_count) and whole in (True, None) and in_bounds in (True, None)
