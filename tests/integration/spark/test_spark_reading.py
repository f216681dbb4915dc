"""What Spark reads of a directory of Parquet is what workers and bulk read; the other roads are in
tests/evaluation.
"""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_units as units
from checkout import ROOT
from pyspark.sql import functions as F

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.unit_files import Piece, read_piece, unit_files
from spark_udfs import plan_table
from spark_udfs.transforms import assign

pytestmark = pytest.mark.spark

SPEC = PlanSpec("AVG", output="owners")


@pytest.fixture
def fleet(tmp_path):
    """Directories of topics: one file with names in another case, one of columns of nulls, one that
    is passed over.
    """
    table = units.synthetic(30, seed=4).drop_columns("topic")
    lists = pa.array([[None] * (i % 3) for i in range(10)], pa.list_(pa.null()))
    nulls = (
        table.slice(10, 10)
        .set_column(1, "brokers", pa.nulls(10))
        .set_column(2, "client_ids", lists)
    )
    upper = table.slice(20).rename_columns([name.upper() for name in table.column_names])
    for name, part in {
        "001/part-0": table.slice(0, 10),
        "a%20[b]/x.txt": nulls,
        "__HIVE_DEFAULT_PARTITION__/_a=b": upper,
    }.items():
        path = tmp_path / "fleet" / f"Topic={name}"
        path.parent.mkdir(parents=True)
        pq.write_table(part, path)
    (tmp_path / "fleet" / "Topic=001" / "_SUCCESS").touch()
    return tmp_path / "fleet"


def plain(rows):
    return sorted(map(str, rows))


def by_workers(path):
    files, schema = unit_files(path)
    return plain(
        row
        for file in files
        for batch in read_piece(Piece(file), schema)
        for row in batch.to_pylist()
    )


def source(path, **more):
    from spark_udfs.job._sources import UnitSource

    return UnitSource(str(path), **more)


def test_spark_reads_the_rows_that_workers_read(spark, fleet):
    rows = source(fleet).read(spark)
    assert rows.columns == ["consumer_group", "topic", "brokers", "client_ids"]
    assert plain(rows.toArrow().to_pylist()) == by_workers(fleet)
    assert "001" in {row["topic"] for row in rows.collect()}


def test_who_lists_and_what_pins_a_source(spark, fleet):
    from spark_udfs.job._sources import found_files, identity

    wanted = unit_files(fleet)
    for path in (fleet, f"file://{fleet}", f"{fleet}/"):
        found = found_files(source(path), spark)
        assert (found.files, found.schema, found.scheme) == (*wanted, "file:")
    assert identity(source(fleet), spark) == [
        [file.path, file.n_bytes, file.changed] for file in wanted.files
    ]
    alone = (source(fleet, options={"mergeSchema": "true"}), source("", table="t"))
    assert [found_files(unlisted, spark) for unlisted in alone] == [None] * 2
    assert found_files(source(fleet, format="orc"), spark) is None
    assert identity(alone[1], spark) is None


def test_a_worker_lists_where_this_process_may_not_be(spark, fleet, monkeypatch):
    from spark_udfs.job import _sources as sources

    monkeypatch.setattr(sources.hadoop, "bridge", lambda spark: None)
    assert sources.found_files(source("s3a://b/fleet"), spark) is None
    found = sources.found_files(source(fleet), spark)
    assert (found.files, found.schema) == unit_files(fleet)
    assert plain(source(fleet).read(spark).toArrow().to_pylist()) == by_workers(fleet)
    (fleet / "part-1").write_text("no Parquet at all")
    with pytest.raises(ValueError, match="fleet/part-1 lies in directories of no name="):
        sources.found_files(source(fleet), spark)


@pytest.mark.parametrize("name", ["x[1]", "x{1,1}", "x%20[1]", "x*/k=[a]"])
def test_all_who_read_take_a_name_for_what_is_there(spark, tmp_path, name):
    """Files, outputs and bad rows whose names are patterns too, of something else."""
    for path, seed in ((name, 4), ("x1", 5), ("x 1", 6)):
        (tmp_path / path).mkdir(parents=True)
        pq.write_table(units.synthetic(5, seed=seed), tmp_path / path / "part[0]")
    wanted = by_workers(tmp_path / name)
    for path in (tmp_path / name, (tmp_path / name).as_uri(), tmp_path / name / "part[0]"):
        assert plain(source(path).read(spark).toArrow().to_pylist()) == wanted
    ids = []
    for in_workers in (True, False):
        out, bad = tmp_path / f"out{in_workers}[1]*", tmp_path / f"bad{in_workers}{{1,2}}"
        done = plan_table(
            spark, str(tmp_path / name), SPEC, out=str(out), bad=str(bad), in_workers=in_workers
        )
        assert len(pq.read_table(out)) == 5
        assert {row["err_code"] for row in pq.read_table(bad).to_pylist()} <= {1, 2, 3, 4, 5}
        ids.append(done.plan_id)
        with pytest.raises(ArgumentError, match="is inside the input"):
            plan_table(spark, f"{tmp_path}/{name}", SPEC, out=f"{tmp_path}/{name}/out")
    assert ids[0] == ids[1]


