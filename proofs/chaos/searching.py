"""Playing schedules one after the other, and keeping what breaks an invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from chaos.findings import cause_of
from chaos.recording import Record, play
from chaos.rules import Violation, violations
from chaos.schedules import Data, schedule
from chaos.shrinking import Shrinker

EXAMPLES = 4
"""How many scripts of each finding are made small; the smallest is shown."""


class Kind(NamedTuple):
    """A way to fail: an invariant, and the known cause if there is one."""

    rule: str
    finding: str | None


class Failure(NamedTuple):
    """A script that breaks an invariant, and the first violation."""

    data: Data
    violation: Violation


@dataclass
class Totals:
    """What a search found.

    Attributes
    ----------
    n_schedules, n_events : int
        Scripts played, and events in them.
    hours : float
        Virtual hours.
    seen : Counter of Kind
        Scripts in which a way to fail was met.
    first : dict of Kind to list of Failure
        The first scripts of each.
    """

    n_schedules: int = 0
    n_events: int = 0
    hours: float = 0.0
    seen: Counter[Kind] = field(default_factory=Counter)
    first: dict[Kind, list[Failure]] = field(default_factory=dict)

    @property
    def failed(self) -> list[Kind]:
        """Return the ways to fail that have no known cause."""
        return [kind for kind in self.seen if kind.finding is None]


def search(seeds: Iterable[int]) -> Totals:
    """Play the schedules of these seeds."""
    totals = Totals()
    for seed in seeds:
        data = schedule(seed)
        record = play(data)
        _count(totals, data, record)
        for kind, violation in kinds_of(record).items():
            totals.seen[kind] += 1
            if len(first := totals.first.setdefault(kind, [])) < EXAMPLES:
                first.append(Failure(data, violation))
    return totals


def kinds_of(record: Record) -> dict[Kind, Violation]:
    """Return the ways in which a record fails, each with its first violation."""
    found: dict[Kind, Violation] = {}
    for violation in violations(record):
        cause = cause_of(record, violation)
        found.setdefault(Kind(violation.rule, None if cause is None else cause.name), violation)
    return found


def smallest(kind: Kind, failures: Iterable[Failure]) -> Failure:
    """Return the smallest script found that fails in this way.

    Raises
    ------
    ValueError
        There is no failure to begin with.
    """

    def fails(data: Data) -> bool:
        return kind in kinds_of(play(data))

    small = [Shrinker(fails).smallest(one.data) for one in failures]
    least = min(small, key=_size) | {"name": "-".join(filter(None, kind))}
    return Failure(least, kinds_of(play(least))[kind])


def _size(data: Data) -> tuple[int, int, int]:
    return len(data["events"]), len(str(data)), data["groups"][0]["clients"]


def _count(totals: Totals, data: Data, record: Record) -> None:
    totals.n_schedules += 1
    totals.n_events += len(data["events"])
    totals.hours += record.until / 3_600_000
