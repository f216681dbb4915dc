"""Where a job's units come from: files in any format that Spark reads, or a table."""

import os
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from rmqalloc.whatif.bulk import INPUT_COLUMNS

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro")
"""Formats whose files can be read one by one; others (Delta, JDBC, ...) are cut by hash."""

BUCKETS = 32
"""Buckets of a source of files at most."""

HASHED_BUCKETS = 8
"""Buckets of any other source: each reads all of it, so there are few."""

_TEXT_FORMS = {
    "brokers": "array<struct<broker_name string, read_queue_nums int>>",
    "queues": "array<struct<broker_name string, queue_id int>>",
    "client_ids": "array<string>",
    "broker_rooms": "array<string>",
    "client_rooms": "array<string>",
}


class Source(NamedTuple):
    """What to read.

    Attributes
    ----------
    path : str
        File, directory or pattern, as Spark names them; "" for a format that needs none.
    format : str
        Spark's name of it.
    options : mapping of str to str
        Options of Spark's reader.
    table : str
        Name of a table, which is then read instead.
    """

    path: str = ""
    format: str = "parquet"
    options: Mapping[str, str] = MappingProxyType({})
    table: str = ""

    def __str__(self) -> str:
        return self.table or self.path or self.format

    def read(self, spark: SparkSession) -> DataFrame:
        """The units as they are there."""
        reader = spark.read.options(**self._options())
        if self.table:
            return reader.table(self.table)
        return reader.format(self.format).load(self.path or None)

    def _options(self) -> dict[str, str]:
        # Files of comma-separated values need names for their columns.
        return {"header": "true", **self.options} if self.format == "csv" else dict(self.options)

    def read_files(self, spark: SparkSession, files: list[str], like: DataFrame) -> DataFrame:
        """The units of some files, in the columns of all."""
        reader = spark.read.format(self.format).options(**self._options()).schema(like.schema)
        directory = not any(file.endswith("/" + os.path.basename(self.path.rstrip("/"))) for file in files)
        if directory and not re.search(r"[*?{\[]", self.path):
            reader = reader.option("basePath", self.path)
        return reader.load([literally(file) for file in files])


class Cut(NamedTuple):
    """A source in buckets.

    Attributes
    ----------
    identity : object
        What of the input a plan depends on, as plain data.
    bucket : callable
        The units of a bucket by its number.
    n_buckets : int
        How many there are.
    n_units : int, optional
        Rows in all, where they had to be counted.
    """

    identity: Any
    bucket: Callable[[int], DataFrame]
    n_buckets: int
    n_units: int | None = None


def cut(source: Source, spark: SparkSession) -> Cut:
    """Cut a source into buckets: by files where it has such, else by hash of group and topic."""
    units = source.read(spark)
    files = [unquote(name) for name in units.inputFiles()] if _is_files(source) else []
    if not files:
        return _by_hash(units)
    listing = spark.read.format("binaryFile").load([literally(file) for file in files])
    rows = listing.select("path", "length", F.unix_micros("modificationTime").alias("changed")).collect()
    found = sorted((row["path"], row["length"], row["changed"]) for row in rows)
    n_buckets = min(len(found), BUCKETS)
    bounds = [len(found) * i // n_buckets for i in range(n_buckets + 1)]

    def bucket(number: int) -> DataFrame:
        names = [name for name, *_ in found[bounds[number] : bounds[number + 1]]]
        return source.read_files(spark, names, units)

    return Cut(found, bucket, n_buckets)


def _is_files(source: Source) -> bool:
    return not source.table and source.format in FILE_FORMATS


def literally(path: str) -> str:
    """A path in which no character stands for others."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _by_hash(units: DataFrame) -> Cut:
    """Buckets by hash; the input is known by the sum of hashes of its rows."""
    read = [F.col(name) for name in INPUT_COLUMNS if name in units.columns]
    hashes = F.sum(F.xxhash64(*read).cast("decimal(20,0)"))
    row = units.select(F.count(F.lit(1)).alias("n"), hashes.cast("string").alias("hashes")).first()
    assert row is not None
    number = F.pmod(F.xxhash64("consumer_group", "topic"), F.lit(HASHED_BUCKETS))
    return Cut([row["n"], row["hashes"]], lambda i: units.where(number == i), HASHED_BUCKETS, row["n"])


def parsed(units: DataFrame) -> DataFrame:
    """Lists that a source can hold as text only are read as JSON.

    A text that is none reads as null, and so makes a bad row; ``<name>_text`` keeps it.

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
    if "virtual_nodes" in texts:  # what is no number must not pass for the spec's
        number = F.coalesce(F.col("virtual_nodes").try_cast("int"), F.lit(-1))
        made["virtual_nodes"] = F.when(F.col("virtual_nodes").isNotNull(), number)
    return units.withColumns(made) if made else units
