"""Where a job's results go: a directory that the workers see, or whatever else Spark can write to."""

import json
import os
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from rmqalloc.whatif.plan import PlanSpec
from rmqalloc.whatif.worst import Worst, merged
from spark_udfs import layout, ranking
from spark_udfs.errand import on_worker
from spark_udfs.file_job import RankBuckets


class Place(Protocol):
    """An output directory."""

    def begin(self, plan_id: str, force: bool) -> tuple[str | None, dict[int, Any]]:
        """The summary if the plan is complete, and what `done` tells; as `spark_udfs.layout.begin`."""

    def done(self) -> dict[int, Any]:
        """Records of the buckets that are complete."""

    def tried(self, number: int) -> tuple[str, str]:
        """Where Spark shall write the plan of a bucket, and its bad rows."""

    def commit(self, number: int, record: Mapping[str, Any]) -> None:
        """Let what was tried last be the bucket."""

    def buckets(self) -> str:
        """Where all buckets are before they are published."""

    def worst(self, spec: PlanSpec, n_buckets: int, n: int) -> Worst:
        """The worst units of all buckets, as `rmqalloc.whatif.worst.worst_of`."""

    def publish(self, texts: Mapping[str, str]) -> None:
        """Let the plan be complete."""


def path_of(place: str, spark: SparkSession) -> str | None:
    """A path as the workers see it; None for what only Spark can reach.

    A name without a scheme is a path where Spark runs on one machine; on a cluster Spark's default file system has it, and
    ``file:/...`` says that all machines share a path.
    """
    if place.startswith("file:"):
        return os.path.abspath(unquote(urlsplit(place).path))
    local = str(spark.conf.get("spark.master", "")).startswith("local")
    return os.path.abspath(place) if "://" not in place and local else None


def place_of(target: str, spark: SparkSession) -> Place:
    """The place of an output directory."""
    path = path_of(target, spark)
    return Store(target, spark) if path is None else Directory(path, spark)


class Directory:
    """A directory that all workers see under one path: buckets and plans appear by renaming."""

    def __init__(self, path: str, spark: SparkSession) -> None:
        self.path, self._spark, self._plan_id = path, spark, ""
        self._tried: dict[int, str] = {}

    @property
    def work(self) -> str:
        """The plan's `spark_udfs.layout.work_directory`."""
        return os.fspath(layout.work_directory(self.path, self._plan_id))

    def begin(self, plan_id: str, force: bool) -> tuple[str | None, dict[int, Any]]:
        """As `Place`."""
        self._plan_id = plan_id
        summary, done = on_worker(self._spark, layout.begin, self.path, plan_id, force)
        return summary, _numbered(done)

    def done(self) -> dict[int, Any]:
        """As `Place`."""
        return _numbered(on_worker(self._spark, layout.done, self.work))

    def tried(self, number: int) -> tuple[str, str]:
        """As `Place`; the work of two attempts never mixes."""
        self._tried[number] = layout.new_try(self.work)
        return f"file:{self._tried[number]}/plan", f"file:{self._tried[number]}/quarantine"

    def commit(self, number: int, record: Mapping[str, Any]) -> None:
        """As `Place`."""
        on_worker(self._spark, layout.commit, self.work, self._tried[number], number, dict(record))

    def buckets(self) -> str:
        """As `Place`."""
        return f"file:{self.work}"

    def worst(self, spec: PlanSpec, n_buckets: int, n: int) -> Worst:
        """As `Place`; the workers read the buckets themselves."""
        if not n_buckets:
            return {}
        kernel = RankBuckets(spec, n, self.work)
        parts = self._spark.range(0, n_buckets).mapInArrow(kernel, "worst string").collect()
        return merged((json.loads(row["worst"]) for row in parts), spec, n)

    def publish(self, texts: Mapping[str, str]) -> None:
        """As `Place`."""
        on_worker(self._spark, layout.publish, self.path, self._plan_id, dict(texts))


def _numbered(records: Mapping[str, Any]) -> dict[int, Any]:
    return {int(number): record for number, record in records.items()}


class Store:
    """Anything that Spark can write to, such as an object store; nothing can be renamed there.

    Spark's committer puts a bucket in its place, overwriting what a killed run left, and then a record says that it is done.
    Nobody else may run the same plan at the time. A plan is complete when its ``_summary`` holds ``_SUCCESS``.
    """

    def __init__(self, target: str, spark: SparkSession) -> None:
        self._target, self._spark, self._plan_id = target.rstrip("/"), spark, ""

    def begin(self, plan_id: str, force: bool) -> tuple[str | None, dict[int, Any]]:
        """As `Place`."""
        self._plan_id = plan_id
        return (None, {}) if force else (self._text("_summary").get("summary"), self.done())

    def done(self) -> dict[int, Any]:
        """As `Place`."""
        return {int(number): json.loads(text) for number, text in self._text("_done/*").items()}

    def tried(self, number: int) -> tuple[str, str]:
        """As `Place`."""
        bucket = layout.bucket_name(number)
        return f"{self.buckets()}/{bucket}", f"{self.buckets()}/{layout.QUARANTINE}/{bucket}"

    def commit(self, number: int, record: Mapping[str, Any]) -> None:
        """As `Place`."""
        self._write(f"_done/{layout.bucket_name(number)}", str(number), json.dumps(record))

    def buckets(self) -> str:
        """As `Place`."""
        return f"{self._target}/{layout.plan_name(self._plan_id)}"

    def worst(self, spec: PlanSpec, n_buckets: int, n: int) -> Worst:
        """As `Place`."""
        return ranking.worst(self._spark, self.buckets(), spec, n)

    def publish(self, texts: Mapping[str, str]) -> None:
        """As `Place`."""
        self._write("_summary", "summary", texts[layout.SUMMARY])

    def _write(self, name: str, key: str, text: str) -> None:
        """Keep a text as one row of JSON."""
        row = self._spark.createDataFrame([(key, text)], "key string, text string")
        row.coalesce(1).write.mode("overwrite").json(f"{self.buckets()}/{name}")

    def _text(self, name: str) -> dict[str, str]:
        """Texts that were kept, by key; none where none are."""
        try:
            rows = self._spark.read.schema("key string, text string").json(f"{self.buckets()}/{name}").collect()
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return {}
        return {row["key"]: row["text"] for row in rows}
