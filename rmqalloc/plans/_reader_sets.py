"""Transitions of groups in which queues may have several readers, see `rmqalloc.ownership._reader_sets`.

The graphs of `rmqalloc.transitions` know one reader before and one after. Of several one is kept there, which never counts too
few queues without a reader: a queue has none only if all that read it before are informed and none that reads it after is. What
is known better is corrected: by trying every set of informed clients where few change, and as bounds elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Index
from rmqalloc.ownership._reader_sets import Keys, ReaderSets
from rmqalloc.transitions._hearing import Hearing
from rmqalloc.transitions._open_queues import Open
from rmqalloc.transitions._subsets import MOST_CLIENTS, open_in_subsets

Mask = NDArray[np.bool_]


class QueueReaders(NamedTuple):
    """Who reads queues.

    Attributes
    ----------
    queues, clients : ndarray of int64
        A pair for every reader that is there after: position of the queue, and of the client among all that are.
    first : ndarray of int64
        The first reader of each queue, -1 for nobody.
    n : ndarray of int64
        How many there are.
    """

    queues: Keys
    clients: Keys
    first: Keys
    n: Keys

    def sets_of(self, queues: Keys) -> list[frozenset[int]]:
        """The readers of some queues, each as a set."""
        order = np.argsort(self.queues, kind="stable")
        starts = np.searchsorted(self.queues[order], queues)
        clients = self.clients[order]
        return [
            frozenset(clients[start : start + n].tolist())
            for start, n in zip(starts.tolist(), self.n[queues].tolist(), strict=True)
        ]


class ReadersInGroups:
    """The readers of queues among the clients that are in their groups after a scenario.

    Parameters
    ----------
    sets : ReaderSets
    stride : int
        Groups and clients are one number by it.
    group : ndarray of int64
        Group of every queue.
    present : ndarray of int64
        Groups and clients that are there, ascending.
    """

    def __init__(self, sets: ReaderSets, stride: int, group: Keys, present: Keys) -> None:
        self._sets, self._stride, self._group, self._present = sets, stride, group, present

    def readers_of(self, owners: Index) -> QueueReaders:
        """The readers of all queues, given the numbers of their owners."""
        queues, clients = self._sets.readers(owners)
        keys = self._group[queues] * self._stride + clients
        at = np.searchsorted(self._present, keys)
        there = np.append(self._present, -1)[at] == keys
        queues, at = queues[there], at[there]
        first = np.full(owners.size, -1, np.int64)
        first[queues[::-1]] = at[::-1]
        return QueueReaders(queues, at, first, np.bincount(queues, minlength=owners.size))

    def stays(self, old: QueueReaders, new: QueueReaders) -> Mask:
        """Queues of several readers that one reads throughout."""
        found = np.zeros(old.n.size, bool)
        if len(self._sets):
            n = max(self._present.size, 1)
            both = np.intersect1d(old.queues * n + old.clients, new.queues * n + new.clients) // n
            found[both] = True
            found &= (old.n > 1) | (new.n > 1)
        return found

    def corrected(
        self,
        found: tuple[Open, Open],
        old: QueueReaders,
        new: QueueReaders,
        written: Mask,
        joins: Mask,
        hearings: Sequence[Hearing | None],
    ) -> tuple[Open, Open]:
        """The figures of unowned and double-owned queues, put right for groups in which a queue has several readers."""
        unowned, double = (
            one._replace(**{name: column.copy() for name, column in one._asdict().items()}) for one in found
        )
        in_set = (old.n > 1) | (new.n > 1)
        order = np.argsort(self._group, kind="stable")
        for group in np.unique(self._group[in_set]).tolist():
            start, stop = np.searchsorted(self._group[order], [group, group + 1])
            mine = order[start:stop]
            hearing = hearings[group]
            longest, at_join = (np.nan, 1.0) if hearing is None else (hearing.latest, hearing.at_join)
            for one in (unowned, double):
                one.is_exact[group] = False
                one.expected[group] = one.queue_seconds[group] = np.nan
                one.seconds_worst[group] = one.seconds_p99[group] = longest
            unowned.after[group] = np.count_nonzero(written[mine] & (new.n[mine] == 0))
            double.after[group] = np.count_nonzero(new.n[mine] > 1)
            double.most[group] += np.count_nonzero(in_set[mine])
            self._try_all(group, _Kinds.of(mine, old, new, written), unowned, double, joins, at_join)
        return unowned, double

    @staticmethod
    def _try_all(group: int, kinds: _Kinds, unowned: Open, double: Open, joins: Mask, at_join: float) -> None:
        """What every set of informed clients leaves open, if few clients change."""
        if len(kinds.clients) > MOST_CLIENTS:
            return
        known = sum(1 << bit for bit, client in enumerate(kinds.clients) if joins[client])
        tried = open_in_subsets(*kinds.columns(), len(kinds.clients), known, at_join)
        unowned.most[group], unowned.expected[group] = tried.unowned, tried.unowned_expected
        double.most[group], double.expected[group] = tried.double_owned, tried.double_owned_expected
        for one in (unowned, double):
            one.is_exact[group] = True
            if not kinds.clients:
                one.seconds_worst[group] = one.seconds_p99[group] = one.queue_seconds[group] = 0.0


class _Kinds(NamedTuple):
    """Queues of a group by who reads them before and after, and whether producers write to them."""

    clients: list[int]
    counts: Counter[tuple[frozenset[int], frozenset[int], bool]]

    @classmethod
    def of(cls, queues: Keys, old: QueueReaders, new: QueueReaders, written: Mask) -> _Kinds:
        """Of some queues."""
        before, after = old.sets_of(queues), new.sets_of(queues)
        counts = Counter(zip(before, after, written[queues].tolist(), strict=True))
        changing = (was ^ is_ for was, is_, _ in counts)
        return cls(sorted(frozenset[int]().union(*changing)), counts)

    def columns(self) -> tuple[Keys, Keys, Keys, Mask]:
        """The readers of each kind as bits, how many there are of it, and whether it is written to.

        Readers that read a queue before and after are no bits: where there is one, the queue counts as read twice by any other.
        """
        bit = {client: 1 << i for i, client in enumerate(self.clients)}
        always = 1 << len(self.clients)  # two bits for readers that stay

        def bits(readers: frozenset[int], stay: frozenset[int]) -> int:
            return sum(bit[one] for one in readers - stay) + always * ((1 << min(len(stay), 2)) - 1)

        pairs = [(bits(was, was & is_), bits(is_, was & is_)) for was, is_, _ in self.counts]
        old, new = np.array(pairs, np.int64).reshape(-1, 2).T
        written = np.array([one for *_, one in self.counts], bool)
        return old, new, np.array(list(self.counts.values()), np.int64), written
