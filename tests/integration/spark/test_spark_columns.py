"""The Arrow bodies of the column functions against the engine asked row by row; no Spark is
started.
"""

import numpy as np
import pyarrow as pa
import pytest
import random_units as units
from hypothesis import given
from hypothesis import strategies as st
from programs import python

from rmqalloc import Fleet, sort_client_ids, strategy
from rmqalloc.evaluation import row_owners
from rmqalloc.evaluation.movement import movement
from spark_udfs import (
    _arrow_figures as arrow_figures,
)
from spark_udfs import (
    _arrow_owners as arrow_owners,
)

QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
IDS = pa.list_(pa.string())
ROOMS = ["hz", "", "😀", "sh"]
RULES = [
    ("AVG", {}),
    ("AVG_BY_CIRCLE", {}),
    ("CONSISTENT_HASH", {}),
    ("CONSISTENT_HASH", {"virtual_nodes": 3}),
    ("CONSISTENT_HASH", {"virtual_nodes": 0}),
    ("MACHINE_ROOM", {"machine_rooms": ["hz", "😀"]}),
    ("MACHINE_ROOM", {"machine_rooms": []}),
    ("MACHINE_ROOM", {}),
]

# Arrow holds no lone surrogates; the order of the others is where Java and Python differ.
texts = st.text(st.sampled_from("a-0@é\uffff\ue000\U00010000😀"), max_size=3)
brokers = st.one_of(texts, st.sampled_from(["hz@b1", "hz@b2", "sh@b", "@b", "😀@b", "hz@b@c"]))
none = st.none()


def rows_with(entry):
    """Rows of a topic, a list of entries and a list of client ids, any of which may be missing."""
    entries = st.lists(st.one_of(entry, entry, entry, none), max_size=7)
    client_ids = st.lists(st.one_of(texts, texts, texts, none), max_size=6)
    row = st.tuples(
        st.one_of(texts, texts, none),
        st.one_of(entries, entries, none),
        st.one_of(client_ids, none),
    )
    return st.lists(row, max_size=6)


def entry(number_name, numbers):
    name = st.one_of(brokers, brokers, brokers, none)
    return st.fixed_dictionaries(
        {"broker_name": name, number_name: st.one_of(numbers, numbers, numbers, none)}
    )


explicit_rows = rows_with(entry("queue_id", st.integers(-(2**31), 2**31 - 1)))
compact_rows = rows_with(entry("read_queue_nums", st.integers(-1, 4)))


def exploded(row):
    """The row with single queues where it has brokers."""
    topic, entries, client_ids = row
    if entries is None or any(
        not e or None in e.values() or e.get("read_queue_nums", 0) < 0 for e in entries
    ):
        return topic, None, client_ids
    each = [
        range(e["read_queue_nums"]) if "read_queue_nums" in e else [e["queue_id"]] for e in entries
    ]
    return (
        topic,
        [(topic, e["broker_name"], i) for e, ids in zip(entries, each, strict=True) for i in ids],
        client_ids,
    )


def asked(row, name, params):
    """Owners of one row as the engine gives them for its group, None where it refuses the group."""
    topic, queues, client_ids = exploded(row)
    if (
        topic is None
        or not queues
        or not client_ids
        or None in client_ids
        or len(set(queues)) < len(queues)
    ):
        return None
    if name == "MACHINE_ROOM" and "machine_rooms" not in params:
        return None
    try:
        return strategy(name, **params).assign(queues, client_ids, sort=True).owners.tolist()
    except (ValueError, TypeError):
        return None


def arrays(rows, type_):
    topics, entries, client_ids = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.array(topics, pa.string()), pa.array(entries, type_), pa.array(client_ids, IDS)


def assert_answers(answer, expected):
    """Owners are as expected, and there is an error wherever there are none."""
    assert answer.field("owners").to_pylist() == expected
    errors = answer.field("error").to_pylist()
    assert [error is None for error in errors] == [owners is not None for owners in expected]


# --- Owners ---


