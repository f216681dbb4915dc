"""Columns of a DataFrame that a transform does not read and carries through: which they are, and
whether they can be.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
)

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.carried import check_carried
from rmqalloc.evaluation.unit_files import INPUT_COLUMNS
from spark_udfs._read_columns import is_case_sensitive
from spark_udfs.map_in_arrow import quoted

Carry = bool | Iterable[str]

_WITHOUT_ARROW = ("YearMonthIntervalType", "CalendarIntervalType")
"""Types that pyarrow has not, by the names of their classes, as releases of Spark differ in which of them they have."""


def checked_carry(carry: Carry) -> bool | tuple[str, ...]:
    """Check an argument ``carry``: all columns, none, or those of these names.

    Examples
    --------
    >>> checked_carry(["region"])
    ('region',)
    >>> checked_carry("region")
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: carry must be True, False or a list of names of columns, got 'region'
    """
    if isinstance(carry, bool):
        return carry
    names = () if isinstance(carry, str) or not isinstance(carry, Iterable) else tuple(carry)
    if (
        isinstance(carry, str)
        or not isinstance(carry, Iterable)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ArgumentTypeError(
            f"carry must be True, False or a list of names of columns, got {carry!r}"
        )
    return tuple(dict.fromkeys(names))


def carried_fields(
    units: DataFrame, carry: bool | Collection[str], result: pa.Schema
) -> list[StructField]:
    """Return the columns of a table that stand beside the result of a transform, in the order of
    the table.
    """
    if carry is False:
        return []
    fields = list(units.schema.fields)
    if carry is True:
        names = [field.name for field in fields if field.name not in INPUT_COLUMNS]
    else:
        names = list(carry)
    if not is_case_sensitive(units):
        there = {name.lower(): name for name in units.columns}
        names = [name if name in units.columns else there.get(name.lower(), name) for name in names]
    for name in names:
        if name not in units.columns:
            near = get_close_matches(name, units.columns, 1, 0.5)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise ArgumentTypeError(
                f"the table has no column {name} to carry; it has {', '.join(units.columns)}{meant}"
            )
    counts = Counter(name.lower() for name in units.columns)
    twice = [name for name in names if counts[name.lower()] > 1]
    if twice:
        raise ArgumentError(
            f"the table has two columns {twice[0]}: rename one, or leave them out with carry="
        )
    check_carried(names, result)
    carried = [field for field in fields if field.name in names]
    for field in carried:
        try:
            arrow_form(field.dataType)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(
                f"column {field.name} cannot be carried, {error}: cast it, or leave it out with carry="
            ) from None
    return carried


def arrow_form(kind: DataType) -> DataType:
    """Return the type as which Spark reads a column that comes back from Arrow: it is cast to
    ``kind`` where that is another.

    Arrow's texts have no collation and its durations no units.

    Examples
    --------
    >>> arrow_form(ArrayType(DayTimeIntervalType(0, 0))).simpleString()
    'array<interval day to second>'
    """
    if isinstance(kind, StringType):
        return StringType()
    if isinstance(kind, DayTimeIntervalType):
        return DayTimeIntervalType()
    if isinstance(kind, ArrayType):
        return ArrayType(arrow_form(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType) and not isinstance(kind.keyType, NullType):
        return MapType(arrow_form(kind.keyType), arrow_form(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, StructType) and len(set(kind.names)) == len(kind.names):
        fields = []
        for field in kind:
            form = arrow_form(field.dataType)
            fields.append(StructField(field.name, form, field.nullable, field.metadata))
        return StructType(fields)
    if (
        isinstance(kind, MapType | StructType | UserDefinedType)
        or type(kind).__name__ in _WITHOUT_ARROW
    ):
        raise ArgumentTypeError(f"because Arrow for Python has no {kind.simpleString()}")
    return kind


def through_arrow(
    units: DataFrame,
    read: Collection[str],
    carried: Collection[StructField],
    send: Callable[..., DataFrame],
) -> DataFrame:
    """Send columns that are read, and those to carry, through workers."""
    # PySpark's mapInArrow cannot send a column whose name has a dot, so other names stand in for
    # those to carry.
    names, back = {}, []
    for n, field in enumerate(carried):
        name = field.name if field.name in read else f"carried_{n}"
        names[field.name] = name
        form = arrow_form(field.dataType)
        back.append(StructField(name, form, field.nullable, field.metadata))
    also = [F.col(quoted(name)).alias(sent) for name, sent in names.items() if name not in read]
    result = send(units.select(*read, *also), [*names.values()], back)
    if not carried:
        return result
    own = result.columns[: len(result.columns) - len(carried)]
    restored = [_as(F.col(names[field.name]), field) for field in carried]
    return result.select(*own, *restored)


def _as(column: Column, field: StructField) -> Column:
    """Return a column that came back, in the type of a field and under its name."""
    if arrow_form(field.dataType) == field.dataType:
        return column.alias(field.name)
    metadata: dict[str, Any] = {"metadata": field.metadata} if field.metadata else {}
    return column.cast(field.dataType).alias(field.name, **metadata)
