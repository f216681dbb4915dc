"""Groups of a snapshot as a fleet from which rollouts start."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.snapshot.model import Snapshot
from rmqalloc.snapshot.units import none_planned, read_units
from rmqalloc.strategies import Strategy
from rmqalloc.text import named
from rmqalloc.whatif.planning.owners import Assigner
from rmqalloc.whatif.planning.units import Units
from rmqalloc.whatif.planning.units import read_units as read_rows
from rmqalloc.whatif.rollout.course import Cast
from rmqalloc.whatif.rules import rule, with_virtual_nodes
from rmqalloc.whatif.scenarios.parts import Rules, part_of

_TWINS = "a client id of the group is empty or listed twice, which must be put right first"

Tell = Callable[[int, str], None]


@dataclass(frozen=True, eq=False)
class Ground:
    """Groups that can be planned.

    Attributes
    ----------
    fleet : Fleet
        A unit for every group and topic, in Java's order; the units of a group stand side by side.
    rules : Rules
        Their strategies.
    group_of : ndarray of int64, shape (n_units,)
        Place of each unit's group in ``casts``, ascending.
    casts : tuple of Cast
    warnings : tuple of str
        What is left out, and why.
    """

    fleet: Fleet
    rules: Rules
    group_of: NDArray[np.int64]
    casts: tuple[Cast, ...]
    warnings: tuple[str, ...]

    def part(self, first: int, stop: int) -> Ground:
        """The groups from the place ``first`` to before ``stop`` alone."""
        units = np.flatnonzero((self.group_of >= first) & (self.group_of < stop))
        fleet, rules = part_of(self.fleet, units), self.rules.part_of(units)
        return Ground(fleet, rules, self.group_of[units] - first, self.casts[first:stop], self.warnings)


def ground_of(snapshot: Snapshot, groups: Sequence[str], topics: Sequence[str] = ("*",)) -> Ground:
    """The groups that match the patterns, with their strategies.

    Raises
    ------
    NoMatch
        A pattern matches nothing, or no group can be planned; the message says why.
    """
    batch, warnings = read_units(snapshot, groups, topics)
    left_out: dict[str, list[str]] = {}

    def tell(row: int, reason: str) -> None:
        name = f"{batch.column('consumer_group')[row]} on {batch.column('topic')[row]}"
        left_out.setdefault(reason, []).append(name)

    units = _good_units(batch, tell)
    left = (f"left out: {named(names)}: {reason}" for reason, names in left_out.items())
    told = (*warnings, *left)
    if not units.fleet.n_units:
        raise none_planned(told)
    names = units.fleet.consumer_groups.to_list()
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    group_of = np.array([places[name] for name in names], np.int64)
    firsts = np.unique(group_of, return_index=True)[1].tolist()
    casts = tuple(_cast(units.fleet, unit) for unit in firsts)
    return Ground(units.fleet, units.rules, group_of, casts, told)


def _good_units(batch: pa.RecordBatch, tell: Tell) -> Units:
    """Units that their strategies can assign; the others are told."""
    own = ("strategy", "virtual_nodes", "strategy_params")
    parts, bad = read_rows(batch.drop_columns(list(own)), rule("AVG"), {})
    for row, reason in bad.items():
        tell(row, reason.text)
    for part in parts[1:]:
        for row in part.rows.tolist():
            tell(row, _TWINS)
    units = parts[0]
    rows = pa.table([batch.column(name).take(pa.array(units.rows)) for name in own], list(own)).to_pylist()
    kinds = {json.dumps(row): row for row in rows}
    table, reasons = [], {}
    for kind, row in kinds.items():
        try:
            table.append(_rule(units.fleet, **row))
        except (ValueError, TypeError) as error:
            table.append(rule("AVG"))
            reasons[kind] = str(error)
    numbers = {kind: number for number, kind in enumerate(kinds)}
    wrong = {unit: reasons[json.dumps(row)] for unit, row in enumerate(rows) if json.dumps(row) in reasons}
    rules = Rules(tuple(table), np.array([numbers[json.dumps(row)] for row in rows], np.int32))
    units = Units(units.fleet, rules, units.rows)
    refused = Assigner(units.fleet).owners(units.fleet, rules)[1] if rows else {}
    wrong |= {unit: reason.text for unit, reason in refused.items()}
    for unit, text in wrong.items():
        tell(int(units.rows[unit]), text)
    return units.without(list(wrong)) if wrong else units


def _rule(fleet: Fleet, strategy: str, virtual_nodes: int | None, strategy_params: str | None) -> Strategy:
    """The strategy of a row, if the fleet has what it needs."""
    made = rule(strategy, **(json.loads(strategy_params) if strategy_params else {}))
    made.fleet_errors(fleet.select(np.zeros(0, np.int64)))
    return made if virtual_nodes is None else with_virtual_nodes(made, virtual_nodes)


def _cast(fleet: Fleet, unit: int) -> Cast:
    ids = fleet.client_ids_of(unit)
    lists, start = fleet.client_lists, int(fleet.slot_starts[unit])
    rooms = [-1] * len(ids) if lists.slot_room is None else lists.slot_room[start : start + len(ids)].tolist()
    return Cast(fleet.consumer_group(unit), ids, rooms)
