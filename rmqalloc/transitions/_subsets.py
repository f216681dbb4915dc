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
    unowned, double = _in_every_set(old, new, counts, written, n_clients)
    phases = [(0, np.linspace(0.0, at_join, _STEPS)), (joins, np.linspace(at_join, 1.0, _STEPS))]
    expected = (max(_greatest(some, n_clients, joins, acting, p) for acting, p in phases) for some in (unowned, double))
    return OpenInSubsets(int(unowned.max()), int(double.max()), *expected)


def most_in_subsets(
    old: Bits, new: Bits, counts: Bits, written: NDArray[np.bool_], n_clients: int, needs_one: bool
) -> tuple[int, int]:
    """The most queues without a reader, and with several, over all sets, or over those that are not empty.

    Parameters
    ----------
    old, new, counts, written, n_clients
        As for `open_in_subsets`.
    needs_one : bool
        Whether at least one of these clients is informed at every moment.
    """
    first = int(needs_one and n_clients > 0)  # sets are in the order of their bits
    unowned, double = (int(one[first:].max()) for one in _in_every_set(old, new, counts, written, n_clients))
    return unowned, double


class ReaderCounts(NamedTuple):
    """Queues by how many clients give them up when they are informed, take them up then, or read them throughout.

    Attributes
    ----------
    gives_up, takes_up, stays : ndarray of int64
    counts : ndarray of int64
        Queues of each kind.
    """

    gives_up: Bits
    takes_up: Bits
    stays: Bits
    counts: Bits


def expected_by_number(kinds: ReaderCounts, n_informees: int, least: int) -> tuple[float, float]:
    """The greatest expected number of queues without a reader, and with several, where no timer says when clients follow.

    All sets of ``k`` informed clients are equally likely then, and the greatest value over ``k`` counts. A queue that ``a``
    give up and ``b`` take up has none of these readers in C(n - a - b, k - a) of the C(n, k) sets.

    Parameters
    ----------
    kinds : ReaderCounts
    n_informees : int
        Clients to inform.
    least : int
        The least ``k``.

    Examples
    --------
    >>> one = np.ones(1, np.int64)
    >>> expected_by_number(ReaderCounts(2 * one, one, 0 * one, one), 3, 0)  # two give it up, and a third takes it up
    (0.33..., 1.0)
    """
    n, k = n_informees, np.arange(least, n_informees + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # of factorials

    def share(of: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        """C(of, some) over C(n, k); 0 where there is no such set."""
        inside = np.clip(some, 0, of)
        ways = logs[of] - logs[inside] - logs[of - inside] - logs[n] + logs[k] + logs[n - k]
        return np.where(inside == some, np.exp(ways), 0.0)

    unowned, double = np.zeros((2, k.size))
    for a, b, stays, count in zip(*(column.tolist() for column in kinds), strict=True):
        others = n - a - b
        nobody = share(others, k - a)
        one = a * share(others, k - a + 1) + b * share(others, k - a - 1)
        unowned += count * nobody * (stays == 0)
        double += count * (1 - nobody * (stays < 2) - one * (stays == 0))
    return float(unowned.max()), float(double.max())


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
