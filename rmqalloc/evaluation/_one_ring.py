"""Assign many client lists on one ring of all clients, of which each list has most, as in the
states of a rolling restart.

A ring of its own for every list costs its clients each time. The ring of all clients is sorted
once; a queue's owner is the first point at or after its hash whose client is in the list. As every
list has a quarter of the clients at least, that is among the first few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import list_positions
from rmqalloc.scenarios.lazy_strings import Derived

FEWEST_LISTS = 8
"""Lists for which sorting the ring of all clients is worth it."""

LEAST_SHARE = 4
"""Every list has at least one in ``LEAST_SHARE`` of all clients."""


def fits_one_ring(fleet: Fleet, ids: Derived) -> bool:
    """Return True if there are many lists, each with at least a quarter of the clients of ``ids``,
    in their order.
    """
    sizes = np.diff(fleet.client_lists.offsets)
    if sizes.size < FEWEST_LISTS or int(sizes.min()) * LEAST_SHARE < sum(map(len, ids.sources)):
        return False
    follows = np.diff(ids.rows) > 0
    follows[fleet.client_lists.offsets[1:-1] - 1] = True
    return bool(follows.all())


def owners_on_one_ring(
    fleet: Fleet, rows: NDArray[np.int64], points: NDArray[np.uint32], hashes: NDArray[np.uint32]
) -> NDArray[np.int32]:
    """Return the owners of all queues, as positions in the lists of their units; no list is empty."""
    n_clients, n_points = len(points), points.size
    lists = fleet.client_lists
    places = np.full((lists.offsets.size - 1) * n_clients, -1, np.int32)
    of_list = np.repeat(np.arange(lists.offsets.size - 1), np.diff(lists.offsets))
    places[of_list * n_clients + rows] = list_positions(lists.offsets)
    # Of equal points the last that is put stays, so of listed ones the last client's comes first.
    order = n_points - 1 - np.argsort(points.reshape(-1)[::-1], kind="stable")
    holder = order // points.shape[1]
    first = np.searchsorted(points.reshape(-1)[order], hashes) % n_points
    at = first[fleet.queue_places()]
    of_unit = np.repeat(fleet.unit_client_list.astype(np.int64) * n_clients, fleet.n_queues)
    owners: NDArray[np.int32] = places[of_unit + holder[at]]
    left = np.flatnonzero(owners < 0)
    while left.size:
        at[left] = (at[left] + 1) % n_points
        owners[left] = places[of_unit[left] + holder[at[left]]]
        left = left[owners[left] < 0]
    return owners
