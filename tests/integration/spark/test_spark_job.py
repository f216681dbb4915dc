"""The planning job on Spark: what it writes from any source, that it is done once, and what it
refuses.
"""

import json
import os
import socket
import sys

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
from job_runs import SPECS, files_in, job, read, report, text_of, write_units
from programs import python

from rmqalloc import strategy
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs.job._plan_directory import writer_here

pytestmark = pytest.mark.spark

ROADS = pytest.mark.parametrize("in_workers", [True, False], ids=["workers", "JVM"])


@pytest.fixture
def fleet(spark, tmp_path):
    return write_units(tmp_path / "fleet", 100)


def whole(path):
    """The names of a complete directory and nothing else."""
    return sorted({name.partition("-")[0] for name in files_in(path) if not name.startswith(".")})


WHOLE = ["_SUCCESS", "_rmqalloc.json", "_summary.json", "_summary.txt", "part"]


# --- What it writes ---


@ROADS
@pytest.mark.parametrize("spec", SPECS, ids=["owners", "metrics", "best"])
def test_the_job_writes_what_threads_and_one_call_write(fleet, tmp_path, spec, in_workers):
    out = tmp_path / "plans"
    done = job(fleet, out, spec, in_workers=in_workers)
    totals = plan_files(fleet, tmp_path / "threads", spec)
    assert {name: one._asdict() for name, one in totals.items()} == done.summary["totals"]
    assert json.loads((out / "_summary.json").read_text()) == done.summary
    assert text_of(out) == text_of(tmp_path / "threads")
    [batch] = read(fleet).combine_chunks().to_batches()
    assert text_of(out) == sorted(map(str, plan_batch(batch, spec).to_pylist()))
    table = ds.dataset(out, format="parquet").to_table()
    assert table.schema.names == ["plan_id", *spec.schema.names]
    assert set(table["plan_id"].to_pylist()) == {done.plan_id}
    assert whole(out) == WHOLE
    assert (
        pq.ParquetFile(next(out.glob("part-*"))).metadata.row_group(0).column(0).compression
        == "ZSTD"
    )


def test_the_roads_know_one_plan_by_one_row_each(fleet, tmp_path):
    """Whoever reads the files, the rows are the same; the ids differ no more than what they are
    made from.
    """
    ids = {
        job(fleet, tmp_path / f"plans-{road}", in_workers=road).plan_id for road in (True, False)
    }
    assert text_of(tmp_path / "plans-True") == text_of(tmp_path / "plans-False")
    assert len(ids) <= 2 and all(one.startswith("p") for one in ids)


@ROADS
def test_bad_rows_are_rows_of_the_plan_and_a_directory_of_their_own(tmp_path, in_workers, spark):
    fleet = write_units(tmp_path / "fleet", 20)
    done = job(fleet, tmp_path / "plans", bad=str(tmp_path / "bad"), in_workers=in_workers)
    rows = [row for row in read(tmp_path / "plans").to_pylist() if row["err_code"]]
    assert (
        len(rows)
        == sum(one["bad_units"] for one in done.summary["totals"].values())
        > len(units.BAD)
    )
    assert text_of(tmp_path / "bad") == sorted(map(str, rows))
    assert "_SUCCESS" in files_in(tmp_path / "bad")
    assert done.summary["totals"]["four"]["bad_units"] == len(units.BAD) - 1, (
        "four clients cure the row without any"
    )
    before = files_in(tmp_path / "bad")
    assert job(
        fleet, tmp_path / "plans", bad=str(tmp_path / "bad"), in_workers=in_workers
    ).was_complete
    assert files_in(tmp_path / "bad") == before


def test_the_summary_ranks_the_worst_first(fleet, tmp_path):
    out = tmp_path / "plans"
    done = job(fleet, out, n_worst=4)
    rows = [row for row in read(out).to_pylist() if row["err_code"] == 0]
    by = done.summary["worst_by"]
    for name in ("current", "four", "ring"):
        mine = sorted(
            (row for row in rows if row["scenario"] == name),
            key=lambda row: ([-row[one] for one in by], row["consumer_group"], row["topic"]),
        )
        got = [
            (row["consumer_group"], row["topic"], row["skew"])
            for row in done.summary["worst"][name]
        ]
        assert got == [(row["consumer_group"], row["topic"], row["skew"]) for row in mine[:4]]
    assert (
        "worst groups, four: most unowned, idle, skew, moved" in (out / "_summary.txt").read_text()
    )
    (out / "_summary.json").unlink()
    again = job(fleet, out, n_worst=4)
    assert (again.was_complete, again.summary) == (True, done.summary), (
        "it is rebuilt from the rows"
    )


