"""Tables with versions: the present version, and how to read exactly that, whatever is committed in the meantime."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_udfs.map_in_arrow import quoted

_CHOSEN = ("versionasof", "timestampasof", "snapshot-id", "as-of-timestamp", "branch", "tag", "startingversion")
"""Options by which a caller chooses the version; it is then not pinned here."""


class Pin(NamedTuple):
    """A version of a table."""

    identity: Any  # unique to this version, even if a table of the same name was dropped and created again
    read: Callable[[], DataFrame]  # its rows
    now: Callable[
        [], Any
    ]  # the present identity of that version; it differs if the table was dropped and created again
    files: Callable[
        [], list[str] | str
    ]  # URIs of its Parquet files; or why they do not hold the rows as they are: a text


def pin(spark: SparkSession, table: str, path: str, form: str, options: Mapping[str, str]) -> Pin | None:
    """Return the present version of a Delta or Iceberg table; None for any other source."""
    if any(name.lower() in _CHOSEN for name in options):
        return None
    kind = _provider(spark, table) if table else form.lower()
    if kind not in ("delta", "iceberg"):
        return None
    find = _delta if kind == "delta" else _iceberg
    reader = spark.read.options(**options)
    version, identity = find(spark, table, path)
    if identity is None:  # the table is empty and has no version
        return None

    def read() -> DataFrame:
        if table:
            return spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}")
        return reader.format(kind).option("versionAsOf", str(version)).load(path)

    def files() -> list[str] | str:
        return (
            _delta_files(spark, table, path, read()) if kind == "delta" else _iceberg_files(spark, table, path, version)
        )

    return Pin(identity, read, lambda: find(spark, table, path, version)[1], files)


def newest(spark: SparkSession, kind: str, table: str) -> int:
    """Return the number of a table's present version, -1 if it has none; ``kind`` is "delta" or "iceberg"."""
    return (_delta if kind == "delta" else _iceberg)(spark, table, "")[0]


def _provider(spark: SparkSession, table: str) -> str:
    """Return the provider of a table; "" if there is none, as for a view."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Provider'").collect()
    except PySparkException:
        return ""
    return str(rows[0]["data_type"]).lower() if rows else ""


def _delta(spark: SparkSession, table: str, path: str, version: int | None = None) -> tuple[int, Any]:
    """Return a version, by default the latest, and its identity."""
    name = table or f"delta.{quoted(path)}"
    history = spark.sql(f"DESCRIBE HISTORY {name}").select("version", F.unix_micros("timestamp").alias("at"))
    wanted = history if version is None else history.where(F.col("version") == version)
    row = wanted.orderBy(F.desc("version")).first()
    table_id = spark.sql(f"DESCRIBE DETAIL {name}").select("id").first()
    if row is None:
        return -1, None
    assert table_id is not None
    return row["version"], ["delta", table_id["id"], row["version"], row["at"]]


def _delta_files(spark: SparkSession, table: str, path: str, version: DataFrame) -> list[str] | str:
    """Return `Pin.files` of Delta; rows that are deleted in the files are found by counting."""
    name = table or f"delta.{quoted(path)}"
    detail = spark.sql(f"DESCRIBE DETAIL {name}").select("properties").first()
    assert detail is not None
    if (detail["properties"] or {}).get("delta.columnMapping.mode", "none") != "none":
        return "its files have other names for the columns (delta.columnMapping.mode)"
    return list(version.inputFiles())


def _iceberg_files(spark: SparkSession, table: str, path: str, version: int) -> list[str] | str:
    """Return `Pin.files` of Iceberg."""
    if table:
        files = spark.sql(f"SELECT * FROM {table}.files VERSION AS OF {version}")
    else:
        files = spark.read.format("iceberg").option("versionAsOf", str(version)).load(f"{path}#files")
    rows = files.select("content", "file_format", "file_path").collect()
    if any(row["content"] for row in rows):
        return "it has files of deletes"
    if other := {row["file_format"] for row in rows} - {"PARQUET"}:
        return f"it has files of {other.pop()}"
    at = f"{table}.metadata_log_entries" if table else f"{path}#metadata_log_entries"
    newest = spark.read.format("iceberg").load(at).orderBy(F.desc("timestamp")).first()
    assert newest is not None
    [metadata] = spark.read.option("wholetext", True).text(newest["file"]).collect()
    if len(json.loads(metadata["value"])["schemas"]) > 1:  # a column of that name may be another one in older files
        return "its columns have changed"
    return [row["file_path"] for row in rows]


def _iceberg(spark: SparkSession, table: str, path: str, version: int | None = None) -> tuple[int, Any]:
    """Return a version as in `_delta`; a snapshot's id is random, so it is identity enough."""
    snapshots = spark.table(f"{table}.refs") if table else spark.read.format("iceberg").load(f"{path}#refs")
    if version is None:
        row = snapshots.where("name = 'main'").select("snapshot_id").first()
    else:
        every = spark.table(f"{table}.snapshots") if table else spark.read.format("iceberg").load(f"{path}#snapshots")
        row = every.where(F.col("snapshot_id") == version).select("snapshot_id").first()
    return (-1, None) if row is None else (row["snapshot_id"], ["iceberg", table or path, row["snapshot_id"]])
