"""Ways to plan a source: workers read and write Parquet files by themselves, or rows go through Spark's JVM."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import INPUT_COLUMNS, run_on_threads
from spark_udfs.job import (
    _by_file as by_file,
)
from spark_udfs.job import (
    _by_frame as by_frame,
)
from spark_udfs.job import (
    _hadoop as hadoop,
)
from spark_udfs.job import (
    _sources as sources,
)
from spark_udfs.job import (
    _versions as versions,
)
from spark_udfs.job._on_worker import on_worker, tasks_at_once
from spark_udfs.job._output_layout import DiskBuckets
from spark_udfs.job._progress import say
from spark_udfs.job._sources import UnitSource
from spark_udfs.job._store_settings import store_of
from spark_udfs.job._stores import Store, StoreBuckets
from spark_udfs.job.output import Output, SharedDirectory, StoreOutput, new_attempt, worker_path

_AT_ONCE = 2
"""Buckets that are planned at once, so that processors are not idle during the last tasks of one."""

_TASKS_PER_PROCESSOR = 4
"""Tasks that plan files, per processor: each costs some 35 ms, but with too few the last ones keep processors idle."""


class JobWork(NamedTuple):
    """The input's identity and buckets, and how to plan some of them; otherwise as `Cut`."""

    identity: Any
    n_buckets: int
    plan: Callable[[list[int]], None]
    now: Callable[[], Any]
    content: dict[str, str] | None = None


def work_of(
    spark: SparkSession, source: UnitSource, output: Output, spec: PlanSpec, by_files: bool | None, n_worst: int
) -> JobWork:
    """Return how the source is planned: by files if possible, and not ruled out."""
    path = worker_path(source.path, spark) if source.path and not source.table else None
    _check_apart(path, output)
    if by_files is False:
        return _frame_work(spark, source, output, spec)
    found = _by_files(spark, source, path, output, spec, n_worst)
    if not isinstance(found, str):
        return found
    if by_files:
        raise ArgumentError(
            f"a file job needs a directory of Parquet files without partitions, and an output directory, that the workers see; "
            f"{found}"
        )
    say(f"rows go through Spark's JVM: {found}")
    return _frame_work(spark, source, output, spec)


class _Reached(NamedTuple):
    """Files that workers reach: their path and, if it is not one of a disk, their store and its URI."""

    path: str
    store: Store | None = None
    uri: str = ""


def _by_files(
    spark: SparkSession, source: UnitSource, path: str | None, output: Output, spec: PlanSpec, n_worst: int
) -> JobWork | str:
    """Return the work if workers can read and write the files by themselves, or why they cannot."""
    if isinstance(output, SharedDirectory):
        job = _FileJob(spark, source, DiskBuckets(output.path), output, spec, n_worst)
    elif isinstance(output, StoreOutput):
        job = _FileJob(spark, source, StoreBuckets(output.store, output.path), output, spec, n_worst)
    else:
        return f"workers do not reach {output.uri()} by themselves"
    if source.table or source.format in ("delta", "iceberg"):
        return job.of_table()
    if not source.path or source.format != "parquet" or any(c in source.path for c in "*?[{"):
        return f"{source} is no directory of Parquet files"
    return job.of_folder(path)


