"""The rules of a plan's manifest, without Spark: all or nothing, one winner, nothing lost however long anybody sleeps."""

import json
import os
import time
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import units

from rmqalloc.whatif.bulk import plan_files
from rmqalloc.whatif.plan import PlanSpec
from spark_udfs import file_job, layout, manifests
from spark_udfs.manifests import PlanError, PlanNotFoundError
from spark_udfs.published import files_of_plan, manifest_of

PLAN = "p1"
SPEC = PlanSpec("AVG")
TOLD = {"plan": PLAN, "totals": {}}


class Store:
    """An object store in memory; ``exclusive`` says whether it has conditional writes."""

    def __init__(self, exclusive=False):
        self.objects, self.exclusive = {}, exclusive

    def texts(self, folder):
        found = {name.removeprefix(f"{folder}/"): text for name, text in self.objects.items() if folder in name}
        return {name: text for name, text in found.items() if "/" not in name}

    def create(self, name, text):
        if self.exclusive and name in self.objects:
            return False
        self.objects[name] = text
        return True

    def sizes(self, folder):
        return {name: len(text) for name, text in self.objects.items() if name.startswith(f"{folder}/")}


def done_by(store, run, numbers, size=3):
    """Buckets planned and recorded by a run."""
    for number in numbers:
        attempt = manifests.new_name()
        name = f"{manifests.data_folder(PLAN)}/{attempt}/{manifests.bucket_name(number)}/part.parquet"
        store.objects[name] = "x" * size
        manifests.keep(store, run, number, attempt, {**manifests.parts_of({name: size}), "totals": {}})


def published(store, run, n=3):
    return manifests.publish(store, run, n, manifests.records(store, run).values(), TOLD)


def current(store):
    return manifests.current(store.texts(manifests.manifest_folder(PLAN)))


def assert_whole(store):
    """The plan that counts has all its buckets, and every file is there as it was written."""
    manifest = current(store)
    assert [record["bucket"] for record in manifest["buckets"]] == [0, 1, 2]
    sizes = store.sizes(manifests.data_folder(PLAN))
    assert not [name for record in manifest["buckets"] for name in manifests.missing(record, sizes)]
    return manifest


both_stores = pytest.mark.parametrize("exclusive", [True, False], ids=["conditional", "plain"])


@both_stores
def test_a_plan_without_a_bucket_is_not_published(exclusive):
    store = Store(exclusive)
    _, run = manifests.begin(store, PLAN, False)
    done_by(store, run, [0, 2])
    with pytest.raises(PlanError, match="the plan has 3 buckets, and 2 are done: bucket 1 has no record"):
        published(store, run)
    with pytest.raises(PlanError, match="the plan has 1 buckets, and 2 are done: the records are of 3"):
        published(store, run, 1)
    assert current(store) is None
    done_by(store, run, [1])
    assert published(store, run)[0]
    assert_whole(store)


def test_records_that_come_twice_are_no_plan():
    store = Store()
    _, run = manifests.begin(store, PLAN, False)
    done_by(store, run, [0, 1])
    records = list(manifests.records(store, run).values())
    with pytest.raises(PlanError, match="come twice"):
        manifests.publish(store, run, 2, [*records, records[0]], TOLD)


@both_stores
@pytest.mark.parametrize("spoil", [lambda o, n: o.pop(n), lambda o, n: o.update({n: "x"})], ids=["gone", "cut off"])
def test_a_plan_whose_file_is_not_there_is_not_published(exclusive, spoil):
    store = Store(exclusive)
    _, run = manifests.begin(store, PLAN, False)
    done_by(store, run, range(3))
    records = manifests.records(store, run).values()
    spoil(store.objects, next(name for name in store.objects if name.startswith("_data")))
    with pytest.raises(PlanError, match="1 files of the plan are gone or cut off, such as _data/plan=p1/"):
        manifests.publish(store, run, 3, records, TOLD)
    assert current(store) is None
    assert len(manifests.records(store, run)) == 2, "that bucket is planned again"


