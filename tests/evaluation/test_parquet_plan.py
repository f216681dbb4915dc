"""Batches and Parquet files of units, synthetic fleets, and the directories they are written to."""

import json
import threading
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.evaluation.totals import Totals, added, totals_of, two_columns
from rmqalloc.fleet import arrow
from rmqalloc.fleet.arrow import columns_from_arrow
from rmqalloc.snapshot.directory import MARKER, replaced_result
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA, synthetic_fleet, write_fleet

SPECS = [
    PlanSpec("AVG", output="owners"),
    PlanSpec("AVG_BY_CIRCLE", output="owners"),
    PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners"),
]
every_rule = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.strategy)
OWNERS = SPECS[0]
AVG = OWNERS.rule()


def rows_of(batches):
    return [row for batch in batches for row in batch.to_pylist()]


# --- Batches ---


@every_rule
def test_every_row_is_assigned_as_its_group_alone(spec):
    table = units.synthetic(300, seed=3)
    out = plan_batch(table.combine_chunks().to_batches()[0], spec)
    units.assert_assigned(out.to_pylist(), table.to_pylist(), [None] * 300, spec.rule())


@every_rule
def test_a_bad_row_never_raises(spec):
    batch, words = units.mixed()
    units.assert_assigned(
        rows_of(plan_stream([batch], spec)), batch.to_pylist(), words, spec.rule()
    )


@pytest.mark.parametrize("few_clients", [0, 8])
def test_units_that_share_no_list_are_planned_like_those_that_do(monkeypatch, few_clients):
    monkeypatch.setattr(arrow, "_FEW_CLIENTS", few_clients)
    batch, _ = units.mixed()
    twice = pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0]
    n_lists = [
        columns_from_arrow(twice, "report", shares)["client_lists"].offsets.size
        for shares in (True, False)
    ]
    assert (n_lists[0] < n_lists[1]) is (few_clients > 0)
    # A strategy of a row may look at names, so where rows have a column for it lists are shared.
    of_rows = twice.append_column("strategy", pa.nulls(twice.num_rows, pa.string()))
    assert plan_batch(twice, OWNERS).equals(plan_batch(of_rows, OWNERS))


def test_queues_will_do_as_well_as_brokers():
    batch = pa.RecordBatch.from_pylist(units.GOOD, schema=FLEET_SCHEMA)
    for spec in SPECS:
        assert plan_batch(units.exploded(batch), spec).equals(plan_batch(batch, spec))


def test_bad_queues_are_reported_too():
    kind = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int64())]))
    queues = [
        None,
        [],
        [{"broker_name": "b", "queue_id": 2**31}],
        [{"broker_name": "b", "queue_id": -1}],
    ]
    batch = pa.record_batch({
        "consumer_group": ["g"] * 4, "topic": ["t"] * 4, "queues": pa.array(queues, kind), "client_ids": [["c"]] * 4,
    })  # fmt: skip
    *bad, good = rows_of(plan_stream([batch], OWNERS))
    for row, said in zip(
        bad,
        [
            "queues is null",
            "mqAll is null or mqAll empty",
            "from -2147483648 to 2147483647, got 2147483648",
        ],
        strict=True,
    ):
        assert said in row["err_msg"]
        assert row["owners"] is None
    assert good["err_msg"] is None
    assert good["owners"] == [0]


def test_the_batch_has_the_promised_schema_whatever_comes_in():
    batch, _ = units.mixed()
    for part in (batch, batch.slice(0, 0), batch.slice(1, 1), batch.slice(0, 1)):
        [out] = plan_stream([part], OWNERS)
        assert out.schema == OWNERS.schema
        assert out.num_rows == part.num_rows
        out.validate(full=True)


