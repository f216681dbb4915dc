"""The rules of a plan's manifest, without Spark: all or nothing, one winner, nothing lost however long anybody sleeps."""

import time
from types import SimpleNamespace

import pytest
from spark_udfs.job._published import PublishError

from rmqalloc.evaluation.batch_planning import PlanSpec
from spark_udfs.job import _published as manifests

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
        attempt = manifests.unique_name()
        name = f"{manifests.data_folder(PLAN)}/{attempt}/{manifests.bucket_name(number)}/part.parquet"
        store.objects[name] = "x" * size
        manifests.keep(store, run, number, attempt, {"totals": {}})


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
    with pytest.raises(PublishError, match="the plan has 3 buckets, and 2 are done: bucket 1 has no record"):
        published(store, run)
    with pytest.raises(PublishError, match="the plan has 1 buckets, and 2 are done: the records are of 3"):
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
    with pytest.raises(PublishError, match="come twice"):
        manifests.publish(store, run, 2, [*records, records[0]], TOLD)


@both_stores
@pytest.mark.parametrize("spoil", [lambda o, n: o.pop(n), lambda o, n: o.update({n: "x"})], ids=["gone", "cut off"])
def test_a_plan_whose_file_is_not_there_is_not_published(exclusive, spoil):
    store = Store(exclusive)
    _, run = manifests.begin(store, PLAN, False)
    done_by(store, run, range(3))
    records = manifests.records(store, run).values()
    spoil(store.objects, next(name for name in store.objects if name.startswith("_data")))
    with pytest.raises(PublishError, match="1 files of the plan are gone or cut off, such as _data/plan=p1/"):
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
    clock = SimpleNamespace(strftime=lambda *_: "00000000T000000Z", gmtime=time.gmtime)
    monkeypatch.setattr(manifests, "time", clock)
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
    with pytest.raises(PublishError, match="manifest x is of format 2, which a later release"):
        manifests.current({"x": '{"format": 2, "generation": 1}'})
