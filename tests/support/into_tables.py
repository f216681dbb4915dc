"""Plans into a Delta and an Iceberg table, on the release of Spark whose interpreter runs this: ``into_tables.py FOLDER``."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import random_units as units
from job_runs import SPECS, job, write_units
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_udfs.job._planning_job import TooManyBadRowsError, run_job

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs.job import _into_table as into_table
from spark_udfs.job._sources import UnitSource
from spark_udfs.job._tables import TableError

FEW = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
}
OTHER = PlanSpec("AVG_BY_CIRCLE", output="metrics")


def fails(kind, said, call):
    """That a call raises such an error."""
    found = None
    try:
        call()
    except kind as error:
        found = error
    assert found is not None, f"no {kind.__name__}: {said}"
    assert said in str(found), found


def rows_of(spark, table, plan_id):
    """Rows of a plan as a reader gets them, in no order, without the plan's id."""
    plan = spark.table(table).where(F.col("plan_id") == plan_id).drop("plan_id")
    return sorted(str(row.asDict(recursive=True)) for row in plan.collect())


def versions(spark, kind, table):
    """How many commits a table has seen."""
    noted = spark.sql(f"DESCRIBE HISTORY {table}") if kind == "delta" else spark.table(f"{table}.snapshots")
    return noted.count()


def check(spark, kind, table, home):
    """All of it in one table."""
    fleet, staging = home / "fleet", lambda: list((home / "spark" / "plans" / "_rmqalloc").rglob("*.parquet"))
    first = job(fleet, "", into=table)
    assert (first.was_complete, staging()) == (False, [])
    plan_files(fleet, home / kind, SPECS[1])
    wanted = sorted(str(row) for row in pq.read_table(home / kind).to_pylist())
    assert rows_of(spark, table, first.plan_id) == wanted
    bad = spark.table(f"{table}_quarantine").collect()
    assert {row["plan_id"] for row in bad} == {first.plan_id}
    assert len(bad) == len(units.BAD)
    assert {"consumer_group", "brokers", "client_ids"} <= json.loads(bad[0]["input"]).keys()

    before = [versions(spark, kind, one) for one in (table, f"{table}_quarantine")]
    again = job(fleet, "", into=table)
    assert (again.was_complete, again.summary) == (True, first.summary)
    assert [versions(spark, kind, one) for one in (table, f"{table}_quarantine")] == before

    other = job(fleet, str(home / f"{kind}-kept"), OTHER, into=table)
    assert list((home / f"{kind}-kept" / f"plan={other.plan_id}").rglob("*.parquet")), (
        "a directory that was named is kept"
    )
    forced = job(fleet, "", into=table, force=True)
    assert (forced.was_complete, versions(spark, kind, table)) == (False, before[0] + 2)
    assert rows_of(spark, table, first.plan_id) == wanted
    found = {row["plan_id"] for row in spark.sql(f"SELECT DISTINCT plan_id FROM {table}").collect()}
    assert found == {first.plan_id, other.plan_id}
    taken_out(spark, table, fleet, wanted, first.plan_id)
    refused(spark, table, fleet)


def taken_out(spark, table, fleet, wanted, plan_id):
    """A plan that somebody deleted comes again; one whose staged files are gone is planned anew."""
    spark.sql(f"DELETE FROM {table} WHERE plan_id = '{plan_id}'")
    put = into_table.JobTables.put

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    into_table.JobTables.put = interrupted
    fails(KeyboardInterrupt, "", lambda: job(fleet, "", into=table))
    into_table.JobTables.put = put
    spark.catalog.refreshTable(table)
    [location] = [
        row["data_type"]
        for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
        if row["col_name"] == "Location"
    ]
    for path in Path(location.removeprefix("file:"), "_rmqalloc", "_data").rglob("*.parquet"):
        path.unlink()
    assert not job(fleet, "", into=table).was_complete
    assert rows_of(spark, table, plan_id) == wanted


def refused(spark, table, fleet):
    """What must fail before any work, or before the commit."""
    fails(TableError, "is what the job reads", lambda: run_job(UnitSource(table=table), "", OTHER, into=table))
    n_plans = spark.table(table).select("plan_id").distinct().count()
    strict = PlanSpec("AVG_BY_CIRCLE")
    fails(TooManyBadRowsError, "are bad", lambda: job(fleet, "", strict, into=table, max_bad_fraction=0.01))
    assert spark.table(table).select("plan_id").distinct().count() == n_plans
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note string")
    fails(TableError, "note is no column of it", lambda: job(fleet, "", into=table))


def main():
    home = Path(sys.argv[1])
    builder = SparkSession.builder.master("local[2]")
    settings = json.loads((home / "settings.json").read_text()) | FEW
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    fleet = write_units(home / "fleet")
    spark.sql("CREATE TABLE files (a int) USING parquet")
    fails(TableError, "files is a table of parquet", lambda: job(fleet, "", into="files"))
    fails(TableError, "no catalog iced for iced.db.t", lambda: job(fleet, "", into="iced.db.t"))
    check(spark, "delta", "plans", home)
    if "spark.sql.catalog.ice" in settings:
        spark.sql("CREATE NAMESPACE ice.db")
        check(spark, "iceberg", "ice.db.plans", home)


if __name__ == "__main__":
    main()
