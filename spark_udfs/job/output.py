"""Where a job writes: a directory that the workers see, or anything else that Spark can write to.

Both follow `spark_udfs.job._published`; the methods of `Output` say what each method does.
"""

import os
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.worst import Worst
from spark_udfs.job import (
    _by_frame as by_frame,
)
from spark_udfs.job import (
    _hadoop as hadoop,
)
from spark_udfs.job import (
    _output_layout as output_layout,
)
from spark_udfs.job import (
    _plan_summary as plan_summary,
)
from spark_udfs.job import (
    _published as manifests,
)
from spark_udfs.job._by_file import RankBuckets
from spark_udfs.job._on_worker import on_worker
from spark_udfs.job._published import QUARANTINE, Run, bucket_name, data_folder
from spark_udfs.job._sources import literally
from spark_udfs.job._store_settings import store_of
from spark_udfs.job._stores import Store, in_store

Manifest = dict[str, Any]
Records = dict[int, dict[str, Any]]


class Output(Protocol):
    """An output directory, for one run of a job."""

    run: Run

    def begin(self, plan_id: str, force: bool) -> tuple[Manifest | None, Records]:
        """Begin a run; returns the manifest if the plan is complete, and the records of complete buckets."""

    def records(self) -> Records:
        """Return the records of the buckets that are complete."""

    def commit(self, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        """Record that a bucket is complete: it has the files in the folder of this attempt."""

    def uri(self, name: str = "") -> str:
        """Return the URI for Spark of a name below the output directory."""

    def worst(self, spec: PlanSpec, records: Records, n: int) -> Worst:
        """Return the worst units of all buckets, as `rmqalloc.evaluation.worst.worst_of`."""

    def publish(self, n_buckets: int, records: Records, summary: Mapping[str, Any]) -> tuple[bool, Manifest]:
        """Publish the plan, see `publish`."""

    def current(self, plan_id: str) -> Manifest | None:
        """Return the manifest of a plan if it is complete."""

    def plan_ids(self) -> list[str]:
        """Return the ids of the complete plans."""

    def shown(self, manifest: Manifest) -> str:
        """Return where people find a plan."""


def worker_path(output: str, spark: SparkSession) -> str | None:
    """Return a path as the workers see it; None if only Spark can reach it.

    Without a scheme it is a path if Spark runs on one machine; on a cluster it is in Spark's default file system, and
    ``file:/...`` says that all machines share the path.
    """
    if output.startswith("file:"):
        return os.path.abspath(unquote(urlsplit(output).path))
    local = str(spark.conf.get("spark.master", "")).startswith("local")
    return os.path.abspath(output) if "://" not in output and local else None


def output_of(target: str, spark: SparkSession) -> Output:
    """Return the output for a target, as Spark names it."""
    path = worker_path(target, spark)
    if path is not None:
        return SharedDirectory(path, spark)
    found = store_of(target, spark)
    return SparkOutput(target, spark) if isinstance(found, str) else StoreOutput(target, spark, *found)


def new_attempt(output: Output, plan_id: str, number: int) -> tuple[str, str, str]:
    """Return the name of a new attempt, and where Spark writes a bucket's plan and its bad rows."""
    attempt = manifests.unique_name()
    home = f"{data_folder(plan_id)}/{attempt}"
    bucket = bucket_name(number)
    return attempt, output.uri(f"{home}/{bucket}"), output.uri(f"{home}/{QUARANTINE}/{bucket}")


class SharedDirectory(Output):
    """A directory that all workers see under one path."""

    def __init__(self, path: str, spark: SparkSession) -> None:
        self.path, self._spark = path, spark
        self.run = Run("", 0, "", False)

    def begin(self, plan_id: str, force: bool) -> tuple[Manifest | None, Records]:
        manifest, run, records = on_worker(self._spark, output_layout.begin_run, self.path, plan_id, force)
        self.run = Run(*run)
        return manifest, _numbered(records)

    def records(self) -> Records:
        return _numbered(on_worker(self._spark, output_layout.complete_records, self.path, self.run))

    def commit(self, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        on_worker(self._spark, output_layout.DiskBuckets(self.path).commit, self.run, number, attempt, dict(record))

    def uri(self, name: str = "") -> str:
        return f"file:{os.path.join(self.path, name)}"

    def worst(self, spec: PlanSpec, records: Records, n: int) -> Worst:
        # The workers read the buckets themselves.
        if not records:
            return {}
        files = [[os.path.join(self.path, name) for name, _ in one["files"]] for one in records.values()]
        return by_frame.ranked(self._spark.range(0, len(files)), RankBuckets(spec, n, files))

    def publish(self, n_buckets: int, records: Records, summary: Mapping[str, Any]) -> tuple[bool, Manifest]:
        done = [dict(one) for one in records.values()]
        text = plan_summary.as_text(summary)
        won, manifest = on_worker(
            self._spark, output_layout.publish_and_show, self.path, self.run, n_buckets, done, dict(summary), text
        )
        return won, manifest

    def current(self, plan_id: str) -> Manifest | None:
        found: Manifest | None = on_worker(self._spark, output_layout.current_manifest, self.path, plan_id)
        return found

    def plan_ids(self) -> list[str]:
        return list(on_worker(self._spark, output_layout.plan_ids, self.path))

    def shown(self, manifest: Manifest) -> str:
        # The plain path, if it holds this plan.
        if on_worker(self._spark, output_layout.is_shown, self.path, manifest):
            return manifests.plan_name(manifest["plan"])
        return manifests.manifest_path(manifest)


def _numbered(records: Mapping[str, Any]) -> Records:
    return {int(number): record for number, record in records.items()}


class SparkOutput(Output):
    """Anything that Spark can write to, such as an object store; also `Storage` on it.

    Spark reads texts. Its driver's Hadoop client writes them, exclusively if the file system supports that. Under Spark
    Connect, which has no such client, Spark writes a text as a folder with one file in it, under a unique name.
    """

    def __init__(self, target: str, spark: SparkSession) -> None:
        self._target, self._spark = target.rstrip("/"), spark
        self.run = Run("", 0, "", False)
        self.exclusive = hadoop.bridge(spark) is not None

    # --- Storage ---

    def texts(self, folder: str) -> dict[str, str]:
        reader = self._spark.read.format("text").option("wholetext", True).option("recursiveFileLookup", True)
        return {
            name.removeprefix(f"{folder}/").partition("/")[0]: text
            for name, text in self._read(reader, folder, ["_metadata.file_path", "value"])
        }

    def create(self, name: str, text: str) -> bool:
        if self.exclusive:
            return hadoop.create(self._spark, self.uri(name), text)
        row = self._spark.createDataFrame([(text,)], "value string")
        row.coalesce(1).write.mode("error").text(self.uri(name))
        return True

    def sizes(self, folder: str) -> dict[str, int]:
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", True)
        return dict(self._read(reader, folder, ["path", "length"]))

    def _read(self, reader: Any, folder: str, columns: list[str]) -> list[tuple[str, Any]]:
        """Read the files below a folder by name, with one more column; none if there is no such folder."""
        try:
            rows = reader.load(literally(self.uri(folder))).select(*columns).collect()
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return []
        return [(folder + unquote(path).rpartition(folder)[2], value) for path, value in rows]

    # --- Output ---

    def begin(self, plan_id: str, force: bool) -> tuple[Manifest | None, Records]:
        manifest, self.run = manifests.begin(self, plan_id, force)
        return manifest, {} if manifest is not None else self.records()

    def records(self) -> Records:
        return manifests.records(self, self.run)

    def commit(self, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        manifests.keep(self, self.run, number, attempt, record)

    def uri(self, name: str = "") -> str:
        return f"{self._target}/{name}" if name else self._target

    def worst(self, spec: PlanSpec, records: Records, n: int) -> Worst:
        files = [self.uri(name) for one in records.values() for name, _ in one["files"]]
        return by_frame.worst_rows(self._spark.read.parquet(*map(literally, files)), spec, n) if files else {}

    def publish(self, n_buckets: int, records: Records, summary: Mapping[str, Any]) -> tuple[bool, Manifest]:
        summary = {**summary, "text": plan_summary.as_text(summary)}
        return manifests.publish(self, self.run, n_buckets, list(records.values()), summary)

    def current(self, plan_id: str) -> Manifest | None:
        return manifests.manifest_in(self, plan_id)

    def plan_ids(self) -> list[str]:
        return manifests.plans_in(self)

    def shown(self, manifest: Manifest) -> str:
        # There is no plain path, as nothing can replace it in one step here.
        return manifests.manifest_path(manifest)


class StoreOutput(SparkOutput):
    """An object store that the workers reach by themselves, under their own path."""

    def __init__(self, target: str, spark: SparkSession, store: Store, path: str) -> None:
        super().__init__(target, spark)
        self.store, self.path = store, path

    def texts(self, folder: str) -> dict[str, str]:
        return dict(self._ask("texts", folder))

    def create(self, name: str, text: str) -> bool:
        # Only the client of the driver can create exclusively.
        return super().create(name, text) if self.exclusive else bool(self._ask("create", name, text))

    def sizes(self, folder: str) -> dict[str, int]:
        return dict(self._ask("sizes", folder))

    def _ask(self, method: str, *arguments: str) -> Any:
        return on_worker(self._spark, in_store, self.store, self.path, method, *arguments)


def read_plan(spark: SparkSession, target: str, plan_id: str | None = None, *, quarantine: bool = False) -> Any:
    """Read a complete plan: all files of its manifest, whatever is being written at the time.

    Parameters
    ----------
    spark : SparkSession
        The session.
    target : str
        Output directory of the job.
    plan_id : str, optional
        Which plan; by default the only one.
    quarantine : bool
        Its bad rows instead.

    Returns
    -------
    DataFrame
        The plan's columns, and ``bucket``; without columns if nothing was bad.

    Raises
    ------
    spark_udfs.job._published.PlanNotFoundError
        There is no such plan, or more than one and none was given.

    Examples
    --------
    >>> read_plan(spark, "s3a://bucket/plans").where("err_code = 0").show()  # doctest: +SKIP
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    output = output_of(target, spark)
    plan_id = plan_id if plan_id is not None else manifests.choose_plan(output.plan_ids(), None, target)
    manifest = output.current(plan_id)
    if manifest is None:
        manifests.choose_plan(output.plan_ids(), plan_id, target)
        raise manifests.PlanNotFoundError(f"{target} holds no complete plan {plan_id}")
    files = [
        literally(output.uri(name)) for name in manifests.files_in(manifest, "quarantine" if quarantine else "files")
    ]
    if not files:
        return spark.createDataFrame([], StructType())
    bucket = F.regexp_extract("_metadata.file_path", "/bucket=([0-9]+)/", 1).cast("int")
    return spark.read.parquet(*files).withColumn("bucket", bucket)
