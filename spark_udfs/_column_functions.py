"""Functions of columns from functions of Arrow arrays, on every release of PySpark.

From 4.1 on PySpark calls a function with Arrow arrays (``arrow_udf``). Before, it calls one with
pandas' series (``pandas_udf``), and `spark_udfs._arrow_series` converts them. Both give the same
answers.

All are deterministic: Spark evaluates equal calls of one projection together, lets filters of other
columns run first, and allows them in aggregates and joins. The price is that a filter by a result
runs before the projection that has the result, and evaluates it for itself.
"""

from collections.abc import Callable
from typing import Any

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_udfs import _arrow_figures as arrow_figures
from spark_udfs import _named_owners as named_owners
from spark_udfs._arrow_figures import METRICS_DDL
from spark_udfs._arrow_owners import allocate_arrays
from spark_udfs._arrow_plan import plan_array, plans_ddl
from spark_udfs._arrow_series import on_series
from spark_udfs._named_owners import NAMED_DDL, OWNERS_DDL, OWNERS_OR_ERROR_DDL
from spark_udfs.requirements import require_spark
from spark_udfs.sent import Sent

__all__ = ["FUNCTIONS", "HAS_ARROW_FUNCTIONS", "arrow_function", "sql_function"]

require_spark(pyspark.__version__)

_PYSPARK: Any = F  # its stubs lack both kinds of functions

HAS_ARROW_FUNCTIONS = hasattr(F, "arrow_udf")
"""Whether this release of PySpark calls functions with Arrow arrays."""

Body = Callable[..., Any]


FUNCTIONS: dict[str, tuple[Body, str]] = {
    "allocate": (named_owners.allocate, OWNERS_DDL),
    "try_allocate": (named_owners.try_allocate, OWNERS_DDL),
    "allocate_or_error": (allocate_arrays, OWNERS_OR_ERROR_DDL),
    "owners": (named_owners.owners, NAMED_DDL),
    "try_owners": (named_owners.try_owners, NAMED_DDL),
    "plan": (plan_array, plans_ddl("metrics")),
    "assignment_metrics": (arrow_figures.assignment_metrics, METRICS_DDL),
    "moved": (arrow_figures.moved, "int"),
    "least_moves": (arrow_figures.least_moves, "int"),
}
"""What workers run, and its type as DDL text, by the name that Spark shows."""


def arrow_function(body: Body, return_type: str) -> Callable[..., Column]:
    """Return a function of columns that runs ``body`` on Arrow arrays in Python workers; Spark
    shows it by the name of ``body``.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> spark.range(2).select(arrow_function(pc.negate, "bigint")("id")).collect()[1][0]  # doctest: +SKIP
    -1
    """
    if HAS_ARROW_FUNCTIONS or not _is_struct(return_type):
        made: Callable[..., Column] = sql_function(body, return_type)
        return made
    # A function of pandas returns structs as a data frame, which has no null rows, but lists of
    # structs as they are.
    listed = _pandas_function(body, f"array<{return_type}>", "structs")
    return lambda *columns: listed(*columns).getItem(0)


def sql_function(body: Body, return_type: str) -> Any:
    """Return the function as SQL can register it; without `HAS_ARROW_FUNCTIONS` a null struct is a
    struct of nulls.
    """
    if HAS_ARROW_FUNCTIONS:
        return _PYSPARK.arrow_udf(Sent(body), returnType=return_type)
    return _pandas_function(body, return_type, "frame" if _is_struct(return_type) else "array")


def _pandas_function(body: Body, return_type: str, form: str) -> Any:
    """Return a function of series."""
    function = on_series(body, form)
    function.__name__ = body.__name__
    return _PYSPARK.pandas_udf(Sent(function, "pandas"), returnType=return_type)


def _is_struct(return_type: str) -> bool:
    return return_type.startswith("struct")
