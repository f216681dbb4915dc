"""Functions called in a Python worker: a job may be started on another machine than its files are
on.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.evaluation.unit_files import local_path
from spark_udfs.job._hadoop import bridge
from spark_udfs.job._plan_directory import (
    ClaimedError,
    DiskFolder,
    IncompleteError,
    PlanExistsError,
)
from spark_udfs.map_in_arrow import Batches
from spark_udfs.sent import Sent

_KINDS: list[type[Exception]] = [
    PlanExistsError,
    ClaimedError,
    IncompleteError,
    FileExistsError,
    FileNotFoundError,
    OSError,
    ArgumentError,
    ArgumentTypeError,
    Error,
]
_ERRORS = {kind.__name__: kind for kind in _KINDS}
"""Errors of workers that are raised again here, each as its nearest class; any other is a defect and fails its task."""


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
            names = [kind.__name__ for kind in type(error).__mro__]
            nearest = next(name for name in names if name in _ERRORS)
            answer = {"error": nearest, "message": str(error)}
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(answer)]})


def on_worker(spark: SparkSession, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that returns plain data in a Python worker, where the files are."""
    # With first(), Spark would end the worker, and the next one would have to import everything
    # again.
    call = _WorkerCall(function, arguments)
    [row] = spark.range(0, 1, 1, 1).mapInArrow(Sent(call), "answer string").collect()
    answer = json.loads(row["answer"])
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["message"])
    return answer["value"]


def tasks_at_once(spark: SparkSession) -> int:
    """Count the tasks that Spark runs at a time; through Spark Connect the partitions of a range
    tell.
    """
    if bridge(spark) is not None:
        context = bridge(spark).org.apache.spark.SparkContext.getOrCreate()
        return int(context.defaultParallelism())
    partitions = spark.range(1 << 16).select(F.spark_partition_id())
    return partitions.distinct().count()


def worker_path(path: str, spark: SparkSession) -> str | None:
    """Return a path as all workers see it; None if only Spark can reach it.

    Without a scheme it is a path if Spark runs on one machine; on a cluster it is in Spark's
    default file system, and ``file:/...`` says that all machines share the path.
    """
    is_one_machine = str(spark.conf.get("spark.master", "")).startswith("local")
    return local_path(path) if is_one_machine or path.startswith("file:") else None


class WorkerFolder:
    """A directory that this process does not see and workers do."""

    def __init__(self, spark: SparkSession, folder: DiskFolder) -> None:
        self._spark, self._folder = spark, folder

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the directory in a worker."""
        return on_worker(self._spark, function, self._folder, *arguments)
