"""A plan in a Delta or Iceberg table: it is staged as files and checked, then one commit adds or replaces all its rows.

Goals, in this order. A plan is in the table whole or not at all, and once: not both formats let anyone look at rows between
writing and committing them, so all that may forbid a plan (bad rows, a source that changed) is found out before, in a staging
directory that follows `spark_udfs.job._published`; a killed run goes on from there. Nothing is lost: bad rows with all their
columns are committed to ``<name>_quarantine`` before the plan is, so whoever sees a plan finds its bad rows. A second run
changes nothing.

Why two writers end with the rows once. Each notes the version of the table, then looks for the plan, then overwrites the rows
of that plan id, of which there are none unless the plan is forced:

* Iceberg checks at the commit that no file with rows of this plan id came since the version noted (``isolation-level``
  serializable), so the second commit fails, and its writer looks again and finds the plan.
* Delta skips a commit whose ``txnAppId`` has a ``txnVersion`` as high already, and fails one that read what another one has
  meanwhile written. The version of the transaction is the table's, noted before the look: a run that began after a commit is
  never skipped for it, whatever has been deleted since. Should both overwrite one after the other, the second one replaces
  rows by equal rows, for a plan id stands for one input and one spec.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rmqalloc.evaluation.batch_planning import PlanSpec
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
from spark_udfs.job import (
    _versions as versions,
)
from spark_udfs.job._by_file import record_of
from spark_udfs.job._on_worker import on_worker
from spark_udfs.job._published import QUARANTINE
from spark_udfs.job._sources import UnitSource, literally
from spark_udfs.job._tables import (
    KINDS,
    PLAN_ID,
    TableError,
    TableName,
    create_table,
    find_table,
    is_same,
    kind_of_catalog,
    parse_name,
    plain_path,
    refuse_unfit,
)
from spark_udfs.job.output import Manifest, Output, worker_path
from spark_udfs.map_in_arrow import ddl, quoted

BAD_COLUMNS = {
    PLAN_ID: "string",
    "consumer_group": "string",
    "topic": "string",
    "scenario": "string",
    "err_code": "int",
    "err_msg": "string",
    "input": "string",
}
"""Columns of the quarantine: ``input`` is the bad row with all its columns as JSON, as every source has columns of its own."""

STAGING = "_rmqalloc"
"""Below a table's location: readers, VACUUM and remove_orphan_files pass over names that begin like this."""

TRIES = 5
"""How often a commit is tried that others get in the way of."""

Staged = tuple[DataFrame, DataFrame | None]
"""The rows of a plan that is staged, and of its quarantine if any row is bad."""

_CONFLICT = re.compile(r"concurrent|Found (new )?conflicting|Cannot determine history|CommitFailedException", re.I)
_CREATED_MEANWHILE = re.compile(
    r"concurrent|already ?exists|ALREADY_EXISTS|NON_EMPTY_LOCATION|CommitFailedException", re.I
)


