"""Virtual nodes: what more of them do for a group on a ring, and when they do not help."""

from __future__ import annotations

from math import exp, lgamma, log

import pyarrow as pa

from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.fleet.columns import distinct
from rmqalloc.rollouts.advice._owners_now import Present
from rmqalloc.rollouts.advice.advice import RINGS_SCHEMA
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.schedule import ClientView, GroupAtStart, Moment, Schedule, Step, everyone
from rmqalloc.strategies import Strategy

VIRTUAL_NODES = (10, 40, 160, 640, 2560)
"""Virtual nodes that are tried, besides the present number."""


def rings_table(present: Present) -> pa.Table:
    """Return a table of groups on a ring under other numbers of virtual nodes: `RINGS_SCHEMA`."""
    rows = []
    whole = present.planned
    for rule, units in whole.rules.by_strategy():
        now = rule.virtual_nodes
        if now is None:
            continue
        tried = [now, *(nodes for nodes in VIRTUAL_NODES if nodes != now)]
        more = [rule.with_virtual_nodes(nodes) for nodes in tried[1:]]
        rows += _rows(whole.part(distinct(whole.group_of[units]).tolist()), tried, more)
    rows.sort(key=lambda row: (row["consumer_group"], row["virtual_nodes"]))
    return pa.Table.from_pylist(rows, RINGS_SCHEMA)


def _rows(
    planned: PlannedGroups, tried: list[int], more: list[Strategy]
) -> list[dict[str, object]]:
    def schedule_of(group: GroupAtStart) -> Schedule:
        every = everyone(len(group.client_ids))
        steps = []
        for number, nodes in enumerate(tried):
            if number and nodes * every.size > MAX_POINTS:
                break
            # Back to the present number after each, so that every row has its moves from there.
            for rule in (number, 0) if number else (0,):
                steps.append(
                    Step(str(tried[rule]), (Moment((ClientView(every, every, rule=rule),)),))
                )
        return Schedule(group.client_ids, group.rooms, steps)

    rows = []
    for row in play_schedules(planned, schedule_of, rules=more).steps.to_pylist():
        if row["step"] and row["step"] % 2 == 0:
            continue
        nodes = int(row["action"])
        row |= {"virtual_nodes": nodes, "is_now": not row["step"], "moved_from_now": row["moved"]}
        row["skew"] = row["max_load"] * row["n_clients"] / row["n_queues"]
        row["chance_skew"] = chance_skew(row["n_queues"], row["n_clients"])
        rows.append(row)
    return rows


def chance_skew(n_queues: int, n_clients: int) -> float:
    """Return the expected greatest load over the mean if every queue falls to each client with
    equal probability.

    This is the limit of a ring with many virtual nodes. Loads are taken as independent and
    binomial.

    Examples
    --------
    >>> round(chance_skew(200, 50), 1), round(chance_skew(20_000, 50), 1), chance_skew(7, 1)
    (2.3, 1.1, 1.0)
    """
    if n_clients == 1 or not n_queues:
        return 1.0
    odds, below, greatest = log(1 / n_clients), 0.0, 0.0
    rest = log(1 - 1 / n_clients)
    for load in range(n_queues):
        ways = lgamma(n_queues + 1) - lgamma(load + 1) - lgamma(n_queues - load + 1)
        below = min(1.0, below + exp(ways + load * odds + (n_queues - load) * rest))
        greatest += 1 - below**n_clients  # the chance that somebody has more than this
    return greatest * n_clients / n_queues
