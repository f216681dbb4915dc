"""The sources of a job's units: files in any format that Spark reads, or a table.

What a path names is answered by `rmqalloc.evaluation.unit_files`, before it is known who reads:
workers by themselves, or Spark, which is given the files one by one. Only Spark can look at a path
that a session of Spark Connect does not see as files.
"""

import base64
import re
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.evaluation.unit_files import (
    TABLE_MARKS,
    ArrowTree,
    OwnColumns,
    Tree,
    UnitFile,
    columns_of_files,
    listed_files,
    matched,
    read_columns,
    refuse_table,
)  # fmt: skip
from rmqalloc.text import without_secrets
from spark_udfs.job import _hadoop as hadoop
from spark_udfs.job._hadoop import literally
from spark_udfs.job._on_worker import on_worker, worker_path
from spark_udfs.map_in_arrow import quoted

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro")
"""Formats that are files; others (Delta, JDBC, ...) are known by a version or by their rows."""

_FAULT = "unit_err_msg"
_TEXT_FORMS = {
    "brokers": "array<struct<broker_name string, read_queue_nums int>>",
    "queues": "array<struct<broker_name string, queue_id int>>",
    "client_ids": "array<string>",
    "broker_rooms": "array<string>",
    "client_rooms": "array<string>",
}