@pytest.mark.parametrize(("name", "params"), RULES, ids=str)
@given(rows=explicit_rows)
def test_queues_go_where_the_engine_sends_them(name, params, rows):
    topic, queues, clients = arrays(rows, QUEUES)
    answer = arrow_owners.allocate_arrays(name, queues, clients, topic=topic, **params)
    assert_answers(answer, [asked(row, name, params) for row in rows])


@pytest.mark.parametrize(("name", "params"), RULES, ids=str)
@given(rows=compact_rows)
def test_brokers_stand_for_their_queues(name, params, rows):
    topic, entries, clients = arrays(rows, BROKERS)
    answer = arrow_owners.allocate_arrays(name, entries, clients, topic=topic, **params)
    assert_answers(answer, [asked(row, name, params) for row in rows])


row_parameters = st.fixed_dictionaries({
    "strategy": st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "POP", "best", None]),
    "virtual_nodes": st.sampled_from([None, 0, 2, -1, 2**31 - 1, 2**40]),
    "machine_rooms": st.one_of(none, st.lists(st.sampled_from([*ROOMS, None]), max_size=3)),
})  # fmt: skip
TAKES = {"CONSISTENT_HASH": "virtual_nodes", "MACHINE_ROOM": "machine_rooms"}


def asked_by_row(row, given):
    name = "AVG" if given["strategy"] is None else given["strategy"]
    parameter = TAKES.get(name)
    if name in ("POP", "best") or not 0 <= (given["virtual_nodes"] or 0) <= 2**16:
        return None
    params = {parameter: given[parameter]} if parameter and given[parameter] is not None else {}
    return asked(row, name, params)


@given(rows=explicit_rows, data=st.data())
def test_each_row_may_have_its_own_strategy_and_parameters(rows, data):
    given_by_row = [data.draw(row_parameters) for _ in rows]
    topic, queues, clients = arrays(rows, QUEUES)
    strategies = pa.array([each["strategy"] for each in given_by_row], pa.string())
    virtual_nodes = pa.array([each["virtual_nodes"] for each in given_by_row], pa.int64())
    machine_rooms = pa.array([each["machine_rooms"] for each in given_by_row], IDS)
    answer = arrow_owners.allocate_arrays(
        strategies, queues, clients, topic, virtual_nodes, machine_rooms
    )
    assert_answers(
        answer, [asked_by_row(row, each) for row, each in zip(rows, given_by_row, strict=True)]
    )


def test_lists_of_rooms_are_not_confused():
    entries = pa.array(
        [[{"broker_name": room + "@b", "queue_id": 0}] for room in ("a", "ab", "a", "1:a", "a")],
        QUEUES,
    )
    rooms = pa.array([["ab"], ["a", "b"], ["a", "b"], ["1:a"], None], IDS)
    clients = pa.array([["c"]] * 5, IDS)
    answer = arrow_owners.allocate_arrays("MACHINE_ROOM", entries, clients, machine_rooms=rooms)
    assert answer.field("owners").to_pylist() == [[-1], [-1], [0], [0], None]


counts = st.one_of(
    st.integers(-2, 30), st.sampled_from([None, 2**24 + 1, 2**31, -(2**63), 2**63 - 1])
)


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
@given(pairs=st.lists(st.tuples(counts, counts), max_size=8))
def test_numbers_suffice_where_no_name_is_read(name, pairs):
    numbers = [pa.array([pair[side] for pair in pairs], pa.int64()) for side in (0, 1)]

    def owners(n_queues, n_clients):
        if not all(n is not None and 0 < n <= 2**24 for n in (n_queues, n_clients)):
            return None
        return asked(
            (
                "T",
                [{"broker_name": "b", "read_queue_nums": n_queues}],
                list(map(str, range(n_clients))),
            ),
            name,
            {},
        )

    assert_answers(arrow_owners.allocate_arrays(name, *numbers), [owners(*pair) for pair in pairs])


