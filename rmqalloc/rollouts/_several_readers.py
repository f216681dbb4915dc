"""What is open while steps last in groups whose clients divide by different rules, so that a queue may have many readers.

The graphs of `rmqalloc.transitions` know one reader before a step and one after. Of several one is kept there: too few queues
without a reader are never counted so. What is known better is put right here: by trying every set of informed clients where
few change, and as bounds elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.transitions._hearing import Hearing
from rmqalloc.transitions._open_queues import Open
from rmqalloc.transitions._subsets import (
    MOST_CLIENTS,
    ReaderCounts,
    expected_by_number,
    most_in_subsets,
    open_in_subsets,
)

Clients = NDArray[np.int64]
Mask = NDArray[np.bool_]


class ReadersOfStep(NamedTuple):
    """Who reads the queues of a step.

    Attributes
    ----------
    old, new : ndarray of int64, shape (n, n_queues)
        Readers before and after it, as positions in the group; -1 for nobody. A client that leaves reads nothing before.
    written : ndarray of bool, shape (n_queues,)
        Whether producers write to the queue.
    to_inform, joins : ndarray of bool, shape (n_clients,)
        Clients that are informed of the step, and those of them that join.
    begins_with_one : bool
        Whether the step begins when the first of them is informed.
    hearing : Hearing or None
        How they are informed.
    """

    old: Clients
    new: Clients
    written: Mask
    to_inform: Mask
    joins: Mask
    begins_with_one: bool
    hearing: Hearing | None


def put_right(row: int, step: ReadersOfStep, unowned: dict[str, Open], double: Open) -> None:
    """Put the figures of one row right.

    Parameters
    ----------
    row : int
    step : ReadersOfStep
    unowned : dict of str to Open
        Figures of queues without a reader: of all (``unowned``), of those written to and of the others (``unowned_written``,
        ``unowned_dry``).
    double : Open
        Those of queues with several readers.
    """
    kinds = _Kinds.of(step)
    counted = {
        "unowned": np.ones(kinds.written.size, bool),
        "unowned_written": kinds.written,
        "unowned_dry": ~kinds.written,
    }
    for name, mask in counted.items():
        none, several = _figures(step, kinds, mask)
        _put(unowned[name], row, none, step.hearing)
    if several.most is None:
        double.most[row] += kinds.counts[((kinds.old >= 0).sum(axis=0) > 1) | ((kinds.new >= 0).sum(axis=0) > 1)].sum()
    _put(double, row, several, step.hearing)


class _Kinds(NamedTuple):
    """Queues by who reads them before and after, and whether producers write to them."""

    old: Clients
    new: Clients
    written: Mask
    counts: Clients
    stays: Mask  # of the readers before, those that read it after, too
    comes: Mask  # of the readers after, those that did not before

    @classmethod
    def of(cls, step: ReadersOfStep) -> _Kinds:
        rows = np.concatenate([np.sort(step.old, axis=0), np.sort(step.new, axis=0), step.written[None]])
        kinds, counts = np.unique(rows, axis=1, return_counts=True)
        old, new = kinds[: len(step.old)], kinds[len(step.old) : -1]
        same = (old[:, None] == new[None]) & (old >= 0)[:, None]
        return cls(old, new, kinds[-1] > 0, counts.astype(np.int64), same.any(axis=1), (new >= 0) & ~same.any(axis=0))

    @property
    def goes(self) -> Mask:
        """Of the readers before, those that do not read it after."""
        gone: Mask = (self.old >= 0) & ~self.stays
        return gone

    @property
    def changing(self) -> Clients:
        """Clients that read some queue before or after, and not both."""
        return np.unique(np.append(self.old[self.goes], self.new[self.comes]))

    def bits(self) -> tuple[Clients, Clients]:
        """The changing readers before and after as bits. Others are two bits behind them, for one or for several."""
        changing = self.changing
        always = ((1 << np.minimum(self.stays.sum(axis=0), 2)) - 1) << changing.size
        old, new = (
            np.where(moves, 1 << np.searchsorted(changing, np.where(moves, readers, 0)), 0).sum(axis=0) + always
            for readers, moves in ((self.old, self.goes), (self.new, self.comes))
        )
        return old, new

    def reader_counts(self, mask: Mask) -> ReaderCounts:
        """How many readers change or stay, of the queues of a mask."""
        gives_up, takes_up, stays = (one.sum(axis=0)[mask] for one in (self.goes, self.comes, self.stays))
        return ReaderCounts(gives_up, takes_up, stays, self.counts[mask])


class _Figure(NamedTuple):
    """The most open queues where it is known, the greatest expected number where it is known, and how many stay open."""

    most: int | None
    expected: float
    after: int


def _figures(step: ReadersOfStep, kinds: _Kinds, mask: Mask) -> tuple[_Figure, _Figure]:
    """Queues of a mask without a reader, and all queues with several."""
    n_after = (kinds.new >= 0).sum(axis=0)
    after = int(kinds.counts[mask & (n_after == 0)].sum()), int(kinds.counts[n_after > 1].sum())
    changing, n_informees = kinds.changing, int(step.to_inform.sum())
    needs_one = step.begins_with_one and n_informees > 0
    most: tuple[int | None, int | None] = None, None
    expected = np.nan, np.nan
    if step.hearing is None:
        every = np.ones(mask.size, bool)
        expected = (
            expected_by_number(kinds.reader_counts(mask), n_informees, int(needs_one))[0],
            expected_by_number(kinds.reader_counts(every), n_informees, int(needs_one))[1],
        )
    if changing.size <= MOST_CLIENTS:
        given = *kinds.bits(), kinds.counts, mask, changing.size
        most = most_in_subsets(*given, needs_one and changing.size == n_informees)
        if step.hearing is not None:
            joins = sum(1 << bit for bit, client in enumerate(changing.tolist()) if step.joins[client])
            tried = open_in_subsets(*given, joins, step.hearing.at_join)
            expected = tried.unowned_expected, tried.double_owned_expected
    none, several = (_Figure(*one) for one in zip(most, expected, after, strict=True))
    return none, several


def _put(one: Open, row: int, figure: _Figure, hearing: Hearing | None) -> None:
    """Figures of a row; a queue may be open until the last client follows."""
    one.is_exact[row] = figure.most is not None
    if figure.most is not None:
        one.most[row] = figure.most
    one.expected[row], one.after[row], one.queue_seconds[row] = figure.expected, figure.after, np.nan
    one.seconds_worst[row] = one.seconds_p99[row] = np.nan if hearing is None else hearing.latest
