"""The column functions under SQL names."""

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from spark_udfs import closed_form, columns, figures
from spark_udfs.figures import METRICS_DDL
from spark_udfs.functions import OWNERS_DDL, OWNERS_OR_ERROR_DDL, arrow_function

_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "allocate": (columns.owners, OWNERS_DDL),
    "allocate_or_error": (columns.owners_or_error, OWNERS_OR_ERROR_DDL),
    "assignment_metrics": (figures.assignment_metrics, METRICS_DDL),
    "moved": (figures.moved, "int"),
    "least_moves": (figures.least_moves, "int"),
}


def register_all(spark: SparkSession, prefix: str = "rmq_") -> None:
    """Make the functions of `spark_udfs.functions` known to a session's SQL, as temporary functions.

    ====================================================================================================== ==============
    ``rmq_allocate(strategy, queues, clients [, topic [, virtual_nodes [, machine_rooms]]])``              ARRAY<INT>
    ``rmq_allocate_or_error(``\\ the same\\ ``)``                                                            STRUCT
    ``rmq_assignment_metrics(owners, n_clients)``                                                          STRUCT
    ``rmq_moved(owners_before, clients_before, owners_after, clients_after)``                              INT
    ``rmq_least_moves(``\\ the same\\ ``)``                                                                  INT
    ``rmq_allocate_by_count(strategy, n_queues, n_clients)``                                               ARRAY<INT>
    ``rmq_metrics_by_count(n_queues, n_clients)``                                                          STRUCT
    ``rmq_moved_by_count(strategy, n_queues, n_clients_before, n_clients_after)``                          INT
    ====================================================================================================== ==============

    Arguments may be named, as in ``virtual_nodes => 160``, and each may be a literal or a column. The last three are plain
    SQL, the others run in Python workers. Parameters that a row's strategy does not take are not read.

    A bad row is NULL. A strategy and parameters that are the same in all rows of an Arrow batch, as literals are, and with
    which no row could be allocated, are an error of ``rmq_allocate``; ``rmq_allocate_or_error`` has it in its ``error``.

    Parameters
    ----------
    spark : SparkSession
        Of Spark itself or of Spark Connect.
    prefix : str
        What the names begin with.

    Raises
    ------
    ValueError
        ``prefix`` cannot begin a name.

    Examples
    --------
    >>> from spark_udfs import register_all
    >>> register_all(spark)  # doctest: +SKIP
    >>> spark.sql("SELECT rmq_allocate('AVG', 4, 3) AS owners").first().owners  # doctest: +SKIP
    [0, 0, 1, 2]
    """
    if not re.fullmatch(r"([A-Za-z_]\w*)?", prefix, re.ASCII):
        raise ValueError(f"prefix must be letters, digits and underscores and begin with no digit, got {prefix!r}")
    for name, (body, return_type) in _FUNCTIONS.items():
        spark.udf.register(prefix + name, arrow_function(body, return_type))
    for statement in closed_form.sql_functions(prefix):
        spark.sql(statement)