def test_the_driver_collects_no_more_of_the_worst_than_it_can_bear(
    spark, fleet, tmp_path, monkeypatch
):
    """A plan that is read again is ranked in as few tasks as the bound allows."""
    from spark_udfs.job import _plan_table as plan_table

    done = job(fleet, tmp_path / "ranked-while-it-is-written", n_worst=4)
    collected = []
    real = plan_table.Digest.of_texts

    def noted(texts, *arguments):
        collected.append(len(texts))
        return real(texts, *arguments)

    monkeypatch.setattr(plan_table.Digest, "of_texts", noted)
    monkeypatch.setattr(plan_table, "MAX_KEPT", 0)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    try:
        for bound in (1_000_000, 1):
            monkeypatch.setattr(plan_table, "MAX_COLLECTED", bound)
            again = job(fleet, tmp_path / f"ranked-within-{bound}", n_worst=4)
            assert again.summary == done.summary
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert collected[0] > 1 == collected[1]


def test_names_in_the_summary_cannot_command_the_terminal(tmp_path, spark):
    (tmp_path / "fleet").mkdir()
    table = pa.Table.from_pylist([units.row("evil\x1b[2J\u202e")], schema=FLEET_SCHEMA)
    pq.write_table(table, tmp_path / "fleet" / "part-0.parquet")
    job(tmp_path / "fleet", tmp_path / "plans")
    text = (tmp_path / "plans" / "_summary.txt").read_text()
    assert "evil" in text
    assert all(c == "\n" or c.isprintable() for c in text)


@ROADS
def test_no_units_are_a_complete_plan_of_no_rows(tmp_path, in_workers, spark):
    (tmp_path / "fleet").mkdir()
    pq.write_table(FLEET_SCHEMA.empty_table(), tmp_path / "fleet" / "part-0.parquet")
    done = job(tmp_path / "fleet", tmp_path / "plans", in_workers=in_workers)
    assert read(tmp_path / "plans").num_rows == 0
    assert {one["units"] for one in done.summary["totals"].values()} == {0}
    assert job(tmp_path / "fleet", tmp_path / "plans", in_workers=in_workers).was_complete


def test_a_giant_unit_among_small_ones(tmp_path, spark):
    brokers = [(f"b{number:02d}", 1 << 12) for number in range(64)]
    giant = units.row("giant", brokers=brokers, client_ids=map("c{}".format, range(999)))
    table = pa.concat_tables(
        [units.synthetic(2_000), pa.Table.from_pylist([giant], schema=FLEET_SCHEMA)]
    )
    (tmp_path / "fleet").mkdir()
    pq.write_table(table, tmp_path / "fleet" / "part-0.parquet", row_group_size=256)
    spec = PlanSpec("AVG", output="owners")
    done = job(tmp_path / "fleet", tmp_path / "plans", spec)
    plan_files(tmp_path / "fleet", tmp_path / "wanted", spec)
    assert text_of(tmp_path / "plans") == text_of(tmp_path / "wanted")
    assert done.summary["totals"]["current"]["queues"] > 1 << 18


# --- Once ---


def test_a_complete_plan_is_left_alone(fleet, tmp_path, capsys):
    out = tmp_path / "plans"
    first = job(fleet, out, SPECS[0])
    before = files_in(out)
    assert report(fleet, out) == 0
    assert capsys.readouterr().out == (
        f"plan {first.plan_id} is complete already; --overwrite plans it again\n"
        f"Parquet of owners, CONSISTENT_HASH unless a row names another: {out}\n"
    )
    assert files_in(out) == before
    assert report(fleet, out, overwrite=True) == 0
    assert not set(files_in(out).values()) & set(before.values())
    assert text_of(out) == text_of(out) and whole(out) == WHOLE


def test_another_plan_needs_overwrite(fleet, tmp_path, capsys):
    out = tmp_path / "plans"
    first = job(fleet, out, SPECS[0])
    pq.write_table(units.synthetic(7), fleet / "part-2.parquet")
    before = files_in(out)
    assert report(fleet, out) == 1
    assert (
        f"holds another plan, {first.plan_id}; give another directory, "
        "or replace it with --overwrite (overwrite=True)" in capsys.readouterr().err
    )
    assert files_in(out) == before
    second = job(fleet, out, SPECS[0], overwrite=True)
    assert second.plan_id != first.plan_id
    assert read(out).num_rows == read(fleet).num_rows
    assert whole(out) == WHOLE