class _FileJob(NamedTuple):
    """A source that workers plan file by file, and how they write."""

    spark: SparkSession
    source: UnitSource
    out: by_file.Buckets
    output: Output
    spec: PlanSpec
    n_worst: int

    def of_folder(self, path: str | None) -> JobWork | str:
        """Return the work for a directory of Parquet files, or why workers cannot read it."""
        reached = _Reached(path or "")
        if path is None:
            found = store_of(self.source.path, self.spark)
            if isinstance(found, str):
                return f"{self.source} is not reached by workers themselves, as {found}"
            store, inside = found
            reached = _Reached(inside, store, self.source.path.rstrip("/").removesuffix(inside))
        try:
            survey = on_worker(self.spark, by_file.survey, reached.path, self.spec, reached.store)
        except FileNotFoundError:
            raise
        except OSError as error:
            if reached.store is None:
                raise
            return f"{self.source} is not reached by workers themselves: {error}"
        if survey is None:
            return f"{self.source} holds other files, too, or partitions"
        files, buckets = survey

        def now() -> Any:
            listed = on_worker(self.spark, by_file.listed_files, reached.path, reached.store)
            return _identity(self.spark, reached, listed)

        return JobWork(_identity(self.spark, reached, files), len(buckets), self._planner(buckets, reached.store), now)

    def of_table(self) -> JobWork | str:
        """Return the work for the files of one version of a table, or why workers cannot read them."""
        spark, source = self.spark, self.source
        try:
            pin = versions.pin(spark, source.table, source.path, source.format, source.options)
            if pin is None:
                return f"{source} is no table of Delta or Iceberg with versions"
            uris = pin.files()
        except PySparkException:  # without the connector's jar, say: the other road says what is wrong
            return f"{source} cannot be asked for its files"
        if isinstance(uris, str):
            return f"{source} is not read file by file, as {uris}"
        reached = _reach_all(spark, uris)
        if isinstance(reached, str):
            return f"{source} is not reached by workers themselves, as {reached}"
        paths, store = reached
        units = pin.read()
        columns = [name for name in units.columns if name in INPUT_COLUMNS]
        try:
            (_, buckets), n_rows = on_worker(spark, by_file.survey_of, paths, columns, self.spec, store)
        except ArgumentError as error:
            return f"{source} is not read file by file: {error}"
        if n_rows != units.count():
            return f"{source} is not read file by file, as rows are deleted that its files still hold"
        identity = ["files of a table", pin.identity]
        return JobWork(identity, len(buckets), self._planner(buckets, store), lambda: ["files of a table", pin.now()])

    def _planner(self, buckets: Sequence[Any], store: Store | None) -> Callable[[list[int]], None]:
        """Return a function that plans the buckets with these numbers."""

        def plan(missing: list[int]) -> None:
            chosen = {number: buckets[number] for number in missing}
            kernel = by_file.PlanFiles(self.spec, chosen, self.out, self.output.run, self.n_worst, store)
            n_tasks = min(len(missing), _TASKS_PER_PROCESSOR * tasks_at_once(self.spark))
            self.spark.range(0, len(missing), 1, n_tasks).mapInArrow(kernel, "bucket bigint").collect()

        return plan


def _reach_all(spark: SparkSession, uris: list[str]) -> tuple[list[str], Store | None] | str:
    """Return the paths of files as workers reach them, and the store that all are in; or why they do not."""
    if not uris:
        return "it has no files"
    local = [worker_path(uri, spark) if uri.startswith("file:") or "://" not in uri else None for uri in uris]
    if None not in local:
        return [str(path) for path in local], None
    found = [store_of(unquote(uri), spark) for uri in uris]
    if reasons := [one for one in found if isinstance(one, str)]:
        return reasons[0]
    stores = [one for one in found if not isinstance(one, str)]
    if any(store != stores[0][0] for store, _ in stores):
        return "its files are in several stores"
    return [path for _, path in stores], stores[0][0]


def _identity(spark: SparkSession, source: _Reached, files: list[Any]) -> Any:
    """Return the files as they are, in a store with their etags where the driver can ask for them."""
    if source.store is None or hadoop.bridge(spark) is None:
        return ["files", files]
    folders = sorted({f"{source.uri}{path.rpartition('/')[0]}" for path, *_ in files})
    return ["files", files, sorted(hadoop.etags(spark, folders).items())]


def _frame_work(spark: SparkSession, source: UnitSource, output: Output, spec: PlanSpec) -> JobWork:
    cut = sources.cut_source(source, spark)

    def plan_one(number: int) -> None:
        attempt, *paths = new_attempt(output, output.run.plan_id, number)
        by_content = cut.content is not None
        record = by_frame.plan_frame_bucket(spark, cut.bucket(number), spec, (paths[0], paths[1]), by_content)
        output.commit(number, attempt, record)

    def plan(missing: list[int]) -> None:
        run_on_threads(plan_one, missing, _AT_ONCE)

    return JobWork(["frames", cut.identity], cut.n_buckets, plan, lambda: ["frames", cut.now()], cut.content)


def _check_apart(source: str | None, output: Output) -> None:
    """Refuse an output that the next run would read."""
    if source is not None and isinstance(output, SharedDirectory) and f"{output.path}/".startswith(f"{source}/"):
        raise ArgumentError(f"the output directory {output.path} lies in the input {source}; give one apart from it")
