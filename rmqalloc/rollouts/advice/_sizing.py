"""How many clients a group should have: numbers that split its queues evenly, and the moves from
one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import gcd, isqrt, log
from typing import Any

import numpy as np
import pyarrow as pa

from rmqalloc.rollouts.advice._owners_now import Present
from rmqalloc.rollouts.advice.advice import COUNTS_SCHEMA
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.schedule import (
    ClientView,
    GroupAtStart,
    InapplicableError,
    Moment,
    Schedule,
    Step,
)
from rmqalloc.scenarios.client_changes import joining_names
from rmqalloc.strategies.ordering import sort_client_ids

MOST_COUNTS = 12
"""Numbers of clients that are tried for a group, those closest to the present one."""

_READ = [
    "consumer_group",
    "action",
    "n_clients",
    "n_queues",
    "idle",
    "min_load",
    "max_load",
    "moved",
]
_NOW, _FROM_NOW, _TO_FIRST, _FROM_ABOVE = "now", "from now", "to the first", "from the row above"


def counts_table(present: Present) -> pa.Table:
    """Return a table of groups with other numbers of clients: `COUNTS_SCHEMA`."""
    planned = present.planned
    n_queues, n_now = {}, {}
    for position, group in enumerate(planned.groups):
        units = present.units_of(position)
        n_queues[group.consumer_group] = planned.fleet.n_queues[units].tolist()
        n_now[group.consumer_group] = len(group.client_ids)

    def schedule_of(group: GroupAtStart) -> Schedule:
        return _schedule(group, worthwhile(n_queues[group.consumer_group], len(group.client_ids)))

    try:
        steps = play_schedules(planned, schedule_of).steps
    except InapplicableError:  # all of them are too large
        return COUNTS_SCHEMA.empty_table()
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for row in steps.select(_READ).to_pylist():
        name, n_clients = row["consumer_group"], row["n_clients"]
        if row["action"] == _FROM_NOW:
            mean = row["n_queues"] / n_clients
            rows[name, n_clients] = row | {
                "is_now": n_clients == n_now[name],
                "is_even": row["min_load"] == row["max_load"],
                "skew": row["max_load"] / mean,
                "moved_from_now": row["moved"],
                "moved_from_row_above": None,
            }
        elif row["action"] == _FROM_ABOVE:
            rows[name, n_clients]["moved_from_row_above"] = row["moved"]
    return pa.Table.from_pylist([*rows.values()], COUNTS_SCHEMA)


def worthwhile(n_queues: Sequence[int], n_clients: int) -> list[int]:
    """Return the numbers of clients to try, ascending: the present one, its neighbours, and those
    that split topics evenly.

    Examples
    --------
    >>> worthwhile([12, 8], 5)
    [1, 2, 4, 5, 6, 12]
    """
    numbers = {n_clients, max(1, n_clients - 1), n_clients + 1, max(n_queues)}
    even = gcd(*n_queues)
    for divisor in range(1, isqrt(even) + 1):
        if even % divisor == 0:
            numbers |= {divisor, even // divisor}
    most = max(*n_queues, n_clients)
    candidates = [number for number in numbers if number <= most]
    candidates.sort(key=lambda number: (abs(log(number / n_clients)), number))
    return sorted({*candidates[:MOST_COUNTS], n_clients})


def _schedule(group: GroupAtStart, counts: list[int]) -> Schedule:
    """Return the steps from now to each number and back, and then from each number to the next."""
    n_now = len(group.client_ids)
    in_turn = [
        *group.client_ids,
        *islice(joining_names({*group.client_ids}), max(0, max(counts) - n_now)),
    ]
    everyone = sort_client_ids(in_turn)
    position = {client_id: i for i, client_id in enumerate(everyone)}
    rooms = [-1] * len(everyone)
    for i, client_id in enumerate(in_turn):
        # New clients are spread over the rooms like the present ones.
        rooms[position[client_id]] = group.rooms[i % n_now]

    def step(action: str, n: int) -> Step:
        there = np.zeros(len(everyone), bool)
        there[[position[client_id] for client_id in in_turn[:n]]] = True
        return Step(action, (Moment((ClientView(there, there),)),))

    steps = [step(_NOW, n_now)]
    for n in counts:
        steps += [step(_FROM_NOW, n), step(_NOW, n_now)]
    steps += [step(_TO_FIRST, counts[0]), *(step(_FROM_ABOVE, n) for n in counts[1:])]
    return Schedule(everyone, rooms, steps)
