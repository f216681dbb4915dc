"""Names of several tables as numbers, so that rows of one can be counted for rows of another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from result_rules.ledger import Keys, Mask, Values
from rmqalloc.fleet.columns import among


class Names:
    """Distinct names of columns, numbered.

    Examples
    --------
    >>> Names(pa.array(["a", "b"])).of(pa.array(["b", None, "c"])).tolist()
    [1, -1, -1]
    """

    def __init__(self, *columns: Any) -> None:
        found = pc.unique(
            pa.chunked_array([pc.unique(one) for one in columns], pa.string())
        ).drop_null()
        self._words = found

    def __len__(self) -> int:
        return len(self._words)

    def of(self, column: Any) -> Keys:
        """Return the numbers of names, -1 for null and for a name that is none of these."""
        found = pc.fill_null(pc.index_in(column, self._words), -1)
        numbers: Keys = (
            found.to_numpy(zero_copy_only=False)
            if isinstance(found, pa.Array)
            else found.to_numpy()
        )
        return numbers.astype(np.int64)


class Places:
    """Rows by their keys, which may be in any order."""

    def __init__(self, keys: Keys) -> None:
        self.n = keys.size
        in_order = bool((keys[1:] >= keys[:-1]).all())
        self._order = np.arange(keys.size) if in_order else np.argsort(keys, kind="stable")
        self._keys = keys if in_order else keys[self._order]

    def of(self, keys: Keys) -> Keys:
        """Return the row of every key, -1 where there is none."""
        if not self.n or not keys.size:
            return np.full(keys.size, -1, np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), self.n - 1)
        found: Keys = np.where(self._keys[at] == keys, self._order[at], -1)
        return found

    def count(self, rows: Keys, weights: Keys | Mask | None = None) -> Keys:
        """Count how many of some rows are each, or add up their weights; -1 is none."""
        there = rows >= 0
        if not there.all():
            rows, weights = rows[there], None if weights is None else weights[there]
        if weights is not None and weights.dtype == bool:
            rows, weights = rows[weights], None
        found = np.bincount(rows, None if weights is None else weights, self.n)
        return found.astype(np.int64)


def joined(*numbers: tuple[Keys, int]) -> Keys:
    """Join numbers of several columns into one, each given with how many names its column has; -1
    where any is.
    """
    key, bad = numbers[0][0], numbers[0][0] < 0
    for more, size in numbers[1:]:
        key, bad = key * size + more, bad | (more < 0)
    return np.where(bad, -1, key)


def extremes(of: Keys, values: Values, n: int) -> tuple[Values, Values]:
    """Return the least and greatest value by the row of n that each belongs to, -1 for none; a row
    may have no value.
    """
    some, ends = of >= 0, np.finfo(np.float64) if values.dtype.kind == "f" else np.iinfo(np.int64)
    least, most = np.full(n, ends.max), np.full(n, ends.min)
    np.minimum.at(least, of[some], values[some])
    np.maximum.at(most, of[some], values[some])
    return least, most


class QueueReaders(NamedTuple):
    """Pairs of a queue's row and a client that reads it."""

    rows: Keys
    clients: Keys

    def without(self, other: QueueReaders, n_clients: int) -> QueueReaders:
        """Return the pairs that another set of pairs lacks."""
        mine, theirs = (one.rows * n_clients + one.clients for one in (self, other))
        alone = ~among(mine, theirs)
        return QueueReaders(self.rows[alone], self.clients[alone])


def readers_of(table: pa.Table, when: str, names: Names) -> QueueReaders:
    """Return who reads queues "before" or "after"."""
    owners, others = table[f"owner_{when}"], table[f"others_{when}"]
    rows = np.flatnonzero(pc.is_valid(owners).to_numpy())
    found = QueueReaders(rows, names.of(owners)[rows])
    if others.null_count == len(others):
        return found
    lists = pa.concat_arrays(others.chunks)
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return QueueReaders(
        np.append(found.rows, parents), np.append(found.clients, names.of(pc.list_flatten(lists)))
    )


def client_names(clients: pa.Table, queues: pa.Table) -> Names:
    """Return the names of the clients of a table and of the owners of queues."""
    others = [pc.list_flatten(queues[f"others_{when}"]) for when in ("before", "after")]
    owners = [queues[f"owner_{when}"] for when in ("before", "after")]
    return Names(clients["client_id"], *owners, *others)
