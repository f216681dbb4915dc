"""Queues with several readers: what is open in every set of informed clients, for groups of few clients that change.

An informed client reads what it reads after the step, any other what it reads before. So with the readers of a queue as bits,
the readers with the set S informed are ``old & ~S | new & S``.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_CLIENTS = 12
"""Clients up to which every set is tried."""

_STEPS = 4_097
"""Probabilities for which expected numbers are computed; the greatest of a smooth sum of few terms is not far from one."""

Bits = NDArray[np.int64]


class OpenInSubsets(NamedTuple):
    """Queues without a reader, or with several: the most over all sets, and the greatest expected number.

    Attributes
    ----------
    unowned, double_owned : int
    unowned_expected, double_owned_expected : float
        As `rmqalloc.transitions._open_queues.Open.expected`.
    """

    unowned: int
    double_owned: int
    unowned_expected: float
    double_owned_expected: float


def open_in_subsets(
    old: Bits, new: Bits, counts: Bits, written: NDArray[np.bool_], n_clients: int, joins: int, at_join: float
) -> OpenInSubsets:
    """Try every set of informed clients.

    Parameters
    ----------
    old, new : ndarray of int64
        Readers before and after, as bits, of each kind of queue.
    counts : ndarray of int64
        Queues of each kind.
    written : ndarray of bool
        Whether producers write to them; only these count as unowned.
    n_clients : int
        Clients whose queues change: at most `MOST_CLIENTS`.
    joins : int
        Those that join, as bits.
    at_join : float
        Probability that any other is informed when these act for the first time.

    Examples
    --------
    Two clients read a queue, and a third will:

    >>> open_in_subsets(np.array([0b011]), np.array([0b100]), np.array([1]), np.array([True]), 3, 0, 0.0)
    OpenInSubsets(unowned=1, double_owned=1, unowned_expected=0.14814..., double_owned_expected=1.0)
    """
    unowned, double = _in_every_set(old, new, counts, written, n_clients)
    phases = [(0, np.linspace(0.0, at_join, _STEPS)), (joins, np.linspace(at_join, 1.0, _STEPS))]
    expected = (max(_greatest(some, n_clients, joins, acting, p) for acting, p in phases) for some in (unowned, double))
    return OpenInSubsets(int(unowned.max()), int(double.max()), *expected)


def open_by_number(
    old: Bits, new: Bits, counts: Bits, written: NDArray[np.bool_], n_clients: int, n_informees: int, needs_one: bool
) -> OpenInSubsets:
    """The same where no timer says when clients follow: all sets of ``k`` informed clients are equally likely, for any ``k``.

    Parameters
    ----------
    old, new, counts, written, n_clients
        As for `open_in_subsets`.
    n_informees : int
        Clients to inform; those whose queues do not change are among them.
    needs_one : bool
        Whether at least one of them is informed at every moment.

    Examples
    --------
    The reader of a queue is informed, and one more whose queues do not change:

    >>> open_by_number(np.array([0b1]), np.array([0b0]), np.array([4]), np.array([True]), 1, 2, True)
    OpenInSubsets(unowned=4, double_owned=0, unowned_expected=4.0, double_owned_expected=0.0)
    """
    least = int(needs_one and n_informees > 0)
    first = least if n_informees == n_clients else 0  # of the sets, which are in the order of their bits
    counted = [one[first:] for one in _in_every_set(old, new, counts, written, n_clients)]
    sizes = np.array([one.bit_count() for one in range(first, 1 << n_clients)])
    by_size = [np.bincount(sizes, one, n_clients + 1).tolist() for one in counted]
    others = n_informees - n_clients

    def mean(totals: list[float], k: int) -> float:
        sets = ((comb(others, k - size), total) for size, total in enumerate(totals) if size <= k)
        return sum(ways * total for ways, total in sets) / comb(n_informees, k)

    expected = (max(mean(one, k) for k in range(least, n_informees + 1)) for one in by_size)
    return OpenInSubsets(*(int(one.max()) for one in counted), *expected)


def _in_every_set(old: Bits, new: Bits, counts: Bits, written: NDArray[np.bool_], n_clients: int) -> tuple[Bits, Bits]:
    """Queues without a reader and with several in every set of informed clients."""
    informed = np.arange(1 << n_clients)[:, None]
    readers = old & ~informed | new & informed
    several = (readers & (readers - 1)) != 0
    return np.asarray(((readers == 0) & written) @ counts), np.asarray(several @ counts)


def _greatest(n_open: Bits, n_clients: int, joins: int, acting: int, p: NDArray[np.float64]) -> float:
    """The greatest expected number, if those that join act as ``acting`` says and any other is informed with ``p``."""
    some = np.array([one for one in range(1 << n_clients) if one & joins == acting])
    number = np.array([int(one & ~joins).bit_count() for one in some.tolist()])
    n_late = n_clients - joins.bit_count()
    totals = np.bincount(number, n_open[some], n_late + 1)
    k = np.arange(n_late + 1)
    return float((p[:, None] ** k * (1 - p[:, None]) ** (n_late - k) @ totals).max())
