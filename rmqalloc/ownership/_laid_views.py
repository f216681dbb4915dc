"""Mixed units in the states of a plan: the views of a unit laid on one another, so that a queue has
no owner, one or several.

A client counts as a reader of what a view gives it if it acts on that view. The queues of a unit
are those of its main view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rmqalloc.fleet.columns import (
    Index,
    among,
    distinct,
    list_positions,
    offsets_of,
    ranges,
    repeats_of,
)
from rmqalloc.ownership._shared_views import Takers
from rmqalloc.ownership.reader_sets import Keys, Mask, Numbers
from rmqalloc.views.view_rows import MixedRows


class Laid(NamedTuple):
    """The queues of mixed units, the views of each laid on one another."""

    queues: Keys  # keys, ascending
    owners: Index  # number of a client id or of a set, -1 for nobody
    readers: Index  # the same of clients, of which several may have one id
    # Clients that read each queue whichever client list they are given; two that share an id are
    # two. 0 where clients share queues, so that several may read one.
    n_readers: Keys
    rooms: Index  # number of the machine room of each queue's broker, -1 where not known


class UnitQueues(NamedTuple):
    """Queues of mixed units, by their main views: keys, and the numbers of their brokers' machine
    rooms.
    """

    keys: Keys
    rooms: Index


class Listed(NamedTuple):
    """The client ids of mixed units in a state."""

    keys: Keys  # unit and client as one number, ascending
    counts: Keys  # how often the unit lists the id

    def of(self, keys: Keys) -> Keys:
        """Return how often units list clients."""
        places = np.searchsorted(self.keys, keys)
        counts: Keys = np.where(
            np.append(self.keys, -1)[places] == keys, np.append(self.counts, 0)[places], 0
        )
        return counts


class ReportedPairs(NamedTuple):
    """Queues and the clients that report that they own them."""

    units: Keys  # units of which it is known who owns their queues
    # Key of a queue, and number of a client, see `ClientNumbers`
    queues: Keys
    clients: Keys


class MixedUnits:
    """The rows of mixed units as numbers."""

    def __init__(self, rows: MixedRows, client_ids: list[str], n_units: int, n_rows: int) -> None:
        self.n_units = n_units
        self.n_clients = max(len(client_ids), 1)
        self.unit_of: Keys = np.full(n_rows, -1, np.int64)
        self.unit_of[list(rows.unit_of)] = list(rows.unit_of.values())
        self._n_lists: Keys = np.ones(n_rows, np.int64)
        self._n_lists[list(rows.n_lists)] = list(rows.n_lists.values())
        self._joining = np.zeros(n_rows, bool)
        self._joining[list(rows.joining)] = True
        self.shared = rows.shared
        self.is_shared = np.zeros(n_rows, bool)
        self.is_shared[list(rows.shared)] = True
        self._put_slots(rows, {one: number for number, one in enumerate(client_ids)})

    def _put_slots(self, rows: MixedRows, number_of: Mapping[str, int]) -> None:
        """Number the clients of all slots; the names of a unit that cannot be read have no numbers."""
        listed = {
            id(ids): ids for ids in rows.client_ids.values()
        }  # one list for all topics of a group
        of_list = {
            at: np.array([number_of.get(one, -1) for one in ids], np.int64)
            for at, ids in listed.items()
        }
        each = [of_list[id(ids)] for ids in rows.client_ids.values()]
        offsets = offsets_of([one.size for one in each])
        units, slots = (
            np.repeat(np.array(list(rows.client_ids), np.int64), np.diff(offsets)),
            list_positions(offsets),
        )
        numbers = np.concatenate([np.zeros(0, np.int64), *each])
        self._starts = starts = np.zeros(self.n_units, np.int64)
        starts[units[slots == 0]] = np.flatnonzero(slots == 0)
        keys = np.where(numbers < 0, -1, units * self.n_clients + numbers)
        repeats = repeats_of(keys)
        self._client_of_slot, self._repeat_of_slot = numbers, repeats
        self._known = Listed(*np.unique(keys[keys >= 0], return_counts=True))
        unit, slot = _pairs(rows.subscribed)
        at = starts[unit] + slot
        at = at[np.argsort(repeats[at], kind="stable")]
        subscribed, firsts = np.unique(keys[at], return_index=True)
        self._subscribed = Listed(
            subscribed, 1 + repeats[at[firsts]]
        )  # how often the id is listed up to one that subscribes
        row, slot = _pairs(rows.acting)
        at = starts[self.unit_of[row]] + slot
        acting = np.where(numbers[at] < 0, -1, row * self.n_clients + numbers[at])
        order = np.lexsort((slot, acting))
        self._acting, self._repeats = acting[order], repeats[at[order]]

    def listed(self, rows: Keys, clients: Index) -> Listed:
        """Return the client ids of mixed units, given the row and the client of every slot of all
        units.
        """
        mine = self.unit_of[rows] >= 0
        return Listed(*np.unique(rows[mine] * self.n_clients + clients[mine], return_counts=True))

    def reported(self, rows: MixedRows, numbers: Numbers) -> ReportedPairs:
        """Return the owners that clients report, as numbers."""
        broker = {name: i for i, name in enumerate(numbers.brokers)}
        found = [
            (unit, broker[queue.broker_name], queue.queue_id, slot)
            for unit, owners in rows.reported.items()
            for queue, slots in owners.items()
            for slot in slots
            if queue.broker_name in broker
        ]
        units, brokers, queue_ids, slots = np.array(found, np.int64).reshape(-1, 4).T
        at = self._starts[units] + slots
        known = self._client_of_slot[at] >= 0
        clients = numbers.client_numbers.of(
            self._client_of_slot[at[known]], self._repeat_of_slot[at[known]]
        )
        keys = numbers.queue_key(units, brokers, queue_ids)[known]
        return ReportedPairs(np.array(list(rows.reported), np.int64), keys, clients)

    def as_reported(self, laid: Laid, reported: ReportedPairs, numbers: Numbers) -> Laid:
        """Replace computed owners by reported ones in the units where these are known."""
        known = among(laid.queues // numbers.stride, reported.units)
        there = among(reported.queues, laid.queues)
        places, clients = (
            np.searchsorted(laid.queues, reported.queues[there]),
            reported.clients[there],
        )
        owners, readers = _owners(places, clients, laid.queues.size, numbers)
        n = np.bincount(places, minlength=laid.queues.size)
        return Laid(
            laid.queues, np.where(known, owners, laid.owners), np.where(known, readers, laid.readers),
            np.where(known, n, laid.n_readers), laid.rooms,
        )  # fmt: skip

    def further(self) -> Iterator[tuple[int, int]]:
        """Yield the rows of further views, and the unit of each."""
        rows = np.flatnonzero(self.unit_of[self.n_units :] >= 0) + self.n_units
        yield from zip(rows.tolist(), self.unit_of[rows].tolist(), strict=True)

    def may_read(self, units: Keys, clients: Keys) -> Mask:
        """Return which clients may own queues: those that joined, or still have a slot that
        subscribes.
        """
        keys = units * self.n_clients + clients
        ids, place = np.unique(keys, return_inverse=True)
        n_left = np.bincount(place, minlength=ids.size)
        found: Mask = ((self._subscribed.of(ids) > 0) & (self._subscribed.of(ids) <= n_left)) | (
            n_left > self._known.of(ids)
        )
        return found[place]

    def acted_on(self, listed: Listed) -> Mask:
        """Return which rows a client acts on."""
        found = np.zeros(self.unit_of.size, bool)
        rows, clients = np.divmod(self._acting, self.n_clients)
        stays = (self._acting >= 0) & (
            self._repeats < listed.of(self.unit_of[rows] * self.n_clients + clients)
        )
        found[rows[stays]] = True
        growing = distinct(
            listed.keys[listed.counts > self._known.of(listed.keys)] // self.n_clients
        )
        joining = np.flatnonzero(self._joining)
        found[joining[among(self.unit_of[joining], growing)]] = True
        return found

    def of_units(self, good: Mask, acted_on: Mask) -> Mask:
        """Return for each view of a unit what holds for all of its views that count; other rows
        keep their value.

        What is wrong with a view on which no client acts any more is wrong with nothing.
        """
        bad = np.zeros(good.size, bool)
        mine = self.unit_of >= 0
        counts = acted_on | (self.unit_of == np.arange(good.size))
        np.logical_or.at(bad, self.unit_of[mine], ~good[mine] & counts[mine])
        return np.where(mine, ~bad[self.unit_of], good)

    def _takers(self, rows: Keys, clients: Keys, listed: Listed) -> tuple[Keys, Keys]:
        """Return the clients that take what a row gives to a client id: the row's position, and the
        repeat of the id.

        Clients that joined are behind all others of their id. Of those that share an id the last
        leave first.
        """
        keys, ids = rows * self.n_clients + clients, self.unit_of[rows] * self.n_clients + clients
        n_left, n_before = listed.of(ids), self._known.of(ids)
        first, stop = (np.searchsorted(self._acting, keys, side) for side in ("left", "right"))
        n_acting = stop - first
        places, acting = np.repeat(np.arange(keys.size), n_acting), ranges(first, n_acting)
        stay = self._repeats[acting] < n_left[places]
        n_joined = np.where(self._joining[rows], np.maximum(n_left - n_before, 0), 0)
        joined = ranges(n_before, n_joined)
        places = np.append(places[stay], np.repeat(np.arange(keys.size), n_joined))
        return places, np.append(self._repeats[acting[stay]], joined)

    def laid(self, mains: UnitQueues, takers: Takers, listed: Listed, numbers: Numbers) -> Laid:
        """Lay the views of units on one another."""
        order = np.argsort(mains.keys, kind="stable")
        there = mains.keys[order]
        queues = takers.queues + (self.unit_of[takers.rows] - takers.rows) * numbers.stride
        at = np.searchsorted(there, queues)
        some = np.flatnonzero(np.append(there, -1)[at] == queues)
        ids = takers.clients[some]
        of, repeats = self._takers(takers.rows[some], ids, listed)
        places, clients = at[some][of], numbers.client_numbers.of(ids[of], repeats)
        stride = max(numbers.client_numbers.n, 1)
        takes, n_views = np.unique(places * stride + clients, return_counts=True)
        place = takes // stride
        surely = n_views >= self._n_lists[there[place] // numbers.stride]
        n_sure = np.bincount(place[surely], minlength=there.size)
        n_sure = np.where(self.is_shared[there // numbers.stride], 0, n_sure)
        owners, readers = _owners(places, clients, there.size, numbers)
        return Laid(there, owners, readers, n_sure, mains.rooms[order])


def _pairs(found: Mapping[int, Sequence[int]]) -> tuple[Keys, Keys]:
    """Return every key with each of its values."""
    keys = np.repeat(np.array(list(found), np.int64), [len(each) for each in found.values()])
    return keys, np.array([one for each in found.values() for one in each], np.int64)


def _owners(places: Keys, clients: Keys, n: int, numbers: Numbers) -> tuple[Index, Index]:
    """Number the client ids, and the clients, that read queues, given the clients that take each."""
    readers = numbers.sets.of_pairs(places, clients, n)
    if numbers.client_numbers.n == numbers.client_numbers.n_ids:
        return readers, readers
    return numbers.sets.of_pairs(places, numbers.client_numbers.ids[clients], n), readers
