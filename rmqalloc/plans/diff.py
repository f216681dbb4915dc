"""One scenario beside the state before it: every queue with both owners, every client with what it gains and loses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index
from rmqalloc.plans.states import Keys, NumberedState, Numbers

Mask = NDArray[np.bool_]


class Queues(NamedTuple):
    """Every queue of either side, in order; only units that could be assigned after.

    Attributes
    ----------
    keys : ndarray of int64
        See `rmqalloc.plans.states.Numbers.queue_key`.
    before, after : ndarray of int32
        Number of the owner, -1 for nobody or where the queue is not there.
    was, is_ : ndarray of bool
        Whether the queue is there before, and after.
    """

    keys: Keys
    before: Index
    after: Index
    was: Mask
    is_: Mask

    @property
    def moved(self) -> Mask:
        """Queues of both sides whose owner changes, as `rmqalloc.evaluation.movement.Movement` counts them."""
        moved: Mask = self.was & self.is_ & (self.before != self.after)
        return moved


class Clients(NamedTuple):
    """Every client of either side of each unit, in order.

    Attributes
    ----------
    rows, clients : ndarray of int64
        The unit's row and the client's number.
    before, after, gained, lost : ndarray of int64
        Queues.
    was, is_ : ndarray of bool
        Whether the client is there before, and after.
    rooms : ndarray of int32
        Number of its machine room, -1 where not known.
    """

    rows: Keys
    clients: Keys
    before: Keys
    after: Keys
    gained: Keys
    lost: Keys
    was: Mask
    is_: Mask
    rooms: Index


def queues_between(before: NumberedState, after: NumberedState, numbers: Numbers) -> Queues:
    """Queues of both sides beside one another."""
    good = before.known & after.good
    sides = []
    for side in (before, after):
        mine = slice(None) if np.array_equal(good, side.known) else good[rows_of(side.queues, numbers)]
        sides.append((side.queues[mine], side.owners[mine]))
    (keys, owners), (keys_after, owners_after) = sides
    if np.array_equal(keys, keys_after):
        there = np.ones(keys.size, bool)
        return Queues(keys, owners, owners_after, there, there)
    both = np.union1d(keys, keys_after)
    before_after = []
    for some, who in sides:
        there, owner = np.zeros(both.size, bool), np.full(both.size, -1, np.int32)
        places = np.searchsorted(both, some)
        there[places], owner[places] = True, who
        before_after.append((owner, there))
    (was_owner, was), (is_owner, is_) = before_after
    return Queues(both, was_owner, is_owner, was, is_)


def clients_between(before: NumberedState, after: NumberedState, queues: Queues, numbers: Numbers) -> Clients:
    """Clients of both sides beside one another, an id that repeats in a unit once."""
    good, n_clients = before.known & after.good, max(len(numbers.clients), 1)
    slots = []
    for side in (before, after):
        own_rows, own_clients, own_loads, own_rooms = side.client_rows
        mine = good[own_rows]
        slots.append((own_rows[mine] * n_clients + own_clients[mine], own_loads[mine], own_rooms[mine]))
    keys = np.unique(np.concatenate([slots[0][0], slots[1][0]]))
    loads, there, rooms = [], [], np.full(keys.size, -1, np.int32)
    for slot_keys, load, room in reversed(slots):  # where both know the room, that before stays
        places = np.searchsorted(keys, slot_keys)
        loads.append(np.bincount(places, weights=load, minlength=keys.size).astype(np.int64))
        there.append(np.isin(keys, slot_keys))
        rooms[places[room >= 0]] = room[room >= 0]
    rows = rows_of(queues.keys, numbers)
    differs = queues.before != queues.after

    def flow(owner: Index) -> Keys:
        some = differs & (owner >= 0)
        places = np.searchsorted(keys, rows[some] * n_clients + owner[some])
        flows: Keys = np.bincount(places, minlength=keys.size)
        return flows

    row, client = np.divmod(keys, n_clients)
    gained, lost = flow(queues.after), flow(queues.before)
    return Clients(row, client, loads[1], loads[0], gained, lost, there[1], there[0], rooms)


def rows_of(keys: Keys, numbers: Numbers) -> Keys:
    """Rows of the units that queues belong to."""
    rows: Keys = keys // (max(len(numbers.brokers), 1) * numbers.n_queue_ids)
    return rows
