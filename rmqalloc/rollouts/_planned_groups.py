"""Groups of a snapshot as a fleet, from which rollouts and advice start."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc._text import named
from rmqalloc.evaluation._assigner import Assigner
from rmqalloc.evaluation._rows import ReadUnits, good_units
from rmqalloc.evidence import with_strategies
from rmqalloc.fleet import Fleet
from rmqalloc.rollouts._schedule import GroupAtStart, Mask
from rmqalloc.scenarios._subfleet import Rules, subfleet
from rmqalloc.snapshot._matching import none_planned
from rmqalloc.snapshot._snapshot import Snapshot
from rmqalloc.snapshot._units import read_units
from rmqalloc.strategies import Strategy
from rmqalloc.strategies._by_name import rule

_TWINS = "a client id of the group is empty or listed twice, which must be put right first"
_BY_ID = "the lists of CONFIG are by client id and its clients would have other ids; with stable ids it can be planned"

LeaveOut = Callable[[int, str], None]


@dataclass(frozen=True, eq=False)
class PlannedGroups:
    """Groups that can be planned.

    Attributes
    ----------
    fleet : Fleet
        A unit for every group and topic, in Java's order; the units of a group stand side by side.
    rules : Rules
        Their strategies.
    group_of : ndarray of int64, shape (n_units,)
        Position of each unit's group in ``groups``, ascending.
    groups : tuple of GroupAtStart
    written : ndarray of bool
        Whether producers write to each queue of the fleet's queue lists, laid end to end.
    warnings : tuple of str
        What is left out, and why.
    """

    fleet: Fleet
    rules: Rules
    group_of: NDArray[np.int64]
    groups: tuple[GroupAtStart, ...]
    written: Mask
    warnings: tuple[str, ...]

    def part(self, positions: Sequence[int]) -> PlannedGroups:
        """The groups at these positions, which are ascending."""
        units = np.flatnonzero(np.isin(self.group_of, positions))
        fleet, rules = subfleet(self.fleet, units), self.rules.select(units)
        group_of = np.searchsorted(positions, self.group_of[units]).astype(np.int64)
        at_start = tuple(self.groups[position] for position in positions)
        return PlannedGroups(fleet, rules, group_of, at_start, self.written, self.warnings)


def planned_groups_of(
    snapshot: Snapshot, groups: Sequence[str], topics: Sequence[str] = ("*",), stable_ids: bool = True
) -> PlannedGroups:
    """The groups that match the patterns, with their strategies.

    Parameters
    ----------
    snapshot : Snapshot
    groups, topics : sequence of str
        Patterns.
    stable_ids : bool
        Whether clients keep their ids; groups with lists by client id (CONFIG) are left out otherwise.

    Raises
    ------
    NoMatchError
        A pattern matches nothing, or no group can be planned; the message says why.
    """
    batch, warnings = read_units(with_strategies(snapshot, groups), groups, topics)
    left_out: dict[str, list[str]] = {}

    def leave_out(row: int, reason: str) -> None:
        name = f"{batch.column('consumer_group')[row]} on {batch.column('topic')[row]}"
        left_out.setdefault(reason, []).append(name)

    units = _assignable_units(batch, leave_out, stable_ids)
    reasons = (f"left out: {named(names)}: {reason}" for reason, names in left_out.items())
    warnings = (*warnings, *reasons)
    if not units.fleet.n_units:
        raise none_planned(warnings)
    names = units.fleet.consumer_groups.to_list()
    positions = {name: position for position, name in enumerate(dict.fromkeys(names))}
    group_of = np.array([positions[name] for name in names], np.int64)
    firsts = np.unique(group_of, return_index=True)[1].tolist()
    at_start = tuple(_group_at_start(units.fleet, unit) for unit in firsts)
    return PlannedGroups(units.fleet, units.rules, group_of, at_start, _written(units.fleet, snapshot), warnings)


def _written(fleet: Fleet, snapshot: Snapshot) -> Mask:
    """Which queues producers write to: those of writable brokers, up to their number of write queues."""
    lists = fleet.queue_lists
    numbers = {
        (topic.name, one.broker_name): one.n_written_queues for topic in snapshot.topics for one in topic.brokers
    }
    topics, brokers = fleet.topics.to_list(), fleet.brokers.to_list()
    pairs = zip(lists.route_topic.tolist(), lists.route_broker.tolist(), strict=True)
    of_route = np.array([numbers[topics[topic], brokers[broker]] for topic, broker in pairs], np.int64)
    return first_queues(fleet, of_route)


def first_queues(fleet: Fleet, of_route: NDArray[np.int64]) -> Mask:
    """The queues of the fleet's lists whose ids are below a number of their route."""
    lists = fleet.queue_lists
    kept: Mask = lists.queue_ids < of_route[lists.queue_route]
    return kept


def _assignable_units(batch: pa.RecordBatch, leave_out: LeaveOut, stable_ids: bool) -> ReadUnits:
    """Units that their strategies can assign; the reasons of others are reported."""
    own = ("strategy", "virtual_nodes", "strategy_params")
    parts, bad = good_units(batch.drop_columns(list(own)), rule("AVG"), {})
    for row, reason in bad.items():
        leave_out(row, reason.text)
    for part in parts[1:]:
        for row in part.rows.tolist():
            leave_out(row, _TWINS)
    units = parts[0]
    rows = pa.table([batch.column(name).take(pa.array(units.rows)) for name in own], list(own)).to_pylist()
    kinds = {json.dumps(row): row for row in rows}
    table, reasons = [], {}
    for kind, row in kinds.items():
        try:
            table.append(_rule(units.fleet, stable_ids, **row))
        except (ValueError, TypeError) as error:
            table.append(rule("AVG"))
            reasons[kind] = str(error)
    numbers = {kind: number for number, kind in enumerate(kinds)}
    wrong = {unit: reasons[json.dumps(row)] for unit, row in enumerate(rows) if json.dumps(row) in reasons}
    rules = Rules(tuple(table), np.array([numbers[json.dumps(row)] for row in rows], np.int32))
    units = ReadUnits(units.fleet, rules, units.rows)
    refused = Assigner(units.fleet).owners(units.fleet, rules)[1] if rows else {}
    wrong |= {unit: reason.text for unit, reason in refused.items()}
    for unit, text in wrong.items():
        leave_out(int(units.rows[unit]), text)
    return units.without(list(wrong)) if wrong else units


def _rule(
    fleet: Fleet, stable_ids: bool, strategy: str, virtual_nodes: int | None, strategy_params: str | None
) -> Strategy:
    """The strategy of a row, if the fleet has what it needs."""
    made = rule(strategy, **(json.loads(strategy_params) if strategy_params else {}))
    if made.is_listed and not stable_ids:
        raise ValueError(_BY_ID)
    made.fleet_errors(fleet.select(np.zeros(0, np.int64)))
    return made if virtual_nodes is None else made.with_virtual_nodes(virtual_nodes)


def _group_at_start(fleet: Fleet, unit: int) -> GroupAtStart:
    ids = fleet.client_ids_of(unit)
    lists, start = fleet.client_lists, int(fleet.slot_starts[unit])
    rooms = [-1] * len(ids) if lists.slot_room is None else lists.slot_room[start : start + len(ids)].tolist()
    return GroupAtStart(fleet.consumer_group(unit), ids, rooms)
