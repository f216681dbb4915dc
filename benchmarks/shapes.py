"""The fleets that are measured, built with numpy so that a million groups take seconds.

A shape is written ``n_groups x n_queues x n_clients``. Every group has a topic of its own and
client ids of its own, as RocketMQ spells them (``ip@pid#nanos``, of varying length), so nothing can
be hashed once and used for two groups.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc import Fleet

SEED = 20240607

# Text is made in pieces of this many strings, which bounds the temporaries.
CHUNK = 1 << 20


class Shape(NamedTuple):
    """Groups of one size; `mixed` ones vary from group to group, with these sizes as the mean."""

    name: str
    n_groups: int
    n_queues: int
    n_clients: int
    n_brokers: int
    mixed: bool = False

    def small(self) -> "Shape":
        """Cut the shape down for a quick run."""
        return self._replace(n_groups=min(self.n_groups, 4), n_queues=min(self.n_queues, 20_000))


class Group(NamedTuple):
    """One group as plain Python, for the rivals that take one group at a time."""

    consumer_group: str
    topic: str
    queues: list[tuple[str, str, int]]
    client_ids: list[str]


SHAPES = [
    Shape("1M x 16q x 4c", 1_000_000, 16, 4, 4),
    Shape("1M x ~18q x ~4.5c, mixed", 1_000_000, 18, 4, 4, mixed=True),
    Shape("100k x 64q x 16c", 100_000, 64, 16, 8),
    Shape("1k x 1024q x 100c", 1_000, 1_024, 100, 64),
    Shape("10 x 10kq x 500c", 10, 10_000, 500, 100),
    Shape("1 x 10Mq x 1kc", 1, 10_000_000, 1_000, 1_000),
]

# A number to be written in decimal, and the most digits it can have.
Number = tuple[NDArray[np.uint64], int]


def _text(parts: Sequence[bytes | Number], n: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Join literals and numbers row by row; numbers are written without leading zeros.

    Returns
    -------
    values : uint8 array
        All `n` strings end to end.
    lengths : int64 array, shape (n,)
    """
    width = sum(len(part) if isinstance(part, bytes) else part[1] for part in parts)
    characters = np.empty((n, width), np.uint8)
    kept = np.ones((n, width), np.bool_)
    column = 0
    for part in parts:
        if isinstance(part, bytes):
            characters[:, column : column + len(part)] = np.frombuffer(part, np.uint8)
            column += len(part)
            continue
        number, digits = part
        for place in range(column + digits - 1, column - 1, -1):
            kept[:, place] = (number > 0) | (place == column + digits - 1)
            number, digit = np.divmod(number, np.uint64(10))
            characters[:, place] = digit + ord("0")
        column += digits
    return characters[kept], kept.sum(axis=1)


def _strings(pieces: list[tuple[NDArray[np.uint8], NDArray[np.int64]]]) -> pa.StringArray:
    """Make one Arrow string array of the pieces."""
    values = np.concatenate([values for values, _ in pieces])
    lengths = np.concatenate([lengths for _, lengths in pieces])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(values))


def numbered(prefix: bytes, start: int, n: int) -> pa.StringArray:
    """Write `prefix` and a running number, `n` times."""
    numbers = np.arange(start, start + n, dtype=np.uint64)
    return _strings([_text([prefix, (numbers, 8)], n)])


def client_ids(n: int, seed: int = SEED) -> pa.StringArray:
    """Write `n` client ids as RocketMQ does, ``10.x.y.z@pid#nanos``, in random order."""
    rng = np.random.default_rng(seed)

    def piece(size: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        def number(low: int, high: int, digits: int) -> Number:
            return rng.integers(low, high, size, dtype=np.uint64), digits

        octets = [number(0, 256, 3) for _ in range(3)]
        pid, nanos = number(1, 100_000, 5), number(10**13, 10**16, 16)
        return _text(
            [b"10.", octets[0], b".", octets[1], b".", octets[2], b"@", pid, b"#", nanos], size
        )

    return _strings([piece(min(CHUNK, n - start)) for start in range(0, n, CHUNK)])


def lists(values: pa.Array, lengths: NDArray[np.int64]) -> pa.ListArray:
    """Cut an array into lists of the given lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def table_of(shape: Shape) -> pa.Table:
    """Build the shape as Arrow columns, one row per group: brokers with their queue counts, and
    client ids.
    """
    rng = np.random.default_rng(SEED)
    n_routes = shape.n_groups * shape.n_brokers
    read_queue_nums = np.full(n_routes, shape.n_queues // shape.n_brokers, np.int32)
    n_clients = np.full(shape.n_groups, shape.n_clients, np.int64)
    if shape.mixed:
        read_queue_nums = rng.integers(
            1, 2 * (shape.n_queues // shape.n_brokers) + 1, n_routes, dtype=np.int32
        )
        n_clients = rng.integers(1, 2 * shape.n_clients + 1, shape.n_groups)
    names = numbered(b"broker-", 100, shape.n_brokers).take(
        pa.array(np.tile(np.arange(shape.n_brokers), shape.n_groups))
    )
    brokers = pa.StructArray.from_arrays(
        [names, pa.array(read_queue_nums)], ["broker_name", "read_queue_nums"]
    )
    return pa.table(
        {
            "consumer_group": numbered(b"GID-orders-", 1_000_000, shape.n_groups),
            "topic": numbered(b"order-events-", 1_000_000, shape.n_groups),
            "brokers": lists(brokers, np.full(shape.n_groups, shape.n_brokers)),
            "client_ids": lists(client_ids(int(n_clients.sum())), n_clients),
        }
    )


@lru_cache(maxsize=1)
def table(shape: Shape) -> pa.Table:
    """Build the shape once for the tests that follow one another."""
    return table_of(shape)


@lru_cache(maxsize=1)
def fleet(shape: Shape, n_groups: int) -> Fleet:
    """Build the fleet of the shape's first groups."""
    return Fleet.from_arrow(table(shape).slice(0, n_groups))


@lru_cache(maxsize=2)
def groups(shape: Shape, n_groups: int) -> list[Group]:
    """Give the shape's first groups as plain Python, queues and client ids in the fleet's order."""
    return [
        Group(
            row["consumer_group"],
            row["topic"],
            [
                (row["topic"], broker["broker_name"], queue_id)
                for broker in row["brokers"]
                for queue_id in range(broker["read_queue_nums"])
            ],
            row["client_ids"],
        )
        for row in table(shape).slice(0, n_groups).to_pylist()
    ]
