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
from rmqalloc.transitions._subsets import MOST_CLIENTS, OpenInSubsets, open_by_number, open_in_subsets

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
    needs_one : bool
        Whether the step begins with the first client that is informed.
    hearing : Hearing or None
        How they are informed.
    """

    old: Clients
    new: Clients
    written: Mask
    to_inform: Mask
    joins: Mask
    needs_one: bool
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
    sets = np.sort(step.old, axis=0), np.sort(step.new, axis=0)
    columns = np.concatenate([*sets, step.written[None].astype(np.int64)])
    kinds, counts = np.unique(columns, axis=1, return_counts=True)
    old, new, written = kinds[: len(step.old)], kinds[len(step.old) : -1], kinds[-1] > 0
    n_old, n_new = (old >= 0).sum(axis=0), (new >= 0).sum(axis=0)
    counted = {"unowned": np.ones(written.size, bool), "unowned_written": written, "unowned_dry": ~written}
    for name, mask in counted.items():
        _set_bounds(unowned[name], row, counts[mask & (n_new == 0)].sum(), step.hearing)
    _set_bounds(double, row, counts[n_new > 1].sum(), step.hearing)
    changing = _changing(old, new)
    if changing.size > MOST_CLIENTS:
        double.most[row] += counts[(n_old > 1) | (n_new > 1)].sum()
        return
    bits = _bits(old, new, changing)
    for name, mask in counted.items():
        found = _tried(step, *bits, counts, mask, changing)
        _set_exact(unowned[name], row, found.unowned, found.unowned_expected)
        _set_exact(double, row, found.double_owned, found.double_owned_expected)


def _tried(
    step: ReadersOfStep, old: Clients, new: Clients, counts: Clients, mask: Mask, changing: Clients
) -> OpenInSubsets:
    """What every set of informed clients leaves open; of queues without a reader those of the mask count."""
    if step.hearing is None:
        n_informees = int(step.to_inform.sum())
        return open_by_number(old, new, counts, mask, changing.size, n_informees, step.needs_one)
    joins = sum(1 << bit for bit, client in enumerate(changing.tolist()) if step.joins[client])
    return open_in_subsets(old, new, counts, mask, changing.size, joins, step.hearing.at_join)


def _set_exact(one: Open, row: int, most: int, expected: float) -> None:
    one.most[row], one.expected[row], one.is_exact[row] = most, expected, True


def _set_bounds(one: Open, row: int, after: int, hearing: Hearing | None) -> None:
    """What is so whoever is informed; expected numbers are not known, and queues may be open until the last client follows."""
    longest = np.nan if hearing is None else hearing.latest
    one.is_exact[row], one.after[row], one.expected[row] = False, after, np.nan
    one.seconds_worst[row] = one.seconds_p99[row] = longest
    one.queue_seconds[row] = np.nan


def _changing(old: Clients, new: Clients) -> Clients:
    """Clients that read some queue before or after, and not both."""
    gone, come = (~(one[:, None] == other[None]).any(axis=1) & (one >= 0) for one, other in ((old, new), (new, old)))
    return np.unique(np.append(old[gone], new[come]))


def _bits(old: Clients, new: Clients, changing: Clients) -> tuple[Clients, Clients]:
    """The readers of each kind of queue as bits. Readers that stay are two bits behind them, for one or for several."""
    stays = (old[:, None] == new[None]).any(axis=1) & (old >= 0)
    always = ((1 << np.minimum(stays.sum(axis=0), 2)) - 1) << changing.size

    def bits(readers: Clients, moves: Mask) -> Clients:
        at = np.searchsorted(changing, np.where(moves, readers, 0))
        found: Clients = np.where(moves, 1 << at, 0).sum(axis=0) + always
        return found

    come = ~(new[:, None] == old[None]).any(axis=1) & (new >= 0)
    return bits(old, ~stays & (old >= 0)), bits(new, come)