@pytest.mark.parametrize(
    ("n_queues", "n_clients", "said"),
    [
        (0, 3, "mqAll is null or mqAll empty"),
        (3, 0, "cidAll is null or cidAll empty"),
        (None, 3, "number of queues must be from 0 to 16777216, got null"),
        (3, -1, "number of clients must be from 0 to 16777216, got -1"),
        (2**24 + 1, 3, "got 16777217"),
    ],
)
def test_errors_of_numbers(n_queues, n_clients, said):
    answer = arrow_owners.allocate_arrays(
        "AVG", pa.array([n_queues, 1], pa.int64()), pa.array([n_clients, 1])
    )
    assert said in answer.field("error")[0].as_py()
    assert answer.field("owners").to_pylist() == [None, [0]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("CONSISTENT_HASH", "strategy CONSISTENT_HASH reads the topic of a queue: give topic"),
        pytest.param(
            "MACHINE_ROOM",
            "strategy MACHINE_ROOM reads names: give queues and clients, not their numbers",
            id="MACHINE_ROOM",
        ),
        ("CONFIG", "the lists of CONFIG are not known"),
        ("best", "unknown strategy 'best'; known are AVG"),
    ],
)
def test_a_strategy_that_cannot_be_used_is_an_error_of_its_rows(name, said):
    params = {"CONFIG": {"message_queues": []}, "MACHINE_ROOM": {"machine_rooms": ["hz"]}}.get(
        name, {}
    )
    error = (
        arrow_owners.allocate_arrays(name, pa.array([3]), pa.array([2]), **params)
        .field("error")[0]
        .as_py()
    )
    assert said in error


def test_a_row_cannot_ask_for_all_the_memory_there_is():
    queues, clients = pa.array([[("b", 2**24), ("b", 1)]] * 2, BROKERS), pa.array([["c"]] * 2, IDS)
    assert (
        "at most 16777216 can be planned"
        in arrow_owners.allocate_arrays("AVG", queues, clients).field("error")[1].as_py()
    )
    explicit = pa.array([[("b", 1)]], QUEUES), pa.array([["c"]], IDS), pa.array(["T"])
    error = arrow_owners.allocate_arrays(
        pa.array(["CONSISTENT_HASH"]), *explicit, pa.array([2**30])
    ).field("error")[0]
    assert error.as_py() == "virtual_nodes must be from 0 to 65536, got 1073741824"


def test_very_many_queues_are_worked_on_in_pieces(monkeypatch):
    table = units.synthetic(60, seed=3)
    topic, entries, clients = (
        table.column(name).combine_chunks() for name in ("topic", "brokers", "client_ids")
    )
    numbers = pa.array([3, 0, None, 9, 40]), pa.array([2, 2, 2, 4, 7])

    def answers():
        lists = (
            arrow_owners.allocate_arrays("CONSISTENT_HASH", entries, clients, topic=topic)
            .field("owners")
            .to_pylist()
        )
        return lists, arrow_owners.allocate_arrays("AVG", *numbers).field("owners").to_pylist()

    whole, sizes = answers(), []
    read_batch = row_owners.read_batch
    monkeypatch.setattr(row_owners, "MAX_QUEUES_PER_BATCH", 40)
    monkeypatch.setattr(
        row_owners,
        "read_batch",
        lambda piece, *of: sizes.append(piece.num_rows) or read_batch(piece, *of),
    )
    in_pieces = answers()
    assert in_pieces[1] == whole[1]
    assert in_pieces[0] == [owners if len(owners) <= 40 else None for owners in whole[0]]
    assert len(sizes) > 1 and sum(sizes) <= 60


def test_arrays_may_be_sliced_and_of_the_wide_types():
    table = units.synthetic(40, seed=5)
    topic, entries, clients = (
        table.column(name).combine_chunks() for name in ("topic", "brokers", "client_ids")
    )
    expected = (
        arrow_owners.allocate_arrays("CONSISTENT_HASH", entries, clients, topic=topic)
        .field("owners")
        .to_pylist()
    )
    sliced = [array.slice(7, 20) for array in (entries, clients, topic)]
    assert (
        arrow_owners.allocate_arrays("CONSISTENT_HASH", *sliced).field("owners").to_pylist()
        == expected[7:27]
    )
    entry_type = pa.struct([("broker_name", pa.large_string()), ("read_queue_nums", pa.int32())])
    wide = [entries.cast(pa.large_list(entry_type)), clients.cast(pa.large_list(pa.large_string()))]
    answer = arrow_owners.allocate_arrays(
        "CONSISTENT_HASH", *wide, topic=topic.cast(pa.large_string())
    )
    assert answer.field("owners").to_pylist() == expected


