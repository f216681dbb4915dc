"""Count every shape, print the factors, and end with 1 if one is above its bound."""

import argparse
import sys
from pathlib import Path

from table import put

from cliffs import kernels, verbs
from cliffs.row import table

PARTS = {"kernels": kernels, "verbs": verbs}


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m cliffs", description="Factors of work for inputs that are odd"
    )
    parser.add_argument("--quick", action="store_true", help="leave out the rows that take long")
    parser.add_argument("--part", choices=PARTS, help="one of the two parts alone")
    parser.add_argument("--docs", type=Path, help="file whose marked section gets the table")
    options = parser.parse_args()
    parts = [options.part] if options.part else PARTS
    rows = [row for part in parts for row in PARTS[part].rows(options.quick)]
    print(table(rows))
    above = [row for row in rows if not row.kept]
    for row in above:
        print(
            f"{row.what}, {row.shape}: {row.factor:.2f} times the work, at most {row.bound:g}",
            file=sys.stderr,
        )
    if options.docs:
        put(options.docs, table(rows), "cliffs")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
