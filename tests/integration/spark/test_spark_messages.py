"""What a job says of a disk is so: the cause of each message is made for real, and then the directory
is looked at.
"""

import json
import re
import signal
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import random_units as units
from job_runs import SPECS, files_in, job, read, report, write_units
from programs import python

from rmqalloc.errors import Error
from spark_udfs import UnitSource
from spark_udfs.job import _plan_table as plan_table

pytestmark = pytest.mark.spark


@pytest.fixture
def fleet(spark, tmp_path):
    return write_units(tmp_path / "fleet", 20)


@pytest.fixture
def before(monkeypatch):
    """Do something before the next call of a function of the job."""

    def hook(name, act):
        real = getattr(plan_table, name)

        def first(*arguments):
            monkeypatch.setattr(plan_table, name, real)
            act()
            return real(*arguments)

        monkeypatch.setattr(plan_table, name, first)

    return hook


def plan_in(path):
    """The id of the complete plan in a directory; None if there is none."""
    if not (path / "_SUCCESS").exists():
        return None
    return json.loads((path / "_rmqalloc.json").read_text())["plan"]


# --- Before any row is written ---


def test_a_source_that_changes_while_it_is_checked_leaves_the_plan_there(fleet, tmp_path, before):
    old = job(fleet, tmp_path / "plans", SPECS[0])
    there = files_in(tmp_path / "plans")
    before("_check_bad", lambda: pq.write_table(units.synthetic(9), fleet / "part-0.parquet"))
    how = {"overwrite": True, "max_bad_fraction": 0.9, "in_workers": False}
    with pytest.raises(
        Error, match=r"changed while it was checked; no row is written, run the job"
    ):
        job(fleet, tmp_path / "plans", SPECS[0], **how)
    assert files_in(tmp_path / "plans") == there
    assert plan_in(tmp_path / "plans") == old.plan_id
    assert not job(fleet, tmp_path / "plans", SPECS[0], **how).was_complete


def test_too_many_bad_rows_are_in_the_plan_that_is_named(fleet, tmp_path):
    out = tmp_path / "plans"
    job(fleet, out, SPECS[0])
    there = files_in(out)
    with pytest.raises(Error, match=rf"{len(units.BAD)} of current; they are in {out}$"):
        job(fleet, out, SPECS[0], max_bad_fraction=0.01)
    assert sum(code > 0 for code in read(out)["err_code"].to_pylist()) == len(units.BAD)
    with pytest.raises(Error, match=r"current; no row is written$"):
        job(fleet, out, SPECS[0], max_bad_fraction=0.01, overwrite=True)
    assert files_in(out) == there


@pytest.mark.parametrize(("out", "bad"), [("plans", "plans/bad"), ("bad/plans", "bad")])
def test_an_output_in_another_is_refused(fleet, tmp_path, out, bad):
    with pytest.raises(
        ValueError, match=r"is inside the other output .*; give a separate directory"
    ):
        job(fleet, tmp_path / out, bad=str(tmp_path / bad))
    assert list(tmp_path.iterdir()) == [fleet]


def test_whoever_reads_the_files_it_is_said_why(fleet, tmp_path, monkeypatch, capsys):
    with_options = UnitSource(str(fleet), options={"mergeSchema": "true"})
    sources = {
        "is read with options of Spark's reader": with_options,
        "is not a directory that every worker sees": UnitSource(str(fleet)),
    }
    for said, source in sources.items():
        if source is not with_options:
            monkeypatch.setattr("spark_udfs.job._sources.worker_path", lambda *_: None)
        with pytest.raises(ValueError, match=r"only if .*, and without options; omit --file-job"):
            job(source, tmp_path / "refused", in_workers=True)
        assert capsys.readouterr().err == ""
        job(source, tmp_path / "plans", overwrite=True)
        assert capsys.readouterr().err == f"rows go through Spark's JVM: {source} {said}\n"
    monkeypatch.undo()
    job(fleet, tmp_path / "plans", overwrite=True)
    assert capsys.readouterr().err == "", "the workers read it themselves"
    assert not (tmp_path / "refused").exists()


