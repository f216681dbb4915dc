"""``CONSISTENT_HASH_BOUNDED/1``: a ring of virtual nodes on which no client gets more than a bounded
share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ring
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    distinct,
    lengths_of,
    list_positions,
    offsets_of,
    order_keys,
    ranges,
)
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.fleet.lists import places_of
from rmqalloc.strategies._parallel import even_cuts, in_threads
from rmqalloc.strategies._reasons import EMPTY_ID, Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES, ConsistentHash
from rmqalloc.strategies.hashing import BLOCK, LEAST_HASHES, Hashes, md5_queues
from rmqalloc.strategies.owner_vectors import fresh_owners, rename_holders
from rmqalloc.strategies.parameters import Parameter, decimal_units

DEFAULT_LOAD_FACTOR = Decimal("1.25")
MOST_PERCENT = 10**8


class _Rings(NamedTuple):
    """The rings of all client lists; of equal points the last one put."""

    offsets: Offsets  # of every list, where its points begin
    points: Hashes
    holders: Index


class ConsistentHashBounded(ExclusiveStrategy, name="CONSISTENT_HASH_BOUNDED/1"):
    """A queue goes up the ring of ``CONSISTENT_HASH`` to the first client whose load is below the
    limit.

    With Q queues and N distinct client ids the limit is ``ceil(load_factor * Q / N)`` queues. Queues
    above the limit on the plain ring go on to the next clients, so when a client joins or leaves, a
    few queues of other clients move too.

    Notes
    -----
    Mirrokni, Thorup, Zadimoghaddam, "Consistent hashing with bounded loads" (2018). Queues are taken in the order of the list.
    An id that lost all its points to other ids gets no queue, so the limit may leave queues over: these go to their first
    point.

    Examples
    --------
    >>> queues, clients = [("T", "broker-a", i) for i in range(16)], ["c1", "c2", "c3", "c4"]
    >>> [np.bincount(s.assign(queues, clients).owners).tolist() for s in (ConsistentHash(), ConsistentHashBounded())]
    [[2, 2, 3, 9], [3, 5, 3, 5]]
    """

    virtual_nodes: int = DEFAULT_VIRTUAL_NODES
    parameters = (
        Parameter("load_factor", "decimal", "Most queues of a client over the mean"),
        ConsistentHash.parameters[0],
    )

    def __init__(
        self,
        load_factor: float | str | Decimal = DEFAULT_LOAD_FACTOR,
        virtual_nodes: int = DEFAULT_VIRTUAL_NODES,
    ) -> None:
        self.percent = decimal_units("load_factor", load_factor, 100, 100, MOST_PERCENT)
        self._plain = ConsistentHash(virtual_nodes)
        self.virtual_nodes = self._plain.virtual_nodes

    @property
    def load_factor(self) -> Decimal:
        """Most queues of a client over the mean."""
        return Decimal(self.percent) / 100

    def get_name(self) -> str:
        """``CONSISTENT_HASH_BOUNDED/1``."""
        return "CONSISTENT_HASH_BOUNDED/1"

    def with_virtual_nodes(self, virtual_nodes: int) -> ConsistentHashBounded:
        """Return the same with another number of points per client."""
        return type(self)(self.load_factor, virtual_nodes)

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the reasons of the plain ring, the cap, and how far the queue goes beyond its
        first point.
        """
        reasons = self._plain.explain(queues, client_ids, position)
        points = self._plain._points_of(client_ids)
        if not points:
            return reasons
        n = len(set(client_ids))
        cap = int(_caps(self.percent, np.array([len(queues)]), np.array([n]))[0])
        sums = f"{self.percent} × {len(queues)} ÷ (100 × {n}), rounded up"
        reasons.say(f"no client may have more than {sums} = {cap}", cap=cap)
        loads: Counter[str] = Counter()
        owners = self.assign(queues, client_ids).owners.tolist()
        loads.update(client_ids[owner] for owner in owners[:position] if owner >= 0)
        first, owner = reasons.facts["hit"]["client_id"], owners[position]
        found = client_ids[owner] if owner >= 0 else ""
        full = [client_id for client_id, load in loads.items() if load >= cap]
        reasons.facts |= {"full": full}
        if found == first:
            reasons.say(
                f"client {first} has {loads[first]} of the queues before this queue, so it takes this queue too"
            )
        else:
            on = f"goes on up the ring, past {len(full)} full clients, to {found}"
            reasons.say(
                f"client {first} has {loads[first]} of the queues before this queue, so this queue {on}"
            )
        if owner < 0:
            reasons.say(EMPTY_ID)
        return reasons

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if self.virtual_nodes == 0:
            out.fill(-1)
            return
        order = np.argsort(fleet.unit_client_list, kind="stable")
        lists = fleet.unit_client_list[order]
        is_first = np.append(True, lists[1:] != lists[:-1])
        cost = offsets_of(
            fleet.n_queues[order]
            + is_first * fleet.n_clients[order].astype(np.int64) * self.virtual_nodes
        )

        def some(start: int, stop: int) -> Iterator[None]:
            begins = start + np.searchsorted(
                cost[start:stop], np.arange(cost[start], cost[stop], BLOCK)
            )
            for first, last in pairwise(distinct(np.r_[start, begins, stop]).tolist()):
                units = order[first:last]
                part = units_alone(fleet, units).own_lists()
                out[ranges(fleet.queue_offsets[units], part.n_queues)] = self._block(part)
                yield

        in_threads(some, even_cuts(cost, threads, LEAST_HASHES))

    def _block(self, fleet: Fleet) -> Owners:
        """Return owners of a fleet whose points and hashes are worked out at once."""
        owners, lists = fresh_owners(fleet), fleet.client_lists
        hashes = np.empty(fleet.queue_lists.queue_ids.size, np.uint32)
        md5_queues(fleet, 0, hashes.size, hashes)
        rings = self._rings(fleet)
        list_ = np.repeat(np.arange(lists.offsets.size - 1), lengths_of(lists.offsets))
        distinct = np.bincount(list_[lists.first == list_positions(lists.offsets)])
        ring.locate_bounded(
            fleet.queue_offsets, fleet.queue_starts, fleet.unit_client_list,
            _caps(self.percent, fleet.n_queues, distinct[fleet.unit_client_list]), *rings, hashes,
            np.empty(int(fleet.n_clients.max()), np.int32), np.empty(int(lengths_of(rings.offsets).max()), np.int64), owners,
        )  # fmt: skip
        rename_holders(fleet, owners)
        return owners

    def _rings(self, fleet: Fleet) -> _Rings:
        lists, v = fleet.client_lists, self.virtual_nodes
        points = self._plain._md5_points(fleet)
        offsets = lists.offsets * v
        places = places_of(order_keys(points.astype(np.uint64), offsets), offsets)
        points, list_ = points[places], np.repeat(np.arange(offsets.size - 1), lengths_of(offsets))
        stays = np.append((points[1:] != points[:-1]) | (list_[1:] != list_[:-1]), True)
        kept = offsets_of(np.bincount(list_[stays], minlength=offsets.size - 1))
        return _Rings(kept, points[stays], lists.first[places[stays] // v])


def _caps(percent: int, n_queues: NDArray[Any], n_clients: NDArray[Any]) -> Offsets:
    """Return the most queues of a client of each unit.

    Examples
    --------
    >>> _caps(125, np.array([8, 0, 9]), np.array([3, 1, 9])).tolist()
    [4, 0, 2]
    """
    return -(-percent * n_queues.astype(np.int64) // (100 * n_clients.astype(np.int64)))
