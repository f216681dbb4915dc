"""Columns of a DataFrame as they are read: names without regard to case, as in Spark, and types for
nulls in lists.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.arrow_columns import SPARK_LISTS

_FIELDS = ("broker_name", "queue_id", "read_queue_nums")


def is_case_sensitive(frame: DataFrame) -> bool:
    """Return True if the session of a table tells names by their case."""
    return str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def with_names(frame: DataFrame, names: Iterable[str], what: str = "the table") -> DataFrame:
    """Return a table in which columns that differ from the names in case alone have these; others
    stay as they are.
    """
    if is_case_sensitive(frame):
        return frame
    for name in names:
        alike = [one for one in frame.columns if one.lower() == name]
        if len(alike) > 1:
            raise ArgumentError(
                f"{what} has the columns {' and '.join(alike)}, which Spark does not distinguish: rename or drop all but one"
            )
        if alike and alike[0] != name:
            frame = frame.withColumnRenamed(alike[0], name)
    return frame


def readable(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a table with the columns and fields that are read under their names, and with types
    for lists that have none.

    ``array()`` makes such lists, which hold nothing: Arrow has no lists of no type that hold no
    nulls.
    """
    frame = with_names(frame, names)
    is_exact = is_case_sensitive(frame)
    for field in [one for one in frame.schema.fields if one.name in SPARK_LISTS]:
        kind = field.dataType
        if kind.simpleString() == "array<void>":
            frame = frame.withColumn(field.name, F.col(field.name).cast(SPARK_LISTS[field.name]))
        elif (
            not is_exact
            and isinstance(kind, ArrayType)
            and (entry := _with_fields(kind.elementType)) != kind.elementType
        ):
            frame = frame.withColumn(
                field.name, F.col(field.name).cast(ArrayType(entry, kind.containsNull))
            )
    return frame


def _with_fields(entry: DataType) -> DataType:
    """Return the type of a queue or a broker with the names of the fields that are read."""
    if not isinstance(entry, StructType):
        return entry
    read = [name for name in _FIELDS if name not in entry.names]
    return StructType(
        [
            StructField(
                one.name.lower() if one.name.lower() in read else one.name,
                one.dataType,
                one.nullable,
            )
            for one in entry
        ]
    )
