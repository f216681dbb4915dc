"""Names of several tables as numbers, so that rows of one can be counted for rows of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.fleet.columns import among
from rmqalloc.invariants._ledger import Keys, Mask


class Names:
    """Distinct names of columns, numbered.

    Examples
    --------
    >>> Names(pa.array(["a", "b"])).of(pa.array(["b", None, "c"])).tolist()
    [1, -1, -1]
    """

    def __init__(self, *columns: Any) -> None:
        found = pc.unique(pa.chunked_array([pc.unique(one) for one in columns], pa.string())).drop_null()
        self._words = found

    def __len__(self) -> int:
        return len(self._words)

    def of(self, column: Any) -> Keys:
        """Numbers of names, -1 for null and for a name that is none of these."""
        found = pc.fill_null(pc.index_in(column, self._words), -1)
        numbers: Keys = found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy()
        return numbers.astype(np.int64)


class Places:
    """CheckedRows by their keys, which may be in any order."""

    def __init__(self, keys: Keys) -> None:
        self.n = keys.size
        in_order = bool((keys[1:] >= keys[:-1]).all())
        self._order = np.arange(keys.size) if in_order else np.argsort(keys, kind="stable")
        self._keys = keys if in_order else keys[self._order]

    def of(self, keys: Keys) -> Keys:
        """The row of every key, -1 where there is none."""
        if not self.n or not keys.size:
            return np.full(keys.size, -1, np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), self.n - 1)
        found: Keys = np.where(self._keys[at] == keys, self._order[at], -1)
        return found

    def count(self, rows: Keys, weights: Keys | Mask | None = None) -> Keys:
        """How many of some rows are each, or the sums of their weights; -1 is none."""
        there = rows >= 0
        if not there.all():
            rows, weights = rows[there], None if weights is None else weights[there]
        if weights is not None and weights.dtype == bool:
            rows, weights = rows[weights], None
        found = np.bincount(rows, None if weights is None else weights, self.n)
        return found.astype(np.int64)


def joined(*numbers: tuple[Keys, int]) -> Keys:
    """Numbers of several columns as one, each with how many names the column has; -1 where any is."""
    key, bad = numbers[0][0], numbers[0][0] < 0
    for more, size in numbers[1:]:
        key, bad = key * size + more, bad | (more < 0)
    return np.where(bad, -1, key)


class QueueReaders(NamedTuple):
    """Pairs of a queue's row and a client that reads it.

    Attributes
    ----------
    rows, clients : ndarray of int64
    """

    rows: Keys
    clients: Keys

    def without(self, other: QueueReaders, n_clients: int) -> QueueReaders:
        """Pairs that another set of pairs does not have."""
        mine, theirs = (one.rows * n_clients + one.clients for one in (self, other))
        alone = ~among(mine, theirs)
        return QueueReaders(self.rows[alone], self.clients[alone])


def readers_of(table: pa.Table, when: str, names: Names, which: Mask | None = None) -> QueueReaders:
    """Who reads queues "before" or "after", of all rows or of some."""
    rows = np.arange(table.num_rows) if which is None else np.flatnonzero(which)
    some = table.select([f"owner_{when}", f"others_{when}"])
    if which is not None:
        some = some.filter(pa.array(which))
    owners, others = some[f"owner_{when}"], some[f"others_{when}"]
    first = names.of(owners)
    there = pc.is_valid(owners).to_numpy()
    found = QueueReaders(rows[there], first[there])
    if others.null_count == len(others):
        return found
    lists = pa.concat_arrays(others.chunks) if others.num_chunks != 1 else others.chunk(0)
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    more = names.of(pc.list_flatten(lists))
    return QueueReaders(np.append(found.rows, rows[parents]), np.append(found.clients, more))


def client_names(tables: Sequence[pa.Table], queues: pa.Table) -> Names:
    """Names of the clients of tables and of the owners of queues."""
    others = [pc.list_flatten(queues[f"others_{when}"]) for when in ("before", "after")]
    owners = [queues[f"owner_{when}"] for when in ("before", "after")]
    return Names(*(one["client_id"] for one in tables), *owners, *others)