def test_a_null_without_a_type_is_a_null():
    answer = arrow_owners.owners(
        pa.array(["AVG"]), pa.nulls(1), pa.array([["c"]], IDS), virtual_nodes=pa.nulls(1)
    )
    assert answer.to_pylist() == [None]
    assert arrow_owners.owners(pa.nulls(1), pa.array([3]), pa.array([2])).to_pylist() == [[0, 0, 1]]
    assert arrow_figures.assignment_metrics(pa.nulls(1), pa.nulls(1)).to_pylist() == [None]
    assert arrow_figures.moved(pa.nulls(1), pa.nulls(1), pa.nulls(1), pa.nulls(1)).to_pylist() == [
        None
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(
            lambda: arrow_owners.allocate_arrays("AVG", pa.array(["q"]), pa.array([["c"]])),
            "column queues must be a list",
            id="queues of texts",
        ),
        pytest.param(
            lambda: arrow_owners.allocate_arrays("AVG", pa.array([[1]]), pa.array([["c"]])),
            "must be a list of struct<broker_name",
            id="queues of lists of numbers",
        ),
        pytest.param(
            lambda: arrow_owners.allocate_arrays("AVG", pa.array([3]), pa.array([["c"]])),
            "both be lists or both be numbers, got int64",
            id="a number and a list",
        ),
        pytest.param(
            lambda: arrow_figures.assignment_metrics(pa.array([1]), pa.array([1])),
            "owners must be lists of integers, got int64",
            id="owners of numbers",
        ),
        pytest.param(
            lambda: arrow_figures.assignment_metrics(pa.array([[1]]), pa.array([1.0])),
            "column n_clients must hold numbers or lists",
            id="n_clients of doubles",
        ),
        pytest.param(
            lambda: arrow_figures.moved(*[pa.array([[0]]), pa.array(["c"])] * 2),
            "clients must be lists of strings or numbers",
            id="clients of texts",
        ),
        pytest.param(
            lambda: arrow_figures.moved(
                pa.array([[0]]), pa.array([["c"]]), pa.array([[0]]), pa.array([1])
            ),
            "lists on both sides or numbers on both",
            id="lists and numbers",
        ),
    ],
)
def test_a_column_of_the_wrong_type_is_refused(call, said):
    with pytest.raises(TypeError, match=said):
        call()


# --- Figures ---

owner_lists = st.one_of(
    none, st.lists(st.one_of(st.integers(-2, 4), none), max_size=8), st.lists(st.integers(0, 3))
)


def metrics_of(owners, n_clients):
    """The figures, counted one by one."""
    if (
        owners is None
        or n_clients is None
        or n_clients < 0
        or any(o is None or o >= n_clients for o in owners)
    ):
        return None
    loads = [owners.count(client) for client in range(n_clients)]
    most, mean = max(loads, default=0), len(owners) / n_clients if n_clients else 0.0
    return {
        "n_queues": len(owners),
        "n_clients": n_clients,
        "idle": loads.count(0),
        "unowned": sum(owner < 0 for owner in owners),
        "min_load": min(loads, default=0),
        "mean_load": mean,
        "max_load": most,
        "skew": most / mean if most else 0.0,
    }


@given(rows=st.lists(st.tuples(owner_lists, st.one_of(none, st.integers(-1, 5))), max_size=8))
def test_metrics_are_what_one_counts(rows):
    owners, n_clients = (
        pa.array([row[0] for row in rows], pa.list_(pa.int32())),
        pa.array([row[1] for row in rows]),
    )
    got = arrow_figures.assignment_metrics(owners, n_clients.cast(pa.int32())).to_pylist()
    assert got == [
        want and {**want, "skew": pytest.approx(want["skew"])}
        for want in (metrics_of(*row) for row in rows)
    ]


