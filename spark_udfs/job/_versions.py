"""Tables with versions: the present version, and how to read exactly that, whatever is committed in
the meantime.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_udfs.map_in_arrow import quoted

_CHOSEN = (
    "versionasof",
    "timestampasof",
    "snapshot-id",
    "as-of-timestamp",
    "branch",
    "tag",
    "startingversion",
)
"""Options by which a caller chooses the version; it is then not pinned here."""


class Pin(NamedTuple):
    """A version of a table."""

    identity: Any  # unique to this version, even if a table of the same name was dropped and created again
    read: Callable[[], DataFrame]  # its rows
    now: Callable[
        [], Any
    ]  # the present identity of that version; it differs if the table was dropped and created again


def pin(
    spark: SparkSession, table: str, path: str, form: str, options: Mapping[str, str]
) -> Pin | None:
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

    return Pin(identity, read, lambda: find(spark, table, path, version)[1])


def newest(spark: SparkSession, kind: str, table: str) -> int:
    """Return the number of a table's present version, -1 if it has none; ``kind`` is "delta" or
    "iceberg".
    """
    return (_delta if kind == "delta" else _iceberg)(spark, table, "")[0]


def _provider(spark: SparkSession, table: str) -> str:
    """Return the provider of a table; "" if there is none, as for a view."""
    try:
        rows = (
            spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Provider'").collect()
        )
    except PySparkException:
        return ""
    return str(rows[0]["data_type"]).lower() if rows else ""


def _delta(
    spark: SparkSession, table: str, path: str, version: int | None = None
) -> tuple[int, Any]:
    """Return a version, by default the latest, and its identity."""
    name = table or f"delta.{quoted(path)}"
    history = spark.sql(f"DESCRIBE HISTORY {name}").select(
        "version", F.unix_micros("timestamp").alias("at")
    )
    wanted = history if version is None else history.where(F.col("version") == version)
    row = wanted.orderBy(F.desc("version")).first()
    table_id = spark.sql(f"DESCRIBE DETAIL {name}").select("id").first()
    if row is None:
        return -1, None
    assert table_id is not None
    return row["version"], ["delta", table_id["id"], row["version"], row["at"]]


def _iceberg(
    spark: SparkSession, table: str, path: str, version: int | None = None
) -> tuple[int, Any]:
    """Return a version as in `_delta`; a snapshot's id is random, so it is identity enough."""
    snapshots = (
        spark.table(f"{table}.refs") if table else spark.read.format("iceberg").load(f"{path}#refs")
    )
    if version is None:
        row = snapshots.where("name = 'main'").select("snapshot_id").first()
    else:
        every = (
            spark.table(f"{table}.snapshots")
            if table
            else spark.read.format("iceberg").load(f"{path}#snapshots")
        )
        row = every.where(F.col("snapshot_id") == version).select("snapshot_id").first()
    return (
        (-1, None)
        if row is None
        else (row["snapshot_id"], ["iceberg", table or path, row["snapshot_id"]])
    )
