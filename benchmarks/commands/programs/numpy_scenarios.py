"""Figures of AVG with 1 to 32 clients by NumPy: the closed form for all queues, once a scenario, as
a person writes it.

Queues and clients are taken as sorted and unlike, and a client that comes is the last; so the place
of a client is the client.
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

source, target, most = sys.argv[1:]
table = pq.read_table(source)
brokers = table["brokers"].combine_chunks()
read = pc.struct_field(brokers.values, "read_queue_nums").to_numpy()
m = np.add.reduceat(read, brokers.offsets.to_numpy()[:-1], dtype=np.int64)
now = pc.list_value_length(table["client_ids"]).to_numpy()
ends = np.cumsum(m)
i = np.arange(ends[-1]) - np.repeat(ends - m, m)


def owners_of(n: NDArray[np.int64]) -> NDArray[np.int64]:
    """Owners of all queues, with so many clients a unit."""
    q, r = (np.repeat(number, m) for number in np.divmod(m, n))
    owners: NDArray[np.int64] = np.maximum(i // (q + 1), (i - r) // np.maximum(q, 1))
    return owners


before = owners_of(now)
counts = [now, *(np.full(m.size, number) for number in range(1, int(most) + 1))]
figures = {
    "n_clients": counts,
    "idle": [np.maximum(n - m, 0) for n in counts],
    "min_load": [m // n for n in counts],
    "max_load": [-(-m // n) for n in counts],
    "moved": [np.add.reduceat(owners_of(n) != before, ends - m, dtype=np.int32) for n in counts],
}
unit = np.repeat(np.arange(m.size), len(counts))
columns = {
    **{name: table[name].take(pa.array(unit)) for name in ("consumer_group", "topic")},
    **{name: pa.array(np.stack(found, axis=1).ravel(), pa.int32()) for name, found in figures.items()},
}  # fmt: skip
pq.write_table(pa.table(columns), target, compression="zstd")
