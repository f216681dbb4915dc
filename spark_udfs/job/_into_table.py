"""A plan in a Delta or Iceberg table: one commit adds or replaces all its rows.

A plan is in the table whole or not at all, and once. Why two writers end with the rows once: each
notes the version of the table, then looks for the plan, then overwrites the rows of that plan id,
of which there are none unless the plan is replaced:

* Iceberg checks at the commit that no file with rows of this plan id came since the version noted
  (``isolation-level`` serializable), so the second commit fails, and its writer looks again and
  finds the plan.
* Delta skips a commit whose ``txnAppId`` has a ``txnVersion`` as high already, and fails one that
  read what another one has meanwhile written. The version of the transaction is the table's, noted
  before the look: a run that began after a commit is never skipped for it, whatever has been
  deleted since. Should both overwrite one after the other, the second one replaces rows by equal
  rows, for a plan id stands for one input and one spec.
"""

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rmqalloc.evaluation.batch_planning import PlanSpec
from spark_udfs.job import (
    _versions as versions,
)
from spark_udfs.job._plan_kernels import PLAN_ID
from spark_udfs.job._sources import UnitSource
from spark_udfs.job._tables import (
    KINDS,
    TableError,
    TableFacts,
    TableName,
    create_table,
    find_table,
    is_same,
    kind_of_catalog,
    parse_name,
    plain_path,
    refuse_unfit,
)
from spark_udfs.map_in_arrow import ddl

TRIES = 5
"""How often a commit is tried that others get in the way of."""

_CONFLICT = re.compile(
    r"concurrent|Found (new )?conflicting|Cannot determine history|CommitFailedException", re.I
)
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

    def shown(self, plan_id: str) -> str:
        """Return where people find a plan."""
        return f"{KINDS[self.kind]} table {self.name}, {PLAN_ID} {plan_id}"

    def put(self, plan_id: str, rows: Callable[[], DataFrame], replace: bool) -> bool:
        """Add a plan in one commit, or replace it; False if it is there already, by whomever."""
        run = uuid.uuid4().hex
        for tries_left in reversed(range(TRIES)):
            version = self._version()
            if not replace and self.holds(plan_id):
                return False
            try:
                self.overwrite(plan_id, rows(), self._options(plan_id, run, version))
                return run in self._runs(plan_id)
            except Exception as error:
                if not tries_left or not _CONFLICT.search(str(error)):
                    raise
        raise AssertionError("unreachable")

    def overwrite(self, plan_id: str, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Commit these rows as all rows of the plan."""
        rows.writeTo(self.name.sql).options(**options).overwrite(F.col(PLAN_ID) == plan_id)

    def _version(self) -> int:
        """Return the number of the present version, -1 if there is none."""
        self._spark.catalog.refreshTable(self.name.sql)
        return versions.newest(self._spark, self.kind, self.name.sql)

    def _runs(self, plan_id: str) -> set[str]:
        """Return the names of the runs that have committed a plan, as far back as the table's
        history goes.
        """
        if self.kind == "iceberg":
            noted = self._spark.table(f"{self.name.sql}.snapshots")
            plan, run = F.col("summary")["rmqalloc-plan"], F.col("summary")["rmqalloc-run"]
        else:
            noted = self._spark.sql(f"DESCRIBE HISTORY {self.name.sql}")
            plan = F.get_json_object("userMetadata", "$.rmqalloc.plan")
            run = F.get_json_object("userMetadata", "$.rmqalloc.run")
        rows = noted.where(plan == plan_id).select(run).collect()
        return {row[0] for row in rows}

    def _options(self, plan_id: str, run: str, version: int) -> dict[str, str]:
        """Return options of the writer that bind the commit to the noted version of the table, and
        name the run.
        """
        if self.kind == "delta":
            noted = json.dumps({"rmqalloc": {"plan": plan_id, "run": run}})
            return {
                "txnAppId": f"rmqalloc/{plan_id}",
                "txnVersion": str(version + 1),
                "userMetadata": noted,
            }
        since = {"validate-from-snapshot-id": str(version)} if version != -1 else {}
        return {
            "isolation-level": "serializable",
            "distribution-mode": "none",  # all rows are of one partition: a shuffle would bring them to one task
            "snapshot-property.rmqalloc-plan": plan_id,
            "snapshot-property.rmqalloc-run": run,
            **since,
        }


def committed_table(
    spark: SparkSession, name: str, spec: PlanSpec, source: UnitSource | None
) -> CommittedTable:
    """Return the table of a name, made unless it is there; TableError if it cannot take such plans."""
    plans = parse_name(name)
    columns = {PLAN_ID: "string"}
    for column in ddl(spec.schema).split(", "):
        column_name, _, column_type = column.partition(" ")
        columns[column_name] = column_type
    found = find_table(spark, plans)
    if found is not None:
        refuse_unfit(plans, found, columns)
        _refuse_source(spark, source, plans, found)
        return CommittedTable(spark, plans, found.provider)
    kind = kind_of_catalog(spark, plans)
    if not kind:
        statement = create_table(plans, columns, "delta")
        raise TableError(
            f"{plans} does not exist, and its catalog does not report which kind it would be: {statement}"
        )
    _create(spark, plans, columns, kind)
    return CommittedTable(spark, plans, kind)


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


def _refuse_source(
    spark: SparkSession, source: UnitSource | None, name: TableName, found: TableFacts
) -> None:
    """Raise TableError if a table is what the job reads."""
    same = False
    if source is not None and source.table:
        try:
            read = find_table(spark, parse_name(source.table))
        except TableError:  # what cannot be looked up like this, as a path, is said when it is read
            read = None
        same = read is not None and is_same(read, found)
    elif source is not None and source.path and found.location:
        same = plain_path(source.path) == plain_path(found.location)
    if same:
        raise TableError(f"{name} is the source of the job; give another table for the plan")
