"""What the Python rivals run in Spark's workers: plain Python, row by row, as one would write it
without a library.

Workers import this file by its name, so its directory must be on their PYTHONPATH.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from rivals import plain_ring
from shapes import Group

from rmqalloc.evaluation.batch_planning import figures_schema

N_QUEUES = 16
VIRTUAL_NODES = 10
PARAMS: dict[str, dict[str, Any]] = {
    "AVG": {},
    "AVG_BY_CIRCLE": {},
    "CONSISTENT_HASH": {"virtual_nodes": VIRTUAL_NODES},
}
"""The strategies that are measured, with their parameters."""

N_SCENARIOS = 32

OWNERS_SCHEMA = figures_schema("owners")
ANY: dict[str, Any] = dict.fromkeys(
    ("idle", "unowned", "moved", "least_moves", "clients_affected", "err_code"), 0
)
ANY |= {
    "scenario": "current",
    "strategy": "AVG",
    "n_queues": N_QUEUES,
    "n_clients": 10,
    "owners": [7] * N_QUEUES,
}
ANY |= {"min_load": 1, "max_load": 2, "mean_load": 1.6, "skew": 1.25}
"""A row such as the transform answers with."""

Answer = tuple[int, int, list[int], int, int, int, int, float]


def figures(strategy: str, topic: str, brokers: Any, client_ids: Any) -> Answer:
    """Owners of a group and what `java_rivals.FIGURES` asks for besides."""
    clients = sorted(client_ids)
    owners = owners_of(strategy, topic, brokers, clients)
    loads = [0] * len(clients)
    for owner in owners:
        loads[owner] += 1
    most, mean = max(loads), len(owners) / len(clients)
    return len(owners), len(clients), owners, 0, loads.count(0), min(loads), most, most / mean


def owners_of(strategy: str, topic: str, brokers: Any, clients: list[str]) -> list[int]:
    """The rule itself; the clients are sorted."""
    n, m = sum(broker["read_queue_nums"] for broker in brokers), len(clients)
    if strategy == "AVG":
        size, larger = divmod(n, m)
        return [client for client in range(m) for _ in range(size + (client < larger))]
    if strategy == "AVG_BY_CIRCLE":
        return [queue % m for queue in range(n)]
    names = sorted((broker["broker_name"], broker["read_queue_nums"]) for broker in brokers)
    queues = [(topic, name, queue_id) for name, count in names for queue_id in range(count)]
    return plain_ring(Group("", topic, queues, clients), VIRTUAL_NODES)


def best(
    strategy: str, topic: str, brokers: Any, client_ids: Any
) -> tuple[int, int, int, int, int, int, float, int]:
    """The best of the scenarios 1 to `N_SCENARIOS` clients, as `java_rivals.BEST` asks for it; all
    are tried in a loop.
    """
    clients = sorted(client_ids)
    before = owners_of(strategy, topic, brokers, clients)
    clients += [f"what-if-{joined:06}" for joined in range(1, N_SCENARIOS + 1)]
    outcomes = []
    for size in range(1, N_SCENARIOS + 1):
        owners = owners_of(strategy, topic, brokers, clients[:size])
        loads = [0] * size
        for owner in owners:
            loads[owner] += 1
        moved = sum(one != other for one, other in zip(before, owners, strict=True))
        skew = max(loads) / (len(owners) / size)
        outcomes.append((loads.count(0), skew, moved, size, len(owners), min(loads), max(loads)))
    idle, skew, moved, size, n_queues, least, most = min(outcomes)
    return n_queues, size, idle, 0, least, most, skew, moved


class Identity:
    """The transport of a transform and nothing else: batches of its schema, made once, go back for
    those that came.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Answer with the same figures for every unit."""
        ready = pa.RecordBatch.from_pylist([], schema=OWNERS_SCHEMA)
        for batch in batches:
            if ready.num_rows < batch.num_rows:
                ready = pa.RecordBatch.from_pylist([ANY] * batch.num_rows, schema=OWNERS_SCHEMA)
            columns = [batch.column("consumer_group"), batch.column("topic")]
            columns += [column.slice(0, batch.num_rows) for column in ready.columns[2:]]
            yield pa.RecordBatch.from_arrays(columns, schema=OWNERS_SCHEMA)