@st.composite
def changes(draw):
    """Owners of some queues among two lists of clients; now and then something does not fit."""
    sides = []
    n_queues = draw(st.integers(0, 8))
    for _ in range(2):
        ids = draw(st.lists(texts.filter(bool), max_size=5))
        length = draw(st.sampled_from([n_queues] * 9 + [n_queues + 1]))
        owners = draw(st.lists(st.integers(-1, len(ids) - 1), min_size=length, max_size=length))
        sides += [owners, [*ids, *draw(st.sampled_from([[]] * 9 + [[None]]))]]
    if draw(st.integers(0, 9)) == 0:
        sides[draw(st.integers(0, 3))] = None
    return sides


def moves_of(before, ids_before, after, ids_after):
    """Moved queues counted one by one; None for what does not fit."""
    if (
        None in (before, ids_before, after, ids_after)
        or len(before) != len(after)
        or None in ids_before + ids_after
    ):
        return None
    named = [[*sort_client_ids(ids), None] for ids in (ids_before, ids_after)]
    return sum(named[0][b] != named[1][a] for b, a in zip(before, after, strict=True))


@given(rows=st.lists(changes(), max_size=6))
def test_moved_is_what_one_counts(rows):
    kinds = [pa.list_(pa.int32()), IDS] * 2
    sides = [pa.array([row[side] for row in rows], kind) for side, kind in enumerate(kinds)]
    assert arrow_figures.moved(*sides).to_pylist() == [moves_of(*row) for row in rows]


@given(rows=st.lists(changes(), max_size=6))
def test_least_moves_are_those_of_a_fleet(rows):
    def least(before, ids_before, after, ids_after):
        distinct = all(len({*ids}) == len(ids) for ids in (ids_before or [], ids_after or []))
        if moves_of(before, ids_before, after, ids_after) is None or not distinct:
            return None
        queues = [("b", i) for i in range(len(before))]
        pair = [
            Fleet.from_groups([("g", "T", queues, ids)]).sorted() for ids in (ids_before, ids_after)
        ]
        owners = [np.array(side, np.int32) for side in (before, after)]
        return int(movement(pair[0], owners[0], pair[1], owners[1]).least_moves[0])

    sides = [
        pa.array([row[side] for row in rows], [pa.list_(pa.int32()), IDS][side % 2])
        for side in range(4)
    ]
    assert arrow_figures.least_moves(*sides).to_pylist() == [least(*row) for row in rows]


def test_numbers_of_clients_are_clients_by_position():
    before, after = (
        pa.array([[0, 1, 2], [0, 1, 2], [0], [0]]),
        pa.array([[0, 1, 1], [0, 2, 2], [0], [0]]),
    )
    n_before, n_after = pa.array([3, 3, None, 1]), pa.array([2, 12, 1, 2**30])
    assert arrow_figures.moved(before, n_before, after, n_after).to_pylist() == [1, 1, None, None]
    assert arrow_figures.least_moves(before, n_before, after, n_after).to_pylist() == [
        1,
        0,
        None,
        None,
    ]


# --- Without PySpark ---


def test_the_package_opens_without_pyspark_and_says_what_is_missing():
    script = """
import sys
sys.modules["pyspark"] = None  # importing it fails
import spark_udfs._arrow_owners, spark_udfs._arrow_figures
try:
    spark_udfs.register_all
except ModuleNotFoundError as error:
    print(error)
print(hasattr(spark_udfs, "nothing_of_the_kind"))
"""
    done = python("-c", script)
    said = 'pyspark is not installed: install rmqalloc with the extra [spark], or pip install "pyspark"'
    assert (done.stdout.splitlines(), done.stderr) == ([said, "False"], "")


def test_a_list_of_the_most_owners_is_read_and_a_longer_one_is_null(monkeypatch):
    monkeypatch.setattr(arrow_figures, "MAX_OF_ROW", 3)
    metrics = arrow_figures.assignment_metrics(
        pa.array([[0] * 3, [0] * 4]), pa.array([1, 1])
    ).to_pylist()
    assert [row and row["n_queues"] for row in metrics] == [3, None]
