"""A synthetic fleet with realistic sizes: most groups are small, a few are very large.

Every size is drawn from a discrete power law, ``P(N >= k) = ((k + s) / (1 + s)) ** -a``, cut off at
a greatest value:

=============================  ====  ====  ========  ==================
size                           a     s     greatest  mean
=============================  ====  ====  ========  ==================
clients of a consumer group    1.9   2     5000      3.9
topics of a consumer group     1.5   0     16        2.1
brokers of a topic             2.0   0     64        1.6
=============================  ====  ====  ========  ==================

A topic has the same number of read queues on each of its brokers: 1, 2, 4, 8, 16, 32 or 64 with the
probabilities ``READ_QUEUE_PROBABILITIES`` (mean 5.0). A unit, which is a group on one topic, thus
has 8.2 queues and 3.9 clients on average, with a median of 4 and 2; in a million units the largest
have some 3000 queues and 4000 clients.

There is one topic for every five units. The ``r``-th topic is read in proportion to ``r ** -0.5``,
so a million units hold a topic that a thousand groups read. A group reads a run of neighbouring
topics, and all its units have the same client list. Client ids read ``10.x.y.z@pid#nanos`` as
RocketMQ's default ids do; neither they nor the brokers of a topic come sorted.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise, repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.columns import list_positions, offsets_of
from rmqalloc.snapshot.directory import replaced_result

FLEET_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("topic", pa.string()),
        (
            "brokers",
            pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())])),
        ),
        ("client_ids", pa.list_(pa.string())),
    ]
)
"""Columns of a fleet on disk: one row is one unit, its queues are ``0 .. read_queue_nums - 1`` of every broker."""

READ_QUEUE_NUMS = (1, 2, 4, 8, 16, 32, 64)
READ_QUEUE_PROBABILITIES = (0.12, 0.18, 0.46, 0.19, 0.035, 0.01, 0.005)

_SERVICES = (
    "order",
    "payment",
    "stock",
    "user",
    "coupon",
    "delivery",
    "search",
    "risk",
    "invoice",
    "price",
    "chat",
)
_EVENTS = ("created", "paid", "changed", "closed", "audit", "sync", "binlog")
_MAX_BROKERS = 64
_MAX_TOPICS = 16
_MAX_CLIENTS = 5000
_N_CLUSTERS = 32
_UNITS_PER_TOPIC = 5
# Randomness is drawn per block of groups, so neither the batch size nor the number of files can
# change it.
_GROUPS_PER_BLOCK = 8192
_ROWS_PER_ROW_GROUP = 32_768


def synthetic_fleet(
    n_units: int = 1_000_000, seed: int = 0, batch_size: int = 10_000
) -> Iterator[pa.RecordBatch]:
    """Generate units in record batches of ``FLEET_SCHEMA``.

    Examples
    --------
    >>> batches = list(synthetic_fleet(25, seed=7, batch_size=10))
    >>> [batch.num_rows for batch in batches]
    [10, 10, 5]
    """
    if n_units < 0 or seed < 0 or batch_size < 1:
        raise ArgumentError(
            f"n_units and seed must be 0 or more and batch_size 1 or more, "
            f"got n_units={n_units}, seed={seed}, batch_size={batch_size}"
        )
    return _cut(_blocks(n_units, seed), _lengths(n_units, batch_size))


def write_fleet(
    path: str | os.PathLike[str], n_units: int = 1_000_000, seed: int = 0, n_files: int = 16
) -> None:
    """Write a synthetic fleet as a directory of Parquet files."""
    if n_files < 1:
        raise ArgumentError(f"n_files={n_files}: give at least one file")
    synthetic_fleet(0, seed if n_units >= 0 else -1)
    bounds = [n_units * i // n_files for i in range(n_files + 1)]
    lengths = [
        list(_lengths(stop - start, _ROWS_PER_ROW_GROUP)) for start, stop in pairwise(bounds)
    ]
    with replaced_result(path, "fleet") as new:
        batches = _cut(_blocks(n_units, seed), chain.from_iterable(lengths))
        for number, in_file in enumerate(lengths):
            with pq.ParquetWriter(
                new / f"part-{number:05d}.parquet", FLEET_SCHEMA, compression="zstd"
            ) as writer:
                for _ in in_file:
                    writer.write_batch(next(batches))


def _lengths(n_rows: int, length: int) -> Iterator[int]:
    """Yield lengths of the pieces that ``n_rows`` are cut into."""
    return chain(repeat(length, n_rows // length), [n_rows % length] if n_rows % length else [])


def _cut(blocks: Iterator[pa.RecordBatch], lengths: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Cut a stream of blocks into batches of the given lengths; what the lengths do not cover is
    left.
    """
    rest = FLEET_SCHEMA.empty_table()
    for length in lengths:
        while rest.num_rows < length:
            rest = pa.concat_tables([rest, pa.Table.from_batches([next(blocks)])])
        yield rest.slice(0, length).combine_chunks().to_batches()[0]
        rest = rest.slice(length)


