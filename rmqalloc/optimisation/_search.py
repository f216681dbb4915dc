"""The search for the best ways: all of them if they are few enough, else a local search.

In the order of goals: no figure that is not computed, for every way that is considered is replayed;
the exact front if the budget covers all ways; the same answer for the same seed. The local search
begins with the orders that people would think of, in all settings, and goes on from the ways that
nothing betters so far, by one exchange of clients or one change of the setting at a time. What it
finds need not be the true front: better ways may exist, and the result says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evidence.method import Method
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.optimisation._acts import Act, GroupChange
from rmqalloc.optimisation._ways import Choices, Orders, Way
from rmqalloc.optimisation.goals import Figures, Steps, excess, non_dominated
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import GroupAtStart, InapplicableError, Schedule

AT_ONCE = 128
"""Ways that are replayed as one fleet."""

GENERATION = 64
"""Ways that the local search tries before it looks at the front again."""

Exact = NDArray[np.bool_]


class Evaluator(NamedTuple):
    """Replay ways to change one group."""

    planned: PlannedGroups
    change: GroupChange
    rules: list[Method]  # the strategies 1, 2, ... of `Way`
    goals: tuple[str, ...]
    step_seconds: float

    def figures(self, ways: Sequence[Way]) -> tuple[Figures, Exact]:
        """Return the figures of all ways, and which are exact; NaN for a way that is too large to
        be replayed.
        """
        figures = np.full((len(ways), len(self.goals)), np.nan)
        exact = np.ones(figures.shape, bool)
        for start in range(0, len(ways), AT_ONCE):
            some = ways[start : start + AT_ONCE]
            acts = [self.change.acts_of(way) for way in some]
            try:
                rollout = self.rollout(some, acts)
            except InapplicableError:
                continue
            # A way that was skipped has no rows.
            played = [int(name) for name in rollout.totals["consumer_group"].to_pylist()]
            begins = [
                flag
                for number in played
                for flag in (False, *(act.begins_batch for act in acts[number]))
            ]
            steps = Steps.of(rollout.steps, begins, self.step_seconds)
            rows = start + np.array(played, np.int64)
            figures[rows], exact[rows] = steps.figures(self.goals), steps.are_exact(self.goals)
        return figures, exact

    def rollout(self, ways: Sequence[Way], acts: Sequence[list[Act]]) -> Rollout:
        """Replay copies of the group, each changed in its own way; copies are called 0, 1, ..."""
        copies = _copies(self.planned, len(ways))

        def schedule_of(copy: GroupAtStart) -> Schedule:
            number = int(copy.consumer_group)
            return self.change.schedule_of(ways[number], acts[number])

        return play_schedules(
            copies, schedule_of, rules=self.rules, variants=self.change.numbers.variants
        )


def _copies(planned: PlannedGroups, n: int) -> PlannedGroups:
    """Return one group several times, as groups that are called 0, 1, ..."""
    n_units = planned.fleet.n_units
    units = np.tile(np.arange(n_units), n)
    return PlannedGroups(
        units_alone(planned.fleet, units),
        planned.rules.select(units),
        np.tile(planned.owners, n),
        np.repeat(np.arange(n), n_units),
        tuple(planned.groups[0]._replace(consumer_group=str(number)) for number in range(n)),
        planned.written,
        (),
    )


class Tried:
    """The ways that were tried, with their figures, and the best of them.

    Attributes
    ----------
    ways : list of Way
    figures, exact : ndarray, shape (n_ways, n_goals)
        As of `Evaluator.figures`.
    best : ndarray of int64
        The Pareto front of those within the bounds, in the order of their figures; while no way is
        within the bounds, the front of those that exceed them least.
    """

    def __init__(self, evaluator: Evaluator, n_goals: int, bounds: Mapping[str, float]) -> None:
        self.ways: list[Way] = []
        self.figures = np.zeros((0, len(evaluator.goals)))
        self.exact = np.zeros(self.figures.shape, bool)
        self.best = np.zeros(0, np.int64)
        self._seen: set[Way] = set()
        self._evaluator, self._n_goals, self._bounds = evaluator, n_goals, bounds

    def __contains__(self, way: object) -> bool:
        return way in self._seen

    def __len__(self) -> int:
        return len(self.ways)

    def add(self, ways: Iterable[Way]) -> None:
        """Try some more, none of which was tried."""
        new = list(ways)
        self._seen.update(new)
        figures, exact = self._evaluator.figures(new)
        pool = np.append(self.best, np.arange(len(self.ways), len(self.ways) + len(new)))
        self.ways += new
        self.figures, self.exact = (
            np.concatenate([self.figures, figures]),
            np.concatenate([self.exact, exact]),
        )
        over = np.where(self.replayed[pool], self.excess[pool].sum(axis=1), np.inf)
        pool = pool[(over == over.min(initial=np.inf)) & np.isfinite(over)]
        self.best = pool[non_dominated(self.figures[pool, : self._n_goals])]

    @property
    def replayed(self) -> Exact:
        """Return which of them could be replayed."""
        possible: Exact = np.logical_not(np.isnan(self.figures).any(axis=1))
        return possible

    @property
    def excess(self) -> Figures:
        """Return by how much they exceed each bound."""
        return excess(self.figures, self._evaluator.goals, self._bounds)

    @property
    def within(self) -> Exact:
        """Return which of them are within all bounds."""
        kept: Exact = self.replayed & ~(self.excess > 0).any(axis=1)
        return kept


def search(tried: Tried, choices: Choices, orders: Orders, evaluations: int, seed: int) -> None:
    """Try all ways, or as many as ``evaluations`` if they are more."""
    if choices.n_ways <= evaluations:
        tried.add(choices.all_ways())
        return
    random = Random(seed)
    tried.add(islice(_structured(choices, orders, random), max(1, evaluations // 2)))
    while left := evaluations - len(tried):
        children = _children(tried, choices, random, min(left, GENERATION))
        if not children:
            return
        tried.add(children)


def _structured(choices: Choices, orders: Orders, random: Random) -> Iterator[Way]:
    """Yield all settings in every structured order, each way once."""
    settings = list(choices.settings)
    random.shuffle(settings)  # if they are more than can be tried, a fair part of them is
    found: set[Way] = set()
    in_turn = list(orders.values())
    for shift in range(len(in_turn)):
        for place, setting in enumerate(settings):  # every order gets its part from the first
            way = choices.ordered(setting, in_turn[(place + shift) % len(in_turn)](setting.batch))
            if way not in found:
                found.add(way)
                yield way


def _children(tried: Tried, choices: Choices, random: Random, most: int) -> list[Way]:
    """Return untried neighbours of the best ways; fall back to random ways; empty when none is
    left.
    """
    parents = [tried.ways[one] for one in tried.best] or tried.ways

    def near() -> Way:
        return choices.neighbour(random.choice(parents), random)

    def anywhere() -> Way:
        return choices.ordered(
            random.choice(choices.settings), random.sample(range(choices.n_now), choices.n_now)
        )

    for draw in (near, anywhere):
        children = {way: None for way in (draw() for _ in range(8 * most)) if way not in tried}
        if children:
            return list(children)[:most]
    return []


def order_name(choices: Choices, way: Way, orders: Orders) -> str:
    """Return the name of an order: ``any`` if it does not matter, ``own`` if it has no name."""
    if len(choices.blocks(way)) == 1:
        return "any"
    named = (
        name
        for name, order in orders.items()
        if choices.ordered(way, order(way.batch)).order == way.order
    )
    return next(named, "own")
