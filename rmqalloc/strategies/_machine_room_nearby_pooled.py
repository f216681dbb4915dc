"""``MACHINE_ROOM_NEARBY_POOLED/1-<inner>``: queues of rooms without clients go one by one to who
has the fewest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import split
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, lengths_of, list_positions, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.model import joined
from rmqalloc.strategies._machine_room_nearby import (
    BrokerRoom,
    ClientRoom,
    MachineRoomNearby,
    RoomPlaces,
)
from rmqalloc.strategies._over import INNER, ExclusiveOver, Share
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts, split_by_room
from rmqalloc.strategies.base import Inner, Owners, Strategy

Mask = NDArray[np.bool_]


class MachineRoomNearbyPooled(ExclusiveOver[Inner], name="MACHINE_ROOM_NEARBY_POOLED/1"):
    """As ``MACHINE_ROOM_NEARBY``, but the queues of all rooms without clients are one pool.

    The inner strategy divides the queues of a room with clients among these clients. The queues of
    all other rooms together go, in the order of the list, each to the client that has the fewest
    queues of the topic so far, ties to the first.

    Notes
    -----
    ``MACHINE_ROOM_NEARBY`` restarts from the first client in every room without clients, so the first clients get the
    extra queue of every such room.

    Examples
    --------
    >>> queues = [("t", broker, i) for broker in ("sz-a", "xa-a") for i in range(3)]
    >>> made = MachineRoomNearbyPooled(broker_room=lambda q: q[1][:2], client_room=lambda name: "hz")
    >>> made.assign(queues, ["c1", "c2", "c3", "c4"]).owners.tolist()
    [0, 1, 2, 3, 0, 1]
    """

    reads_rooms = True
    parameters = (INNER, *MachineRoomNearby.parameters[1:])

    def __init__(
        self,
        inner: Inner | None = None,
        broker_room: BrokerRoom | None = None,
        client_room: ClientRoom | None = None,
    ) -> None:
        super().__init__(inner)
        self._nearby = MachineRoomNearby(self.inner, broker_room, client_room)
        self.broker_room, self.client_room = broker_room, client_room

    def _over(self, inner: Any) -> Strategy:
        return type(self)(inner, self.broker_room, self.client_room)

    def with_rooms(
        self, broker_room: Mapping[str, str] | None, client_room: Mapping[str, str] | None
    ) -> Strategy:
        """Return the same strategy with the machine rooms of brokers and clients by name."""
        inner: Any = self.inner.with_rooms(broker_room, client_room)
        return type(self)(inner, broker_room, client_room)

    def get_name(self) -> str:
        """``MACHINE_ROOM_NEARBY_POOLED/1-`` and the inner strategy's name."""
        return f"MACHINE_ROOM_NEARBY_POOLED/1-{self.inner.get_name()}"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the queue's machine room and the reasons of the inner strategy, or how many queues
        the clients have so far.
        """
        rooms = self._nearby._rooms(queues, client_ids)
        room = rooms.of_queue(position)
        if room is None or room in rooms.clients:
            return self._nearby.explain(queues, client_ids, position)
        pool = _pooled(rooms)
        place, broker, reasons = pool.index(position), queues[position].broker_name, Reasons()
        text = f"broker {broker} is in machine room {room}, which has no client"
        reasons.say(
            f"{text}: the queue is number {place} (from 0) of the {len(pool)} queues of such machine rooms",
            machine_room=room,
            pool_place=place,
        )
        owners = self._group_owners(queues, client_ids).tolist()
        owner, not_yet = owners[position], [owners[i] for i in pool[place:]]
        if owner >= 0:
            has = owners.count(owner) - not_yet.count(owner)
            text = (
                f"client {client_ids[owner]} has {has} queues of its machine room and of the pool so far, and no client has "
                f"fewer"
            )
            reasons.say(text, client_place=owner, load=has)
        return reasons

    def _shares(self, topic: str, queues: Sequence[Any], client_ids: Sequence[str]) -> list[Share]:
        rooms = self._nearby._rooms(queues, client_ids)
        shared = [(places, rooms.clients.get(room)) for room, places in rooms.queues.items()]
        return [Share(places, members) for places, members in shared if members is not None]

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        owners = super()._group_owners(mq_all, cid_all)
        is_open = np.zeros(owners.size, bool)
        is_open[_pooled(self._nearby._rooms(mq_all, cid_all))] = True
        first: dict[str, int] = {}
        ids = [joined(client_id) for client_id in cid_all]
        places = [first.setdefault(client_id, place) for place, client_id in enumerate(ids)]
        _pool(
            queue_offsets=np.array([0, owners.size]),
            client_offsets=np.array([0, len(ids)]),
            is_open=is_open,
            first=np.array(places, np.int32),
            is_empty=np.array([not client_id for client_id in ids]),
            owners=owners,
        )
        return owners

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        fleet = fleet.own_lists() if fleet.is_sparse else fleet
        out.fill(-1)
        is_open = np.ones(out.size, bool)
        parts = self._parts(fleet)
        if parts.queue_places.size:
            self._divide_parts(parts, out, threads)
            is_open[parts.queue_places] = False
        lists = fleet.client_lists
        slots = ranges(fleet.slot_starts, fleet.n_clients)
        _pool(
            queue_offsets=fleet.queue_offsets,
            client_offsets=fleet.client_offsets,
            is_open=is_open,
            first=lists.first[slots],
            is_empty=lists.empty_id[slots],
            owners=out,
        )

    def _parts(self, fleet: Fleet) -> UnitParts:
        """Return the rooms of every unit that have clients."""
        fleet = fleet.own_lists() if fleet.is_sparse else fleet
        every = split_by_room(fleet)
        has_clients = every.fleet.unit_client_list >= fleet.client_lists.offsets.size - 1
        parts = np.flatnonzero(has_clients)
        places = every.queue_places[np.repeat(has_clients, every.fleet.n_queues)]
        return UnitParts(
            units_alone(every.fleet, parts), every.unit[parts], places, every.slot_places
        )

    def _prepared(self, fleet: Fleet) -> Fleet:
        return self._nearby._prepared(fleet)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        self._nearby._find_missing(fleet, reasons)
        super()._find_errors(fleet, reasons)


def _pooled(rooms: RoomPlaces) -> list[int]:
    """Return the places of the queues of all rooms without clients."""
    return sorted(chain.from_iterable(rooms.queues[room] for room in rooms.without_clients()))


def _pool(
    *,
    queue_offsets: Offsets,
    client_offsets: Offsets,
    is_open: Mask,
    first: Index,
    is_empty: Mask,
    owners: Owners,
) -> None:
    """Give the open queues to the clients with the fewest of the others; of an id that repeats the
    first place counts.

    No client asks as the empty id, so what it gets is unowned.
    """
    unit = np.repeat(np.arange(queue_offsets.size - 1), lengths_of(queue_offsets))
    slots = client_offsets[unit] + owners
    loads = np.bincount(slots[owners >= 0], minlength=first.size).astype(np.int32)
    loads[first != list_positions(client_offsets)] = -1
    split.level(queue_offsets, client_offsets, is_open.view(np.uint8), loads, owners)
    owners[is_open & is_empty[client_offsets[unit] + owners]] = -1
