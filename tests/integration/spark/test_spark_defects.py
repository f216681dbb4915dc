"""A defect of rmqalloc is no fault of a row: it fails the task. No Spark is started."""

import json

import pyarrow as pa
import pytest
from planted import KINDS, SAID, planted, reached

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.evaluation import PlanSpec, plan_batch
from spark_udfs._arrow_owners import allocate_arrays
from spark_udfs.job._on_worker import _WorkerCall
from spark_udfs.job._spark_errors import JobError

UNITS = pa.RecordBatch.from_pylist(
    [
        {
            "consumer_group": f"g{i}",
            "topic": "t",
            "brokers": [{"broker_name": "b", "read_queue_nums": 4}],
            "client_ids": ["x", "y"],
            "strategy": name,
            "strategy_params": '{"virtual_nodes": 2}' if name == "CONSISTENT_HASH" else None,
        }
        for i, name in enumerate(["AVG", "CONSISTENT_HASH", "none"])
    ]
)
QUEUES = pa.array([[{"broker_name": "b", "queue_id": 0}]])


def rows_of_functions():
    named = allocate_arrays(
        pa.array(["AVG", "none"]), pa.concat_arrays([QUEUES] * 2), pa.array([["x"], ["y"]])
    )
    return named, allocate_arrays("AVG", pa.array([4]), pa.array([3]))


ROWS = {
    "functions": rows_of_functions,
    "transforms": lambda: plan_batch(UNITS, PlanSpec("AVG")),
}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("rows", ROWS)
def test_a_planted_defect_is_raised_and_no_error_of_a_row(rows):
    run = ROWS[rows]
    run()
    names = [*reached(run, "spark_udfs"), *reached(run, "rmqalloc")]
    assert len(names) > 5
    for i, name in enumerate(names):
        kind = KINDS[i % len(KINDS)]
        with pytest.raises(kind, match=SAID):
            planted(run, name, kind)


def failing(kind):
    raise {one.__name__: one for one in (*KINDS, *TOLD)}[kind](SAID)


TOLD = {
    ArgumentError: "ArgumentError",
    ArgumentTypeError: "ArgumentTypeError",
    JobError: "Error",
    FileNotFoundError: "FileNotFoundError",
    IsADirectoryError: "OSError",
}
"""Errors of a worker, and as which class each is raised where the job runs."""


def test_a_worker_tells_of_failures_and_fails_by_a_defect():
    for kind, told in TOLD.items():
        [batch] = _WorkerCall(failing, (kind.__name__,))([])
        assert json.loads(batch["answer"][0].as_py()) == {"error": told, "message": SAID}
    for kind in KINDS:
        with pytest.raises(kind, match=SAID) as raised:
            list(_WorkerCall(failing, (kind.__name__,))([]))
        assert not isinstance(raised.value, Error)
