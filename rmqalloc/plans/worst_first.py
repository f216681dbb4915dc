"""The order of a plan's groups and topics: groups that get worse in a scenario come first, not
groups that move most.

Each is compared with itself before any change. In this order count: topics that can no longer be
assigned, of which nothing is known afterwards; growth of queues without an owner, of queues with
several, of idle clients, and of skew; queues that move; names. What shrinks counts as no growth, so
no improvement hides what gets worse beside it. Nothing is compared with a figure that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.plans._plan import Plan
from rmqalloc.results import compute as pc
from rmqalloc.results.renderer import order_of

GROWING = ("unowned", "double_owned", "idle", "skew")
"""Figures that get worse by growing, the worst first."""

RANKED = ("groups", "units")
"""Tables of a plan that have such figures."""

ROUNDING = 1e-9
"""Growth below this is an error of floating point."""

_OF_UNITS = ["consumer_group", "topic", "n_queues", "err_code", "moved", *GROWING]
_DIGITS = 9
_ORDER = (
    f"is_current,-lost,{','.join(f'-{name}' for name in GROWING)},-moved,consumer_group,topic,state"
)
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]
Growth = NDArray[np.float64]


class WorstFirst(NamedTuple):
    """Groups of a scenario in their order.

    Attributes
    ----------
    positions : ndarray of int64
        Positions of all groups, the worst first.
    lost : ndarray of int64
        Topics of each group, in the plan's order, that can no longer be assigned.
    is_worse : ndarray of bool
        Whether each group, in the plan's order, got worse. These are the first of ``positions``.
    changes : mapping of str to ndarray of float64
        By figure of `GROWING`, by how much each group's figure grew, below 0 where it fell; 0 where
        it is not compared.
    is_unknown : ndarray of bool
        Whether a figure of each group before any change is unknown, so the group is not compared.
    """

    positions: Positions
    lost: Positions
    is_worse: Mask
    changes: Mapping[str, Growth]
    is_unknown: Mask

    @property
    def n_worse(self) -> int:
        """Number of groups that got worse."""
        return int(np.count_nonzero(self.is_worse))

    @property
    def ranks(self) -> Positions:
        """Place of each group, in the plan's order, among ``positions``."""
        ranks = np.empty_like(self.positions)
        ranks[self.positions] = np.arange(ranks.size)
        return ranks


def worst_groups(plan: Plan, number: int) -> WorstFirst:
    """Return the groups of the ``number``-th scenario of a plan, counted from 1, the worst first."""
    keys = _groups(plan, number)
    lost = keys["lost"].to_numpy()
    is_worse = np.logical_or.reduce([keys[name].to_numpy() > 0 for name in ("lost", *GROWING)])
    before, after = group_states(plan, number)
    is_compared = queues_cured(plan, number) == 0
    changes = {name: _change(before, after, name, is_compared) for name in GROWING}
    for change in changes.values():  # a sum over fewer topics is not a better one
        change[(lost > 0) & (change < 0)] = 0
    is_unknown = is_compared & (before["n_topics"].to_numpy() > 0)
    is_unknown &= np.logical_or.reduce([pc.is_null(before[name]).to_numpy() for name in GROWING])
    positions = order_of(keys, _ORDER).to_numpy().astype(np.int64)
    return WorstFirst(positions, lost, is_worse, changes, is_unknown)


def worst_table(plan: Plan, name: str) -> pa.Table:
    """Return a table of `RANKED` with its rows of all scenarios the worst first, those before any
    change last.
    """
    made = _groups if name == "groups" else _units
    states = len(plan.scenarios) + 1
    keys = pa.concat_tables([made(plan, state) for state in range(states)])
    table = getattr(plan, name)
    each = table.num_rows // states
    state, place = np.divmod(order_of(keys, _ORDER).to_numpy().astype(np.int64), max(each, 1))
    # Rows of groups stand state by state, those of units unit by unit.
    return pc.take(
        table, pa.array(state * each + place if name == "groups" else place * states + state)
    )