def test_any_type_of_text_and_a_slice_of_a_batch():
    table = units.synthetic(40)
    large = pa.list_(pa.large_string())
    table = table.set_column(0, "consumer_group", table["consumer_group"].dictionary_encode())
    table = table.set_column(1, "topic", table["topic"].cast(pa.large_string()))
    table = table.set_column(3, "client_ids", table["client_ids"].cast(large)).combine_chunks()
    batch = table.to_batches()[0].slice(7, 20)
    units.assert_assigned(
        plan_batch(batch, OWNERS).to_pylist(), batch.to_pylist(), [None] * 20, AVG
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(lambda t: t.drop_columns("topic"), "no column topic", id="no topic"),
        pytest.param(lambda t: t.drop_columns("client_ids"), "client_ids", id="no client_ids"),
        pytest.param(
            lambda t: t.drop_columns("brokers"),
            "neither a queues nor a brokers column",
            id="no brokers",
        ),
        pytest.param(
            lambda t: t.set_column(3, "client_ids", pa.array([1])),
            "column client_ids must be a list",
            id="client_ids of numbers",
        ),
        pytest.param(
            lambda t: t.set_column(2, "brokers", pa.array(["b"])),
            "column brokers must be a list",
            id="brokers of texts",
        ),
        pytest.param(
            lambda t: t.set_column(1, "topic", pa.array([1.5])),
            "column topic must hold strings",
            id="topic of numbers",
        ),
    ],
)
def test_a_table_of_the_wrong_columns_is_refused_as_a_whole(change, said):
    table = change(pa.Table.from_pylist(units.GOOD[:1], schema=FLEET_SCHEMA))
    with pytest.raises(TypeError, match=said):
        list(plan_stream(table.to_batches(), OWNERS))


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12), max_queues=st.integers(1, 12))
def test_pieces_hold_no_more_queues_than_asked(sizes, max_queues):
    batch = pa.RecordBatch.from_pylist(
        [units.row(brokers=[("b", n)]) for n in sizes], schema=FLEET_SCHEMA
    )
    pieces = list(plan_stream([batch], OWNERS, max_queues=max_queues))
    assert all(
        pc.sum(piece["n_queues"]).as_py() in (None, *range(max_queues + 1)) for piece in pieces
    )
    rows = rows_of(pieces)
    assert [row["n_queues"] for row in rows] == [n if 0 < n <= max_queues else None for n in sizes]
    too_many = [f"{n} queues; at most {max_queues} can be planned" for n in sizes if n > max_queues]
    said = [row["err_msg"] for row in rows if "at most" in (row["err_msg"] or "")]
    assert len(said) == len(too_many)
    assert all(text.endswith(words) for text, words in zip(said, too_many, strict=True))


def test_a_row_that_claims_a_sky_of_queues_takes_none_of_the_memory():
    brokers = [(f"b{i}", 2**24) for i in range(50)]
    batch = pa.RecordBatch.from_pylist(
        [units.row(), units.row(brokers=brokers), units.row()], schema=FLEET_SCHEMA
    )
    first, claims, last = rows_of(plan_stream([batch], OWNERS))
    assert first["owners"] == last["owners"] == [0, 0, 1, 1, 2]
    assert "at most 16777216" in claims["err_msg"]


# --- Totals ---


def test_totals_are_those_of_the_rows():
    batch, words = units.mixed()
    found = {}
    for out in plan_stream([batch], OWNERS):
        found = added(found, totals_of(out))
    totals = found.pop("current")
    assert not found
    good = [
        units.expected(unit, AVG)
        for unit, said in zip(batch.to_pylist(), words, strict=True)
        if said is None
    ]
    assert totals.units == batch.num_rows
    assert totals.bad_units == len(units.BAD)
    assert totals.queues == sum(row["n_queues"] for row in good)
    assert totals.unowned == sum(row["unowned"] for row in good) > 0
    assert totals.idle == sum(row["idle"] for row in good) > 0
    assert totals.max_skew == pytest.approx(max(row["skew"] for row in good))


def test_totals_are_kept_by_scenario():
    two = [{"name": f"{n}", "changes": [{"scale_clients": {"to": n}}]} for n in (1, 2)]
    batch = pa.RecordBatch.from_pylist([*units.GOOD, units.BAD[0][0]], schema=FLEET_SCHEMA)
    rows = plan_batch(batch, PlanSpec("AVG", scenarios=two))
    found = totals_of(rows)
    assert list(found) == ["current", "1", "2"]
    for name, totals in found.items():
        mine = [row for row in rows.to_pylist() if row["scenario"] == name]
        assert (totals.units, totals.bad_units) == (len(units.GOOD) + 1, 1)
        assert totals.moved == sum(row["moved"] or 0 for row in mine)
    assert found["1"].moved > 0
    best = totals_of(plan_batch(batch, PlanSpec("AVG", scenarios=two, output="best")))
    assert best[""] == Totals(units=1, bad_units=1)
    assert sum(totals.units for totals in best.values()) == batch.num_rows


def test_nothing_has_totals_too():
    assert totals_of(pa.RecordBatch.from_pylist([], schema=PLAN_SCHEMA)) == {}
    assert "units/s" in two_columns(Totals().rows(0.0))


# --- Parquet to Parquet on threads ---


def read(path):
    return ds.dataset(path, format="parquet").to_table()


