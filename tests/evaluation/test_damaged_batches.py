"""Batches whose buffers do not hold what their offsets say, and kinds of text that Arrow knows
half: an error, not a crash.
"""

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc.evaluation import PlanSpec, client_load, expand_owners, plan_batch, plan_stream

NUMBERS = pa.array([0, 1, 1, 2], pa.int8())


def damaged(kind, offsets, values):
    return pa.Array.from_buffers(
        kind, len(offsets) - 1, [None, pa.py_buffer(np.array(offsets, np.int32))], children=[values]
    )


def text(offsets, data=b"g0g1g2g3"):
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def dictionary(indices):
    made = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int32()), pa.array(["T", "U"]))
    buffers = [None, pa.py_buffer(np.array(indices, np.int32))]
    return pa.DictionaryArray.from_buffers(made.type, 4, buffers, made.dictionary)


GOOD = pa.RecordBatch.from_pylist(
    [
        {
            "consumer_group": f"g{i}",
            "topic": "T",
            "client_ids": ["a@1", "b@2"][: 1 + i % 2],
            "brokers": [{"broker_name": f"b{k}", "read_queue_nums": 1 + i} for k in range(2)],
        }
        for i in range(4)
    ]
)
DAMAGED = {
    "consumer_group": text([0, 2, 2**30, 6, 8]),
    "topic": dictionary([0, 1, 2**30, 1]),
    "client_ids": damaged(pa.list_(pa.string()), [0, 1, -(2**31), 2, 2], pa.array(["a", "b"])),
    "brokers": damaged(
        GOOD.column("brokers").type, [0, 2, 2**30, 6, 8], GOOD.column("brokers").values
    ),
    "other": damaged(
        pa.list_(pa.list_(pa.int8())),
        [0, 1, 1, 1, 1],
        damaged(pa.list_(pa.int8()), [0, 2**30, 4], NUMBERS),
    ),
    "wrapped": pa.StructArray.from_arrays([text([0, 2, 2**30, 6, 8])], ["text"]),
}
SPEC = PlanSpec("AVG", scenarios=[{"name": "less", "changes": [{"remove_clients": {"count": 1}}]}])


@pytest.mark.parametrize("name", DAMAGED)
def test_batches_whose_offsets_lead_out_of_their_buffers_are_refused(name):
    batch = GOOD.drop_columns([name]) if name in GOOD.schema.names else GOOD
    batch = batch.append_column(name, DAMAGED[name])
    faces = (
        plan_batch,
        expand_owners,
        client_load,
        lambda batch, spec: list(plan_stream([batch], spec, max_queues=1)),
    )
    for face in faces:
        with pytest.raises(
            ValueError,
            match=rf"column {name} (is damaged|do not fit)|offsets of column {name} do not fit",
        ):
            face(batch, SPEC)


def test_rows_that_are_too_large_are_left_out_of_text_of_every_kind():
    views = GOOD.set_column(
        0, "consumer_group", GOOD.column("consumer_group").cast(pa.string_view())
    )
    plain, found = (list(plan_stream([batch], SPEC, max_queues=3)) for batch in (GOOD, views))
    assert [piece.to_pylist() for piece in found] == [piece.to_pylist() for piece in plain]
    assert {row["err_code"] for piece in found for row in piece.to_pylist()} != {0}


RUNS = pa.RunEndEncodedArray.from_arrays(
    pa.array([2, 4], pa.int32()), pa.array(["a", "b"], pa.string_view())
)


@pytest.mark.parametrize(
    "note",
    [
        pa.array(["a", "b", None, "d"], pa.string_view()),
        pa.array([[["a"]], [], None, [["d"]]], pa.list_(pa.list_view(pa.string_view()))),
        pa.array([{"x": "a"}, None, {"x": None}, {"x": "d"}], pa.struct([("x", pa.string_view())])),
        RUNS,
    ],
    ids=["texts", "lists", "structs", "runs"],
)
def test_columns_are_carried_that_arrow_itself_cannot_repeat(note):
    planned = plan_batch(GOOD.append_column("note", note), SPEC, carry=["note"])
    assert planned["note"].type == note.type
    assert planned["note"].to_pylist() == [value for value in note.to_pylist() for _ in SPEC.names]


@pytest.mark.parametrize("most", [2**63, 2**70, -1, -(2**80)])
def test_pieces_may_hold_any_number_of_queues(most):
    made = list(plan_stream([GOOD], SPEC, max_queues=most))
    assert sum(piece.num_rows for piece in made) == 8
