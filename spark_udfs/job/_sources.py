"""The sources of a job's units: files in any format that Spark reads, or a table.

Directories of Parquet are read by the rules of `rmqalloc.evaluation.unit_files`, whoever reads
them: workers by themselves, or Spark, which is given the files one by one.
"""

import base64
import re
from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.evaluation.unit_files import (
    OwnColumns,
    UnitFile,
    UnitFiles,
    columns_of_files,
    listed_files,
    read_columns,
    unit_files,
)  # fmt: skip
from spark_udfs.job import _hadoop as hadoop
from spark_udfs.job._on_worker import on_worker, worker_path
from spark_udfs.map_in_arrow import quoted

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro")
"""Formats that are files; others (Delta, JDBC, ...) are known by a version or by their rows."""

_TEXT_FORMS = {
    "brokers": "array<struct<broker_name string, read_queue_nums int>>",
    "queues": "array<struct<broker_name string, queue_id int>>",
    "client_ids": "array<string>",
    "broker_rooms": "array<string>",
    "client_rooms": "array<string>",
}


class UnitSource(NamedTuple):
    """Where to read units from."""

    path: str = ""
    """File, directory or pattern, as Spark names them; "" for a format that needs none."""
    format: str = "parquet"  # Spark's name of it
    options: Mapping[str, str] = MappingProxyType({})  # options of Spark's reader
    table: str = ""  # name of a table, which is then read instead

    def __str__(self) -> str:
        return self.table or self.path or self.format

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the units with Spark: of Parquet the columns that are read, else all as they are
        stored.
        """
        reader = spark.read.options(**self._options())
        if self.table:
            return reader.table(self.table)
        if not self.is_parquet:
            return reader.format(self.format).load(self.path or None)
        if not self._is_directory() or hadoop.bridge(spark) is None:
            return _as_spark_lists(spark, self.path)
        tree = hadoop.HadoopTree(spark)
        files = listed_files(tree, self._root(), self.path)
        return _frame(spark, self._root(), files, *columns_of_files(files, tree))

    @property
    def is_parquet(self) -> bool:
        """Return whether this is Parquet that is read by our rules, and not as options of Spark's
        reader say.
        """
        return bool(self.path and self.format == "parquet" and not self.table and not self.options)

    def _is_directory(self) -> bool:
        return self.is_parquet and not re.search(r"[*?{\[]", self.path)

    def _root(self) -> str:
        return self.path.rstrip("/") or "/"

    def _options(self) -> dict[str, str]:
        # Files of comma-separated values need names for their columns.
        return {"header": "true", **self.options} if self.format == "csv" else dict(self.options)


def files_of(source: UnitSource, spark: SparkSession) -> UnitFiles | None:
    """Return the files of a source that every worker sees as files of Parquet; None if only Spark
    may.
    """
    path = worker_path(source.path, spark) if source._is_directory() else None
    if path is None:
        return None
    is_local = str(spark.conf.get("spark.master", "")).startswith("local")
    if is_local and hadoop.bridge(spark) is not None:
        return unit_files(path)
    rows, encoded = on_worker(spark, _as_data, path)  # this process may run where the files are not
    files = []
    for name, n_bytes, changed, partition in rows:
        directories = tuple((key, value) for key, value in partition)
        files.append(UnitFile(name, n_bytes, changed, directories))
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))
    return UnitFiles(files, schema)


def _as_data(path: str) -> tuple[list[UnitFile], str]:
    files, schema = unit_files(path)
    return files, base64.b64encode(schema.serialize()).decode()


def identity(source: UnitSource, spark: SparkSession) -> Any | None:
    """Return plain data that no other state of a source's files has; None if it has no files of its
    own.
    """
    found = files_of(source, spark)
    if found is not None:
        return [[file.path, file.n_bytes, file.changed] for file in found.files]
    has_files = not source.table and source.format in FILE_FORMATS
    return _listed(source, spark) if has_files else None


def _listed(source: UnitSource, spark: SparkSession) -> list[list[Any]]:
    """Return the files of a source with size, time of the last change, and etag if the file system
    has one.
    """
    has_bridge = hadoop.bridge(spark) is not None
    files: list[list[Any]]
    if has_bridge and source._is_directory():
        found = listed_files(hadoop.HadoopTree(spark), source._root(), source.path)
        files = [[file.path, file.n_bytes, file.changed] for file in found]
    else:
        paths = [literally(unquote(name)) for name in source.read(spark).inputFiles()]
        if not paths:
            return []
        rows = spark.read.format("binaryFile").load(paths)
        rows = rows.select("path", "length", F.unix_micros("modificationTime"))
        files = [list(row) for row in rows.collect()]
    folders = sorted({path.rpartition("/")[0] for path, *_ in files})
    etags = hadoop.etags(spark, folders) if has_bridge else {}
    for file in files:
        path = file[0]
        if path in etags:
            file.append(etags[path])
    return sorted(files, key=str)


def _frame(
    spark: SparkSession,
    root: str,
    files: list[UnitFile],
    schema: pa.Schema,
    columns: list[OwnColumns],
) -> DataFrame:
    """Read files with Spark, those together that spell and type their columns alike."""
    alike: dict[Any, list[tuple[UnitFile, OwnColumns]]] = {}
    for file, own in zip(files, columns, strict=True):
        key = (*own.items(), *(name for name, _ in file.partition))
        alike.setdefault(key, []).append((file, own))
    parts = []
    for members in alike.values():
        first, own = members[0]
        directories = [name for name, _ in first.partition]
        kinds = []
        for column in own.values():
            if column.name not in directories and not pa.types.is_null(column.type):
                kinds.append(StructField(column.name, _spark_type(column.type, _AS_READ)))
        kinds += [StructField(name, StringType()) for name in directories]
        reader = spark.read.schema(StructType(kinds))
        if directories:
            reader = reader.option("basePath", root)
        rows = reader.parquet(*(literally(file.path) for file, _ in members))
        columns_of_all = []
        for wanted in schema:
            column = own[wanted.name]
            cast = _cast(F.col(quoted(column.name)), column.type, wanted.type)
            columns_of_all.append(cast.alias(wanted.name))
        parts.append(rows.select(*columns_of_all))
    return reduce(DataFrame.union, parts)


_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(),
}
_AS_READ = _SIGNED | {pa.uint64(): pa.decimal128(20, 0), pa.null(): pa.int32()}
"""Types by which Spark reads columns of a file."""


def _spark_type(
    kind: pa.DataType, numbers: Mapping[pa.DataType, pa.DataType] = _SIGNED
) -> DataType:
    """Return a plain type as Spark's."""
    if pa.types.is_list(kind):
        return ArrayType(_spark_type(kind.value_type, numbers))
    if pa.types.is_struct(kind):
        return StructType(
            [StructField(field.name, _spark_type(field.type, numbers)) for field in kind]
        )
    return from_arrow_type(numbers.get(kind, kind))


