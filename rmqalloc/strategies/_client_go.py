"""What client-go computes under the names of ``CONSISTENT_HASH`` and ``MACHINE_ROOM``; its other
strategies are Java's.

Go's strategies are functions, which return nothing where Java's classes raise.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rmqalloc._engine import crc32, split
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import list_positions, offsets_of
from rmqalloc.model import queue_fields
from rmqalloc.strategies._machine_room import MachineRoom, of_queues
from rmqalloc.strategies._parallel import equal_parts, in_threads
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners, as_of_now
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES, ConsistentHash, Ring
from rmqalloc.strategies.hashing import STEP, Hashes, Pieces
from rmqalloc.strategies.owner_vectors import rename_holders

# Points per client that one call of the kernel makes, and the rows of its scratch.
_NODES, _LENGTHS = 1 << 12, 65

_NO_POINTS = "client-go panics with 0 virtual nodes (integer divide by zero)"


class _GoFunction(ExclusiveStrategy):
    """The checks of client-go's functions."""

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        for i, queue in enumerate(mq_all):
            if None in queue_fields(queue):
                raise ArgumentTypeError(
                    f"queue {i} has a null field, and a Go string cannot be null: {queue!r}"
                )
        return super()._group_owners(mq_all, cid_all)

    if not TYPE_CHECKING:  # typed as `ExclusiveStrategy.allocate` is

        def allocate(self, consumer_group, current_cid, mq_all, cid_all):
            """Queues of one client, as client-go's function answers: none without a client id,
            queues or client ids.
            """
            mq_all, cid_all = as_of_now(mq_all), as_of_now(cid_all)
            if not current_cid or not mq_all or not cid_all:
                return []
            return super().allocate(consumer_group, current_cid, mq_all, cid_all)


class GoConsistentHash(_GoFunction, ConsistentHash):
    """Client-go's ring: points by CRC-32, and a queue belongs to the first point *after* its hash.

    Parameters
    ----------
    virtual_nodes : int
        Points per client, Go's ``virtualNodeCnt``. Its function has no default; 10 is Java's. With
        0 client-go panics when it divides, so every group is refused.

    Raises
    ------
    ValueError
        ``virtual_nodes`` is negative, or above 2\\ :sup:`31` - 1.
    TypeError
        ``virtual_nodes`` is not an integer.

    Notes
    -----
    ``AllocateByConsistentHash`` of ``github.com/apache/rocketmq-client-go/v2/consumer`` over ``stathat.com/c/consistent``.
    Point ``k`` of a client is the hash of the number and the id without anything between them, so point 1 of ``0.1`` is
    point 10 of ``.1``. If points collide, the point added last stays. A repeated id has the same
    points again.

    Examples
    --------
    >>> s = GoConsistentHash(virtual_nodes=10)
    >>> s.assign([("TopicTest", "broker-a", i) for i in range(8)], ["c1", "c2"]).owners.tolist()
    [1, 1, 1, 1, 0, 0, 1, 1]
    """

    dialect = "go"
    parameters = ConsistentHash.parameters[:1]

    _search = staticmethod(bisect.bisect_right)
    _which = "after it"

    def __init__(self, virtual_nodes: int = DEFAULT_VIRTUAL_NODES) -> None:
        if hasattr(virtual_nodes, "__index__") and virtual_nodes < 0:
            raise ArgumentError(
                f"virtual_nodes must be at least 1, got {virtual_nodes}: client-go finds an empty circle"
            )
        super().__init__(virtual_nodes)
        self._is_md5 = self.has_shared_points = False

    def with_virtual_nodes(self, virtual_nodes: int) -> GoConsistentHash:
        """Return the same with another number of points per client.

        Examples
        --------
        >>> GoConsistentHash().with_virtual_nodes(160).virtual_nodes
        160
        """
        return type(self)(virtual_nodes)

    def _points_of(self, client_ids: Sequence[str]) -> Ring:
        ring: Ring = {}
        for client_id in client_ids:
            for k in range(self.virtual_nodes):
                ring[self._hash(f"{k}{client_id}")] = client_id, k
        return ring

    def _hash(self, key: str) -> int:
        return zlib.crc32(key.encode("utf-8", "replace"))

    def _divide(
        self,
        queues: tuple[Any, ...],
        client_ids: tuple[str, ...],
        position: int,
        out: Owners | None,
    ) -> None:
        return None  # that kernel is of Java's ring

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        if self.virtual_nodes == 0:
            raise ArgumentError(_NO_POINTS)
        return super()._group_owners(mq_all, cid_all)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        for unit in range(fleet.n_units) if self.virtual_nodes == 0 else ():
            reasons.setdefault(unit, _NO_POINTS)

    def _ready_made(self, fleet: Fleet, pieces: Pieces, threads: int) -> tuple[Hashes, Hashes]:
        hashes = _queue_hashes(fleet, threads)
        # RocketMQ's ring looks for a point at or after a hash; the one after it is at or after the
        # next number.
        np.add(hashes, np.uint32(1), out=hashes)
        return _points(fleet, self.virtual_nodes, threads), hashes