def test_foreign_files_are_never_touched(fleet, tmp_path, capsys):
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("the only copy")
    (tmp_path / "file").write_text("mine")
    before = files_in(fleet) | files_in(home)
    for out, said in [
        (home, "holds no plan, but files such as thesis.txt"),
        (fleet, "is inside the input"),
        (fleet / "plans", "is inside the input"),
        (tmp_path, "holds the input"),
        (tmp_path / "file", "file"),
    ]:
        for overwrite in (False, True):
            assert report(fleet, out, overwrite=overwrite) == 1
            assert said in capsys.readouterr().err, (out, overwrite)
    assert files_in(fleet) | files_in(home) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_a_write_that_fails_leaves_no_plan_and_the_next_run_cleans_up(fleet, tmp_path, monkeypatch):
    from pyspark.sql import functions as F

    from spark_udfs.job import _plan_table as plan_table

    out = tmp_path / "plans"
    job(fleet, out, SPECS[0])
    real, there = plan_table._Job.rows, []

    def fails(self):
        there.append(sorted(files_in(out)))
        (out / "part-00000-of-a-task.zstd.parquet").write_text("half of a file")
        rows = real(self)
        return rows._replace(
            frame=rows.frame.withColumn("topic", F.raise_error(F.lit("no space left")))
        )

    monkeypatch.setattr(plan_table._Job, "rows", fails)
    with pytest.raises(RuntimeError, match="no space left"):
        job(fleet, out, SPECS[1], overwrite=True, in_workers=False)
    assert there == [["_rmqalloc.json", "_rmqalloc_claim.json"]], (
        "the old plan is gone before the new one is written"
    )
    assert sorted(files_in(out)) == ["_rmqalloc.json", "part-00000-of-a-task.zstd.parquet"]
    monkeypatch.undo()
    assert not job(fleet, out, SPECS[1]).was_complete
    plan_files(fleet, tmp_path / "threads", SPECS[1])
    assert text_of(out) == text_of(tmp_path / "threads")
    assert whole(out) == WHOLE


def test_a_second_writer_is_refused(fleet, tmp_path, capsys):
    out = tmp_path / "plans"
    out.mkdir()
    claim = {**writer_here(os.getppid()), "since": "2026-01-02", "plan": "p"}
    (out / "_rmqalloc_claim.json").write_text(json.dumps(claim))
    assert report(fleet, out) == 1
    said = capsys.readouterr().err
    assert f"by {socket.gethostname()} since 2026-01-02" in said
    assert f"its process {os.getppid()} is alive" in said
    assert list(files_in(out)) == ["_rmqalloc_claim.json"]


@ROADS
def test_success_lists_the_parts_that_are_there_with_their_rows(fleet, tmp_path, in_workers):
    out = tmp_path / "plans"
    done = job(fleet, out, in_workers=in_workers, bad=str(tmp_path / "bad"))
    for path in (out, tmp_path / "bad"):
        success = json.loads((path / "_SUCCESS").read_text())
        parts = {part.name: pq.read_metadata(part).num_rows for part in path.glob("part-*")}
        assert success == {"plan": done.plan_id, "parts": parts, "rows": read(path).num_rows}


@ROADS
def test_a_part_that_is_not_of_the_plan_is_noticed_and_the_plan_made_again(
    fleet, tmp_path, in_workers, capsys
):
    out = tmp_path / "plans"
    job(fleet, out, in_workers=in_workers)
    before = text_of(out)
    pq.write_table(ds.dataset(out, format="parquet").to_table(), out / "part-foreign.parquet")
    assert not job(fleet, out, in_workers=in_workers).was_complete
    assert "made again: part-foreign.parquet is not one of its" in capsys.readouterr().err
    assert text_of(out) == before and not (out / "part-foreign.parquet").exists()
    assert job(fleet, out, in_workers=in_workers).was_complete


