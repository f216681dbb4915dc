"""The same answers from Spark's columns as from the engine asked group by group, and what a session
needs.
"""

import json
import pickle

import pyarrow as pa
import pytest
import random_units as units
from programs import python

from rmqalloc import strategy
from rmqalloc.evaluation import expand as names
from rmqalloc.evaluation.batch_planning import PlanSpec, figures_schema, plan_batch
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs import requirements
from spark_udfs.map_in_arrow import PlanBatches

AVG = strategy("AVG")
on_spark = pytest.mark.spark


def rows_of(frame):
    return frame.toArrow().to_pylist()


# --- Without Spark ---


def test_what_runs_in_workers_imports_no_spark():
    jobs = ("job._plan_kernels", "job._plan_directory", "job._plan_summary")
    names = ("map_in_arrow", "_arrow_plan", *jobs, "requirements")
    modules = ", ".join(f"spark_udfs.{name}" for name in names)
    done = python("-c", f"import sys, {modules}; print('pyspark' in sys.modules)")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_kernel_travels_as_its_name():
    batch, words = units.mixed()
    spec = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners")
    kernel = pickle.loads(pickle.dumps(PlanBatches(spec)))
    rows = [row for out in kernel([batch]) for row in out.to_pylist()]
    units.assert_assigned(
        rows, batch.to_pylist(), words, strategy("CONSISTENT_HASH", virtual_nodes=7)
    )


def java_saying(tmp_path, version):
    """A directory as JAVA_HOME, whose java says it is of that version."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("version", "major"),
    [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("25", 25), ("21-ea", 21)],
)
def test_javas_version_is_read(tmp_path, monkeypatch, version, major):
    monkeypatch.setenv("JAVA_HOME", java_saying(tmp_path, version))
    assert requirements.java_version() == (str(tmp_path / "bin" / "java"), major)
    if major >= 17:
        requirements.require_java()
    else:
        with pytest.raises(
            requirements.JavaNotFoundError,
            match=rf"Java 17 or newer, but Java {major} at .* too old",
        ):
            requirements.require_java()


def test_no_java_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        requirements.JavaNotFoundError, match=r"no Java was found\. .*apt-get install openjdk-17"
    ):
        requirements.require_java()


# --- The transform ---


@on_spark
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("AVG", {}),
        ("CONSISTENT_HASH", {"virtual_nodes": 7}),
        ("MACHINE_ROOM", {"machine_rooms": {"hz"}}),
    ],
)
def test_spark_says_what_the_engine_says(spark, name, params):
    from spark_udfs.transforms import assign

    batch, words = units.mixed()
    table = pa.concat_tables([units.synthetic(200, seed=4), pa.table(batch)])
    rows = rows_of(spark.createDataFrame(table).transform(assign(name, **params)))
    units.assert_assigned(rows, table.to_pylist(), [None] * 200 + words, strategy(name, **params))


@on_spark
def test_queues_and_other_columns(spark):
    from spark_udfs.transforms import assign

    good = pa.RecordBatch.from_pylist(units.GOOD, schema=FLEET_SCHEMA)
    table = pa.table(units.exploded(good)).append_column("note", pa.array(["x"] * len(units.GOOD)))
    rows = rows_of(spark.createDataFrame(table).transform(assign("AVG")))
    assert [row.pop("note") for row in rows] == ["x"] * len(units.GOOD)
    units.assert_assigned(rows, units.GOOD, [None] * len(units.GOOD), AVG)


@on_spark
def test_a_hash_function_travels_along(spark):
    from spark_udfs.transforms import assign

    table = pa.Table.from_pylist(units.GOOD, schema=FLEET_SCHEMA)
    params = {"hash_function": lambda key: len(key) % 5}
    rows = rows_of(spark.createDataFrame(table).transform(assign("CONSISTENT_HASH", **params)))
    units.assert_assigned(
        rows, units.GOOD, [None] * len(units.GOOD), strategy("CONSISTENT_HASH", **params)
    )


TRIED = [
    {"name": "four", "changes": [{"scale_clients": {"to": 4}}]},
    {
        "name": "ring",
        "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
        "topics": "*0",
    },
]


@on_spark
@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_spark_plans_as_the_kernel_does(spark, tmp_path, output):
    from spark_udfs.transforms import plan

    table = pa.concat_tables([units.synthetic(60, seed=4), pa.table(units.mixed()[0])])
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps({"scenarios": TRIED}))
    rows = rows_of(spark.createDataFrame(table).transform(plan(path, "AVG", output)))
    spec = PlanSpec("AVG", scenarios=TRIED, output=output)
    assert rows == plan_batch(table.combine_chunks().to_batches()[0], spec).to_pylist()


@on_spark
def test_names_and_loads_on_spark(spark):
    from spark_udfs.transforms import client_load, expand_owners

    table = units.synthetic(40, seed=6)
    frame, batch = spark.createDataFrame(table), table.combine_chunks().to_batches()[0]
    spec = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, TRIED)
    rows = rows_of(frame.transform(expand_owners(TRIED, "CONSISTENT_HASH", virtual_nodes=7)))
    assert rows == names.expand_owners(batch, spec).to_pylist()
    for by in ("client_id", "host"):
        found = frame.transform(client_load(TRIED, "CONSISTENT_HASH", by, virtual_nodes=7))
        wanted = names.sum_loads([names.client_load(batch, spec)], by)
        assert sorted(rows_of(found), key=str) == sorted(wanted.to_pylist(), key=str)
    with pytest.raises(ValueError, match='by must be "client_id" or "host"'):
        client_load(by="ip")


@on_spark
def test_a_wrong_table_is_refused_when_the_query_is_made(spark):
    from spark_udfs.transforms import assign, plan

    frame = spark.createDataFrame(units.synthetic(3))
    with pytest.raises(TypeError, match="no column topic"):
        frame.drop("topic").transform(assign())
    with pytest.raises(TypeError, match="client_ids must be a list"):
        frame.withColumn("client_ids", frame.topic).transform(assign())
    lost = [{"name": "lost", "changes": [{"lose_machine_room": {"machine_room": "hz"}}]}]
    with pytest.raises(TypeError, match="no column client_rooms"):
        frame.transform(plan(lost))


@on_spark
def test_the_schema_is_the_same_in_sparks_words(spark):
    from pyspark.sql.pandas.types import to_arrow_schema

    from spark_udfs.transforms import assign

    schema = to_arrow_schema(spark.createDataFrame(units.synthetic(1)).transform(assign()).schema)
    wanted = figures_schema("owners")
    assert schema.names == wanted.names
    for name in schema.names:
        assert str(schema.field(name).type).replace("element", "item") == str(
            wanted.field(name).type
        )
