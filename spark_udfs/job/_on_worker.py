"""Functions called in a Python worker: a job may be started on another machine than its files are on."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_udfs._map_in_arrow import Batches
from spark_udfs.job._manifests import PublishError

_ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (FileExistsError, FileNotFoundError, ValueError, TypeError, PublishError)
}


class _WorkerCall:
    """A call of a function, as ``mapInArrow`` takes it."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        try:
            answer: dict[str, Any] = {"value": self.function(*self.arguments)}
        except (OSError, ValueError, TypeError, PublishError) as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(answer)]})


def on_worker(spark: SparkSession, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a Python worker, where the files are.

    Parameters
    ----------
    spark : SparkSession
        The session.
    function : callable
        Must be importable in workers; it may be called more than once.
    *arguments
        What to call it with.

    Returns
    -------
    object
        The answer, after a round trip through JSON.

    Raises
    ------
    ValueError, TypeError, OSError, PublishError
        As the function raises them.
    """
    # With first(), Spark would end the worker, and the next one would have to import everything again.
    [row] = spark.range(0, 1, 1, 1).mapInArrow(_WorkerCall(function, arguments), "answer string").collect()
    answer = json.loads(row["answer"])
    if "error" in answer:
        raise _ERRORS.get(answer["error"], OSError)(answer["message"])
    return answer["value"]


def tasks_at_once(spark: SparkSession) -> int:
    """How many tasks Spark runs at a time: the partitions of a range, the only way to ask through Spark Connect."""
    return spark.range(1 << 16).select(F.spark_partition_id()).distinct().count()
