"""The session of a job: the session that exists, or one of its own with settings that suit it."""

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

from spark_udfs.job._pinned_units import TASKS_PER_PROCESSOR
from spark_udfs.requirements import require_java, require_spark

_lock = threading.Lock()
_own: dict[str, Any] = {"users": 0}


@contextmanager
def running_session(master: str) -> Iterator[SparkSession]:
    """Yield an existing session of any thread, or else a new one, which ends with the last block
    that uses it.
    """
    with _lock:
        is_ours = _own["users"] > 0 or not _is_spark_here()
        spark = _found() or _started(master)
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


def _started(master: str) -> SparkSession:
    """Start a session; ``master`` is as Spark takes it, or ``sc://host:port``.

    Workers run the interpreter of this process, unless ``PYSPARK_PYTHON`` names another.
    """
    require_spark(pyspark.__version__)
    builder = SparkSession.builder.appName("rmqalloc")
    if master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = _settings(local=master.startswith("local"))
    return builder.master(master).config(map=settings).getOrCreate()


def _settings(local: bool) -> dict[str, Any]:
    """Return the settings of a session whose driver runs in this process."""
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        # A bad file fails the job; it is never skipped.
        "spark.sql.files.ignoreCorruptFiles": "false",
    }
    if local:
        # One machine, no network: this also keeps Spark from guessing an address.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        processors = os.cpu_count() or 1
        # Delta reads its log in 50 tasks, which is for large clusters: here they are seconds of
        # every job.
        settings["spark.databricks.delta.snapshotPartitions"] = str(processors)
        settings["spark.sql.files.minPartitionNum"] = str(TASKS_PER_PROCESSOR * processors)
        log = Path(__file__).with_name("log4j2.properties").as_uri()
        settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={log}"
    return settings
