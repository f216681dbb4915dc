"""The planning job is done once, spoils nothing that is not its own, and says what is wrong."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_units as units
from job_runs import SPECS, job, read, report, shown, text_of, write_units

on_spark = pytest.mark.spark


@pytest.fixture
def fleet(tmp_path):
    return write_units(tmp_path / "fleet")


# --- Once ---


@on_spark
def test_a_complete_plan_is_told_and_not_made_again(spark, fleet, tmp_path, capsys):
    first = job(fleet, tmp_path / "plans", SPECS[0])
    [part] = (tmp_path / "plans").glob("plan=*/bucket=00000/part-*")
    before = part.stat().st_mtime_ns
    assert report(fleet, tmp_path / "plans") == 0
    assert capsys.readouterr().out == (
        f"plan {first.plan_id} is complete already; --force plans it again\n"
        f"Parquet of owners, CONSISTENT_HASH unless a row names another: {tmp_path / 'plans'}/plan={first.plan_id}\n"
    )
    assert part.stat().st_mtime_ns == before
    wanted = text_of(tmp_path / "plans")
    assert report(fleet, tmp_path / "plans", force=True) == 0
    [anew] = (tmp_path / "plans").glob("plan=*/bucket=00000/part-*")
    assert anew.name != part.name, "no two attempts have a name in common"
    assert text_of(tmp_path / "plans") == wanted
    there = ["_data", "_manifests", "_records", "_rmqalloc.json", f"plan={first.plan_id}"]
    assert sorted(path.name for path in (tmp_path / "plans").iterdir()) == there
    generations = sorted(path.name for path in (tmp_path / "plans").glob("_manifests/*/*"))
    assert generations == ["00000001-0.json", "00000002-0.json"], "the plan that was replaced can still be read"


@on_spark
def test_another_input_is_another_plan(spark, fleet, tmp_path):
    first = job(fleet, tmp_path / "plans", SPECS[0])
    pq.write_table(units.synthetic(7), fleet / "part-2.parquet")
    second = job(fleet, tmp_path / "plans", SPECS[0])
    assert first.plan_id != second.plan_id
    assert read(tmp_path / "plans" / f"plan={second.plan_id}").num_rows == read(fleet).num_rows


@on_spark
def test_foreign_files_are_never_touched(spark, fleet, tmp_path, capsys):
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("the only copy")
    assert report(fleet, home) == 1
    assert report(fleet, fleet) == 1
    assert report(fleet, fleet / "plans") == 1
    assert "lies in the input" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert report(fleet, tmp_path / "file") == 1
    assert sorted(path.name for path in home.iterdir()) == ["thesis.txt"]
    assert sorted(path.name for path in fleet.iterdir()) == ["part-0.parquet", "part-1.parquet"]


@on_spark
@pytest.mark.parametrize("by_files", [True, False])
def test_too_many_bad_rows_fail_the_job_but_lose_nothing(spark, fleet, tmp_path, by_files, capsys):
    assert report(fleet, tmp_path / "plans", max_bad_fraction=0.01, by_files=by_files) == 1
    said = capsys.readouterr().err
    n_bad = len(units.BAD)
    assert f"{n_bad} rows of the plan (3" in said
    assert "more than the 1 % allowed" in said
    assert "current" in said.splitlines()[-1]
    assert shown(tmp_path / "plans") == []
    place = said.partition("see them in ")[2].splitlines()[0].removeprefix("file:")
    assert read(list(map(str, Path("/").glob(f"{place[1:]}/*/*.parquet")))).num_rows == n_bad
    assert report(fleet, tmp_path / "plans", max_bad_fraction=0.5, by_files=by_files) == 0
    assert "buckets done before" in capsys.readouterr().out
    assert report(fleet, tmp_path / "plans", max_bad_fraction=0.01, by_files=by_files) == 1, (
        "so it is of a complete plan"
    )
    assert text_of(tmp_path / "plans")


# --- Mistakes ---


@on_spark
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda fleet: (fleet / "part-0.parquet").write_text("no Parquet"), "cannot be read"),
        (lambda fleet: [path.unlink() for path in fleet.iterdir()], "holds no Parquet file"),
        (lambda fleet: fleet.rename(fleet.with_name("gone")), "fleet does not exist"),
        (lambda fleet: [pq.write_table(pa.table({"topic": ["T"]}), path) for path in fleet.iterdir()], "has no column"),
    ],
    ids=["not Parquet", "empty", "missing", "columns"],
)
def test_a_bad_input_is_said_in_a_line(spark, fleet, tmp_path, spoil, said, capsys):
    spoil(fleet)
    assert report(fleet, tmp_path / "plans") == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "plans").exists()


@on_spark
def test_an_error_in_a_worker_is_named_and_the_rest_is_kept(spark, fleet, tmp_path, capsys):
    damaged = bytearray((fleet / "part-0.parquet").read_bytes())
    damaged[8 : len(damaged) // 2] = bytes(len(damaged) // 2 - 8)
    (fleet / "part-0.parquet").write_bytes(damaged)
    assert report(fleet, tmp_path / "plans") == 1
    error = capsys.readouterr().err
    assert "part-0.parquet cannot be read" in error
    assert "Traceback" not in error
    assert shown(tmp_path / "plans") == []


@on_spark
def test_a_file_job_that_cannot_be_says_why(spark, fleet, tmp_path, capsys):
    (fleet / "x=1").mkdir()
    (fleet / "part-1.parquet").rename(fleet / "x=1" / "part-1.parquet")
    assert report(fleet, tmp_path / "plans", by_files=True) == 1
    assert "a file job needs a directory of Parquet files" in capsys.readouterr().err
