"""Compare two states: every queue with its readers in both, every client with its gains and losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.fleet.columns import Index, among
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.reader_sets import ABSENT, Keys, Mask, Numbers, Readers, ReaderSets
from rmqalloc.ownership.states import ClientRows, State


def merged(columns: Sequence[Keys]) -> tuple[Keys, list[Keys]]:
    """Merge columns of keys: return the distinct keys, ascending, and for each column the
    positions of its keys among them.

    Examples
    --------
    >>> keys, places = merged([np.array([2, 5, 7]), np.array([1, 5])])
    >>> keys.tolist(), [column.tolist() for column in places]
    ([1, 2, 5, 7], [[1, 2, 3], [0, 2]])
    """
    keys = np.concatenate(columns)
    # Columns are runs in order, or few such, which a stable sort merges.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[: keys.size]
    places = np.empty(keys.size, np.int64)
    places[order] = np.cumsum(is_first) - 1
    cuts = np.cumsum([column.size for column in columns])[:-1]
    return keys[is_first], np.split(places, cuts)


def aligned(states: Sequence[tuple[Keys, Sequence[Index]]]) -> tuple[Keys, list[NDArray[np.int32]]]:
    """Align the queues of several states by their keys.

    Examples
    --------
    >>> _, [owners] = aligned([(np.array([1, 2]), [np.array([7, -1])]), (np.array([2, 3]), [np.array([7, 8])])])
    >>> owners.tolist()
    [[7, -1, -2], [-2, 7, 8]]
    """
    keys_of_states, columns_of_states = zip(*states, strict=True)
    columns = list(zip(*columns_of_states, strict=True))
    first = keys_of_states[0]
    have_equal_keys = all(np.array_equal(first, keys) for keys in keys_of_states[1:])
    if have_equal_keys and bool((first[1:] > first[:-1]).all()):
        return first, [np.stack(column) for column in columns]
    keys, places = merged(keys_of_states)
    found = []
    for column in columns:
        readers = np.full((len(states), keys.size), ABSENT, np.int32)
        for number, place in enumerate(places):
            readers[number, place] = column[number]
        found.append(readers)
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
        """True if the queue exists before."""
        there: Mask = self.before != ABSENT
        return there

    @lazy_property
    def is_(self) -> Mask:
        """True if the queue exists after."""
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
        """Queues that exist only after."""
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
        before = self.sets.readers(self.before[differs])
        after = self.sets.readers(self.after[differs])
        if len(self.sets):
            stride = 1 + max(int(side.clients.max(initial=0)) for side in (before, after))
            had = before.places * stride + before.clients
            has = after.places * stride + after.clients
            before, after = before.some(~among(had, has)), after.some(~among(has, had))
        lost = Readers(differs[before.places], before.clients)
        gained = Readers(differs[after.places], after.clients)
        return lost, gained

    def flows(self, of: Keys, n_clients: int) -> Flows:
        """Count what clients gain and lose of the queues of each thing in ``of``."""
        sides = [of[side.places] * n_clients + side.clients for side in self.lost_and_gained]
        keys, (lost, gained) = merged(sides)
        things, clients = np.divmod(keys, n_clients)
        n_lost = np.bincount(lost, minlength=keys.size)
        n_gained = np.bincount(gained, minlength=keys.size)
        return Flows(things, clients, n_gained, n_lost)


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
        things, clients = np.divmod(keys, n_clients)
        gained = np.bincount(place, self.gained, keys.size).astype(np.int64)
        lost = np.bincount(place, self.lost, keys.size).astype(np.int64)
        return Flows(things, clients, gained, lost)


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
        columns: Sequence[Index] = (
            (state.owners,) if state.readers is state.owners else (state.owners, state.readers)
        )
        queues = state.queues
        if not np.array_equal(good, state.known):
            chosen = good[numbers.rows_of(queues)]
            queues, columns = queues[chosen], [column[chosen] for column in columns]
        states.append((queues, columns))
    keys, (owners, *further) = aligned(states)
    readers = further[0] if further else owners
    return Between(
        keys,
        before=owners[0],
        after=owners[1],
        readers_before=readers[0],
        readers_after=readers[1],
        sets=numbers.sets,
    )


def clients_between(before: State, after: State, flows: Flows, numbers: Numbers) -> Clients:
    """Align the clients of two states, of units that could be assigned after, given their flows by
    unit.
    """
    good = before.known & after.good
    n_clients = max(len(numbers.clients), 1)
    sides = [rows.some(good[rows.rows]) for rows in (before.client_rows, after.client_rows)]
    slots = [rows.rows * n_clients + rows.clients for rows in sides]
    keys, places = merged(slots)
    there = np.zeros((2, keys.size), bool)
    n_queues = np.zeros((2, keys.size), np.int64)
    for number, (place, side) in enumerate(zip(places, sides, strict=True)):
        there[number, place] = True
        n_queues[number] = np.bincount(place, side.loads, keys.size)
    gained, lost = np.zeros((2, keys.size), np.int64)
    at = np.searchsorted(keys, flows.of * n_clients + flows.clients)
    gained[at], lost[at] = flows.gained, flows.lost
    rows, clients = np.divmod(keys, n_clients)
    return Clients(
        rows,
        clients,
        before=n_queues[0],
        after=n_queues[1],
        gained=gained,
        lost=lost,
        was=there[0],
        is_=there[1],
        rooms=_rooms(sides, places, keys.size),
    )


def _rooms(sides: Sequence[ClientRows], places: Sequence[Keys], n: int) -> Index:
    """Return the machine rooms of clients; where both states know one, that before."""
    rooms = np.full(n, -1, np.int32)
    for side, place in zip(reversed(sides), reversed(places), strict=True):
        is_known = side.rooms >= 0
        rooms[place[is_known]] = side.rooms[is_known]
    return rooms
