"""A Spark session with settings that suit allocation."""

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_udfs.requirements import require_java, require_spark

__all__ = ["session"]

TASKS_PER_PROCESSOR = 8
"""Partitions of a scan, per processor: enough that processors finish together and progress is smooth."""


def session(
    master: str = "local[*]", app_name: str = "rmqalloc", conf: dict[str, str] | None = None
) -> SparkSession:
    """Get or start a Spark session.

    Parameters
    ----------
    master : str
        ``local[*]``, ``spark://...``, ``yarn``, ``k8s://...``; or ``sc://host:port`` for a Spark
        Connect server.
    app_name : str
        Name shown in Spark's own tools.
    conf : dict, optional
        Further settings, which take precedence over those made here.

    Raises
    ------
    JavaNotFoundError
        If Java is missing, or this release of Spark does not run on it.
    SparkTooOldError
        If PySpark is older than 3.5.

    Notes
    -----
    Python workers need rmqalloc, numpy and pyarrow. Those of a session that starts here run the interpreter that calls this,
    unless ``PYSPARK_PYTHON`` or the setting ``spark.pyspark.python`` names another. A session that runs already keeps its own,
    which is ``python3`` where nothing was set before it was made. The web interface is off. ``maxRecordsPerBatch`` keeps
    Spark's default, which measured best.
    """
    require_spark(pyspark.__version__)
    builder = SparkSession.builder.appName(app_name)
    if master.startswith("sc://"):
        builder = builder.remote(master)
        settings: dict[str, str] = {}
    else:
        require_java()
        if not _is_spark_here():  # else its workers have their interpreter already
            os.environ.setdefault(
                "PYSPARK_PYTHON", (conf or {}).get("spark.pyspark.python", sys.executable)
            )
            os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        builder = builder.master(master)
        settings = _settings(local=master.startswith("local"))
    for key, value in (settings | (conf or {})).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


_lock = threading.Lock()
_own: dict[str, Any] = {"users": 0}


@contextmanager
def running_session(master: str) -> Iterator[SparkSession]:
    """Yield an existing session of any thread, or else a new one, which ends with the last block
    that uses it.
    """
    with _lock:
        is_ours = _own["users"] > 0 or not _is_spark_here()
        spark = _found() or session(master)
        _own["users"] += is_ours
    try:
        yield spark
    finally:
        with _lock:
            _own["users"] -= is_ours
            if is_ours and not _own["users"]:
                # A session whose Java has ended cannot be stopped.
                with suppress(Exception), warnings.catch_warnings(action="ignore"):
                    spark.stop()


def _is_spark_here() -> bool:
    """Return True if Spark runs in this process; a context without a session counts."""
    context = getattr(pyspark, "SparkContext", None)  # the client of Spark Connect alone has none
    return _found() is not None or getattr(context, "_active_spark_context", None) is not None


def _found() -> SparkSession | None:
    """Return the session of this thread, or that of the process."""
    try:
        return SparkSession.active()
    except PySparkException:
        return None


def _settings(local: bool) -> dict[str, str]:
    """Return the settings of a session whose driver runs in this process."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        # Over a Parquet scan the columnar input of scalar Arrow UDFs takes a slow path; off is a
        # quarter faster.
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        # A bad file fails the job; it is never skipped.
        "spark.sql.files.ignoreCorruptFiles": "false",
    }
    if local:
        # One machine, no network: this also keeps Spark from guessing an address.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Delta reads its log in 50 tasks, which is for large clusters: here they are seconds of
        # every job.
        settings["spark.databricks.delta.snapshotPartitions"] = str(os.cpu_count() or 1)
        settings["spark.sql.files.minPartitionNum"] = str(
            TASKS_PER_PROCESSOR * (os.cpu_count() or 1)
        )
        log = Path(__file__).with_name("log4j2.properties")
        if log.is_file():
            settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={log.as_uri()}"
    return settings
