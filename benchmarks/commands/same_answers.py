"""Compare what rivals wrote with what `bulk` wrote: ``python -m commands.same_answers FOLDER``.

A process of its own, for the memory of a process counts as that of those that it starts.
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq


def main() -> None:
    """Compare all files of a folder, by the columns that each has.

    Raises
    ------
    SystemExit
        If an answer differs, or a rival wrote none.
    """
    made = Path(sys.argv[1])
    for path in sorted(made.glob("*.parquet")):
        if path.stem != "arrow_copy":
            found = pq.read_table(path)
            names = found.column_names
            ours = pq.read_table(made / "bulk", columns=names).select(names)
            if not found.cast(ours.schema).equals(ours):
                sys.exit(f"{path.stem} answers otherwise than bulk in {made.name}")


if __name__ == "__main__":
    main()
