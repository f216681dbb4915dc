"""What a writer writes, every reader reads: each limit of a reader is one of its writer, at the
same edge.
"""

import csv
from types import SimpleNamespace

import pytest

from rmqalloc.documents import json_text, read_budget, yaml_text
from rmqalloc.plans import PlanError, load_plan, plan_snapshot, save_plan
from rmqalloc.snapshot.files import _checks as checks
from rmqalloc.snapshot.files import read_snapshot, write_snapshot
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic, TopicBroker

LIMITS = {"MAX_BYTES": read_budget, "MAX_NODES": yaml_text, "MAX_QUEUES": checks}
DEPTHS = [json_text, yaml_text]
FORMS = ["json", "yaml", "csv", "parquet"]


def nested(n):
    found = 1
    for _ in range(n):
        found = [found]
    return Group("g", strategy="AVG", strategy_params={"a": found})


def named(n):
    return Group("g", strategy_params={"word " * n + "x": 1})


def many(n):
    return [Group(f"g{i}") for i in range(n)]


def empty(n):
    """Values of YAML that have a key, a beginning and an end each."""
    return Group("g", strategy_params={f"k{i}": {} for i in range(n)})


def counted(n):
    return Topic("t", (TopicBroker("b", 1, n),))


def of(things):
    listed = things if isinstance(things, list) else [things]
    groups = tuple(one for one in listed if isinstance(one, Group))
    return Snapshot(tuple(one for one in listed if isinstance(one, Topic)), groups)


@pytest.fixture
def limits(monkeypatch):
    """Sets limits small, or all of them so large that they do not matter."""

    def lift():
        for name, room in LIMITS.items():
            monkeypatch.setattr(room, name, 1 << 24)
        for room in DEPTHS:
            monkeypatch.setattr(room, "MAX_DEPTH", 200)

    def lower(**small):
        monkeypatch.undo()
        for name, most in small.items():
            monkeypatch.setattr(LIMITS[name], name, most)

    return SimpleNamespace(lift=lift, lower=lower)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("make", "sizes", "small"),
    [
        (nested, range(57, 68), {}),
        (named, [1, 1000, *range(3975, 4000, 4), 10_000], {"MAX_BYTES": 20_000}),
        (
            many,
            [100, *range(684, 688), *range(699, 702), 2500],
            {"MAX_BYTES": 32 * 700},
        ),  # of JSON memory ends first, of tables rows
        (empty, range(32, 42), {"MAX_NODES": 40}),
        (counted, range(38, 43), {"MAX_QUEUES": 40}),
    ],
)
def test_what_is_written_is_read_and_what_is_not_read_is_not_written(
    make, sizes, small, form, tmp_path, limits
):
    refused = {n: is_refused(of(make(n)), tmp_path / f"s.{form}", limits, small) for n in sizes}
    assert set(refused.values()) == ({False} if make is empty and form != "yaml" else {False, True})
    assert list(refused.values()) == sorted(refused.values())


def is_refused(snapshot, path, limits, small):
    """Whether a file is refused, the same by its reader and by its writer, which leaves none."""
    limits.lift()
    write_snapshot(snapshot, str(path))
    limits.lower(**small)
    try:
        assert read_snapshot(str(path)) == snapshot
    except SnapshotError:
        path.unlink()
        with pytest.raises(SnapshotError):
            write_snapshot(snapshot, str(path))
        assert not path.exists()
        return True
    write_snapshot(snapshot, str(path))
    assert read_snapshot(str(path)) == snapshot
    return False


@pytest.mark.parametrize("n", [131_071, 131_072, 131_073, 1_000_000])
def test_a_cell_of_csv_may_be_longer_than_the_standard_library_reads(n, tmp_path):
    before = csv.field_size_limit(131_072)
    try:
        snapshot = of(
            Group("x" * n, strategy="CONFIG", strategy_params={"queues": ["b" * 100] * (n // 100)})
        )
        path = str(tmp_path / "s.csv")
        write_snapshot(snapshot, path)
        assert read_snapshot(path) == snapshot
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["consume_tps", "strategy_params"])
def test_a_number_that_is_none_is_not_written(number, form, where, tmp_path):
    group = Group("g", **{where: number if where == "consume_tps" else {"a": number}})
    with pytest.raises(SnapshotError, match=r"finite|is not a JSON number|not JSON compliant"):
        write_snapshot(of(group), str(tmp_path / f"s.{form}"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
def test_a_plan_that_could_not_be_read_is_not_written(name, tmp_path, monkeypatch):
    path = tmp_path / name
    topic = Topic("t", (TopicBroker("b", 4),))
    plan = plan_snapshot(Snapshot((topic,), (Group("g", ("t",), strategy="AVG"),)), [])
    n_bytes = len("".join(plan.text())) + len(f',"digest":"{plan.digest}"}}\n')
    made = read_budget.made_of_json("".join(plan.text()) + ',"digest":""}')
    for bound, exact in (("MAX_BYTES", n_bytes), ("_MADE_PER_BYTE", -(-made // n_bytes))):
        with monkeypatch.context() as patch:
            patch.setattr(read_budget, "MAX_BYTES", n_bytes)
            patch.setattr(read_budget, "_MADE_PER_BYTE", 1000)
            patch.setattr(read_budget, bound, exact)
            save_plan(plan, path)
            assert load_plan(path).digest == plan.digest
            patch.setattr(read_budget, bound, exact - 1)
            with pytest.raises(PlanError, match=r"would have more than 0 MiB|contains more values"):
                save_plan(plan, path)
            with pytest.raises(PlanError):
                load_plan(path)
            assert path.exists()  # the earlier one
