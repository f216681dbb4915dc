"""Queues before and after: which differ and how, for whole groups and for every client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc._lazy import lazy_property
from rmqalloc.evaluation._figures_table import words_column
from rmqalloc.fleet._columns import Index
from rmqalloc.ownership._named_states import ABSENT, AlignedQueues, KnownOwners, Mask
from rmqalloc.ownership._reader_sets import Keys

_CHANGE = ("moved", "new", "gone", "unowned", "double_owned", "repaired")


class ClientFlows(NamedTuple):
    """One entry per group and client that owns a queue on either side.

    Attributes
    ----------
    group, client : ndarray of int64
        Numbers of the names, see `AlignedQueues`.
    before, after, gained, lost : ndarray of int64
        Queues.
    """

    group: Keys
    client: Keys
    before: Keys
    after: Keys
    gained: Keys
    lost: Keys


class ComparedQueues:
    """The first two states of queues that are aligned.

    Parameters
    ----------
    queues : AlignedQueues
    states : sequence of KnownOwners
        Those two states.
    """

    def __init__(self, queues: AlignedQueues, states: Sequence[KnownOwners]) -> None:
        self.queues = queues
        self.before, self.after = queues.owners[:2]
        self.was, self.is_ = self.before != ABSENT, self.after != ABSENT
        self._states = states

    @lazy_property
    def rows(self) -> Keys:
        """Queues that differ: in who owns them, or that are there on one side alone."""
        return np.flatnonzero(self.before != self.after)

    @lazy_property
    def moved(self) -> Mask:
        """Queues of both states whose owners differ."""
        moved: Mask = self.was & self.is_ & (self.before != self.after)
        return moved

    def change(self) -> pa.Array:
        """What became of every queue that differs.

        "new" and "gone" are there on one side alone. Of the others, "unowned" is a queue that had an owner and has
        none, "double_owned" one that has several and had not, "repaired" one that has one owner and had none or
        several; "moved" is any other.
        """
        before, after = self.before[self.rows], self.after[self.rows]
        had, has = self.queues.n_owners(before), self.queues.n_owners(after)
        ways = [(before == ABSENT, 1), (after == ABSENT, 2), (has == 0, 3), ((has > 1) & (had < 2), 4)]
        ways.append(((has == 1) & (had != 1), 5))
        codes = np.select([where for where, _ in ways], [code for _, code in ways], 0)
        return words_column(_CHANGE, codes)

    def figures(self) -> dict[str, Keys]:
        """Counts of every group, by the names of `rmqalloc.diffs.Diff.groups`."""
        count = self.queues.counted
        had, has = (self.queues.n_owners(owners) for owners in (self.before, self.after))
        return {
            "queues_before": count(self.was),
            "queues_after": count(self.is_),
            "moved": count(self.moved),
            "new": count(self.is_ & ~self.was),
            "gone": count(self.was & ~self.is_),
            "unowned_before": count(self.was & (had == 0)),
            "unowned_after": count(self.is_ & (has == 0)),
            "double_owned_before": self._double_owned(0),
            "double_owned_after": self._double_owned(1),
            "repaired": count(self.moved & (has == 1) & (had != 1)),
        }

    def _double_owned(self, number: int) -> Keys:
        totals: Counter[str] = Counter()
        for (group, _), n in self._states[number].double_owned.items():
            totals[group] += n
        found = np.zeros(len(self.queues.groups), np.int64)
        for group, n in totals.items():
            found[self.queues.group_numbers[group]] = n
        return found

    def clients(self) -> ClientFlows:
        """What every client has on both sides, and what it gains and loses."""
        old, now = self._pairs(self.before), self._pairs(self.after)
        gone, new = np.setdiff1d(old, now, assume_unique=True), np.setdiff1d(now, old, assume_unique=True)
        n_ids = max(len(self.queues.client_ids), 1)
        columns = []
        for some in (old, now, new, gone):
            queue, client = np.divmod(some, n_ids)
            columns.append(self.queues.group[queue] * n_ids + client)
        keys, place = np.unique(np.concatenate(columns), return_inverse=True)
        parts = np.split(place, np.cumsum([column.size for column in columns])[:-1])
        return ClientFlows(*np.divmod(keys, n_ids), *(np.bincount(part, minlength=keys.size) for part in parts))

    def _pairs(self, owners: Index) -> Keys:
        """Queues and their owners, a number for each pair."""
        readers = self.queues.sets.readers(owners)
        found: Keys = readers.places * max(len(self.queues.client_ids), 1) + readers.clients
        return found
