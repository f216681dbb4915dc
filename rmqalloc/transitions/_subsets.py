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

Bits = NDArray[np.int64]


class OpenInSubsets(NamedTuple):
    """Queues without a reader, or with several: the most over all sets, and the greatest expected number.

    Attributes
    ----------
    unowned, double_owned : int
    unowned_expected, double_owned_expected : float
        As `rmqalloc.transitions._exposure.Open.expected`.
    """

    unowned: int
    double_owned: int
    unowned_expected: float
    double_owned_expected: float


def open_in_subsets(
    old: Bits, new: Bits, counts: Bits, written: NDArray[np.bool_], n_clients: int, joins: int, n_late: int
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
        Those that know of the step from the start, as bits: only sets with these count for what is expected.
    n_late : int
        All clients of the group that do not.

    Examples
    --------
    Two clients read a queue, and a third will:

    >>> open_in_subsets(np.array([0b011]), np.array([0b100]), np.array([1]), np.array([True]), 3, 0, 3)
    OpenInSubsets(unowned=1, double_owned=1, unowned_expected=0.3333333333333333, double_owned_expected=1.0)
    """
    informed = np.arange(1 << n_clients)[:, None]
    readers = old & ~informed | new & informed
    several = (readers & (readers - 1)) != 0
    unowned, double = (np.asarray(is_open @ counts) for is_open in ((readers == 0) & written, several))
    late = [one for one in range(1 << n_clients) if one & joins == joins]
    n_changing = n_clients - joins.bit_count()
    number = np.array([(one & ~joins).bit_count() for one in late])
    chances = _chances(n_late, n_changing)
    expected = (float((chances @ np.bincount(number, some[late])).max()) for some in (unowned, double))
    return OpenInSubsets(int(unowned.max()), int(double.max()), *expected)


def _chances(n: int, n_changing: int) -> NDArray[np.float64]:
    """The chance that just a given set of ``s`` of the clients that change is informed if ``k`` of ``n`` are, by k and s."""
    logs = np.append(0.0, np.cumsum(np.log(np.arange(1, n + 1))))
    k, s = np.arange(n + 1)[:, None], np.arange(n_changing + 1)
    others = n - n_changing
    possible = (k >= s) & (k - s <= others)
    among = np.where(possible, k - s, 0)
    chance = logs[others] - logs[among] - logs[others - among] - logs[n] + logs[k] + logs[n - k]
    found: NDArray[np.float64] = np.where(possible, np.exp(chance), 0.0)
    return found
