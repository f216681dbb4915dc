"""The one evaluator: units × scenarios → owners, balance and movement of every unit in every state.

A state is the fleet before any change, or after one scenario. Every "what if" reads an
`Evaluation`: the figures of `plan_batch`, owners by name, plans of snapshots, comparisons. Its
principles, the most important first:

1. The result of a unit depends on this unit alone. A bad row does not affect other rows; bad rows
   are found before they are evaluated.
2. Each distinct unit is assigned once in each state. Units that must give equal results
   (`EquivalenceClasses`) are evaluated as one, and in a stream of batches once (`KeptOutcomes`); a
   unit that a scenario does not change keeps its outcome from before. So a state is a few layers,
   each an `Outcome` and the places of units in it, and owners of a unit are found by a gather.
3. Names cost time only if they are read. The fleet after a scenario is completed only when its
   names are read (`EvaluatedUnits.fleet`).

Before any change, units are in three parts: units with distinct client ids, units with repeated or
empty ids (which take slower paths), and units that cannot be assigned. Queues of the last part are
unowned until a scenario makes their units assignable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation._equivalence import EquivalenceClasses
from rmqalloc.evaluation.assigner import Assigner, Owners, owners_of_units
from rmqalloc.evaluation.balance import balance, cross_room
from rmqalloc.evaluation.movement import movement_of
from rmqalloc.evaluation.row_check import Bad, Read, ReadUnits, empties
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, among, offsets_of, take_stretches
from rmqalloc.lazy import lazy_property
from rmqalloc.scenarios.subfleet import Changed, Rules, among_others, subfleet, unmoved
from rmqalloc.strategies import Strategy

if TYPE_CHECKING:
    from rmqalloc.scenarios import Scenario

MAX_KEPT = 1 << 23
"""Most numbers of outcomes, owners and figures, that are kept for further batches."""

Columns = dict[str, NDArray[Any]]
Positions = NDArray[np.int64]
Named = tuple[Fleet, Rules]


class Outcome(NamedTuple):
    """Units that were evaluated together, no two of which must give equal results."""

    # The numbers of `rmqalloc.evaluation.PLAN_SCHEMA`, one per unit; ``cross_room`` only where
    # rooms are known.
    figures: Columns
    rules: Rules  # their strategies
    owners: Owners  # of all their sorted queues, as positions in the sorted client lists
    offsets: Offsets  # where the owners of each unit begin and end
    bad: Bad  # units that could not be assigned; their figures mean nothing


class Layer(NamedTuple):
    """Which unit has which place in an outcome."""

    outcome: Outcome
    units: Positions
    kinds: Positions  # the kind of each of them
    of_kind: Positions  # the place of each kind
    by_kind: bool  # whether kinds are those of all units before any change

    @property
    def places(self) -> Positions:
        """The place of each unit."""
        return self.of_kind[self.kinds]

    @property
    def bad(self) -> Bad:
        """Units that could not be assigned."""
        if not self.outcome.bad:
            return {}
        places = self.places
        some = np.flatnonzero(among(places, self.outcome.bad))
        pairs = zip(self.units[some].tolist(), places[some].tolist(), strict=True)
        return {unit: self.outcome.bad[place] for unit, place in pairs}


@dataclass(frozen=True, eq=False)
class EvaluatedUnits:
    """Some units in one state."""

    rows: Positions  # their rows
    # Their outcomes; where several have a unit the last one counts. None of units that cannot be
    # assigned before any change.
    layers: Sequence[Layer]
    bad: Bad  # units that could not be assigned
    _make: Callable[[], Named]

    @lazy_property
    def _made(self) -> Named:
        return self._make()

    @property
    def fleet(self) -> Fleet:
        """All the units in this state, in Java's order."""
        return self._made[0]

    @property
    def rules(self) -> Rules:
        """Their strategies."""
        return self._made[1]

    @property
    def good(self) -> Positions:
        """Units that could be assigned."""
        return np.delete(np.arange(self.rows.size), list(self.bad))

    @lazy_property
    def owners(self) -> Owners:
        """Owners of all queues of ``fleet`` as positions in its client lists, -1 for an unowned
        queue.
        """
        if not self.layers:
            return np.full(int(self.fleet.queue_offsets[-1]), -1, np.int32)
        starts, begin = np.empty(self.rows.size, np.int64), 0
        for layer in self.layers:
            starts[layer.units] = layer.outcome.offsets[layer.places] + begin
            begin += int(layer.outcome.offsets[-1])
        owners = [layer.outcome.owners for layer in self.layers]
        if len(owners) == 1 and np.array_equal(starts, self.fleet.queue_offsets[:-1]):
            return owners[0]
        return take_stretches(np.concatenate(owners), starts, self.fleet.queue_offsets)