def test_a_pattern_is_one_table_by_every_road_and_a_change_of_it_is_seen(spark, tmp_path):
    from spark_udfs.job._pinned_units import units_of

    for i in range(3):
        path = tmp_path / f"day=00{i}" / f"part-{i}.parquet"
        path.parent.mkdir()
        pq.write_table(units.synthetic(5, seed=i), path)
    pattern = f"{tmp_path}/day=*/part-[0-8].parquet"
    rows = source(pattern).read(spark).toArrow().to_pylist()
    assert plain(rows) == by_workers(pattern)
    assert len(rows) == 15
    by_worker, by_jvm = (units_of(spark, pattern, in_workers) for in_workers in (True, False))
    assert by_worker.identity == by_jvm.identity
    assert not by_jvm.is_changed()
    more = tmp_path / "day=002" / "part-7.parquet"
    pq.write_table(units.synthetic(5, seed=7), more)
    assert by_jvm.is_changed()
    assert [file.path for file in by_worker.found.files] == sorted(
        map(str, tmp_path.glob("day=*/part-[0-2].parquet"))
    )
    with pytest.raises(ArgumentError, match=r"is inside the input .*/day=001; give a separate"):
        plan_table(spark, f"{tmp_path}/day=00?", SPEC, out=f"{tmp_path}/day=001/plans")
    pq.write_table(
        units.synthetic(5, seed=7).append_column("strategy", pa.nulls(5, pa.string())), more
    )
    with pytest.raises(
        ArgumentTypeError, match=r"has no column strategy, and .*/part-7\.parquet has"
    ):
        source(pattern).read(spark)


def test_files_of_other_formats_are_named_alike(spark, tmp_path):
    for name in ("x[1]", "x1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text(f"consumer_group\n{name}\n")
    for pattern, found in (("x[1]", ["x[1]"]), ("x[12]", ["x1"]), ("x*/*.csv", ["x1", "x[1]"])):
        rows = source(f"{tmp_path}/{pattern}", format="csv").read(spark).collect()
        assert sorted(row["consumer_group"] for row in rows) == found


@pytest.mark.thorough
def test_what_spark_lists_alone_is_one_table_or_refused(spark, tmp_path):
    """As under Spark Connect, of a store that workers do not see."""
    from spark_udfs.job._sources import _as_spark_lists

    table = units.synthetic(20, seed=4)
    for name in ("day=001", "[1]", "1"):
        (tmp_path / name).mkdir()
        for i in range(2):
            pq.write_table(table.slice(10 * i, 10), tmp_path / name / f"part-{i}.parquet")
    pattern = f"{tmp_path}/day=*/part-?.parquet"
    for path in (pattern, f"{tmp_path}/[1]"):
        assert plain(_as_spark_lists(spark, path).toArrow().to_pylist()) == plain(table.to_pylist())
    pq.write_table(
        table.slice(10).append_column("strategy", pa.nulls(10, pa.string())),
        tmp_path / "day=001" / "part-1.parquet",
    )
    with pytest.raises(
        ArgumentTypeError,
        match=r"part-\?\.parquet: the files have different types of the column strategy",
    ):
        _as_spark_lists(spark, pattern)
    merged = source(pattern, options={"mergeSchema": "true"}).read(spark)
    assert "strategy" in merged.columns
    for mark, kind in ((".hoodie", "Hudi"), ("_delta_log", "Delta"), ("metadata", "Iceberg")):
        (tmp_path / "1" / mark).mkdir()
        (tmp_path / "1" / mark / "v1.metadata.json").touch()
        with pytest.raises(ArgumentError, match=f"/1 is a table of {kind} or a part of it"):
            _as_spark_lists(spark, str(tmp_path / "1"))
        shutil.rmtree(tmp_path / "1" / mark)


def test_a_number_that_was_text_is_refused_with_a_way_that_keeps_it(spark):
    """Spark infers that the directory topic=001 is a number, and a cast makes other owners."""
    case = str(ROOT / "tests/data/cases/spark-2/07-topic-001-cast/t001")
    inferring = "spark.sql.sources.partitionColumnTypeInference.enabled"
    with pytest.raises(TypeError, match=rf"topic must hold strings, got int32.*{inferring}=false"):
        spark.read.parquet(case).transform(assign("CONSISTENT_HASH"))
    spark.conf.set(inferring, "false")
    try:
        read = spark.read.parquet(case)
    finally:
        spark.conf.unset(inferring)
    owners = {}
    cast = spark.read.parquet(case).withColumn("topic", F.col("topic").cast("string"))
    for name, frame in (("read", read), ("job", source(case).read(spark)), ("cast", cast)):
        rows = frame.transform(assign("CONSISTENT_HASH")).collect()
        owners[name] = {row["consumer_group"]: row["owners"] for row in rows}
    assert owners["read"] == owners["job"]
    differing = [
        group for group in owners["read"] if owners["read"][group] != owners["cast"][group]
    ]
    assert (len(differing), len(owners["read"])) == (3, 5)
