"""Names repeat for every queue and every state, so results are cut by their bytes; what cannot be
cut has a bad row, and the other rows come.
"""

import numpy as np
import pyarrow as pa
import pytest
import random_units as units

from rmqalloc.evaluation import batch_sizes
from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.batch_sizes import MAX_TEXT_OF_COLUMN, Sizes
from rmqalloc.evaluation.expand import (
    client_load,
    expand_owners,
    expand_stream,
    load_stream,
    sum_loads,
)
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.evaluation.worst import MAX_NAME, worst_of
from rmqalloc.fleet.arrow_columns import text_lengths
from rmqalloc.scenarios import scenarios_of
from spark_udfs._named_owners import by_name, owners, try_allocate, try_owners

TRIED = [
    {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "one more", "changes": [{"add_clients": {"count": 1}}]},
]
SPEC = PlanSpec("AVG", scenarios=TRIED)


def batch_of(*rows):
    return pa.RecordBatch.from_pylist(list(rows))


def bytes_of(batch):
    """Return the bytes of all texts of every row, but for RocketMQ's names of strategies."""
    names = [field.name for field in batch.schema if field.type == pa.string()]
    texts = [batch.column(name) for name in names if name != "strategy"]
    return sum(map(text_lengths, texts), np.zeros(batch.num_rows, np.int64))


def many():
    """Good and bad units, sliced out of a longer batch."""
    batch, _ = units.mixed()
    return pa.concat_batches([batch, batch]).slice(3, batch.num_rows)


STREAMS = {
    "owners of queues": (expand_owners, expand_stream),
    "loads of clients": (client_load, load_stream),
    "plans": (plan_batch, plan_stream),
    "best plans": (plan_batch, plan_stream),
}


@pytest.mark.parametrize("most", [1, 70, 300])
@pytest.mark.parametrize("what", STREAMS)
def test_pieces_within_the_bound_are_the_whole_together(what, most):
    whole, stream = STREAMS[what]
    spec = PlanSpec("AVG", scenarios=TRIED, output="best" if what == "best plans" else "metrics")
    batch = many()
    made = list(stream([batch], spec, most_bytes=most))
    assert len(made) > 1
    assert all(piece.num_rows == 1 or bytes_of(piece).sum() <= most for piece in made)
    expected = whole(batch, spec)
    assert pa.Table.from_batches(made).equals(pa.Table.from_batches([expected]))


def test_a_piece_may_be_exactly_at_the_bound():
    batch = batch_of(units.row(brokers=[("b", 4)], client_ids=["c" * 40, "d" * 40]))
    whole = expand_owners(batch, PlanSpec("AVG"))
    n_bytes = int(bytes_of(whole).sum())
    sizes = [
        [piece.num_rows for piece in expand_stream([batch], PlanSpec("AVG"), most_bytes=most)]
        for most in (n_bytes, n_bytes - 1)
    ]
    assert sizes == [[4], [3, 1]]


def test_names_that_nobody_picks_do_not_count():
    rows = [units.row(brokers=[("b", 3)], client_ids=["c"]) for _ in range(3)]
    long = units.row(brokers=[("b", 1)], client_ids=["c" * 500])
    made = [
        piece.num_rows
        for piece in expand_stream([batch_of(*rows, long)], PlanSpec("AVG"), most_bytes=510)
    ]
    assert made == [9, 1]


def test_the_queues_of_one_unit_come_in_several_pieces_with_what_is_carried():
    batch = batch_of(units.row(client_ids=["c" * 300, "d" * 300]) | {"region": "eu"})
    made = list(expand_stream([batch], PlanSpec("AVG"), carry=["region"], most_bytes=700))
    assert [piece.num_rows for piece in made] == [2, 2, 1]
    assert {region for piece in made for region in piece.column("region").to_pylist()} == {"eu"}
    planned = list(plan_stream([batch], SPEC, carry=["region"], most_bytes=1))
    assert [piece.column("region").to_pylist() for piece in planned] == [["eu"]] * 3


def test_results_in_one_batch_say_which_function_cuts(monkeypatch):
    monkeypatch.setattr("rmqalloc.evaluation.expand.MAX_TEXT_OF_COLUMN", 100)
    monkeypatch.setattr("rmqalloc.evaluation.batch_planning.MAX_TEXT_OF_COLUMN", 100)
    for function, stream in STREAMS.values():
        words = f"the names repeat too often for one batch: use {stream.__name__}, which divides"
        with pytest.raises(ValueError, match=words):
            function(many(), SPEC)


# --- What is read ---


@pytest.mark.parametrize("form", ["brokers", "queues"])
def test_rows_count_the_names_that_they_read_in_all_states(monkeypatch, form):
    monkeypatch.setattr(batch_sizes, "MAX_NAME_BYTES", 10)
    batch = batch_of(units.row("gg"), units.row(client_ids=None), units.row(client_ids=["ü"]))
    batch = units.exploded(batch) if form == "queues" else batch
    brokers = 2 * 2 if form == "brokers" else 2 * 5
    read = [3 + brokers + 7, 2 + brokers, 2 + brokers + 2]
    assert Sizes.of(batch, ()).names.tolist() == read
    assert Sizes.of(batch.slice(1, 2), ()).names.tolist() == read[1:]
    changes = [
        {"add_broker": {"broker_name": "bbb", "read_queue_nums": 1}},
        {"add_clients": {"ids": ["üü"]}},
        {"scale_clients": {"to": 5, "name": "x{n}"}},
    ]
    tried = scenarios_of([{"name": "s", "changes": changes}])
    assert Sizes.of(batch, tried).names.tolist() == read
    added = 3 + 4 + 5 * (len("x{n}") + 6)
    assert Sizes.of(batch, tried, with_names=True).names.tolist() == [
        2 * size + added for size in read
    ]
    monkeypatch.setattr(batch_sizes, "MAX_NAME_BYTES", 1 << 20)
    assert Sizes.of(batch, tried, with_names=True).names.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("edge", "cuts"), [(0, [(0, 2), (2, 3)]), (1, [(0, 1), (1, 2), (2, 3)])])
