"""All columns read and written again by pyarrow, batch by batch: the floor of whoever reads the
whole input and writes as much.

One thread: `use_threads` and `read_table` took more CPU and more wall time.
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq

source, target, _ = sys.argv[1:]
files = [pq.ParquetFile(path) for path in sorted(Path(source).glob("*.parquet"))]
with pq.ParquetWriter(target, files[0].schema_arrow, compression="zstd") as writer:
    for file in files:
        for batch in file.iter_batches(use_threads=False):
            writer.write_batch(batch)
