"""What runs in a Python worker: Arrow record batches in and out. Imports no pyspark."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from rmqalloc import Fleet, strategy
from rmqalloc.whatif.batch import assign_batches

ASSIGNED_DDL = (
    "consumer_group string, topic string, n_queues int, n_clients int, owners array<int>, "
    "unowned int, idle int, min_load int, max_load int, skew double, error string"
)
"""`rmqalloc.whatif.batch.ASSIGNED_SCHEMA` in Spark's words."""


class AssignBatches:
    """A function from record batches of units to assigned ones, as ``mapInArrow`` takes it.

    Only the strategy's name and parameters travel to the workers; each task makes the strategy anew.

    Parameters
    ----------
    name : str
        RocketMQ's name of the strategy.
    **params
        Its parameters, as `rmqalloc.strategy` takes them.

    Raises
    ------
    ValueError, TypeError
        If there is no such strategy, a parameter does not suit it, or its queues have no single owner (CONFIG, POP).

    Examples
    --------
    >>> kernel = AssignBatches("AVG")
    >>> queues = [{"broker_name": "b", "queue_id": 0}]
    >>> unit = {"consumer_group": "g", "topic": "T", "queues": queues, "client_ids": ["c"]}
    >>> next(kernel([pa.RecordBatch.from_pylist([unit])])).column("owners").to_pylist()
    [[0]]
    """

    def __init__(self, name: str, **params: Any) -> None:
        strategy(name, **params).assign_fleet(Fleet.from_groups([]))
        self.name = name
        self.params = params

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Assign the batches one after the other."""
        return assign_batches(batches, strategy(self.name, **self.params))
