"""Fleets made out of another one, whose units are parts of its units, and the way back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    list_positions,
    offsets_of,
    order_keys,
    ranges,
)
from rmqalloc.fleet.lists import ClientLists


class UnitParts(NamedTuple):
    """A fleet whose units are parts of the units of a whole, and the way back."""

    fleet: Fleet
    unit: Index  # unit of the whole that each part comes from
    queue_places: Offsets  # place in the whole's owners vector of each of the parts' queues
    slot_places: Index  # place in its original list of each slot of the parts' client lists

    def original(self, owners: Index) -> Index:
        """Return owners in terms of the whole's client lists."""
        slots = np.repeat(self.fleet.slot_starts, self.fleet.n_queues) + np.maximum(owners, 0)
        return np.where(owners < 0, owners, self.slot_places[slots])


# Fleets cut by machine room: one unit for every room of every unit, and the way back.


class _Cut(NamedTuple):
    """Lists cut by room: part ``p``, of list ``list_[p]`` and room ``room[p]``, is
    ``places[offsets[p]:offsets[p+1]]``.
    """

    list_: NDArray[Any]
    room: Index
    offsets: Offsets
    places: Offsets
    positions: Index


def _cut(room: Index, list_offsets: Offsets) -> _Cut:
    """Cut lists by the room of their elements, which keep their order inside a room."""
    lengths = np.diff(list_offsets)
    order = order_keys((room.astype(np.int64) + 1).astype(np.uint64), list_offsets)
    places = np.repeat(list_offsets[:-1], lengths) + order
    list_ = np.repeat(np.arange(lengths.size), lengths)
    starts = np.flatnonzero(
        np.r_[True, (list_[1:] != list_[:-1]) | (room[places][1:] != room[places][:-1])][
            : places.size
        ]
    )
    offsets = np.append(starts, places.size).astype(np.int64)
    return _Cut(list_[starts], room[places][starts], offsets, places, order)


def split_by_room(fleet: Fleet) -> UnitParts:
    """Make a unit of each room of each unit: with the room's own clients, or with all where the
    room has none.
    """
    fleet = fleet.own_lists() if fleet.is_sparse else fleet
    queues, clients = fleet.queue_lists, fleet.client_lists
    assert queues.route_room is not None
    assert clients.slot_room is not None
    by_queue = _cut(queues.route_room[queues.queue_route], queues.offsets)
    by_client = _cut(clients.slot_room, clients.offsets)
    n_lists = clients.offsets.size - 1
    per_list = np.bincount(by_queue.list_, minlength=queues.offsets.size - 1)
    counts = per_list[fleet.unit_queue_list]
    unit = np.repeat(np.arange(fleet.n_units, dtype=np.int32), counts)
    part = ranges(offsets_of(per_list)[:-1][fleet.unit_queue_list], counts)
    stride = len(fleet.rooms) + 1  # one more than there are rooms, for a missing room is -1
    wanted = fleet.unit_client_list[unit].astype(np.int64) * stride + by_queue.room[part]
    have = np.append(
        by_client.list_ * stride + by_client.room, n_lists * stride
    )  # above all that are wanted
    at = np.searchsorted(have, wanted)
    client_list = np.where(have[at] == wanted, n_lists + at, fleet.unit_client_list[unit]).astype(
        np.int32
    )
    both = np.r_[np.arange(len(clients.client_ids)), by_client.places]
    both_offsets = np.r_[clients.offsets, clients.offsets[-1] + by_client.offsets[1:]]
    parts = replaced(
        fleet,
        consumer_groups=fleet.consumer_groups.take_unchecked(unit),
        unit_topic=fleet.unit_topic[unit],
        unit_queue_list=part.astype(np.int32),
        unit_client_list=client_list,
        queue_lists=queues.rearranged(by_queue.places, by_queue.offsets),
        client_lists=ClientLists.of_slots(
            both_offsets, clients.client_ids.take_unchecked(both), clients.slot_room[both]
        ),
        errors=(),
    )
    positions = by_queue.positions[parts.queue_places()]
    queue_places = np.repeat(fleet.queue_offsets[unit], parts.n_queues) + positions
    return UnitParts(
        parts, unit, queue_places, np.r_[list_positions(clients.offsets), by_client.positions]
    )
