"""RocketMQ queue allocation on Spark columns, a million consumer groups at a time.

``functions``
    For ``DataFrame.select``: ``import spark_udfs.functions as rf``, then ``rf.allocate("queues", "client_ids", "AVG")``.
``register_all``
    The same functions under SQL names.
``transforms.assign``
    For ``DataFrame.transform``: one row per consumer group and topic in, its owners and figures out.
``session.session``
    A Spark session with settings that suit it.
``inputs``
    Units out of tables of routes, consumers and subscriptions; scenarios out of a table.
``job``
    ``python -m spark_udfs.job``: any source in, a plan as Parquet out, killed and resumed at will. Its parts: ``planning`` runs
    it, ``sources`` and ``versions`` cut and pin the input, ``manifests`` says what a complete plan is, ``places``, ``layout``
    and ``hadoop`` hold it, ``file_job`` and ``frame_job`` plan a bucket, ``ranking`` sums up, ``errand`` asks a worker.
``read_plan``, ``files_of_plan``
    A complete plan for readers, with Spark and without.
``arrow``, ``columns``, ``figures``, ``file_job``, ``layout``, ``manifests``, ``published``, ``requirements``
    What runs in the Python workers, and what Spark needs on a machine; they import no pyspark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmqalloc.extras import needs

if TYPE_CHECKING:
    from spark_udfs.job.output import read_plan
    from spark_udfs.job.published import files_of_plan
    from spark_udfs.sql import register_all

__all__ = ["files_of_plan", "read_plan", "register_all"]

_HOMES = {
    "files_of_plan": "spark_udfs.job.published",
    "read_plan": "spark_udfs.job.output",
    "register_all": "spark_udfs.sql",
}


def __getattr__(name: str) -> Any:
    """Import what needs PySpark when it is first asked for: workers and ``import spark_udfs`` do without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pyspark":
            raise
        raise ModuleNotFoundError(
            f"spark_udfs.{name} needs PySpark, which is not installed: {needs('pyspark')}", name="pyspark"
        ) from None
