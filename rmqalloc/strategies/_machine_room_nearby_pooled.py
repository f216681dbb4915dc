"""``MACHINE_ROOM_NEARBY_POOLED/1-<inner>``: queues of rooms without clients go one by one to who
has the fewest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import split
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, lengths_of, list_positions, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.model import joined
from rmqalloc.strategies._machine_room_nearby import BrokerRoom, ClientRoom, MachineRoomNearby
from rmqalloc.strategies._over import INNER, ExclusiveOver, Share
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts, split_by_room
from rmqalloc.strategies.base import Inner, Owners, Strategy

Mask = NDArray[np.bool_]


class MachineRoomNearbyPooled(ExclusiveOver[Inner], name="MACHINE_ROOM_NEARBY_POOLED/1"):
    """As ``MACHINE_ROOM_NEARBY``, but the queues of all rooms without clients are one pool.

    Queues of a room with clients are divided among these by the inner strategy. Those of all other
    rooms together go, in the order of the list, each to the client that has the fewest queues of
    the topic so far, ties to the first.

    Notes
    -----
    ``MACHINE_ROOM_NEARBY`` restarts from the first client in every room without clients, so the first ones get the extra
    queue of every such room.

    Examples
    --------
    >>> queues = [("t", broker, i) for broker in ("sz-a", "xa-a") for i in range(3)]
    >>> made = MachineRoomNearbyPooled(broker_room=lambda q: q[1][:2], client_room=lambda name: "hz")
    >>> made.assign(queues, ["c1", "c2", "c3", "c4"]).owners.tolist()
    [0, 1, 2, 3, 0, 1]
    """

    reads_rooms = True
    parameters = (INNER, *(one for one in MachineRoomNearby.parameters if one.kind == "resolver"))

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
        queue_rooms, client_rooms = self._nearby._rooms(queues, client_ids)
        room = next((name for name, places in queue_rooms.items() if position in places), None)
        if room is None or room in client_rooms:
            return self._nearby.explain(queues, client_ids, position)
        pool = [
            i
            for i, one in enumerate(queues)
            if any(i in queue_rooms[name] for name in queue_rooms.keys() - client_rooms)
        ]
        owners = self._group_owners(queues, client_ids).tolist()
        before = [owner for i, owner in enumerate(owners) if i not in pool or i < position]
        owner, place = owners[position], pool.index(position)
        broker = queues[position].broker_name
        reasons = Reasons()
        text = f"broker {broker} stands in machine room {room}, where no client stands"
        reasons.say(
            f"{text}: the queue is at place {place} of the {len(pool)} of such rooms",
            machine_room=room,
            pool_place=place,
        )
        if owner >= 0:
            has = before.count(owner)
            text = f"client {client_ids[owner]} has {has} queues of its room and of the pool so far, and none has fewer"
            reasons.say(text, client_place=owner, load=has)
        return reasons

    def _shares(self, topic: str, queues: Sequence[Any], client_ids: Sequence[str]) -> list[Share]:
        queue_rooms, client_rooms = self._nearby._rooms(queues, client_ids)
        return [
            Share(places, client_rooms[room])
            for room, places in queue_rooms.items()
            if room in client_rooms
        ]

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        owners = super()._group_owners(mq_all, cid_all)
        queue_rooms, client_rooms = self._nearby._rooms(mq_all, cid_all)
        is_open = np.zeros(owners.size, bool)
        is_open[[i for room in queue_rooms.keys() - client_rooms for i in queue_rooms[room]]] = True
        ids = [joined(client_id) for client_id in cid_all]
        places: dict[str, int] = {}
        first = np.array([places.setdefault(one, i) for i, one in enumerate(ids)], np.int32)
        whole = np.array([0, owners.size]), np.array([0, len(ids)])
        _pool(*whole, is_open, first, np.array([not one for one in ids]), owners)
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
            fleet.queue_offsets,
            fleet.client_offsets,
            is_open,
            lists.first[slots],
            lists.empty_id[slots],
            out,
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


def _pool(
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
