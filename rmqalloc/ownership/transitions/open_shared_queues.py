"""What is open while steps last in groups where a queue may have many readers: corrections of the
graphs.

The graphs of `rmqalloc.ownership.transitions` know one reader before a step and one after. Of several one is
kept there: too few queues without a reader are never counted so. The most is known by trying every
set of informed clients where few change, and is a bound elsewhere. All else follows from how many
clients give a queue up, take it up, and read it throughout.

An informed client reads what it reads after the step, any other what it reads before. So with the
readers of a queue as bits, the readers with the set S informed are ``old & ~S | new & S``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import distinct
from rmqalloc.ownership.transitions._chances import (
    OpenSeconds,
    ReaderCounts,
    expected_by_chance,
    expected_by_number,
    open_seconds,
)
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay
from rmqalloc.ownership.transitions.open_queues import Open

Clients = NDArray[np.int64]
Mask = NDArray[np.bool_]
Bits = NDArray[np.int64]

MOST_CLIENTS = 12
"""Clients up to which every set is tried."""


class ReadersOfStep(NamedTuple):
    """Who reads the queues of a step."""

    # Shape (n, n_queues): Readers before and after it, as positions in the group; -1 for nobody. A
    # client that leaves reads nothing before.
    old: Clients
    new: Clients
    written: Mask  # shape (n_queues,): whether producers write to the queue
    # Shape (n_clients,): Clients that are informed of the step, and those of them that join
    to_inform: Mask
    joins: Mask
    begins_with_one: bool  # whether the step begins when the first of them is informed
    hearing: NotificationDelay | None  # how they are informed
    shared: Mask | None = None  # shape (n_queues,): queues that several clients may read


def correct_row(row: int, step: ReadersOfStep, unowned: Mapping[str, Open], double: Open) -> None:
    """Correct the figures of one row."""
    kinds = _Kinds.of(step)
    counted = {
        "unowned": np.ones(kinds.written.size, bool),
        "unowned_written": kinds.written,
        "unowned_dry": ~kinds.written,
    }
    several = _Figure(None, 0.0, 0, None)
    for name, figures in unowned.items():
        none, several = _figures(step, kinds, counted[name])
        _put(figures, row, none)
    if several.most is None:
        many = ((kinds.old >= 0).sum(axis=0) > 1) | ((kinds.new >= 0).sum(axis=0) > 1)
        double.most[row] += kinds.owned[many].sum()
    _put(double, row, several)


class _Kinds(NamedTuple):
    """Queues by who reads them before and after, and whether producers write to them."""

    old: Clients
    new: Clients
    written: Mask
    counts: Clients
    owned: Clients  # those of them that one client alone may read
    stays: Mask  # of the readers before, those that read it after, too
    comes: Mask  # of the readers after, those that did not before

    @classmethod
    def of(cls, step: ReadersOfStep) -> _Kinds:
        shared = np.zeros_like(step.written) if step.shared is None else step.shared
        readers = [np.sort(step.old, axis=0), np.sort(step.new, axis=0)]
        rows = np.concatenate([*readers, step.written[None], shared[None]])
        kinds, counts = np.unique(rows, axis=1, return_counts=True)
        old, new = kinds[: len(step.old)], kinds[len(step.old) : -2]
        same = (old[:, None] == new[None]) & (old >= 0)[:, None]
        return cls(
            old=old,
            new=new,
            written=kinds[-2] > 0,
            counts=counts.astype(np.int64),
            owned=np.where(kinds[-1] > 0, 0, counts),
            stays=same.any(axis=1),
            comes=(new >= 0) & ~same.any(axis=0),
        )

    @property
    def goes(self) -> Mask:
        """Of the readers before, those that do not read it after."""
        gone: Mask = (self.old >= 0) & ~self.stays
        return gone

    @property
    def changing(self) -> Clients:
        """Clients that read some queue before or after, and not both."""
        return distinct(np.append(self.old[self.goes], self.new[self.comes]))

    def bits(self) -> tuple[Clients, Clients]:
        """Return the changing readers before and after as bits; two further bits stand for one, or
        several, other readers.
        """
        changing = self.changing
        always = ((1 << np.minimum(self.stays.sum(axis=0), 2)) - 1) << changing.size

        def bits_of(readers: Clients, moves: Mask) -> Clients:
            places = np.searchsorted(changing, np.where(moves, readers, 0))
            bits: Clients = np.where(moves, 1 << places, 0).sum(axis=0) + always
            return bits

        return bits_of(self.old, self.goes), bits_of(self.new, self.comes)

    def reader_counts(self, mask: Mask, joins: Mask) -> ReaderCounts:
        """Count the readers that change or stay; queues of a mask count if nobody reads them."""
        joining = self.comes & np.append(joins, False)[self.new]
        counts = ReaderCounts(
            gives_up=self.goes.sum(axis=0),
            takes_up=(self.comes & ~joining).sum(axis=0),
            joins=joining.sum(axis=0),
            stays=self.stays.sum(axis=0),
            unowned=np.where(mask, self.counts, 0),
            double_owned=self.owned,
        )
        return counts.distinct()


class _Figure(NamedTuple):
    """The most open queues where it is known, the greatest expected number, how many stay open, and
    for how long others are.
    """

    most: int | None
    expected: float
    after: int
    seconds: OpenSeconds | None


def _figures(step: ReadersOfStep, kinds: _Kinds, mask: Mask) -> tuple[_Figure, _Figure]:
    """Return the figures of queues of a mask without a reader, and of all queues with several."""
    n_after = (kinds.new >= 0).sum(axis=0)
    unowned_after = kinds.counts[mask & (n_after == 0)].sum()
    double_after = kinds.owned[n_after > 1].sum()
    changing, n_informees = kinds.changing, int(step.to_inform.sum())
    needs_one = step.begins_with_one and n_informees > 0
    most: tuple[int | None, int | None] = None, None
    if changing.size <= MOST_CLIENTS:
        old, new = kinds.bits()
        counts = np.where(mask, kinds.counts, 0), kinds.owned
        is_begun = needs_one and changing.size == n_informees
        most = most_in_subsets(old, new, counts, changing.size, is_begun)
    counted = kinds.reader_counts(mask, step.joins)
    seconds: tuple[OpenSeconds | None, OpenSeconds | None] = None, None
    if step.hearing is None:
        n_staying = int((step.to_inform & ~step.joins).sum())
        expected = expected_by_number(counted, n_staying, int(needs_one))
    else:
        expected = expected_by_chance(counted, step.hearing.at_join)
        seconds = open_seconds(counted, step.hearing)
    return (
        _Figure(most[0], expected[0], int(unowned_after), seconds[0]),
        _Figure(most[1], expected[1], int(double_after), seconds[1]),
    )


def _put(figures: Open, row: int, figure: _Figure) -> None:
    """Write the figures of a row; the longest possible time bounds the 99th percentile."""
    figures.is_exact[row] = figure.most is not None
    if figure.most is not None:
        figures.most[row] = figure.most
    longest, total = (np.nan, np.nan) if figure.seconds is None else figure.seconds
    figures.expected[row], figures.after[row] = figure.expected, figure.after
    figures.queue_seconds[row] = total
    figures.seconds_worst[row] = figures.seconds_p99[row] = longest


def most_in_subsets(
    old: Bits, new: Bits, counts: tuple[Bits, Bits], n_clients: int, needs_one: bool
) -> tuple[int, int]:
    """Return the most queues without a reader, and with several, over all sets, or all non-empty
    sets.

    Examples
    --------
    Two clients read a queue, and a third will:

    >>> one = np.array([1])
    >>> most_in_subsets(np.array([0b011]), np.array([0b100]), (one, one), 3, False)
    (1, 1)
    """
    first = int(needs_one and n_clients > 0)  # sets are in the order of their bits
    informed = np.arange(first, 1 << n_clients)[:, None]
    readers = old & ~informed | new & informed
    several = (readers & (readers - 1)) != 0
    n_unowned, n_double = counts
    unowned, double = (readers == 0) @ n_unowned, several @ n_double
    return int(unowned.max()), int(double.max())
