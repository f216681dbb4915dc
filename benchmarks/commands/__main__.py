"""Time whole commands and print how many times as long as `rmqalloc bulk` each rival takes."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from machines import cpu_model
from table import put

from commands.course import in_turns, run

PROGRAMS = Path(__file__).parent / "programs"
RIVALS = {
    "AVG": {"DuckDB, SQL": "duckdb_owners", "Polars": "polars_owners", "pyarrow, read and write": "arrow_copy"},
    "AVG_BY_CIRCLE": {"DuckDB, SQL": "duckdb_owners", "Polars": "polars_owners"},
    "CONSISTENT_HASH": {"pyarrow, read and write": "arrow_copy", "NumPy, hashlib": "numpy_ring"},
}
SIZES = (100_000, 1_000_000)
_SLOW = {"numpy_ring": 100_000}
"""Most units for a program that takes minutes beyond."""


def contenders(strategy: str, fleet: Path, made: Path, units: int) -> dict[str, list[str]]:
    """Return the arguments of every contender."""
    ours = [
        "-m",
        "rmqalloc",
        "bulk",
        "--in",
        str(fleet),
        "-s",
        strategy,
        "--show",
        "owners",
        "--out",
        str(made / "bulk"),
    ]
    found = {"rmqalloc bulk": ours}
    for name, program in RIVALS[strategy].items():
        if units <= _SLOW.get(program, units):
            found[name] = [str(PROGRAMS / f"{program}.py"), str(fleet), str(made / f"{program}.parquet"), strategy]
    return found


def rows(units: int, runs: int, folder: Path) -> Iterator[list[str]]:
    """Yield a row for every strategy and contender."""
    fleet = folder / f"fleet-{units}"
    run(["-m", "rmqalloc", "generate", "--units", str(units), "--files", "4", "--out", str(fleet)])
    for strategy in RIVALS:
        made = folder / f"{strategy}-{units}"
        made.mkdir()
        commands = contenders(strategy, fleet, made, units)
        for arguments in commands.values():
            run(arguments)
        run(["-m", "commands.same_owners", str(made)])
        taken = in_turns(commands, runs)
        ours = taken["rmqalloc bulk"]
        for name, one in taken.items():
            yield [
                f"{units:,}", strategy, name, f"{one.wall:.2f} s", f"{one.spread:.0%}", f"{one.cpu:.2f} s",
                f"{one.mebibytes:,.0f} MiB", f"{ours.wall / one.wall:.2f}", f"{ours.cpu / one.cpu:.2f}",
            ]  # fmt: skip


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m commands", description="Whole commands beside their rivals")
    parser.add_argument("--units", type=int, action="append", help="units of a fleet; repeats")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count")
    parser.add_argument("--docs", type=Path, help="file whose marked section gets the table")
    given = parser.parse_args()
    header = [
        "units",
        "strategy",
        "command",
        "wall",
        "spread",
        "CPU",
        "memory",
        "bulk's wall over it",
        "bulk's CPU over it",
    ]
    lines = [header, ["---:", "---", "---", *["---:"] * 6]]
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        for units in given.units or SIZES:
            for row in rows(units, given.runs, Path(folder)):
                print(*row, sep="  ", file=sys.stderr, flush=True)
                lines.append(row)
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    print(f"{cpu_model()}\n\n{table}")
    if given.docs:
        put(given.docs, f"{cpu_model()}\n\n{table}", "commands")


if __name__ == "__main__":
    main()
