"""How likely queues with several readers are open while clients are informed, and for how long.

A queue is given up by some clients when they are informed, taken up by some others, taken up by
some that join, and read by some throughout. Each client is informed independently of the others
with the same probability, so that is all there is to know.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.lazy import import_ahead
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]

_COARSE, _FINE, _TOPS = 129, 65, 4
"""Probabilities sampled, first over the range, then around each of the ``_TOPS`` highest points."""

import_ahead("numpy.polynomial")


class ReaderCounts(NamedTuple):
    """Queues by how many clients give them up when they are informed, take them up then, or read
    them throughout.
    """

    # Clients; those that ``joins`` counts join and take the queue up
    gives_up: Counts
    takes_up: Counts
    joins: Counts
    stays: Counts
    # Queues of each kind that count if nobody reads them, and if several clients do
    unowned: Counts
    double_owned: Counts

    def distinct(self) -> ReaderCounts:
        """Return every kind once, with its queues added up."""
        kinds, place = np.unique(np.stack(self[:4]), axis=1, return_inverse=True)
        place = place.reshape(-1)
        sums = [np.bincount(place, queues, kinds.shape[1]) for queues in self[4:]]
        return ReaderCounts(*kinds, *(total.astype(np.int64) for total in sums))

    def chances(self, p: Figures, joined: bool) -> tuple[Figures, Figures]:
        """Return the chances that each kind has no reader, and several, if a client is informed
        with probability ``p``.
        """
        p = p[:, None]
        sure = self.stays + (self.joins if joined else 0)
        no_old, no_new = p**self.gives_up, (1 - p) ** self.takes_up
        one_old = self.gives_up * (1 - p) * p ** np.maximum(self.gives_up - 1, 0)
        one_new = self.takes_up * p * (1 - p) ** np.maximum(self.takes_up - 1, 0)
        nobody, one = no_old * no_new, one_old * no_new + one_new * no_old
        several = np.where(sure > 1, 1.0, 1 - nobody - np.where(sure == 0, one, 0.0))
        return np.where(sure == 0, nobody, 0.0), np.maximum(several, 0.0)


def expected_by_chance(kinds: ReaderCounts, at_join: float) -> tuple[float, float]:
    """Return the greatest expected number of queues without a reader, and with several.

    Examples
    --------
    Two clients read a queue, and a third will:

    >>> one = np.ones(1, np.int64)
    >>> expected_by_chance(ReaderCounts(2 * one, one, 0 * one, 0 * one, one, one), 0.0)
    (0.148..., 1.0)
    """
    before_join = _greatest(kinds, joined=False, low=0.0, high=at_join)
    after_join = _greatest(kinds, joined=True, low=at_join, high=1.0)
    unowned, double = map(max, before_join, after_join)
    return unowned, double


def _greatest(kinds: ReaderCounts, joined: bool, low: float, high: float) -> list[float]:
    """Return the greatest expected numbers over a range: smooth sums of few terms, sampled more
    finely where they are high.
    """
    coarse, step = np.linspace(low, high, _COARSE), (high - low) / (_COARSE - 1)
    around = np.linspace(-step, step, _FINE)
    found = []
    for which, chance in enumerate(kinds.chances(coarse, joined)):
        n_queues = kinds[4 + which]
        by_height = np.argsort(chance @ n_queues)
        tops = coarse[by_height[-_TOPS:]]
        fine = np.clip((tops[:, None] + around).reshape(-1), low, high)
        expected = kinds.chances(fine, joined)[which] @ n_queues
        found.append(float(expected.max()))
    return found


def expected_by_number(kinds: ReaderCounts, n_informees: int, least: int) -> tuple[float, float]:
    """Return the greatest expected number of queues without a reader, and with several, where no
    timer applies.

    All sets of ``k`` informed clients are equally likely then, and the greatest value over ``k``
    counts; clients that join act from the start. A queue that ``a`` give up and ``b`` take up has
    none of these readers in C(n - a - b, k - a) of the C(n, k) sets.

    Examples
    --------
    >>> one = np.ones(1, np.int64)  # two give it up, and a third takes it up
    >>> expected_by_number(ReaderCounts(2 * one, one, 0 * one, 0 * one, one, one), 3, 0)
    (0.33..., 1.0)
    """
    n, k = n_informees, np.arange(least, n_informees + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # of factorials

    def share(of: int, some: Counts) -> Figures:
        """Return C(of, some) over C(n, k); 0 if there is no such set."""
        inside = np.clip(some, 0, of)
        ways = logs[of] - logs[inside] - logs[of - inside] - logs[n] + logs[k] + logs[n - k]
        return np.where(inside == some, np.exp(ways), 0.0)

    unowned, double = np.zeros((2, k.size))
    columns = [column.tolist() for column in kinds]
    for a, b, joins, stays, n_unowned, n_double in zip(*columns, strict=True):
        others, sure = n - a - b, joins + stays
        nobody = share(others, k - a)
        one = a * share(others, k - a + 1) + b * share(others, k - a - 1)
        unowned += n_unowned * nobody * (sure == 0)
        double += n_double * (1 - nobody * (sure < 2) - one * (sure == 0))
    return float(unowned.max()), float(double.max())


class OpenSeconds(NamedTuple):
    """How long queues are open."""

    longest: float  # the longest time that one can be
    total: float  # expected sum over queues


@cache
def _gauss() -> tuple[Figures, Figures]:
    """Return nodes and weights of Gauss-Legendre quadrature over an interval of length 1."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    return nodes / 2, weights / 2


