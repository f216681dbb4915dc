"""Ways to plan a source: workers read and write Parquet files by themselves, or rows go through Spark's JVM."""

from collections.abc import Callable
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
    """How the source is planned: by files if possible, and not ruled out."""
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
    """The work if workers can read and write the files by themselves, or why they cannot."""
    out = _buckets_of(output)
    if out is None:
        return f"workers do not reach {output.uri()} by themselves"
    if source.table or source.format in ("delta", "iceberg"):
        return _files_of_table(spark, source, out, output, spec, n_worst)
    if not source.path or source.format != "parquet" or any(c in source.path for c in "*?[{"):
        return f"{source} is no directory of Parquet files"
    reached = _Reached(path or "")
    if path is None:
        found = store_of(source.path, spark)
        if isinstance(found, str):
            return f"{source} is not reached by workers themselves, as {found}"
        store, inside = found
        reached = _Reached(inside, store, source.path.rstrip("/").removesuffix(inside))
    try:
        survey = on_worker(spark, by_file.survey, reached.path, spec, reached.store)
    except FileNotFoundError:
        raise
    except OSError as error:
        if reached.store is None:
            raise
        return f"{source} is not reached by workers themselves: {error}"
    if survey is None:
        return f"{source} holds other files, too, or partitions"
    return _files_work(spark, reached, by_file.Survey(*survey), out, output, spec, n_worst)


def _files_of_table(
    spark: SparkSession, source: UnitSource, out: by_file.Buckets, output: Output, spec: PlanSpec, n_worst: int
) -> JobWork | str:
    """As `_by_files`, for the files of one version of a table."""
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
        survey, n_rows = on_worker(spark, by_file.survey_of, paths, columns, spec, store)
    except ArgumentError as error:
        return f"{source} is not read file by file: {error}"
    if n_rows != units.count():
        return f"{source} is not read file by file, as rows are deleted that its files still hold"
    identity = ["files of a table", pin.identity]
    here = _Reached("", store)
    plan = _planner(spark, here, by_file.Survey(*survey), out, output, spec, n_worst)
    return JobWork(identity, len(survey[1]), plan, lambda: ["files of a table", pin.now()])


def _reach_all(spark: SparkSession, uris: list[str]) -> tuple[list[str], Store | None] | str:
    """Paths of files as workers reach them, and the store that all are in; or why they do not."""
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


def _buckets_of(output: Output) -> by_file.Buckets | None:
    """How workers write to an output by themselves; None if they cannot."""
    if isinstance(output, SharedDirectory):
        return DiskBuckets(output.path)
    return StoreBuckets(output.store, output.path) if isinstance(output, StoreOutput) else None


def _files_work(
    spark: SparkSession,
    source: _Reached,
    found: by_file.Survey,
    out: by_file.Buckets,
    output: Output,
    spec: PlanSpec,
    n_worst: int,
) -> JobWork:
    def now() -> Any:
        return _identity(spark, source, on_worker(spark, by_file.listed_files, source.path, source.store))

    plan = _planner(spark, source, found, out, output, spec, n_worst)
    return JobWork(_identity(spark, source, found.files), len(found.buckets), plan, now)


def _planner(
    spark: SparkSession,
    source: _Reached,
    found: by_file.Survey,
    out: by_file.Buckets,
    output: Output,
    spec: PlanSpec,
    n_worst: int,
) -> Callable[[list[int]], None]:
    """Plans the buckets with these numbers."""

    def plan(missing: list[int]) -> None:
        buckets = {number: found.buckets[number] for number in missing}
        kernel = by_file.PlanFiles(spec, buckets, out, output.run, n_worst, source.store)
        n_tasks = min(len(missing), _TASKS_PER_PROCESSOR * tasks_at_once(spark))
        spark.range(0, len(missing), 1, n_tasks).mapInArrow(kernel, "bucket bigint").collect()

    return plan


def _identity(spark: SparkSession, source: _Reached, files: list[Any]) -> Any:
    """The files as they are, in a store with their etags where the driver can ask for them."""
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
    """The next run must not read what this one writes."""
    if source is not None and isinstance(output, SharedDirectory) and f"{output.path}/".startswith(f"{source}/"):
        raise ArgumentError(f"the output directory {output.path} lies in the input {source}; give one apart from it")
