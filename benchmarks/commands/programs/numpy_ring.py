"""CONSISTENT_HASH of ten virtual nodes by hashlib and NumPy, one ring for each group, as a person
writes it.
"""

import sys
from hashlib import md5
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

source, target, _ = sys.argv[1:]


def hash_of(text: str) -> int:
    """Take the first four bytes of the MD5, big endian."""
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


def owners_of(topic: str, brokers: list[dict[str, Any]], client_ids: list[str]) -> list[int]:
    """Owners of the sorted queues as positions in the sorted clients."""
    clients = sorted(client_ids)
    points = np.array([hash_of(f"{client}-{k}") for client in clients for k in range(10)], np.int64)
    order = np.argsort(points, kind="stable")
    queues = [
        hash_of(f"MessageQueue [topic={topic}, brokerName={name}, queueId={i}]")
        for name, n in sorted(
            (broker["broker_name"], broker["read_queue_nums"]) for broker in brokers
        )
        for i in range(n)
    ]
    at = np.searchsorted(points[order], queues)
    found: list[int] = (order[at % order.size] // 10).tolist()
    return found


table = pq.read_table(source)
rows = zip(*(table[name].to_pylist() for name in ("topic", "brokers", "client_ids")), strict=True)
owners = pa.array([owners_of(*row) for row in rows], pa.list_(pa.int32()))
made = pa.table(
    {"consumer_group": table["consumer_group"], "topic": table["topic"], "owners": owners}
)
pq.write_table(made, target, compression="zstd")
