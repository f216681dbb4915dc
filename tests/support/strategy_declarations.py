"""What test files of strategies declare, for everybody who takes all strategies.

A file of `tests/strategies` has a list of each kind that its strategy needs: ``CASES`` of
`strategy_cases.Rule` for the contract tests, ``PROMISES`` of `Promise` for `make movement`,
``JAVA_CASES`` of `JavaCases` if there is a class in `java/`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from runpy import run_path
from typing import Any, NamedTuple

from checkout import ROOT

from rmqalloc.strategies import STRATEGIES


class Promise(NamedTuple):
    """A strategy with its parameters in `benchmarks/movement`, and the most that it may have of what
    is measured there; None and nothing are no promise.
    """

    label: str
    name: str
    parameters: Mapping[str, Any] = {}
    spread: int | None = None  # queues of the fullest client less those of the emptiest
    skew: float | None = None  # largest load over the mean one, over many topics
    over_least: Mapping[str, float] = {}  # moves over the least, by event; of clients with slots
    restart: float | None = None  # moves per queue of a restart; of clients with slots
    growth: float | None = None  # moves of added queues over those of AVG
    leave_and_join: Mapping[str, float] = {}  # by shape; of clients with random ids
    fleet_time: float | None = None  # time in a fleet over that of CONSISTENT_HASH
    group_time: Mapping[str, float] = {}  # time of one group over Kafka's assignor, by shape


class JavaCases(NamedTuple):
    """Random groups that the class in `java/` and the engine are compared on."""

    name: str
    parameters: Callable[[Random, str], dict[str, Any]]  # the text is that of an inner strategy


def declared(kind: str) -> list[Any]:
    """Collect the lists of one kind, file after file by their names."""
    found = []
    for path in sorted((ROOT / "tests" / "strategies").glob("test_*.py")):
        if f"\n{kind} = [" in path.read_text(encoding="utf-8"):
            found += _names_of(path)[kind]
    return found


@cache
def _names_of(path: Path) -> dict[str, Any]:
    return run_path(str(path))


def named_alone() -> list[str]:
    """Names of the strategies of our own that need no parameters."""
    own = {name: made for name, made in STRATEGIES.items() if "/" in name}
    return [name for name, made in own.items() if not any(p.is_needed for p in made.parameters)]
