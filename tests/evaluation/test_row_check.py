"""One check of rows: every face that needs no Spark says the same of a damaged row, and reads every
form that Arrow has.
"""

from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.batch_sizes import Sizes
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.model import MAX_OF_ROW, MAX_TEXT_BYTES
from spark_udfs import _sql_owners as sql_owners
from spark_udfs._arrow_owners import allocate_arrays, owners
from spark_udfs._arrow_plan import plan_array, plan_rows

BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int64())]))
QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
NAMES = pa.list_(pa.string())
TYPES = {
    "consumer_group": pa.string(), "topic": pa.string(), "brokers": BROKERS, "queues": QUEUES, "client_ids": NAMES,
    "strategy": pa.string(), "virtual_nodes": pa.int64(), "unit_err_msg": pa.string(),
}  # fmt: skip

GOOD = {
    "consumer_group": "g",
    "topic": "T",
    "brokers": [("b", 2), ("a", 2)],
    "client_ids": ["y", "x"],
}
OF_GOOD = [0, 0, 1, 1]
NO_QUEUES, NO_CLIENTS = "mqAll is null or mqAll empty", "cidAll is null or cidAll empty"


class HostileRow(NamedTuple):
    """A row: what differs from `GOOD`, and what every face must say of it."""

    kind: str
    row: dict[str, Any]  # a ``queues`` takes the place of ``brokers``
    code: int
    text: str | None = None  # how the message begins, None of a good row
    owners: list[int] | None = None
    types: dict[str, pa.DataType] | None = None

    def batch(self) -> pa.RecordBatch:
        """Return the row as a batch."""
        given = {
            name: value
            for name, value in GOOD.items()
            if name != "brokers" or "queues" not in self.row
        } | self.row
        columns = {
            name: _column([value], (self.types or TYPES).get(name, TYPES.get(name)))
            for name, value in given.items()
        }
        return pa.RecordBatch.from_pydict(columns)

    @property
    def is_for_functions(self) -> bool:
        """Whether column functions are given what is wrong: they ask for no group, and nobody tells
        them of joins.
        """
        return not {"consumer_group", "unit_err_msg"} & self.row.keys()

    @property
    def is_of_strategy(self) -> bool:
        """Whether what is wrong is the strategy, which SQL raises."""
        return self.code == 5


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return an array; bytes stand for a text that is not UTF-8."""
    if kind == pa.string() and any(isinstance(value, bytes) for value in values):
        return pa.array(values, pa.binary()).view(pa.string())
    if kind == NAMES and any(isinstance(one, bytes) for one in values[0] or ()):
        inner = _column(values[0], pa.string())
        return pa.ListArray.from_arrays([0, len(inner)], inner)
    return pa.array(values, kind)


TWICE = "MessageQueue [topic=T, brokerName={}, queueId={}] is there twice; give every queue once"
NULL_CLIENT = "client id at position 1 is null; every client id must be a string"
TOO_MANY = "read_queue_nums at position {} of brokers must be an integer from 0 to 16777216, got {}"
NO_TYPE = {"client_ids": pa.null()}
LONG = "A" * 5000

HOSTILE_ROWS = [
    HostileRow("good", {}, 0, owners=OF_GOOD),
    HostileRow("group null", {"consumer_group": None}, 1, "consumer_group is null; it must be a string"),
    HostileRow("topic null", {"topic": None}, 1, "topic is null; it must be a string"),
    HostileRow("topic not UTF-8", {"topic": b"caf\xe9"}, 1, "topic is not UTF-8: b'caf\\xe9'"),
    HostileRow("brokers null", {"brokers": None}, 1, "brokers is null; give a list"),
    HostileRow("brokers empty", {"brokers": []}, 2, NO_QUEUES),
    HostileRow("brokers without queues", {"brokers": [("b", 0)]}, 2, NO_QUEUES),
    HostileRow("broker null", {"brokers": [("a", 1), None]}, 1, "broker_name at position 1 of brokers is null"),
    HostileRow("broker_name null", {"brokers": [(None, 1)]}, 1, "broker_name at position 0 of brokers is null"),
    HostileRow("read_queue_nums null", {"brokers": [("b", None)]}, 1, "read_queue_nums at position 0 of brokers must be"),
    HostileRow("read_queue_nums negative", {"brokers": [("b", -1)]}, 1, "read_queue_nums at position 0 of brokers must be"),
    HostileRow("read_queue_nums one too many", {"brokers": [("b", MAX_OF_ROW + 1)]}, 1, TOO_MANY.format(0, 16777217)),
    HostileRow("read_queue_nums beyond int32", {"brokers": [("a", 1), ("b", 2**32 + 2)]}, 1, TOO_MANY.format(1, 4294967298)),
    HostileRow("read_queue_nums beside too many", {"brokers": [("b", 2**40), ("c", 1)]}, 1, TOO_MANY.format(0, 2**40)),
    HostileRow("queues too many", {"brokers": [("a", MAX_OF_ROW), ("b", 1)]}, 4, "the unit has, or some scenario could"),
    HostileRow("broker twice", {"brokers": [("b", 2), ("b", 2)]}, 3, TWICE.format("b", 0)),
    HostileRow("broker of one queue twice", {"brokers": [("a", 1), ("b", 1), ("b", 1)]}, 3, TWICE.format("b", 0)),
    HostileRow("queue twice", {"queues": [("b", 4), ("a", 7), ("b", 4)]}, 3, TWICE.format("b", 4)),
    HostileRow("queue_id null", {"queues": [("b", None)]}, 1, "queue_id at position 0 of queues must be an integer from"),
    HostileRow("queue_id negative", {"queues": [("b", 1), ("b", -1)]}, 0, owners=[0, 1]),
    HostileRow("clients null", {"client_ids": None}, 1, "client_ids is null; give a list"),
    HostileRow("clients empty", {"client_ids": []}, 2, NO_CLIENTS),
    HostileRow("clients without a type", {"client_ids": None}, 1, "client_ids is null; give a list", types=NO_TYPE),
    HostileRow("empty list without a type", {"client_ids": []}, 2, NO_CLIENTS, types={"client_ids": pa.list_(pa.null())}),
    HostileRow("client id null", {"client_ids": ["x", None]}, 1, NULL_CLIENT),
    HostileRow("client id not UTF-8", {"client_ids": ["x", b"\xff"]}, 1, "client id at position 1 of client_ids is not UTF-8"),
    HostileRow("client id too long", {"client_ids": ["x" * (MAX_TEXT_BYTES + 1)]}, 4, "client id at position 0 is 65537 bytes"),
    HostileRow("client id twice", {"client_ids": ["x", "x"]}, 0, owners=[0, 0, -1, -1]),
    HostileRow("client id empty", {"client_ids": ["", "x"]}, 0, owners=[-1, -1, 1, 1]),
    HostileRow("strategy null", {"strategy": None}, 0, owners=OF_GOOD),
    HostileRow("strategy without a type", {"strategy": None}, 0, owners=OF_GOOD, types={"strategy": pa.null()}),
    HostileRow("strategy empty", {"strategy": ""}, 5, "unknown strategy ''; known are AVG"),
    HostileRow("strategy unknown", {"strategy": "AVGG"}, 5, "unknown strategy 'AVGG'; known are AVG"),
    HostileRow("strategy of 5,000 characters", {"strategy": LONG}, 5, f"unknown strategy '{LONG[:98]}"),
    HostileRow("strategy not UTF-8", {"strategy": b"AV\xc7"}, 5, "the text is not UTF-8: b'AV\\xc7'"),
    HostileRow("MACHINE_ROOM without rooms", {"strategy": "MACHINE_ROOM"}, 5, "strategy MACHINE_ROOM needs machine_rooms"),
    HostileRow("strategy without its inner one", {"strategy": "POP"}, 5, "strategy POP"),
    HostileRow("strategy spelled wrongly", {"strategy": "CANARY(share=2"}, 5, "'CANARY(share=2' does not end with"),
    HostileRow("share out of bounds", {"strategy": "CANARY(share=2)"}, 5, "share must be from 0 to 1"),
    HostileRow("virtual_nodes negative", {"strategy": "CONSISTENT_HASH", "virtual_nodes": -1}, 5, "virtual_nodes must be"),
    HostileRow("virtual_nodes too many", {"virtual_nodes": 2**40}, 5, "virtual_nodes must be from 0 to 65536, got 1099511"),
    HostileRow("not joined", {"client_ids": None, "unit_err_msg": "channels must be"}, 1, "channels must be"),
    HostileRow("empty and unknown", {"client_ids": [], "strategy": "AVGG"}, 2, NO_CLIENTS),
]  # fmt: skip


SPEC = PlanSpec("AVG", output="owners")
ONE_LESS = '[{"name": "less", "changes": [{"remove_clients": {"count": 1}}]}]'


def of_table(table):
    [row] = table.to_pylist()
    return row["err_code"], row["err_msg"], row["owners"]


def of_files(batch, tmp_path):
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "fleet.parquet")
    plan_files(tmp_path / "fleet.parquet", tmp_path / "plan", SPEC, threads=1)
    return of_table(pq.read_table(tmp_path / "plan"))


def of_struct(plans):
    """Of a plan column; what it lacks is None."""
    [[row, *_]] = plans.to_pylist()
    return row["err_code"], row["err_msg"], row.get("owners")


def arguments(batch):
    """Arguments of the functions."""
    left_out = ("consumer_group", "unit_err_msg")
    given = {name: batch.column(name) for name in batch.schema.names if name not in left_out}
    queues = given.pop("brokers") if "brokers" in given else given.pop("queues")
    strategy = given.pop("strategy") if "strategy" in given else pa.array(["AVG"])
    return {"strategy": strategy, "queues": queues, "clients": given.pop("client_ids"), **given}


def of_function(answer):
    """Of ``allocate_or_error``, which has no code."""
    [row] = answer.to_pylist()
    return None, row["error"], row["owners"]


def of_owners(batch):
    """Of SQL's strict function: the owners alone, or an error of the query."""
    try:
        return None, None, owners(**arguments(batch)).to_pylist()[0]
    except ValueError as error:
        text, hint, _ = str(error).partition(" (use allocate_or_error")
        assert hint
        return None, text, None


