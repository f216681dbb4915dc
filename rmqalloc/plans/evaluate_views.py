"""Evaluation of views: most views with the scenarios as they are, four kinds of views with adapted
scenarios.

A scenario chooses among all clients of a group which clients leave, and invents names for clients
that join; every client list of a broker then loses and gains the same clients. So views of whole
lists are evaluated first. Views of a part of a list follow, with the resulting lists and the
remaining changes of the scenario. Clients that all read every queue do so under any strategy.
Clients of another language compute their own version of the named strategy. A client with a stale
route may see a broker that its topic has left: a scenario that brings the broker back states the
machine room of the broker, and this client knows the room as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation.batch_planning import PlanSpec, too_large_rows
from rmqalloc.evaluation.evaluate import Evaluation, ScenarioState, evaluate
from rmqalloc.evaluation.row_check import Bad, ErrCode, Reason, read_batch
from rmqalloc.evidence.other_dialects import as_set, method_set
from rmqalloc.evidence.views.view_rows import ViewUnits
from rmqalloc.fleet.columns import among, distinct
from rmqalloc.scenarios import (
    AddBroker,
    AddClients,
    LoseMachineRoom,
    RemoveClients,
    ScaleClients,
    Scenario,
    SetStrategy,
    SetVirtualNodes,
)
from rmqalloc.scenarios.scenario import Change
from rmqalloc.strategies.dialects import JAVA
from rmqalloc.text import matcher

Rows = NDArray[np.int64]


class _Members(NamedTuple):
    """The clients of a unit in one state, with their machine rooms."""

    n_of: Counter[str]
    room_of: Mapping[str, str | None]


def evaluate_views(read: ViewUnits, spec: PlanSpec) -> Evaluation:
    """Evaluate all views of units before any change and after every scenario."""
    large = too_large_rows(read.batch, spec)
    mixed, dialects, scenarios = read.mixed, read.dialects, spec.scenarios
    shared = sorted(row for row, shared in mixed.shared.items() if shared.pop_share is None)
    read_by_all = np.array(shared, np.int64)
    partial = np.array(sorted(mixed.partial), np.int64)
    brought_back, unseen = _brought_back(read, scenarios), _unseen(read, scenarios)
    is_mixed = partial.size or read_by_all.size or dialects or brought_back or unseen
    if not is_mixed:
        return evaluate(read_batch(read.batch, spec.rule(), large), scenarios, with_names=True)
    work = _Work(read.batch, spec, large, Bad(), brought_back)
    rows = np.arange(read.batch.num_rows)
    others = rows[~among(rows, np.append(partial, read_by_all))]
    is_alone = among(others, unseen)
    alone, others = others[is_alone], others[~is_alone]
    is_stale = among(others, brought_back)
    stale, others = others[is_stale], others[~is_stale]
    parts = []
    for dialect, some in _by_dialect(others, dialects):
        parts.append(work.evaluated(some, _in_dialect(scenarios, dialect)))
    for dialect, some in _by_dialect(stale, dialects):
        parts.append(work.evaluated_with_rooms(some, _in_dialect(scenarios, dialect)))
    for row in alone.tolist():
        in_rooms = _in_rooms(scenarios, unseen[row])
        set_up = _in_dialect(in_rooms, dialects.get(row, JAVA))
        parts.append(work.evaluated_with_rooms(np.array([row], np.int64), set_up))
    if read_by_all.size:
        rest = [
            _with_changes(scenario, _but_for_strategies(scenario.changes)) for scenario in scenarios
        ]
        parts.append(work.evaluated(read_by_all, rest))
    whole = _together(parts)
    parts = [whole]
    for dialect, some in _by_dialect(partial, dialects):
        units = [mixed.unit_of[row] for row in some.tolist()]
        parts.append(_partial(work, some, units, whole, _in_dialect(scenarios, dialect)))
    return Evaluation(_together(parts), work.spoiled)


def _by_dialect(rows: Rows, dialects: Mapping[int, str]) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of every dialect."""
    found: dict[str, list[int]] = {}
    for row in rows.tolist():
        found.setdefault(dialects.get(row, JAVA), []).append(row)
    for dialect, of_dialect in found.items():
        yield dialect, np.array(of_dialect, np.int64)


def _together(parts: Sequence[Sequence[ScenarioState]]) -> list[ScenarioState]:
    """Return states of different rows as states of all."""
    found = []
    for states in zip(*parts, strict=True):
        found.append(ScenarioState(tuple(chain.from_iterable(state.parts for state in states))))
    return found