@dataclass(frozen=True)
class ScenarioState:
    """All units in one state: before any change, or after a scenario."""

    # At least one of units that can be assigned before any change; the parts are the same units in
    # every state
    parts: tuple[EvaluatedUnits, ...]


class Evaluation(NamedTuple):
    """Units in every state."""

    states: list[ScenarioState]  # that before any change, and one for every scenario
    spoiled: Bad  # rows that are in no state: no scenario can cure them


class KeptOutcomes:
    """Outcomes of units after scenarios, by their numbers of queues and clients, kept from batch to
    batch.

    They hold for units of one strategy that reads nothing else, and scenarios that do the same to
    all units of a kind. A fleet has few kinds, and most of them come in every batch. Threads may
    share them: what is kept is replaced, never changed.
    """

    def __init__(self, rule: Strategy, n_scenarios: int) -> None:
        self.rule = rule
        self._most = MAX_KEPT // max(n_scenarios, 1)
        # Of each scenario the kinds, ascending, their places, and the outcome
        self._kept: dict[str, tuple[Positions, Positions, Outcome]] = {}

    def of(
        self, scenario: str, kinds: Positions, make: Callable[[Positions], Outcome]
    ) -> tuple[Outcome, Positions]:
        """Return an outcome, and the places of kinds in it; ``make`` makes the kinds that are not
        kept, by position.
        """
        if scenario in self._kept:
            known, places, outcome = self._kept[scenario]
            at = np.searchsorted(known, kinds)
            missing = np.flatnonzero(known.take(at, mode="clip") != kinds)
            if not missing.size:
                return outcome, places[at]
            unsorted = np.append(known[np.argsort(places)], kinds[missing])
            outcome = _joined(outcome, make(missing))
        else:
            unsorted, outcome = kinds, make(np.arange(kinds.size))
        places = np.argsort(unsorted)
        known = unsorted[places]
        if outcome.owners.size + known.size * len(outcome.figures) <= self._most:
            self._kept[scenario] = known, places, outcome
        else:
            self._kept.pop(scenario, None)
        return outcome, places[np.searchsorted(known, kinds)]


def _joined(one: Outcome, other: Outcome) -> Outcome:
    """Return two outcomes under one strategy as one."""
    figures = {name: np.append(column, other.figures[name]) for name, column in one.figures.items()}
    n_one, n_other = (outcome.offsets.size - 1 for outcome in (one, other))
    rules = Rules(one.rules.table, np.repeat(one.rules.of_unit[:1], n_one + n_other))
    offsets = np.append(one.offsets, other.offsets[1:] + one.offsets[-1])
    bad = one.bad | {n_one + place: reason for place, reason in other.bad.items()}
    return Outcome(figures, rules, np.append(one.owners, other.owners), offsets, bad)


def evaluate(
    read: Read,
    scenarios: Sequence[Scenario],
    with_names: bool = False,
    with_figures: bool = True,
    kept: KeptOutcomes | None = None,
) -> Evaluation:
    """Work out units before any change and after every scenario.

    A good unit that a scenario leaves without clients or queues has an outcome; a unit that could
    not be assigned before needs both. ``kept`` holds outcomes of the batches before, with figures.
    """
    parts, unassigned = [], dict(read.unassigned)
    for units in read.units:
        work = _Evaluator(units, with_names, with_figures, kept)
        unassigned |= work.refused
        parts.append([work.before(), *map(work.after, scenarios)])
    if unassigned:
        parts.append(_cured(read.units_of(list(unassigned)), unassigned, scenarios, with_figures))
    return Evaluation(
        [ScenarioState(of_state) for of_state in zip(*parts, strict=True)], read.spoiled
    )


