"""Functions of columns from functions of Arrow arrays, on every release of PySpark.

From 4.1 on PySpark calls a function with Arrow arrays (``arrow_udf``). Before, it calls one with
pandas' series (``pandas_udf``), and `spark_udfs._arrow_series` converts them. Both give the same
answers.
"""

from collections.abc import Callable
from typing import Any

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_udfs._arrow_series import on_series
from spark_udfs.requirements import require_spark

__all__ = ["HAS_ARROW_FUNCTIONS", "arrow_function", "sql_function"]

require_spark(pyspark.__version__)

HAS_ARROW_FUNCTIONS = hasattr(F, "arrow_udf")
"""Whether this release of PySpark calls functions with Arrow arrays."""


def arrow_function(body: Callable[..., Any], return_type: str) -> Callable[..., Column]:
    """Return a function of columns that runs ``body`` on Arrow arrays in Python workers.

    What has structs is marked nondeterministic; otherwise Spark would evaluate it once for every
    field that is read.

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


def sql_function(body: Callable[..., Any], return_type: str) -> Any:
    """Return the function as SQL can register it; without `HAS_ARROW_FUNCTIONS` a null struct is a
    struct of nulls.
    """
    if not HAS_ARROW_FUNCTIONS:
        return _pandas_function(body, return_type, "frame" if _is_struct(return_type) else "array")
    return _evaluated_once(_in_pyspark("arrow_udf")(body, returnType=return_type), return_type)


def _pandas_function(body: Callable[..., Any], return_type: str, form: str) -> Any:
    """Return a function of series, which PySpark recognises by its annotations."""
    import pandas as pd

    function = on_series(body, form)
    answer = pd.DataFrame if form == "frame" else pd.Series
    function.__annotations__ = {"series": pd.Series, "named": pd.Series, "return": answer}
    return _evaluated_once(_in_pyspark("pandas_udf")(function, returnType=return_type), return_type)


def _in_pyspark(name: str) -> Any:
    """Return a function of PySpark that its stubs lack."""
    return getattr(F, name)


def _evaluated_once(function: Any, return_type: str) -> Any:
    """Mark the function where Spark would otherwise evaluate it once for every field that is read."""
    return function.asNondeterministic() if "struct" in return_type else function


def _is_struct(return_type: str) -> bool:
    return return_type.startswith("struct")
