"""Queues that pass from one client to another in a step, and the sets of informed clients in which
they have no reader or two readers.

A client that will be informed of the step reads its old queues until then and its new queues
afterwards. A client that leaves reads nothing. A client that is neither informed nor leaves (a
client that keeps its strategy while the strategy of other clients changes) reads the same queues
before and after. Every queue that can be open belongs to one of four kinds: it is open always,
while a certain client is informed, while a certain client is not informed, or while one client is
informed and another client is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.ownership.transitions._worst_moment import Graphs

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Handovers(NamedTuple):
    """Queues of steps, and their readers; a row is a step of a group, or of one topic of it."""

    # Shape (n_rows + 1,): Clients to inform of each row; with ``n_staying`` those alone that read a
    # queue which changes its reader, unless the row needs one
    offsets: Positions
    informee: Positions  # of the clients of all rows laid end to end: its index among the clients to inform, if it is one
    row: Positions  # shape (n_queues,): row of every queue
    # Shape (n_queues,): Who reads it before and after the step, as positions in ``informee``; -1
    # for nobody, or a client that leaves
    old: Positions
    new: Positions
    # Shape (n_queues,): Whether that client is informed of the step
    inform_old: Mask
    inform_new: Mask
    written: Mask  # shape (n_queues,): whether producers write to the queue
    needs_one: (
        Mask  # shape (n_rows,): whether the step begins with the first client that is informed
    )
    joins: Mask  # shape (n_informees,): clients to inform that join in the step: they know of it from the start
    # Shape (n_rows,): Number of all clients to inform that do not join; by default those of
    # ``offsets`` are all
    n_staying: Positions | None = None

    def unowned(self, counted: Mask | None = None) -> OpenQueues:
        """Return the queues without a reader: the old reader is informed or gone, and the new
        reader is not informed or missing.

        A reader that need not be informed reads it throughout.
        """
        every = np.ones(self.row.size, bool) if counted is None else counted
        had, has = self.old >= 0, self.new >= 0
        mine = every & (~had | self.inform_old) & (~has | self.inform_new)
        return OpenQueues.of(
            self,
            mine & ~had & ~has,
            mine & had & ~has,
            mine & ~had & has,
            mine & had & has,
            self.old,
            self.new,
        )

    def double_owned(self, counted: Mask | None = None) -> OpenQueues:
        """Return the queues with two readers: the new reader is informed or need not be, and the
        old reader is not informed or need not be.
        """
        both = (self.old >= 0) & (self.new >= 0)
        both = both if counted is None else both & counted
        late, early = both & self.inform_old, both & ~self.inform_old
        new = self.inform_new
        return OpenQueues.of(
            self, early & ~new, early & new, late & ~new, late & new, self.new, self.old
        )


class OpenQueues(NamedTuple):
    """Queues that can be open, by kind."""

    handovers: Handovers
    always: Positions  # rows of queues that are open whoever is informed
    # Clients to inform, by each queue that is open while this one is informed, or is not
    informed: Positions
    uninformed: Positions
    # The same by each queue that is open while the tail is informed and the head is not
    tail: Positions
    head: Positions

    @classmethod
    def of(
        cls,
        h: Handovers,
        always: Mask,
        informed: Mask,
        uninformed: Mask,
        passed: Mask,
        first: Positions,
        then: Positions,
    ) -> OpenQueues:
        """Collect queues by masks: open once ``first`` is informed, until ``then`` is; a reader
        that stays opens nothing.
        """
        differs = first != then
        passed = passed & differs
        return cls(
            h,
            h.row[always & (differs | (first < 0))],
            h.informee[first[informed & differs]],
            h.informee[then[uninformed & differs]],
            h.informee[first[passed]],
            h.informee[then[passed]],
        )

    def graphs(self) -> Graphs:
        """Return the terms of the worst moment."""
        h = self.handovers
        n = int(h.offsets[-1])
        pairs, weight = np.unique(self.tail * max(n, 1) + self.head, return_counts=True)
        const = np.bincount(self.always, minlength=h.needs_one.size).astype(np.int64)
        by_informed, by_uninformed = (
            np.bincount(some, minlength=n).astype(np.int64)
            for some in (self.informed, self.uninformed)
        )
        return Graphs(
            h.offsets,
            const,
            by_informed,
            by_uninformed,
            *np.divmod(pairs, max(n, 1)),
            weight.astype(np.int64),
        )
