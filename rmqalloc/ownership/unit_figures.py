"""Figures of mixed units, in which a queue may have no owner, one or several; all others come from
the evaluator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.ownership._mixed_units import MixedUnit, UnitState
from rmqalloc.ownership.reader_sets import ABSENT, NOBODY, ReaderSets
from rmqalloc.ownership.states import States
from rmqalloc.results import compute as pc

Row = dict[str, Any]

UNITS_SCHEMA = PLAN_SCHEMA.insert(
    1 + PLAN_SCHEMA.get_field_index("unowned"), pa.field("double_owned", pa.int32())
)
"""Columns of a table of units."""

COUNTED = (
    "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew", "moved",
    "least_moves", "clients_affected", "cross_room",
)  # fmt: skip
"""Figures that are counted here."""


def units_table(figures: pa.Table) -> pa.Table:
    """Return the table of units of which none is mixed, given the figures of all."""
    is_bad = pc.not_equal(figures["err_code"], 0).to_numpy()
    double = pa.array(np.zeros(figures.num_rows, np.int32), mask=is_bad)
    return figures.add_column(
        UNITS_SCHEMA.get_field_index("double_owned"), UNITS_SCHEMA.field("double_owned"), double
    )


def with_mixed(figures: pa.Table, numbered: States) -> pa.Table:
    """Return the table of units, given the figures of all views."""
    n_states, n_units = len(numbered.states), numbered.numbers.n_units
    units = units_table(figures).slice(0, n_units * n_states)  # without further views
    rows = list(_mixed_rows(figures, numbered))
    is_mixed = pa.array(np.repeat(numbered.numbers.is_mixed[:n_units], n_states))
    columns = {name: units[name] for name in units.column_names}
    for name in ("strategy", *COUNTED, "err_code", "err_msg"):
        of_mixed = pa.array([row.get(name) for row in rows], units[name].type)
        columns[name] = pc.replace_with_mask(units[name], is_mixed, of_mixed)
    if figures["cross_room"].null_count == figures.num_rows:  # no machine room is known
        columns["cross_room"] = units["cross_room"]
    return pa.table([columns[name] for name in UNITS_SCHEMA.names], schema=UNITS_SCHEMA)


def _mixed_rows(figures: pa.Table, numbered: States) -> Iterator[Row]:
    """Yield the figures of every mixed unit in every state, in the order of the table of units."""
    sets, n_states = numbered.numbers.sets, len(numbered.states)
    view_rows = np.concatenate([unit.views for unit in numbered.mixed.values()])
    places = np.add.outer(view_rows * n_states, np.arange(n_states)).ravel()
    chosen = pc.take(figures.select(["strategy", "err_code", "err_msg"]), pa.array(places))
    view_at = dict(zip(places.tolist(), chosen.to_pylist(), strict=True))
    for unit in numbered.mixed.values():
        before = numbered.states[0].units.get(unit.row)
        for number, state in enumerate(numbered.states):
            after = state.units.get(unit.row)
            views = {row: view_at[row * n_states + number] for row in unit.views}
            acted_on = [] if after is None else sorted(after.acted_on)
            error = _error(unit.row, acted_on, views)
            if error is not None or before is None or after is None:
                yield error or {}
                continue
            yield {
                "strategy": _strategy(unit, acted_on, views),
                "err_code": ErrCode.GOOD,
                **mixed_figures(unit, before, after, sets),
            }


def _error(row: int, acted_on: list[int], views: Mapping[int, Row]) -> Row | None:
    """Return why a unit cannot be assigned: its main view, or else the first view that clients act
    on. That nobody takes anything by a further view is no error.
    """
    harmless = {ErrCode.GOOD, ErrCode.EMPTY}
    bad = [view for view in acted_on if view != row and views[view]["err_code"] not in harmless]
    if views[row]["err_code"] != ErrCode.GOOD:
        bad.insert(0, row)
    if not bad:
        return None
    return views[bad[0]] | {"strategy": None}


def _strategy(unit: MixedUnit, acted_on: list[int], views: Mapping[int, Row]) -> str:
    """Join the strategies by which clients act with a plus; its own strategy if no client acts. Of
    a unit that clients share it is how they do.
    """
    if unit.sharing is not None:
        return unit.sharing.name
    names = dict.fromkeys(views[row]["strategy"] for row in acted_on)
    names.pop(None, None)
    return "+".join(names) or views[unit.row]["strategy"]


def mixed_figures(unit: MixedUnit, before: UnitState, after: UnitState, sets: ReaderSets) -> Row:
    """Return the figures of a mixed unit; a shared queue counts once for each reader."""
    loads = [after.loads[client.number] for client in after.clients]
    owners = list(after.owners.values())
    n_queues, n_clients, is_shared = len(owners), len(loads), unit.sharing is not None
    n_loads = sum(loads) if is_shared else n_queues
    most = max(loads, default=0)
    changes = Counter[tuple[int, int]]()  # queues by owners before and after
    for queue in before.owners | after.owners:
        changes[before.owners.get(queue, ABSENT), after.owners.get(queue, ABSENT)] += 1
    affected = set[int]()
    for old, new in changes:
        affected.update({*sets.members(old)} ^ {*sets.members(new)})
    kept = {change: n for change, n in changes.items() if ABSENT not in change}
    n_moved = sum(n for (old, new), n in kept.items() if old != new)
    return {
        "n_queues": n_queues,
        "n_clients": n_clients,
        "idle": loads.count(0),
        "unowned": owners.count(NOBODY),
        "double_owned": after.double_owned,
        "min_load": min(loads, default=0),
        "mean_load": n_loads / n_clients if n_clients else 0.0,
        "max_load": most,
        "skew": most * n_clients / max(n_loads, 1),
        "moved": n_moved,
        "least_moves": None if is_shared else _least_moves(kept, after),
        "clients_affected": len(affected),
        "cross_room": after.cross_room,
    }


def _least_moves(queues: Mapping[tuple[int, int], int], after: UnitState) -> int:
    """Return the fewest changes that give each queue one owner, and clients even loads; given the
    queues that are there before and after by their owners.

    A queue with one owner before may keep it; one with none or several changes in any state that
    gives it one owner. So of ``n`` clients that may own queues, ``r`` of which get ``b + 1`` and
    the others ``b``, kept are the lesser of each client's queues and ``b``, and one each of at most
    ``r`` that have more.
    """
    of_owner = Counter[int]()
    for (owner, _), n in queues.items():
        of_owner[owner] += n
    if not after.may_own:
        return of_owner.total() - of_owner[NOBODY]
    size, extra = divmod(len(after.owners), len(after.may_own))
    loads = [of_owner[client] for client in after.may_own]
    kept = sum(min(load, size) for load in loads)
    return of_owner.total() - kept - min(extra, sum(load > size for load in loads))