def as_struct(batch):
    return pa.StructArray.from_arrays(batch.columns, batch.schema.names)


FACES = {
    "plan_batch": lambda batch, _: of_table(plan_batch(batch, SPEC)),
    "plan_stream": lambda batch, _: of_table(pa.Table.from_batches(plan_stream([batch], SPEC))),
    "plan_files": of_files,
    "plan_array": lambda batch, _: of_struct(plan_array(as_struct(batch), SPEC)),
    "plan_rows": lambda batch, _: of_struct(plan_rows(as_struct(batch), pa.array([ONE_LESS]))),
    "allocate_arrays": lambda batch, _: of_function(allocate_arrays(**arguments(batch))),
    "allocate_or_error": lambda batch, _: of_function(
        sql_owners.BODIES["allocate_or_error"](**arguments(batch))
    ),
    "owners": lambda batch, _: of_owners(batch),
}
FUNCTIONS = ("allocate_arrays", "allocate_or_error", "owners")


def test_the_list_has_every_code_but_the_one_of_strategies_that_refuse():
    assert {row.code for row in HOSTILE_ROWS} == {0, 1, 2, 3, 4, 5}
    assert len(HOSTILE_ROWS) > 30
    assert len({row.kind for row in HOSTILE_ROWS}) == len(HOSTILE_ROWS)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("row", HOSTILE_ROWS, ids=lambda row: row.kind)