class CommittedTable:
    """A Delta or Iceberg table, partitioned by plan, that takes the rows of a plan in one commit."""

    def __init__(self, spark: SparkSession, name: TableName, kind: str) -> None:
        self.name, self.kind, self._spark = name, kind, spark

    def rows(self, plan_id: str) -> DataFrame:
        """Return the rows of a plan as they are now."""
        # A catalog may remember a table as it was before another session wrote to it.
        self._spark.catalog.refreshTable(self.name.sql)
        return self._spark.table(self.name.sql).where(F.col(PLAN_ID) == plan_id)

    def holds(self, plan_id: str) -> bool:
        """Return True if there are rows of a plan."""
        return bool(self.rows(plan_id).head(1))

    def version(self) -> int:
        """Return the number of the present version, -1 if there is none."""
        self._spark.catalog.refreshTable(self.name.sql)
        return versions.newest(self._spark, self.kind, self.name.sql)

    def runs(self, plan_id: str) -> set[str]:
        """Return the names of the runs that have committed a plan, as far back as the table's history goes."""
        if self.kind == "iceberg":
            noted = self._spark.table(f"{self.name.sql}.snapshots")
            plan, run = F.col("summary")["rmqalloc-plan"], F.col("summary")["rmqalloc-run"]
        else:
            noted = self._spark.sql(f"DESCRIBE HISTORY {self.name.sql}")
            plan, run = (F.get_json_object("userMetadata", f"$.rmqalloc.{one}") for one in ("plan", "run"))
        return {row[0] for row in noted.where(plan == plan_id).select(run).collect()}

    def put(self, plan_id: str, rows: DataFrame, force: bool) -> bool:
        """Add a plan in one commit, or replace it if forced; False if it is there already, by whomever."""
        run = manifests.unique_name()
        for tries_left in reversed(range(TRIES)):
            version = self.version()
            if not force and self.holds(plan_id):
                return False
            try:
                self.overwrite(plan_id, rows, self._options(plan_id, run, version))
                return run in self.runs(plan_id)
            except Exception as error:
                if not tries_left or not _CONFLICT.search(str(error)):
                    raise
        raise AssertionError("unreachable")

    def overwrite(self, plan_id: str, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Commit these rows as all rows of the plan."""
        rows.writeTo(self.name.sql).options(**options).overwrite(F.col(PLAN_ID) == plan_id)

    def _options(self, plan_id: str, run: str, version: int) -> dict[str, str]:
        """Return options of the writer that bind the commit to the noted version of the table, and name the run."""
        if self.kind == "delta":
            noted = json.dumps({"rmqalloc": {"plan": plan_id, "run": run}})
            return {"txnAppId": f"rmqalloc/{plan_id}", "txnVersion": str(version + 1), "userMetadata": noted}
        since = {"validate-from-snapshot-id": str(version)} if version != -1 else {}
        return {
            "isolation-level": "serializable",
            "distribution-mode": "none",  # all rows are of one partition: a shuffle would bring them to one task
            "snapshot-property.rmqalloc-plan": plan_id,
            "snapshot-property.rmqalloc-run": run,
            **since,
        }


class JobTables:
    """The table of a job's plans, and the one of their bad rows."""

    def __init__(self, spark: SparkSession, name: str, spec: PlanSpec, source: UnitSource) -> None:
        self._spark, self._spec = spark, spec
        plans = parse_name(name)
        bad = plans.beside(f"_{QUARANTINE}")
        columns = {PLAN_ID: "string", **dict(one.split(" ", 1) for one in ddl(spec.schema).split(", "))}
        found = [find_table(spark, one) for one in (plans, bad)]
        wanted = [columns, BAD_COLUMNS]
        for one, facts, form in zip((plans, bad), found, wanted, strict=True):
            if facts is not None:
                refuse_unfit(one, facts, form)
                _refuse_source(spark, source, one, facts)
        kind = found[0].provider if found[0] else kind_of_catalog(spark, plans)
        if not kind:
            statement = create_table(plans, columns, "delta")
            raise TableError(
                f"{plans} is not there, and its catalog does not say of which kind it would be: {statement}"
            )
        if None in found:
            source.read(spark)  # a wrong source must leave no empty tables behind
        for one, facts, form in zip((plans, bad), found, wanted, strict=True):
            if facts is None:
                _create(spark, one, form, kind)
        self.plans = CommittedTable(spark, plans, kind)
        bad_facts = found[1]
        self.bad = CommittedTable(spark, bad, kind if bad_facts is None else bad_facts.provider)
        self._location = (found[0] or find_table(spark, plans) or _gone(plans)).location

    @property
    def staging(self) -> str:
        """Where a plan is staged unless somebody says otherwise."""
        if not self._location:
            raise TableError(
                f"the location of {self.plans.name} is not known; give an output directory to stage the plan in"
            )
        return f"{self._location.rstrip('/')}/{STAGING}"

    def staged(self, output: Output, manifest: Manifest) -> Staged | None:
        """Return the plan and its bad rows, if any, from the files of a manifest; None if files are gone."""
        try:
            plan = self._read(output, manifest, "files", ddl(self._spec.schema))
            bad = self._read(output, manifest, QUARANTINE) if manifests.files_in(manifest, QUARANTINE) else None
        except PySparkException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return None
        first = F.lit(manifest["plan"]).alias(PLAN_ID)
        return plan.select(first, *self._spec.schema.names), None if bad is None else _quarantine(bad, first)

    def _read(self, output: Output, manifest: Manifest, part: str, schema: str | None = None) -> DataFrame:
        # Whatever the session is set to, a file that is gone or damaged must fail the commit.
        reader = self._spark.read.options(ignoreMissingFiles="false", ignoreCorruptFiles="false", mergeSchema="true")
        reader = reader if schema is None else reader.schema(schema)
        read = reader.parquet(*(literally(output.uri(name)) for name in manifests.files_in(manifest, part)))
        assert read.columns
        return read

    def put(self, plan_id: str, staged: Staged | None, force: bool) -> bool:
        """Commit the bad rows, then the plan; False if the plan is there already, by whomever."""
        if staged is None:
            raise manifests.PublishError("files of the staged plan are gone; run the job again")
        plan, bad = staged
        if bad is not None:
            self.bad.put(plan_id, bad, force)
        return self.plans.put(plan_id, plan, force)

    def summary(self, plan_id: str, n_worst: int) -> dict[str, Any]:
        """Return the summary of a plan that is there, from its rows."""
        rows = self.plans.rows(plan_id)
        seen = rows.select(*by_frame.totals_columns(self._spec)).first()
        assert seen is not None
        record = record_of(by_frame.totals_seen(seen.asDict(), self._spec), self._spec)
        totals = plan_summary.totals_in([record], self._spec)
        return plan_summary.summary(plan_id, self._spec, totals, by_frame.worst_rows(rows, self._spec, n_worst))

    def shown(self, plan_id: str) -> str:
        """Return where people find a plan."""
        return f"{KINDS[self.plans.kind]} table {self.plans.name}, {PLAN_ID} {plan_id}"

    def forget_staged(self, manifest: Manifest) -> None:
        """Remove what a manifest names, and itself first, from the staging directory.

        Runs of the same plan at work meanwhile have files of their own, or find these gone and the plan in the table. Through
        Spark Connect, files that only Spark reaches stay.
        """
        names = output_layout.names_of_plan(manifest)
        path = worker_path(self.staging, self._spark)
        if path is not None:
            on_worker(self._spark, output_layout.remove, path, names)
        elif hadoop.bridge(self._spark) is not None:
            for name in names:
                hadoop.remove(self._spark, f"{self.staging}/{name}")

    def sweep_staged(self, plan_id: str) -> None:
        """Remove from a staging directory on a disk what killed runs of a plan have left, after a day."""
        path = worker_path(self.staging, self._spark)
        if path is not None:
            on_worker(self._spark, output_layout.remove_plan, path, plan_id, output_layout.DAY)


def _quarantine(bad: DataFrame, plan_id: Any) -> DataFrame:
    """Return the bad rows as the quarantine's table has them."""
    reasons = ("scenario", "err_code", "err_msg")
    whole = F.struct(*[quoted(name) for name in bad.columns if name not in reasons])
    texts = [F.col(name).cast("string").alias(name) for name in ("consumer_group", "topic")]
    return bad.select(plan_id, *texts, *reasons, F.to_json(whole, {"ignoreNullFields": "false"}).alias("input"))


def _create(spark: SparkSession, name: TableName, columns: Mapping[str, str], kind: str) -> None:
    """Create a table unless it is there; others may create it at the same time."""
    for tries_left in reversed(range(TRIES)):
        try:
            spark.sql(create_table(name, columns, kind))
            break
        except Exception as error:
            if not tries_left or not _CREATED_MEANWHILE.search(str(error)):
                raise
            time.sleep(1)  # the table of another run has its files before the catalog has it
    if (found := find_table(spark, name)) is not None:
        refuse_unfit(name, found, columns)


def _gone(name: TableName) -> Any:
    raise TableError(f"{name} was dropped meanwhile")


def _refuse_source(spark: SparkSession, source: UnitSource, name: TableName, found: Any) -> None:
    """Raise TableError if a table is what the job reads."""
    same = False
    if source.table:
        try:
            read = find_table(spark, parse_name(source.table))
        except TableError:  # what cannot be looked up like this, as a path, is said when it is read
            read = None
        same = read is not None and is_same(read, found)
    elif source.path and found.location:
        same = plain_path(source.path) == plain_path(found.location)
    if same:
        raise TableError(f"{name} is what the job reads; give another table for the plan")
