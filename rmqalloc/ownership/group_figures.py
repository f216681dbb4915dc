"""Figures of groups: the sums over their units, and over the clients of these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.balance import mean_load
from rmqalloc.ownership.between import Flows
from rmqalloc.ownership.reader_sets import Keys, Mask
from rmqalloc.ownership.states import ClientRows

Columns = dict[str, NDArray[Any]]


def loads_of_groups(clients: ClientRows, group_of: Keys, n_groups: int, n_ids: int) -> Columns:
    """Return how even the loads of the clients of groups are over all their topics."""
    n_repeats, n_ids = 1 + int(clients.repeats.max(initial=0)), max(n_ids, 1)
    ids = group_of[clients.rows] * n_ids + clients.clients
    slots, place = np.unique(ids * n_repeats + clients.repeats, return_inverse=True)
    loads = np.bincount(place, clients.loads, slots.size).astype(np.int64)
    group = slots // (n_ids * n_repeats)
    counts = np.bincount(group, minlength=n_groups)
    filled = np.flatnonzero(counts)
    starts = np.searchsorted(group, filled)
    least, most = np.zeros((2, n_groups), np.int64)
    if filled.size:
        least[filled] = np.minimum.reduceat(loads, starts)
        most[filled] = np.maximum.reduceat(loads, starts)
    return {
        "n_clients": counts,
        "idle": np.bincount(group[loads == 0], minlength=n_groups),
        "min_load": least,
        "max_load": most,
        "n_loads": np.bincount(group, loads, n_groups).astype(np.int64),
    }


def balance_of_groups(columns: Columns, is_shared: Mask) -> Columns:
    """Return mean load and skew, given the loads of groups; a shared queue counts once for each
    reader.
    """
    n_loads = np.where(is_shared, columns["n_loads"], columns["n_queues"])
    mean = mean_load(n_loads, columns["n_clients"])
    return {"mean_load": mean, "skew": columns["max_load"] / np.where(mean > 0, mean, 1)}


def flows_of_groups(flows: Flows, group_of: Keys, n_groups: int, n_ids: int) -> Columns:
    """Count the clients of groups that gain or lose a queue of any topic, and those with more or
    fewer queues after.
    """
    of_group = flows.added(group_of, max(n_ids, 1))
    grows = of_group.gained - of_group.lost
    return {
        "clients_affected": np.bincount(of_group.of, minlength=n_groups),
        "clients_gaining": np.bincount(of_group.of[grows > 0], minlength=n_groups),
        "clients_losing": np.bincount(of_group.of[grows < 0], minlength=n_groups),
    }


def added(places: Keys, numbers: NDArray[Any], size: int) -> Keys:
    """Sum numbers by their place; a sum beyond int64 becomes the greatest int64."""
    total = np.zeros(size, np.int64)
    np.add.at(total, places, numbers)
    about = np.bincount(places, weights=numbers, minlength=size)
    sums: Keys = np.where(about >= 2.0**63, np.iinfo(np.int64).max, total)
    return sums