def test_every_face_says_the_same_of_a_row(row, tmp_path):
    batch = row.batch()
    code, text, found = FACES["plan_batch"](batch, tmp_path)
    assert (code, found) == (row.code, row.owners)
    assert (text or "").startswith(row.text or "") and (text is None) == (row.text is None)
    assert len(text or "") < 1000
    for name, face in FACES.items():
        if name in FUNCTIONS and not row.is_for_functions:
            continue
        its_code, its_text, its_owners = face(batch, tmp_path)
        assert its_code in (None, code), name
        if name != "owners" or row.is_of_strategy:
            assert its_text == text, name
        assert its_owners == found or name == "plan_rows", name


def test_rows_beside_each_other_have_the_verdicts_that_they_have_alone():
    plain = [row for row in HOSTILE_ROWS if not row.types and "queues" not in row.row]
    columns = {name: kind for name, kind in TYPES.items() if name != "queues"}
    table = pa.concat_tables(
        [pa.Table.from_batches([row.batch()]) for row in plain], promote_options="default"
    ).select(list(columns))
    batch = table.combine_chunks().to_batches()[0]
    rows = plan_batch(batch, SPEC).to_pylist()
    assert [(one["err_code"], one["owners"]) for one in rows] == [
        (row.code, row.owners) for row in plain
    ]
    answers = allocate_arrays(**arguments(batch)).to_pylist()
    named = [row.is_for_functions for row in plain]
    for asked, one, answer in zip(named, rows, answers, strict=True):
        assert not asked or (answer["error"], answer["owners"]) == (one["err_msg"], one["owners"])


