"""Plans in Delta and Iceberg tables: what is refused, what is removed, and both connectors on a
release that has them.
"""

import json
import sys
from pathlib import Path

import pytest
import spark_releases
from checkout import ROOT
from job_runs import job, report, write_units
from programs import python

from spark_udfs.job._tables import (
    TableError,
    TableFacts,
    TableName,
    facts_of,
    is_same,
    parse_name,
    refuse_unfit,
)

COLUMNS = {"plan_id": "string", "topic": "string", "queues": "int"}
GOOD = TableFacts("iceberg", COLUMNS, frozenset({"plan_id"}), "file:/t", "ice.db.t")


# --- Without Spark ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a name of a table; give a name such as catalog.schema.plans"),
        ("a..b", "is not a name of a table"),
        ("a b", "is not a name of a table"),
        ("t; DROP TABLE u", "is not a name of a table"),
        ("delta.`/plans`", "is a path; give the name of a table"),
    ],
)
def test_names_that_are_none(text, said):
    with pytest.raises(TableError, match=said.replace(".", r"\.")):
        parse_name(text)


def test_names_are_quoted():
    assert parse_name("ice.`a``b; DROP`.t").sql == "`ice`.`a``b; DROP`.`t`"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"provider": "parquet"}, "t is a table of parquet; only Delta and Iceberg"),
        ({"provider": "hive"}, "t is a table of hive; only Delta and Iceberg"),
        ({"provider": ""}, "t is a view; only Delta and Iceberg"),
        (
            {"columns": {"plan_id": "string", "topic": "string"}},
            "queues is missing. Give another table",
        ),
        ({"columns": COLUMNS | {"note": "string"}}, "note is not a column of the plan"),
        ({"columns": COLUMNS | {"queues": "bigint"}}, "queues is bigint, not int"),
        (
            {"partitions": frozenset()},
            r"not partitioned by plan_id.*USING iceberg PARTITIONED BY \(plan_id\)",
        ),
    ],
)
def test_tables_that_take_no_plans(changed, said):
    refuse_unfit(TableName(("t",)), GOOD, COLUMNS)
    with pytest.raises(TableError, match=said):
        refuse_unfit(TableName(("t",)), GOOD._replace(**changed), COLUMNS)


def test_what_a_catalog_says_of_a_table():
    partitions = [
        ("# Partition Information", ""),
        ("# col_name", "data_type"),
        ("plan_id", "string"),
        ("", ""),
    ]
    details = [
        ("# Detailed Table Information", ""),
        ("Name", "ice.db.t"),
        ("Type", "MANAGED"),
        ("Location", "file:/t"),
    ]
    described = [*COLUMNS.items(), ("", ""), *partitions, *details, ("Provider", "iceberg")]
    assert facts_of(described, COLUMNS) == GOOD
    transformed = [
        ("# Partitioning", ""),
        ("Part 0", "bucket(4, plan_id)"),
        *details,
        ("Provider", "iceberg"),
    ]
    assert facts_of(transformed, COLUMNS).partitions == frozenset()
    assert facts_of([*details, ("Type", "VIEW")], COLUMNS).provider == ""


def test_one_table_under_two_names():
    assert is_same(GOOD, GOOD._replace(location="/t/", full_name="t"))
    assert not is_same(GOOD, GOOD._replace(location="file:///u"))
    assert is_same(GOOD._replace(location=""), GOOD._replace(full_name="ICE.db.t"))


def test_a_table_takes_plans_of_spark_alone():
    done = python("-m", "rmqalloc", "bulk", "-f", "a", "--into", "t")
    assert (done.returncode, "--into needs --spark" in done.stderr) == (64, True)


# --- With Spark ---


@pytest.mark.spark
def test_without_a_connector_it_is_said_which_releases_have_one(spark, tmp_path, capsys):
    fleet = write_units(tmp_path / "fleet")
    for name in ("plans", "ice.db.plans"):
        with pytest.raises(
            TableError,
            match=r"--into needs Delta or Iceberg.*3\.5, 4\.0 and 4\.1.*session is Spark",
        ):
            job(fleet, into=name)
    assert report(fleet, "", into="plans") == 1
    assert (
        "plans does not exist, and the session has no catalog that could create it"
        in capsys.readouterr().err
    )


@pytest.mark.spark
def test_a_name_that_spark_cannot_look_up_is_said_with_its_reason(spark, tmp_path):
    fleet = write_units(tmp_path / "fleet")
    spark.sql("CREATE TEMPORARY VIEW below AS SELECT 1 AS region")
    spark.sql("CREATE TEMPORARY VIEW broken AS SELECT region FROM below")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW below AS SELECT 1 AS zone")
    try:
        with pytest.raises(
            TableError,
            match=r"broken cannot be looked up: \[UNRESOLVED_COLUMN.*[^;]; --into needs Delta",
        ):
            job(fleet, into="broken")
    finally:
        spark.catalog.dropTempView("broken")
        spark.catalog.dropTempView("below")


@pytest.mark.spark
def test_a_plan_in_delta_and_in_iceberg(tmp_path):
    """In a process of its own: the connectors are for another release of Spark than the session's."""
    settings = spark_releases.settings("4.1", "delta", "iceberg", warehouse=tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    program = Path(__file__).parents[2] / "support" / "into_tables.py"
    folders = (ROOT / "tests", ROOT / "tests" / "support")
    done = spark_releases.run("4.1", program, tmp_path, folders=folders, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    sys.stdout.write(done.stdout)