@both_stores
def test_a_slower_run_of_a_complete_plan_changes_nothing(exclusive):
    store = Store(exclusive)
    _, slow = manifests.begin(store, PLAN, False)
    _, fast = manifests.begin(store, PLAN, False)
    done_by(store, fast, range(3))
    assert published(store, fast) == (True, current(store))
    before = dict(store.objects)
    done_by(store, slow, range(3))
    won, manifest = published(store, slow)
    assert (won, manifest["run"]) == (False, fast.name)
    assert before.items() <= store.objects.items()
    assert manifests.begin(store, PLAN, False)[0] == assert_whole(store)


@both_stores
def test_two_that_have_both_looked_agree_on_one(exclusive, monkeypatch):
    """Between looking and writing a run may sleep: then both write, or the second is refused."""
    store = Store(exclusive)
    runs = [manifests.begin(store, PLAN, False)[1]._replace(name=name) for name in ("late", "early")]
    for run in runs:
        done_by(store, run, range(3))
    real, other = store.texts, []

    def sleepy(folder):
        seen = real(folder)
        if folder.startswith(manifests.MANIFESTS) and not other:
            other.append(None)
            other.append(published(store, runs[1]))
        return seen

    monkeypatch.setattr(store, "texts", sleepy)
    first, second = published(store, runs[0]), other[1]
    assert second[0], "who is done first is told so"
    found = assert_whole(store)
    assert first == (False, found)
    assert found["run"] == runs[1].name, "the first by time"
    if exclusive:
        assert len(store.texts(manifests.manifest_folder(PLAN))) == 1
    else:
        assert found["name"] == min(store.texts(manifests.manifest_folder(PLAN)))


@both_stores
def test_force_makes_the_next_generation_and_a_zombie_of_the_last_loses(exclusive, monkeypatch):
    store = Store(exclusive)
    _, zombie = manifests.begin(store, PLAN, False)
    _, first = manifests.begin(store, PLAN, False)
    done_by(store, first, range(3))
    published(store, first)
    manifest, forced = manifests.begin(store, PLAN, True)
    assert (manifest, forced.generation) == (None, 2)
    assert manifests.records(store, forced) == {}, "what is done already is planned anew"
    done_by(store, forced, [0])
    assert assert_whole(store)["run"] == first.name, "the earlier plan stays until the new one is complete"
    done_by(store, forced, [1, 2])
    assert published(store, forced)[0]
    done_by(store, zombie, range(3))
    monkeypatch.setattr(manifests.time, "strftime", lambda *_: "00000000T000000Z")
    assert not published(store, zombie)[0]
    store.create(f"{manifests.manifest_folder(PLAN)}/00000001-00-{zombie.name}.json", "{}")
    assert assert_whole(store)["run"] == forced.name


def test_force_uses_its_own_records_only():
    store = Store()
    _, first = manifests.begin(store, PLAN, False)
    done_by(store, first, range(3))
    _, forced = manifests.begin(store, PLAN, True)
    assert manifests.records(store, forced) == {}
    assert len(manifests.records(store, manifests.begin(store, PLAN, False)[1])) == 3


@pytest.mark.parametrize("text", ["", "{", '{"format": 1, "gen', "[]", "null", '{"format": 1}', "\x00"])
def test_a_manifest_that_is_not_whole_is_not_there_and_blocks_nobody(text):
    store = Store(exclusive=True)
    cut_off = f"{manifests.manifest_folder(PLAN)}/00000001-0.json"
    store.objects[cut_off] = text
    manifest, run = manifests.begin(store, PLAN, False)
    assert (manifest, run.generation) == (None, 1)
    done_by(store, run, range(3))
    assert published(store, run)[0]
    assert assert_whole(store)["name"] != cut_off


def test_a_record_that_is_not_whole_is_not_there():
    store = Store()
    _, run = manifests.begin(store, PLAN, False)
    done_by(store, run, range(2))
    name = sorted(name for name in store.objects if name.startswith("_records"))[0]
    store.objects[name] = store.objects[name][:-3]
    assert list(manifests.records(store, run)) == [1]


