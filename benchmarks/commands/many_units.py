"""`rmqalloc bulk` beside its rivals, from Parquet to Parquet."""

from collections.abc import Iterator
from pathlib import Path

from commands.course import PROGRAMS, in_turns, run

RIVALS = {
    "AVG": {
        "DuckDB, SQL": "duckdb_owners",
        "Polars": "polars_owners",
        "pyarrow, read and write": "arrow_copy",
    },
    "AVG_BY_CIRCLE": {"DuckDB, SQL": "duckdb_owners", "Polars": "polars_owners"},
    "CONSISTENT_HASH": {"pyarrow, read and write": "arrow_copy", "NumPy, hashlib": "numpy_ring"},
}
HEADER = (
    "units",
    "strategy",
    "command",
    "wall",
    "spread",
    "CPU",
    "memory",
    "bulk's wall over it",
    "bulk's CPU over it",
)
_SLOW = {"numpy_ring": 100_000}
"""Most units for a program that takes minutes beyond."""


def contenders(strategy: str, fleet: Path, made: Path, units: int) -> dict[str, list[str]]:
    """Return the arguments of every contender."""
    ours = [
        "-m",
        "rmqalloc",
        "bulk",
        "-f",
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
            found[name] = [
                str(PROGRAMS / f"{program}.py"),
                str(fleet),
                str(made / f"{program}.parquet"),
                strategy,
            ]
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
            ratios = f"{ours.wall / one.wall:.2f}", f"{ours.cpu / one.cpu:.2f}"
            yield [f"{units:,}", strategy, name, *one.cells(), *ratios]
