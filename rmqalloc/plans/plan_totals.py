"""Sums of a plan: of every scenario over all groups, and of every client or host over topics and
groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.errors import ArgumentError
from rmqalloc.plans._plan import Plan
from rmqalloc.plans.worst_first import worst_groups
from rmqalloc.results.renderer import arrow
from rmqalloc.scenarios import CURRENT
from rmqalloc.text import counted, did_you_mean

KEYS = ("consumer_group", "topic", "host", "client_id")
"""What `client_totals` can add up by."""

_SUMS = ("moved", "unowned", "double_owned", "idle", "clients_gaining", "clients_losing")
_FAULTS = ("unowned", "double_owned", "idle")
_FLOWS = ("before", "after", "gained", "lost")


class Summary(NamedTuple):
    """What a scenario comes to.

    Attributes
    ----------
    scenario : str
    groups_moving : int
        Groups in which a queue changes owner.
    groups_worse : int
        Groups that get worse: see `rmqalloc.plans.worst_first`.
    moved, unowned, double_owned, idle : int
        Queues that change owner, queues that nobody, or several clients, own after, and clients
        without a queue after.
    gain, lose : int
        Clients, each counted in every group it is in, that have more queues after than before, and
        that have less.
    unowned_before, double_owned_before, idle_before : int
    """

    scenario: str
    groups_moving: int
    groups_worse: int
    moved: int
    unowned: int
    double_owned: int
    idle: int
    gain: int
    lose: int
    unowned_before: int
    double_owned_before: int
    idle_before: int

    def sentence(self, n_groups: int) -> str:
        """Return all that in one sentence.

        Examples
        --------
        >>> one = Summary("s", 2, 1, moved=21, unowned=0, double_owned=0, idle=4, gain=9, lose=1,
        ...               unowned_before=0, double_owned_before=0, idle_before=1)
        >>> one.sentence(3)
        '21 queues change owner in 2 of 3 groups, 9 clients gain, 1 loses; unowned 0, idle 1 → 4; 1 of 3 groups gets worse.'
        """
        where = f" in {self.groups_moving:,} of {n_groups:,} groups" if n_groups > 1 else ""
        queues = counted(self.moved, "queue changes owner", "queues change owner")
        gain, lose = (
            counted(self.gain, "client gains", "clients gain"),
            counted(self.lose, "loses", "lose"),
        )
        return f"{queues}{where}, {gain}, {lose}; {', '.join(self._faults())}; {self._worse(n_groups)}."

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong before and after; queues with several owners only where there are
        any.
        """
        for name in _FAULTS:
            before, after = getattr(self, f"{name}_before"), getattr(self, name)
            if before or after or name != "double_owned":
                yield f"{name.replace('_', '-')} {arrow(before, after)}"

    def _worse(self, n_groups: int) -> str:
        if not self.groups_worse:
            return "nothing gets worse"
        if n_groups == 1:
            return "the group gets worse"
        return f"{self.groups_worse:,} of {n_groups:,} groups {'gets' if self.groups_worse == 1 else 'get'} worse"


def scenario_of(plan: Plan, scenario: str | None = None) -> str:
    """Return the name of a scenario of a plan."""
    names = [one.name for one in plan.scenarios] or [CURRENT]
    if scenario is None and len(names) > 1:
        raise ArgumentError(
            f"the plan has {len(names)} scenarios, so one must be named: {', '.join(names)}"
        )
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
    before, after = (
        plan.groups.slice(state * plan.n_groups, plan.n_groups) for state in (0, number)
    )
    moving = int(pc.sum(pc.greater(after["moved"], 0)).as_py() or 0)
    sums = (*(_sum(after, name) for name in _SUMS), *(_sum(before, name) for name in _FAULTS))
    return Summary(
        plan.scenarios[number - 1].name, moving, worst_groups(plan, number).n_worse, *sums
    )


def _sum(groups: pa.Table, name: str) -> int:
    return int(pc.sum(groups[name]).as_py() or 0)


def client_totals(clients: pa.Table, *by: str) -> pa.Table:
    """Return queues of clients over topics and groups: what is even topic by topic may be uneven in
    all.

    Parameters
    ----------
    clients : pyarrow.Table
        `Plan.clients`, or some of its rows.
    *by : str
        Some of `KEYS`, e.g. "client_id" for every client over all its groups, or "host".

    Returns
    -------
    pyarrow.Table
        ``scenario``, the keys, ``n_units`` (groups times topics), ``before``, ``after``, ``gained``
        and ``lost``; in the order in which they first come.

    Raises
    ------
    ValueError
        A key is none.
    """
    if not by or not set(by) <= set(KEYS):
        raise ArgumentError(f"by must be some of {', '.join(KEYS)}, got {by!r}")
    keys = ["scenario", *by]
    number = np.zeros(clients.num_rows, np.int64)
    for key in keys:  # a text has the number of its first row, so few numbers are large, and each step makes them small again
        codes = (
            clients[key]
            .combine_chunks()
            .dictionary_encode(null_encoding="encode")
            .indices.to_numpy()
        )
        _, firsts, number = np.unique(
            number * (clients.num_rows + 1) + codes, return_index=True, return_inverse=True
        )
    order = np.argsort(firsts)
    sums = {"n_units": np.bincount(number, minlength=firsts.size)}
    sums |= {name: np.bincount(number, clients[name].to_numpy(), firsts.size) for name in _FLOWS}
    totals = {name: pa.array(each[order].astype(np.int64)) for name, each in sums.items()}
    named = clients.select(keys).take(pa.array(firsts[order]))
    return pa.table({**dict(zip(keys, named.columns, strict=True)), **totals})
