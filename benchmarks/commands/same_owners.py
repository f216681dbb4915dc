"""Compare the owners that rivals wrote with those of `bulk`: ``python -m commands.same_owners
FOLDER``.

A process of its own, for the memory of a process counts as that of those that it starts.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def main() -> None:
    """Compare all files of a folder.

    Raises
    ------
    SystemExit
        If owners differ, or a rival wrote none.
    """
    made = Path(sys.argv[1])
    ours = pq.read_table(made / "bulk", columns=["owners"])["owners"].combine_chunks()
    for path in sorted(made.glob("*.parquet")):
        if path.stem != "arrow_copy":
            owners = (
                pq.read_table(path, columns=["owners"])["owners"]
                .cast(pa.list_(pa.int32()))
                .combine_chunks()
            )
            if not owners.equals(ours):
                sys.exit(f"{path.stem} answers otherwise than bulk in {made.name}")


if __name__ == "__main__":
    main()