def test_a_strategy_that_refuses_a_unit_does_so_in_functions_too():
    batch = HostileRow("", {"strategy": "CONSISTENT_HASH(virtual_nodes=65536)"}, 0).batch()
    ids = [f"c{i}" for i in range(257)]
    batch = batch.set_column(3, "client_ids", pa.array([ids]))
    code, text, _ = of_table(plan_batch(batch, SPEC))
    assert (code, text) == (
        ErrCode.TOO_LARGE,
        "the ring would have 16842752 points; at most 16777216 can be planned",
    )
    assert of_function(allocate_arrays(**arguments(batch))) == (None, text, None)


# --- Forms of columns ---


def retyped(kind, text, list_of):
    """A type with others in the place of text and lists."""
    if pa.types.is_list(kind):
        return list_of(retyped(kind.value_type, text, list_of))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, retyped(field.type, text, list_of)) for field in kind])
    return text if pa.types.is_string(kind) else kind


def viewed(kind):
    return retyped(kind, pa.string_view(), pa.list_view)


def wide(kind):
    return retyped(kind, pa.large_string(), pa.large_list)


def dictionaries(array):
    return array.dictionary_encode() if pa.types.is_string(array.type) else coded_lists(array)


def coded_lists(array):
    return pa.DictionaryArray.from_arrays(pa.array([0, 1]), array)


def runs(array):
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


