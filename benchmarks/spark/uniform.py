"""The fleet that Spark is measured on: every group alike, with 16 queues on two brokers and 4 to 16
clients.

Client ids are spelled as RocketMQ spells them (``ip@pid#nanos``), none is used by two groups, and
neither they nor the brokers come sorted.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.random import Generator, default_rng

from rmqalloc.snapshot.synthetic import FLEET_SCHEMA

SEED = 20240607
N_BROKERS = 2
READ_QUEUE_NUMS = 8
LEAST_CLIENTS, MOST_CLIENTS = 4, 16
ROWS_PER_ROW_GROUP = 32_768


def write(path: Path, n_units: int, n_files: int = 16) -> Path:
    """Write such a fleet as a directory of Parquet files, unless it is there, and return its path."""
    if not path.exists():
        new = path.with_name(f"{path.name}.new")
        new.mkdir(parents=True, exist_ok=True)
        for number, first in enumerate(range(0, n_units, -(-n_units // n_files))):
            count = min(-(-n_units // n_files), n_units - first)
            table, file = (
                pa.Table.from_batches([units(first, count)]),
                new / f"part-{number:05d}.parquet",
            )
            pq.write_table(table, file, compression="zstd", row_group_size=ROWS_PER_ROW_GROUP)
        new.rename(path)
    return path


def write_one(path: Path, brokers: list[dict[str, object]], client_ids: list[str]) -> Path:
    """Write a fleet of a single group."""
    path.mkdir(parents=True, exist_ok=True)
    unit = {
        "consumer_group": "GID_only",
        "topic": "TopicOfOne",
        "brokers": brokers,
        "client_ids": client_ids,
    }
    pq.write_table(pa.Table.from_pylist([unit], schema=FLEET_SCHEMA), path / "part-00000.parquet")
    return path


def units(first: int, count: int) -> pa.RecordBatch:
    """So many units from number `first` on; the same ones for the same numbers."""
    rng = default_rng((SEED, first))
    number = np.arange(first, first + count)
    columns = [
        _text("GID_", number),
        _text("TopicOf", number // 5),
        _brokers(rng, count),
        _client_ids(rng, count),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FLEET_SCHEMA)


def _brokers(rng: Generator, count: int) -> pa.Array:
    """Two different brokers out of 64 for every unit, in any order."""
    one = rng.integers(0, 64, count)
    other = (one + rng.integers(1, 64, count)) % 64
    names = _text("broker-", np.stack([one, other], axis=1).ravel())
    nums = pa.array(np.full(N_BROKERS * count, READ_QUEUE_NUMS, np.int32))
    structs = pa.StructArray.from_arrays(
        [names, nums], fields=list(FLEET_SCHEMA.field("brokers").type.value_type)
    )
    return pa.ListArray.from_arrays(
        pa.array(np.arange(0, N_BROKERS * count + 1, N_BROKERS, np.int32)), structs
    )


def _client_ids(rng: Generator, count: int) -> pa.Array:
    """4 to 16 client ids for every unit."""
    offsets = np.concatenate(
        [[0], np.cumsum(rng.integers(LEAST_CLIENTS, MOST_CLIENTS + 1, count))]
    ).astype(np.int32)
    size = int(offsets[-1])
    parts = [("10.", 256), (".", 256), (".", 256), ("@", 65_536), ("#", 10**15)]
    texts = [_text(ahead, rng.integers(1, below, size)) for ahead, below in parts]
    return pa.ListArray.from_arrays(pa.array(offsets), pc.binary_join_element_wise(*texts, ""))


def _text(ahead: str, numbers: np.ndarray) -> pa.Array:
    """A word with a number behind it."""
    return pc.binary_join_element_wise(ahead, pa.array(numbers).cast(pa.string()), "")
