"""The same answers from Spark's columns as from the engine asked group by group, and the job that runs on files."""

import io
import json
import pickle
import sys

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import units
from programs import python

from rmqalloc import strategy
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA, write_fleet
from rmqalloc.whatif import names
from rmqalloc.whatif.plan import PlanSpec, plan_batch, plan_schema
from spark_udfs import requirements
from spark_udfs.arrow import PlanBatches

AVG = strategy("AVG")
on_spark = pytest.mark.spark


def rows_of(frame):
    return frame.toArrow().to_pylist()


# --- Without Spark ---


def test_what_runs_in_workers_imports_no_spark():
    done = python("-c", "import sys, spark_udfs.arrow, spark_udfs.requirements; print('pyspark' in sys.modules)")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_kernel_travels_as_its_name():
    batch, words = units.mixed()
    spec = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners")
    kernel = pickle.loads(pickle.dumps(PlanBatches(spec)))
    rows = [row for out in kernel([batch]) for row in out.to_pylist()]
    units.assert_assigned(rows, batch.to_pylist(), words, strategy("CONSISTENT_HASH", virtual_nodes=7))


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [("BEST", {}, ValueError), ("CONSISTENT_HASH", {"virtual_nodes": -1}, ValueError), ("AVG", {"x": 1}, TypeError)],
)
def test_a_wrong_strategy_is_refused_before_anything_starts(name, params, error):
    with pytest.raises(error):
        PlanSpec(name, params)


