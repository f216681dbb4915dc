"""Sums of a plan: of every scenario over all groups, and of every client or host over topics and groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.plans._plan import Plan
from rmqalloc.scenarios import CURRENT
from rmqalloc.text import counted, did_you_mean

KEYS = ("consumer_group", "topic", "host", "client_id")
"""What `client_totals` can add up by."""

_SUMS = ("moved", "unowned", "double_owned", "clients_gaining", "clients_losing")
_FLOWS = ("before", "after", "gained", "lost")


class Summary(NamedTuple):
    """What a scenario comes to.

    Attributes
    ----------
    scenario : str
    groups_moving : int
        Groups in which a queue changes owner.
    moved, unowned, double_owned : int
        Queues that change owner, and those that nobody, or several clients, own after.
    gain, lose : int
        Clients, each counted in every group it is in, that have more queues after than before, and that have less.
    """

    scenario: str
    groups_moving: int
    moved: int
    unowned: int
    double_owned: int
    gain: int
    lose: int

    def sentence(self, n_groups: int) -> str:
        """Return all that in one sentence.

        Examples
        --------
        >>> Summary("s", groups_moving=2, moved=21, unowned=0, double_owned=0, gain=9, lose=1).sentence(3)
        '21 queues change owner in 2 of 3 groups, 9 clients gain, 1 loses, 0 unowned.'
        """
        where = f" in {self.groups_moving:,} of {n_groups:,} groups" if n_groups > 1 else ""
        queues = counted(self.moved, "queue changes owner", "queues change owner")
        gain, lose = counted(self.gain, "client gains", "clients gain"), counted(self.lose, "loses", "lose")
        double = f", {self.double_owned:,} double-owned" if self.double_owned else ""
        return f"{queues}{where}, {gain}, {lose}, {self.unowned:,} unowned{double}."


def scenario_of(plan: Plan, scenario: str | None = None) -> str:
    """Return the name of a scenario of a plan."""
    names = [one.name for one in plan.scenarios] or [CURRENT]
    if scenario is None and len(names) > 1:
        raise ArgumentError(f"the plan has {len(names)} scenarios, so one must be named: {', '.join(names)}")
    wanted = names[0] if scenario is None else scenario
    if wanted not in (*names, CURRENT):
        raise ArgumentError(
            f"the plan has no scenario {wanted!r}; it has {', '.join(names)}{did_you_mean(wanted, names)}"
        )
    return wanted


def summaries(plan: Plan) -> list[Summary]:
    """Return every scenario of a plan, the state before any change left out."""
    return [scenario_summary(plan, number) for number in range(1, len(plan.scenarios) + 1)]


def scenario_summary(plan: Plan, number: int) -> Summary:
    """Return the ``number``-th scenario of a plan, counted from 1."""
    groups = plan.groups.slice(number * plan.n_groups, plan.n_groups)
    sums = (int(pc.sum(groups[name]).as_py() or 0) for name in _SUMS)
    moving = int(pc.sum(pc.greater(groups["moved"], 0)).as_py() or 0)
    return Summary(plan.scenarios[number - 1].name, moving, *sums)


def queues_cured(plan: Plan, number: int) -> NDArray[np.int64]:
    """Return queues of every group, in its ``number``-th scenario, of topics that can be assigned there and not before
    any change.

    The figures before any change do not count them.
    """
    n_states = len(plan.scenarios) + 1
    starts = np.arange(0, plan.units.num_rows, n_states)
    before, after = (plan.units.take(pa.array(starts + state)) for state in (0, number))
    cured = pc.and_(pc.not_equal(before["err_code"], 0), pc.equal(after["err_code"], 0)).to_numpy()
    names = plan.groups["consumer_group"].slice(0, plan.n_groups).to_pylist()
    place = {name: i for i, name in enumerate(names)}
    groups = [place[name] for name in after["consumer_group"].filter(pa.array(cured)).to_pylist()]
    found = np.zeros(len(names), np.int64)
    np.add.at(found, groups, after["n_queues"].filter(pa.array(cured)).to_numpy())
    return found


def client_totals(clients: pa.Table, *by: str) -> pa.Table:
    """Return queues of clients over topics and groups: what is even topic by topic may be uneven in all.

    Parameters
    ----------
    clients : pyarrow.Table
        `Plan.clients`, or some of its rows.
    *by : str
        Some of `KEYS`, e.g. "client_id" for every client over all its groups, or "host".

    Returns
    -------
    pyarrow.Table
        ``scenario``, the keys, ``n_units`` (groups times topics), ``before``, ``after``, ``gained`` and ``lost``; in the
        order in which they first come.

    Raises
    ------
    ValueError
        A key is none.
    """
    if not by or not set(by) <= set(KEYS):
        raise ArgumentError(f"by must be some of {', '.join(KEYS)}, got {by!r}")
    keys = ["scenario", *by]
    number = np.zeros(clients.num_rows, np.int64)
    for (
        key
    ) in keys:  # a text has the number of its first row, so few numbers are large, and each step makes them small again
        codes = clients[key].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        _, firsts, number = np.unique(number * (clients.num_rows + 1) + codes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    sums = {"n_units": np.bincount(number, minlength=firsts.size)}
    sums |= {name: np.bincount(number, clients[name].to_numpy(), firsts.size) for name in _FLOWS}
    totals = {name: pa.array(each[order].astype(np.int64)) for name, each in sums.items()}
    named = clients.select(keys).take(pa.array(firsts[order]))
    return pa.table({**dict(zip(keys, named.columns, strict=True)), **totals})
