"""Number the readers of queues, of which a queue may have several: sets of clients are numbered
behind all clients.

Two queues have equal numbers exactly if the same clients read them, whether one or several.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index, Strings, offsets_of, ranges
from rmqalloc.results import compute as pc

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]

ABSENT, NOBODY = -2, -1
"""In place of a reader's number: the queue is not there; nobody reads it."""


class Readers(NamedTuple):
    """Every client that reads a queue, of some queues."""

    places: Keys  # places of the queues, ascending
    clients: Keys  # numbers of the clients

    def some(self, chosen: Mask) -> Readers:
        """Return some of the entries."""
        return Readers(self.places[chosen], self.clients[chosen])


class ReaderSets:
    """Numbers for sets of several clients.

    Examples
    --------
    The third queue is read by two clients, the second by no client:

    >>> sets = ReaderSets(3)
    >>> owners = [sets.number(readers) for readers in ([1], [], [2, 0])]
    >>> owners, sets.number([1, 2]), sets.number([0, 2]), sets.members(3)
    ([1, -1, 3], 4, 3, (0, 2))
    >>> sets.readers(np.array(owners))
    Readers(places=array([0, 2, 2]), clients=array([1, 0, 2]))
    """

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self._numbers: dict[tuple[int, ...], int] = {}
        self._members: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self._members)

    def number(self, readers: Sequence[int]) -> int:
        """Return the number of a queue's readers; `NOBODY` if there are none."""
        if len(readers) == 1:
            return readers[0]
        members = tuple(sorted(set(readers)))
        if len(members) < 2:
            return members[0] if members else NOBODY
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

    @property
    def _sizes(self) -> Keys:
        return np.array(list(map(len, self._members)), np.int64)

    def sizes(self, owners: Index) -> Keys:
        """Count the clients that read each queue."""
        found: Keys = (owners >= 0).astype(np.int64)
        in_set = owners >= self._n_clients
        found[in_set] = self._sizes[owners[in_set] - self._n_clients]
        return found

    def readers(self, owners: Index) -> Readers:
        """Return the clients that read each queue."""
        places = np.flatnonzero(owners >= 0)
        clients = owners[places].astype(np.int64)
        if not self._members:
            return Readers(places, clients)
        sizes, all_members = self._sizes, np.array([*chain(*self._members)])
        in_set = clients - self._n_clients
        is_set = in_set >= 0
        n_each = np.where(is_set, sizes[np.maximum(in_set, 0)], 1)
        of_sets = ranges(offsets_of(sizes)[in_set[is_set]], sizes[in_set[is_set]])
        found = np.repeat(clients, n_each)
        found[np.repeat(is_set, n_each)] = all_members[of_sets]
        return Readers(np.repeat(places, n_each), found)

    def names(self, owners: Index, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the first reader of every queue, and the further readers if there are several.

        Examples
        --------
        >>> sets = ReaderSets(3)
        >>> owners = np.array([sets.number(readers) for readers in ((), (1,), (2, 0))], np.int32)
        >>> [column.to_pylist() for column in sets.names(owners, pa.array(["a", "b", "c"]))]
        [[None, 'b', 'a'], [None, None, ['c']]]
        """
        is_set = owners >= self._n_clients
        numbers, at = np.unique(owners[is_set], return_inverse=True)
        sets = [self.members(number) for number in numbers.tolist()]
        first, place = owners.copy(), np.full(owners.size, -1)
        first[is_set] = np.array([members[0] for members in sets], np.int32)[at]
        place[is_set] = at
        rest = pa.array([members[1:] for members in sets], pa.list_(pa.int64()))
        others = pa.ListArray.from_arrays(rest.offsets, pc.take(ids, rest.values))
        return (
            pc.take(ids, pa.array(first, mask=first < 0)),
            pc.take(others, pa.array(place, mask=place < 0)),
        )


class ClientNumbers:
    """Clients by their id and by how often the id comes before in their client list.

    The first client of an id has the number of the id; further clients of the id have numbers
    behind all ids.

    Attributes
    ----------
    n_ids, n : int
        How many ids and how many clients there are.

    Examples
    --------
    >>> members = ClientNumbers(np.array([1, 3, 2]))
    >>> members.of(np.array([1, 1, 1, 2]), np.array([0, 1, 2, 1])).tolist()
    [1, 3, 4, 5]
    """

    def __init__(self, n_listed: Keys) -> None:
        self.n_ids, self.n = n_listed.size, int(n_listed.sum())
        self._starts: Keys = self.n_ids + np.cumsum(n_listed - 1) - n_listed

    def of(self, ids: Keys, repeats: Keys) -> Keys:
        """Return the numbers of clients, given how often each id comes before in the client list."""
        if self.n == self.n_ids:
            return ids
        found: Keys = np.where(repeats > 0, self._starts[ids] + repeats, ids)
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