def test_the_road_of_stores(fleet, tmp_path, monkeypatch):
    """Spark's committer puts parts in their place, here on a disk; two of its jobs are noticed."""
    from pyspark.sql import SparkSession

    from spark_udfs.job import _plan_table as plan_table
    from spark_udfs.job._hadoop import HadoopFolder

    monkeypatch.setattr(plan_table, "worker_path", lambda *_: None)
    out = tmp_path / "plans"
    done = job(fleet, out, in_workers=False)
    assert job(fleet, out, in_workers=False).was_complete
    success = json.loads((out / "_SUCCESS").read_text())
    parts = {part.name: pq.read_metadata(part).num_rows for part in out.glob("part-*")}
    assert success == {"plan": done.plan_id, "parts": parts, "rows": read(out).num_rows}
    assert whole(out) == WHOLE
    folder = HadoopFolder(SparkSession.active(), str(out))
    assert folder.counted("", done.plan_id) == parts
    assert folder.counted("", "another") == dict.fromkeys(parts, 0)

    real = HadoopFolder.counted

    def with_a_job_too_many(self, *arguments):
        rows = SparkSession.active().range(1).write.mode("append")
        rows.options(**plan_table._WRITTEN).parquet(str(out))
        return real(self, *arguments)

    monkeypatch.setattr(HadoopFolder, "counted", with_a_job_too_many)
    with pytest.raises(RuntimeError, match="contains parts of several Spark jobs"):
        job(fleet, out, in_workers=False, overwrite=True)
    assert not {"_SUCCESS", "_rmqalloc_claim.json"} & files_in(out).keys()


@ROADS
def test_too_many_bad_rows_and_no_row_is_written(fleet, tmp_path, in_workers, capsys):
    out = tmp_path / "plans"
    assert report(fleet, out, max_bad_fraction=0.01, in_workers=in_workers) == 1
    said = capsys.readouterr().err
    assert f"{len(units.BAD)} rows of the plan (" in said
    assert f"than the 1 % allowed: {len(units.BAD)} of current; no row is written" in said
    assert not list(out.glob("[!_]*")) and "_SUCCESS" not in files_in(out)
    assert report(fleet, out, max_bad_fraction=0.5, in_workers=in_workers) == 0
    assert report(fleet, out, max_bad_fraction=0.01, in_workers=in_workers) == 1, (
        "so it is of a complete plan"
    )
    assert whole(out) == WHOLE


# --- Sources ---


def test_json(spark, fleet, tmp_path):
    from spark_udfs import UnitSource

    (tmp_path / "lines").mkdir()
    for number, path in enumerate(sorted(fleet.iterdir())):
        lines = [json.dumps(row) for row in pq.read_table(path).to_pylist()]
        (tmp_path / "lines" / f"a b%20[{number}].json").write_text("\n".join(lines))
    job(UnitSource(str(tmp_path / "lines"), "json"), tmp_path / "plans")
    job(fleet, tmp_path / "wanted")
    assert text_of(tmp_path / "plans") == text_of(tmp_path / "wanted")


def test_orc_a_view_and_a_frame(spark, fleet, tmp_path):
    from spark_udfs import UnitSource

    units_there = spark.read.parquet(str(fleet))
    units_there.write.orc(str(tmp_path / "orc"))
    units_there.createOrReplaceTempView("fleet_of_a_test")
    wanted = job(fleet, tmp_path / "wanted").summary["totals"]
    sources = [
        UnitSource(str(tmp_path / "orc"), "orc"),
        UnitSource(table="fleet_of_a_test"),
        units_there,
    ]
    try:
        for number, source in enumerate(sources):
            out = tmp_path / f"plans-{number}"
            assert job(source, out).summary["totals"] == wanted
            assert text_of(out) == text_of(tmp_path / "wanted")
            assert job(source, out).was_complete
    finally:
        spark.catalog.dropTempView("fleet_of_a_test")


def test_csv_with_lists_as_json(spark, fleet, tmp_path):
    from pyspark.sql import functions as F

    from spark_udfs import UnitSource

    lists = {name: F.to_json(name) for name in ("brokers", "client_ids")}
    frame = spark.read.parquet(str(fleet)).withColumns(lists)
    frame = frame.withColumn("virtual_nodes", F.lit(None).cast("int"))
    frame.write.option("header", True).csv(str(tmp_path / "texts"))
    broker = r'"[{\"broker_name\": \"b\", \"read_queue_nums\": 1}]"'
    lines = [
        ",".join(frame.columns),
        rf'many,T,{broker},"[\"c\"]",many',
        r'broken,T,[broken,"[\"c\"]",',
    ]
    (tmp_path / "texts" / "more.csv").write_text("\n".join(lines))
    job(UnitSource(str(tmp_path / "texts"), "csv"), tmp_path / "plans")
    job(fleet, tmp_path / "wanted")
    good = [
        [row for row in text_of(tmp_path / one) if "'err_code': 0" in row]
        for one in ("plans", "wanted")
    ]
    assert good[0] == good[1]
    bad = {
        row["consumer_group"]: row["err_msg"]
        for row in read(tmp_path / "plans").to_pylist()
        if row["err_code"]
    }
    assert (
        "brokers is no array<struct<broker_name string, read_queue_nums int>> as JSON"
        in bad["broken"]
    )
    assert "virtual_nodes must be from 0" in bad["many"]