@pytest.mark.parametrize(("n_files", "threads"), [(1, 3), (5, 2), (3, None)])
def test_files_are_assigned_in_their_order(tmp_path, n_files, threads):
    write_fleet(tmp_path / "fleet", 500, seed=1, n_files=n_files)
    seen = []
    totals = plan_files(
        tmp_path / "fleet", tmp_path / "owners", OWNERS, threads, lambda *done: seen.append(done)
    )
    fleet = read(tmp_path / "fleet")
    units.assert_assigned(
        read(tmp_path / "owners").to_pylist(), fleet.to_pylist(), [None] * 500, AVG
    )
    assert (totals["current"].units, totals["current"].bad_units) == (500, 0)
    assert seen == [(i + 1, seen[-1][1]) for i in range(seen[-1][1])]


def test_one_file_of_many_row_groups_is_shared_among_threads(tmp_path):
    table = units.synthetic(100)
    pq.write_table(table, tmp_path / "fleet.parquet", row_group_size=30)
    plan_files(tmp_path / "fleet.parquet", tmp_path / "owners", OWNERS, threads=3)
    assert len(list((tmp_path / "owners").glob("part-*.parquet"))) == 4
    assert (
        read(tmp_path / "owners")["consumer_group"].to_pylist()
        == table["consumer_group"].to_pylist()
    )


def test_other_columns_do_no_harm(tmp_path):
    table = units.synthetic(10).append_column("note", pa.array(["x"] * 10))
    pq.write_table(table, tmp_path / "fleet.parquet")
    assert (
        plan_files(tmp_path / "fleet.parquet", tmp_path / "owners", OWNERS)["current"].units == 10
    )


def test_a_failed_run_leaves_the_earlier_result(tmp_path):
    write_fleet(tmp_path / "fleet", 50, n_files=2)
    plan_files(tmp_path / "fleet", tmp_path / "owners", OWNERS)
    before = read(tmp_path / "owners")
    part = tmp_path / "fleet" / "part-00001.parquet"
    pq.write_table(pq.read_table(part).drop_columns("topic"), part)
    with pytest.raises(TypeError, match="topic"):
        plan_files(tmp_path / "fleet", tmp_path / "owners", OWNERS)
    assert read(tmp_path / "owners").equals(before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet", "owners"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]


def test_a_damaged_file_is_named(tmp_path):
    write_fleet(tmp_path / "fleet", 4000, n_files=1)
    part = tmp_path / "fleet" / "part-00000.parquet"
    damaged = bytearray(part.read_bytes())
    damaged[100 : len(damaged) // 2] = bytes(len(damaged) // 2 - 100)
    part.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"part-00000\.parquet cannot be read"):
        plan_files(tmp_path / "fleet", tmp_path / "owners", OWNERS)


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "does not exist"), ("empty", "holds no Parquet file")]
)
def test_missing_input_is_said(tmp_path, name, said):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=said):
        plan_files(tmp_path / name, tmp_path / "owners", OWNERS)


# --- Synthetic fleets ---


def test_a_fleet_depends_on_nothing_but_its_seed(tmp_path):
    fleet = units.synthetic(3000, seed=5)
    assert fleet.num_rows == 3000
    for batch_size in (1, 999, 10_000):
        assert pa.Table.from_batches(list(synthetic_fleet(3000, 5, batch_size))).equals(fleet)
    for n_files in (1, 7):
        write_fleet(tmp_path / "fleet", 3000, seed=5, n_files=n_files)
        assert len(list((tmp_path / "fleet").glob("*.parquet"))) == n_files
        assert read(tmp_path / "fleet").equals(fleet)
    assert not units.synthetic(3000, seed=6).equals(fleet)


def test_files_are_equal_bytes_by_seed(tmp_path):
    for name in "ab":
        write_fleet(tmp_path / name, 500, seed=2, n_files=3)
    one, other = (
        {part.name: part.read_bytes() for part in (tmp_path / name).glob("*.parquet")}
        for name in "ab"
    )
    assert len(one) == 3
    assert one == other


def test_a_fleet_has_the_means_and_the_tail_it_states():
    fleet = units.synthetic(200_000, seed=11).combine_chunks()
    n_clients = pc.list_value_length(fleet["client_ids"]).to_numpy()
    brokers = fleet["brokers"].chunk(0)
    n_queues = np.add.reduceat(
        brokers.values.field("read_queue_nums").to_numpy(), brokers.offsets.to_numpy()[:-1]
    )
    assert 7.5 < n_queues.mean() < 9
    assert 3.6 < n_clients.mean() < 4.2
    assert (np.median(n_queues), np.median(n_clients)) == (4, 2)
    assert n_queues.max() > 1000
    assert n_clients.max() > 1000
    assert fleet["consumer_group"].null_count == fleet["topic"].null_count == 0