def test_a_later_release_is_not_misread():
    with pytest.raises(PlanError, match="manifest x is of format 2, which a later release"):
        manifests.current({"x": '{"format": 2, "generation": 1}'})


# --- On a disk ---


@pytest.fixture
def fleet(tmp_path):
    (tmp_path / "fleet").mkdir()
    for number in range(3):
        pq.write_table(units.synthetic(50, seed=number), tmp_path / "fleet" / f"part-{number}.parquet")
    return file_job.survey(str(tmp_path / "fleet"), SPEC)


def run_of(out, force=False, **how):
    manifest, run, done = layout.begin(str(out), PLAN, force, **how)
    return run, done, manifest


def plan_some(fleet, out, run, numbers=range(3)):
    for number in numbers:
        file_job.plan_bucket(SPEC, number, fleet.buckets[number], str(out), run)


def finish(out, run):
    done = list(layout.records(str(out), run).values())
    return layout.publish(str(out), run, 3, done, TOLD, "for people")


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
    monkeypatch.setattr(file_job, "totals_of", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plan_some(fleet, tmp_path / "out", run, [0])
    assert list((tmp_path / "out" / "_data" / "plan=p1").iterdir()) == []


def test_a_bucket_whose_record_may_be_there_keeps_its_files(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    real = layout.create_file

    def created_and_then_an_error(path, content):
        real(path, content)
        raise OSError("the folder could not be brought to the disk")

    monkeypatch.setattr(layout, "create_file", created_and_then_an_error)
    with pytest.raises(OSError, match="brought to the disk"):
        plan_some(fleet, out, run, [0])
    assert list(layout.records(str(out), run)) == [0]


def test_what_a_killed_run_did_not_show_the_next_one_shows(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run, *_ = run_of(out)
    plan_some(fleet, out, run)
    with monkeypatch.context() as killed:
        killed.setattr(layout, "show", lambda *_: None)
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
        unlinked.setattr(layout.os, "link", link)
        unlinked.setattr(layout, "create_file", lambda path, content: bool(path.write_bytes(content)))
        assert finish(out, run)[0]
    assert not layout.is_shown(str(out), manifest_of(out))
    assert len(rows_in(files_of_plan(out))) == 150


def test_one_who_was_overtaken_while_it_showed_a_plan_shows_the_newer(fleet, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first, *_ = run_of(out)
    plan_some(fleet, out, first)
    forced = first._replace(generation=2, name="forced", alone=True)
    plan_some(fleet, out, forced)
    real, left = layout._fill, [1]

    def overtaken(new, where, manifest):
        real(new, where, manifest)
        if left and left.pop():
            monkeypatch.setattr(layout, "_fill", real)
            assert finish(out, forced)[0]

    monkeypatch.setattr(layout, "_fill", overtaken)
    finish(out, first)
    assert layout.is_shown(str(out), manifest_of(out))
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
    with layout.attempt(str(out), PLAN):
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
    assert layout.sweep(str(out), PLAN) == [], "they are young"
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
    done = list(layout.records(str(out), forced).values())
    real, swept = layout.create_file, []

    def asleep(path, content):
        if not swept:
            swept.append(None)
            aged(out)
            swept.extend(layout.sweep(str(out), PLAN))
        return real(path, content)

    monkeypatch.setattr(layout, "create_file", asleep)
    won, manifest = layout.publish(str(out), forced, 3, done, TOLD, "")
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
    real, asleep = layout._leftovers, []

    def slow(*arguments):
        found = real(*arguments)
        if not asleep:
            asleep.append(None)
            assert finish(out, forced)[0]
        return found

    monkeypatch.setattr(layout, "_leftovers", slow)
    before = set((out / "_data").rglob("*"))
    assert layout.sweep(str(out), PLAN) == []
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
    assert manifests.chosen(["a"], None, "out") == "a"
    with pytest.raises(PlanNotFoundError, match="holds no single plan; it holds a, b"):
        manifests.chosen(["a", "b"], None, "out")


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
    assert layout.current(str(out), PLAN) == manifest_of(out)
    assert len(rows_in(files_of_plan(out))) == 150
