"""Text columns that hold bytes which are not UTF-8, as Parquet files can: such a row is a bad row,
and disturbs no other.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, FleetError
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch
from rmqalloc.evaluation.expand import expand_owners
from rmqalloc.evaluation.parquet_plan import plan_files, strategies_of
from rmqalloc.fleet.arrow_columns import utf8
from spark_udfs._arrow_owners import allocate_arrays as allocate
from spark_udfs.map_in_arrow import PlanBatches

NAMES, STRUCT = pa.list_(pa.binary()), [("broker_name", pa.binary())]
COLUMNS = {
    "consumer_group": pa.binary(),
    "topic": pa.binary(),
    "client_ids": NAMES,
    "client_rooms": NAMES,
    "strategy": pa.binary(),
    "strategy_params": pa.binary(),
}
QUEUES = {
    "brokers": pa.list_(pa.struct([*STRUCT, ("read_queue_nums", pa.int32())])),
    "queues": pa.list_(pa.struct([*STRUCT, ("queue_id", pa.int32())])),
}
BROKEN = [
    b"\xff",
    b"caf\xe9",
    b"\xed\xa0\x80",
    b"ok\xc3",
    b"\x80\n\x1b[2J",
    b"\xf5\x80\x80\x80",
    b"\xc0\xaf",
]
SPEC = PlanSpec(
    "AVG",
    scenarios=[{"name": "one more", "changes": [{"add_clients": {"count": 1, "name": "new-{n}"}}]}],
)


def as_text(array):
    """Binary columns, however deep, taken for text without a look at it."""
    if pa.types.is_binary(array.type):
        return array.view(pa.string())
    if pa.types.is_list(array.type):
        inner = as_text(array.values)
        return pa.ListArray.from_arrays(
            array.offsets, inner, mask=array.is_null() if array.null_count else None
        )
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays([as_text(array.field(name)) for name in names], names)
    return array


def batch_of(rows, queues="brokers"):
    kinds = COLUMNS | {queues: QUEUES[queues], "broker_rooms": NAMES}
    columns = [as_text(pa.array([row[name] for row in rows], kind)) for name, kind in kinds.items()]
    return pa.RecordBatch.from_arrays(columns, list(kinds))


def good(i, queues="brokers"):
    number = "read_queue_nums" if queues == "brokers" else "queue_id"
    return {
        "consumer_group": b"g%d" % i,
        "topic": b"t\xc3\xa9%d" % (i % 2),
        queues: [{"broker_name": b"b%d" % j, number: i % 3 + 1} for j in range(2)],
        "broker_rooms": [b"hz", b"sh"],
        "client_ids": [b"c%d" % j for j in range(i % 3 + 1)],
        "client_rooms": [b"hz"] * (i % 3 + 1),
        "strategy": [None, b"CONSISTENT_HASH"][i % 2],
        "strategy_params": [None, b'{"virtual_nodes": 4}'][i % 2],
    }


def broken(row, column, text, with_null):
    """The row with a text that is none, and with a list that is null beside it."""
    row, queues = dict(row), "brokers" if "brokers" in row else "queues"
    if column == "broker_name":
        row[queues] = [row[queues][0], row[queues][1] | {"broker_name": text}]
    else:
        row[column] = [*row[column][:-1], text] if isinstance(row[column], list) else text
    if with_null:
        row["client_ids" if column != "client_ids" else queues] = None
    return row


PLACES = [*COLUMNS, "broker_name", "broker_rooms"]


def answers(batch, spec=SPEC):
    found = plan_batch(batch, spec)
    found.validate(full=True)  # Arrow's own look at every text
    return found.to_pylist()


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("column", PLACES)
def test_a_text_that_is_not_utf8_makes_its_row_bad_and_no_other(column, with_null):
    rows = [good(0), broken(good(1), column, b"caf\xe9", with_null), good(2)]
    found = answers(batch_of(rows))
    assert found[:2] + found[4:] == answers(batch_of([rows[0], rows[2]]))
    for row in found[2:4]:
        if with_null and column not in ("consumer_group", "topic"):  # the null may be seen first
            assert row["err_code"] in (ErrCode.MALFORMED, ErrCode.BAD_STRATEGY)
        else:
            wanted = ErrCode.BAD_STRATEGY if column.startswith("strategy") else ErrCode.MALFORMED
            assert row["err_code"] == wanted
            assert "UTF-8: b'caf\\xe9'" in row["err_msg"]


@st.composite
def some_rows(draw):
    rows = [good(i) for i in range(draw(st.integers(0, 6)))]
    wrong = draw(
        st.lists(
            st.tuples(st.sampled_from(PLACES), st.sampled_from(BROKEN), st.booleans()), max_size=4
        )
    )
    rows = [(row, True) for row in rows] + [
        (broken(good(i), *each), False) for i, each in enumerate(wrong)
    ]
    return draw(st.permutations(rows))


@examples(15)
@given(some_rows(), st.sampled_from(["metrics", "owners", "best"]))
def test_no_row_is_lost_and_good_ones_are_answered_as_without_the_bad(marked, output):
    spec = PlanSpec("AVG", scenarios=SPEC.scenarios, output=output)
    rows, each = [row for row, _ in marked], 1 if output == "best" else 2
    found = answers(batch_of(rows), spec)
    assert len(found) == each * len(rows)
    groups = [found[each * i : each * (i + 1)] for i in range(len(rows))]
    assert all(
        bool(row["err_code"]) != is_good
        for (_, is_good), group in zip(marked, groups, strict=True)
        for row in group
    )
    alone = answers(batch_of([row for row, is_good in marked if is_good]), spec)
    assert [
        row for (_, is_good), group in zip(marked, groups, strict=True) if is_good for row in group
    ] == alone
    assert next(iter(PlanBatches(spec)([batch_of(rows)]))).to_pylist() == found
    named = expand_owners(batch_of(rows), spec)
    named.validate(full=True)
    assert set(named.column("err_code").to_pylist()) >= {row["err_code"] for row in found}


def test_bulk_plans_a_file_with_such_rows_and_writes_text_that_can_be_read(tmp_path):
    rows = [good(i) for i in range(40)]
    rows[7] = broken(rows[7], "consumer_group", b"g\xff7", with_null=True)
    rows[8] = broken(rows[8], "strategy", b"AV\xc7", with_null=False)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_batches([batch_of(rows)]), tmp_path / "in" / "units.parquet")
    totals = plan_files(tmp_path / "in", tmp_path / "out", SPEC)
    found = pq.read_table(tmp_path / "out")
    found.validate(full=True)
    assert found.num_rows == 80
    assert {name: one.bad_units for name, one in totals.items()} == {"current": 2, "one more": 2}
    shown = [
        (row["consumer_group"], row["err_code"]) for row in found.to_pylist() if row["err_code"]
    ]
    assert shown == [("g\\xff7", ErrCode.MALFORMED)] * 2 + [("g8", ErrCode.BAD_STRATEGY)] * 2
    assert "AV\\xc7" in strategies_of(tmp_path / "in", "AVG")


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_every_kind_of_text_is_looked_at(kind):
    text = pa.array([b"g0", b"g\xff", None, b"g3"]).view(pa.string())
    groups = text.dictionary_encode() if pa.types.is_dictionary(kind) else text.cast(kind)
    batch = batch_of([good(i) for i in range(4)]).set_column(0, "consumer_group", groups)
    assert [row["err_code"] for row in answers(batch)[::2]] == [
        0,
        ErrCode.MALFORMED,
        ErrCode.MALFORMED,
        0,
    ]
    with pytest.raises(FleetError, match=r"not UTF-8: b'g\\xff'"):
        Fleet.from_arrow(batch.slice(0, 2))
    sliced = pa.chunked_array([groups.slice(0, 1), groups.slice(1)])
    fleet = Fleet.from_arrow(
        pa.table(batch).set_column(0, "consumer_group", sliced), on_error="report"
    )
    assert [error.position for error in fleet.errors] == [1, 2]
    assert fleet.consumer_group(1) == "g\\xff"


def test_what_is_utf8_is_not_copied_and_lists_keep_their_nulls():
    array = pa.array(["a", None, "é"])
    assert utf8(array) is array
    lists = as_text(pa.array([[b"a\xff", None], None, [], [b"b"]], NAMES))
    assert utf8(lists).to_pylist() == [["a\\xff", None], None, [], ["b"]]
    assert utf8(lists.slice(1)).to_pylist() == [None, [], ["b"]]
    assert utf8(lists.flatten().cast(pa.string_view())).to_pylist() == ["a\\xff", None, "b"]
    assert utf8(pa.array([1, 2])).to_pylist() == [1, 2]


def test_the_columns_of_spark_answer_beside_texts_that_are_none():
    numbers, names = pa.array([2, 2]), as_text(pa.array([b"AVG", b"AV\xc7"]))
    found = allocate(names, numbers, numbers).to_pylist()
    assert found[0] == {"owners": [0, 1], "error": None}
    assert found[1]["owners"] is None
    assert found[1]["error"] == r"the text is not UTF-8: b'AV\xc7'"
    clients = as_text(pa.array([[b"x", b"y"], [b"x\xff"]], NAMES))
    queues = pa.array([[{"broker_name": "b", "queue_id": i} for i in range(2)]] * 2)
    found = allocate("AVG", queues, clients).to_pylist()
    assert found[0] == {"owners": [0, 1], "error": None}
    assert "b'x\\xff'" in found[1]["error"]
