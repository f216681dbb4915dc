"""``CONSISTENT_HASH``: a ring of virtual nodes."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ring_of_one
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, distinct
from rmqalloc.fleet.fleet import listed_queues
from rmqalloc.fleet.irregular import IrregularUnits
from rmqalloc.model import queue_text
from rmqalloc.strategies._one_group import DividesOneGroup
from rmqalloc.strategies._parallel import equal_parts, in_threads
from rmqalloc.strategies._reasons import EMPTY_ID, Queues, Reasons
from rmqalloc.strategies.base import Owners
from rmqalloc.strategies.hashing import (
    STEP,
    Hashes,
    Pieces,
    RingJob,
    hash_ids,
    is_small,
    md5_queues,
    ring_at_once,
)
from rmqalloc.strategies.owner_vectors import rename_holders, vacate
from rmqalloc.strategies.parameters import Parameter

HashFunction = Callable[[str], int]
Put = Callable[[int, int, Index | None], None]
Ring = dict[int, tuple[str, int]]  # the client id and the number of every point
INT32_MAX = 2**31 - 1

DEFAULT_VIRTUAL_NODES = 10
"""RocketMQ's."""

COMMON_VIRTUAL_NODES = (
    DEFAULT_VIRTUAL_NODES,
    16,
    20,
    32,
    50,
    64,
    100,
    128,
    160,
    200,
    256,
    500,
    512,
    1000,
)
"""Numbers that people choose."""

# How often the points of a list that collide are looked at together; with MD5 once or twice is
# enough.
ROUNDS = 8