class _Work(NamedTuple):
    """A batch of views under evaluation, its rows that no scenario can cure, and what
    `_brought_back` says of them.
    """

    batch: pa.RecordBatch
    spec: PlanSpec
    large: Mapping[int, str]
    spoiled: Bad
    brought_back: Mapping[int, frozenset[str]]

    def evaluated(
        self, rows: Rows, scenarios: Sequence[Scenario | None], batch: pa.RecordBatch | None = None
    ) -> list[ScenarioState]:
        """Evaluate some rows; a scenario that is None changes nothing."""
        fits = ~among(rows, self.large)
        left_out = {row: Reason(ErrCode.TOO_LARGE, self.large[row]) for row in rows[~fits].tolist()}
        batch = self.batch.take(pa.array(rows)) if batch is None else batch
        read = read_batch(batch.filter(pa.array(fits)), self.spec.rule(), {})
        read = read.among(rows[fits], left_out)
        changing = [scenario for scenario in scenarios if scenario is not None]
        found = evaluate(read, changing, with_names=True)
        self.spoiled.update(found.spoiled)
        before, *after = found.states
        behind = iter(after)
        return [before, *(before if scenario is None else next(behind) for scenario in scenarios)]

    def evaluated_with_rooms(
        self, rows: Rows, scenarios: Sequence[Scenario]
    ) -> list[ScenarioState]:
        """Evaluate rows some of whose brokers stand in a known machine room only after a scenario."""
        batch = self.batch.take(pa.array(rows))
        states = self.evaluated(rows, [], batch)
        for scenario in scenarios:
            _, after = self.evaluated(rows, [scenario], self.with_rooms(batch, rows, scenario))
            states.append(after)
        return states

    def with_rooms(self, batch: pa.RecordBatch, rows: Rows, scenario: Scenario) -> pa.RecordBatch:
        """Return the same rows with the machine rooms of brokers that a scenario brings back."""
        if not self.brought_back:
            return batch
        given = _rooms_given(scenario)
        has_group, has_topic = matcher(scenario.groups), matcher(scenario.topics)
        groups, topics = batch.column("consumer_group"), batch.column("topic")
        brokers, broker_rooms = batch.column("brokers"), batch.column("broker_rooms")
        rooms = dict[int, list[str | None]]()
        for at, row in enumerate(rows.tolist()):
            if row not in self.brought_back:
                continue
            if not (has_group(groups[at].as_py()) and has_topic(topics[at].as_py())):
                continue
            room_of = {name: given[name] for name in self.brought_back[row] & given.keys()}
            pairs = zip(brokers[at].as_py(), broker_rooms[at].as_py(), strict=True)
            rooms[at] = [room_of.get(broker["broker_name"], room) for broker, room in pairs]
        if not rooms:
            return batch
        all_rooms = broker_rooms.to_pylist()
        for at, changed in rooms.items():
            all_rooms[at] = changed
        return _with_columns(batch, broker_rooms=all_rooms)


def _rooms_given(scenario: Scenario) -> dict[str, str]:
    """Return machine rooms of the brokers that a scenario adds; of one that it adds twice the first
    time counts, as for the topic.
    """
    added = [change for change in scenario.changes if isinstance(change, AddBroker)]
    first = {change.broker_name: change.machine_room for change in reversed(added)}
    return {name: room for name, room in first.items() if room is not None}


def _unseen(read: ViewUnits, scenarios: Sequence[Scenario]) -> dict[int, dict[str, str]]:
    """Return by row of a view the rooms of brokers that its topic is on, that its clients do not
    see and a scenario adds.
    """
    added = set()
    for change in chain.from_iterable(scenario.changes for scenario in scenarios):
        if isinstance(change, AddBroker):
            added.add(change.broker_name)
    if not added or "broker_rooms" not in read.batch.schema.names:
        return {}
    brokers, rooms = read.batch.column("brokers"), read.batch.column("broker_rooms")
    found = {}
    for row, unit in read.mixed.unit_of.items():
        if row == unit:
            continue
        names = [broker["broker_name"] for broker in brokers[unit].as_py()]
        room_of = dict(zip(names, rooms[unit].as_py(), strict=True))
        unseen = (added & room_of.keys()) - _brokers_seen(brokers[row])
        known = {name: room_of[name] for name in unseen if room_of[name] is not None}
        if known:
            found[row] = known
    return found


def _brokers_seen(brokers: pa.Scalar) -> set[str]:
    """Return the brokers of a view that have queues."""
    return {broker["broker_name"] for broker in brokers.as_py() if broker["read_queue_nums"]}


def _in_rooms(scenarios: Sequence[Scenario], room_of: Mapping[str, str]) -> list[Scenario]:
    """Return scenarios whose brokers stand in the rooms in which they are known to stand."""

    def placed(change: Change) -> Change:
        if isinstance(change, AddBroker) and change.broker_name in room_of:
            return replace(change, machine_room=room_of[change.broker_name])
        return change

    return [
        replace(scenario, changes=tuple(map(placed, scenario.changes))) for scenario in scenarios
    ]


