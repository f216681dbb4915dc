"""What this has to reach, as ratios of one run, and whether it did."""

from collections.abc import Callable
from typing import Any, NamedTuple

from cases import (
    ALIKE,
    FILE_JOB,
    FILES,
    FILES_SCENARIOS,
    ODD,
    ONE_BAD,
    ONE_GIANT,
    ONE_STRATEGY,
    SCENARIOS,
    THREADS,
)
from contenders import BY_COUNT, COLUMN, IDENTITY, JAVA, OURS, PANDAS, ROW_ARROW, ROW_PICKLE, V2
from many_scenarios import PLAN, ROW_LOOP, V2_LOOP, V2_ROWS

Row = dict[str, Any]

MIB = 2**20
RING = "CONSISTENT_HASH"


class Goal(NamedTuple):
    """A ratio or a figure with a bound.

    Attributes
    ----------
    number, text : str
        What it is.
    bound : float
        What it has to reach.
    least : bool
        Whether it must be no less than the bound, or else no more.
    value : callable
        Takes it from a run.
    """

    number: str
    text: str
    bound: float
    least: bool
    value: Callable[["Found"], float]


class Found:
    """What a run found, to be asked by name."""

    def __init__(self, rows: list[Row], jobs: list[Row]) -> None:
        self._rows = {(row["table"], row["group"], row["name"]): row for row in rows}
        self._jobs = jobs

    def of(self, table: str, name: str, group: str = "AVG", figure: str = "wall") -> float:
        """A figure of a row, seconds per unit."""
        return float(self._rows[table, group, name][figure])

    def ratio(self, table: str, name: str, over: str, figure: str = "wall") -> float:
        """Of two rows of AVG: how many times the second's figure the first one's is."""
        return self.of(table, name, figure=figure) / self.of(table, over, figure=figure)

    def ring(self, name: str) -> float:
        """Of CONSISTENT_HASH: how many times the transform's time somebody takes."""
        return self.of(ONE_STRATEGY, name, RING) / self.of(ONE_STRATEGY, OURS, RING)

    def cpu(self, table: str, name: str) -> float:
        """CPU seconds per unit, of Java and Python together."""
        return self.of(table, name, figure="jvm") + self.of(table, name, figure="python")

    def peak(self, whose: str) -> float:
        """Most memory of all jobs, in bytes; KeyError if one did not end."""
        return max(float(row[whose]) for row in self._jobs)


GOALS = [
    Goal(
        "G1",
        "transform over identity mapInArrow",
        1.10,
        False,
        lambda run: run.ratio(ONE_STRATEGY, OURS, IDENTITY),
    ),
    Goal(
        "G2",
        "Python UDF (pickle) over transform",
        3.0,
        True,
        lambda run: run.ratio(ONE_STRATEGY, ROW_PICKLE, OURS),
    ),
    Goal(
        "G2",
        "Python UDF (Arrow) over transform",
        3.8,
        True,
        lambda run: run.ratio(ONE_STRATEGY, ROW_ARROW, OURS),
    ),
    Goal(
        "G2",
        "pandas_udf over transform",
        3.3,
        True,
        lambda run: run.ratio(ONE_STRATEGY, PANDAS, OURS),
    ),
    Goal(
        "G3",
        "32 scenarios: Python UDF over plan",
        30,
        True,
        lambda run: run.ratio(SCENARIOS, ROW_LOOP, PLAN),
    ),
    Goal(
        "G4", "Java UDF over transform", 0.75, True, lambda run: run.ratio(ONE_STRATEGY, JAVA, OURS)
    ),
    Goal(
        "G5",
        "V2 function over transform",
        0.55,
        True,
        lambda run: run.ratio(ONE_STRATEGY, V2, OURS),
    ),
    Goal(
        "G5",
        "32 scenarios: V2 function over plan",
        0.85,
        True,
        lambda run: run.ratio(SCENARIOS, V2_LOOP, PLAN),
    ),
    Goal(
        "G6",
        "32 scenarios: crossed rows over plan",
        2.0,
        True,
        lambda run: run.ratio(SCENARIOS, V2_ROWS, PLAN),
    ),
    Goal(
        "G7",
        "column function over transform",
        1.15,
        False,
        lambda run: run.ratio(ONE_STRATEGY, COLUMN, OURS),
    ),
    Goal(
        "G8",
        "files: file job over V2 function",
        1.1,
        False,
        lambda run: run.ratio(FILES, FILE_JOB, V2),
    ),
    Goal(
        "G8",
        "the same, CPU",
        0.75,
        False,
        lambda run: run.cpu(FILES, FILE_JOB) / run.cpu(FILES, V2),
    ),
    Goal(
        "G9",
        "SQL engine over V2 function",
        1.3,
        False,
        lambda run: run.ratio(ONE_STRATEGY, BY_COUNT, V2),
    ),
    Goal("G10", "one bad unit over none", 1.03, False, lambda run: run.ratio(ODD, ONE_BAD, ALIKE)),
    Goal(
        "G11",
        "a unit of 1M queues over none",
        1.2,
        False,
        lambda run: run.ratio(ODD, ONE_GIANT, ALIKE),
    ),
    Goal("G11", "peak of Python workers, MiB", 1024, False, lambda run: run.peak("workers") / MIB),
    Goal(
        "G12",
        "million unit × scenarios a second: transform",
        20,
        True,
        lambda run: 32e-6 / run.of(SCENARIOS, PLAN),
    ),
    Goal(
        "G12", "the same, file job", 20, True, lambda run: 32e-6 / run.of(FILES_SCENARIOS, FILE_JOB)
    ),
    Goal(
        "G12", "the same, no Spark", 20, True, lambda run: 32e-6 / run.of(FILES_SCENARIOS, THREADS)
    ),
    Goal(
        "ring", "Java UDF, RocketMQ's classes, over transform", 5, True, lambda run: run.ring(JAVA)
    ),
    Goal("ring", "Python UDF (pickle) over transform", 100, True, lambda run: run.ring(ROW_PICKLE)),
]


def judged(run: Found) -> list[list[str]]:
    """Number, text, bound, figure and verdict of every goal."""
    lines = []
    for goal in GOALS:
        try:
            value = goal.value(run)
        except KeyError:
            lines.append([goal.number, goal.text, "", "–", "not measured"])
            continue
        met = value >= goal.bound if goal.least else value <= goal.bound
        bound = f"{'at least' if goal.least else 'at most'} {goal.bound:g}"
        lines.append(
            [goal.number, goal.text, bound, f"{value:.3g}", "met" if met else "**missed**"]
        )
    return lines
