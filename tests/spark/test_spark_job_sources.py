"""Sources and places of the planning job: every format says the same, and what cannot be renamed still resumes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
from spark_udfs.job.plan_reader import files_of_plan

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs.job import _by_file as by_file

pytestmark = pytest.mark.spark
SPEC = PlanSpec("AVG", scenarios=[{"name": "four", "changes": [{"scale_clients": {"to": 4}}]}])


@pytest.fixture
def fleet(tmp_path):
    """One table in three Parquet files, and its plan made without Spark."""
    table = pa.concat_tables([units.synthetic(90, seed=3), pa.table(units.mixed()[0])])
    (tmp_path / "fleet").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 40, 40), tmp_path / "fleet" / f"part-{i}.parquet")
    plan_files(tmp_path / "fleet", tmp_path / "wanted", SPEC)
    return tmp_path


def text_of(path):
    return sorted(map(str, ds.dataset(path, format="parquet").to_table().to_pylist()))


def job(target, path="", spec=SPEC, **more):
    from spark_udfs.job._planning_job import run_job

    from spark_udfs.job._sources import UnitSource

    how = {name: more.pop(name) for name in ("by_files", "force", "max_bad_fraction", "n_worst") if name in more}
    return run_job(UnitSource(str(path), **more), str(target), spec, **how)


def assert_same(fleet, outcome):
    home = fleet / "plans" / f"plan={outcome.plan_id}"
    assert text_of(home) == text_of(fleet / "wanted")
    assert ds.dataset(home / "_quarantine", format="parquet").count_rows() == len(units.BAD)


def test_json(spark, fleet):
    table = ds.dataset(fleet / "fleet", format="parquet").to_table()
    (fleet / "lines").mkdir()
    for i in range(2):
        lines = [json.dumps(row) for row in table.slice(i * 60, 60).to_pylist()]
        (fleet / "lines" / f"a b%20[{i}].json").write_text("\n".join(lines))
    outcome = job(fleet / "plans", fleet / "lines", format="json")
    assert_same(fleet, outcome)
    assert outcome.n_buckets == 2


def test_csv_with_lists_as_json(spark, fleet):
    from pyspark.sql import functions as F

    lists = {name: F.to_json(name) for name in ("brokers", "client_ids")}
    frame = spark.read.parquet(str(fleet / "fleet")).withColumns(lists)
    frame = frame.withColumn("virtual_nodes", F.lit(None).cast("int")).withColumn("note", F.lit("n"))
    frame.write.option("header", True).csv(str(fleet / "texts"))
    broker = r'"[{\"broker_name\": \"b\", \"read_queue_nums\": 1}]"'
    lines = [",".join(frame.columns), rf'g,T,{broker},"[\"c\"]",many,n', r'g,T,[broken,"[\"c\"]",,n']
    (fleet / "texts" / "more.csv").write_text("\n".join(lines))
    outcome = job(fleet / "plans", fleet / "texts", format="csv")
    home = fleet / "plans" / f"plan={outcome.plan_id}"
    good, wanted = ([row for row in text_of(one) if "'err_code': 0" in row] for one in (home, fleet / "wanted"))
    assert good == wanted
    bad = ds.dataset(home / "_quarantine", format="parquet").to_table().to_pylist()
    assert len(bad) == len(units.BAD) + 2
    said = {row["brokers_text"]: row["err_msg"] for row in bad if row["client_ids"] == ["c"]}
    assert "brokers is null" in said.pop("[broken")
    assert all("virtual_nodes must be from 0" in text for text in said.values())
    assert len(said) == 1


@pytest.fixture
def view(spark, fleet):
    """Give rows of the fleet a name in the session, until the test ends."""
    names = set()

    def named(name, rows=None):
        frame = spark.read.parquet(str(fleet / "fleet"))
        (frame.limit(rows) if rows else frame).createOrReplaceTempView(name)
        names.add(name)

    yield named
    for name in names:
        spark.catalog.dropTempView(name)


def test_a_table_in_buckets_by_hash(spark, fleet, view):
    from spark_udfs.job._sources import UnitSource, cut_source

    view("fleet_of_a_test")
    outcome = job(fleet / "plans", table="fleet_of_a_test")
    assert_same(fleet, outcome)
    assert outcome.n_buckets == 8
    assert job(fleet / "plans", table="fleet_of_a_test").was_complete
    source = UnitSource(table="fleet_of_a_test")
    before = cut_source(source, spark).identity
    assert cut_source(source, spark).identity == before
    view("fleet_of_a_test", rows=50)
    assert cut_source(source, spark).identity != before


def test_a_table_that_changes_while_it_is_read_is_no_plan(fleet, view, monkeypatch):
    from spark_udfs.job._planning_job import JobError

    from spark_udfs.job import _sources as sources

    view("changing_fleet")
    real = sources.cut_source

    def cut_source(source, spark):
        found = real(source, spark)
        less = spark.table("changing_fleet").limit(40)
        return found._replace(bucket=lambda number: less.where(f"{number} = 0"), n_buckets=2)

    monkeypatch.setattr(sources, "cut_source", cut_source)
    with pytest.raises(
        JobError, match="changing_fleet changed while it was read: it had 120 rows, and 40 were planned"
    ):
        job(fleet / "plans", table="changing_fleet")
    assert list((fleet / "plans").glob("plan=*")) == []


def test_an_update_of_as_many_rows_while_a_table_is_read_is_no_plan(fleet, view, monkeypatch):
    """Counts alone let a plan of two versions pass: half of the buckets read the table after the update."""
    from pyspark.sql import functions as F
    from spark_udfs.job._planning_job import JobError

    from spark_udfs.job import _sources as sources

    view("updated_fleet")
    real = sources.cut_source

    def cut_source(source, spark):
        found = real(source, spark)
        after = F.when(F.size("client_ids") > 1, F.slice("client_ids", 1, 1)).otherwise(F.col("client_ids"))
        return found._replace(
            bucket=lambda number: (
                found.bucket(number).withColumn("client_ids", after) if number > 3 else found.bucket(number)
            )
        )

    monkeypatch.setattr(sources, "cut_source", cut_source)
    with pytest.raises(
        JobError, match="it had 120 rows, and 120 were planned, not the same ones; nothing is published"
    ):
        job(fleet / "plans", table="updated_fleet")
    assert list((fleet / "plans" / "_manifests").glob("*")) == list((fleet / "plans").glob("plan=*")) == []


def test_what_rows_are_known_by_tells_nulls_and_order_within_them(spark):
    from spark_udfs.job._sources import content

    def known(rows):
        frame = spark.createDataFrame(rows, "a string, b string, l array<string>, m map<string, int>")
        return frame.select(*content(frame)).first()["hashes"]

    rows = [("x", None, ["1", None], {"k": 1}), (None, "x", [None, "1"], None), ("x", None, ["1", None], {"k": 2})]
    assert known(rows) == known(rows[::-1])
    assert len({known([row]) for row in rows}) == 3


@pytest.mark.parametrize("by_files", [True, False])
def test_files_that_change_until_the_very_end_are_no_plan(spark, fleet, monkeypatch, by_files):
    from spark_udfs.job._planning_job import JobError

    from spark_udfs.job import output

    real = output.merged

    def merged(*arguments):  # the worst units out of the plan itself, as records hold fewer
        (fleet / "fleet" / "part-1.parquet").touch()
        return real(*arguments)

    monkeypatch.setattr(output, "merged", merged)
    with pytest.raises(JobError, match="fleet changed while it was read; nothing is published"):
        job(fleet / "plans", fleet / "fleet", by_files=by_files, n_worst=by_file.MAX_KEPT + 1)
    assert list((fleet / "plans").glob("plan=*")) == []


@pytest.mark.parametrize(
    ("path", "how", "said"),
    [
        (
            "s3a://bucket/fleet",
            {},
            "ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found; a jar",
        ),
        (
            "",
            {"format": "delta"},
            r"Failed to find the data source: delta\..*; ClassNotFoundException: delta\.\w+; a jar",
        ),
    ],
)
def test_a_jar_that_is_not_there_is_named_by_its_class(spark, fleet, path, how, said):
    from spark_udfs.job._planning_job import JobError

    with pytest.raises(
        JobError, match=f"{said} is missing from the session, or is of a release that does not fit"
    ) as told:
        job(fleet / "plans", path or fleet / "fleet", **how)
    assert str(told.value).count("ClassNotFoundException") == 1
    assert len(str(told.value)) < 500
    assert not (fleet / "plans").exists() or not list((fleet / "plans").rglob("*.parquet"))


def test_partitions_and_patterns_are_for_spark_to_read(spark, fleet):
    table = ds.dataset(fleet / "fleet", format="parquet").to_table()
    by_topic = ds.partitioning(pa.schema([("region", pa.string())]), flavor="hive")
    regions = pa.array(["hz" if i % 4 < 2 else "1" for i in range(table.num_rows)])
    where = fleet / "parts"
    ds.write_dataset(table.append_column("region", regions), where, format="parquet", partitioning=by_topic)
    outcome = job(fleet / "plans", where)
    assert_same(fleet, outcome)
    bad = ds.dataset(fleet / "plans" / f"plan={outcome.plan_id}" / "_quarantine", format="parquet").to_table()
    assert set(bad["region"].to_pylist()) == {"hz", "1"}
    assert_same(fleet, job(fleet / "plans", fleet / "fleet" / "part-?.parquet"))


def test_where_nothing_can_be_renamed_a_record_says_what_is_done(spark, fleet, monkeypatch):
    from spark_udfs.job.output import SparkOutput

    from spark_udfs.job import _planning_job as planning_job

    target = (fleet / "store").as_uri()
    monkeypatch.setattr(planning_job, "output_of", lambda target, spark: SparkOutput(target, spark))
    real, left = SparkOutput.commit, [1]

    def commit(self, number, attempt, record):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(self, number, attempt, record)

    monkeypatch.setattr(SparkOutput, "commit", commit)
    with pytest.raises(KeyboardInterrupt):
        job(target, fleet / "fleet")
    monkeypatch.setattr(SparkOutput, "commit", real)
    outcome = job(target, fleet / "fleet")
    assert (outcome.n_buckets, outcome.n_resumed) == (3, 1)
    home = files_of_plan(fleet / "store")
    assert outcome.summary["worst"] == job(fleet / "plans", fleet / "fleet").summary["worst"]
    assert text_of(home) == text_of(fleet / "wanted")
    assert ds.dataset(files_of_plan(fleet / "store", quarantine=True)).count_rows() == len(units.BAD)
    again = job(target, fleet / "fleet")
    assert again.was_complete
    assert again.summary == outcome.summary
    assert job(target, fleet / "fleet", force=True).n_resumed == 0
    assert text_of(files_of_plan(fleet / "store")) == text_of(fleet / "wanted")
    assert not set(files_of_plan(fleet / "store")) & set(home), "the files of the earlier plan are not touched"
    assert all(Path(path).exists() for path in home)


# --- How files are cut ---


def buckets_of(path, **how):
    return by_file.cut_files(by_file.listed_files(str(path)), **how)


def test_few_files_are_cut_at_row_groups_and_many_are_gathered(tmp_path):
    for name, n_files, size in (("few", 2, 10), ("many", 9, 100)):
        (tmp_path / name).mkdir()
        for i in range(n_files):
            pq.write_table(units.synthetic(60, seed=i), tmp_path / name / f"part-{i}.parquet", row_group_size=size)
    few, many = buckets_of(tmp_path / "few"), buckets_of(tmp_path / "many", n_buckets=4)
    assert [[(piece.start, piece.stop) for piece in bucket] for bucket in few] == [[(i, i + 1)] for i in range(6)] * 2
    assert [piece.path[-6:] for bucket in few for piece in bucket] == [f"part-{i}.parquet"[-6:] for i in [0, 1]] * 6
    assert len(many) == 4
    assert [piece.path for bucket in many for piece in bucket] == sorted(map(str, (tmp_path / "many").iterdir()))
    assert buckets_of(tmp_path / "few") == few


def test_what_else_lies_there_is_for_spark(tmp_path):
    write = pq.write_table
    write(units.synthetic(3), tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert [file.path[-14:] for file in by_file.listed_files(str(tmp_path))] == ["part-0.parquet"]
    (tmp_path / "notes.txt").write_text("")
    assert by_file.listed_files(str(tmp_path)) is None
