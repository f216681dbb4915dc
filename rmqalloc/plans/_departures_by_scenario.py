"""What the departure of every single client moves in groups whose clients compute a strategy
differently, by their languages.

No allocation of one view answers for them, so every departure is planned as a scenario behind the
one that it follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.ownership.states import States, numbered
from rmqalloc.ownership.unit_figures import mixed_figures
from rmqalloc.plans.evaluate_views import evaluate_views
from rmqalloc.scenarios import RemoveClients, Scenario
from rmqalloc.views.view_rows import ViewUnits

_AT_ONCE = 64


class Departure(NamedTuple):
    """What one client that leaves a group moves, over all its topics."""

    consumer_group: str
    client_id: str
    moved: int
    least_moves: int


def split_groups(read: ViewUnits) -> set[str]:
    """Return groups with clients of several dialects, where that makes a difference."""
    names, dialects = read.batch.column("consumer_group"), dict[str, set[str | None]]()
    for row in read.mixed.unit_of if read.dialects else ():
        dialects.setdefault(names[row].as_py(), set()).add(read.dialects.get(row))
    return {name for name, each in dialects.items() if len(each) > 1}


def mixed_departures(
    read: ViewUnits, scenario: Scenario, clients: Mapping[str, Sequence[str]]
) -> Iterator[Departure]:
    """Yield the departures of clients from the state behind a scenario."""
    names = read.units.column("consumer_group").to_pylist()
    every = [*dict.fromkeys(one for ids in clients.values() for one in ids)]
    for some in (every[start : start + _AT_ONCE] for start in range(0, len(every), _AT_ONCE)):
        gone = (
            Scenario(f"{number} leaves", (*scenario.changes, RemoveClients(ids=(one,))))
            for number, one in enumerate(some, start=1)
        )
        states = evaluate_views(read, PlanSpec(scenarios=(scenario, *gone))).states
        found = numbered(states, read.n_units, read.mixed)
        for number, one in enumerate(some, start=2):
            sums = _sums(found, number, [one in clients.get(name, ()) for name in names], names)
            yield from (Departure(name, one, *figures) for name, figures in sums.items())


def _sums(
    found: States, number: int, has_it: list[bool], names: list[str]
) -> dict[str, tuple[int, int]]:
    """Return moved and least moves from the first scenario to another, by group."""
    _, before, *_ = found.states
    after = found.states[number]
    sums: dict[str, tuple[int, int]] = {}
    for row, unit in found.mixed.items():
        if has_it[row] and before.good[row] and after.good[row]:
            figures = mixed_figures(unit, before.units[row], after.units[row], found.numbers.sets)
            moved, least = sums.get(names[row], (0, 0))
            sums[names[row]] = moved + figures["moved"], least + figures["least_moves"]
    return sums
