"""Functions for ``DataFrame.transform``."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from rmqalloc import Fleet
from rmqalloc.whatif.bulk import INPUT_COLUMNS
from spark_udfs.arrow import ASSIGNED_DDL, AssignBatches


def assign(strategy: str = "CONSISTENT_HASH", **params: Any) -> Callable[[DataFrame], DataFrame]:
    """Assign the queues of every row's consumer group.

    Parameters
    ----------
    strategy : str
        RocketMQ's name of the strategy, e.g. ``"AVG"``, ``"AVG_BY_CIRCLE"``, ``"CONSISTENT_HASH"``.
    **params
        Its parameters, as `rmqalloc.strategy` takes them, e.g. ``virtual_nodes=160``.

    Returns
    -------
    callable
        From a table with columns ``consumer_group``, ``topic``, ``brokers`` (array of struct ``broker_name,
        read_queue_nums``) or ``queues`` (array of struct ``broker_name, queue_id``), and ``client_ids`` (array of
        string), to one of `rmqalloc.whatif.batch.ASSIGNED_SCHEMA` with a row for each of its rows. Nothing is shuffled,
        other columns do not leave the JVM, and a bad row becomes a row with an ``error``.

    Raises
    ------
    ValueError, TypeError
        At once if the strategy or a parameter is wrong, and when a table without the columns above is given.

    Examples
    --------
    >>> from spark_udfs.transforms import assign
    >>> owners = spark.read.parquet("fleet").transform(assign("AVG"))  # doctest: +SKIP
    """
    kernel = AssignBatches(strategy, **params)

    def transform(units: DataFrame) -> DataFrame:
        read = units.select([name for name in INPUT_COLUMNS if name in units.columns])
        # An empty table of the same types is refused here exactly as the worker would refuse the full one.
        Fleet.from_arrow(to_arrow_schema(read.schema).empty_table())
        return read.mapInArrow(kernel, ASSIGNED_DDL)

    return transform
