"""``spark.read.format("rmqalloc")``: tables of a snapshot or of a running cluster. It needs Spark
4.0 or later.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyspark
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from spark_udfs._snapshot_tables import ALLOWED, TableRequest, rows_of_part

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

IS_SUPPORTED = find_spec("pyspark.sql.datasource") is not None  # not by Spark 3.5

if TYPE_CHECKING or IS_SUPPORTED:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
else:
    DataSource = DataSourceReader = InputPartition = object

__all__ = ["register"]

FORMAT = "rmqalloc"


def register(spark: SparkSession) -> None:
    """Make ``rmqalloc`` a format of the session's reader.

    Parameters
    ----------
    spark : SparkSession
        A classic one, or one of Spark Connect.

    Raises
    ------
    NotImplementedError
        Spark is older than 4.0, which brought data sources in Python.

    Notes
    -----
    Options: ``table`` (units, clients, routes, subscriptions, findings, left_out) and either ``snapshot``, a path as
    `rmqalloc.read` takes it, or ``name_server`` with options of `rmqalloc.fetch`. The source is read once, where the driver
    runs; executors need neither the file nor the network of the cluster.

    Where the driver has keys of a cluster (``acl_file``, or the environment), ``name_server`` must
    be in the session's setting ``rmqalloc.name_servers`` (``host:port``, parted by commas). It is
    read here, once: who can only write SQL cannot add to it.

    Examples
    --------
    >>> register(spark)  # doctest: +SKIP
    >>> units = spark.read.format("rmqalloc").option("snapshot", "cluster.json").load()  # doctest: +SKIP
    """
    if not IS_SUPPORTED:
        raise PySparkNotImplementedError(
            f'spark.read.format("{FORMAT}") needs Spark 4.0 or later, this is {pyspark.__version__}: '
            "read the snapshot with rmqalloc.read and hand its units to spark.createDataFrame"
        )
    # Spark makes the source in a process that has no session, so what the session allows travels
    # with the class.
    allowed = {"allowed": spark.conf.get(ALLOWED, ""), "__module__": __name__}
    spark.dataSource.register(type(ClusterTables.__name__, (ClusterTables,), allowed))


class ClusterTables(DataSource):
    """The data source; Spark makes it."""

    allowed = ""
    """Name servers that requests with keys may go to."""

    @classmethod
    def name(cls) -> str:
        """Return the name that ``format`` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns of the table."""
        return from_arrow_schema(TableRequest(self.options, self.allowed).schema)

    def reader(self, schema: StructType) -> ClusterReader:
        """Return a reader of the columns that ``schema`` names."""
        return ClusterReader(dict(self.options), schema, self.allowed)


class TablePart(InputPartition):
    """Some rows, as an Arrow stream."""

    def __init__(self, rows: bytes) -> None:
        self.rows = rows


class ClusterReader(DataSourceReader):
    """Reads the source once, for `partitions`, and hands out its parts."""

    def __init__(self, options: dict[str, str], schema: StructType, allowed: str) -> None:
        self._options, self._schema, self._allowed = options, schema, allowed

    def partitions(self) -> list[InputPartition]:
        """Return the parts of the table."""
        request = TableRequest(self._options, self._allowed)
        return [TablePart(rows) for rows in request.parts(to_arrow_schema(self._schema))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of a part."""
        assert isinstance(partition, TablePart)
        return rows_of_part(partition.rows)
