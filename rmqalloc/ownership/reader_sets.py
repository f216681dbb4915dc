"""Number the readers of queues, of which a queue may have several: sets of clients are numbered
behind all clients.

Two queues have equal numbers exactly if the same clients read them, whether one or several.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index, Strings, offsets_of, ranges

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]

ABSENT, NOBODY = -2, -1
"""In place of a reader's number: the queue is not there; nobody reads it."""


class Readers(NamedTuple):
    """Every client that reads a queue, of some queues."""

    places: Keys  # places of the queues, ascending
    clients: Keys  # numbers of the clients


class ReaderSets:
    """Numbers for sets of several clients.

    Examples
    --------
    The third queue is read by two clients, the second by nobody:

    >>> sets = ReaderSets(3)
    >>> owners = [sets.number(readers) for readers in ({1}, set(), {2, 0})]
    >>> owners, sets.number({1, 2}), sets.number({0, 2}), sets.members(3)
    ([1, -1, 3], 4, 3, (0, 2))
    >>> sets.readers(np.array(owners))
    Readers(places=array([0, 2, 2]), clients=array([1, 0, 2]))
    """

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self._numbers: dict[tuple[int, ...], int] = {}
        self._members: list[tuple[int, ...]] = []
        self._laid: tuple[Keys, Keys] = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._members)

    def number(self, readers: Set[int]) -> int:
        """Return the number of a queue's readers; `NOBODY` if there are none."""
        if len(readers) < 2:
            return next(iter(readers), NOBODY)
        members = tuple(sorted(readers))
        if members not in self._numbers:
            self._numbers[members] = self._n_clients + len(self._members)
            self._members.append(members)
        return self._numbers[members]

    def members(self, number: int) -> tuple[int, ...]:
        """Return the readers that have a number, ascending."""
        if number < 0:
            return ()
        in_set = number - self._n_clients
        return (number,) if in_set < 0 else self._members[in_set]

    def _laid_out(self) -> tuple[Keys, Keys]:
        """Return the sizes of all sets, and their members end to end; kept until a set is added."""
        if self._laid[0].size != len(self._members):
            sizes = np.array(list(map(len, self._members)), np.int64)
            self._laid = sizes, np.fromiter(chain.from_iterable(self._members), np.int64)
        return self._laid

    def sizes(self, owners: Index) -> Keys:
        """Count the clients that read each queue."""
        found: Keys = (owners >= 0).astype(np.int64)
        if self._members:
            in_set = owners >= self._n_clients
            found[in_set] = self._laid_out()[0][owners[in_set] - self._n_clients]
        return found

    def readers(self, owners: Index) -> Readers:
        """Return the clients that read each queue."""
        places = np.flatnonzero(owners >= 0)
        clients = owners[places].astype(np.int64)
        if not self._members:
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
        """Return the first reader of every queue, and the others where there are several.

        Examples
        --------
        >>> sets = ReaderSets(3)
        >>> owners = sets.of_pairs(np.array([1, 2, 2]), np.array([1, 0, 2]), 3)
        >>> [column.to_pylist() for column in sets.names(owners, pa.array(["a", "b", "c"]))]
        [[None, 'b', 'a'], [None, None, ['c']]]
        """
        is_set = (
            np.flatnonzero(owners >= self._n_clients) if self._members else np.zeros(0, np.int64)
        )
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
                pa.array(offsets_of(sizes).astype(np.int32)),
                ids.take(pa.array(rest)),
                mask=pa.array(sizes == 0),
            )
        return ids.take(pa.array(first, mask=first < 0)), others


class ClientNumbers:
    """Clients by their id and by how often the id comes before in their client list.

    The first of an id has the number of the id, further ones have numbers behind all ids.

    Attributes
    ----------
    n_ids, n : int
        How many ids and how many clients there are.
    ids : ndarray of int64
        Number of each client's id.

    Examples
    --------
    >>> members = ClientNumbers(np.array([1, 3, 2]))
    >>> members.of(np.array([1, 1, 1, 2]), np.array([0, 1, 2, 1])).tolist(), members.ids.tolist()
    ([1, 3, 4, 5], [0, 1, 2, 1, 1, 2])
    """

    def __init__(self, n_listed: Keys) -> None:
        further = np.maximum(n_listed - 1, 0)
        self.n_ids = n_listed.size
        self.ids: Keys = np.append(np.arange(self.n_ids), np.repeat(np.arange(self.n_ids), further))
        self.n = self.ids.size
        self._starts: Keys = self.n_ids + np.cumsum(further) - further

    def of(self, ids: Keys, repeats: Keys) -> Keys:
        """Return the numbers of clients."""
        if self.n == self.n_ids:
            return ids
        found: Keys = np.where(repeats > 0, self._starts[ids] + repeats - 1, ids)
        return found


class Numbers(NamedTuple):
    """What the numbers of states stand for, in Java's order."""

    brokers: list[str]
    rooms: list[str]
    clients: Strings  # client ids
    n_queue_ids: int  # one more than the greatest queue id
    client_numbers: ClientNumbers  # clients by their ids
    sets: ReaderSets  # sets of several readers, whose numbers are behind those of clients
    n_units: int  # rows that are units; further views of mixed units are behind them
    is_mixed: NDArray[np.bool_]  # by row, whether it is a view of a mixed unit

    @property
    def stride(self) -> int:
        """How many keys of queues a row has."""
        return max(len(self.brokers), 1) * self.n_queue_ids

    def queue_key(self, rows: NDArray[Any], brokers: NDArray[Any], queue_ids: NDArray[Any]) -> Keys:
        """Number queues in order: by unit, and in a unit as Java orders them."""
        key: Keys = (
            np.asarray(rows, np.int64) * len(self.brokers) + brokers
        ) * self.n_queue_ids + queue_ids
        return key

    def rows_of(self, keys: Keys) -> Keys:
        """Return the rows of the units that queues belong to."""
        rows: Keys = keys // self.stride
        return rows