# --- Ctrl-C ---


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("units_of", "nothing is written"),
        ("clear", "OUT holds the complete plan OLD; BAD holds no complete plan"),
        ("_written", "OUT holds no complete plan; BAD holds no complete plan"),
        ("_summary", "OUT holds the complete plan NEW; BAD holds no complete plan"),
        ("_write_bad", "OUT holds the complete plan NEW; BAD holds no complete plan"),
        ("_check_bad", None),
    ],
)
def test_an_interrupt_at_any_moment_says_what_is_complete(
    fleet, tmp_path, before, moment, said, capsys
):
    out, bad = tmp_path / "plans", tmp_path / "bad"
    old = job(fleet, out, SPECS[1]).plan_id
    new = job(fleet, tmp_path / "other", SPECS[0]).plan_id
    capsys.readouterr()
    before(moment, lambda: signal.raise_signal(signal.SIGINT))
    assert report(fleet, out, bad=bad, overwrite=True) == 130
    printed = capsys.readouterr()
    plans = [plan_in(out), plan_in(bad)]
    if said is None:  # between the last look and the report
        assert plans == [new, new]
        assert printed.err.strip() == "rmqalloc: interrupted"
        return
    names = {"OUT": str(out), "BAD": str(bad), "OLD": old, "NEW": new}
    if moment == "clear":
        said = said.replace("the complete", "another complete")
    said = re.sub("OUT|BAD|OLD|NEW", lambda found: names[found[0]], said)
    assert printed.err.strip() == f"rmqalloc: interrupted; {said}"
    assert printed.out == ""
    assert plans == [{"units_of": old, "clear": old, "_written": None}.get(moment, new), None]


def test_a_place_that_cannot_be_looked_at_is_not_judged():
    job_of_nobody = SimpleNamespace(spark=None, plan_id="p1")
    store = {"s3a://key:secret@bucket/plans": None}
    found = plan_table._what_is_there(job_of_nobody, store, "lake.plans")
    assert "bucket/plans could not be read; it holds a complete plan if it has _SUCCESS" in found
    assert "lake.plans could not be read; it holds the plan if it has rows of plan_id p1" in found
    assert "secret" not in found


def test_a_table_is_asked_for_the_rows_of_the_plan(spark):
    spark.sql("CREATE TEMPORARY VIEW plans_there AS SELECT 'p1' AS plan_id")
    try:
        for plan_id, said in {"p1": "holds rows", "p2": "holds no rows"}.items():
            asked = SimpleNamespace(spark=spark, plan_id=plan_id)
            found = plan_table._what_is_there(asked, {}, "plans_there")
            assert found == f"plans_there {said} of plan_id {plan_id}"
    finally:
        spark.catalog.dropTempView("plans_there")


# --- The end of the JVM ---

KILLED = """
import os, signal, sys
from pyspark import SparkContext
from rmqalloc.cli import main
from spark_udfs.job import _plan_kernels, _plan_table

def kill():
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

class Deadly(_plan_kernels.WritePart):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.jvm = SparkContext._gateway.proc.pid

    def __call__(self, batches, *task):
        os.kill(self.jvm, signal.SIGKILL)
        yield from super().__call__(batches, *task)

def deadly(*arguments, real=_plan_table._summary):
    kill()
    return real(*arguments)

if sys.argv[1] == "rows":
    _plan_table.WritePart = Deadly
else:
    _plan_table._summary = deadly
sys.exit(main(["bulk", "--spark", "--master", "local[1]", *sys.argv[2:]]))
"""


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(("moment", "is_complete"), [("rows", False), ("summary", True)])
def test_a_jvm_that_is_killed_is_said_with_what_is_on_the_disk(tmp_path, moment, is_complete):
    fleet = write_units(tmp_path / "fleet", 20)
    out, bad = tmp_path / "plans", tmp_path / "bad"
    done = python("-c", KILLED, moment, "-f", fleet, "--out", out, "--bad", bad)
    assert done.returncode == 1, done.stderr
    assert (plan_in(out) is not None) == is_complete
    there = f"the complete plan {plan_in(out)}" if is_complete else "no complete plan"
    assert re.fullmatch(
        r"rmqalloc: Spark's JVM, process \d+, was killed, perhaps for lack of memory: see the log of the "
        rf"system \(dmesg\) or container; {out} holds {there}; {bad} holds no complete plan",
        done.stderr.splitlines()[-1],
    )
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
