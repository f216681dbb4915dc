"""Rows to plan, and how two plans of them are compared."""

import pyarrow as pa
import pytest

TEXT = pa.list_(pa.string())


COLUMNS = {
    "consumer_group": pa.string(),
    "topic": pa.string(),
    "brokers": pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())])),
    "queues": pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())])),
    "client_ids": TEXT,
    "broker_rooms": TEXT,
    "client_rooms": TEXT,
    "strategy": pa.string(),
    "virtual_nodes": pa.int64(),
}


def batch_of(rows, *names):
    """Rows as a batch of the columns that the first one has, and those named."""
    schema = pa.schema(
        [(name, kind) for name, kind in COLUMNS.items() if name in rows[0] or name in names]
    )
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def assert_same(got, wanted):
    """Rows of the kernel are those of the twin; codes are looked at elsewhere."""
    assert len(got) == len(wanted)
    for row, want in zip(got, wanted, strict=True):
        code = row.pop("err_code")
        assert (code == 0) == (row["err_msg"] is None)
        want = {name: want[name] for name in row}
        for name in ("skew", "mean_load"):
            assert row.pop(name) == pytest.approx(want.pop(name))
        assert row == want


def good_row(**more):
    brokers = [
        {"broker_name": "b", "read_queue_nums": 3},
        {"broker_name": "a", "read_queue_nums": 2},
    ]
    return {
        "consumer_group": "g",
        "topic": "T",
        "brokers": brokers,
        "client_ids": ["c2", "c1"],
        **more,
    }