def test_rows_are_cut_by_the_names_that_they_read(monkeypatch, edge, cuts):
    monkeypatch.setattr(batch_sizes, "MAX_NAME_BYTES", 10)
    none = np.zeros(3, np.int64)
    sizes = Sizes(none, none, none, np.array([5, 5 + edge, 6]))
    assert [*sizes.pieces(8, False, 1)] == cuts


def test_a_row_with_more_names_than_a_column_holds_is_too_large_and_counts_nothing(monkeypatch):
    none = np.zeros(3, np.int64)
    at_edge = MAX_TEXT_OF_COLUMN + np.array([-1, 0, 1])
    assert [*Sizes(none, none, none, at_edge).too_large(8)] == [2]
    monkeypatch.setattr(batch_sizes, "MAX_NAME_BYTES", 8)
    monkeypatch.setattr(batch_sizes, "MAX_TEXT_OF_COLUMN", 1200)
    large = units.row(client_ids=["c" * 1000, "d" * 1000])
    rows = batch_of(units.row(), large, units.row())
    for made in (plan_stream([rows], PlanSpec("AVG")), expand_stream([rows], PlanSpec("AVG"))):
        found = pa.Table.from_batches(made).to_pylist()
        [bad] = [row for row in found if row["err_code"]]
        assert bad["err_code"] == ErrCode.TOO_LARGE
        assert bad["err_msg"] == (
            "the unit may have 2006 bytes of names in all scenarios together; at most 1200 can be planned"
        )


def test_loads_of_pieces_add_up():
    batch = many()
    whole = sum_loads([client_load(batch, SPEC)])
    assert sum_loads(load_stream([batch], SPEC, most_bytes=50)).equals(whole)


# --- Columns: one value per row, all of a batch in one array ---


BROKERS = pa.array(
    [[{"broker_name": "b", "read_queue_nums": n}] for n in (0, 4, 2, 8, 2, 0)]
).slice(1, 5)
IDS = pa.array([["0"], ["c" * 9], ["d" * 9, "d"], ["e" * 9], ["f" * 9], ["g"]]).slice(1, 5)
# The names of the rows take 40, 20 - 8, 80 and 20 bytes; the last row is bad.


@pytest.mark.parametrize(
    ("most", "fits"),
    [
        (152, [1, 1, 1, 1, 0]),
        (151, [1, 1, 1, 0, 0]),
        (132, [1, 1, 1, 0, 0]),
        (131, [1, 1, 0, 1, 0]),
        (72, [1, 1, 0, 1, 0]),
        (71, [1, 1, 0, 0, 0]),
        (39, [0, 1, 0, 1, 0]),
        (0, [0, 0, 0, 0, 0]),
    ],
)
def test_rows_that_do_not_fit_are_null_and_the_others_come(most, fits):
    positions = try_allocate("AVG", BROKERS, IDS)
    whole = try_owners("AVG", BROKERS, IDS).to_pylist()
    made = by_name(BROKERS, IDS, positions, most_bytes=most)
    made.validate(full=True)
    assert made.to_pylist() == [row if fit else None for row, fit in zip(whole, fits, strict=True)]


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (
            131,
            r"row 3 of 4 in its batch: the names of its owners take 80 bytes, those of all rows 152, and a batch holds at "
            r"most 131: lower spark.sql.execution.arrow.maxRecordsPerBatch, or use expand_owners",
        ),
        (39, r"row 1 of 4 .* take 40 bytes, and one value holds at most 39; expand_owners returns"),
    ],
)
def test_strict_owners_say_which_row_does_not_fit(most, words):
    brokers, ids = BROKERS.slice(0, 4), IDS.slice(0, 4)
    positions = try_allocate("AVG", brokers, ids)
    assert by_name(brokers, ids, positions, strict=True, most_bytes=152).null_count == 0
    with pytest.raises(ValueError, match=words):
        by_name(brokers, ids, positions, strict=True, most_bytes=most)


def test_owners_of_more_than_a_column_holds_are_refused_before_they_are_made():
    ids = ["a" * 60_000, "b" * 60_000]
    brokers = pa.array([[{"broker_name": "b", "read_queue_nums": 40_000}]])
    with pytest.raises(ValueError, match="take 2,400,040,000 bytes, and one value holds at most"):
        owners("AVG", brokers, pa.array([ids]))
    both = try_owners(
        "AVG", pa.concat_arrays([brokers, BROKERS]), pa.array([ids, *IDS.to_pylist()])
    )
    assert [row is None for row in both.to_pylist()] == [True, False, False, False, False, True]


# --- Summaries ---


@pytest.mark.parametrize(("n", "is_cut"), [(MAX_NAME, False), (MAX_NAME + 1, True)])
def test_the_worst_groups_have_names_of_bounded_length(n, is_cut):
    names = ["ü" * n, "short"]
    rows = [
        {"consumer_group": name, "topic": name, "scenario": "current", "moved": 1, "err_code": 0}
        for name in names
    ]
    batch = pa.RecordBatch.from_pylist([*rows, dict.fromkeys(rows[0])], PLAN_SCHEMA)
    found = worst_of([batch], PlanSpec("AVG", best_by=("moved",)), 5)["current"]
    assert found[0]["consumer_group"] == "short"
    assert ("…" in found[1]["consumer_group"], "…" in found[1]["topic"]) == (is_cut, is_cut)
    assert len(found[1]["consumer_group"]) == MAX_NAME
