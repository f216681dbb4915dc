"""Plans on a disk, without Spark: the plain path, leftovers, and readers."""

import json
import os
import time
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
import random_units as units
from spark_udfs.job._published import PlanNotFoundError
from spark_udfs.job.plan_reader import TRIES, files_of_plan, manifest_of

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs.job import (
    _by_file as by_file,
)
from spark_udfs.job import (
    _output_layout as output_layout,
)
from spark_udfs.job import (
    _published as manifests,
)

PLAN = "p1"
SPEC = PlanSpec("AVG")
TOLD = {"plan": PLAN, "totals": {}}


@pytest.fixture
def fleet(tmp_path):
    (tmp_path / "fleet").mkdir()
    for number in range(3):
        pq.write_table(units.synthetic(50, seed=number), tmp_path / "fleet" / f"part-{number}.parquet")
    return by_file.survey(str(tmp_path / "fleet"), SPEC)


def run_of(out, force=False, **how):
    manifest, run, done = output_layout.begin_run(str(out), PLAN, force, **how)
    return run, done, manifest


def plan_some(fleet, out, run, numbers=range(3)):
    for number in numbers:
        by_file.plan_file_bucket(SPEC, number, fleet.buckets[number], output_layout.DiskBuckets(str(out)), run)


def finish(out, run):
    done = list(output_layout.complete_records(str(out), run).values())
    return output_layout.publish_and_show(str(out), run, 3, done, TOLD, "for people")


def rows_in(files):
    return sorted(map(str, ds.dataset(files, format="parquet").to_table().to_pylist()))


def test_the_plain_path_and_the_manifest_name_the_same(fleet, tmp_path):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    assert not (out / "plan=p1").exists()
    assert finish(out, run)[0]
    plan_files(tmp_path / "fleet", tmp_path / "wanted", SPEC)
    assert rows_in(files_of_plan(out)) == rows_in(tmp_path / "wanted") == rows_in(out / "plan=p1") == rows_in(out)
    assert files_of_plan(out, quarantine=True) == []
    assert (out / "plan=p1" / "_summary.txt").read_text() == "for people"
    assert json.loads((out / "plan=p1" / "_summary.json").read_text()) == TOLD
    assert manifest_of(out)["n_buckets"] == 3
    names = [os.stat(path).st_nlink for path in files_of_plan(out)]
    assert names == [2, 2, 2], "links, not copies"


def test_the_plain_path_follows_the_manifest(fleet, tmp_path):
    out = tmp_path / "out"
    for force in (False, True):
        run, *_ = run_of(out, force=force)
        plan_some(fleet, out, run)
        assert finish(out, run)[0]
        shown = sorted(path.stat().st_ino for path in (out / "plan=p1").glob("bucket=*/*"))
        assert shown == sorted(os.stat(path).st_ino for path in files_of_plan(out))


def test_a_slower_run_changes_nothing_on_a_disk(fleet, tmp_path):
    """As a scheduler's retry beside a run that was thought dead: 20,000 rows became 2,500."""
    out = tmp_path / "out"
    (slow, *_), (fast, *_) = run_of(out), run_of(out)
    plan_some(fleet, out, fast)
    assert finish(out, fast)[0]
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    plan_some(fleet, out, slow, [2])
    won, manifest = finish(out, slow)
    assert (won, manifest["run"]) == (False, fast.name)
    assert len(rows_in(out / "plan=p1")) == len(rows_in(files_of_plan(out))) == 150
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_worker_makes_no_folder_anew_that_was_taken_away(fleet, tmp_path):
    run, *_ = run_of(tmp_path / "out")
    (tmp_path / "out" / "_data" / "plan=p1").rmdir()
    with pytest.raises(FileNotFoundError):
        plan_some(fleet, tmp_path / "out", run, [0])
    assert list((tmp_path / "out" / "_data").iterdir()) == []