class ConsistentHash(DividesOneGroup, name="CONSISTENT_HASH"):
    """Every client has virtual nodes on a ring; a queue belongs to the first node at or after its
    hash.

    Parameters
    ----------
    virtual_nodes : int
        Points per client, Java's ``virtualNodeCnt``; with 0, all queues are unowned.
    hash_function : callable, optional
        From a key (str) to a signed 64-bit integer. Default: the first four bytes of the key's MD5,
        biggest first.

    Raises
    ------
    ValueError
        ``virtual_nodes`` is negative (Java's text) or above 2\\ :sup:`31` - 1.
    TypeError
        ``virtual_nodes`` is not an integer, or ``hash_function`` is not callable.

    Notes
    -----
    ``AllocateMessageQueueConsistentHash`` over ``ConsistentHashRouter``. If points collide, the
    point added last stays. A repeated client id continues the numbering of its points, so it has
    about twice the weight.

    Examples
    --------
    >>> s = ConsistentHash(virtual_nodes=10)
    >>> s.assign([("TopicTest", "broker-a", i) for i in range(8)], ["c1", "c2"]).owners.tolist()
    [0, 1, 1, 0, 0, 0, 1, 0]
    """

    decided_by = "ids"
    virtual_nodes: int = DEFAULT_VIRTUAL_NODES
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "virtual_nodes",
            "count",
            "Ring positions per client",
            default=DEFAULT_VIRTUAL_NODES,
        ),
        Parameter("hash_function", "function", "From a key to a signed 64-bit integer"),
    )
    guesses: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"virtual_nodes": nodes} for nodes in COMMON_VIRTUAL_NODES
    )
    weighed: ClassVar[tuple[Mapping[str, Any], ...]] = ({"virtual_nodes": 160},)

    _takes_empty = True
    _search = staticmethod(bisect.bisect_left)
    _which = "at or after it"

    def __init__(
        self, virtual_nodes: int = DEFAULT_VIRTUAL_NODES, hash_function: HashFunction | None = None
    ) -> None:
        if isinstance(virtual_nodes, bool) or not hasattr(virtual_nodes, "__index__"):
            raise ArgumentTypeError(f"virtual_nodes must be an integer, got {virtual_nodes!r}")
        if virtual_nodes < 0:
            raise ArgumentError(f"illegal virtualNodeCnt :{virtual_nodes}")
        if virtual_nodes > INT32_MAX:
            raise ArgumentError(f"virtual_nodes must be at most {INT32_MAX}, got {virtual_nodes}")
        if hash_function is not None and not callable(hash_function):
            raise ArgumentTypeError(
                f"hash_function must be callable (str) -> int64, got {hash_function!r}"
            )
        self.virtual_nodes = int(virtual_nodes)
        self.hash_function = hash_function
        self._is_md5 = hash_function is None and self.virtual_nodes > 0
        self.has_shared_points = self._is_md5 and self._has_hook_of(ConsistentHash)

    def with_virtual_nodes(self, virtual_nodes: int) -> ConsistentHash:
        """Return the same with another number of points per client.

        Examples
        --------
        >>> ConsistentHash().with_virtual_nodes(160).virtual_nodes
        160
        """
        return type(self)(virtual_nodes, self.hash_function)

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the first point at or after the queue's hash."""
        key, reasons = queue_text(*queues[position]), Reasons()
        hashed = self._hash(key)
        reasons.say(f"the queue's key is {key!r}, its hash {hashed:,}", key=key, hash=hashed)
        ring = self._points_of(client_ids)
        if not ring:
            reasons.say(
                "the ring has no points, because there are 0 virtual nodes: no client owns a queue",
                n_points=0,
            )
            return reasons
        points = sorted(ring)
        at = self._search(points, hashed)
        around = {
            "before": _point(ring, points[at - 1]),
            "hit": _point(ring, points[at % len(points)]),
            "after": _point(ring, points[(at + 1) % len(points)]),
        }
        size = f"{len(client_ids):,} clients × {self.virtual_nodes:,} virtual nodes = {len(points):,} points"
        whence = self._which if at < len(points) else "of all, because no point follows it"
        hit = around["hit"]
        reasons.say(
            f"{size}; the first {whence} is {hit['point']:,}, {hit['name']}",
            n_points=len(points),
            **around,
        )
        near = (
            "its neighbours: {before[point]:,}, {before[name]}, and {after[point]:,}, {after[name]}"
        )
        reasons.say(near.format(**around))
        if not hit["client_id"]:
            reasons.say(EMPTY_ID)
        return reasons

    def _points_of(self, client_ids: Sequence[str]) -> Ring:
        """Return the ring as Java builds it: a repeated id goes on numbering where it ended, the
        last of equal points stays.
        """
        ring: Ring = {}
        held: Counter[str] = Counter()  # points of each id that are still its own
        for client_id in client_ids:
            start = held[client_id]
            for number in range(start, start + self.virtual_nodes):
                point = self._hash(f"{client_id}-{number}")
                if point in ring:
                    held[ring[point][0]] -= 1
                ring[point] = (client_id, number)
                held[client_id] += 1
        return ring

    def _hash(self, key: str) -> int:
        """Hash by the caller's function, or take the first four bytes of the MD5, biggest first."""
        if self.hash_function is not None:
            return _checked(self.hash_function, key)
        import hashlib  # loads OpenSSL, which explanations alone need

        digest = hashlib.md5(key.encode("utf-8", "replace"), usedforsecurity=False).digest()
        return int.from_bytes(digest[:4], "big")

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``CONSISTENT_HASH``."""
        return "CONSISTENT_HASH"

    def _divide(
        self,
        queues: tuple[Any, ...],
        client_ids: tuple[str, ...],
        position: int,
        out: Owners | None,
    ) -> list[Any] | int | None:
        if (
            self.hash_function is not None
            or len(client_ids) * self.virtual_nodes + len(queues) > STEP
        ):
            return None
        return ring_of_one.consistent_hash(queues, client_ids, self.virtual_nodes, position, out)

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if self.virtual_nodes == 0:
            out.fill(-1)
            return
        if self._is_md5 and is_small(fleet, self.virtual_nodes):
            ring_at_once(fleet, self.virtual_nodes, out)
            return
        if (
            fleet.is_sparse
        ):  # what is hashed is whole lists, and all between the first and the last of a block
            fleet = fleet.own_lists()
        empty = fleet.empty_units
        # An empty list begins where another one does, so its units would stand between those of
        # that list.
        vacate(fleet, empty, out)
        if fleet.is_regular or not self._is_md5:
            units = np.delete(np.arange(fleet.n_units), empty) if empty.size else None
            if units is None or units.size:
                self._ring(fleet, Pieces.of(fleet, units), out, threads)
        else:
            self._apart(fleet, fleet.irregular, out, threads)
        rename_holders(fleet, out)

    def _apart(self, fleet: Fleet, odd: IrregularUnits, out: Owners, threads: int) -> None:
        """Assign the units of which an id repeats, whose points must be ready-made, and then all
        others.
        """
        if odd.units.size:  # a list that no unit names may be irregular, too
            part = fleet.irregular_alone()
            self._ring(
                part, Pieces.of(part, out_starts=fleet.queue_offsets[odd.units]), out, threads
            )
        others = np.delete(np.arange(fleet.n_units), np.concatenate([fleet.empty_units, odd.units]))
        if others.size:
            pieces = Pieces.of(fleet, others)
            RingJob(
                fleet, pieces, self.virtual_nodes, None, self._hashes(fleet, pieces, threads), out
            ).run(threads)

    def _ring(self, fleet: Fleet, pieces: Pieces, out: Owners, threads: int) -> None:
        points, hashes = self._ready_made(fleet, pieces, threads)
        RingJob(fleet, pieces, self.virtual_nodes, points, hashes, out).run(threads)

    def _ready_made(
        self, fleet: Fleet, pieces: Pieces, threads: int
    ) -> tuple[Hashes | None, Hashes | None]:
        """Return points and hashes that cannot be made block by block: of a custom function, of
        repeats, of shared lists.
        """
        if self.hash_function is not None:
            return self._custom(fleet, self.hash_function)
        points = None if fleet.is_regular else self._md5_points(fleet)
        return points, self._hashes(fleet, pieces, threads)

    def _hashes(self, fleet: Fleet, pieces: Pieces, threads: int) -> Hashes | None:
        if pieces.queues_in_line:
            return None
        hashes = np.empty(fleet.queue_lists.queue_ids.size, np.uint32)
        cuts = equal_parts(hashes.size, threads)
        in_threads(lambda first, last: md5_queues(fleet, first, last, hashes[first:last]), cuts)
        return hashes

    def _md5_points(self, fleet: Fleet) -> Hashes:
        v = self.virtual_nodes
        points = np.empty(len(fleet.client_lists.client_ids) * v, np.uint32)

        def put(first: int, last: int, starts: Index | None) -> None:
            hash_ids(
                fleet.client_lists.client_ids, v, first, last, starts, points[first * v : last * v]
            )

        self._place(fleet, points, put)
        return points

    def _custom(self, fleet: Fleet, hash_function: HashFunction) -> tuple[Hashes, Hashes]:
        """Return the same by a hash function of the caller's; ranks stand for its values, for only
        their order matters.
        """
        ids, v = fleet.client_lists.client_ids, self.virtual_nodes
        points = np.empty(len(ids) * v, np.int64)

        def put(first: int, last: int, starts: Index | None) -> None:
            for slot in range(first, last):
                start, client_id = 0 if starts is None else int(starts[slot]), ids[slot]
                points[slot * v : (slot + 1) * v] = [
                    _checked(hash_function, f"{client_id}-{start + k}") for k in range(v)
                ]

        self._place(fleet, points, put)
        hashes = np.array(
            [_checked(hash_function, str(queue)) for queue in listed_queues(fleet)], np.int64
        )
        ranks = np.unique(np.concatenate([points, hashes]), return_inverse=True)[1].astype(
            np.uint32
        )
        return ranks[: points.size], ranks[points.size :]

    def _place(self, fleet: Fleet, points: NDArray[Any], put: Put) -> None:
        """Have all points put, with the numbers that repeated ids go on with."""
        lists, v = fleet.client_lists, self.virtual_nodes
        if fleet.is_regular:
            put(0, len(lists.client_ids), None)
            return
        first, occurrences = lists.first, _occurrences(lists.offsets, lists.first)
        starts = occurrences * np.int32(v)
        put(0, len(lists.client_ids), starts)
        for row in np.flatnonzero(lists.irregular).tolist():
            slots = slice(int(lists.offsets[row]), int(lists.offsets[row + 1]))
            if starts[slots].any():
                self._settle(
                    slots, first[slots].tolist(), occurrences[slots].tolist(), points, starts, put
                )

    def _settle(
        self,
        slots: slice,
        same_id: list[int],
        occurrence: list[int],
        points: NDArray[Any],
        starts: Index,
        put: Put,
    ) -> None:
        """Correct where repeated ids go on when points collide: at the number of points they still
        hold, as Java counts them.

        Whatever comes before the first slot that is wrong is right, so every round makes at least
        that one right. Points that are there once cannot be lost, so the others alone are counted.
        """
        v = self.virtual_nodes
        for _ in range(ROUNDS):
            mine = points[slots.start * v : slots.stop * v]
            ordered = np.sort(mine)
            twice = distinct(ordered[1:][ordered[1:] == ordered[:-1]])
            if not twice.size:
                return
            contended = np.flatnonzero(
                twice[np.minimum(np.searchsorted(twice, mine), twice.size - 1)] == mine
            )
            if contended.size > mine.size // 8:
                break
            have = starts[slots].copy()
            starts[slots] = _held(
                v, same_id, occurrence, contended.tolist(), mine[contended].tolist()
            )
            wrong = np.flatnonzero(starts[slots] != have)
            for place in wrong.tolist():
                put(slots.start + place, slots.start + place + 1, starts)
            if not wrong.size:
                return
        self._replay(slots, same_id, points, starts, put)

    def _replay(
        self, slots: slice, same_id: list[int], points: NDArray[Any], starts: Index, put: Put
    ) -> None:
        """Settle slot by slot, for points that collide all the time."""
        v, holder, held = self.virtual_nodes, dict[int, int](), [0] * len(same_id)
        for slot, same in enumerate(same_id, slots.start):
            starts[slot] = held[same]
            put(slot, slot + 1, starts)
            for point in points[slot * v : (slot + 1) * v].tolist():
                before = holder.get(point)
                if before is not None:
                    held[before] -= 1
                held[same] += 1
                holder[point] = same


def _point(ring: Ring, point: int) -> dict[str, Any]:
    client_id, number = ring[point]
    return {
        "point": point,
        "client_id": client_id,
        "number": number,
        "name": f"{client_id}#{number}",
    }


def _held(
    v: int, same_id: list[int], occurrence: list[int], contended: list[int], points: list[int]
) -> list[int]:
    """Return how many points each slot's id holds when its turn comes, given the points that are
    there more than once.
    """
    lost, holder, at, starts = [0] * len(same_id), dict[int, int](), 0, []
    for slot, same in enumerate(same_id):
        starts.append(v * occurrence[slot] - lost[same])
        while at < len(contended) and contended[at] < (slot + 1) * v:
            before = holder.get(points[at])
            if before is not None:
                lost[before] += 1
            holder[points[at]] = same
            at += 1
    return starts


def _occurrences(offsets: Offsets, first: Index) -> Index:
    """Return how many earlier slots of the same list hold the same id."""
    same = np.repeat(offsets[:-1], np.diff(offsets)) + first
    order = np.argsort(same, kind="stable")
    grouped = same[order]
    begins = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    counts = np.diff(np.r_[begins, grouped.size])
    occurrence = np.empty(same.size, np.int32)
    occurrence[order] = np.arange(same.size) - np.repeat(begins, counts)
    return occurrence


def _checked(hash_function: HashFunction, key: str) -> int:
    value = hash_function(key)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"hash_function must return an integer, got {value!r} for the key {key!r}"
        )
    if not -(2**63) <= int(value) < 2**63:
        raise ArgumentError(
            f"hash_function must return a signed 64-bit integer, got {value!r} for the key {key!r}"
        )
    return int(value)
