"""The clock: every case is measured the same way, all of them in turn, round after round."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from processes import cpu_now

LEAST_ROUNDS = 3


@dataclass
class Case:
    """Something to measure.

    Attributes
    ----------
    table, group, name : str
        Where it stands in the report, with whom it is compared, and what it is called.
    units : int
        Units that one run serves.
    run : callable
        Does it once.
    warm_up : callable
        Does something smaller that takes the same ways; called before the clock starts.
    scenarios : int
        Scenarios that one run tries on each unit.
    every : int
        It takes part in the first of so many rounds.
    """

    table: str
    group: str
    name: str
    units: int
    run: Callable[[], object]
    warm_up: Callable[[], object]
    scenarios: int = 1
    every: int = 1
    walls: list[float] = field(default_factory=list)
    jvms: list[float] = field(default_factory=list)
    pythons: list[float] = field(default_factory=list)

    def measure(self) -> float:
        """Run once, and return the seconds it took."""
        before, started = cpu_now(), time.perf_counter()
        self.run()
        wall, used = time.perf_counter() - started, cpu_now().since(before)
        self.walls.append(wall)
        self.jvms.append(used.jvm)
        self.pythons.append(used.python)
        return wall

    def row(self) -> dict[str, Any]:
        """What the report needs: seconds per unit, medians unless they say otherwise."""
        units = {"units": self.units, "scenarios": self.scenarios, "rounds": len(self.walls)}
        times = {"best": min(self.walls), "wall": median(self.walls)}
        times |= {"jvm": median(self.jvms), "python": median(self.pythons)}
        per_unit = {name: seconds / self.units for name, seconds in times.items()}
        return {"table": self.table, "group": self.group, "name": self.name, **units, **per_unit}


def measure_all(cases: list[Case], rounds: int, deadline: float) -> None:
    """Warm up, then measure the cases once a round, there and back in turn.

    No new round is begun that would end behind the deadline (of `time.monotonic`), once there are
    `LEAST_ROUNDS`.
    """
    tell("warm-up")
    for case in cases:
        case.warm_up()
    longest = 0.0
    for number in range(1, rounds + 1):
        started = time.monotonic()
        if number > LEAST_ROUNDS and started + longest > deadline:
            tell(f"{number - 1} rounds: another one would take too long")
            break
        taking_part = [case for case in cases if (number - 1) % case.every == 0]
        for case in taking_part if number % 2 else reversed(taking_part):
            seconds = case.measure()
            tell(
                f"round {number} of {rounds}  {seconds:7.2f} s  {case.table}, {case.group}: {case.name}"
            )
        longest = max(longest, time.monotonic() - started)


def tell(line: str) -> None:
    """Print how far we are."""
    print(f"{time.strftime('%H:%M:%S')}  {line}", file=sys.stderr, flush=True)
