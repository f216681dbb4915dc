"""Virtual nodes: what more of them do for a group on a ring, and when they do nothing."""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np
import pyarrow as pa

from rmqalloc.advice.advice import RINGS_SCHEMA
from rmqalloc.advice.present import Present
from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.rollouts.planned_groups import Ground
from rmqalloc.rollouts.play import played
from rmqalloc.rollouts.schedule import Camp, Cast, Course, Moment, Step, everyone
from rmqalloc.scenarios.subfleet import part_of
from rmqalloc.strategies import Strategy

VIRTUAL_NODES = (10, 40, 160, 640, 2560)
"""Points per client that are tried, besides those of now."""


def rings_table(present: Present) -> pa.Table:
    """What groups on a ring would be with other numbers of virtual nodes: `RINGS_SCHEMA`."""
    rows = []
    whole = present.ground
    for rule, units in whole.rules.by_strategy():
        now = rule.virtual_nodes
        if now is None:
            continue
        tried = [now, *(nodes for nodes in VIRTUAL_NODES if nodes != now)]
        more = [rule.with_virtual_nodes(nodes) for nodes in tried[1:]]
        rows += _rows(_part(whole, units), tried, more)
    rows.sort(key=lambda row: (row["consumer_group"], row["virtual_nodes"]))
    return pa.Table.from_pylist(rows, RINGS_SCHEMA)


def _part(whole: Ground, units: np.typing.NDArray[np.int64]) -> Ground:
    """The groups of some units, which are all the units of these groups."""
    places, group_of = np.unique(whole.group_of[units], return_inverse=True)
    casts = tuple(whole.casts[place] for place in places.tolist())
    fleet, rules = part_of(whole.fleet, units), whole.rules.part_of(units)
    return Ground(fleet, rules, group_of.astype(np.int64), casts, whole.written, ())


def _rows(ground: Ground, tried: list[int], more: list[Strategy]) -> list[dict[str, object]]:
    def course_of(cast: Cast) -> Course:
        every = everyone(len(cast.client_ids))
        steps = []
        for number, nodes in enumerate(tried):
            if number and nodes * every.size > MAX_POINTS:
                break
            # After each the state of now, so that each tells what it moves from there.
            for rule in (number, 0) if number else (0,):
                steps.append(Step(str(tried[rule]), (Moment((Camp(every, every, rule=rule),)),)))
        return Course(cast.client_ids, cast.rooms, steps)

    rows = []
    for row in played(ground, course_of, rules=more).steps.to_pylist():
        if row["step"] and row["step"] % 2 == 0:
            continue
        nodes = int(row["action"])
        row |= {"virtual_nodes": nodes, "is_now": not row["step"], "moved_from_now": row["moved"]}
        row["skew"] = row["max_load"] * row["n_clients"] / row["n_queues"]
        row["chance_skew"] = chance_skew(row["n_queues"], row["n_clients"])
        rows.append({name: row[name] for name in RINGS_SCHEMA.names})
    return rows


def chance_skew(n_queues: int, n_clients: int) -> float:
    """Greatest load over the mean that is to be expected where every queue falls to any client alike.

    That is what a ring of boundless many virtual nodes comes to. Loads are taken for independent, each binomial.

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
