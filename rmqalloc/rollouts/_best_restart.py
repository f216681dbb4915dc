"""The best way to restart the clients of a group: a small set of ways is replayed, and the best taken.

The goals, in their order:

1. the gates are kept; where no way keeps them, they are exceeded least;
2. fewest queues that nobody reads from one step to the next, as when all clients stop at once;
3. fewest queues move;
4. fewest queues are unowned at the worst moment, then for the shortest time;
5. fewest batches, so that it is over soonest;
6. the simplest way: old clients stop before new ones start, and the earlier of `ORDERS`.

A way is a size of a batch, whether new clients join first, and an order. For each number of batches
the smallest size is tried that makes do with it. Few batches come first, and sizes are added until
all ways of the group have `SEARCHED_CELLS`, so a large group is not tried in small batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it

from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.rollouts.planned_groups import PlannedGroups, planned_groups_of
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.restart import RestartWay, check_way, restart_schedule
from rmqalloc.rollouts.rollout_gates import broken_gates
from rmqalloc.rollouts.rollout_result import WAYS_SCHEMA, Rollout
from rmqalloc.rollouts.schedule import ORDERS, GroupAtStart, InapplicableError, Schedule
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import counted

SEARCHED_CELLS = 1 << 23
"""Queues times steps, or clients times steps, of all ways of one group."""

GOALS = {
    "excess": "gates",
    "max_unowned_after": "unread",
    "moved": "moves",
    "max_unowned_written": "unowned",
    "unowned_queue_seconds": "queue-seconds",
    "n_batches": "batches",
}
"""Figures of a way that are kept small, the first before all others, and the names of the goals."""

Row = dict[str, Any]
Gates = tuple[float | None, int | None, int | None, str | None]


def best_restart(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ("*",),
    max_batch: int | None = None,
    surge: bool | None = None,
    ids: str = "suffix",
    seed: int = 0,
    detail: bool = False,
    topics: Sequence[str] = ("*",),
    informed_by: str = "notice",
    max_moved_per_queue: float | None = None,
    max_unowned: int | None = None,
    max_double: int | None = None,
    max_unowned_seconds: str | None = None,
) -> Rollout:
    """Restart all clients of every group in the best way found for the group.

    The goals, most important first: the gates are kept; fewest unread queues from one step to the
    next; fewest moves; fewest unowned queues at the worst moment, then fewest seconds; fewest
    batches; the simplest way.

    Parameters
    ----------
    snapshot, groups, ids, seed, detail, topics, informed_by
        As of `restart`.
    max_batch : int, optional
        Most clients in a batch; all by default.
    surge : bool, optional
        True if new clients join before the old clients leave; by default both ways are tried,
        unless ids are stable.
    max_moved_per_queue, max_unowned, max_double, max_unowned_seconds
        The gates, as for `rmqalloc.rollouts.violated_gates`. If no way keeps them, the result is
        the way that exceeds them least.

    Returns
    -------
    Rollout
        The best way; `Rollout.ways` has all tried ways.

    Raises
    ------
    ValueError
        As of `restart`, or ``max_batch`` is less than 1.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 8),)), tuple(Client(f"c{i}") for i in range(4))
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> best = best_restart(cluster, max_unowned=6)
    >>> best.ways.select(["batch", "surge", "order", "moved", "lost_by"]).to_pylist()[:2]
    [{'batch': 4, 'surge': True, 'order': 'shuffled', 'moved': 8, 'lost_by': None}, ...
    """
    if max_batch is not None and max_batch < 1:
        raise ArgumentError(f"the largest batch must be at least 1 client, got {max_batch}")
    common = RestartWay(surge=bool(surge), ids=ids, seed=seed, informed_by=informed_by)
    check_way(common)
    known = Known.of(snapshot, groups)
    planned = planned_groups_of(known, groups, topics, stable_ids=common.ids == "stable")
    surges = [False, True] if surge is None and ids != "stable" else [bool(surge)]
    gates = max_moved_per_queue, max_unowned, max_double, max_unowned_seconds
    best, rows, notes = dict[str, RestartWay](), list[Row](), list[str]()
    for position, group in enumerate(planned.groups):
        part, name = planned.part([position]), group.consumer_group
        sizes = list(_sizes(part, max_batch or len(group.client_ids), len(surges)))
        ways = list(_ways(common, sizes, surges, len(group.client_ids)))
        ranked = _ranked(part, ways, gates)
        best[name] = ways[ranked[0]["place"]] if ranked else ways[0]
        rows += [row | {"consumer_group": name} for row in ranked]
        if min(sizes) > 1:
            notes.append(
                f"consumer group {name!r}: batches of fewer than {counted(min(sizes), 'client')} were not tried: they need "
                "too many steps"
            )
    made = play_schedules(
        planned, lambda group: restart_schedule(group, best[group.consumer_group]), detail=detail
    )
    ways_tried = pa.Table.from_pylist(rows, WAYS_SCHEMA)
    return replace(made, ways=ways_tried, warnings=(*made.warnings, *notes))


def _sizes(planned: PlannedGroups, max_batch: int, n_surges: int) -> Iterator[int]:
    """Yield the sizes of a batch of one group, the largest first."""
    n_clients, n_queues = len(planned.groups[0].client_ids), int(planned.fleet.n_queues.sum())
    last, cells = 0, 0
    for n_batches in range(-(-n_clients // max_batch), n_clients + 1):
        size = -(-n_clients // n_batches)
        if size == last:
            continue
        cells += 2 * n_batches * max(n_queues, 4 * n_clients) * n_surges * len(ORDERS)
        if last and cells > SEARCHED_CELLS:
            return
        yield size
        last = size


def _ways(
    common: RestartWay, sizes: Sequence[int], surges: Sequence[bool], n_clients: int
) -> Iterator[RestartWay]:
    """Yield the ways, of two with the same number of batches the simpler one first."""
    for size in sizes:
        orders = (
            ORDERS if size < n_clients else ORDERS[:1]
        )  # where all go at once, orders are alike
        for surge in surges:
            for order in orders:
                yield common._replace(batch=size, surge=surge, order=order)


def _ranked(planned: PlannedGroups, ways: Sequence[RestartWay], gates: Gates) -> list[Row]:
    """Return the figures of all ways of one group, the best first; a way that is too large to be
    replayed is left out.
    """
    copies = _copies(planned, len(ways))

    def schedule_of(copy: GroupAtStart) -> Schedule:
        return restart_schedule(copy, ways[int(copy.consumer_group)])

    try:
        made = play_schedules(copies, schedule_of)
    except InapplicableError:
        return []
    excess = dict.fromkeys(made.totals["consumer_group"].to_pylist(), 0.0)
    for gate in broken_gates(made, *gates):
        excess[gate.consumer_group] += gate.excess
    after = made.steps.group_by("consumer_group").aggregate([("unowned_after", "max")])
    unread = {row["consumer_group"]: row["unowned_after_max"] for row in after.to_pylist()}
    rows = []
    for row in made.totals.to_pylist():
        name = row["consumer_group"]
        way = ways[int(name)]
        figures = {
            "place": int(name),
            "surge": way.surge,
            "order": way.order,
            "excess": excess[name],
            "keeps_gates": not excess[name],
            "max_unowned_after": unread[name],
            "n_batches": row["n_steps"] // 2,
        }
        rows.append(row | figures)
    rows.sort(key=lambda row: (*_figures(row), row["place"]))
    for rank, row in enumerate(rows, start=1):
        row |= {"rank": rank, "lost_by": _lost_by(row, rows[0]) if rank > 1 else None}
    return rows


def _figures(row: Row) -> tuple[float, ...]:
    """Return what is kept small."""
    return tuple(round(row[column], 6) for column in GOALS)


def _lost_by(row: Row, best: Row) -> str:
    """Return the first goal in which a way is worse than the best one."""
    pairs = zip(GOALS.values(), _figures(row), _figures(best), strict=True)
    return next((goal for goal, mine, least in pairs if mine > least), "simplicity")


def _copies(planned: PlannedGroups, n: int) -> PlannedGroups:
    """Return one group ``n`` times, as groups that are called 0, 1, ..."""
    n_units = planned.fleet.n_units
    units = np.tile(np.arange(n_units), n)
    return replace(
        planned,
        fleet=units_alone(planned.fleet, units),
        rules=planned.rules.select(units),
        owners=np.tile(planned.owners, n),
        group_of=np.repeat(np.arange(n), n_units),
        groups=tuple(planned.groups[0]._replace(consumer_group=str(i)) for i in range(n)),
    )