class _Evaluator:
    """Units that can be assigned before any change, and what scenarios make of them.

    Attributes
    ----------
    refused : dict of int to Reason
        By row, units that turned out to be none of those; they are left out.
    """

    def __init__(
        self, units: ReadUnits, with_names: bool, with_figures: bool, kept: KeptOutcomes | None
    ) -> None:
        self._with_names, self._with_figures, self._kept = with_names, with_figures, kept
        self._use(units)
        self._assigner = Assigner(units.fleet)
        self._owners, refused = self._assigner.owners(
            self._part(self._firsts), self._rules.select(self._firsts)
        )
        bad = np.flatnonzero(among(self._class_of, refused)) if refused else self._firsts[:0]
        self.refused: Bad = {
            int(units.rows[unit]): refused[int(self._class_of[unit])] for unit in bad.tolist()
        }
        if bad.size:
            owners = self._owners_of(np.delete(self._everyone, bad))
            self._use(units.without(bad.tolist()))
            self._owners = owners_of_units(self._fleet, owners, self._firsts)
        fleet = self._part(self._firsts)
        figures = (
            _figures(fleet, self._owners, fleet, self._owners, unmoved(fleet))
            if with_figures
            else {}
        )
        outcome = Outcome(
            figures, self._rules.select(self._firsts), self._owners, fleet.queue_offsets, {}
        )
        places = np.arange(self._firsts.size)
        self._current = Layer(outcome, self._everyone, self._class_of, places, by_kind=True)

    def _use(self, units: ReadUnits) -> None:
        self._fleet, self._rules, self._rows = units.fleet, units.rules, units.rows
        self._everyone = np.arange(self._fleet.n_units)
        self._classes = EquivalenceClasses(self._fleet, self._rules)
        if self._kept is not None and not self._classes.are_sizes_of(self._kept.rule):
            self._kept = None
        self._firsts, self._class_of = self._classes.among(self._everyone)
        self._last: tuple[Positions, Fleet] | None = None

    def before(self) -> EvaluatedUnits:
        """Return the units before any change."""
        named = self._fleet, self._rules
        return EvaluatedUnits(self._rows, (self._current,), {}, lambda: named)

    def after(self, scenario: Scenario) -> EvaluatedUnits:
        """Return the units after a scenario."""
        from rmqalloc.scenarios.applied_changes import changed, concerned

        are_concerned = concerned(scenario, self._fleet)
        chosen = self._everyone if are_concerned.all() else np.flatnonzero(are_concerned)
        alike = self._classes.stay(scenario)
        units, class_of = self._classes.among(chosen) if alike else (chosen, np.arange(chosen.size))
        if alike and chosen.size and self._kept is not None:
            return self._after_as_kept(self._kept, scenario, units, chosen, class_of)
        fleet, rules = self._part(units), self._rules.select(units)
        made = changed(scenario, fleet, rules)
        which = np.flatnonzero(made.units)
        if not which.size:
            return self.before()
        kept = made if self._with_names and units.size == chosen.size else None
        make = _names_after(scenario, self._fleet, self._rules, chosen, kept)
        if (
            which.size > units.size // 2
        ):  # it is quicker to work out the others once more than to leave them out
            place = np.arange(units.size)
            layer = Layer(self._outcome(units, fleet, made), chosen, class_of, place, alike)
        else:
            place = np.full(units.size, -1)
            place[which] = np.arange(which.size)
            there = place[class_of] >= 0
            outcome = self._outcome(
                units[which], subfleet(fleet, which), _some_changed(fleet, made, which)
            )
            layer = Layer(outcome, chosen[there], class_of[there], place, alike)
        layers = (layer,) if layer.units.size == self._rows.size else (self._current, layer)
        return EvaluatedUnits(self._rows, layers, layer.bad, make)

    def _after_as_kept(
        self,
        kept: KeptOutcomes,
        scenario: Scenario,
        units: Positions,
        chosen: Positions,
        class_of: Positions,
    ) -> EvaluatedUnits:
        """Return the units after a scenario that concerns the chosen ones; ``units`` are one of
        each kind among them.
        """

        from rmqalloc.scenarios.applied_changes import changed

        def make(missing: Positions) -> Outcome:
            fleet = self._part(units[missing])
            made = changed(scenario, fleet, self._rules.select(units[missing]))
            return self._outcome(units[missing], fleet, made)

        outcome, places = kept.of(scenario.name, self._classes.sizes[units], make)
        layer = Layer(outcome, chosen, class_of, places, by_kind=True)
        layers = (layer,) if chosen.size == self._rows.size else (self._current, layer)
        make_names = _names_after(scenario, self._fleet, self._rules, chosen, None)
        return EvaluatedUnits(self._rows, layers, layer.bad, make_names)

    def _outcome(self, units: Positions, fleet: Fleet, made: Changed) -> Outcome:
        """Return the outcome of some units, each on its own; ``fleet`` holds them before any
        change.
        """
        owners, bad = self._assigner.owners(made.fleet, made.rules)
        figures = {}
        if self._with_figures:
            figures = _figures(fleet, self._owners_of(units), made.fleet, owners, made.renamed)
        return Outcome(figures, made.rules, owners, made.fleet.queue_offsets, bad)

    def _part(self, units: Positions) -> Fleet:
        """Return some units alone; the last result is kept, as many scenarios concern one unit of
        each class.
        """
        if units.size == self._fleet.n_units:
            return self._fleet
        if self._last is None or not np.array_equal(self._last[0], units):
            self._last = units, subfleet(self._fleet, units)
        return self._last[1]

    def _owners_of(self, units: Positions) -> Owners:
        """Return the owners of the queues of some units before any change."""
        if units.size == self._firsts.size and np.array_equal(units, self._firsts):
            return self._owners
        starts = offsets_of(self._fleet.n_queues[self._firsts])[self._class_of[units]]
        return take_stretches(self._owners, starts, offsets_of(self._fleet.n_queues[units]))