def open_seconds(
    kinds: ReaderCounts, hearing: NotificationDelay
) -> tuple[OpenSeconds, OpenSeconds]:
    """Return for how long queues have no reader, and several; queues that stay so do not count.

    The chance of a kind to be open is a polynomial in the share of informed clients, and that is
    one in time between the moments at which one of a client's waits is over.

    Examples
    --------
    A queue passes from a client to another one, each within 20 s:

    >>> one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    >>> unowned, _ = open_seconds(ReaderCounts(one, one, none, none, one, one), NotificationDelay((20.0,)))
    >>> unowned.longest, round(unowned.total, 9), round(NotificationDelay((20.0,)).half_difference, 9)
    (20.0, 3.333333333, 3.333333333)
    """
    delay, waits = hearing.join_delay, hearing.waits
    ends = {0.0, delay}
    for n in range(len(waits) + 1):
        ends.update(hearing.fixed + sum(some) for some in combinations(waits, n))
    bounds = np.array(sorted(ends))
    starts, widths = bounds[:-1, None], np.diff(bounds)[:, None]
    nodes, node_weights = _gauss()
    times = (starts + widths * (nodes + 0.5)).reshape(-1)
    weights = (widths * node_weights).reshape(-1)
    informed = 1 - hearing.later_than(times)
    nobody, everybody = np.zeros(1), np.ones(1)
    moments = (
        kinds.chances(informed, joined=False),
        kinds.chances(informed, joined=True),
        kinds.chances(nobody, joined=False),
        kinds.chances(nobody, joined=True),
        kinds.chances(everybody, joined=True),
    )
    found = []
    for all_counts, chances in zip(kinds[4:], zip(*moments, strict=True), strict=True):
        early, late, first, joined, after = chances
        seconds = weights @ np.where((times < delay)[:, None], early, late)
        counts = np.where(after[0] > 0, 0, all_counts)
        until_informed = joined[0] > 0
        at_first = until_informed & (first[0] > 0)
        longest = np.select(
            [at_first, until_informed, (late > 0).any(axis=0), seconds > 0],
            [hearing.latest, max(hearing.latest - delay, 0.0), hearing.spread, delay],
            0.0,
        )
        mean_first = sum(hearing.first) / 2
        total = counts @ (seconds + np.where(at_first, mean_first, 0.0))
        longest_counted = longest[counts > 0].max(initial=0.0)
        found.append(OpenSeconds(float(longest_counted), float(total)))
    unowned, double = found
    return unowned, double
