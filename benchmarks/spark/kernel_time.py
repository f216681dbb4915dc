"""Where the time of a job goes: compiled kernels, our code around them, and all that Spark does
besides.
"""

import cProfile
import pstats
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from cases import Fleets, noop
from many_scenarios import SCENARIOS as THIRTY_TWO
from processes import cpu_now
from pyspark import Accumulator
from pyspark.sql import SparkSession
from worker_rivals import PARAMS

from rmqalloc.evaluation.batch_planning import PlanSpec
from spark_udfs.map_in_arrow import PlanBatches, ddl

Batches = Iterable[pa.RecordBatch]
Kernel = Callable[[Batches], Iterator[pa.RecordBatch]]


class Timed:
    """A function for ``mapInArrow`` that adds up, over all workers, the CPU seconds spent in it and
    not on its input.
    """

    def __init__(self, kernel: Kernel, inside: "Accumulator[float]") -> None:
        self._kernel = kernel
        self._inside = inside

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Do what the function does."""
        waited = Stopwatch()
        spent = Stopwatch()
        yield from spent.over(self._kernel(waited.over(batches)))
        self._inside.add(spent.seconds - waited.seconds)


class Stopwatch:
    """CPU seconds that an iterator takes to come up with its items."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def over(self, items: Batches) -> Iterator[pa.RecordBatch]:
        """The items."""
        iterator = iter(items)
        while True:
            started = time.thread_time()
            item = next(iterator, None)
            self.seconds += time.thread_time() - started
            if item is None:
                return
            yield item


def seconds_in_kernels(kernel: Kernel, batches: list[pa.RecordBatch]) -> float:
    """Seconds in compiled functions of `rmqalloc._engine`, without Spark, by the profiler, which
    sees each call of them.
    """
    profile = cProfile.Profile()
    with profile:
        for _ in kernel(batches):
            pass
    stats: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(times[2] for (_, _, name), times in stats.items() if "rmqalloc._engine" in name)


def shares_of_all(spark: SparkSession, found: Fleets) -> dict[str, dict[str, float]]:
    """Seconds per unit of the transforms: wall and CPU of the whole job, our code in the workers,
    compiled kernels.
    """
    specs = {name: PlanSpec(name, params, output="owners") for name, params in PARAMS.items()}
    for name in ("AVG", "CONSISTENT_HASH"):
        specs[f"{name}, 32 scenarios"] = PlanSpec(name, PARAMS[name], THIRTY_TWO, "best")
    return {name: _shares(spark, found, PlanBatches(spec)) for name, spec in specs.items()}


def _shares(spark: SparkSession, found: Fleets, kernel: PlanBatches) -> dict[str, float]:
    """The same of one function for ``mapInArrow``."""
    inside = spark.sparkContext.accumulator(0.0)
    frame = found.whole.frame.mapInArrow(Timed(kernel, inside), ddl(kernel.schema))
    for _ in range(2):  # the first run warms up
        inside.value = 0.0
        before, started = cpu_now(), time.perf_counter()
        noop(frame)
        wall, used = time.perf_counter() - started, cpu_now().since(before)
    # The profiler sees as many rows at once as workers do.
    some = [
        batch
        for batch in ds.dataset(found.small.paths[0]).to_batches(batch_size=10_000)
        if batch.num_rows
    ]
    seconds_in_kernels(kernel, some)  # the first call learns what the next ones know
    in_kernels = seconds_in_kernels(kernel, some) / found.small.count
    of_all = {"wall": wall, "cpu": used.jvm + used.python, "ours": inside.value}
    return {"kernels": in_kernels} | {
        name: seconds / found.whole.count for name, seconds in of_all.items()
    }
