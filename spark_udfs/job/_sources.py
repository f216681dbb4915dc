"""The sources of a job's units: files in any format that Spark reads, or a table."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from rmqalloc.evaluation.unit_files import UnitFiles, unit_files
from spark_udfs.job import _hadoop as hadoop
from spark_udfs.job._on_worker import worker_path
from spark_udfs.map_in_arrow import quoted

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro")
"""Formats whose files can be read one by one; others (Delta, JDBC, ...) have none."""

_TEXT_FORMS = {
    "brokers": "array<struct<broker_name string, read_queue_nums int>>",
    "queues": "array<struct<broker_name string, queue_id int>>",
    "client_ids": "array<string>",
    "broker_rooms": "array<string>",
    "client_rooms": "array<string>",
}


class UnitSource(NamedTuple):
    """What to read."""

    path: str = ""  # file, directory or pattern, as Spark names them; "" for a format that needs none
    format: str = "parquet"  # Spark's name of it
    options: Mapping[str, str] = MappingProxyType({})  # options of Spark's reader
    table: str = ""  # name of a table, which is then read instead

    def __str__(self) -> str:
        return self.table or self.path or self.format

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the units, as they are stored."""
        reader = spark.read.options(**self._options())
        if self.table:
            return reader.table(self.table)
        return reader.format(self.format).load(self.path or None)

    def _options(self) -> dict[str, str]:
        # Files of comma-separated values need names for their columns.
        return {"header": "true", **self.options} if self.format == "csv" else dict(self.options)


def _listed(source: UnitSource, spark: SparkSession) -> list[list[Any]]:
    """Return the files of a source with size, time of the last change, and etag if the file system has one."""
    files = [unquote(name) for name in source.read(spark).inputFiles()]
    if not files:
        return []
    listing = spark.read.format("binaryFile").load([literally(file) for file in files])
    rows = listing.select("path", "length", F.unix_micros("modificationTime").alias("changed")).collect()
    etags = hadoop.etags(spark, sorted({name.rpartition("/")[0] for name in files})) if hadoop.bridge(spark) else {}
    found = ([row["path"], row["length"], row["changed"], etags.get(row["path"])] for row in rows)
    return sorted(([one for one in row if one is not None] for row in found), key=str)


def literally(path: str) -> str:
    """Return a path with its wildcard characters escaped."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def files_of(source: UnitSource, spark: SparkSession) -> UnitFiles | None:
    """Return the files where every worker sees the path as files."""
    path = worker_path(source.path, spark) if source.path and source.format == "parquet" and not source.table else None
    return unit_files(path) if path is not None and hadoop.bridge(spark) is not None else None


def identity(source: UnitSource, spark: SparkSession) -> Any:
    """Return plain data that pins a source of files; None for others."""
    return _listed(source, spark) if not source.table and source.format in FILE_FORMATS else None


def content(units: DataFrame) -> list[Column]:
    """Return a digest of rows in any order that can be summed over buckets: their number, and a sum of hashes."""
    whole = F.struct(*map(quoted, units.columns))
    # The hash ignores nulls, wherever they are; the text truncates times. Together they miss neither.
    texts = F.to_json(whole, {"ignoreNullFields": "false"})
    # Spark cannot hash maps and variants.
    kinds = {field.name: field.dataType.simpleString() for field in units.schema.fields}
    exact = [quoted(name) for name, kind in kinds.items() if "map<" not in kind and "variant" not in kind]
    hashes = F.coalesce(F.sum(F.xxhash64(texts, *exact).cast("decimal(20,0)")), F.lit(0))
    return [F.count(F.lit(1)).alias("rows"), hashes.cast("string").alias("hashes")]


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
