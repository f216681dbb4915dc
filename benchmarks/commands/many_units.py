"""`rmqalloc bulk` beside its rivals, from Parquet to Parquet."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from commands.course import PROGRAMS, RMQALLOC, Heat, run

SECTION, OF = "commands", 1
HEADER = (
    *("units", "files", "strategy", "command", "wall", "spread", "CPU", "memory"),
    *("bulk's wall over it", "bulk's CPU over it"),
)
RIVALS = {
    "AVG": {
        "DuckDB, SQL": "duckdb_owners",
        "Polars": "polars_owners",
        "pyarrow, read and write": "arrow_copy",
    },
    "AVG_BY_CIRCLE": {"DuckDB, SQL": "duckdb_owners", "Polars": "polars_owners"},
    "CONSISTENT_HASH": {"pyarrow, read and write": "arrow_copy", "NumPy, hashlib": "numpy_ring"},
}
BULK = "rmqalloc bulk"
N_SCENARIOS = 32
FEWER = 20
"""Of so many units one is in the heat of scenarios, where NumPy takes a minute for a million."""
ONE_FILE = 1_000_000
"""From so many units on AVG runs on one file, too."""
_SLOW = {"numpy_ring": 100_000}
"""Most units for a program that takes minutes beyond."""


class Setting(NamedTuple):
    """What contenders read and where they write."""

    units: int
    files: int
    plan: str
    folder: Path

    @property
    def fleet(self) -> Path:
        """The directory that all read."""
        return self.folder / f"{self.units}-{self.files}"

    @property
    def made(self) -> Path:
        """The directory that all write to."""
        return self.folder / f"{self.plan}-{self.units}-{self.files}"

    def bulk(self, name: str) -> list[str]:
        """Return the arguments of our command."""
        return [*RMQALLOC, "bulk", "-f", str(self.fleet), "--out", str(self.made / name)]

    def program(self, name: str) -> list[str]:
        """Return the arguments of a rival."""
        return [str(PROGRAMS / f"{name}.py"), str(self.fleet), str(self.made / f"{name}.parquet")]

    def heat(self, commands: dict[str, list[str]]) -> Heat:
        """Return a heat of `bulk` and the others."""
        size = f"{self.units:,} units in {self.files} files, {self.plan}"
        cells = (f"{self.units:,}", f"{self.files}", self.plan)
        pairs = [(BULK, rival) for rival in commands if rival != BULK]
        return Heat(size, cells, commands, pairs, partial(self.prepare, commands))

    def prepare(self, commands: dict[str, list[str]]) -> None:
        """Write the fleet unless it is there, and compare all answers."""
        if not self.fleet.exists():
            sizes = ["--units", str(self.units), "--files", str(self.files)]
            run([*RMQALLOC, "generate", *sizes, "--out", str(self.fleet)])
        self.made.mkdir()
        for arguments in commands.values():
            run(arguments)
        run(["-m", "commands.same_answers", str(self.made)])


def heats(units: int, folder: Path) -> Iterator[Heat]:
    """Yield a heat for every strategy, of one file, too, where it is large, and one of scenarios."""
    for strategy in RIVALS:
        yield _owners(strategy, Setting(units, 4, strategy, folder))
    if units >= ONE_FILE:
        yield _owners("AVG", Setting(units, 1, "AVG", folder))
    yield _scenarios(Setting(units // FEWER, 4, f"AVG, {N_SCENARIOS} scenarios", folder))


def _owners(strategy: str, given: Setting) -> Heat:
    commands = {BULK: [*given.bulk("bulk"), "-s", strategy, "--show", "owners"]}
    for name, program in RIVALS[strategy].items():
        if given.units <= _SLOW.get(program, given.units):
            commands[name] = [*given.program(program), strategy]
    return given.heat(commands)


def _scenarios(given: Setting) -> Heat:
    file = given.folder / "scenarios.json"
    scenarios = [
        {"name": f"{count} clients", "changes": [{"scale_clients": {"to": count}}]}
        for count in range(1, N_SCENARIOS + 1)
    ]
    file.write_text(json.dumps({"scenarios": scenarios}), encoding="utf-8")
    return given.heat(
        {
            BULK: [*given.bulk("bulk"), "--scenario", str(file)],
            "rmqalloc bulk, none of them": [*given.bulk("plain"), "--show", "metrics"],
            "NumPy": [*given.program("numpy_scenarios"), str(N_SCENARIOS)],
        }
    )
