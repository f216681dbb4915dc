"""Number and duration of unowned and double-owned queues during a step.

**Worst.** `rmqalloc.ownership.transitions._worst_moment`: the maximum over all sets of informed clients.

**Expected.** At a given time, each client is informed with probability ``p``, independently of the
remaining clients. A queue that waits for one client is then open with probability ``1 - p``, a
queue that a client has given up with ``p``, a queue that passes between two clients with
``p (1 - p)``: a sum that is concave in ``p``. A client that joins acts first after a delay of its
own, so there is one such sum before that delay and one afterwards. The result is the greatest value
over the time from the moment before any client is informed. If no timer states when clients follow,
all sets of ``k`` informed clients count as equally likely, and the result is the greatest value over
``k``.

**Seconds.** Each client is informed after a time ``T`` of its own, see `NotificationDelay`. A queue that
passes from ``a`` to ``b`` has no owner for ``max(T_b - T_a, 0)``, a queue whose owner has left for
``T_b``. So the expected sum over queues is a sum of means. The longest of these times has no closed
form, because the times depend on each other; its 99th percentile is bounded from above by two
probabilities that no dependence can exceed: the probability that any time is longer, as the sum over
pairs and clients, and the probability that the last client that gets a queue is informed so late.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.ownership.transitions._worst_moment import Graphs, Worst, worst_moments
from rmqalloc.ownership.transitions.handovers import Mask, OpenQueues
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]

P99 = 0.01
_STEP = 1e-3  # seconds: to what the 99th percentile is rounded, upwards


class Open(NamedTuple):
    """Queues that are open while steps last, row by row."""

    most: Counts  # at one moment, over all sets of informed clients
    is_exact: Mask  # whether some moment attains it; if not, it is an upper bound
    expected: Figures  # the greatest expected number at one moment
    after: Counts  # queues that stay open when all clients are informed; they have no part in the seconds
    # The longest time that one queue can be open, and an upper bound of the 99th percentile of the
    # longest; nan where it is not known how clients are informed
    seconds_worst: Figures
    seconds_p99: Figures
    queue_seconds: Figures  # expected sum over queues of the seconds for which each is open


class _Sum(NamedTuple):
    """Numbers of queues by kind, row by row: always open, while one client is informed, while one
    is not, between two.
    """

    always: Counts
    informed: Counts
    uninformed: Counts
    passed: Counts

    def at(self, p: Figures) -> Figures:
        """Return the expected number of open queues if each client is informed with probability
        ``p``.
        """
        return np.asarray(
            self.always + self.informed * p + self.uninformed * (1 - p) + self.passed * p * (1 - p)
        )

    def greatest(self, least: float, most: float) -> Figures:
        """Return the greatest expected number over a range of probabilities."""
        top = (1 + (self.informed - self.uninformed) / np.maximum(self.passed, 1)) / 2
        tried = (np.full(top.size, least), np.full(top.size, most), np.clip(top, least, most))
        return np.asarray(np.maximum.reduce([self.at(p) for p in tried]))

    def greatest_by_number(self, n: Counts, needs_one: Mask) -> Figures:
        """Return the greatest expected number over the number of informed clients of ``n``."""
        clients = np.maximum(n, 1)
        apart = self.passed / np.maximum(
            clients * (clients - 1), 1
        )  # pairs of a single client do not exist

        def at(k: Figures) -> Figures:
            single = (self.informed * k + self.uninformed * (clients - k)) / clients
            return np.asarray(self.always + single + apart * k * (clients - k))

        least = np.where(needs_one & (n > 0), 1.0, 0.0)
        slope = (self.informed - self.uninformed) / clients + apart * clients
        top = slope / np.maximum(2 * apart, 1e-300)
        tried = [
            least,
            clients.astype(float),
            *(np.clip(near(top), least, clients) for near in (np.floor, np.ceil)),
        ]
        found = np.maximum.reduce([at(k) for k in tried])
        return np.asarray(np.where(n > 0, found, self.always + self.informed))


@dataclass(frozen=True)
class _Terms:
    """Queues by kind before clients that join act, and afterwards; and whom queues wait for."""

    n: Counts  # clients that do not join
    before: _Sum
    since: _Sum
    join_waits: Counts  # queues whose next reader joins, and which nobody reads until then
    to_join: Counts  # queues that pass from another client to one that joins
    from_join: Counts  # queues that one that joins reads before another has given them up
    waits: Counts  # clients, not queues, that some queue waits for from the start
    heads: Counts  # clients that some queue waits for at some time
    pairs: Counts  # of clients between which queues pass
    tails: Counts  # clients from which queues pass to one that joins
    late: Counts  # clients that are to give up queues of one that joins


def open_queues(
    of: OpenQueues, hearings: list[NotificationDelay | None], way: NDArray[np.int64]
) -> Open:
    """Return the figures of steps."""
    h = of.handovers
    graphs = of.graphs()
    worst: Worst = worst_moments(graphs, h.needs_one)
    terms = _terms(of, graphs)
    expected = terms.since.greatest_by_number(terms.n, h.needs_one)
    longest, p99, total = np.full((3, h.needs_one.size), np.nan)
    for number, hearing in enumerate(hearings):
        rows = np.flatnonzero(way == number)
        if hearing is not None and rows.size:
            at_join = hearing.at_join
            timed = np.maximum(
                terms.before.greatest(0.0, at_join), terms.since.greatest(at_join, 1.0)
            )
            expected[rows] = timed[rows]
            longest[rows], p99[rows], total[rows] = _seconds(terms, rows, hearing)
    after = terms.since.always + terms.since.informed
    return Open(worst.most, worst.is_exact, expected, after, longest, p99, total)


def _terms(of: OpenQueues, graphs: Graphs) -> _Terms:
    """Count the kinds of queues by row."""
    h = of.handovers
    n_rows, row, joins = h.needs_one.size, graphs.graph_of, h.joins

    def counted(informees: Counts) -> Counts:
        return np.bincount(row[informees], minlength=n_rows).astype(np.int64)

    def clients(*informees: Counts) -> Counts:
        some = np.zeros(row.size, bool)
        for one in informees:
            some[one] = True
        return counted(np.flatnonzero(some))

    def split(informees: Counts) -> tuple[Counts, Counts]:
        is_join = joins[informees]
        return informees[~is_join], informees[is_join]

    (informed, by_join), (uninformed, until_join) = split(of.informed), split(of.uninformed)
    tail_joins, head_joins = joins[of.tail], joins[of.head]
    between = ~tail_joins & ~head_joins
    to_join, from_join = of.tail[head_joins & ~tail_joins], of.head[tail_joins & ~head_joins]
    always = np.bincount(of.always, minlength=n_rows).astype(np.int64)
    passed, single, waiting = counted(of.tail[between]), counted(informed), counted(uninformed)
    return _Terms(
        n=counted(np.flatnonzero(~joins)) if h.n_staying is None else h.n_staying,
        before=_Sum(always + counted(until_join), single + counted(to_join), waiting, passed),
        since=_Sum(always + counted(by_join), single, waiting + counted(from_join), passed),
        join_waits=counted(until_join),
        to_join=counted(to_join),
        from_join=counted(from_join),
        waits=clients(uninformed),
        heads=clients(uninformed, of.head[between], from_join),
        pairs=counted(graphs.tail[~joins[graphs.tail] & ~joins[graphs.head]]),
        tails=clients(to_join),
        late=clients(from_join),
    )


def _seconds(
    t: _Terms, rows: Counts, hearing: NotificationDelay
) -> tuple[Figures, Figures, Figures]:
    """Return the longest time, the 99th percentile of the longest, and the sum over queues."""
    t = _Terms(**{one.name: _some(getattr(t, one.name), rows) for one in fields(t)})
    delay, waits = hearing.join_delay, t.waits > 0
    since_join = max(hearing.latest - delay, 0.0)
    kinds = [(waits, hearing.latest), (t.pairs > 0, hearing.spread), (t.to_join > 0, delay), (t.join_waits > 0, delay),
             (t.from_join > 0, since_join)]  # fmt: skip
    worst = np.maximum.reduce([np.where(there, seconds, 0.0) for there, seconds in kinds])
    total = (
        t.before.uninformed * hearing.mean
        + t.before.passed * hearing.half_difference
        + t.join_waits * delay
        + t.to_join * hearing.before_a_join
        + t.from_join * hearing.after_a_join
    )
    clients = np.stack(
        [t.pairs, t.waits, t.heads, t.tails, t.late, np.where(t.join_waits > 0, 1, 0)]
    )
    distinct, of_row = np.unique(clients, axis=1, return_inverse=True)
    p99 = _percentile(distinct, hearing)[of_row.reshape(-1)]
    common = np.where(waits, hearing.first[1], 0.0)  # of the common wait the longest
    # To decimals that a bound may have: one of the very seconds that are printed is kept.
    return worst.round(9), np.minimum(p99 + common, worst).round(9), total


def _some(column: Any, rows: Counts) -> Any:
    """Return some rows of a column, or of the columns of a sum."""
    return _Sum(*(one[rows] for one in column)) if isinstance(column, _Sum) else column[rows]


def _percentile(clients: Counts, hearing: NotificationDelay) -> Figures:
    """Find the time exceeded with a probability of at most `P99`, by bisection: both bounds fall as
    the time grows.
    """
    pairs, waits, heads, tails, late, join_waits = clients
    delay = hearing.join_delay

    def may_exceed(x: Figures) -> Figures:
        waiting = x < delay  # for one that joins
        (later, later_than_join, not_early), apart = hearing.later_and_apart(
            x, x + delay, np.maximum(delay - x, 0.0)
        )
        some = pairs * apart + waits * later + late * later_than_join
        some = some + np.where(waiting, tails * (1 - not_early) + join_waits, 0.0)
        last = np.where(waiting & (tails + join_waits > 0), 1.0, 1 - (1 - later) ** heads)
        return np.asarray(np.minimum(some, last))

    low, high = np.zeros(pairs.size), np.full(pairs.size, max(hearing.spread, delay))
    while high.size and (high - low).max() > _STEP / 2:
        middle = (low + high) / 2
        fits = may_exceed(middle) <= P99
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    found: Figures = np.where(
        may_exceed(np.zeros(pairs.size)) <= P99, 0.0, np.ceil(high / _STEP) * _STEP
    )
    return found