class GoMachineRoom(_GoFunction, MachineRoom):
    """Equal blocks of *all* queues, of the size that the queues of the machine rooms give; the
    remaining queues of the rooms go to one client each.

    Parameters
    ----------
    machine_rooms : iterable of str, or None
        Go's ``consumeridcs``. None (Go's nil) is no room: all queues are unowned.

    Raises
    ------
    TypeError
        ``machine_rooms`` is a plain string or holds something else than strings.
    ValueError
        A room is listed twice: client-go counts its queues twice and may panic.

    Notes
    -----
    ``AllocateByMachineRoom`` of ``github.com/apache/rocketmq-client-go/v2/consumer``: it counts the queues of the rooms and
    then takes the blocks from the list of all queues, in any machine room. If queues of other rooms
    come first in that list, queues of its own rooms are left unowned. A broker's room is the text
    before its only ``@``.

    Examples
    --------
    >>> s, queues = GoMachineRoom({"sh"}), [("t", "hz@a", 0), ("t", "hz@a", 1), ("t", "sh@b", 0), ("t", "sh@b", 1)]
    >>> s.assign(queues, ["x", "y"]).owners.tolist()
    [0, 1, -1, -1]
    """

    decided_by = "positions"
    reads_topic = False
    dialect = "go"

    def __init__(self, machine_rooms: Iterable[str] | None = None) -> None:
        given = machine_rooms if isinstance(machine_rooms, str) else list(machine_rooms or ())
        super().__init__(given)
        if len(self.machine_rooms or ()) < len(given):
            raise ArgumentError(
                f"machine_rooms lists a room twice; client-go counts its queues twice and may panic: {given!r}"
            )

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return equal blocks of all queues, the rest from the rooms' queues."""
        reasons, rooms = Reasons(), ", ".join(sorted(self.machine_rooms or ()))
        kept = [i for i, queue in enumerate(queues) if self._keeps(queue.broker_name)]
        size, over = divmod(len(kept), len(client_ids))
        text = f"of {len(queues)} queues {len(kept)} are in the machine rooms {rooms}: {size} for each client, {over} left over"
        reasons.say(text, n_kept=len(kept))
        in_blocks, place = size * len(client_ids), kept.index(position) if position in kept else -1
        first = f"Go's client takes the first {in_blocks} of all queues, in any machine room"
        if position < in_blocks:
            client = position // size
            text = f"{first}, and this queue is number {position}: {position} ÷ {size} = {client}"
        elif place >= in_blocks:
            client = place - in_blocks
            text = (
                f"the rest comes from the queues of the machine rooms, and this queue is number {place} of these: {place} − "
                f"{in_blocks} = {client}"
            )
        else:
            reasons.say(f"{first}, and this queue is number {position}; it is not in the rest")
            return reasons
        reasons.say(f"{text}, client {client_ids[client]}", client_place=client)
        reasons.check_id(client_ids, client)
        return reasons

    def _room_of(self, broker_name: str) -> str | None:
        room, at, name = broker_name.partition("@")
        return room if at and "@" not in name else None

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        kept = np.flatnonzero(
            of_queues(fleet, [self._keeps(name) for name in fleet.brokers.to_list()])
        )
        begins = np.searchsorted(kept, fleet.queue_offsets)
        counts = np.diff(begins)
        owners = np.empty(kept.size, np.int32)
        if owners.size:
            split.tail_remainder(offsets_of(counts), fleet.n_clients, owners)
        places, in_blocks = list_positions(begins), counts - counts % np.maximum(fleet.n_clients, 1)
        in_block = places < np.repeat(in_blocks, counts)
        out.fill(-1)
        out[np.where(in_block, np.repeat(fleet.queue_offsets[:-1], counts) + places, kept)] = owners
        rename_holders(fleet, out, sole=True)


def _points(fleet: Fleet, virtual_nodes: int, threads: int) -> Hashes:
    """Return points of all client slots of the lists of a fleet."""
    v, text = virtual_nodes, fleet.client_lists.client_ids.as_java_bytes
    points = np.empty(len(text) * v, np.uint32)
    slots_at_once = max(STEP // v, 1) if v <= _NODES else 1

    def some(first: int, last: int) -> Iterator[None]:
        for slot in range(first, last, slots_at_once):
            for node in range(0, v, _NODES):
                n_slots, n_nodes = min(slots_at_once, last - slot), min(_NODES, v - node)
                scratch = np.empty((_LENGTHS, n_nodes), np.uint32)
                part = points[slot * v + node :][: n_slots * n_nodes]
                crc32.points(text.values, text.offsets, slot, slot + n_slots, node, scratch, part)
                yield

    in_threads(some, equal_parts(len(text), threads))
    return points


def _queue_hashes(fleet: Fleet, threads: int) -> Hashes:
    """Return hashes of all queues of the lists of a fleet."""
    lists, topics, brokers = (
        fleet.queue_lists,
        fleet.topics.as_java_bytes,
        fleet.brokers.as_java_bytes,
    )
    hashes = np.empty(lists.queue_ids.size, np.uint32)

    def some(first: int, last: int) -> None:
        begin, end = lists.route_offsets[[first, last]].tolist()
        crc32.queues(
            topics.values, topics.offsets, brokers.values, brokers.offsets, lists.route_topic[first:last],
            lists.route_broker[first:last], lists.route_offsets[first : last + 1], lists.queue_ids, hashes[begin:end],
        )  # fmt: skip

    in_threads(some, equal_parts(lists.route_topic.size, threads))
    return hashes