@ROADS
def test_files_that_change_while_the_job_runs_are_no_plan(fleet, tmp_path, monkeypatch, in_workers):
    from spark_udfs.job import _plan_table as plan_table

    real = plan_table.clear

    def changed(*arguments):
        pq.write_table(units.synthetic(100, seed=9), fleet / "part-0.parquet")
        real(*arguments)

    monkeypatch.setattr(plan_table, "clear", changed)
    with pytest.raises(RuntimeError, match=r"changed (while it was read|since it was listed)"):
        job(fleet, tmp_path / "plans", in_workers=in_workers)
    assert "_SUCCESS" not in files_in(tmp_path / "plans")
    monkeypatch.undo()
    assert not job(fleet, tmp_path / "plans", in_workers=in_workers).was_complete


def test_rows_that_change_while_the_job_runs_are_no_plan(spark, tmp_path, monkeypatch):
    """As many rows as before, of a source that has neither files nor versions."""
    from spark_udfs.job import _plan_table as plan_table
    from spark_udfs.map_in_arrow import ddl

    state = tmp_path / "state.parquet"
    pq.write_table(units.synthetic(30), state)

    def rows_now(batches):
        for _ in batches:
            yield from pq.read_table(state).to_batches()

    frame = spark.range(0, 1, 1, 1).mapInArrow(rows_now, ddl(FLEET_SCHEMA))
    real = plan_table.clear

    def changed(*arguments):
        pq.write_table(units.synthetic(30, seed=5), state)
        real(*arguments)

    monkeypatch.setattr(plan_table, "clear", changed)
    with pytest.raises(RuntimeError, match="the DataFrame changed while it was read"):
        job(frame, tmp_path / "plans")
    assert "_SUCCESS" not in files_in(tmp_path / "plans")


def test_what_rows_are_known_by_tells_nulls_and_order_within_them(spark):
    from spark_udfs.job._sources import content

    def known(rows):
        frame = spark.createDataFrame(
            rows, "a string, b string, l array<string>, m map<string, int>"
        )
        return frame.select(*content(frame)).first()["hashes"]

    rows = [
        ("x", None, ["1", None], {"k": 1}),
        (None, "x", [None, "1"], None),
        ("x", None, ["1", None], {"k": 2}),
    ]
    assert known(rows) == known(rows[::-1])
    assert len({known([row]) for row in rows}) == 3


# --- Mistakes ---


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda fleet: (fleet / "part-0.parquet").write_text("no Parquet"), "cannot be read"),
        (lambda fleet: [path.unlink() for path in fleet.iterdir()], "holds no Parquet file"),
        (lambda fleet: fleet.rename(fleet.with_name("gone")), "fleet does not exist"),
        (
            lambda fleet: [
                pq.write_table(pa.table({"topic": ["T"]}), path) for path in fleet.iterdir()
            ],
            "has no column",
        ),
    ],
    ids=["not Parquet", "empty", "missing", "columns"],
)
def test_a_bad_input_is_said_in_a_line(fleet, tmp_path, spoil, said, capsys):
    spoil(fleet)
    assert report(fleet, tmp_path / "plans") == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "plans").exists()


