"""What scenarios come to: the figures of every unit, each worked out once however many units share it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Owners
from rmqalloc.evaluation.balance import balance, cross_room
from rmqalloc.evaluation.before import Before
from rmqalloc.evaluation.equivalence import EquivalenceClasses
from rmqalloc.evaluation.movement import movement_of
from rmqalloc.evaluation.rows import Bad
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, ranges
from rmqalloc.scenarios import Rules, Scenario
from rmqalloc.scenarios.apply import changed, concerned
from rmqalloc.scenarios.subfleet import part_of, unmoved

Columns = dict[str, NDArray[Any]]
Places = NDArray[np.int64]


class Outcome(NamedTuple):
    """Units that were worked out together.

    Attributes
    ----------
    figures : dict of str to ndarray
        The numbers of `rmqalloc.evaluation.plan_batch.PLAN_SCHEMA`, one per unit; ``cross_room`` only where rooms are known.
    rules : Rules
        Their strategies.
    owners : ndarray of int32
        Of all their sorted queues, as positions in the sorted client lists.
    offsets : ndarray of int64
        Where the owners of each unit begin and end.
    bad : dict of int to Reason
        Units that could not be assigned; their figures mean nothing.
    """

    figures: Columns
    rules: Rules
    owners: Owners
    offsets: Offsets
    bad: Bad


class Placed(NamedTuple):
    """Which unit has which place in an outcome."""

    outcome: Outcome
    units: Places
    places: Places


class Outcomes:
    """Some units before any change, and what scenarios make of them.

    Parameters
    ----------
    before : Before
        Units that can be assigned.

    Attributes
    ----------
    rows : ndarray of int64
        Their rows.
    current : Placed
        All of them before any change.
    """

    def __init__(self, before: Before) -> None:
        units, self._assigner, self._owners, _ = before
        self._fleet, self._rules, self.rows = units.fleet, units.rules, units.rows
        self._kinds = EquivalenceClasses(self._fleet, self._rules)
        self._last: tuple[Places, Fleet] | None = None
        self.current = self._current()

    def _current(self) -> Placed:
        """All units before any change."""
        everyone = np.arange(self._fleet.n_units)
        units, kinds = self._kinds.among(everyone)
        fleet, owners = self._part(units), self._owners_of(units)
        figures = _figures(fleet, owners, fleet, owners, unmoved(fleet))
        outcome = Outcome(figures, self._rules.part_of(units), owners, fleet.queue_offsets, {})
        return Placed(outcome, everyone, kinds)

    def of(self, scenario: Scenario) -> Placed | None:
        """What a scenario makes of the units that it changes; None if it changes none.

        Raises
        ------
        TypeError
            It asks for a machine room, or its strategy does, and the fleet does not know the rooms.
        """
        chosen = np.flatnonzero(concerned(scenario, self._fleet))
        kinds: Places | None = None
        units = chosen
        if self._kinds.stay(scenario):
            units, kinds = self._kinds.among(chosen)
        found = self._changed(scenario, units)
        if found is None:
            return None
        outcome, which = found
        if kinds is None:
            return Placed(outcome, chosen[which], np.arange(which.size))
        if which.size == units.size:
            return Placed(outcome, chosen, kinds)
        place = np.full(units.size, -1)
        place[which] = np.arange(which.size)
        there = place[kinds] >= 0
        return Placed(outcome, chosen[there], place[kinds[there]])

    def _changed(self, scenario: Scenario, units: Places) -> tuple[Outcome, Places] | None:
        """The outcome of some units, each on its own, and which of them it holds: all that have changed, or all."""
        fleet, rules = self._part(units), self._rules.part_of(units)
        after = changed(scenario, fleet, rules)
        which = np.flatnonzero(after.units)
        if not which.size:
            return None
        renamed, after_fleet, after_rules = after.renamed, after.fleet, after.rules
        if which.size <= units.size // 2:
            units, renamed = units[which], renamed[ranges(fleet.client_offsets[which], fleet.n_clients[which])]
            fleet, after_fleet, after_rules = (
                part_of(fleet, which),
                part_of(after_fleet, which),
                after_rules.part_of(which),
            )
        else:  # it is quicker to work out the others once more than to leave them out
            which = np.arange(units.size)
        owners, bad = self._assigner.owners(after_fleet, after_rules)
        figures = _figures(fleet, self._owners_of(units), after_fleet, owners, renamed)
        return Outcome(figures, after_rules, owners, after_fleet.queue_offsets, bad), which

    def _part(self, units: Places) -> Fleet:
        """Some units alone; the last ones are kept, for many scenarios concern one of each kind."""
        if units.size == self._fleet.n_units:
            return self._fleet
        if self._last is None or self._last[0] is not units:
            self._last = units, part_of(self._fleet, units)
        return self._last[1]

    def _owners_of(self, units: Places) -> Owners:
        """Owners of the queues of some units before any change."""
        if units.size == self._fleet.n_units:
            return self._owners
        return self._owners[ranges(self._fleet.queue_offsets[units], self._fleet.n_queues[units])]


def outcome_of(before: Before, scenario: Scenario) -> Outcome:
    """What a scenario makes of units that cannot be assigned before it; queues that get an owner have moved, as from nobody."""
    changed, owners, bad = before.after(scenario)
    figures = _figures(before.units.fleet, before.owners, changed.fleet, owners, changed.renamed)
    return Outcome(figures, changed.rules, owners, changed.fleet.queue_offsets, bad)


def _figures(before: Fleet, owners_before: Owners, after: Fleet, owners_after: Owners, renamed: Index) -> Columns:
    """All figures of one allocation, and of what it changes of another."""
    figures = balance(after, owners_after)._asdict()
    figures |= movement_of(before, owners_before, after, owners_after, renamed)._asdict()
    if after.client_lists.slot_room is not None and after.queue_lists.route_room is not None:
        figures["cross_room"] = cross_room(after, owners_after)
    return figures
