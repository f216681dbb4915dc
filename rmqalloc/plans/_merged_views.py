"""Mixed units in the states of a plan: the views of a unit laid on one another, so that a queue has no owner, one or several.

A client counts as a reader of what a view gives it if it acts on that view. The queues of a unit are those of its main view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Index, offsets_of, ranges
from rmqalloc.plans._owner_sets import Keys, OwnerSets
from rmqalloc.views._view_units import MixedRows

Mask = NDArray[np.bool_]


class Merged(NamedTuple):
    """The queues of mixed units, the views of each laid on one another.

    Attributes
    ----------
    queues : ndarray of int64
        Keys, ascending.
    owners : ndarray of int32
        Number of a client or of a set, -1 for nobody.
    n_readers : ndarray of int64
        Clients that read each queue whichever client list they are given; two that share an id are two.
    """

    queues: Keys
    owners: Index
    n_readers: Keys


class ReportedPairs(NamedTuple):
    """Queues and the clients that report that they own them.

    Attributes
    ----------
    units : ndarray of int64
        Units of which it is known who owns their queues.
    queues, clients : ndarray of int64
        Key of a queue, and number of a client.
    """

    units: Keys
    queues: Keys
    clients: Keys


class MixedUnits:
    """The rows of mixed units as numbers.

    Parameters
    ----------
    rows : MixedRows
    client_ids : list of str
        All clients, by number.
    n_units, n_rows : int
        Rows that are units, and rows of all views.
    """

    def __init__(self, rows: MixedRows, client_ids: list[str], n_units: int, n_rows: int) -> None:
        self.n_units = n_units
        self.n_clients = max(len(client_ids), 1)
        self.unit_of: Keys = np.full(n_rows, -1, np.int64)
        self.unit_of[list(rows.unit_of)] = list(rows.unit_of.values())
        self._number_of = number_of = {one: number for number, one in enumerate(client_ids)}
        columns = [
            (row, number_of[ids[slot]], slot)
            for row, slots in rows.acting.items()
            for ids in (rows.client_ids[rows.unit_of[row]],)
            for slot in slots
            if ids[slot] in number_of  # the names of a row that cannot be read are not numbered
        ]
        acting = np.array(sorted(columns), np.int64).reshape(-1, 3)
        self._acting, self._slots = acting[:, 0] * self.n_clients + acting[:, 1], acting[:, 2]
        self._n_slots = 1 + max(map(len, rows.client_ids.values()))
        self._n_lists: Keys = np.ones(n_rows, np.int64)
        self._n_lists[list(rows.n_lists)] = list(rows.n_lists.values())
        self._joining = np.zeros(n_rows, bool)
        self._joining[list(rows.joining)] = True
        everyone = ((unit, one) for unit, ids in rows.client_ids.items() for one in ids)
        subscribed = ((unit, rows.client_ids[unit][slot]) for unit, slots in rows.subscribed.items() for slot in slots)
        self._known, self._n_known = self._counted(everyone)
        self._subscribed, _ = self._counted(subscribed)

    def _counted(self, pairs: Iterable[tuple[int, str]]) -> tuple[Keys, Keys]:
        """Numbers of units and clients, ascending, and how often each pair comes."""
        known = [unit * self.n_clients + self._number_of[one] for unit, one in pairs if one in self._number_of]
        keys, counts = np.unique(np.array(known, np.int64), return_counts=True)
        return keys, counts

    def joined(self, rows: Keys, clients: Index) -> Keys:
        """Units and clients, as one number, that list a client id more often than before any change."""
        mine = rows < self.n_units
        mine[mine] = self.unit_of[rows[mine]] >= 0
        keys, counts = np.unique(rows[mine] * self.n_clients + clients[mine], return_counts=True)
        places = np.searchsorted(self._known, keys)
        known = np.where(np.append(self._known, -1)[places] == keys, np.append(self._n_known, 0)[places], 0)
        more: Keys = keys[counts > known]
        return more

    def as_reported(self, merged: Merged, owners: ReportedPairs, stride: int, sets: OwnerSets) -> Merged:
        """The same with the owners that clients report, of the units of which these are known."""
        known = np.isin(merged.queues // stride, owners.units)
        there = np.isin(owners.queues, merged.queues)
        places, clients = np.searchsorted(merged.queues, owners.queues[there]), owners.clients[there]
        reported = _owners(places, clients, merged.queues.size, self.n_clients, sets)
        n = np.bincount(places, minlength=merged.queues.size)
        return Merged(merged.queues, np.where(known, reported, merged.owners), np.where(known, n, merged.n_readers))

    def further(self) -> Iterator[tuple[int, int]]:
        """Rows of further views, and the unit of each."""
        rows = np.flatnonzero(self.unit_of[self.n_units :] >= 0) + self.n_units
        yield from zip(rows.tolist(), self.unit_of[rows].tolist(), strict=True)

    def may_read(self, units: Keys, clients: Keys) -> Mask:
        """Whether clients may own queues of units: all but those that do not subscribe."""
        keys = units * self.n_clients + clients
        found: Mask = np.isin(keys, self._subscribed) | ~np.isin(keys, self._known)
        return found

    def of_units(self, good: Mask) -> Mask:
        """What holds for all views of a unit, for each of these views; of other rows what holds for them."""
        bad = np.zeros(good.size, bool)
        mine = self.unit_of >= 0
        np.logical_or.at(bad, self.unit_of[mine], ~good[mine])
        return np.where(mine, ~bad[self.unit_of], good)

    def _takers(self, rows: Keys, clients: Keys, joined: Keys) -> tuple[Keys, Keys]:
        """Slots of the clients that take what a row gives to a client id, with the place of each among the rows.

        One that joined has a slot behind all others.
        """
        keys, units = rows * self.n_clients + clients, self.unit_of[rows]
        first, stop = (np.searchsorted(self._acting, keys, side) for side in ("left", "right"))
        more = np.flatnonzero(self._joining[rows] & np.isin(units * self.n_clients + clients, joined))
        places = np.append(np.repeat(np.arange(keys.size), stop - first), more)
        slots = np.append(self._slots[ranges(first, stop - first)], np.full(more.size, self._n_slots - 1))
        return places, slots

    def merged(self, rows: Keys, queues: Keys, owners: Index, joined: Keys, stride: int, sets: OwnerSets) -> Merged:
        """Lay the views of units on one another.

        Parameters
        ----------
        rows, queues, owners : ndarray
            Row, key and owner of every queue of every view.
        joined : ndarray of int64
            See `joined`.
        stride : int
            Keys of one row.
        sets : OwnerSets
        """
        units = self.unit_of[rows]
        queues = queues + (units - rows) * stride
        there = np.sort(queues[rows == units])
        some = np.flatnonzero((owners >= 0) & np.isin(queues, there))
        clients = owners[some].astype(np.int64)
        of, slots = self._takers(rows[some], clients, joined)
        places, who = np.searchsorted(there, queues[some][of]), clients[of]
        takers, n_views = np.unique(places * self._n_slots + slots, return_counts=True)
        place = takers // self._n_slots
        surely = n_views >= self._n_lists[there[place] // stride]
        n_sure = np.bincount(place[surely], minlength=there.size)
        return Merged(there, _owners(places, who, there.size, self.n_clients, sets), n_sure)


def _owners(places: Keys, clients: Keys, n: int, n_clients: int, sets: OwnerSets) -> Index:
    """Numbers of the owners of queues, given the clients that take them."""
    place, client = np.divmod(np.unique(places * n_clients + clients), n_clients)
    owners, n_each = np.full(n, -1, np.int32), np.bincount(place, minlength=n)
    one = n_each[place] == 1
    owners[place[one]] = client[one]
    starts = offsets_of(n_each)
    for several in np.flatnonzero(n_each > 1).tolist():
        owners[several] = sets.number(tuple(client[starts[several] : starts[several + 1]].tolist()))
    return owners
