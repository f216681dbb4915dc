"""Figures of mixed units, in which a queue may have no owner, one or several; all others come from
the evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.evaluation.balance import mean_load
from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.fleet.columns import among, distinct
from rmqalloc.ownership._laid_views import Laid, MixedUnits
from rmqalloc.ownership.between import Between
from rmqalloc.ownership.group_figures import loads_of_groups
from rmqalloc.ownership.reader_sets import Keys, Numbers
from rmqalloc.ownership.states import ClientRows, State, States

Columns = dict[str, NDArray[Any]]

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
    double = pa.array(
        np.zeros(figures.num_rows, np.int32), mask=pc.not_equal(figures["err_code"], 0).to_numpy()
    )
    return figures.add_column(
        UNITS_SCHEMA.get_field_index("double_owned"), UNITS_SCHEMA.field("double_owned"), double
    )


def with_mixed(figures: pa.Table, numbered: States, between: Sequence[Between]) -> pa.Table:
    """Return the table of units, given the figures of all views."""
    assert numbered.mixed is not None
    rows, n_states = np.flatnonzero(numbered.numbers.is_mixed), len(numbered.states)
    units = units_table(figures).slice(0, numbered.numbers.is_mixed.size * n_states)
    source = _first_bad(figures, numbered)
    errors = figures.select(["err_code", "err_msg"]).take(pa.array(source))
    bad = errors["err_code"].to_numpy() != 0
    columns = {name: units[name] for name in units.column_names} | {
        name: errors[name] for name in errors.column_names
    }
    values = {name: np.where(bad, 0, pc.fill_null(units[name], 0).to_numpy()) for name in COUNTED}
    for number, (state, queues) in enumerate(zip(numbered.states, between, strict=True)):
        for name, counted in mixed_figures(
            state, queues, numbered.numbers, numbered.mixed, rows
        ).items():
            values[name][rows * n_states + number] = counted
    no_least = np.repeat(numbered.is_shared, n_states)
    for name in COUNTED:
        null = bad | no_least if name == "least_moves" else bad
        columns[name] = pa.array(values[name], UNITS_SCHEMA.field(name).type, mask=null)
    if figures["cross_room"].null_count == figures.num_rows:  # no machine room is known
        columns["cross_room"] = units["cross_room"]
    columns["strategy"] = _strategies(figures, numbered, bad)
    return pa.table([columns[name] for name in UNITS_SCHEMA.names], schema=UNITS_SCHEMA)


def _first_bad(figures: pa.Table, numbered: States) -> Keys:
    """Return for every unit and state the row of figures that says why it cannot be assigned; its
    own row if none does.
    """
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


def _strategies(figures: pa.Table, numbered: States, bad: NDArray[np.bool_]) -> pa.Array:
    """Join the names of the strategies by which clients of a unit act with a plus; its own strategy
    if no client acts.

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


def mixed_figures(
    state: State, queues: Between, numbers: Numbers, mixed: MixedUnits, rows: Keys
) -> Columns:
    """Return the figures of mixed units in a state."""
    assert state.laid is not None
    unit, n = np.searchsorted(rows, numbers.rows_of(state.laid.queues)), rows.size
    n_queues = np.bincount(unit, minlength=n)
    figures: Columns = {
        "n_queues": n_queues,
        "unowned": np.bincount(unit[state.laid.owners < 0], minlength=n),
        "double_owned": np.bincount(unit[state.laid.n_readers > 1], minlength=n),
    }
    clients = state.client_rows.some(numbers.is_mixed[state.client_rows.rows])
    place_of = np.zeros(numbers.is_mixed.size, np.int64)
    place_of[rows] = np.arange(n)
    loads = loads_of_groups(clients, place_of, n, len(numbers.clients))
    n_loads = loads.pop("n_loads")
    n_loads = np.where(
        mixed.is_shared[rows], n_loads, n_queues
    )  # a shared queue counts for each reader
    skew = loads["max_load"] * loads["n_clients"] / np.maximum(n_loads, 1)
    figures |= loads | {"mean_load": mean_load(n_loads, loads["n_clients"]), "skew": skew}
    unit, who = np.searchsorted(rows, clients.rows), clients.clients.astype(np.int64)
    may_own = distinct((unit * mixed.n_clients + who)[mixed.may_read(clients.rows, who)])
    figures["cross_room"] = np.bincount(_crossing(state.laid, clients, numbers, rows), minlength=n)
    of_mixed = np.flatnonzero(numbers.is_mixed[numbers.rows_of(queues.keys)])
    return figures | _movement(queues.some(of_mixed), numbers, rows, n_queues, may_own)


def _crossing(laid: Laid, clients: ClientRows, numbers: Numbers, rows: Keys) -> Keys:
    """Return the unit of each queue that has an owner in another machine room than the broker."""
    stride = max(len(numbers.clients), 1)
    ids, firsts = np.unique(clients.rows * stride + clients.clients, return_index=True)
    places, readers = numbers.sets.readers(laid.owners)
    units = numbers.rows_of(laid.queues)
    at = np.searchsorted(ids, units[places] * stride + readers)
    found = np.append(ids, -1)[at] == units[places] * stride + readers
    room = np.where(found, clients.rooms[np.append(firsts, 0)[at]], -1)
    crosses = (room >= 0) & (laid.rooms[places] >= 0) & (room != laid.rooms[places])
    of_queue: Keys = np.searchsorted(rows, units[distinct(places[crosses])])
    return of_queue


def _movement(
    mine: Between, numbers: Numbers, rows: Keys, n_queues: Keys, may_own: Keys
) -> Columns:
    """Count the changes, and the fewest possible.

    A queue with one owner before may keep it; one with none or several changes in any state that
    gives it one owner. So of ``n`` clients that may own queues, ``r`` of which get ``b + 1`` and
    the others ``b``, kept are the lesser of each client's queues and ``b``, and one each of at most
    ``r`` that have more.
    """
    n, stride = rows.size, max(len(numbers.clients), 1)
    unit = np.searchsorted(rows, numbers.rows_of(mine.keys))
    both = mine.was & mine.is_
    pairs, loads = np.unique(
        (unit * stride + mine.before)[
            both & (mine.before >= 0) & (mine.before < len(numbers.clients))
        ],
        return_counts=True,
    )
    n_able = np.bincount(may_own // stride, minlength=n)
    stays = among(pairs, may_own)
    unit_of, loads = pairs[stays] // stride, loads[stays]
    size, extra = np.divmod(n_queues, np.maximum(n_able, 1))
    kept = np.bincount(unit_of, np.minimum(loads, size[unit_of]), n) + np.minimum(
        extra, np.bincount(unit_of[loads > size[unit_of]], minlength=n)
    )
    n_both, n_owned = (
        np.bincount(unit[both], minlength=n),
        np.bincount(unit[both & (mine.before >= 0)], minlength=n),
    )
    return {
        "moved": np.bincount(unit[mine.moved], minlength=n),
        "least_moves": np.where(n_able > 0, n_both - kept, n_owned).astype(np.int64),
        "clients_affected": np.bincount(mine.flows(unit, stride).of, minlength=n),
    }