FORMS = {
    "views": lambda array: pa.array(array.to_pylist(), viewed(array.type)),
    "wide": lambda array: array.cast(wide(array.type)),
    "fixed": lambda array: (
        pa.array(array.to_pylist(), pa.list_(array.type.value_type, 2))
        if pa.types.is_list(array.type)
        else array
    ),
    "dictionaries": dictionaries,
    "dictionaries of views": lambda array: coded_lists(
        pa.array(array.to_pylist(), viewed(array.type))
    ),
    "runs": runs,
    "runs of views": lambda array: runs(pa.array(array.to_pylist(), viewed(array.type))),
    "slices": lambda array: pa.concat_arrays([array, array, array]).slice(2, 2),
    "slices of views": lambda array: pa.concat_arrays(
        [pa.array(array.to_pylist() * 3, viewed(array.type))]
    ).slice(2, 2),
    "slices of runs": lambda array: runs(pa.concat_arrays([array, array, array])).slice(2, 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_text_and_lists_are_read(form):
    rows = [GOOD | {"strategy": "AVG"}, GOOD | {"strategy": "AVGG", "topic": "U"}]
    plain = {name: pa.array([row[name] for row in rows], TYPES[name]) for name in rows[0]}
    asked = [("T", 0, OF_GOOD), ("U", 5, None)]
    batch = pa.RecordBatch.from_pydict({name: FORMS[form](array) for name, array in plain.items()})
    sizes = Sizes.of(batch, ())
    assert (sizes.queues.tolist(), sizes.clients.tolist()) == ([4, 4], [2, 2]), (
        "bounded before they are read"
    )
    for planned in (plan_batch(batch, SPEC), *plan_stream([batch], SPEC)):
        assert [
            (row["topic"], row["err_code"], row["owners"]) for row in planned.to_pylist()
        ] == asked
    assert [row["owners"] for row in allocate_arrays(**arguments(batch)).to_pylist()] == [
        OF_GOOD,
        None,
    ]
    two = PlanSpec("AVG", scenarios=[{"name": "x", "changes": [{"remove_clients": {"count": 1}}]}])
    carried = plan_batch(
        batch.rename_columns([*batch.schema.names[:-1], "region"]), two, carry=["region"]
    )
    assert carried["region"].to_pylist() == ["AVG", "AVG", "AVGG", "AVGG"]


BROKERS_CAST = (
    "cast it, as in cast(brokers as array<struct<broker_name:string,read_queue_nums:int>>)"
)
CLIENTS_CAST = "cast it, as in cast(client_ids as array<string>)"


@pytest.mark.parametrize(
    ("name", "value", "kind", "said"),
    [
        pytest.param(
            "topic",
            b"T",
            pa.binary(),
            "column topic must hold strings, got binary: cast it, as in cast(topic as string)",
            id="topic",
        ),
        pytest.param(
            "topic",
            1,
            pa.int32(),
            "column topic must hold strings, got int32. If the source has text, or directories such as topic=001, read it "
            "again as text, because a cast makes 1 of 001. For names of directories, set "
            "spark.sql.sources.partitionColumnTypeInference.enabled=false in Spark, or give pyarrow or pandas "
            "partitioning=pyarrow.dataset.partitioning(pyarrow.schema([('topic', pyarrow.string())]), flavor='hive'). ",
            id="topic of numbers",
        ),
        pytest.param(
            "topic",
            date(2026, 11, 30),
            pa.date32(),
            "got date32[day]. If the source has text, or directories such as topic=001",
            id="topic of dates",
        ),
        pytest.param(
            "client_ids",
            [b"x"],
            pa.list_(pa.binary()),
            f"column client_ids must hold strings, got binary: {CLIENTS_CAST}",
            id="client_ids",
        ),
        pytest.param(
            "brokers",
            [("b", 2.0)],
            pa.float64(),
            f"must hold integers, got double: {BROKERS_CAST} in Spark, Array.cast in pyarrow, or "
            "astype('Int64') of the numbers in pandas",
            id="brokers of doubles",
        ),
        pytest.param(
            "brokers",
            [("b", "2")],
            pa.string(),
            f"must hold integers, got string: {BROKERS_CAST} in Spark, Array.cast in pyarrow",
            id="brokers of texts",
        ),
        pytest.param(
            "brokers",
            [("b", Decimal(2))],
            pa.decimal128(9, 0),
            f"must hold integers, got decimal128(9, 0): {BROKERS_CAST}",
            id="brokers of decimals",
        ),
        pytest.param(
            "strategy",
            1,
            pa.int32(),
            "column strategy must hold strings, got int32: cast it, as in cast(strategy as string)",
            id="strategy",
        ),
        (
            "virtual_nodes",
            2.5,
            pa.float64(),
            "got double: cast it, as in cast(virtual_nodes as bigint)",
        ),
    ],
)
def test_another_type_is_refused_with_the_cast_that_corrects_it(name, value, kind, said, tmp_path):
    kind = (
        pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", kind)]))
        if name == "brokers"
        else kind
    )
    batch = HostileRow("", {name: value}, 0, types={name: kind}).batch()
    for face in FACES.values():
        with pytest.raises(TypeError) as raised:
            face(batch, tmp_path)
        assert said in str(raised.value)


@pytest.mark.parametrize("counts", [pa.array([2.5]), pa.array([Decimal(2)]), pa.array(["2"])])
def test_numbers_of_queues_are_integers(counts):
    with pytest.raises(
        TypeError,
        match=r"queues and clients must both be|cast it, as in cast\(queues as bigint\)|must be a list",
    ):
        allocate_arrays("AVG", counts, pa.array([2]))


def test_unsigned_numbers_are_read_and_bounded():
    kind = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.uint64())]))
    batch = HostileRow("", {"brokers": [("b", 4)]}, 0, types={"brokers": kind}).batch()
    assert of_table(plan_batch(batch, SPEC)) == (0, None, OF_GOOD)
    batch = HostileRow("", {"brokers": [("b", 2**64 - 1)]}, 0, types={"brokers": kind}).batch()
    code, text, _ = of_table(plan_batch(batch, SPEC))
    assert code == ErrCode.MALFORMED and text.endswith("got 18446744073709551615")
    assert of_function(allocate_arrays(**arguments(batch)))[1] == text
    answer = allocate_arrays(
        "AVG", pa.array([4, 2**64 - 1], pa.uint64()), pa.array([2, 2])
    ).to_pylist()
    assert answer[0]["owners"] == OF_GOOD
    assert (
        answer[1]["error"]
        == "the number of queues must be from 0 to 16777216, got 18446744073709551615"
    )


def test_machine_rooms_are_asked_for_where_the_spec_is_made():
    with pytest.raises(
        TypeError,
        match=r"strategy MACHINE_ROOM needs machine_rooms, as in MACHINE_ROOM\(",
    ):
        PlanSpec("MACHINE_ROOM")
    assert PlanSpec("MACHINE_ROOM(machine_rooms=hz)").params == {"machine_rooms": ["hz"]}
