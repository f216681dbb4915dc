"""Queues before and after: which differ and how, for whole groups and for every client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.figures_table import words_column
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.between import Between
from rmqalloc.ownership.named_states import KnownOwners, NamedQueues
from rmqalloc.ownership.reader_sets import Keys

_CHANGE = ("moved", "new", "gone", "unowned", "double_owned", "repaired")


class ClientFlows(NamedTuple):
    """Queues that clients gain and lose of their groups, and own before and after."""

    of: Keys
    clients: Keys
    gained: Keys
    lost: Keys
    had: Keys
    has: Keys


class Compared:
    """The first two states of queues that lie beside one another."""

    def __init__(self, queues: NamedQueues, states: Sequence[KnownOwners]) -> None:
        self.queues, self._states = queues, states

    @lazy_property
    def between(self) -> Between:
        """Both states."""
        return self.queues.between()

    @lazy_property
    def rows(self) -> Keys:
        """Queues that differ: in who owns them, or that are there on one side alone."""
        return np.flatnonzero(self.between.before != self.between.after)

    def change(self) -> pa.Array:
        """Return what became of every queue that differs.

        "new" and "gone" are there on one side alone. Of the others, "unowned" is a queue that had
        an owner and has none, "double_owned" one that has several and had not, "repaired" one that
        has one owner and had none or several; "moved" is any other.
        """
        both = self.between.some(self.rows)
        had, has = both.sets.sizes(both.before), both.sets.sizes(both.after)
        ways = [(both.is_new, 1), (~both.is_, 2), (has == 0, 3), ((has > 1) & (had < 2), 4)]
        ways.append(((has == 1) & (had != 1), 5))
        codes = np.select([where for where, _ in ways], [code for _, code in ways], 0)
        return words_column(_CHANGE, codes)

    def figures(self) -> dict[str, Keys]:
        """Return counts of every group, by the names of `rmqalloc.plans.diffs.Diff.groups`."""
        count, both = self.queues.counted, self.between
        had, has = both.sets.sizes(both.before), both.sets.sizes(both.after)
        return {
            "queues_before": count(both.was),
            "queues_after": count(both.is_),
            "moved": count(both.moved),
            "new": count(both.is_new),
            "gone": count(both.was & ~both.is_),
            "unowned_before": count(both.was & (had == 0)),
            "unowned_after": count(both.is_ & (has == 0)),
            "double_owned_before": self._double_owned(0),
            "double_owned_after": self._double_owned(1),
            "repaired": count(both.moved & (has == 1) & (had != 1)),
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
        """Return queues of its group that every client gains, loses and owns."""
        n_ids, both = max(len(self.queues.client_ids), 1), self.between
        flows = both.flows(self.queues.group, n_ids)
        keys = flows.of * n_ids + flows.clients
        counts = []
        for owners in (both.before, both.after):
            places, clients = both.sets.readers(owners)
            owned, n_owned = np.unique(
                self.queues.group[places] * n_ids + clients, return_counts=True
            )
            at = np.searchsorted(owned, keys)
            counts.append(np.where(np.append(owned, -1)[at] == keys, np.append(n_owned, 0)[at], 0))
        return ClientFlows(*flows, *counts)
