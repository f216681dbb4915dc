"""The planning job: a table in, workers plan its units, Spark writes the plan; ``rmqalloc bulk
--spark``, also as ``python -m spark_udfs.job``.

``plan_table``
    The job itself.
``command``
    The session of a command line.
``pinned_units``, ``sources``, ``versions``
    Sources and how they are pinned; versions of Delta and Iceberg tables.
``plan_kernels``
    Functions of workers.
``plan_directory``, ``hadoop``, ``on_worker``
    A directory with a complete plan, and its writers; the same in a store, and in a directory
    that only workers see.
``into_table``, ``tables``
    A plan in a Delta or Iceberg table, in one commit; which tables accept plans.
``plan_summary``, ``spark_errors``
    Totals and worst groups; errors in one line.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from spark_udfs.job._plan_table import PlanResult, plan_table
    from spark_udfs.job._sources import UnitSource

__all__ = ["PlanResult", "UnitSource", "plan_table"]

__getattr__ = imported_on_use(
    __name__, {"_plan_table": ("PlanResult", "plan_table"), "_sources": ("UnitSource",)}
)