def _cured(
    units: ReadUnits, unassigned: Bad, scenarios: Sequence[Scenario], with_figures: bool
) -> list[EvaluatedUnits]:
    """Evaluate units that cannot be assigned before any change; a queue that gets an owner has
    moved, as from nobody.
    """
    from rmqalloc.scenarios import apply

    fleet, rules, everyone = units.fleet, units.rules, np.arange(units.rows.size)
    nobody = np.full(int(fleet.queue_offsets[-1]), -1, np.int32)
    bad = {unit: unassigned[row] for unit, row in enumerate(units.rows.tolist())}
    states = [EvaluatedUnits(units.rows, (), bad, lambda: (fleet, rules))]
    assigner = Assigner(fleet)
    for scenario in scenarios:
        made = apply(scenario, fleet, rules)
        owners, wrong = assigner.owners(made.fleet, made.rules)
        wrong |= empties(made.fleet)
        figures = _figures(fleet, nobody, made.fleet, owners, made.renamed) if with_figures else {}
        outcome = Outcome(figures, made.rules, owners, made.fleet.queue_offsets, wrong)
        make = _names_after(scenario, fleet, rules, everyone, None)
        layer = Layer(outcome, everyone, everyone, everyone, by_kind=False)
        states.append(EvaluatedUnits(units.rows, (layer,), wrong, make))
    return states


def _names_after(
    scenario: Scenario, fleet: Fleet, rules: Rules, chosen: Positions, kept: Changed | None
) -> Callable[[], Named]:
    """Return a function that builds the whole fleet after a scenario, which concerns the chosen
    units, ``kept``, alone.
    """

    def make() -> Named:
        from rmqalloc.scenarios import apply

        if kept is None:
            made = apply(scenario, fleet, rules)
        elif chosen.size == fleet.n_units:
            made = kept
        else:
            made = among_others(fleet, rules, chosen, kept)
        return made.fleet, made.rules

    return make


def _some_changed(before: Fleet, made: Changed, units: Positions) -> Changed:
    """Return some units of a fleet that was changed."""
    offsets = offsets_of(before.n_clients[units])
    renamed = take_stretches(made.renamed, before.client_offsets[units], offsets)
    return Changed(
        subfleet(made.fleet, units), renamed, made.rules.select(units), made.units[units]
    )


def _figures(
    before: Fleet, owners_before: Owners, after: Fleet, owners_after: Owners, renamed: Index
) -> Columns:
    """Return all figures of one allocation, and of how it differs from another."""
    figures = balance(after, owners_after)._asdict()
    figures |= movement_of(before, owners_before, after, owners_after, renamed)._asdict()
    if after.client_lists.slot_room is not None and after.queue_lists.route_room is not None:
        figures["cross_room"] = cross_room(after, owners_after)
    return figures