def test_a_bucket_that_fails_leaves_nothing(fleet, tmp_path, monkeypatch):
    run, *_ = run_of(tmp_path / "out")
    monkeypatch.setattr(by_file, "totals_of", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plan_some(fleet, tmp_path / "out", run, [0])
    assert list((tmp_path / "out" / "_data" / "plan=p1").iterdir()) == []


def test_a_bucket_whose_record_may_be_there_keeps_its_files(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    real = output_layout.create_file

    def created_and_then_an_error(path, content):
        real(path, content)
        raise OSError("the folder could not be brought to the disk")

    monkeypatch.setattr(output_layout, "create_file", created_and_then_an_error)
    with pytest.raises(OSError, match="brought to the disk"):
        plan_some(fleet, out, run, [0])
    assert list(output_layout.complete_records(str(out), run)) == [0]


def test_what_a_killed_run_did_not_show_the_next_one_shows(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    with monkeypatch.context() as killed:
        killed.setattr(output_layout, "show_plan", lambda *_: None)
        assert finish(out, run)[0]
    assert not (out / "plan=p1").exists()
    assert run_of(out)[2] is not None
    assert len(rows_in(out / "plan=p1")) == 150


def test_where_there_are_no_links_there_is_no_plain_path(fleet, tmp_path, monkeypatch):
    import errno

    def link(*_):
        raise OSError(errno.EPERM, "no links here")

    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    with monkeypatch.context() as unlinked:
        unlinked.setattr(output_layout.os, "link", link)
        unlinked.setattr(output_layout, "create_file", lambda path, content: bool(path.write_bytes(content)))
        assert finish(out, run)[0]
    assert not output_layout.is_shown(str(out), manifest_of(out))
    assert len(rows_in(files_of_plan(out))) == 150


def test_one_who_was_overtaken_while_it_showed_a_plan_shows_the_newer(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first, *_ = run_of(out)
    plan_some(fleet, out, first)
    forced = first._replace(generation=2, name="forced", alone=True)
    plan_some(fleet, out, forced)
    real, left = output_layout._fill, [1]

    def overtaken(new, where, manifest):
        real(new, where, manifest)
        if left and left.pop():
            monkeypatch.setattr(output_layout, "_fill", real)
            assert finish(out, forced)[0]

    monkeypatch.setattr(output_layout, "_fill", overtaken)
    finish(out, first)
    assert output_layout.is_shown(str(out), manifest_of(out))
    assert manifest_of(out)["run"] == "forced"


def test_a_run_that_was_killed_while_it_took_the_directory_stops_nobody(fleet, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "._rmqalloc.json.0123456789abcdef.new").write_text('{"tool"')
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    assert finish(out, run)[0]
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("the only copy")
    with pytest.raises(FileExistsError, match="rmqalloc did not write"):
        run_of(other)


# --- Leftovers ---


def aged(out, seconds=100_000):
    """All that is there was written long ago."""
    then = time.time() - seconds
    for path in [out, *out.rglob("*")]:
        os.utime(path, (then, then))


def complete_with_leftovers(fleet, out):
    (zombie, *_), (run, *_) = run_of(out), run_of(out)
    plan_some(fleet, out, zombie)
    with output_layout.DiskBuckets(str(out)).attempt(PLAN):
        pass
    for record in (out / "_records").rglob("*.json"):
        record.unlink()
    plan_some(fleet, out, run)
    assert finish(out, run)[0]
    return zombie


def test_leftovers_older_than_a_day_are_swept(fleet, tmp_path):
    out = tmp_path / "out"
    complete_with_leftovers(fleet, out)
    assert len(list((out / "_data" / "plan=p1").iterdir())) == 7
    assert output_layout.sweep_leftovers(str(out), PLAN) == [], "they are young"
    assert len(run_of(out)[2]["buckets"]) == 3
    aged(out)
    before = manifest_of(out)
    assert run_of(out)[2] == before
    assert manifest_of(out)["generation"] == 2, "the same plan as the next generation"
    assert manifest_of(out)["buckets"] == before["buckets"]
    assert len(list((out / "_data" / "plan=p1").iterdir())) == 3
    assert len(rows_in(files_of_plan(out))) == len(rows_in(out / "plan=p1")) == 150
    aged(out)
    run_of(out)
    assert manifest_of(out)["generation"] == 2, "nothing is left to sweep"


def test_a_plan_that_was_replaced_today_can_be_read_to_its_end(fleet, tmp_path):
    out = tmp_path / "out"
    complete_with_leftovers(fleet, out)
    reading = files_of_plan(out)
    aged(out)
    forced, *_ = run_of(out, force=True)
    plan_some(fleet, out, forced)
    assert finish(out, forced)[0]
    run_of(out)
    assert len(rows_in(reading)) == 150


def test_a_zombie_that_sleeps_through_a_sweep_loses(fleet, tmp_path, monkeypatch):
    """It had looked for manifests, and was about to write its own, of files that are no more."""
    out = tmp_path / "out"
    complete_with_leftovers(fleet, out)
    forced, *_ = run_of(out, force=True)
    plan_some(fleet, out, forced)
    done = list(output_layout.complete_records(str(out), forced).values())
    real, swept = output_layout.create_file, []

    def asleep(path, content):
        if not swept:
            swept.append(None)
            aged(out)
            swept.extend(output_layout.sweep_leftovers(str(out), PLAN))
        return real(path, content)

    monkeypatch.setattr(output_layout, "create_file", asleep)
    won, manifest = output_layout.publish_and_show(str(out), forced, 3, done, TOLD, "")
    assert len(swept) > 3
    assert not any(Path(out, name).exists() for record in done for name, _ in record["files"])
    assert not won
    assert manifest == {**manifest_of(out)}
    assert len(rows_in(files_of_plan(out))) == len(rows_in(out / "plan=p1")) == 150


def test_a_sweeper_that_is_overtaken_removes_nothing(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    complete_with_leftovers(fleet, out)
    aged(out)
    forced, *_ = run_of(tmp_path / "out", force=True)
    plan_some(fleet, out, forced)
    real, asleep = output_layout._leftovers, []

    def slow(*arguments):
        found = real(*arguments)
        if not asleep:
            asleep.append(None)
            assert finish(out, forced)[0]
        return found

    monkeypatch.setattr(output_layout, "_leftovers", slow)
    before = set((out / "_data").rglob("*"))
    assert output_layout.sweep_leftovers(str(out), PLAN) == []
    assert set((out / "_data").rglob("*")) == before


# --- Readers ---


def test_a_reader_is_told_which_plans_there_are(fleet, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(PlanNotFoundError, match=r"out holds no complete plan; it holds none"):
        files_of_plan(out)
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    finish(out, run)
    with pytest.raises(PlanNotFoundError, match="holds no complete plan p2; it holds p1"):
        files_of_plan(out, "p2")
    assert files_of_plan(out.as_uri()) == files_of_plan(out) == files_of_plan(out, PLAN)
    assert manifests.choose_plan(["a"], None, "out") == "a"
    with pytest.raises(PlanNotFoundError, match="holds no single plan; it holds a, b"):
        manifests.choose_plan(["a", "b"], None, "out")


def test_a_manifest_that_spark_wrote_is_a_folder(fleet, tmp_path):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    finish(out, run)
    [manifest] = (out / "_manifests" / "plan=p1").iterdir()
    text = manifest.read_text()
    manifest.unlink()
    manifest.mkdir()
    (manifest / "part-00000.txt").write_text(text)
    (manifest / "_SUCCESS").write_text("")
    (manifest / ".part-00000.txt.crc").write_text("")
    assert output_layout.current_manifest(str(out), PLAN) == manifest_of(out)
    assert len(rows_in(files_of_plan(out))) == 150


class Flickering:
    """A file system whose folder came or went while it was listed, a number of times."""

    def __init__(self, times):
        self.times, self.inner = times, pafs.LocalFileSystem()

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def get_file_info(self, selector):
        if self.times:
            self.times -= 1
            raise FileNotFoundError("Cannot list directory")
        return self.inner.get_file_info(selector)


def test_a_folder_that_comes_or_goes_while_it_is_listed_is_listed_again(fleet, tmp_path):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    finish(out, run)
    wanted = files_of_plan(out)
    assert files_of_plan(str(out), filesystem=Flickering(TRIES - 1)) == wanted != []
    with pytest.raises(FileNotFoundError):
        files_of_plan(str(out), filesystem=Flickering(TRIES))
