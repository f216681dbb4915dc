"""The planning job: what it writes, what it says, and that it is done once."""

import json

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
from job_runs import SPECS, job, read, report, shown, text_of, write_units
from programs import python

from rmqalloc import ArgumentError, strategy
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA, write_fleet

on_spark = pytest.mark.spark


@pytest.fixture
def fleet(tmp_path):
    return write_units(tmp_path / "fleet")


# --- The command line, before anything starts ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: --strategy"),
        (["--input", "a", "--strategy", "AVG"], "give --output, --into, or both"),
        (["--output", "b", "--strategy", "AVG"], "give either an input or a table"),
        (["--input", "a", "--table", "t", "--output", "b", "--strategy", "AVG"], "give either an input or a table"),
        (["--input", "a", "--output", "b", "--strategy", "BEST"], "unknown strategy 'BEST'"),
        (["--input", "a", "--output", "b", "--strategy", "AVG", "--option", "header"], "is K=V, such as"),
        (["--input", "a", "--output", "b", "--strategy", "AVG", "--worst", "many"], "invalid int value"),
        (["--input", "a", "--output", "b", "--strategy", "AVG", "--mode", "all"], "invalid choice"),
        (["--input", "a", "--output", "b", "--strategy", "AVG", "--master", "m", "--remote", "r"], "not allowed with"),
        (
            ["--input", "a", "--output", "b", "--strategy", "AVG", "--virtual-nodes", "3"],
            "--virtual-nodes is for CONSISTENT_HASH",
        ),
        (
            ["--input", "a", "--output", "b", "--strategy", "MACHINE_ROOM"],
            "--machine-rooms is for MACHINE_ROOM, which needs it",
        ),
        (["--input", "a", "--output", "b", "--strategy", "CONFIG"], "the lists of CONFIG are not known"),
    ],
)
def test_wrong_usage_of_the_job(arguments, said, capsys):
    from spark_udfs.job.command import main

    with pytest.raises(SystemExit, match="64"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_wrong_scenarios_are_said_before_spark_starts(tmp_path, capsys):
    from spark_udfs.job.command import main

    path = tmp_path / "s.json"
    arguments = ["--input", "a", "--output", "b", "--strategy", "AVG", "--scenarios", str(path)]
    assert main(arguments) == 1
    assert "No such file" in capsys.readouterr().err
    path.write_text('{"scenarios": []}')
    assert main(arguments) == 1
    assert "holds no scenario; give at least one" in capsys.readouterr().err


def test_what_a_plan_is_known_by():
    from spark_udfs.job._planning_job import plan_id_of

    ids = {plan_id_of(spec, [["a", 1, 2]]) for spec in SPECS} | {plan_id_of(SPECS[0], [["a", 1, 3]])}
    assert len(ids) == 4
    rooms = [PlanSpec("MACHINE_ROOM", {"machine_rooms": kind(["hz", "bj"])}) for kind in (set, frozenset)]
    assert len({plan_id_of(spec, None) for spec in rooms}) == 1
    with pytest.raises(TypeError, match="parameters of a job must be plain data"):
        plan_id_of(PlanSpec("CONSISTENT_HASH", {"hash_function": len}), None)


@pytest.mark.parametrize("most", [-0.1, 1.5])
def test_a_fraction_out_of_range(tmp_path, most):
    with pytest.raises(ValueError, match=f"from 0 to 1, got {most}"):
        job(tmp_path, tmp_path / "plans", max_bad_fraction=most)


def test_the_job_without_java_says_what_to_install(tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    command = ["-m", "spark_udfs.job", "--input", str(tmp_path / "fleet"), "--output", str(tmp_path / "o")]
    done = python(*command, "--strategy", "AVG", JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert " needs Java 17 or newer, but no Java was found (JAVA_HOME is " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()


def test_an_interrupted_job_leaves_with_130(monkeypatch, capsys):
    from spark_udfs.job import command as program

    def interrupted(*_arguments, **_how):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run_job", interrupted)
    assert report("fleet", "plans") == 130
    assert capsys.readouterr().err == "interrupted; the same command goes on from here\n"


@pytest.mark.parametrize("raised", [MemoryError(), OSError("no space"), ArgumentError("v")])
def test_what_a_file_or_server_did_is_said_in_a_line(raised, monkeypatch, capsys):
    from spark_udfs.job import command as program

    monkeypatch.setattr(program, "run_job", lambda *_, **__: (_ for _ in ()).throw(raised))
    assert report("fleet", "plans") == 1
    assert capsys.readouterr().err == f"rmqalloc: {raised or 'MemoryError'}\n".replace(": \n", ": MemoryError\n")


@pytest.mark.parametrize("raised", [KeyError("x"), ValueError("v"), TypeError("t")])
def test_anything_else_is_a_defect_of_ours_and_says_so(raised, monkeypatch, capsys):
    from spark_udfs.job import command as program

    monkeypatch.setattr(program, "run_job", lambda *_, **__: (_ for _ in ()).throw(raised))
    with pytest.raises(type(raised)):
        report("fleet", "plans")
    assert "this is a defect of rmqalloc; please report it" in capsys.readouterr().err


def test_a_spark_that_does_not_start_is_said_in_a_line(tmp_path):
    write_fleet(tmp_path / "fleet", 3, n_files=1)
    command = ["-m", "spark_udfs.job", "--input", str(tmp_path / "fleet"), "--output", str(tmp_path / "o")]
    done = python(*command, "--strategy", "AVG", "--master", "nowhere")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rmqalloc: ")
    assert "Traceback" not in done.stderr


# --- What it writes ---


@on_spark
@pytest.mark.parametrize("by_files", [True, False])
@pytest.mark.parametrize("spec", SPECS, ids=["owners", "metrics", "best"])
def test_the_job_writes_what_threads_write(spark, fleet, tmp_path, spec, by_files):
    outcome = job(fleet, tmp_path / "plans", spec, by_files=by_files)
    totals = plan_files(fleet, tmp_path / "threads", spec)
    assert {name: one._asdict() for name, one in totals.items()} == outcome.summary["totals"]
    assert text_of(tmp_path / "plans" / f"plan={outcome.plan_id}") == text_of(tmp_path / "threads")
    assert shown(tmp_path / "plans")[:3] == [
        f"plan={outcome.plan_id}", f"plan={outcome.plan_id}/bucket=00000",
        next(name for name in shown(tmp_path / "plans") if "00000/part-00000" in name),
    ]  # fmt: skip
    assert spark.range(3).count() == 3, "a session that was there before goes on"


@on_spark
def test_readers_see_plan_and_bucket_as_columns(spark, fleet, tmp_path):
    ids = {job(fleet, tmp_path / "plans", spec).plan_id for spec in SPECS[1:]}
    rows = spark.read.parquet(str(tmp_path / "plans")).select("plan", "bucket").distinct().collect()
    assert {row["plan"] for row in rows} == ids
    assert {row["bucket"] for row in rows} == {0, 1}
    table = ds.dataset(tmp_path / "plans", format="parquet", partitioning="hive").to_table()
    assert set(table["plan"].to_pylist()) == ids


@on_spark
def test_readers_get_a_plan_by_its_manifest(spark, fleet, tmp_path):
    from spark_udfs.job._published import PlanNotFoundError

    from spark_udfs import files_of_plan, read_plan

    target = str(tmp_path / "plans")
    with pytest.raises(PlanNotFoundError, match="holds no complete plan; it holds none"):
        read_plan(spark, target)
    first = job(fleet, target).plan_id
    frame = read_plan(spark, target)
    assert frame.select("bucket").distinct().count() == 2
    assert sorted(map(str, frame.drop("bucket").toArrow().to_pylist())) == text_of(files_of_plan(target))
    assert read_plan(spark, target, quarantine=True).count() == len(units.BAD)
    job(fleet, target, SPECS[2])
    with pytest.raises(PlanNotFoundError, match="holds no single plan; it holds p"):
        read_plan(spark, target)
    assert read_plan(spark, target, first).count() == frame.count()
    with pytest.raises(PlanNotFoundError, match="holds no complete plan p0; it holds p"):
        read_plan(spark, target, "p0")


@on_spark
@pytest.mark.parametrize("by_files", [True, False])
def test_bad_rows_are_set_aside_with_all_they_said(spark, tmp_path, by_files):
    bad = [
        units.row("null", client_ids=None),
        units.row("empty", client_ids=[]),
        units.row("strategy") | {"strategy": "BEST"},
        units.row("twice", brokers=[("b", 1), ("b", 1)]),
        units.row("long", client_ids=["x" * (10 << 20)]),
    ]
    rows = [{"strategy": None, **one, "note": f"n{i}"} for i, one in enumerate([*units.GOOD, *bad])]
    schema = FLEET_SCHEMA.append(pa.field("strategy", pa.string())).append(pa.field("note", pa.string()))
    (tmp_path / "fleet").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "fleet" / "part-0.parquet")
    outcome = job(tmp_path / "fleet", tmp_path / "plans", by_files=by_files)
    totals = {name: one["bad_units"] for name, one in outcome.summary["totals"].items()}
    assert totals == {"current": 5, "four": 4, "ring": 5}, "four clients cure the row without any"
    quarantine = tmp_path / "plans" / f"plan={outcome.plan_id}" / "_quarantine"
    found = sorted(read(quarantine).to_pylist(), key=lambda row: row["note"])
    said = ["client_ids is null", "cidAll null or empty", "unknown strategy 'BEST'", "is there twice", "10485760 bytes"]
    assert [row["err_code"] for row in found] == [1, 2, 5, 3, 4]
    for row, given, words in zip(found, rows[4:], said, strict=True):
        assert words.split()[-1] in row.pop("err_msg")
        assert row.pop("err_code")
        assert row == {**given, "scenario": "current"}


@on_spark
@pytest.mark.parametrize("by_files", [True, False])
def test_a_scenario_that_refuses_a_unit_is_named_in_the_quarantine(spark, tmp_path, by_files):
    rows = [units.row("stays"), units.row("goes", brokers=[("hz@b", 2)])]
    (tmp_path / "fleet").mkdir()
    kind = FLEET_SCHEMA.append(pa.field("broker_rooms", pa.list_(pa.string())))
    kind = kind.append(pa.field("client_rooms", pa.list_(pa.string())))
    rows = [{**row, "broker_rooms": [None] * len(row["brokers"]), "client_rooms": ["hz"] * 3} for row in rows]
    rows[0]["broker_rooms"] = ["hz", "hz"]
    pq.write_table(pa.Table.from_pylist(rows, schema=kind), tmp_path / "fleet" / "part-0.parquet")
    near = [{"name": "near", "changes": [{"set_strategy": {"strategy": "MACHINE_ROOM_NEARBY-AVG"}}]}]
    outcome = job(tmp_path / "fleet", tmp_path / "plans", PlanSpec("AVG", scenarios=near), by_files=by_files)
    found = read(tmp_path / "plans" / f"plan={outcome.plan_id}" / "_quarantine").to_pylist()
    assert [(row["consumer_group"], row["scenario"], row["err_code"]) for row in found] == [("goes", "near", 6)]


@on_spark
def test_the_summary_ranks_the_worst_first(spark, fleet, tmp_path):
    told = job(fleet, tmp_path / "plans", n_worst=4)
    home = tmp_path / "plans" / f"plan={told.plan_id}"
    assert json.loads((home / "_summary.json").read_text()) == told.summary
    rows = [row for row in read(home).to_pylist() if row["err_code"] == 0]
    for name in ("current", "four", "ring"):
        mine = [row for row in rows if row["scenario"] == name]
        mine.sort(
            key=lambda row: ([-row[one] for one in told.summary["worst_by"]], row["consumer_group"], row["topic"])
        )
        got = [(row["consumer_group"], row["topic"], row["skew"]) for row in told.summary["worst"][name]]
        assert got == [(row["consumer_group"], row["topic"], row["skew"]) for row in mine[:4]]
    text = (home / "_summary.txt").read_text()
    assert "worst groups, four: most unowned, idle, skew, moved" in text
    assert text.count(told.summary["worst"]["four"][0]["consumer_group"])


@on_spark
def test_names_in_the_summary_cannot_command_the_terminal(spark, tmp_path):
    (tmp_path / "fleet").mkdir()
    table = pa.Table.from_pylist([units.row("evil\x1b[2J\u202e")], schema=FLEET_SCHEMA)
    pq.write_table(table, tmp_path / "fleet" / "part-0.parquet")
    outcome = job(tmp_path / "fleet", tmp_path / "plans")
    text = (tmp_path / "plans" / f"plan={outcome.plan_id}" / "_summary.txt").read_text()
    assert "evil" in text
    assert all(c == "\n" or c.isprintable() for c in text)


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
    assert done.stdout.splitlines()[-1].startswith(
        f"Parquet of owners, CONSISTENT_HASH unless a row names another: {owners}/plan="
    )
    assert "Traceback" not in done.stderr
    assert " WARN " not in done.stderr
    rows = {(row["consumer_group"], row["topic"]): row for row in read(owners).to_pylist() if row["err_msg"] is None}
    synthetic = read(fleet).slice(0, 400).to_pylist()
    assigned = [rows[unit["consumer_group"], unit["topic"]] for unit in synthetic]
    units.assert_assigned(assigned, synthetic, [None] * 400, strategy("CONSISTENT_HASH", virtual_nodes=7))
