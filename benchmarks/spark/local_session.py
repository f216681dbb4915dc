"""The session of benchmarks: on this machine, with the settings that the guide recommends."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

RECOMMENDED = {
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    "spark.sql.files.minPartitionNum": str(8 * (os.cpu_count() or 1)),
}
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def session(master: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session whose workers run this interpreter."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    given = RECOMMENDED | QUIET | dict(settings or {})
    return SparkSession.builder.master(master).config(map=given).getOrCreate()
