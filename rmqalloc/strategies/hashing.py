"""The ring over a whole fleet: blocks that fit the cache, each hashed and looked up in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import md5, ring
from rmqalloc.dataclass import dataclass
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, Strings, distinct, offsets_of, ranges
from rmqalloc.lazy import lazy_property
from rmqalloc.strategies._parallel import even_cuts, in_threads

Hashes = NDArray[np.uint32]

# Hashes of one block. Points, queue hashes and the lookup table together should stay in the
# second-level cache.
BLOCK = 1 << 17

# Hashes of one call of a kernel at most, some hundredths of a second: Ctrl-C is heard of between
# calls only.
STEP = 1 << 18

# A ring of more points than this is made in steps, too.
HUGE = 1 << 22

# Hashes that are worth a thread: about a quarter of a millisecond.
LEAST_HASHES = 1 << 15

# A unit of more queues than this is cut into pieces, so that it is neither one block nor one
# thread's work. Every piece hashes and lays out the unit's ring again, which many queues must pay
# for.
PIECE = 1 << 17

# A fleet of this many hashes at most is not worth blocks and threads: preparing them would take
# longer than the hashes.
SMALL = 1 << 13


@dataclass(frozen=True, eq=False)
class Pieces:
    """Units, or pieces of huge units; units of one client list are adjacent."""

    # int64, shape (n_pieces,): First queue in the owners vector and in the queue lists, first slot
    # in the client lists
    out_starts: Offsets
    queue_starts: Offsets
    slot_starts: Offsets
    n_queues: Index  # int32, shape (n_pieces,)
    n_clients: Index

    @classmethod
    def of(
        cls, fleet: Fleet, units: NDArray[np.int64] | None = None, out_starts: Offsets | None = None
    ) -> Pieces:
        """Return some or all units of a fleet; ``out_starts`` is where their owners go if not into
        a vector of that fleet.
        """
        columns: list[NDArray[Any]] = [
            fleet.queue_offsets[:-1] if out_starts is None else out_starts,
            fleet.queue_starts, fleet.slot_starts, fleet.n_queues, fleet.n_clients,
        ]  # fmt: skip
        unit_list = fleet.unit_client_list
        if units is not None:
            columns, unit_list = [column[units] for column in columns], unit_list[units]
        if (columns[2][1:] < columns[2][:-1]).any():
            order = np.argsort(unit_list, kind="stable")
            columns = [column[order] for column in columns]
        pieces = cls(*columns)
        return pieces._cut() if pieces.n_queues.max() > PIECE else pieces

    def _cut(self) -> Pieces:
        counts = -(-self.n_queues // PIECE)
        begin = (np.arange(counts.sum()) - np.repeat(offsets_of(counts)[:-1], counts)) * PIECE
        whole = [
            np.repeat(column, counts)
            for column in (self.out_starts, self.queue_starts, self.slot_starts)
        ]
        size = np.minimum(np.repeat(self.n_queues, counts) - begin, PIECE).astype(np.int32)
        return Pieces(
            whole[0] + begin, whole[1] + begin, whole[2], size, np.repeat(self.n_clients, counts)
        )

    @lazy_property
    def queues_in_line(self) -> bool:
        """Whether the pieces read the queue lists in order, each queue at most once."""
        return bool((self.queue_starts[1:] >= self.queue_starts[:-1] + self.n_queues[:-1]).all())


def hash_ids(
    ids: Strings, virtual_nodes: int, first: int, last: int, starts: Index | None, out: Hashes
) -> None:
    """Write the points of the client ids ``first`` to ``last``, ``virtual_nodes`` each, numbered
    from ``starts`` (or 0).
    """
    for _ in hashed_ids(ids, virtual_nodes, first, last, starts, out):
        pass


def hashed_ids(
    ids: Strings, virtual_nodes: int, first: int, last: int, starts: Index | None, out: Hashes
) -> Iterator[None]:
    """Do the same step by step."""
    text, v = ids.as_java_bytes, virtual_nodes
    for slots, nodes in steps(first, last, v):
        at = (slots.start - first) * v + nodes.start
        part = out[at : at + len(slots) * len(nodes)]
        begin, many = starts, text.offsets
        if len(nodes) < v:  # some of the points of one client
            begin = np.array(
                [nodes.start + (0 if starts is None else starts[slots.start])], np.int64
            ).astype(np.int32)
            many, slots = text.offsets[slots.start : slots.start + 2], range(1)
        md5.points(text.values, many, slots.start, slots.stop, begin, len(nodes), part)
        yield


def steps(first: int, last: int, virtual_nodes: int) -> Iterator[tuple[range, range]]:
    """Cut the points of client slots into portions of at most `STEP`: of whole clients if they have
    no more each.

    Examples
    --------
    >>> [(slots, nodes) for slots, nodes in steps(3, 5, STEP + 1)][:3]
    [(range(3, 4), range(0, 262144)), (range(3, 4), range(262144, 262145)), (range(4, 5), range(0, 262144))]
    >>> list(steps(0, 3, STEP // 2))
    [(range(0, 2), range(0, 131072)), (range(2, 3), range(0, 131072))]
    """
    at_once = max(STEP // max(virtual_nodes, 1), 1)
    for slot in range(first, last, at_once):
        for node in range(0, virtual_nodes, STEP):
            yield (
                range(slot, min(slot + at_once, last)),
                range(node, min(node + STEP, virtual_nodes)),
            )


def md5_queues(fleet: Fleet, first: int, last: int, out: Hashes) -> None:
    """Write the hashes of the queues ``first`` to ``last`` of the queue lists, step by step."""
    lists, topics, brokers = (
        fleet.queue_lists,
        fleet.topics.as_java_bytes,
        fleet.brokers.as_java_bytes,
    )
    for start in range(first, last, STEP):
        stop = min(start + STEP, last)
        begin = int(np.searchsorted(lists.route_offsets, start, side="right")) - 1
        end = int(np.searchsorted(lists.route_offsets, stop, side="left"))
        route_offsets = lists.route_offsets[begin : end + 1]
        if route_offsets[0] < start or route_offsets[-1] > stop:
            route_offsets = np.clip(route_offsets, start, stop)
        md5.queues(
            topics.values, topics.offsets, brokers.values, brokers.offsets, lists.route_topic[begin:end],
            lists.route_broker[begin:end], route_offsets, 0, end - begin, lists.queue_ids, out[start - first : stop - first],
        )  # fmt: skip


def is_small(fleet: Fleet, virtual_nodes: int) -> bool:
    """Return whether a fleet is regular and so small that `ring_at_once` serves it best."""
    n_slots, n_queues = fleet.extent
    return (
        n_slots * virtual_nodes + n_queues <= SMALL
        and fleet.is_regular
        and not fleet.empty_units.size
    )


def ring_at_once(fleet: Fleet, virtual_nodes: int, out: Index) -> None:
    """Write the owners of a small regular fleet: each kernel is called once, over all lists, also
    those that no unit names.
    """
    ids = fleet.client_lists.client_ids.as_java_bytes
    topics, brokers = fleet.topics.as_java_bytes, fleet.brokers.as_java_bytes
    lists, n_slots = fleet.queue_lists, len(ids)
    points = np.empty(n_slots * virtual_nodes, np.uint32)
    hashes = np.empty(lists.queue_ids.size, np.uint32)
    scratch = np.empty(ring.scratch_size(points.size, 0), np.uint64)
    md5.points(ids.values, ids.offsets, 0, n_slots, None, virtual_nodes, points)
    md5.queues(
        topics.values, topics.offsets, brokers.values, brokers.offsets, lists.route_topic, lists.route_broker,
        lists.route_offsets, 0, lists.route_topic.size, lists.queue_ids, hashes,
    )  # fmt: skip
    ring.locate(
        fleet.queue_offsets, fleet.n_queues, fleet.queue_starts, fleet.slot_starts, fleet.n_clients,
        0, 0, virtual_nodes, points, hashes, scratch, out,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RingJob:
    """Owners of a fleet on the ring."""

    fleet: Fleet
    pieces: Pieces
    virtual_nodes: int
    # uint32, or None: Of all client slots and of all queue lists; where None they are made by MD5
    # block by block. Lists that several units use must come ready-made, so that each is hashed once
    points: Hashes | None
    hashes: Hashes | None
    out: Index
    rows: Offsets | None = (
        None  # of every client slot its row among the points; None where it is the slot itself
    )

    def run(self, threads: int) -> None:
        """Write the owners."""
        pieces, v = self.pieces, self.virtual_nodes
        slots = np.append(pieces.slot_starts, pieces.slot_starts[-1] + pieces.n_clients[-1])
        cost = offsets_of(pieces.n_queues) + slots * v
        in_threads(
            lambda start, stop: self._some(start, stop, cost),
            even_cuts(cost, threads, LEAST_HASHES),
        )

    def _some(self, start: int, stop: int, cost: Offsets) -> Iterator[None]:
        """Assign the pieces ``start`` to ``stop``, block by block."""
        n_points = int(self.pieces.n_clients[start:stop].max()) * self.virtual_nodes
        scratch = np.empty(ring.scratch_size(n_points, 0), np.uint64)
        begins = start + np.searchsorted(
            cost[start:stop], np.arange(cost[start], cost[stop], BLOCK)
        )
        points, hashes = _Buffer(), _Buffer()
        for first, last in pairwise(distinct(np.r_[start, begins, stop]).tolist()):
            if n_points <= HUGE:
                self._block(first, last, points, hashes, scratch)
                yield
            else:
                yield from self._huge(first, last, points, hashes, scratch)

    def _huge(
        self, first: int, last: int, points: _Buffer, hashes: _Buffer, scratch: NDArray[np.uint64]
    ) -> Iterator[None]:
        """Assign a block with rings too large to search without checking for Ctrl-C."""
        p, v = self.pieces, self.virtual_nodes
        changes = 1 + np.flatnonzero(
            np.diff(p.slot_starts[first:last]) | np.diff(p.n_clients[first:last])
        )
        for begin, end in pairwise([first, *(first + changes).tolist(), last]):
            # The scratch serves as many queues as there are points; with fewer points a step would
            # not be worth it either.
            if int(p.n_clients[begin]) * v > max(HUGE, int(p.n_queues[begin:end].sum())):
                yield from self._in_steps(begin, end, points, hashes, scratch)
            else:
                self._block(begin, end, points, hashes, scratch)
                yield

    def _in_steps(
        self, first: int, last: int, points: _Buffer, hashes: _Buffer, scratch: NDArray[np.uint64]
    ) -> Iterator[None]:
        """Assign pieces of one client list together: the points are sifted through the sorted
        queues, some at a time.
        """
        p, v = self.pieces, self.virtual_nodes
        sizes, slot, n_clients = (
            p.n_queues[first:last],
            int(p.slot_starts[first]),
            int(p.n_clients[first]),
        )
        if self.points is None and points.range != (slot, slot + n_clients):
            room = points.room(n_clients * v)
            yield from hashed_ids(
                self.fleet.client_lists.client_ids, v, slot, slot + n_clients, None, room
            )
            points.range = slot, slot + n_clients
        (have_points, first_slot), (have_hashes, first_queue) = self._hashed(
            first, last, points, hashes
        )
        asked = have_hashes[ranges(p.queue_starts[first:last] - first_queue, sizes)]
        owners, can_sift = np.empty(asked.size, np.int32), np.zeros(1, np.uint8)
        yield
        ring.sift_begin(asked, scratch, can_sift)
        if not can_sift[0]:
            self._block(first, last, points, hashes, scratch)
            yield
            return
        for slots, nodes in steps(0, n_clients, v):
            at = (slot - first_slot + slots.start) * v + nodes.start
            some = have_points[at : at + len(slots) * len(nodes)]
            ring.sift_some(some, slots.start, len(slots), len(nodes), asked.size, scratch)
            yield
        ring.sift_end(scratch, owners)
        self.out[ranges(p.out_starts[first:last], sizes)] = owners
        yield

    def _block(
        self, first: int, last: int, points: _Buffer, hashes: _Buffer, scratch: NDArray[np.uint64]
    ) -> None:
        p = self.pieces
        (have_points, first_slot), (have_hashes, first_queue) = self._hashed(
            first, last, points, hashes
        )
        ring.locate(
            p.out_starts[first:last], p.n_queues[first:last], p.queue_starts[first:last], p.slot_starts[first:last],
            p.n_clients[first:last], first_queue, first_slot, self.virtual_nodes, have_points, have_hashes, scratch, self.out,
        )  # fmt: skip

    def _hashed(
        self, first: int, last: int, points: _Buffer, hashes: _Buffer
    ) -> tuple[tuple[Hashes, int], tuple[Hashes, int]]:
        """Return points and hashes for a block, each with the slot or queue that it begins with."""
        p, v = self.pieces, self.virtual_nodes
        slots = int(p.slot_starts[first]), int(p.slot_starts[last - 1] + p.n_clients[last - 1])
        queues = int(p.queue_starts[first]), int(p.queue_starts[last - 1] + p.n_queues[last - 1])
        have_points, have_hashes = self.points, self.hashes
        first_slot = first_queue = 0
        if have_points is None:
            first_slot = slots[0]
            have_points = points.filled(
                slots,
                v,
                lambda part: hash_ids(self.fleet.client_lists.client_ids, v, *slots, None, part),
            )
        elif self.rows is not None:
            first_slot, of_ids, rows = (
                slots[0],
                have_points.reshape(-1, v),
                self.rows[slice(*slots)],
            )
            have_points = points.filled(slots, v, lambda part: _pick(of_ids, rows, part))
        if have_hashes is None:
            first_queue = queues[0]
            have_hashes = hashes.filled(
                queues, 1, lambda part: md5_queues(self.fleet, *queues, part)
            )
        return (have_points, first_slot), (have_hashes, first_queue)


def _pick(points: Hashes, rows: Offsets, out: Hashes) -> None:
    """Write the points of some rows, which need no check."""
    np.take(points, rows, axis=0, out=out.reshape(rows.size, points.shape[1]), mode="clip")


class _Buffer:
    """Hashes of one block; memory is kept from block to block, and what is in it if the next block
    asks for the same.
    """

    def __init__(self) -> None:
        self.hashes: Hashes = np.empty(0, np.uint32)
        self.range: tuple[int, int] | None = None

    def filled(
        self, wanted: tuple[int, int], per_item: int, fill: Callable[[Hashes], None]
    ) -> Hashes:
        size = (wanted[1] - wanted[0]) * per_item
        if wanted != self.range:
            fill(self.room(size))
            self.range = wanted
        return self.hashes[:size]

    def room(self, size: int) -> Hashes:
        """Return room for so many hashes, not yet written."""
        self.range = None
        if size > self.hashes.size:
            self.hashes = np.empty(size + size // 8, np.uint32)
        return self.hashes[:size]