def queues_cured(plan: Plan, number: int) -> Positions:
    """Return queues of every group, in its ``number``-th scenario, of topics that can be assigned
    there and not before any change.

    The figures before any change do not count them.
    """
    before, after = _unit_states(plan, number)
    cured = _is_good(after) & ~_is_good(before)
    return _of_groups(
        plan, after, np.where(cured, pc.fill_null(after["n_queues"], 0).to_numpy(), 0)
    )


def group_states(plan: Plan, number: int) -> tuple[pa.Table, pa.Table]:
    """Return the groups before any change and in a scenario."""
    before, after = (
        plan.groups.slice(state * plan.n_groups, plan.n_groups) for state in (0, number)
    )
    return before, after


def _groups(plan: Plan, number: int) -> pa.Table:
    """Return the keys that groups of a state are sorted by."""
    before, after = group_states(plan, number)
    was, is_ = _unit_states(plan, number)
    lost, cured = (_of_groups(plan, is_, one) for one in _turned(was, is_))
    names = {"consumer_group": after["consumer_group"], "topic": pa.repeat("", plan.n_groups)}
    return _keys(before, after, number, lost, cured > 0, names)


def _units(plan: Plan, number: int) -> pa.Table:
    """Return the keys that units of a state are sorted by."""
    before, after = _unit_states(plan, number)
    lost, cured = _turned(before, after)
    return _keys(
        before, after, number, lost, cured, {one: after[one] for one in ("consumer_group", "topic")}
    )


def _keys(
    before: pa.Table,
    after: pa.Table,
    number: int,
    lost: NDArray[np.generic],
    cured: Mask,
    names: dict[str, pa.Array],
) -> pa.Table:
    """Return the keys of rows; nothing counts as growth where there was nothing before."""
    n = after.num_rows
    columns = {"is_current": np.full(n, number == 0), "lost": lost.astype(np.int64)}
    for name in GROWING:
        columns[name] = np.maximum(_change(before, after, name, ~cured), 0)
    moved = pc.fill_null(after["moved"], 0)
    return pa.table({**columns, "moved": moved, **names, "state": np.full(n, number)})


def _change(before: pa.Table, after: pa.Table, name: str, is_compared: Mask) -> Growth:
    """Return by how much a figure of every row grew; 0 where it is not known or not compared."""
    was, is_ = (pc.cast(table[name], pa.float64()).to_numpy() for table in (before, after))
    change = is_ - was  # NaN where one is not known
    changed: Growth = np.where(is_compared & (abs(change) > ROUNDING), np.round(change, _DIGITS), 0)
    return changed


def _unit_states(plan: Plan, number: int) -> tuple[pa.Table, pa.Table]:
    """Return the units before any change and in a scenario."""
    units = plan.units.select(_OF_UNITS)
    starts = np.arange(0, units.num_rows, len(plan.scenarios) + 1)
    before, after = (pc.take(units, pa.array(starts + state)) for state in (0, number))
    return before, after


def _is_good(units: pa.Table) -> Mask:
    good: Mask = units["err_code"].to_numpy() == 0
    return good


def _turned(before: pa.Table, after: pa.Table) -> tuple[Mask, Mask]:
    """Return units that can be assigned only before, and those that can be only after."""
    was, is_ = _is_good(before), _is_good(after)
    return was & ~is_, is_ & ~was


def _of_groups(plan: Plan, units: pa.Table, counts: NDArray[np.generic]) -> Positions:
    """Return sums over the units of every group."""
    names = plan.groups["consumer_group"].slice(0, plan.n_groups).combine_chunks()
    of_group = pc.index_in(units["consumer_group"], value_set=names).to_numpy()
    sums: Positions = np.bincount(of_group, counts.astype(np.int64), plan.n_groups).astype(np.int64)
    return sums
