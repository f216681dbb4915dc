"""Sums of a plan: of every scenario over all groups, and of every client or host over topics and
groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.errors import ArgumentError
from rmqalloc.plans._plan import OF_OWNERS, Plan
from rmqalloc.plans.worst_first import WorstFirst, group_states, worst_groups
from rmqalloc.results import compute as pc
from rmqalloc.results.renderer import arrow, skews_apart
from rmqalloc.scenarios import CURRENT
from rmqalloc.text import counted, did_you_mean

KEYS = ("consumer_group", "topic", "host", "client_id")
"""What `client_totals` can add up by."""

_SUMS = ("moved", "unowned", "double_owned", "idle", "clients_gaining", "clients_losing")
_FAULTS = ("unowned", "double_owned", "idle")
PRESENT = tuple(name for name in OF_OWNERS if name != "cross_room")
"""Figures that are null before any change only where it is not known who owns a queue."""

NOT_KNOWN = "not known"
_FLOWS = ("before", "after", "gained", "lost")


class Summary(NamedTuple):
    """Sums of a scenario.

    Attributes
    ----------
    scenario : str
    groups_moving : int
        Groups in which a queue changes owner.
    groups_worse : int
        Groups that get worse: see `rmqalloc.plans.worst_first`.
    groups_better : int
        Groups in which a figure gets better; a group with better and worse figures counts as both.
    groups_unknown : int
        Groups with an unknown present figure, so that it cannot be compared.
    worse, better : tuple of str
        Figures that get worse and better, with the number of groups.
    moved, unowned, double_owned, idle : int
        Queues that change owner, unowned and double-owned queues after, and clients without a queue
        after.
    gain, lose : int
        Clients with more and with fewer queues after than before; a client counts in every group.
    unowned_before, double_owned_before, idle_before : int or None
        None if not known for a group.
    """

    scenario: str
    groups_moving: int
    groups_worse: int
    groups_better: int
    groups_unknown: int
    worse: tuple[str, ...]
    better: tuple[str, ...]
    moved: int
    unowned: int
    double_owned: int
    idle: int
    gain: int
    lose: int
    unowned_before: int | None
    double_owned_before: int | None
    idle_before: int | None

    def sentence(self, n_groups: int) -> str:
        """Return the sums as one sentence.

        Examples
        --------
        >>> one = Summary("s", 2, 1, 0, 0, ("idle 1",), (), moved=21, unowned=0, double_owned=0, idle=4,
        ...               gain=9, lose=1, unowned_before=0, double_owned_before=0, idle_before=1)
        >>> one.sentence(3).split("; ")[1:]
        ['unowned 0, idle 1 → 4', '1 of 3 groups gets worse (idle 1).']
        """
        where = f" in {self.groups_moving:,} of {n_groups:,} groups" if n_groups > 1 else ""
        queues = counted(self.moved, "queue changes owner", "queues change owner")
        gain, lose = (
            counted(self.gain, "client gains", "clients gain"),
            counted(self.lose, "loses", "lose"),
        )
        return f"{queues}{where}, {gain}, {lose}; {', '.join(self._faults())}; {'; '.join(self._verdict(n_groups))}."

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong before and after; queues with several owners only where there are
        any.
        """
        for name in _FAULTS:
            before, after = getattr(self, f"{name}_before"), getattr(self, name)
            if before or after or name != "double_owned":
                before = NOT_KNOWN if before is None else before
                yield f"{name.replace('_', '-')} {arrow(before, after)}"

    def _verdict(self, n_groups: int) -> Iterator[str]:
        """Yield what gets better, what gets worse, and what cannot be compared."""
        turns = (
            ("better", self.groups_better, self.better),
            ("worse", self.groups_worse, self.worse),
        )
        for what, n, texts in turns:
            if n_groups == 1 and n:
                yield f"{what}: {', '.join(texts)}"
            elif n:
                of = counted(n, f"of {n_groups:,} groups gets", f"of {n_groups:,} groups get")
                yield f"{of} {what} ({', '.join(texts)})"
        if not self.groups_worse and not self.groups_unknown:
            yield "nothing gets worse"
        if self.groups_unknown:
            of = "" if n_groups == 1 else f" of {counted(self.groups_unknown, 'group')}"
            yield f"it is not known what gets worse{of}, because the present state is not known"


