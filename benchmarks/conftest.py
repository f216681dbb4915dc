"""The clock: every row is measured the same way and carries what the tables need."""

import os
import platform
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import package_under_test
import pyarrow as pa
import pytest
from machines import cpu_model

# A round lasts at least this long, so that the clock's own cost does not show.
ROUND_SECONDS = 0.002
BUDGET_SECONDS = 0.8
MOST_ROUNDS = 101


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--quick``."""
    parser.addoption(
        "--quick",
        action="store_true",
        help="tiny fleets and few rounds: shows that the harness runs",
    )


def pytest_configure() -> None:
    """Refuse to measure another package than the one meant."""
    if problem := package_under_test.problem():
        raise pytest.UsageError(problem)


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    """Tell whether the fleets are to be tiny."""
    return bool(request.config.getoption("--quick"))


@dataclass
class Clock:
    """Measures a call and stores medians of wall and CPU seconds per call beside pytest-benchmark's
    own figures.
    """

    benchmark: Any
    quick: bool

    def __call__(self, function: Callable[[], object], **labels: object) -> None:
        """Time `function`; `labels` say what one call does, see `table.py`. CPU time is that of all
        threads.
        """
        calls, rounds = self._pace(function)
        walls: list[float] = []
        cpus: list[float] = []

        def one_round() -> None:
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                function()
            cpus.append((time.process_time() - cpu) / calls)
            walls.append((time.perf_counter() - wall) / calls)

        self.benchmark.pedantic(one_round, rounds=rounds, iterations=1)
        self.note(
            wall=median(walls),
            cpu=median(cpus),
            fastest=min(walls),
            calls=calls,
            rounds=rounds,
            **labels,
        )

    def once(self, function: Callable[[], Any]) -> Any:
        """Run something that keeps its own clock, or that gives figures and no time."""
        return self.benchmark.pedantic(function, rounds=1, iterations=1)

    def note(self, **labels: object) -> None:
        """Store figures in the row."""
        self.benchmark.extra_info.update(labels)

    def _pace(self, function: Callable[[], object]) -> tuple[int, int]:
        """Warm up, and choose calls per round and rounds."""
        once = seconds(function, 1)
        if self.quick:
            return 1, 2
        if once < BUDGET_SECONDS / 5:
            once = seconds(function, int(ROUND_SECONDS / once) + 1)
        calls = int(ROUND_SECONDS / once) + 1
        return calls, min(
            MOST_ROUNDS, max(3 if once > 1 else 5, int(BUDGET_SECONDS / (calls * once)))
        )


def seconds(function: Callable[[], object], calls: int) -> float:
    """Time some calls roughly, in wall seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


@pytest.fixture
def clock(benchmark: Any, quick: bool) -> Clock:
    """Give the clock of this test."""
    return Clock(benchmark, quick)


def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    """Name the machine by what matters for the figures, and not by its host name."""
    machine_info.clear()
    machine_info.update(
        cpu=cpu_model(),
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        quick=config.getoption("--quick"),
        system=platform.system(),
        isa=instruction_set(),
        Python=platform.python_version(),
        numpy=np.__version__,
        pyarrow=pa.__version__,
        compiler=first_line(sysconfig.get_config_var("CC") or "cc", "--version"),
        java=first_line("java", "--version"),
    )


def instruction_set() -> str:
    """Name the instruction set that the hashes run on."""
    try:
        from rmqalloc._engine.md5 import isa
    except ImportError:
        return ""
    return isa()


def first_line(command: str, argument: str) -> str:
    """Give the first line a program prints about itself, or nothing without the program."""
    program = command.split()[0]
    if shutil.which(program) is None:
        return ""
    return subprocess.run(
        [program, argument], capture_output=True, text=True, check=False
    ).stdout.partition("\n")[0]