def _brought_back(read: ViewUnits, scenarios: Sequence[Scenario]) -> dict[int, frozenset[str]]:
    """Return by row of a view the brokers that its clients see, that its topic is not on, and that
    a scenario gives a room.

    Nothing where no machine rooms are known, for scenarios that ask for one are refused there.
    """
    given = frozenset[str]().union(*map(_rooms_given, scenarios))
    if not given or "broker_rooms" not in read.batch.schema.names:
        return {}
    brokers = read.batch.column("brokers")
    found = {}
    for row, unit in read.mixed.unit_of.items():
        if row != unit:
            names = given & _brokers_seen(brokers[row]) - _brokers_seen(brokers[unit])
            if names:
                found[row] = names
    return found


def _partial(
    work: _Work,
    rows: Rows,
    units: Sequence[int],
    whole: Sequence[ScenarioState],
    scenarios: Sequence[Scenario],
) -> list[ScenarioState]:
    """Evaluate rows that lack clients of their units, given the states of rows that have all of
    them.
    """
    before, *after = (_members(state, distinct(np.array(units))) for state in whole)
    batch = work.batch.take(pa.array(rows))
    lists = batch.column("client_ids").to_pylist()
    states = work.evaluated(rows, [], batch)
    for scenario, now in zip(scenarios, after, strict=True):
        pairs = [(before.get(unit), now.get(unit)) for unit in units]
        made = [_list_after(ids, *pair) for ids, pair in zip(lists, pairs, strict=True)]
        rooms = [{} if members is None else members.room_of for _, members in pairs]
        rest = _with_changes(scenario, _but_for_clients(scenario.changes))
        now_listed = work.with_rooms(_with_lists(batch, made, rooms), rows, scenario)
        states.append(work.evaluated(rows, [rest], now_listed)[-1])
    return states


def _members(state: ScenarioState, units: Rows) -> dict[int, _Members]:
    """Return the clients of units by their rows."""
    found = {}
    for part in state.parts:
        fleet, slot_room = part.fleet, part.fleet.client_lists.slot_room
        names = [*fleet.rooms.to_list(), None]
        for unit in np.flatnonzero(among(part.rows, units)).tolist():
            start, ids = int(fleet.slot_starts[unit]), fleet.client_ids_of(unit)
            slots = slice(start, start + len(ids))
            numbers = [-1] * len(ids) if slot_room is None else slot_room[slots].tolist()
            rooms = [names[number] for number in numbers]
            room_of = dict(zip(ids, rooms, strict=True))
            found[int(part.rows[unit])] = _Members(Counter(ids), room_of)
    return found


def _list_after(ids: list[str], before: _Members | None, after: _Members | None) -> list[str]:
    """Return a client list without the clients that left the group, and with those that joined it."""
    if before is None or after is None:
        return ids
    had, left, joined = Counter(ids), before.n_of - after.n_of, after.n_of - before.n_of
    return [*(had - left).elements(), *joined.elements()]


def _with_lists(
    batch: pa.RecordBatch, lists: list[list[str]], rooms: Sequence[Mapping[str, str | None]]
) -> pa.RecordBatch:
    """Return the same rows with other client lists."""
    if "client_rooms" not in batch.schema.names:
        return _with_columns(batch, client_ids=lists)
    of_slot = [list(map(room_of.get, ids)) for ids, room_of in zip(lists, rooms, strict=True)]
    return _with_columns(batch, client_ids=lists, client_rooms=of_slot)


def _with_columns(
    batch: pa.RecordBatch, **others: Sequence[Sequence[str | None]]
) -> pa.RecordBatch:
    """Return the same rows with other columns of those names."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, values in others.items():
        columns[name] = pa.array(values, columns[name].type)
    return pa.RecordBatch.from_pydict(columns)


def _but_for_clients(changes: Sequence[Change]) -> Iterator[Change]:
    """Yield changes without what they do to clients."""
    for change in changes:
        if isinstance(change, LoseMachineRoom) and change.what != "brokers":
            if change.what == "both":
                yield replace(change, what="brokers")
        elif not isinstance(change, AddClients | RemoveClients | ScaleClients):
            yield change


def _but_for_strategies(changes: Sequence[Change]) -> Iterator[Change]:
    yield from (
        change for change in changes if not isinstance(change, SetStrategy | SetVirtualNodes)
    )


def _in_dialect(scenarios: Sequence[Scenario], dialect: str) -> list[Scenario]:
    """Return scenarios whose strategies are those that clients of a dialect compute under their
    names.
    """
    if dialect == JAVA:
        return list(scenarios)
    found = []
    for scenario in scenarios:
        changes = tuple(_as_set(change, dialect) for change in scenario.changes)
        found.append(replace(scenario, changes=changes))
    return found


def _as_set(change: Change, dialect: str) -> Change:
    if not isinstance(change, SetStrategy):
        return change
    method = as_set(method_set(change.strategy, change.params), dialect)
    return SetStrategy(method.name, dict(method.params) or None)


def _with_changes(scenario: Scenario, changes: Iterator[Change]) -> Scenario | None:
    """Return a scenario with other changes, None if there are none."""
    left = tuple(changes)
    return replace(scenario, changes=left) if left else None
