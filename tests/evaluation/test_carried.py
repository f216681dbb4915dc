"""Columns that a plan does not read stand beside its rows, whatever their type, and however often
they repeat.
"""

import pyarrow as pa
import pytest
import random_units as units

from rmqalloc.evaluation import carried
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.expand import OWNED_SCHEMA, expand_stream

TRIED = [
    {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "one more", "changes": [{"add_clients": {"count": 1}}]},
]
TAGS = pa.map_(pa.string(), pa.list_(pa.int8()))


def noted():
    """Good and bad units with a number and a map of each."""
    batch, _ = units.mixed()
    n = batch.num_rows
    tags = [None if row % 3 == 0 else [("row", [row, None])] for row in range(n)]
    return batch.append_column("row_id", pa.array(range(n))).append_column(
        "tags", pa.array(tags, TAGS)
    )


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_every_row_has_the_values_of_its_unit(output):
    batch, spec = noted(), PlanSpec("AVG", scenarios=TRIED, output=output)
    made = plan_batch(batch, spec, ["tags", "row_id"])
    assert made.select(spec.schema.names).equals(plan_batch(batch, spec))
    assert made.schema == pa.schema(
        [*spec.schema, pa.field("tags", TAGS), pa.field("row_id", pa.int64())]
    )
    n_rows = 1 if output == "best" else 3
    own = [row for row in range(batch.num_rows) for _ in range(n_rows)]
    assert made.column("row_id").to_pylist() == own
    assert made.column("tags").equals(batch.column("tags").take(pa.array(own)))
    bad = [row for row, code in zip(own, made.column("err_code").to_pylist(), strict=True) if code]
    assert bad, "bad rows keep theirs"


def test_every_queue_has_the_values_of_its_unit():
    batch, spec = noted(), PlanSpec("AVG", scenarios=TRIED)
    made = pa.Table.from_batches(expand_stream([batch], spec, carry=["row_id"]))
    assert made.schema.names == [*OWNED_SCHEMA.names, "row_id"]
    names = dict(
        zip(*(batch.column(name).to_pylist() for name in ("row_id", "consumer_group")), strict=True)
    )
    assert {row["row_id"] for row in made.to_pylist()} == set(names)
    assert all(
        row["consumer_group"] == names[row["row_id"]]
        for row in made.to_pylist()
        if row["err_code"] == 0
    )


def test_values_that_repeat_are_put_out_in_pieces(monkeypatch):
    monkeypatch.setattr(carried, "MAX_CARRIED_BYTES", 600)
    batch, spec = noted(), PlanSpec("AVG", scenarios=TRIED)
    fat = batch.append_column(
        "note", pa.array(["x" * (1000 if row == 2 else 10) for row in range(batch.num_rows)])
    )
    made = list(plan_stream([fat], spec, carry=["row_id", "note"]))
    assert max(piece.num_rows for piece in made) > 1
    fat_pieces = [piece for piece in made if 2 in piece.column("row_id").to_pylist()]
    assert [piece.num_rows for piece in fat_pieces] == [1, 1, 1]
    whole = pa.Table.from_batches(made)
    assert whole.drop_columns("note").equals(
        pa.Table.from_batches(plan_stream([batch], spec, carry=["row_id"]))
    )
    with pytest.raises(ValueError, match="repeat too often for one batch: use plan_stream"):
        plan_batch(fat, spec, ["note"])


def test_batches_cut_by_queues_and_empty_ones_keep_them():
    batch, spec = noted(), PlanSpec("AVG", scenarios=TRIED, output="owners")
    cut = list(plan_stream([batch, batch.slice(0, 0)], spec, max_queues=60, carry=["row_id"]))
    assert len(cut) > 2
    assert [row for piece in cut for row in piece.column("row_id").to_pylist()] == [
        row for row in range(batch.num_rows) for _ in range(3)
    ]
    assert cut[-1].num_rows == 0
    assert cut[-1].schema == cut[0].schema


@pytest.mark.parametrize("name", ["scenario", "Err_Msg"])
def test_a_name_of_the_plan_cannot_be_carried(name):
    batch = noted().append_column(name, pa.nulls(noted().num_rows))
    with pytest.raises(
        ValueError,
        match=f"has a column {name.lower()} of its own, so {name} cannot be carried: rename it",
    ):
        next(plan_stream([batch], PlanSpec("AVG"), carry=[name]))
    with pytest.raises(ValueError, match=f"so {name} cannot be carried"):
        plan_batch(batch, PlanSpec("AVG"), [name])
    with pytest.raises(KeyError, match="nothing"):
        plan_batch(batch, PlanSpec("AVG"), ["nothing"])