def scenario_of(plan: Plan, scenario: str | None = None) -> str:
    """Return the name of a scenario of a plan."""
    names = [planned.name for planned in plan.scenarios] or [CURRENT]
    if scenario is None and len(names) > 1:
        raise ArgumentError(
            f"the plan has {len(names)} scenarios; name one of them: {', '.join(names)}"
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
    before, after = group_states(plan, number)
    worst = worst_groups(plan, number)
    is_better = np.logical_or.reduce([change < 0 for change in worst.changes.values()])
    is_moving = pc.greater(after["moved"], 0)
    moved, unowned, double_owned, idle, gain, lose = (_total(after, name) or 0 for name in _SUMS)
    return Summary(
        scenario=plan.scenarios[number - 1].name,
        groups_moving=int(pc.sum(is_moving).as_py() or 0),
        groups_worse=worst.n_worse,
        groups_better=int(np.count_nonzero(is_better)),
        groups_unknown=int(np.count_nonzero(worst.is_unknown)),
        worse=tuple(_turned(before, after, worst, 1)),
        better=tuple(_turned(before, after, worst, -1)),
        moved=moved,
        unowned=unowned,
        double_owned=double_owned,
        idle=idle,
        gain=gain,
        lose=lose,
        unowned_before=_total(before, "unowned"),
        double_owned_before=_total(before, "double_owned"),
        idle_before=_total(before, "idle"),
    )


def _turned(before: pa.Table, after: pa.Table, worst: WorstFirst, sign: int) -> Iterator[str]:
    """Yield which figures get worse, or better if ``sign`` is -1; of several groups in how many."""
    if sign > 0 and worst.lost.any():
        n = int(worst.lost.sum() if after.num_rows == 1 else np.count_nonzero(worst.lost))
        yield f"topics not assigned {n:,}"
    for name, change in worst.changes.items():
        n = int(np.count_nonzero(change * sign > 0))
        said = name.replace("_", "-")
        if n and after.num_rows > 1:
            yield f"{said} {n:,}"
        elif n and name == "skew":
            was, is_now = before[name][0].as_py(), after[name][0].as_py()
            yield f"skew {arrow(*skews_apart(was, is_now))}"
        elif n:
            yield said


def _total(groups: pa.Table, name: str) -> int | None:
    """Return the sum of a figure of groups; None where it is not known of one of them."""
    planned = pc.filter(groups[name], pc.greater(groups["n_topics"], 0))
    if name in PRESENT and planned.null_count:
        return None
    return int(pc.sum(groups[name]).as_py() or 0)


def present(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a group or unit before any change, ``NOT_KNOWN`` in place of those that
    are null although the row was planned.

    Examples
    --------
    >>> row = dict.fromkeys(PRESENT, 0) | {"err_code": 0, "unowned": None}
    >>> present(row)["unowned"], present(row | {"err_code": 6})["unowned"]
    ('not known', None)
    """
    if row.get("err_code", 0) != 0 or row.get("n_topics", 1) == 0:
        return dict(row)
    unknown = (name for name in PRESENT if row[name] is None)
    return {**row, **dict.fromkeys(unknown, NOT_KNOWN)}


def present_columns(groups: pa.Table) -> dict[str, list[Any]]:
    """Return the columns of groups before any change as `present` has their rows."""
    columns: dict[str, list[Any]] = groups.to_pydict()
    for name in columns.keys() & PRESENT:
        if groups[name].null_count:
            cells = zip(columns[name], columns["n_topics"], strict=True)
            columns[name] = [NOT_KNOWN if n and cell is None else cell for cell, n in cells]
    return columns


def client_totals(clients: pa.Table, *by: str) -> pa.Table:
    """Return the queues of clients over topics and groups. Loads that are even by topic may be
    uneven in total.

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
        and ``lost``, in the order of first appearance.

    Raises
    ------
    ValueError
        A key is unknown.
    """
    if not by or not set(by) <= set(KEYS):
        raise ArgumentError(f"by must be some of {', '.join(KEYS)}, got {by!r}")
    keys = ["scenario", *by]
    number = np.zeros(clients.num_rows, np.int64)
    # A text has the number of its first row, so few numbers are large, and each step makes them
    # small again.
    for key in keys:
        coded = pc.dictionary_encode(clients[key].combine_chunks(), null_encoding="encode")
        pairs = number * (clients.num_rows + 1) + coded.indices.to_numpy()
        _, firsts, number = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    sums = {"n_units": np.bincount(number, minlength=firsts.size)}
    sums |= {name: np.bincount(number, clients[name].to_numpy(), firsts.size) for name in _FLOWS}
    totals = {name: pa.array(column[order].astype(np.int64)) for name, column in sums.items()}
    named = pc.take(clients.select(keys), pa.array(firsts[order]))
    return pa.table({**dict(zip(keys, named.columns, strict=True)), **totals})