class UnitSource(NamedTuple):
    """A source of units."""

    path: str = ""
    """File, directory or pattern, as Spark names them; "" for a format that needs none."""
    format: str = "parquet"  # Spark's name of it
    options: Mapping[str, str] = MappingProxyType({})  # options of Spark's reader
    table: str = ""  # name of a table, which is then read instead

    def __str__(self) -> str:
        return self.table or self.path or self.format

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the units with Spark: the used columns of Parquet, or all columns of other formats as
        stored.
        """
        reader = spark.read.options(**self._options())
        if self.table:
            return reader.table(self.table)
        if self.is_parquet:
            found = found_files(self, spark)
            return _as_spark_lists(spark, self.path) if found is None else _frame(spark, found)
        places = self.places(spark)
        if places is None:
            return reader.format(self.format).load(self.path or None)
        scheme = _scheme(self.path, spark)
        return reader.format(self.format).load([literally(scheme + place) for place in places])

    @property
    def is_parquet(self) -> bool:
        """Return whether this is Parquet that is read by our rules, and not by options of Spark's
        reader.
        """
        return bool(self.path and self.format == "parquet" and not self.table and not self.options)

    @property
    def shown(self) -> str:
        """The source in the form for messages."""
        return without_secrets(str(self))

    def places(self, spark: SparkSession) -> list[str] | None:
        """Return the files of a path, see `matched`; None if the source has no path, or if only Spark
        can list it.
        """
        has_path = self.path and not self.table and self.format in FILE_FORMATS
        return (_at_path(self.path, spark, _names) or None) if has_path else None

    def _options(self) -> dict[str, str]:
        # Files of comma-separated values need names for their columns.
        return {"header": "true", **self.options} if self.format == "csv" else dict(self.options)


class FoundFiles(NamedTuple):
    """Files of Parquet that a path names."""

    files: list[UnitFile]
    schema: pa.Schema  # as in `rmqalloc.evaluation.unit_files.UnitFiles`
    columns: list[OwnColumns]  # of each file
    scheme: str  # "file:" where every worker sees them


def found_files(source: UnitSource, spark: SparkSession) -> FoundFiles | None:
    """Return the files of a source of Parquet; None if only Spark can list them, or it is none."""
    if not source.is_parquet:
        return None
    found = _at_path(source.path, spark, _with_columns, source.shown)
    if found is None:
        return None
    rows, *encoded = found
    files = []
    for name, n_bytes, changed, partition in rows:
        files.append(UnitFile(name, n_bytes, changed, tuple(map(tuple, partition))))
    schema, *own = map(_decoded, encoded)
    columns = [{field.name.lower(): field for field in fields} for fields in own]
    return FoundFiles(files, schema, columns, _scheme(source.path, spark))


def _at_path(path: str, spark: SparkSession, look: Callable[..., Any], *arguments: str) -> Any:
    """Look at a path in the store that it is in: here if files are here, otherwise in a worker or
    through Java; None if only Spark can.

    What ``look`` returns is plain data, for it may come from another machine.
    """
    local = worker_path(path, spark)
    has_bridge = hadoop.bridge(spark) is not None
    if local is None:
        place = path.rstrip("/") or "/"
        return look(hadoop.HadoopTree(spark), place, *arguments) if has_bridge else None
    if has_bridge and str(spark.conf.get("spark.master", "")).startswith("local"):
        return look(ArrowTree(), local, *arguments)
    return on_worker(spark, _on_disk, look, local, *arguments)


def _on_disk(look: Callable[..., Any], *arguments: str) -> Any:
    return look(ArrowTree(), *arguments)


def _names(tree: Tree, path: str) -> list[str]:
    return list(matched(tree, path))


def _states(tree: Tree, path: str, shown: str) -> list[list[Any]]:
    files = listed_files(tree, path, shown)
    return [[file.path, file.n_bytes, file.changed] for file in files]


def _with_columns(tree: Tree, path: str, shown: str) -> list[Any]:
    files = listed_files(tree, path, shown)
    schema, columns = columns_of_files(files, tree)
    own = (pa.schema(fields.values()) for fields in columns)
    return [[list(file) for file in files], _encoded(schema), *map(_encoded, own)]


def _encoded(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize()).decode()


def _decoded(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _scheme(path: str, spark: SparkSession) -> str:
    """Return what stands before a path that `_at_path` gives, so that Spark finds it."""
    return "" if worker_path(path, spark) is None else "file:"


def identity(source: UnitSource, spark: SparkSession) -> Any | None:
    """Return plain data that no other state of a source's files has; None if it has no files of its
    own.

    It has size and time of the last change of each file, and its etag if the file system has one.
    """
    if source.table or source.format not in FILE_FORMATS:
        return None
    files: list[list[Any]] | None = None
    if source.is_parquet:
        files = _at_path(source.path, spark, _states, source.shown)
    if files is None:
        paths = [literally(unquote(name)) for name in source.read(spark).inputFiles()]
        if not paths:
            return []
        rows = spark.read.format("binaryFile").load(paths)
        rows = rows.select("path", "length", F.unix_micros("modificationTime"))
        files = sorted((list(row) for row in rows.collect()), key=str)
    if hadoop.bridge(spark) is not None and worker_path(source.path, spark) is None:
        etags = hadoop.etags(spark, sorted({path.rpartition("/")[0] for path, *_ in files}))
        files = [[*file, etags[file[0]]] if file[0] in etags else file for file in files]
    return files


def _frame(spark: SparkSession, found: FoundFiles) -> DataFrame:
    """Read files with Spark, those together that spell and type their columns alike."""
    alike: dict[Any, list[tuple[UnitFile, OwnColumns]]] = {}
    for file, own in zip(found.files, found.columns, strict=True):
        root, *_ = file.path.rsplit("/", len(file.partition) + 1)
        base = root if file.partition else ""
        key = (base, *own.items(), *(name for name, _ in file.partition))
        alike.setdefault(key, []).append((file, own))
    parts = []
    for (base, *_), members in alike.items():
        first, own = members[0]
        directories = [name for name, _ in first.partition]
        kinds = []
        for column in own.values():
            if column.name not in directories and not pa.types.is_null(column.type):
                kinds.append(StructField(column.name, _spark_type(column.type, _AS_READ)))
        kinds += [StructField(name, StringType()) for name in directories]
        reader = spark.read.schema(StructType(kinds))
        if base:
            reader = reader.option("basePath", found.scheme + base)
        rows = reader.parquet(*(literally(found.scheme + file.path) for file, _ in members))
        columns_of_all = []
        for wanted in found.schema:
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
    shown = without_secrets(path)
    if _is_there(spark, literally(path)):
        path = literally(path)
    marks = {**TABLE_MARKS, "metadata/*.metadata.json": "Iceberg"}
    for mark, kind in marks.items():
        if _is_there(spark, f"{path.rstrip('/')}/{mark}"):
            refuse_table(shown, mark, kind)
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
                f"{shown}: the files have different types of the column {name}; write one type in all of them"
            )
        columns.append(F.col(quoted(own)).alias(name))
    return spark.read.schema(whole).parquet(path).select(*columns)


def _is_there(spark: SparkSession, pattern: str) -> bool:
    """Return True if Spark finds something."""
    try:
        _ = spark.read.format("text").load(pattern).schema
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
    return True


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

    Text that is not such JSON makes a bad row, whose ``unit_err_msg`` says so; ``<name>_text`` keeps
    it.

    Examples
    --------
    >>> parsed(spark.read.option("header", True).csv("fleet.csv")).columns  # doctest: +SKIP
    ['consumer_group', 'topic', 'brokers', 'client_ids', 'brokers_text', 'client_ids_text', 'unit_err_msg']
    """
    texts = [field.name for field in units.schema.fields if isinstance(field.dataType, StringType)]
    made: dict[str, Column] = {}
    faults = [F.col(_FAULT)] if _FAULT in units.columns else []
    for name, form in _TEXT_FORMS.items():
        if name in texts:
            read = F.from_json(name, form)
            made |= {f"{name}_text": F.col(name), name: read}
            is_other = F.col(name).isNotNull() & read.isNull()
            faults.append(F.when(is_other, F.lit(f"{name} is not {form} as JSON")))
    if made:
        made[_FAULT] = F.coalesce(*faults)
    if "virtual_nodes" in texts:  # a text that is no number must not fall back to the spec's
        number = F.coalesce(F.expr("try_cast(virtual_nodes AS int)"), F.lit(-1))
        made["virtual_nodes"] = F.when(F.col("virtual_nodes").isNotNull(), number)
    return units.withColumns(made) if made else units