def java_saying(tmp_path, version):
    """A directory as JAVA_HOME, whose java says it is of that version."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("25", 25), ("21-ea", 21)]
)
def test_javas_version_is_read(tmp_path, monkeypatch, version, major):
    monkeypatch.setenv("JAVA_HOME", java_saying(tmp_path, version))
    assert requirements.java_version() == (str(tmp_path / "bin" / "java"), major)
    if major >= 17:
        requirements.require_java()
    else:
        with pytest.raises(requirements.JavaNotFoundError, match=rf"Java 17 or newer, but Java {major} at .* too old"):
            requirements.require_java()


def test_no_java_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(requirements.JavaNotFoundError, match=r"no Java was found\. .*apt-get install openjdk-17"):
        requirements.require_java()


def test_the_job_without_java_says_what_to_install(tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    command = ["-m", "spark_udfs.job", "--input", str(tmp_path / "fleet"), "--output", str(tmp_path / "o")]
    done = python(*command, "--strategy", "AVG", JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Spark needs Java 17 or newer, but no Java was found (JAVA_HOME is " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: --input, --output, --strategy"),
        (["--input", "a", "--output", "b", "--strategy", "BEST"], "unknown strategy 'BEST'"),
        (
            ["--input", "a", "--output", "b", "--strategy", "AVG", "--virtual-nodes", "3"],
            "--virtual-nodes is for CONSISTENT_HASH",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "MACHINE_ROOM"],
            "--machine-rooms is for MACHINE_ROOM, which needs it",
        ),
        (["--input", "a", "--output", "b", "--strategy", "CONFIG"], "no single owner"),
    ],
)
def test_wrong_usage_of_the_job(arguments, said, capsys):
    from spark_udfs.job import main

    with pytest.raises(SystemExit, match="64"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_an_interrupted_job_leaves_with_130(monkeypatch, capsys):
    from spark_udfs import job

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "run", interrupted)
    assert job.run_and_report("fleet", "owners", "AVG", {}, "local[2]") == 130
    assert capsys.readouterr().err == "interrupted; the output is as it was before\n"


# --- The transform ---


@on_spark
@pytest.mark.parametrize(
    ("name", "params"),
    [("AVG", {}), ("CONSISTENT_HASH", {"virtual_nodes": 7}), ("MACHINE_ROOM", {"machine_rooms": {"hz"}})],
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
    units.assert_assigned(rows, units.GOOD, [None] * len(units.GOOD), AVG)


@on_spark
def test_a_hash_function_travels_along(spark):
    from spark_udfs.transforms import assign

    table = pa.Table.from_pylist(units.GOOD, schema=FLEET_SCHEMA)
    params = {"hash_function": lambda key: len(key) % 5}
    rows = rows_of(spark.createDataFrame(table).transform(assign("CONSISTENT_HASH", **params)))
    units.assert_assigned(rows, units.GOOD, [None] * len(units.GOOD), strategy("CONSISTENT_HASH", **params))


TRIED = [
    {"name": "four", "changes": [{"scale_clients": {"to": 4}}]},
    {"name": "ring", "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}], "topics": "*0"},
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
    wanted = plan_schema("owners")
    assert schema.names == wanted.names
    for name in schema.names:
        assert str(schema.field(name).type).replace("element", "item") == str(wanted.field(name).type)


# --- The job, on the session of this process ---


@pytest.fixture
def fleet(tmp_path):
    """Synthetic and bad units as two Parquet files."""
    (tmp_path / "fleet").mkdir()
    batch, _ = units.mixed()
    pq.write_table(units.synthetic(400, seed=8), tmp_path / "fleet" / "part-0.parquet")
    pq.write_table(pa.table(batch), tmp_path / "fleet" / "part-1.parquet")
    return tmp_path / "fleet"


def read(path):
    return ds.dataset(path, format="parquet").to_table()


def names_in(path):
    return sorted(entry.name for entry in path.iterdir())


@on_spark
def test_the_job_writes_what_threads_write(spark, fleet, tmp_path):
    from rmqalloc.whatif.bulk import plan_files
    from spark_udfs.job import run

    outcome = run(str(fleet), str(tmp_path / "owners"), "CONSISTENT_HASH", {"virtual_nodes": 7})
    spec = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners")
    totals = plan_files(fleet, tmp_path / "threads", spec)
    assert totals == {"current": outcome.totals}
    assert outcome.totals.bad_units == len(units.BAD)
    by_text = [sorted(map(str, read(tmp_path / name).to_pylist())) for name in ("owners", "threads")]
    assert by_text[0] == by_text[1]
    assert spark.range(3).count() == 3, "a session that was there before goes on"


@on_spark
def test_an_earlier_result_is_replaced_and_nothing_else(spark, fleet, tmp_path):
    from spark_udfs.job import run_and_report

    owners = tmp_path / "owners"
    for name in ("AVG", "CONSISTENT_HASH"):
        assert run_and_report(str(fleet), str(owners), name, {}, "local[2]") == 0
    assert read(owners).num_rows == read(fleet).num_rows
    assert names_in(tmp_path) == ["fleet", "owners"]
    (owners / "thesis.txt").write_text("the only copy")
    before = names_in(owners)
    assert run_and_report(str(fleet), str(owners), "AVG", {}, "local[2]") == 1
    assert run_and_report(str(fleet), str(fleet), "AVG", {}, "local[2]") == 1
    assert names_in(owners) == before


@on_spark
def test_where_a_directory_cannot_be_swapped_it_must_be_new(spark, fleet, tmp_path, capsys):
    from spark_udfs.job import run_and_report

    target = (tmp_path / "owners").as_uri()
    assert run_and_report(str(fleet), target, "AVG", {}, "local[2]") == 0
    assert run_and_report(str(fleet), target, "AVG", {}, "local[2]") == 1
    assert "PATH_ALREADY_EXISTS" in capsys.readouterr().err


@on_spark
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda fleet: (fleet / "part-1.parquet").write_text("no Parquet"), "is not a Parquet file"),
        (lambda fleet: [path.unlink() for path in fleet.iterdir()], "holds no Parquet file"),
        (lambda fleet: fleet.rename(fleet.with_name("gone")), "fleet does not exist"),
        (lambda fleet: [pq.write_table(pa.table({"topic": ["T"]}), path) for path in fleet.iterdir()], "has no column"),
    ],
    ids=["not Parquet", "empty", "missing", "columns"],
)
def test_a_bad_input_is_said_in_a_line(spark, fleet, tmp_path, spoil, said, capsys):
    from spark_udfs.job import run_and_report

    spoil(fleet)
    assert run_and_report(str(fleet), str(tmp_path / "owners"), "AVG", {}, "local[2]") == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "owners").exists()


@on_spark
def test_an_error_in_a_worker_is_named(spark, fleet, tmp_path, capsys):
    from spark_udfs.job import run_and_report

    params = {"hash_function": lambda key: 1 // 0}
    assert run_and_report(str(fleet), str(tmp_path / "owners"), "CONSISTENT_HASH", params, "local[2]") == 1
    error = capsys.readouterr().err
    assert "ZeroDivisionError: " in error
    assert "Traceback" not in error


@on_spark
def test_progress_is_shown_and_memory_seen(spark):
    import time

    from pyspark.sql import functions as F

    from spark_udfs import progress

    out = io.StringIO()
    out.isatty = lambda: True
    with progress.Watch(spark, out) as watch:
        slow = F.udf(lambda i: time.sleep(0.2) or i, "long")
        spark.range(8, numPartitions=8).select(slow("id")).collect()
    assert "of 8 tasks" in out.getvalue()
    assert out.getvalue().endswith("\r"), "the line is wiped at the end"
    if sys.platform == "linux":
        assert watch.jvm_peak > watch.workers_peak > 2**20


def test_progress_without_a_spark_context_is_silent():
    from pyspark.errors import PySparkAttributeError

    from spark_udfs import progress

    class Connect:
        @property
        def sparkContext(self):
            raise PySparkAttributeError("there is none")

    out = io.StringIO()
    with progress.Watch(Connect(), out):
        pass
    assert out.getvalue() == ""


# --- The job as a program of its own ---


@on_spark
def test_the_job_end_to_end(fleet, tmp_path):
    owners = tmp_path / "owners"
    command = ["-m", "spark_udfs.job", "--input", str(fleet), "--output", str(owners), "--master", "local[2]"]
    done = python(*command, "--strategy", "CONSISTENT_HASH", "--virtual-nodes", "7")
    assert done.returncode == 0, done.stderr
    lines = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines()[:6])
    assert (lines["units"], lines["bad units"]) == (str(read(fleet).num_rows), str(len(units.BAD)))
    assert {"queues", "unowned queues", "idle clients", "max skew"} < lines.keys()
    assert done.stdout.splitlines()[-1] == f"Parquet of CONSISTENT_HASH owners: {owners}"
    assert "Traceback" not in done.stderr
    assert " WARN " not in done.stderr
    rows = {(row["consumer_group"], row["topic"]): row for row in read(owners).to_pylist() if row["err_msg"] is None}
    synthetic = read(fleet).slice(0, 400).to_pylist()
    assigned = [rows[unit["consumer_group"], unit["topic"]] for unit in synthetic]
    units.assert_assigned(assigned, synthetic, [None] * 400, strategy("CONSISTENT_HASH", virtual_nodes=7))
