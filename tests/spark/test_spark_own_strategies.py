"""Strategies that RocketMQ does not ship, on Arrow arrays as Spark's workers get them."""

import pyarrow as pa
import pytest

from rmqalloc import MessageQueue, strategy
from spark_udfs import _arrow_owners as arrow_owners

IDS = ["c1@gray", "c2", "c3", "c4"]
QUEUES = [MessageQueue("orders", "b", i) for i in range(7)]
LISTS = pa.array([[{"broker_name": "b", "queue_id": i} for i in range(7)]]), pa.array([IDS])


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ROTATED", {}),
        ("ROTATED/1-CONSISTENT_HASH", {"virtual_nodes": 3}),
        ("CONSISTENT_HASH_BOUNDED", {"virtual_nodes": 2}),
        ("CANARY-ROTATED-AVG", {"share": "0.5"}),
        ("WEIGHTED", {}),
    ],
)
def test_a_name_is_enough(name, params):
    expected = strategy(name, **params).assign(QUEUES, IDS).owners.tolist()
    for given in (name, pa.array([name])):
        found = arrow_owners.allocate_arrays(given, *LISTS, topic=pa.array(["orders"]), **params)
        assert found.to_pylist() == [{"owners": expected, "error": None}]


def test_what_is_missing_is_said():
    [row] = arrow_owners.allocate_arrays("ROTATED-AVG", *LISTS).to_pylist()
    assert row["error"] == "strategy ROTATED-AVG reads the topic of a queue: give topic"
    [row] = arrow_owners.allocate_arrays("ROTATED/2", *LISTS).to_pylist()
    assert row["error"] == "unknown version of strategy ROTATED: ROTATED/2; known is ROTATED/1"
