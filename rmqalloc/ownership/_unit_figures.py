"""Figures of mixed units, in which a queue may have no owner, one or several; all others come from the evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.evaluation._balance import mean_load
from rmqalloc.evaluation._plan_batch import PLAN_SCHEMA
from rmqalloc.evaluation._rows import ErrCode
from rmqalloc.ownership._between import Queues, lost_and_gained
from rmqalloc.ownership._laid_views import Merged, MixedUnits
from rmqalloc.ownership._reader_sets import Keys
from rmqalloc.ownership._states import ClientRows, NumberedState, NumberedStates, Numbers, rows_of

Columns = dict[str, NDArray[Any]]

UNITS_SCHEMA = PLAN_SCHEMA.insert(1 + PLAN_SCHEMA.get_field_index("unowned"), pa.field("double_owned", pa.int32()))
"""Columns of a table of units."""

COUNTED = (
    "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew", "moved",
    "least_moves", "clients_affected", "cross_room",
)  # fmt: skip
"""Figures that are counted here."""


def units_table(figures: pa.Table) -> pa.Table:
    """The table of units of which none is mixed, given the figures of all."""
    double = pa.array(np.zeros(figures.num_rows, np.int32), mask=pc.not_equal(figures["err_code"], 0).to_numpy())
    return figures.add_column(UNITS_SCHEMA.get_field_index("double_owned"), UNITS_SCHEMA.field("double_owned"), double)


def with_mixed(figures: pa.Table, numbered: NumberedStates, between: Sequence[Queues]) -> pa.Table:
    """The table of units, given the figures of all views.

    Parameters
    ----------
    figures : pyarrow.Table
        Row by row, every state; `rmqalloc.evaluation.PLAN_SCHEMA`.
    numbered : NumberedStates
    between : sequence of Queues
        Of all queues, before any change and in each state.
    """
    assert numbered.mixed is not None
    rows, n_states = np.flatnonzero(numbered.numbers.is_mixed), len(numbered.states)
    units = units_table(figures).slice(0, numbered.numbers.is_mixed.size * n_states)
    source = _first_bad(figures, numbered)
    errors = figures.select(["err_code", "err_msg"]).take(pa.array(source))
    bad = errors["err_code"].to_numpy() != 0
    columns = {name: units[name] for name in units.column_names} | {name: errors[name] for name in errors.column_names}
    values = {name: np.where(bad, 0, pc.fill_null(units[name], 0).to_numpy()) for name in COUNTED}
    for number, (state, queues) in enumerate(zip(numbered.states, between, strict=True)):
        for name, counted in mixed_figures(state, queues, numbered.numbers, numbered.mixed, rows).items():
            values[name][rows * n_states + number] = counted
    no_least = np.repeat(numbered.mixed.is_shared[: numbered.numbers.is_mixed.size], n_states)
    for name in COUNTED:
        null = bad | no_least if name == "least_moves" else bad
        columns[name] = pa.array(values[name], UNITS_SCHEMA.field(name).type, mask=null)
    if figures["cross_room"].null_count == figures.num_rows:  # no machine room is known
        columns["cross_room"] = units["cross_room"]
    columns["strategy"] = _strategies(figures, numbered, bad)
    return pa.table([columns[name] for name in UNITS_SCHEMA.names], schema=UNITS_SCHEMA)


def _first_bad(figures: pa.Table, numbered: NumberedStates) -> Keys:
    """For every unit and state the row of the figures that says why it cannot be assigned, its own where nothing does."""
    mixed, n_states = numbered.mixed, len(numbered.states)
    assert mixed is not None
    acted_on = np.stack([state.acted_on for state in numbered.states], axis=1)
    codes = figures["err_code"].to_numpy().reshape(-1, n_states).copy()
    source = np.arange(codes.size).reshape(-1, n_states)
    further = codes[mixed.n_units :]
    further[(further == ErrCode.EMPTY) | ~acted_on[mixed.n_units :]] = ErrCode.GOOD
    for row, unit in mixed.further():
        first = (codes[unit] == ErrCode.GOOD) & (codes[row] != ErrCode.GOOD)
        source[unit, first], codes[unit, first] = source[row, first], codes[row, first]
    return source[: mixed.n_units].reshape(-1)


def _strategies(figures: pa.Table, numbered: NumberedStates, bad: NDArray[np.bool_]) -> pa.Array:
    """Names of the strategies that clients of a unit act by, with a plus between them; the unit's own where none does.

    Of units that clients share it is how they do.
    """
    names, n_states, mixed = figures["strategy"].to_pylist(), len(numbered.states), numbered.mixed
    assert mixed is not None
    texts = names[: bad.size]
    for number, state in enumerate(numbered.states):
        found: dict[int, dict[str, None]] = {}
        for row in np.flatnonzero(state.acted_on).tolist():
            if (name := names[row * n_states + number]) is not None:
                found.setdefault(int(mixed.unit_of[row]), {})[name] = None
        for unit, each in found.items():
            texts[unit * n_states + number] = "+".join(each)
        for unit, sharing in mixed.shared.items():
            if unit < mixed.n_units:
                texts[unit * n_states + number] = sharing.name
    return pa.array(texts, pa.string(), mask=bad)


def mixed_figures(state: NumberedState, queues: Queues, numbers: Numbers, mixed: MixedUnits, rows: Keys) -> Columns:
    """Figures of mixed units in a state."""
    assert state.merged is not None
    unit, n = np.searchsorted(rows, rows_of(state.merged.queues, numbers)), rows.size
    n_queues = np.bincount(unit, minlength=n)
    figures: Columns = {
        "n_queues": n_queues,
        "unowned": np.bincount(unit[state.merged.owners < 0], minlength=n),
        "double_owned": np.bincount(unit[state.merged.n_readers > 1], minlength=n),
    }
    clients = state.client_rows
    mine = np.isin(clients.rows, rows)
    unit, loads = np.searchsorted(rows, clients.rows[mine]), clients.loads[mine]
    n_clients = np.bincount(unit, minlength=n)
    least, most = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(least, unit, loads)
    np.maximum.at(most, unit, loads)
    figures |= {"n_clients": n_clients, "idle": np.bincount(unit[loads == 0], minlength=n)}
    figures |= {"min_load": np.where(n_clients > 0, least, 0), "max_load": most}
    n_loads = np.where(
        mixed.is_shared[rows], np.bincount(unit, loads, n), n_queues
    )  # a shared queue counts for each reader
    figures |= {"mean_load": mean_load(n_loads, n_clients), "skew": most * n_clients / np.maximum(n_loads, 1)}
    stride, who = mixed.n_clients, clients.clients[mine].astype(np.int64)
    may_own = np.unique((unit * stride + who)[mixed.may_read(rows[unit], who)])
    figures["cross_room"] = np.bincount(_crossing(state.merged, clients, numbers, rows), minlength=n)
    of_mixed = np.flatnonzero(numbers.is_mixed[rows_of(queues.keys, numbers)])
    return figures | _movement(queues.some(of_mixed), numbers, rows, n_queues, may_own)


def _crossing(merged: Merged, clients: ClientRows, numbers: Numbers, rows: Keys) -> Keys:
    """Units of the queues of which an owner is known to be in another machine room than the broker, a unit per queue."""
    stride = max(len(numbers.clients), 1)
    ids, firsts = np.unique(clients.rows * stride + clients.clients, return_index=True)
    places, readers = numbers.sets.readers(merged.owners)
    units = rows_of(merged.queues, numbers)
    at = np.searchsorted(ids, units[places] * stride + readers)
    found = np.append(ids, -1)[at] == units[places] * stride + readers
    room = np.where(found, clients.rooms[np.append(firsts, 0)[at]], -1)
    crosses = (room >= 0) & (merged.rooms[places] >= 0) & (room != merged.rooms[places])
    of_queue: Keys = np.searchsorted(rows, units[np.unique(places[crosses])])
    return of_queue


def _movement(mine: Queues, numbers: Numbers, rows: Keys, n_queues: Keys, may_own: Keys) -> Columns:
    """What changes, and how little could.

    A queue with one owner before may keep it; one with none or several changes in any state that gives it one owner. So of
    ``n`` clients that may own queues, ``r`` of which get ``b + 1`` and the others ``b``, kept are the lesser of each client's
    queues and ``b``, and one each of at most ``r`` that have more.
    """
    n, stride = rows.size, max(len(numbers.clients), 1)
    unit = np.searchsorted(rows, rows_of(mine.keys, numbers))
    lost, gained = lost_and_gained(mine, numbers.sets)
    touched = np.unique(np.concatenate([unit[one.places] * stride + one.clients for one in (lost, gained)]))
    both = mine.was & mine.is_
    pairs, loads = np.unique(
        (unit * stride + mine.before)[both & (mine.before >= 0) & (mine.before < stride)], return_counts=True
    )
    n_able = np.bincount(may_own // stride, minlength=n)
    stays = np.isin(pairs, may_own)
    unit_of, loads = pairs[stays] // stride, loads[stays]
    size, extra = np.divmod(n_queues, np.maximum(n_able, 1))
    kept = np.bincount(unit_of, np.minimum(loads, size[unit_of]), n) + np.minimum(
        extra, np.bincount(unit_of[loads > size[unit_of]], minlength=n)
    )
    n_both, n_owned = np.bincount(unit[both], minlength=n), np.bincount(unit[both & (mine.before >= 0)], minlength=n)
    return {
        "moved": np.bincount(unit[mine.moved], minlength=n),
        "least_moves": np.where(n_able > 0, n_both - kept, n_owned).astype(np.int64),
        "clients_affected": np.bincount(touched // stride, minlength=n),
    }
