"""Two states beside one another: every queue with who reads it in both, every client with what it
gains and loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index, among
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.reader_sets import ABSENT, Keys, Mask, Numbers, Readers, ReaderSets
from rmqalloc.ownership.states import ClientRows, State


def merged(columns: Sequence[Keys]) -> tuple[Keys, list[Keys]]:
    """Return the distinct keys of some columns, ascending, and the position there of every key of
    each column.

    Examples
    --------
    >>> keys, places = merged([np.array([2, 5, 7]), np.array([1, 5])])
    >>> keys.tolist(), [one.tolist() for one in places]
    ([1, 2, 5, 7], [[1, 2, 3], [0, 2]])
    """
    keys = np.concatenate(columns)
    order = np.argsort(
        keys, kind="stable"
    )  # columns are runs in order, or few such, which a stable sort merges
    keys = keys[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[: keys.size]
    places = np.empty(keys.size, np.int64)
    places[order] = np.cumsum(is_first) - 1
    return keys[is_first], np.split(places, np.cumsum([one.size for one in columns])[:-1])


def aligned(states: Sequence[tuple[Keys, Sequence[Index]]]) -> tuple[Keys, list[NDArray[np.int32]]]:
    """Align the queues of several states by their keys.

    Examples
    --------
    >>> _, [owners] = aligned([(np.array([1, 2]), [np.array([7, -1])]), (np.array([2, 3]), [np.array([7, 8])])])
    >>> owners.tolist()
    [[7, -1, -2], [-2, 7, 8]]
    """
    first, *others = (keys for keys, _ in states)
    if all(np.array_equal(first, one) for one in others) and bool((first[1:] > first[:-1]).all()):
        return first, [
            np.stack(each) for each in zip(*(columns for _, columns in states), strict=True)
        ]
    keys, places = merged([first, *others])
    found = []
    for each in zip(*(columns for _, columns in states), strict=True):
        column = np.full((len(states), keys.size), ABSENT, np.int32)
        for number, (place, readers) in enumerate(zip(places, each, strict=True)):
            column[number, place] = readers
        found.append(column)
    return keys, found


@dataclass(frozen=True, eq=False)
class Between:
    """Every queue of either state."""

    keys: Keys  # which queues, ascending
    # Number of the client id that reads each, or of a set of several; -1 for nobody, -2 where the
    # queue is not there
    before: Index
    after: Index
    # The same of clients, of which several may have one id
    readers_before: Index
    readers_after: Index
    sets: ReaderSets

    @lazy_property
    def was(self) -> Mask:
        """Whether the queue is there before."""
        there: Mask = self.before != ABSENT
        return there

    @lazy_property
    def is_(self) -> Mask:
        """Whether the queue is there after."""
        there: Mask = self.after != ABSENT
        return there

    @lazy_property
    def moved(self) -> Mask:
        """Queues of both states whose owner changes, as `rmqalloc.evaluation.movement.Movement`
        counts them.
        """
        moved: Mask = self.was & self.is_ & (self.before != self.after)
        return moved

    @lazy_property
    def is_new(self) -> Mask:
        """Queues that are there after alone."""
        new: Mask = self.is_ & ~self.was
        return new

    def some(self, places: Keys) -> Between:
        """Return some of the entries."""
        names = ("keys", "before", "after", "readers_before", "readers_after")
        return replace(self, **{name: getattr(self, name)[places] for name in names})

    @lazy_property
    def lost_and_gained(self) -> tuple[Readers, Readers]:
        """Who reads a queue before and not after, and who does after and not before, by client ids."""
        differs = np.flatnonzero(self.before != self.after)
        before, after = (
            self.sets.readers(self.before[differs]),
            self.sets.readers(self.after[differs]),
        )
        if len(self.sets):
            stride = 1 + max(int(one.clients.max(initial=0)) for one in (before, after))
            had, has = (one.places * stride + one.clients for one in (before, after))
            before, after = (
                Readers(one.places[alone], one.clients[alone])
                for one, alone in ((before, ~among(had, has)), (after, ~among(has, had)))
            )
        return Readers(differs[before.places], before.clients), Readers(
            differs[after.places], after.clients
        )

    def flows(self, of: Keys, n_clients: int) -> Flows:
        """Count what clients gain and lose of the queues of each thing in ``of``."""
        lost, gained = (of[one.places] * n_clients + one.clients for one in self.lost_and_gained)
        keys, (of_lost, of_gained) = merged([lost, gained])
        counts = (np.bincount(one, minlength=keys.size) for one in (of_gained, of_lost))
        return Flows(*np.divmod(keys, n_clients), *counts)


class Flows(NamedTuple):
    """Queues that clients gain and lose, one entry for each that does, in order."""

    # What the queues belong to, and the number of the client's id
    of: Keys
    clients: Keys
    # Queues
    gained: Keys
    lost: Keys

    def added(self, into: Keys, n_clients: int) -> Flows:
        """Sum the flows of things, given the thing that each belongs to.

        Examples
        --------
        >>> flows = Flows(*np.array([[0, 1, 1], [7, 7, 8], [2, 1, 0], [0, 3, 1]]))
        >>> [column.tolist() for column in flows.added(np.array([4, 4]), 10)]
        [[4, 4], [7, 8], [3, 0], [3, 1]]
        """
        keys, [place] = merged([into[self.of] * n_clients + self.clients])
        sums = (
            np.bincount(place, one, keys.size).astype(np.int64) for one in (self.gained, self.lost)
        )
        return Flows(*np.divmod(keys, n_clients), *sums)


class Clients(NamedTuple):
    """Every client of either state of each unit, in order; an id that repeats in a unit once."""

    # The unit's row and the number of the client's id
    rows: Keys
    clients: Keys
    # Queues
    before: Keys
    after: Keys
    gained: Keys
    lost: Keys
    # Whether the client is there before, and after
    was: Mask
    is_: Mask
    rooms: Index  # number of its machine room, -1 where not known


def queues_between(before: State, after: State, numbers: Numbers) -> Between:
    """Align the queues of two states, of units that could be assigned after."""
    good = before.known & after.good
    states = []
    for state in (before, after):
        mine = (
            slice(None)
            if np.array_equal(good, state.known)
            else good[numbers.rows_of(state.queues)]
        )
        columns = (
            (state.owners,) if state.readers is state.owners else (state.owners, state.readers)
        )
        states.append((state.queues[mine], [one[mine] for one in columns]))
    keys, (owners, *readers) = aligned(states)
    reads = readers[0] if readers else owners
    return Between(keys, owners[0], owners[1], reads[0], reads[1], numbers.sets)


def clients_between(before: State, after: State, flows: Flows, numbers: Numbers) -> Clients:
    """Align the clients of two states, of units that could be assigned after, given their flows by
    unit.
    """
    good, n_clients = before.known & after.good, max(len(numbers.clients), 1)
    sides = [rows.some(good[rows.rows]) for rows in (before.client_rows, after.client_rows)]
    slots = [rows.rows * n_clients + rows.clients for rows in sides]
    keys, places = merged(slots)
    there = np.zeros((2, keys.size), bool)
    for number, place in enumerate(places):
        there[number, place] = True
    had, has = (
        np.bincount(place, side.loads, keys.size).astype(np.int64)
        for place, side in zip(places, sides, strict=True)
    )
    gained, lost = np.zeros((2, keys.size), np.int64)
    at = np.searchsorted(keys, flows.of * n_clients + flows.clients)
    gained[at], lost[at] = flows.gained, flows.lost
    rooms = _rooms(sides, places, keys.size)
    return Clients(*np.divmod(keys, n_clients), had, has, gained, lost, there[0], there[1], rooms)


def _rooms(sides: Sequence[ClientRows], places: Sequence[Keys], n: int) -> Index:
    """Return the machine rooms of clients; where both states know one, that before."""
    rooms = np.full(n, -1, np.int32)
    for side, place in zip(reversed(sides), reversed(places), strict=True):
        rooms[place[side.rooms >= 0]] = side.rooms[side.rooms >= 0]
    return rooms
