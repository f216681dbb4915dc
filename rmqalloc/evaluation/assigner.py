"""Owners of fleets with a strategy per unit; hashes that scenarios share are cached."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.row_check import Bad, ErrCode, Reason
from rmqalloc.evaluation.row_strategies import Unusable
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import (
    Offsets,
    Strings,
    list_positions,
    offsets_of,
    ranges,
    take_stretches,
)
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists
from rmqalloc.scenarios.subfleet import Rules, subfleet
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.hashing import Hashes, Pieces, RingJob, hash_ids, md5_queues
from rmqalloc.strategies.owner_vectors import fresh_owners

Owners = NDArray[np.int32]

MAX_POINTS = 1 << 24
"""Most points of the consistent hash ring of one unit; also most that are worked on at once."""

_MOST_SOURCES = 8  # ids hashed, and kept, for one that is asked for


def owners_of_units(fleet: Fleet, owners: Owners, units: NDArray[np.int64]) -> Owners:
    """Return the owners of the queues of some units of a fleet."""
    return take_stretches(owners, fleet.queue_offsets[units], offsets_of(fleet.n_queues[units]))


class Assigner:
    """Assigns owners repeatedly, for fleets that derive from each other.

    The hashes of client ids and queues are kept, because scenarios move many clients and queues and
    add few; with ``keeps=False`` they are not, for a single use.
    """

    def __init__(self, fleet: Fleet, keeps: bool = True) -> None:
        self._queue_lists = fleet.queue_lists
        self._keeps = keeps
        self._hashes: Hashes | None = None
        self._points: dict[tuple[tuple[Strings, ...], int], Hashes] = {}

    def owners(self, fleet: Fleet, rules: Rules) -> tuple[Owners, Bad]:
        """Return the owners of all queues of all units, and why some units could not be assigned."""
        numbers = np.flatnonzero(np.bincount(rules.of_unit, minlength=len(rules.table))).tolist()
        if len(numbers) == 1 and not fleet.empty_units.size:
            s = rules.table[numbers[0]]
            if int(fleet.client_offsets[-1]) * (s.virtual_nodes or 0) <= MAX_POINTS:
                return self._of_one(fleet, s), _refused(fleet, s)
        out, bad = np.full(int(fleet.queue_offsets[-1]), -1, np.int32), Bad()
        for s, mine in rules.by_strategy():
            self._put(fleet, mine, s, out, bad)
        return out, bad

    def _put(
        self, fleet: Fleet, mine: NDArray[np.int64], s: Strategy, out: Owners, bad: Bad
    ) -> None:
        """Write the owners of the units of one strategy, at most `MAX_POINTS` ring points at a
        time.
        """
        n_queues, n_clients = fleet.n_queues[mine], fleet.n_clients[mine]
        n_points = n_clients.astype(np.int64) * (s.virtual_nodes or 0)
        for place in np.flatnonzero(n_points > MAX_POINTS).tolist():
            text = (
                f"the ring would have {n_points[place]} points; at most {MAX_POINTS} can be planned"
            )
            bad[int(mine[place])] = Reason(ErrCode.TOO_LARGE, text)
        there = (n_points <= MAX_POINTS) & (n_queues > 0) & (n_clients > 0)
        units = mine[there]
        pieces = offsets_of(n_points[there])[:-1] // MAX_POINTS
        for some in np.split(units, 1 + np.flatnonzero(np.diff(pieces))):
            if some.size:
                part = subfleet(fleet, some)
                out[ranges(fleet.queue_offsets[some], part.n_queues)] = self._of_one(part, s)
                bad.update({int(some[unit]): reason for unit, reason in _refused(part, s).items()})

    def _of_one(self, fleet: Fleet, s: Strategy) -> Owners:
        """Return the owners by one strategy of units that have queues and clients."""
        nodes = s.virtual_nodes if s.has_shared_points else None
        if nodes is None or not self._keeps or not isinstance(fleet.client_lists, DistinctLists):
            return s.assign_fleet(fleet, on_error="report")
        ids, hashes = fleet.client_lists.client_ids, self._hashes_of(fleet)
        if isinstance(ids, Derived) and fits_one_ring(fleet, ids):
            return owners_on_one_ring(
                fleet, ids.rows, self._kept(ids.sources, nodes).reshape(-1, nodes), hashes
            )
        out = fresh_owners(fleet)
        points, rows = self._points_of(ids, nodes)
        RingJob(fleet, Pieces.of(fleet), nodes, points, hashes, out, rows).run(1)
        return out

    def _points_of(self, ids: Strings, nodes: int) -> tuple[Hashes, Offsets | None]:
        """Return the points of client ids, slot by slot; those of their sources and the rows, if
        these are not too many.
        """
        n_sources = sum(map(len, ids.sources)) if isinstance(ids, Derived) else 0
        # Of a small part the sources are not worth it: with a ring for every group they would all
        # be hashed for each.
        is_most = n_sources <= _MOST_SOURCES * len(ids) and n_sources * nodes <= MAX_POINTS
        if isinstance(ids, Derived) and is_most:
            return self._kept(ids.sources, nodes), ids.rows
        return _hashed(ids, nodes) if isinstance(ids, Derived) else self._kept((ids,), nodes), None

    def _kept(self, sources: tuple[Strings, ...], nodes: int) -> Hashes:
        """Return the points of columns laid end to end, computed once."""
        if (sources, nodes) not in self._points:
            if sum(kept.size for kept in self._points.values()) > MAX_POINTS:
                self._points.clear()
            one = len(sources) == 1
            made = (
                _hashed(sources[0], nodes)
                if one
                else np.concatenate([self._kept((s,), nodes) for s in sources])
            )
            self._points[sources, nodes] = made
        return self._points[sources, nodes]

    def _hashes_of(self, fleet: Fleet) -> Hashes:
        """Return the hashes of all queue lists."""
        lists = fleet.queue_lists
        if lists is self._queue_lists and self._hashes is not None:
            return self._hashes
        hashes = np.empty(lists.queue_ids.size, np.uint32)
        if hashes.size:
            md5_queues(fleet, 0, hashes.size, hashes)
        if lists is self._queue_lists:
            self._hashes = hashes
        return hashes


def _hashed(ids: Strings, nodes: int) -> Hashes:
    """Compute the points of client ids, slot by slot."""
    points = np.empty(len(ids) * nodes, np.uint32)
    hash_ids(ids, nodes, 0, len(ids), None, points)
    return points


def _refused(fleet: Fleet, s: Strategy) -> Bad:
    """Return the units that a strategy refuses, of those that have queues and clients."""
    code = ErrCode.BAD_STRATEGY if isinstance(s, Unusable) else ErrCode.REFUSED
    return {error.position: Reason(code, error.reason) for error in s.fleet_errors(fleet)}


# Assign many client lists on one ring of all clients, of which each list has most, as in the
# states of a rolling restart.
#
# A ring of its own for every list costs its clients each time. The ring of all clients is sorted
# once; a queue's owner is the first point at or after its hash whose client is in the list. As every
# list has a quarter of the clients at least, that is among the first few.

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