def _cast(column: Column, own: pa.DataType, wanted: pa.DataType) -> Column:
    """Give a column the type of all files, which differs from its own only where that is null or
    lacks a sign.
    """
    if pa.types.is_null(own):
        return F.lit(None).cast(_spark_type(wanted))
    if pa.types.is_uint64(own):  # too many queues are too many, whatever their number
        return F.least(column, F.lit(2**63 - 1)).cast("bigint")
    if not re.search("null|uint64", str(own)):
        return column
    if pa.types.is_list(own) and pa.types.is_null(own.value_type):
        # Spark fails to look at elements of type null.
        element = _cast(column, own.value_type, wanted.value_type)
        return F.when(column.isNotNull(), F.array_repeat(element, F.size(column)))
    if pa.types.is_list(own):
        return F.transform(
            column, lambda element: _cast(element, own.value_type, wanted.value_type)
        )
    if pa.types.is_struct(own):
        fields = []
        for field in own:
            cast = _cast(column.getField(field.name), field.type, wanted.field(field.name).type)
            fields.append(cast.alias(field.name))
        return F.when(column.isNotNull(), F.struct(*fields))
    return column


def _as_spark_lists(spark: SparkSession, path: str) -> DataFrame:
    """Read files that Spark alone lists; columns of directories stay text, and a file that has more
    columns is refused.
    """
    setting = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = spark.conf.get(setting, None)
    spark.conf.set(setting, "false")
    try:
        some, whole = (
            spark.read.option("mergeSchema", merge).parquet(path).schema
            for merge in ("false", "true")
        )
    finally:
        if before is None:
            spark.conf.unset(setting)
        else:
            spark.conf.set(setting, before)
    spelled = {name.lower(): name for name in whole.names}
    columns = []
    for name in read_columns([*spelled]):
        own = spelled[name]
        if own not in some.names or some[own].dataType != whole[own].dataType:
            raise ArgumentTypeError(
                f"{path}: not all files have the same column {name}; write one type in all of them"
            )
        columns.append(F.col(quoted(own)).alias(name))
    return spark.read.schema(whole).parquet(path).select(*columns)


def literally(path: str) -> str:
    """Return a path with its wildcard characters escaped."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def content(units: DataFrame) -> list[Column]:
    """Return a digest of rows in any order that can be summed over buckets: their number, and a sum
    of hashes.
    """
    whole = F.struct(*map(quoted, units.columns))
    # The hash ignores nulls, wherever they are; the text truncates times. Together they miss
    # neither.
    texts = F.to_json(whole, {"ignoreNullFields": "false"})
    # Spark cannot hash maps and variants.
    exact = []
    for field in units.schema.fields:
        kind = field.dataType.simpleString()
        if "map<" not in kind and "variant" not in kind:
            exact.append(quoted(field.name))
    hashes = F.sum(F.xxhash64(texts, *exact).cast("decimal(20,0)"))
    digest = F.coalesce(hashes, F.lit(0)).cast("string")
    return [F.count(F.lit(1)).alias("rows"), digest.alias("hashes")]


def parsed(units: DataFrame) -> DataFrame:
    """Read lists that a source holds as text from JSON.

    Text that is not JSON reads as null, which makes a bad row; ``<name>_text`` keeps it.

    Examples
    --------
    >>> parsed(spark.read.option("header", True).csv("fleet.csv")).columns  # doctest: +SKIP
    ['consumer_group', 'topic', 'brokers', 'client_ids', 'brokers_text', 'client_ids_text']
    """
    texts = [field.name for field in units.schema.fields if isinstance(field.dataType, StringType)]
    made: dict[str, Column] = {}
    for name, form in _TEXT_FORMS.items():
        if name in texts:
            made |= {f"{name}_text": F.col(name), name: F.from_json(name, form)}
    if "virtual_nodes" in texts:  # a text that is no number must not fall back to the spec's
        number = F.coalesce(F.col("virtual_nodes").try_cast("int"), F.lit(-1))
        made["virtual_nodes"] = F.when(F.col("virtual_nodes").isNotNull(), number)
    return units.withColumns(made) if made else units
