"""Time whole commands in turns and kernels; print or publish tables, or judge quick ratios."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from types import ModuleType

from machines import cpu_model
from table import put

from commands import kernels, many_groups, many_units, medians, start
from commands.course import Heat

QUICK = {start: 0, many_groups: 2_000, many_units: 200_000}
"""Sizes of the ratios that have medians."""


def quick_heats(folder: Path) -> list[Heat | kernels.Kernels]:
    """Return what is measured in a quick run."""
    heats = chain.from_iterable(kind.heats(size, folder) for kind, size in QUICK.items())
    return [*heats, kernels.Kernels()]


def rows(kind: ModuleType, sizes: Sequence[int], runs: int) -> Iterator[list[str]]:
    """Measure one kind of commands."""
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        for size in sizes:
            for heat in kind.heats(size, Path(folder)):
                heat.prepare()
                yield from heat.rows(runs, kind.OF)


def laid_out(header: Sequence[str], found: Iterable[list[str]]) -> str:
    """Lay out a table, below the machine; its rows are printed as they come."""
    lines = []
    for row in found:
        print(*row, sep="  ", file=sys.stderr, flush=True)
        lines.append(row)
    sides = [
        "---:" if all(cell[0] in "0123456789–" for cell in of) else "---"
        for of in zip(*lines, strict=True)
    ]
    text = "\n".join("| " + " | ".join(line) + " |" for line in (header, sides, *lines))
    return f"{medians.machine()}\n\n{text}"


def quick(writes: bool) -> int:
    """Judge this machine's ratios by the committed medians, or write these."""
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        heats = quick_heats(Path(folder))
        for heat in heats:
            heat.prepare()
        if writes:
            medians.write(heats)
            return 0
        committed = medians.committed_for(medians.read(), cpu_model())
        found = medians.measured(heats, committed)
    print(f"{medians.machine()}\n\n{medians.table(found, committed)}")
    above = medians.slower(found, committed)
    print(*above, sep="\n", end="\n" * bool(above), file=sys.stderr)
    return 1 if above else 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m commands", description="Whole commands beside their rivals"
    )
    parser.add_argument("--units", type=int, action="append", help="units of a fleet; repeats")
    parser.add_argument("--groups", type=int, action="append", help="groups; repeats")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count")
    parser.add_argument("--docs", type=Path, help="file whose marked sections get the tables")
    parser.add_argument("--quick", action="store_true", help="judge by the committed medians")
    parser.add_argument("--medians", action="store_true", help="measure and write these")
    given = parser.parse_args()
    if given.quick or given.medians:
        return quick(given.medians)
    sizes = {many_units: given.units, many_groups: given.groups}
    if not any(sizes.values()):
        sizes = {start: [0], many_groups: [10_000], many_units: [100_000, 1_000_000]}
    tables = {
        kind.SECTION: laid_out(kind.HEADER, rows(kind, of, given.runs))
        for kind, of in sizes.items()
        if of
    }
    if start in sizes:
        tables[kernels.SECTION] = laid_out(kernels.HEADER, kernels.rows())
    for section, text in tables.items():
        print(text, end="\n\n")
        if given.docs:
            put(given.docs, text, section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
