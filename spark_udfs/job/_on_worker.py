"""Functions called in a Python worker: a job may be started on another machine than its files are on."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from spark_udfs.job._published import PublishError
from spark_udfs.map_in_arrow import Batches

_ERRORS: dict[str, type[Exception]] = {
    one.__name__: one
    for one in (FileExistsError, FileNotFoundError, OSError, ArgumentError, ArgumentTypeError, PublishError, Error)
}
"""Errors as which those of workers are raised again, each as its nearest class; any other is a defect and fails its task."""


class _WorkerCall:
    """A call of a function, as ``mapInArrow`` takes it."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        try:
            answer: dict[str, Any] = {"value": self.function(*self.arguments)}
        except (OSError, Error) as error:
            nearest = next(one.__name__ for one in type(error).__mro__ if one.__name__ in _ERRORS)
            answer = {"error": nearest, "message": str(error)}
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(answer)]})


def on_worker(spark: SparkSession, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a Python worker, where the files are."""
    # With first(), Spark would end the worker, and the next one would have to import everything again.
    [row] = spark.range(0, 1, 1, 1).mapInArrow(_WorkerCall(function, arguments), "answer string").collect()
    answer = json.loads(row["answer"])
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return answer["value"]


def tasks_at_once(spark: SparkSession) -> int:
    """Count the tasks that Spark runs at a time: the partitions of a range, which Spark Connect can tell, too."""
    return spark.range(1 << 16).select(F.spark_partition_id()).distinct().count()


def worker_path(path: str, spark: SparkSession) -> str | None:
    """Return a path as all workers see it; None if only Spark can reach it.

    Without a scheme it is a path if Spark runs on one machine; on a cluster it is in Spark's default file system, and
    ``file:/...`` says that all machines share the path.
    """
    if path.startswith("file:"):
        return os.path.abspath(unquote(urlsplit(path).path))
    local = str(spark.conf.get("spark.master", "")).startswith("local")
    return os.path.abspath(path) if "://" not in path and local else None
