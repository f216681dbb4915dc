"""A session for one run of the planning job from a command line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from spark_udfs.job._running_session import running_session
from spark_udfs.job._spark_errors import spark_errors


@contextmanager
def job_session(master: str) -> Iterator[SparkSession]:
    """Yield a session like `running_session`; an error of Spark in the block becomes a
    `JobError`.
    """
    # Unless the caller has set up logging, the Java bridge would print an interrupt with its stack
    # trace.
    logging.basicConfig(level=logging.CRITICAL)
    with spark_errors(), running_session(master) as spark:
        context: Any = getattr(pyspark, "SparkContext", None)  # Spark Connect's client has none
        active = getattr(context, "_active_spark_context", None)
        if server := getattr(active, "_accumulatorServer", None):
            server.handle_error = lambda *_: None  # it would print that Java has ended
        yield spark
