"""The evaluation of views, of which some divide by a client list that lacks clients of the group.

A scenario chooses among all clients of a group who leaves, and makes up names for those that join; every client list then loses
and gains the same clients. So the whole lists are evaluated first. Views over a part of them follow, with the lists that
result and the other changes of the scenario.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation._evaluate import Evaluation, ScenarioState, evaluate
from rmqalloc.evaluation._plan_batch import PlanSpec, too_large_rows
from rmqalloc.evaluation._rows import ErrCode, Reason, read_batch
from rmqalloc.scenarios import AddClients, LoseMachineRoom, RemoveClients, ScaleClients, Scenario
from rmqalloc.scenarios._changes import Change
from rmqalloc.views._view_units import ViewUnits

Rows = NDArray[np.int64]


class _Members(NamedTuple):
    """The clients of a unit in one state, with their machine rooms."""

    n_of: Counter[str]
    room_of: Mapping[str, str | None]


def evaluate_views(read: ViewUnits, spec: PlanSpec) -> Evaluation:
    """Evaluate all views of units before any change and after every scenario."""
    large = too_large_rows(read.batch, spec)
    if not read.mixed.partial:
        return evaluate(read_batch(read.batch, spec.rule(), large), spec.scenarios, with_names=True)
    rows = np.array(sorted(read.mixed.partial), np.int64)
    others = np.delete(np.arange(read.batch.num_rows), rows)
    whole = _evaluated(read.batch.take(pa.array(others)), others, spec, spec.scenarios, large)
    units = [read.mixed.unit_of[row] for row in rows.tolist()]
    before, *after = (_members(state, np.unique(units)) for state in whole.states)
    batch = read.batch.take(pa.array(rows))
    lists = batch.column("client_ids").to_pylist()
    found = [_evaluated(batch, rows, spec, (), large)]
    for scenario, now in zip(spec.scenarios, after, strict=True):
        made = [
            _list_after(*one)
            for one in zip(lists, *([each.get(u) for u in units] for each in (before, now)), strict=True)
        ]
        rooms = [{} if (one := now.get(unit)) is None else one.room_of for unit in units]
        rest = tuple(_but_for_clients(scenario.changes))
        scenarios = (replace(scenario, changes=rest),) if rest else ()
        found.append(_evaluated(_with_lists(batch, made, rooms), rows, spec, scenarios, large))
    states = zip(whole.states, (one.states[-1] for one in found), strict=True)
    spoiled = {row: reason for one in (whole, *found) for row, reason in one.spoiled.items()}
    return Evaluation([ScenarioState((*one.parts, *other.parts)) for one, other in states], spoiled)


def _evaluated(
    batch: pa.RecordBatch, rows: Rows, spec: PlanSpec, scenarios: Sequence[Scenario], large: Mapping[int, str]
) -> Evaluation:
    """Evaluate some rows, of which those that are too large are left out."""
    fits = ~np.isin(rows, list(large))
    left_out = {row: Reason(ErrCode.TOO_LARGE, large[row]) for row in rows[~fits].tolist()}
    read = read_batch(batch.filter(pa.array(fits)), spec.rule(), {}).among(rows[fits], left_out)
    return evaluate(read, scenarios, with_names=True)


def _members(state: ScenarioState, units: Rows) -> dict[int, _Members]:
    """The clients of units by their rows."""
    found = {}
    for part in state.parts:
        fleet, room = part.fleet, part.fleet.client_lists.slot_room
        names = [*fleet.rooms.to_list(), None]
        for unit in np.flatnonzero(np.isin(part.rows, units)).tolist():
            start, ids = int(fleet.slot_starts[unit]), fleet.client_ids_of(unit)
            rooms = [-1] * len(ids) if room is None else room[start : start + len(ids)].tolist()
            found[int(part.rows[unit])] = _Members(
                Counter(ids), dict(zip(ids, (names[one] for one in rooms), strict=True))
            )
    return found


def _list_after(ids: list[str], before: _Members | None, after: _Members | None) -> list[str]:
    """A client list without the clients that left the group, and with those that joined it."""
    if before is None or after is None:
        return ids
    had, left, joined = Counter(ids), before.n_of - after.n_of, after.n_of - before.n_of
    return [*(had - left).elements(), *joined.elements()]


def _with_lists(
    batch: pa.RecordBatch, lists: list[list[str]], rooms: Sequence[Mapping[str, str | None]]
) -> pa.RecordBatch:
    """The same rows with other client lists."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns["client_ids"] = pa.array(lists, columns["client_ids"].type)
    if "client_rooms" in columns:
        of_slot = [[room_of.get(one) for one in ids] for ids, room_of in zip(lists, rooms, strict=True)]
        columns["client_rooms"] = pa.array(of_slot, columns["client_rooms"].type)
    return pa.RecordBatch.from_pydict(columns)


def _but_for_clients(changes: Iterable[Change]) -> Iterator[Change]:
    """Changes without what they do to clients."""
    for change in changes:
        if isinstance(change, LoseMachineRoom):
            if change.what != "clients":
                yield replace(change, what="brokers")
        elif not isinstance(change, AddClients | RemoveClients | ScaleClients):
            yield change
