"""What Spark reads of a directory of Parquet is what workers and bulk read; the other roads are in
tests/evaluation.
"""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_units as units

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.evaluation.unit_files import Piece, read_piece, unit_files

pytestmark = pytest.mark.spark


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


def is_connect(spark):
    return type(spark).__module__.startswith("pyspark.sql.connect")


@pytest.mark.thorough
def test_spark_reads_the_rows_that_workers_read(spark, fleet):
    if is_connect(spark):
        (fleet / "Topic=a%20[b]" / "x.txt").unlink()
        (fleet / "Topic=__HIVE_DEFAULT_PARTITION__" / "_a=b").unlink()
    rows = source(fleet).read(spark)
    assert rows.columns == ["consumer_group", "topic", "brokers", "client_ids"]
    assert plain(rows.toArrow().to_pylist()) == by_workers(fleet)
    assert "001" in {row["topic"] for row in rows.collect()}


def test_who_lists_and_what_pins_a_source(spark, fleet):
    from spark_udfs.job._sources import files_of, identity

    wanted = unit_files(fleet)
    for path in (fleet, f"file://{fleet}", f"{fleet}/"):
        assert files_of(source(path), spark) == wanted
    assert identity(source(fleet), spark) == [
        [file.path, file.n_bytes, file.changed] for file in wanted.files
    ]
    alone = (
        source(f"{fleet}/*"),
        source(fleet, options={"mergeSchema": "true"}),
        source("s3a://b/fleet"),
        source("", table="t"),
    )
    assert [files_of(one, spark) for one in alone] == [None] * 4
    assert files_of(source(fleet, format="orc"), spark) is None
    assert identity(alone[3], spark) is None


def test_a_worker_lists_where_this_process_may_not_be(spark, fleet, monkeypatch):
    from spark_udfs.job import _sources as sources

    wanted = unit_files(fleet)
    monkeypatch.setattr(sources.hadoop, "bridge", lambda spark: None)
    assert sources.files_of(source(fleet), spark) == wanted
    (fleet / "part-1").write_text("no Parquet at all")
    with pytest.raises(ValueError, match="fleet/part-1 lies in directories of no name="):
        sources.files_of(source(fleet), spark)


@pytest.mark.thorough
def test_what_spark_lists_alone_is_one_table_or_refused(spark, tmp_path):
    from spark_udfs.job._sources import identity

    table = units.synthetic(20, seed=4)
    (tmp_path / "day=001").mkdir()
    for i in range(2):
        pq.write_table(table.slice(10 * i, 10), tmp_path / "day=001" / f"part-{i}.parquet")
    pattern = source(f"{tmp_path}/day=*/part-?.parquet")
    assert plain(pattern.read(spark).toArrow().to_pylist()) == plain(table.to_pylist())
    before = identity(pattern, spark)
    assert [os.path.basename(name) for name, *_ in before] == ["part-0.parquet", "part-1.parquet"]
    os.utime(tmp_path / "day=001" / "part-1.parquet", ns=(10**15, 10**15))
    assert identity(pattern, spark) != before
    pq.write_table(
        table.slice(10).append_column("strategy", pa.nulls(10, pa.string())),
        tmp_path / "day=001" / "part-1.parquet",
    )
    with pytest.raises(
        ArgumentTypeError, match=r"part-\?\.parquet: not all files have the same column strategy"
    ):
        pattern.read(spark)
    merged = source(pattern.path, options={"mergeSchema": "true"}).read(spark)
    assert "strategy" in merged.columns
