"""Columns of a DataFrame as they are read: names without regard to case, as in Spark, and types for nulls in lists."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, IntegerType, NullType, StringType, StructField, StructType

from rmqalloc.errors import ArgumentError
from spark_udfs.map_in_arrow import quoted

_NUMBERS = ("read_queue_nums", "queue_id")
_ENTRIES = {"brokers": ("broker_name", "read_queue_nums"), "queues": ("broker_name", "queue_id")}


def is_case_sensitive(frame: DataFrame) -> bool:
    """Return True if the session of a table tells names by their case."""
    return str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def with_names(frame: DataFrame, names: Iterable[str], what: str = "the table") -> DataFrame:
    """Return a table in which columns that differ from the names in case alone have these; others stay as they are."""
    if is_case_sensitive(frame):
        return frame
    for name in names:
        alike = [one for one in frame.columns if one.lower() == name]
        if len(alike) > 1:
            raise ArgumentError(
                f"{what} has the columns {' and '.join(alike)}, which Spark does not tell apart: rename or drop all but one"
            )
        if alike and alike[0] != name:
            frame = frame.withColumnRenamed(alike[0], name)
    return frame


def readable(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a table with the columns and fields that are read under their names, and with types for nulls in lists."""
    frame = with_names(frame, names)
    is_exact = is_case_sensitive(frame)
    for field in [one for one in frame.schema.fields if one.name in names]:
        kind = _typed(field.dataType, field.name, is_exact) if isinstance(field.dataType, ArrayType) else field.dataType
        if kind != field.dataType:
            frame = frame.withColumn(field.name, F.col(quoted(field.name)).cast(kind))
    return frame


def _typed(kind: DataType, name: str, is_exact: bool) -> DataType:
    """Return the type of a column or field of this name, with the names of fields in lower case where they are read."""
    if isinstance(kind, ArrayType):
        if isinstance(kind.elementType, NullType) and name in _ENTRIES:
            return ArrayType(
                StructType([StructField(one, _typed(NullType(), one, is_exact)) for one in _ENTRIES[name]])
            )
        return ArrayType(_typed(kind.elementType, name, is_exact), kind.containsNull)
    if isinstance(kind, StructType):
        read = {one for one in _ENTRIES.get(name, ()) if one not in kind.names and not is_exact}
        named = [(one.name.lower() if one.name.lower() in read else one.name, one) for one in kind]
        return StructType([StructField(new, _typed(one.dataType, new, is_exact), one.nullable) for new, one in named])
    if isinstance(kind, NullType):
        return IntegerType() if name in _NUMBERS else StringType()
    return kind
