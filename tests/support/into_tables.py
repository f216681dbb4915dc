"""Plans into a Delta and an Iceberg table, on the release of Spark whose interpreter runs this:
``into_tables.py FOLDER``.
"""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
from job_runs import SPECS, job, text_of, write_units
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs import UnitSource
from spark_udfs.job._into_table import CommittedTable
from spark_udfs.job._plan_table import TooManyBadRowsError
from spark_udfs.job._spark_errors import JobError
from spark_udfs.job._tables import TableError

FEW = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
}
OTHER, BOTH, CHANGED = (
    PlanSpec(name, output="metrics") for name in ("AVG_BY_CIRCLE", "ORDINAL", "AVG")
)


def fails(kind, said, call):
    """That a call raises such an error; its text."""
    found = None
    try:
        call()
    except kind as error:
        found = error
    assert found is not None, f"no {kind.__name__}: {said}"
    assert said in str(found), found
    return str(found)


def rows_of(spark, table, plan_id):
    """Rows of a plan as a reader gets them, in no order, without the plan's id."""
    plan = spark.table(table).where(F.col("plan_id") == plan_id).drop("plan_id")
    return sorted(str(row.asDict(recursive=True)) for row in plan.collect())


def versions(spark, kind, table):
    """How many commits a table has seen."""
    noted = (
        spark.sql(f"DESCRIBE HISTORY {table}")
        if kind == "delta"
        else spark.table(f"{table}.snapshots")
    )
    return noted.count()


def check(spark, kind, table, home):
    """All of it in one table."""
    fleet, out = home / "fleet", home / f"{kind}-kept"
    first = job(fleet, into=table)
    assert not first.was_complete
    plan_files(fleet, home / kind, SPECS[1])
    wanted = sorted(str(row) for row in pq.read_table(home / kind).to_pylist())
    assert rows_of(spark, table, first.plan_id) == wanted
    assert first.shown == f"{kind.capitalize()} table {table}, plan_id {first.plan_id}"
    before = versions(spark, kind, table)
    again = job(fleet, into=table)
    assert (again.was_complete, again.summary) == (True, first.summary)
    assert versions(spark, kind, table) == before

    other = job(fleet, out, OTHER, into=table)
    assert (out / "_SUCCESS").exists(), "with a directory, the table takes its rows"
    assert rows_of(spark, table, other.plan_id) == text_of(out)
    replaced = job(fleet, into=table, overwrite=True)
    assert (replaced.was_complete, versions(spark, kind, table)) == (False, before + 2)
    assert rows_of(spark, table, first.plan_id) == wanted
    spark.sql(f"DELETE FROM {table} WHERE plan_id = '{first.plan_id}'")
    assert not job(fleet, into=table, bad=str(home / f"{kind}-bad")).was_complete, (
        "somebody deleted it; it comes again"
    )
    assert rows_of(spark, table, first.plan_id) == wanted
    assert text_of(home / f"{kind}-bad") == [row for row in wanted if "'err_code': 0" not in row]
    both(spark, kind, table, fleet)
    changed(spark, table, fleet)
    refused(spark, kind, table, fleet)


def both(spark, kind, table, fleet):
    """Two writers at once, and one whose commit meets that of another, end with the plan once."""
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: job(fleet, spec=BOTH, into=table), range(2)))
    assert sorted(one.was_complete for one in done) == [False, True]
    once = rows_of(spark, table, done[0].plan_id)
    spark.sql(f"DELETE FROM {table} WHERE plan_id = '{done[0].plan_id}'")
    real, runs = CommittedTable.overwrite, []

    def overtaken(self, *arguments):
        runs.append(len(runs))
        if runs == [0]:  # another one has noted the version, looked, and is first
            assert not job(fleet, spec=BOTH, into=table).was_complete
        real(self, *arguments)

    CommittedTable.overwrite = overtaken
    try:
        assert job(fleet, spec=BOTH, into=table).was_complete
    finally:
        CommittedTable.overwrite = real
    assert len(runs) >= 2
    assert rows_of(spark, table, done[0].plan_id) == once


def changed(spark, table, fleet):
    """A source that changes before the job has looked at it again: the rows that the error names are
    there, and those are all that an interrupt says.
    """
    real, part = CommittedTable.put, fleet / "part-0.parquet"
    acts = [lambda: pq.write_table(pq.read_table(part), part), interrupted]

    def put(self, *arguments):
        won = real(self, *arguments)
        acts.pop(0)()
        return won

    CommittedTable.put = put
    try:
        text = fails(
            JobError,
            "delete these rows and run the job again",
            lambda: job(fleet, spec=CHANGED, into=table, in_workers=False),
        )
        assert rows_of(spark, table, re.search(r"plan_id (p\w+) may mix states", text)[1])
        try:
            job(fleet, spec=CHANGED, into=table)
            raise AssertionError("no interrupt")
        except KeyboardInterrupt as error:
            [note] = error.__notes__
        plan_id = re.fullmatch(rf"{table} holds rows of plan_id (p\w+)", note)[1]
        assert rows_of(spark, table, plan_id)
    finally:
        CommittedTable.put = real


def interrupted():
    raise KeyboardInterrupt


def refused(spark, kind, table, fleet):
    """What must fail before any work, or before the commit."""
    before = versions(spark, kind, table)
    fails(
        TableError,
        "is the source of the job",
        lambda: job(UnitSource(table=table), spec=OTHER, into=table),
    )
    strict = PlanSpec("CONSISTENT_HASH", output="metrics")
    fails(
        TooManyBadRowsError,
        "no row is written",
        lambda: job(fleet, spec=strict, into=table, max_bad_fraction=0.01),
    )
    assert versions(spark, kind, table) == before
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note string")
    fails(TableError, "note is not a column of the plan", lambda: job(fleet, into=table))


def main():
    home = Path(sys.argv[1])
    builder = SparkSession.builder.master("local[2]")
    settings = json.loads((home / "settings.json").read_text()) | FEW
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    fleet = write_units(home / "fleet", 60)
    spark.sql("CREATE TABLE files (a int) USING parquet")
    fails(TableError, "files is a table of parquet", lambda: job(fleet, into="files"))
    fails(TableError, "no catalog iced for iced.db.t", lambda: job(fleet, into="iced.db.t"))
    check(spark, "delta", "plans", home)
    if "spark.sql.catalog.ice" in settings:
        spark.sql("CREATE NAMESPACE ice.db")
        check(spark, "iceberg", "ice.db.plans", home)


if __name__ == "__main__":
    main()
