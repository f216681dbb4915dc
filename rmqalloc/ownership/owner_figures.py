"""Balance of groups now: of one group from the states of its queues, of many ordinary groups at
once from numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rmqalloc.evidence.views.without_owners import sharing_of
from rmqalloc.ownership.group_figures import balance_of_groups, loads_of_groups
from rmqalloc.ownership.queue_states import UNKNOWN, OwnerStates
from rmqalloc.ownership.reader_sets import Keys, Numbers
from rmqalloc.ownership.states import State


class OwnerFigures(NamedTuple):
    """Balance of a group over some topics: idle clients, unowned and double-owned queues, greatest
    load over mean load.
    """

    idle: int
    unowned: int
    double_owned: int
    skew: float


def figures_of(states: OwnerStates, topics: Iterable[str]) -> OwnerFigures | None:
    """Return the figures of a group, None where one of them is not known: the client list is not,
    a queue is of unknown owners, some clients report and others do not, or there is no client or
    no queue.

    Of clients that share an id the first has the queues of the id, as in plans.
    """
    if states.clients_unknown:
        return None
    loads = dict.fromkeys(states.views.client_ids, 0)
    n_queues = n_loads = unowned = double_owned = 0
    for topic in topics:
        of_topic = states.of_unit(topic).values()
        if states.is_partial(topic) and of_topic:
            return None
        for state in of_topic:
            if state.known == UNKNOWN:
                return None
            owners = {states.views.client_ids[slot] for slot in state.slots}
            for client_id in owners:
                loads[client_id] += 1
            n_queues += 1
            n_loads += len(owners)
            unowned += state.is_unowned
            double_owned += state.is_double_owned
    if not loads or not n_queues:
        return None
    n_clients = len(states.views.clients)
    n_idle = n_clients - sum(map(bool, loads.values()))
    is_shared = sharing_of(states.views.group) is not None
    mean = (n_loads if is_shared else n_queues) / n_clients
    skew = max(loads.values()) / (mean or 1)
    return OwnerFigures(n_idle, unowned, double_owned, skew)


def figures_of_ordinary(
    state: State, numbers: Numbers, group_of: Keys, n_groups: int
) -> list[OwnerFigures | None]:
    """Return the figures of groups in which each queue has one owner, by the group of every row;
    None for a group without a queue.
    """
    loads = loads_of_groups(state.assigned_rows, group_of, n_groups, len(numbers.clients))
    loads["n_queues"] = np.bincount(group_of[numbers.rows_of(state.queues)], minlength=n_groups)
    skews = balance_of_groups(loads, np.zeros(n_groups, bool))["skew"].tolist()
    has_queues = np.bincount(group_of, minlength=n_groups) > 0
    return [
        OwnerFigures(idle, unowned=0, double_owned=0, skew=skew) if is_there else None
        for idle, skew, is_there in zip(
            loads["idle"].tolist(), skews, has_queues.tolist(), strict=True
        )
    ]