def _blocks(n_units: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Yield endless blocks of units; a block holds whole groups."""
    n_topics = max(_MAX_TOPICS, n_units // _UNITS_PER_TOPIC)
    topics, brokers = _topics(n_topics, default_rng([seed, n_units, 0]))
    block = 0
    while True:
        rng = default_rng([seed, n_units, 1, block])
        topics_of_group = _power_law(rng, _GROUPS_PER_BLOCK, a=1.5, s=0, greatest=_MAX_TOPICS)
        group = np.repeat(np.arange(_GROUPS_PER_BLOCK), topics_of_group)
        # Squaring a uniform number reads the r-th topic in proportion to r ** -0.5; a group reads
        # on from there.
        first_topic = (n_topics * rng.random(_GROUPS_PER_BLOCK) ** 2).astype(np.int64)
        topic = pa.array(
            (first_topic[group] + list_positions(offsets_of(topics_of_group))) % n_topics
        )
        clients = _client_ids(
            _power_law(rng, _GROUPS_PER_BLOCK, a=1.9, s=2, greatest=_MAX_CLIENTS), rng
        )
        groups = _group_names(block * _GROUPS_PER_BLOCK)
        rows = pa.array(group)
        columns = [groups.take(rows), topics.take(topic), brokers.take(topic), clients.take(rows)]
        yield pa.RecordBatch.from_arrays(columns, schema=FLEET_SCHEMA)
        block += 1


def _power_law(rng: Generator, size: int, a: float, s: float, greatest: int) -> NDArray[np.int64]:
    """Return whole numbers from 1 with ``P(N >= k) = ((k + s) / (1 + s)) ** -a``, none above
    ``greatest``.
    """
    numbers = (1 + s) * (1.0 - rng.random(size)) ** (-1 / a) - s
    return np.minimum(numbers, greatest).astype(np.int64)


def _topics(n_topics: int, rng: Generator) -> tuple[pa.Array, pa.Array]:
    """Return names of all topics, and the brokers of each."""
    number = np.arange(n_topics)
    names = _join(
        [_words(_SERVICES, number), _words(_EVENTS, number // len(_SERVICES)), number], "_"
    )
    n_brokers = _power_law(rng, n_topics, a=2.0, s=0, greatest=_MAX_BROKERS)
    cluster = np.repeat(number % _N_CLUSTERS, n_brokers)
    # A topic's brokers are a run round its cluster from anywhere, so they do not come sorted.
    broker = (
        np.repeat(rng.integers(_MAX_BROKERS, size=n_topics), n_brokers)
        + list_positions(offsets_of(n_brokers))
    ) % _MAX_BROKERS
    broker_names = _join([_words(("broker",), cluster), cluster, broker], "-")
    read_queue_nums = np.repeat(
        rng.choice(READ_QUEUE_NUMS, size=n_topics, p=READ_QUEUE_PROBABILITIES), n_brokers
    )
    entries = pa.StructArray.from_arrays(
        [broker_names, pa.array(read_queue_nums.astype(np.int32))],
        names=["broker_name", "read_queue_nums"],
    )
    return names, pa.ListArray.from_arrays(
        pa.array(offsets_of(n_brokers).astype(np.int32)), entries
    )


def _client_ids(n_clients: NDArray[np.int64], rng: Generator) -> pa.Array:
    """Return a list of that many client ids for every group, ``10.x.y.z@pid#nanos``."""
    n = int(n_clients.sum())
    address = [rng.integers(256, size=n), rng.integers(256, size=n), rng.integers(1, 255, size=n)]
    host = _join([np.full(n, 10), *address], ".")
    process = _join([rng.integers(1, 65_536, size=n), rng.integers(10**13, 10**16, size=n)], "#")
    return pa.ListArray.from_arrays(
        pa.array(offsets_of(n_clients).astype(np.int32)), _join([host, process], "@")
    )


def _group_names(first: int) -> pa.Array:
    """Return consumer groups of the block that begins with group ``first``."""
    number = np.arange(first, first + _GROUPS_PER_BLOCK)
    return _join([_words(("GID",), number), _words(_SERVICES, number), number], "_")


def _words(words: tuple[str, ...], number: NDArray[np.int64]) -> pa.Array:
    """Return one of the words for every number, in turn."""
    return pa.array(words).take(pa.array(number % len(words)))


def _join(parts: list[NDArray[np.int64] | pa.Array], separator: str) -> pa.Array:
    """Return strings made of the parts, element by element."""
    texts = [
        pa.array(part).cast(pa.string()) if isinstance(part, np.ndarray) else part for part in parts
    ]
    return pc.binary_join_element_wise(*texts, separator)