def test_groups_share_topics_and_their_topics_share_clients():
    rows = units.synthetic(5000).to_pylist()
    assert len({(row["consumer_group"], row["topic"]) for row in rows}) == len(rows)
    readers = Counter(row["topic"] for row in rows)
    topics = Counter(row["consumer_group"] for row in rows)
    assert max(readers.values()) > 20
    assert 2 < len(rows) / len(topics) < 2.25
    for name in ("consumer_group", "topic"):
        column = "client_ids" if name == "consumer_group" else "brokers"
        seen = {}
        assert all(seen.setdefault(row[name], row[column]) == row[column] for row in rows)
    assert all(len(set(row["client_ids"])) == len(row["client_ids"]) for row in rows)
    assert all(
        len({b["broker_name"] for b in row["brokers"]}) == len(row["brokers"]) for row in rows
    )


def test_client_ids_look_like_rocketmqs():
    ids = pa.array(
        [client_id for row in units.synthetic(200).to_pylist() for client_id in row["client_ids"]]
    )
    assert pc.all(pc.match_substring_regex(ids, r"^10(\.\d{1,3}){3}@\d+#\d{14,16}$")).as_py()


@pytest.mark.parametrize("n_units", [0, 1, 15])
def test_tiny_fleets(tmp_path, n_units):
    assert units.synthetic(n_units).num_rows == n_units
    write_fleet(tmp_path / "fleet", n_units, n_files=4)
    assert read(tmp_path / "fleet").num_rows == n_units


@pytest.mark.parametrize("wrong", [{"n_units": -1}, {"seed": -1}, {"batch_size": 0}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError, match=f"got .*{next(iter(wrong))}="):
        synthetic_fleet(**wrong)


def test_a_fleet_of_no_files(tmp_path):
    with pytest.raises(ValueError, match="at least one file"):
        write_fleet(tmp_path / "fleet", 1, n_files=0)
    with pytest.raises(ValueError, match="n_units"):
        write_fleet(tmp_path / "fleet", -1)


# --- Directories ---


def fill(path, kind="owners", text=""):
    with replaced_result(path, kind) as new:
        (new / "part-00000.parquet").write_text(text)


def test_a_directory_is_replaced_as_a_whole(tmp_path):
    (tmp_path / "out").mkdir()
    for text in ("one", "two"):
        fill(tmp_path / "out", text=text)
        assert (tmp_path / "out" / "part-00000.parquet").read_text() == text
    assert json.loads((tmp_path / "out" / MARKER).read_text()) == {
        "tool": "rmqalloc",
        "kind": "owners",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_leaves_everything_as_it_was(tmp_path):
    fill(tmp_path / "out", text="old")
    with pytest.raises(UnicodeEncodeError):
        fill(tmp_path / "out", text="new, but \ud800 cannot be written")
    assert (tmp_path / "out" / "part-00000.parquet").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def foreign_file(path):
    path.mkdir(exist_ok=True)
    (path / "thesis.txt").write_text("the only copy")


@pytest.mark.parametrize(
    ("kind", "make", "said"),
    [
        (None, foreign_file, "did not write .such as thesis.txt"),
        ("owners", foreign_file, "but not thesis.txt in it"),
        pytest.param(
            "owners",
            lambda path: (path / "part-1.parquet").mkdir(),
            "but not part-1.parquet in it",
            id="owners-a directory",
        ),
        ("fleet", None, "holds 'fleet'"),
        pytest.param(
            None,
            lambda path: path.mkdir() or (path / MARKER).write_text("[1]"),
            "did not write",
            id="None-another marker",
        ),
        pytest.param(
            None, lambda path: path.write_text("the only copy"), "is a file", id="None-a file"
        ),
    ],
)
def test_what_is_not_ours_is_never_replaced(tmp_path, kind, make, said):
    if kind:
        fill(tmp_path / "out", kind)
    if make:
        make(tmp_path / "out")
    before = [(path, path.read_bytes()) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    with pytest.raises(FileExistsError, match=said):
        fill(tmp_path / "out")
    assert [
        (path, path.read_bytes()) for path in sorted(tmp_path.rglob("*")) if path.is_file()
    ] == before


def test_a_foreign_file_that_came_meanwhile_is_kept(tmp_path):
    with (
        pytest.raises(FileExistsError, match="thesis"),
        replaced_result(tmp_path / "out", "owners"),
    ):
        foreign_file(tmp_path / "out")
    assert (tmp_path / "out" / "thesis.txt").read_text() == "the only copy"


def test_a_link_to_a_directory_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    fill(tmp_path / "out", text="new")
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "real" / "part-00000.parquet").read_text() == "new"
