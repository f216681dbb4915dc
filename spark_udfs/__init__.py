"""RocketMQ queue allocation on Spark columns, for millions of consumer groups.

``functions``
    For ``DataFrame.select``: ``import spark_udfs.functions as rf``, then ``rf.allocate("queues",
    "client_ids", "AVG")``.
``register_all``
    The same functions under SQL names; ``rmq_functions()`` lists them.
``transforms``
    For ``DataFrame.transform``: one row per consumer group and topic in; plans, owners or loads
    out.
``joins``
    Units from tables of routes, consumers and subscriptions; scenarios from a table.
``plan_table``, ``UnitSource``
    A plan of any source, written once: to a directory of Parquet, or into a table. ``python -m
    spark_udfs.job`` does the same.
``requirements``
    Requirements of Spark on a machine.
``map_in_arrow``
    Functions of Python workers, on Arrow data. It imports no pyspark, nor does ``requirements``.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from spark_udfs._sql import register_all
    from spark_udfs.job import PlanResult, UnitSource, plan_table

__all__ = ["PlanResult", "UnitSource", "plan_table", "register_all"]

_NAMES = {"_sql": ("register_all",), "job": ("PlanResult", "UnitSource", "plan_table")}
# Python workers and `import spark_udfs` need no PySpark.
__getattr__ = imported_on_use(__name__, _NAMES)
