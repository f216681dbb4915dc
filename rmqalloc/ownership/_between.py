"""One scenario beside the state before it: every queue with both owners, every client with what it gains and loses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Index
from rmqalloc.ownership._reader_sets import Readers, ReaderSets
from rmqalloc.ownership._states import Keys, NumberedState, Numbers, rows_of

Mask = NDArray[np.bool_]


class Queues(NamedTuple):
    """Every queue of either state, in order; only units that could be assigned after.

    Attributes
    ----------
    keys : ndarray of int64
        See `Numbers.queue_key`.
    before, after : ndarray of int32
        Number of the owner or of a set of several, -1 for nobody or where the queue is not there.
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
        """Queues of both states whose owner changes, as `rmqalloc.evaluation._movement.Movement` counts them."""
        moved: Mask = self.was & self.is_ & (self.before != self.after)
        return moved

    def some(self, places: Keys) -> Queues:
        """Some of them."""
        keys, before, after, was, is_ = self
        return Queues(keys[places], before[places], after[places], was[places], is_[places])


class Clients(NamedTuple):
    """Every client of either state of each unit, in order.

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
    """Queues of both states beside one another."""
    good = before.known & after.good
    columns = []
    for state in (before, after):
        mine = slice(None) if np.array_equal(good, state.known) else good[rows_of(state.queues, numbers)]
        columns.append((state.queues[mine], state.owners[mine]))
    (keys, owners), (keys_after, owners_after) = columns
    if np.array_equal(keys, keys_after):
        there = np.ones(keys.size, bool)
        return Queues(keys, owners, owners_after, there, there)
    both, positions = _merged(keys, keys_after)
    before_after = []
    for place, who in ((positions[: keys.size], owners), (positions[keys.size :], owners_after)):
        there, owner = np.zeros(both.size, bool), np.full(both.size, -1, np.int32)
        there[place], owner[place] = True, who
        before_after.append((owner, there))
    (was_owner, was), (is_owner, is_) = before_after
    return Queues(both, was_owner, is_owner, was, is_)


def _merged(one: Keys, other: Keys) -> tuple[Keys, Keys]:
    """Distinct keys of two columns, ascending, and the positions among them of all keys of the one and then of the other."""
    keys = np.concatenate([one, other])
    order = np.argsort(keys, kind="stable")  # the columns are runs in order, or few such, which a stable sort merges
    keys = keys[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[: keys.size]
    positions = np.empty(keys.size, np.int64)
    positions[order] = np.cumsum(is_first) - 1
    return keys[is_first], positions


def lost_and_gained(queues: Queues, sets: ReaderSets) -> tuple[Readers, Readers]:
    """Who reads a queue before and not after, and who does after and not before."""
    differs = np.flatnonzero(queues.before != queues.after)
    before, after = sets.readers(queues.before[differs]), sets.readers(queues.after[differs])
    if len(sets):
        stride = 1 + max(int(one.clients.max(initial=0)) for one in (before, after))
        had, has = (one.places * stride + one.clients for one in (before, after))
        before, after = (
            Readers(one.places[alone], one.clients[alone])
            for one, alone in ((before, ~np.isin(had, has)), (after, ~np.isin(has, had)))
        )
    return Readers(differs[before.places], before.clients), Readers(differs[after.places], after.clients)


def clients_between(before: NumberedState, after: NumberedState, queues: Queues, numbers: Numbers) -> Clients:
    """Clients of both states beside one another, an id that repeats in a unit once."""
    good, n_clients = before.known & after.good, max(len(numbers.clients), 1)
    slots = []
    for state in (before, after):
        own_rows, own_clients, own_loads, own_rooms = state.client_rows
        mine = good[own_rows]
        slots.append((own_rows[mine] * n_clients + own_clients[mine], own_loads[mine], own_rooms[mine]))
    keys, positions = _merged(slots[0][0], slots[1][0])
    loads, there, rooms = [], np.zeros((2, keys.size), bool), np.full(keys.size, -1, np.int32)
    cut = slots[0][0].size
    for is_before, place in ((0, positions[cut:]), (1, positions[:cut])):  # where both know the room, that before stays
        _, load, room = slots[1 - is_before]
        loads.append(np.bincount(place, weights=load, minlength=keys.size).astype(np.int64))
        there[is_before, place] = True
        rooms[place[room >= 0]] = room[room >= 0]
    rows = rows_of(queues.keys, numbers)

    def flow(readers: Readers) -> Keys:
        places = np.searchsorted(keys, rows[readers.places] * n_clients + readers.clients)
        flows: Keys = np.bincount(places, minlength=keys.size)
        return flows

    row, client = np.divmod(keys, n_clients)
    lost, gained = map(flow, lost_and_gained(queues, numbers.sets))
    return Clients(row, client, loads[1], loads[0], gained, lost, there[1], there[0], rooms)
