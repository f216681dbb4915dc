"""Queues with several readers: what is open in every set of informed clients, for groups of few clients that change.

An informed client reads what it reads after the step, any other what it reads before. So with the readers of a queue as bits,
the readers with the set S informed are ``old & ~S | new & S``.
"""

from __future__ import annotations

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
    informed = np.arange(1 << n_clients)[:, None]
    readers = old & ~informed | new & informed
    several = (readers & (readers - 1)) != 0
    unowned, double = (np.asarray(is_open @ counts) for is_open in ((readers == 0) & written, several))
    phases = [(0, np.linspace(0.0, at_join, _STEPS)), (joins, np.linspace(at_join, 1.0, _STEPS))]
    expected = (max(_greatest(some, n_clients, joins, acting, p) for acting, p in phases) for some in (unowned, double))
    return OpenInSubsets(int(unowned.max()), int(double.max()), *expected)


def _greatest(n_open: Bits, n_clients: int, joins: int, acting: int, p: NDArray[np.float64]) -> float:
    """The greatest expected number, if those that join act as ``acting`` says and any other is informed with ``p``."""
    some = np.array([one for one in range(1 << n_clients) if one & joins == acting])
    number = np.array([int(one & ~joins).bit_count() for one in some.tolist()])
    n_late = n_clients - joins.bit_count()
    totals = np.bincount(number, n_open[some], n_late + 1)
    k = np.arange(n_late + 1)
    return float((p[:, None] ** k * (1 - p[:, None]) ** (n_late - k) @ totals).max())
