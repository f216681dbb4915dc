"""Owners of queues as numbers, where a queue may have several: sets of clients are numbered behind all clients.

What compares owners by their numbers, be it of one client or of a set, compares who reads a queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Index, offsets_of, ranges

Keys = NDArray[np.int64]


class Readers(NamedTuple):
    """Every client that reads a queue, of some queues.

    Attributes
    ----------
    places : ndarray of int64
        Places of the queues, ascending.
    clients : ndarray of int64
        Numbers of the clients.
    """

    places: Keys
    clients: Keys


class ReaderSets:
    """Numbers for sets of several clients.

    Parameters
    ----------
    n_clients : int
        How many clients have numbers.

    Examples
    --------
    >>> sets = ReaderSets(3)
    >>> sets.number((0, 2)), sets.number((1, 2)), sets.number((0, 2))
    (3, 4, 3)
    >>> sets.readers(np.array([-1, 1, 4], np.int32))
    Readers(places=array([1, 2, 2]), clients=array([1, 1, 2]))
    """

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self._numbers: dict[tuple[int, ...], int] = {}
        self._arrays: tuple[Keys, Keys] = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, members: tuple[int, ...]) -> int:
        """The number of a set, given its members in ascending order."""
        return self._numbers.setdefault(members, self._n_clients + len(self._numbers))

    def members(self, number: int) -> tuple[int, ...]:
        """Clients of the set of a number, and the client alone that has it; none of -1."""
        if number < self._n_clients:
            return () if number < 0 else (number,)
        return list(self._numbers)[number - self._n_clients]

    def _laid_out(self) -> tuple[Keys, Keys]:
        """Sizes of all sets, and their members end to end; made again when there are more sets."""
        if self._arrays[0].size != len(self._numbers):
            sizes = np.array([len(one) for one in self._numbers], np.int64)
            self._arrays = sizes, np.array([one for each in self._numbers for one in each], np.int64)
        return self._arrays

    def readers(self, owners: Index) -> Readers:
        """The clients of owners."""
        places = np.flatnonzero(owners >= 0)
        clients = owners[places].astype(np.int64)
        if not self._numbers:
            return Readers(places, clients)
        sizes, all_members = self._laid_out()
        in_set = clients - self._n_clients
        is_set = in_set >= 0
        n_each = np.where(is_set, sizes[np.maximum(in_set, 0)], 1)
        of_sets = ranges(offsets_of(sizes)[in_set[is_set]], sizes[in_set[is_set]])
        found = np.repeat(clients, n_each)
        found[np.repeat(is_set, n_each)] = all_members[of_sets]
        return Readers(np.repeat(places, n_each), found)

    def names(self, owners: Index, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The first owner of every queue, and the others where there are several.

        Parameters
        ----------
        owners : ndarray of int32
        ids : pyarrow.Array
            Client ids by number.

        Examples
        --------
        >>> sets = ReaderSets(3)
        >>> owners = np.array([-1, 1, sets.number((0, 2))], np.int32)
        >>> [column.to_pylist() for column in sets.names(owners, pa.array(["a", "b", "c"]))]
        [[None, 'b', 'a'], [None, None, ['c']]]
        """
        is_set = np.flatnonzero(owners >= self._n_clients) if self._numbers else np.zeros(0, np.int64)
        first, others = owners.copy(), pa.nulls(owners.size, pa.list_(pa.string()))
        if is_set.size:
            places, clients = self.readers(owners[is_set])
            n_each = np.bincount(places, minlength=is_set.size)
            starts = offsets_of(n_each)
            first[is_set] = clients[starts[:-1]]
            rest = np.delete(clients, starts[:-1])
            sizes = np.zeros(owners.size, np.int64)
            sizes[is_set] = n_each - 1
            others = pa.ListArray.from_arrays(
                pa.array(offsets_of(sizes).astype(np.int32)), ids.take(pa.array(rest)), mask=pa.array(sizes == 0)
            )
        return ids.take(pa.array(first, mask=first < 0)), others
