"""How many queues are open while a step lasts, and for how long.

**Worst.** `rmqalloc.transitions._worst_moment`: the maximum over all sets of informed clients.

**Expected.** With ``k`` of ``n`` clients informed, all sets of that size being equally likely, a queue that waits for one
client is open with probability ``1 - k/n``, one that one client has given up with ``k/n``, and one that passes between two
with ``k (n - k) / (n (n - 1))``. The sum is concave in ``k``; its greatest value is reported. Clients that join know of the
step from the start.

**Seconds.** Each client is informed after a time ``T`` of its own, see `Hearing`. A queue that passes from ``a`` to ``b`` has
no owner for ``max(T_b - T_a, 0)``, one whose owner has left for ``T_b``. So the expected sum over queues is a sum of means. The
longest of these times has no closed form, for they depend on each other; its 99th percentile is bounded from above by two
probabilities that no dependence can exceed: that of any being longer, as the sum over pairs and clients, and that of the last
client which gets a queue being informed so late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.transitions._handovers import Mask, OpenQueues
from rmqalloc.transitions._hearing import Hearing
from rmqalloc.transitions._worst_moment import Worst, worst_moments

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]

P99 = 0.01
_STEP = 1e-3  # seconds: to what the 99th percentile is rounded, upwards


class Open(NamedTuple):
    """Queues that are open while steps last, row by row.

    Attributes
    ----------
    most : ndarray of int64
        At one moment, over all sets of informed clients.
    is_exact : ndarray of bool
        Whether some moment attains it; if not, it is an upper bound.
    expected : ndarray of float64
        The greatest expected number at one moment.
    after : ndarray of int64
        Queues that stay open when all clients are informed; they have no part in the seconds.
    seconds_worst, seconds_p99 : ndarray of float64
        The longest time that one queue can be open, and an upper bound of the 99th percentile of the longest; nan where
        it is not known how clients are informed.
    queue_seconds : ndarray of float64
        Expected sum over queues of the seconds for which each is open.
    """

    most: Counts
    is_exact: Mask
    expected: Figures
    after: Counts
    seconds_worst: Figures
    seconds_p99: Figures
    queue_seconds: Figures


@dataclass(frozen=True)
class _Terms:
    """Numbers of queues of each kind, and of the clients and pairs of clients that they wait for; by row."""

    n: Counts  # clients that are informed after the start
    always: Counts
    informed: Counts
    uninformed: Counts
    passed: Counts
    heads: Counts  # clients that some queue waits for
    waits: Counts  # clients that some queue waits for from the start
    pairs: Counts


def open_queues(of: OpenQueues, hearings: list[Hearing | None], way: NDArray[np.int64]) -> Open:
    """The figures of steps.

    Parameters
    ----------
    of : OpenQueues
    hearings : list of Hearing or None
        How clients are informed; None where that is not known.
    way : ndarray of int64, shape (n_rows,)
        Which of them holds for each row.
    """
    h = of.handovers
    worst: Worst = worst_moments(of.graphs(), h.needs_one)
    terms = _terms(of)
    worst_s, p99, total = np.full((3, h.needs_one.size), np.nan)
    for number, hearing in enumerate(hearings):
        rows = np.flatnonzero(way == number)
        if hearing is not None and rows.size:
            worst_s[rows], p99[rows], total[rows] = _seconds(terms, rows, hearing)
    return Open(
        worst.most, worst.is_exact, _expected(terms, h.needs_one), terms.always + terms.informed, worst_s, p99, total
    )


def _terms(of: OpenQueues) -> _Terms:
    """The kinds of queues by row, where clients that join are informed from the start."""
    h = of.handovers
    n_rows, sizes = h.needs_one.size, np.diff(h.offsets)
    row = np.repeat(np.arange(n_rows), sizes)
    late = ~h.joins

    def counted(informees: Counts) -> Counts:
        return np.bincount(row[informees], minlength=n_rows).astype(np.int64)

    # Open until the head is informed: from the start if the tail knows from the start, never if the head does.
    passed = late[of.head]
    from_start, between = passed & h.joins[of.tail], passed & late[of.tail]
    waits = np.concatenate([of.uninformed[late[of.uninformed]], of.head[from_start]])
    n_informees = max(sizes.sum(), 1)
    pairs = np.unique(of.tail[between] * n_informees + of.head[between])
    joined = np.bincount(row[of.informed[h.joins[of.informed]]], minlength=n_rows)
    return _Terms(
        np.bincount(row[late], minlength=n_rows).astype(np.int64),
        np.bincount(of.always, minlength=n_rows).astype(np.int64) + joined,
        counted(of.informed[late[of.informed]]),
        counted(waits),
        counted(of.tail[between]),
        counted(np.unique(np.append(waits, of.head[between]))),
        counted(np.unique(waits)),
        counted(pairs // n_informees),
    )


def _expected(t: _Terms, needs_one: Mask) -> Figures:
    """The greatest of the expected numbers with ``k`` clients informed."""
    n = np.maximum(t.n, 1)
    apart = t.passed / np.maximum(n * (n - 1), 1)  # pairs of a single client do not exist

    def at(k: Figures) -> Figures:
        return np.asarray(t.always + (t.informed * k + t.uninformed * (n - k)) / n + apart * k * (n - k))

    least = np.where(needs_one & (t.n > 0), 1.0, 0.0)
    slope = (t.informed - t.uninformed) / n + apart * n
    top = np.where(apart > 0, slope / np.maximum(2 * apart, 1e-300), np.where(slope > 0, n, 0))
    tried = [least, n.astype(float), *(np.clip(near(top), least, n) for near in (np.floor, np.ceil))]
    best = np.maximum.reduce([at(k) for k in tried])
    return np.asarray(np.where(t.n > 0, best, t.always + t.informed))


def _seconds(t: _Terms, rows: Counts, hearing: Hearing) -> tuple[Figures, Figures, Figures]:
    """The longest time, the 99th percentile of the longest, and the sum over queues."""
    waits, passed = t.uninformed[rows] > 0, t.passed[rows] > 0
    worst = np.where(waits, hearing.latest, np.where(passed, hearing.spread, 0.0))
    total = t.uninformed[rows] * hearing.mean + t.passed[rows] * hearing.half_difference
    kinds = np.stack([t.pairs[rows], t.waits[rows], t.heads[rows]])
    distinct, of_row = np.unique(kinds, axis=1, return_inverse=True)
    p99 = _percentile(distinct, hearing)[of_row.reshape(-1)]
    late = np.where(waits, hearing.first[1], 0.0)  # of the common wait the longest
    return worst, np.minimum(np.where(waits | passed, p99 + late, 0.0), worst), total


def _percentile(kinds: Counts, hearing: Hearing) -> Figures:
    """Time that is exceeded with a probability of at most `P99`, by bisection: both bounds fall as the time grows."""
    pairs, waits, heads = kinds

    def may_exceed(x: Figures) -> Figures:
        late = hearing.later_than(x)
        return np.asarray(np.minimum(pairs * hearing.apart(x) + waits * late, 1 - (1 - late) ** heads))

    low, high = np.zeros(pairs.size), np.full(pairs.size, hearing.spread)
    while high.size and (high - low).max() > _STEP / 2:
        middle = (low + high) / 2
        fits = may_exceed(middle) <= P99
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    found: Figures = np.where(may_exceed(np.zeros(pairs.size)) <= P99, 0.0, np.ceil(high / _STEP) * _STEP)
    return found
