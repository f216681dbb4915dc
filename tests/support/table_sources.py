"""Tables of Delta and Iceberg as sources of the job, on a release of Spark that has both.

    python -m table_sources FOLDER

Started by `spark_releases` in the environment of that release; prints JSON: by the name of a case,
whether the plan is that of the same rows out of plain Parquet.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import random_units as units

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs import UnitSource, plan_table

SPEC = PlanSpec("AVG", output="owners")


def plan_of(spark, source, out):
    """The rows of a plan in order."""
    plan_table(spark, source, SPEC, out=str(out))
    return sorted(str(row) for row in pq.read_table(out).drop_columns("plan_id").to_pylist())


def cases(spark):
    """A table for every case, and the SQL that makes it what it is."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    part = "PARTITIONED BY (topic)"
    few = "pmod(xxhash64(consumer_group), 3) = 0"
    yield "delta", "t_plain", "CREATE TABLE t_plain USING delta AS SELECT * FROM fleet", None
    yield "delta, deleted", "t_less", "CREATE TABLE t_less USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true') AS SELECT * FROM fleet", f"DELETE FROM t_less WHERE {few}"  # fmt: skip  # noqa: E501
    yield (
        "delta, partitioned",
        "t_parts",
        f"CREATE TABLE t_parts USING delta {part} AS SELECT * FROM fleet",
        None,
    )
    yield "delta, mapped", "t_mapped", "CREATE TABLE t_mapped USING delta TBLPROPERTIES ('delta.columnMapping.mode'='name') AS SELECT * FROM fleet", None  # fmt: skip  # noqa: E501
    yield (
        "iceberg",
        "ice.db.plain",
        "CREATE TABLE ice.db.plain USING iceberg AS SELECT * FROM fleet",
        None,
    )
    yield "iceberg, deleted", "ice.db.less", "CREATE TABLE ice.db.less USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read') AS SELECT * FROM fleet", f"DELETE FROM ice.db.less WHERE {few}"  # fmt: skip  # noqa: E501
    yield "iceberg, renamed", "ice.db.names", "CREATE TABLE ice.db.names USING iceberg AS SELECT *, array('x') AS old FROM fleet", "ALTER TABLE ice.db.names RENAME COLUMN old TO older"  # fmt: skip  # noqa: E501


def main(folder, settings):
    """Make the tables and plan them."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in json.loads(settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    here, found = Path(folder), {}
    rows = [*units.synthetic(60, seed=1).to_pylist(), units.row("bad", client_ids=[])]
    (here / "a fleet").mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), here / "a fleet" / "part-0.parquet"
    )
    spark.read.parquet(str(here / "a fleet")).createOrReplaceTempView("fleet")
    for name, table, create, change in cases(spark):
        spark.sql(create)
        if change:
            spark.sql(change)
        spark.table(table).select(*FLEET_SCHEMA.names).coalesce(1).write.parquet(
            str(here / f"same as {name}")
        )
        plan = plan_of(spark, UnitSource(table=table), here / f"plans of {name}")
        wanted = plan_of(spark, str(here / f"same as {name}"), here / f"wanted of {name}")
        found[name] = {"rows": len(plan), "is_equal": plan == wanted}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