def test_a_damaged_file_is_named_and_there_is_no_plan(fleet, tmp_path, capsys):
    damaged = bytearray((fleet / "part-0.parquet").read_bytes())
    damaged[8 : len(damaged) // 2] = bytes(len(damaged) // 2 - 8)
    (fleet / "part-0.parquet").write_bytes(damaged)
    assert report(fleet, tmp_path / "plans") == 1
    error = capsys.readouterr().err
    assert "part-0.parquet cannot be read" in error
    assert "Traceback" not in error
    assert "_SUCCESS" not in files_in(tmp_path / "plans")
    assert "_rmqalloc_claim.json" not in files_in(tmp_path / "plans")


@pytest.mark.parametrize(
    ("path", "form", "said"),
    [
        pytest.param(
            "s3a://bucket/fleet",
            "parquet",
            "ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found; a jar",
            id="s3a",
        ),
        pytest.param(
            "",
            "delta",
            r"Failed to find the data source: delta\..*; ClassNotFoundException: delta\.\w+; a jar",
            id="delta",
        ),
    ],
)
def test_a_jar_that_is_not_there_is_named_by_its_class(fleet, tmp_path, path, form, said):
    from spark_udfs import UnitSource

    with pytest.raises(
        RuntimeError,
        match=f"{said} is missing from the session, or is of a release that does not fit",
    ) as told:
        job(UnitSource(path or str(fleet), form), tmp_path / "plans")
    assert str(told.value).count("ClassNotFoundException") == 1
    assert len(str(told.value)) < 500
    assert not (tmp_path / "plans").exists()


def test_workers_that_cannot_read_say_why(spark, fleet, tmp_path, capsys):
    from spark_udfs import UnitSource

    spark.read.parquet(str(fleet)).write.orc(str(tmp_path / "orc"))
    with pytest.raises(
        ValueError, match=r"workers read .* by themselves only if it is Parquet in a directory"
    ):
        job(UnitSource(str(tmp_path / "orc"), "orc"), tmp_path / "plans", in_workers=True)


@pytest.mark.parametrize("most", [-0.1, 1.5])
def test_a_fraction_out_of_range(spark, tmp_path, most):
    with pytest.raises(ValueError, match=f"from 0 to 1, got {most}"):
        job(tmp_path, tmp_path / "plans", max_bad_fraction=most)
    with pytest.raises(ValueError, match="give an output directory, a table"):
        job(tmp_path)


# --- The job as a program of its own ---


def test_the_job_end_to_end(fleet, tmp_path):
    owners = tmp_path / "owners"
    paths = ["-f", str(fleet), "--out", str(owners), "-s", "CONSISTENT_HASH:7"]
    done = python("-m", "spark_udfs.job", *paths, "--master", "local[2]")
    assert done.returncode == 0, done.stderr
    lines = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines()[:6])
    assert (lines["units"], lines["bad units"]) == (str(read(fleet).num_rows), str(len(units.BAD)))
    assert {"queues", "unowned queues", "idle clients", "max skew"} < lines.keys()
    end = f"Parquet of owners, CONSISTENT_HASH unless a row names another: {owners}"
    assert done.stdout.splitlines()[-1] == end
    assert "Traceback" not in done.stderr
    assert " WARN " not in done.stderr
    rows = {
        (row["consumer_group"], row["topic"]): row
        for row in read(owners).to_pylist()
        if row["err_msg"] is None
    }
    synthetic = pq.read_table(fleet / "part-0.parquet").to_pylist()
    assigned = [rows[unit["consumer_group"], unit["topic"]] for unit in synthetic]
    units.assert_assigned(
        assigned, synthetic, [None] * 100, strategy("CONSISTENT_HASH", virtual_nodes=7)
    )


@pytest.mark.parametrize(("kernel", "in_workers"), [("WritePart", True), ("PlanAndDigest", False)])
def test_workers_killed_on_a_cluster_that_tries_again_are_counted_once(
    kernel, in_workers, tmp_path
):
    """A task that runs again hands its digest over once: the summary and the rows are those of one
    run.
    """
    fleet = write_units(tmp_path / "fleet", 400)
    places = {name: str(tmp_path / name) for name in ("plans", "once")}
    program = SUICIDAL.format(fleet=str(fleet), kernel=kernel, in_workers=in_workers, **places)
    done = python("-c", program, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "once").exists(), "a worker has died"
    plan_files(fleet, tmp_path / "threads", PlanSpec("AVG", output="owners"))
    assert text_of(tmp_path / "plans") == text_of(tmp_path / "threads")
    summary = json.loads((tmp_path / "plans" / "_summary.json").read_text())
    assert summary["totals"]["current"]["units"] == read(fleet).num_rows


SUICIDAL = """
import os, signal
from pyspark.sql import SparkSession
from rmqalloc.evaluation import PlanSpec
from spark_udfs import plan_table
from spark_udfs.job import _plan_kernels as kernels

class Suicidal(kernels.{kernel}):
    def __call__(self, batches, *task):
        yield from super().__call__(batches, *task)
        try:
            os.close(os.open("{once}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

from spark_udfs.job import _plan_table
_plan_table.{kernel} = Suicidal
spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
plan_table(spark, "{fleet}", PlanSpec("AVG", output="owners"), out="{plans}", in_workers={in_workers})
"""
