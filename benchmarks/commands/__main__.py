"""Time whole commands in turns: `bulk` beside its rivals, verbs on many groups beside `json.load`."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from machines import cpu_model
from table import put

from commands import many_groups, many_units
from rmqalloc.evaluation.parquet_plan import processors


def table(kind: ModuleType, sizes: list[int], runs: int) -> str:
    """Measure one kind of commands, and lay out its table."""
    lines = [list(kind.HEADER), ["---:", "---", *["---:"] * (len(kind.HEADER) - 2)]]
    for row in _measured(kind, sizes, runs):
        print(*row, sep="  ", file=sys.stderr, flush=True)
        lines.append(row)
    return f"{cpu_model()}, {processors()} cores\n\n" + "\n".join(
        "| " + " | ".join(line) + " |" for line in lines
    )


def _measured(kind: ModuleType, sizes: list[int], runs: int) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        for size in sizes:
            yield from kind.rows(size, runs, Path(folder))


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m commands", description="Whole commands beside their rivals"
    )
    parser.add_argument(
        "--units", type=int, action="append", default=[], help="units of a fleet; repeats"
    )
    parser.add_argument(
        "--groups", type=int, action="append", default=[], help="groups of a snapshot; repeats"
    )
    parser.add_argument("--runs", type=int, default=5, help="rounds that count")
    parser.add_argument("--docs", type=Path, help="file whose marked sections get the tables")
    given = parser.parse_args()
    for kind, sizes, section in (
        (many_units, given.units, "commands"),
        (many_groups, given.groups, "many-groups"),
    ):
        if sizes:
            text = table(kind, sizes, given.runs)
            print(text, end="\n\n")
            if given.docs:
                put(given.docs, text, section)


if __name__ == "__main__":
    main()
