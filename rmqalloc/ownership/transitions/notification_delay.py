"""Time until clients are informed of a change, by the timers of RocketMQ.

Each client is informed independently of the others, after a time ``T`` that is 0 with some
probability and otherwise a fixed wait and a sum of independent uniform waits; a common wait may
come before. All that is asked of ``T`` has a closed form: its distribution is that of a sum of
uniform variables, and so is that of the difference of two, because ``-U`` of a uniform ``U`` on [0,
w] is distributed as ``U - w``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.remoting import DEFAULT_PROFILE, Profile, clock

Seconds = NDArray[np.float64]

REBALANCE, ROUTE_POLL, HEARTBEAT, SCAN, EXPIRY, LOCK_LIFE, LOCK_RENEWAL = (
    timer / 1_000
    for timer in (
        *(
            clock.REBALANCE,
            clock.ROUTE_POLL,
            clock.HEARTBEAT,
            clock.CHANNEL_SCAN,
            clock.CHANNEL_EXPIRY,
        ),
        *(clock.LOCK_LIFE, clock.LOCK_RENEWAL),
    )
)
"""In seconds."""

WAYS = ("notice", "timer", "scan", "crash")
"""How clients learn that clients joined or left; see `hearing_of`."""


def sum_below(x: Seconds, widths: tuple[float, ...], integrals: int = 0) -> Seconds:
    """Compute the distribution function of a sum of uniform variables on [0, w], integrated
    ``integrals`` times from 0.

    Examples
    --------
    >>> sum_below(np.array([5.0, 20.0]), (20.0,)).tolist(), sum_below(np.array([25.0]), (20.0, 30.0)).tolist()
    ([0.25, 1.0], [0.5])
    """
    power = len(widths) + integrals
    total = np.zeros_like(x, dtype=float)
    for n in range(len(widths) + 1):
        for some in combinations(widths, n):
            total += (-1) ** n * np.maximum(x - sum(some), 0.0) ** power
    return np.asarray(total / (factorial(power) * prod(widths)))


@dataclass(frozen=True)
class NotificationDelay:
    """The time until a client is informed, in seconds.

    Examples
    --------
    >>> timer = NotificationDelay((20.0,))
    >>> timer.mean, timer.latest, round(timer.half_difference, 3)
    (10.0, 20.0, 3.333)
    """

    waits: tuple[float, ...]  # each client waits for the sum of times that are uniform on [0, wait]
    at_once: float = 0.0  # probability that it does not wait
    fixed: float = 0.0  # what is added to these waits
    # Earliest and latest time at which the first client can be informed: a wait that all have in
    # common, its mean in between
    first: tuple[float, float] = (0.0, 0.0)
    join_delay: float = 0.0  # when a client that joins acts for the first time

    def of_a_join(self) -> NotificationDelay:
        """Return the time after a join: the client sends heartbeats to all brokers at once, so no
        list is out of date.
        """
        return hearing_of("notice") if self.fixed else replace(self, first=(0.0, 0.0))

    @property
    def spread(self) -> float:
        """The longest time from the first informed client to the last."""
        return self.fixed + sum(self.waits)

    @property
    def latest(self) -> float:
        """The longest time from the change to the last informed client."""
        return self.first[1] + self.spread

    @property
    def mean(self) -> float:
        """Expected time from the change until a client is informed."""
        return sum(self.first) / 2 + (1 - self.at_once) * self._late

    @property
    def half_difference(self) -> float:
        """Expected time for which one client is informed and another is not yet: E max(T - T', 0)."""
        both, one = (1 - self.at_once) ** 2, self.at_once * (1 - self.at_once)
        width = sum(self.waits)
        middle, whole = sum_below(np.array([width, 2 * width]), self.waits * 2, integrals=1)
        return both * (width - float(whole - middle)) + one * self._late

    @property
    def _late(self) -> float:
        """Expected wait of a client that waits."""
        return self.fixed + sum(self.waits) / 2

    @property
    def at_join(self) -> float:
        """Probability that a client is informed when one that joins acts for the first time."""
        return 1 - float(self.later_than(np.array([self.join_delay]))[0])

    @property
    def before_a_join(self) -> float:
        """Expected time for which a client is informed and one that joins does not act yet: E
        max(join_delay - T, 0).
        """
        waited = float(
            sum_below(np.array([max(self.join_delay - self.fixed, 0.0)]), self.waits, integrals=1)[
                0
            ]
        )
        return self.at_once * self.join_delay + (1 - self.at_once) * waited

    @property
    def after_a_join(self) -> float:
        """Expected time for which a client that joined acts and another is not informed yet: E
        max(T - join_delay, 0).
        """
        return self.mean - sum(self.first) / 2 - self.join_delay + self.before_a_join

    def later_than(self, x: Seconds) -> Seconds:
        """Return the probability that a client is informed more than ``x`` after the common wait."""
        return (1 - self.at_once) * self._waits_longer(x)

    def _waits_longer(self, x: Seconds) -> Seconds:
        return np.asarray(
            np.where(
                x < self.fixed, 1.0, 1 - sum_below(np.maximum(x - self.fixed, 0.0), self.waits)
            )
        )

    def later_and_apart(self, *times: Seconds) -> tuple[list[Seconds], Seconds]:
        """Return `later_than` for each of several times, and how probably a client is informed the
        first of them after another.
        """
        longer = self._waits_longer(np.stack(times))
        both, one = (1 - self.at_once) ** 2, self.at_once * (1 - self.at_once)
        after_another = 1 - sum_below(times[0] + sum(self.waits), self.waits * 2)
        return list((1 - self.at_once) * longer), both * after_another + one * longer[0]


def hearing_of(
    way: str, profile: Profile = DEFAULT_PROFILE, n_brokers: int = 1, is_ordered: bool = False
) -> NotificationDelay:
    """Return how clients learn that clients joined or left.

    Examples
    --------
    >>> hearing_of("timer").latest, hearing_of("scan").latest, hearing_of("notice").latest
    (20.0, 150.0, 1.0)
    >>> hearing_of("crash").latest, hearing_of("crash", is_ordered=True).latest
    (1.0, 61.0)
    """
    least = profile.min_interval / 1_000  # also from a client's start to its first pass
    if way == "timer":
        return NotificationDelay((REBALANCE,), join_delay=least)
    if way == "scan":
        return NotificationDelay(
            (REBALANCE,), first=(EXPIRY - HEARTBEAT, EXPIRY + SCAN), join_delay=least
        )
    if way == "crash":
        notice = hearing_of("notice", profile, n_brokers)
        return (
            replace(notice, first=(LOCK_LIFE - LOCK_RENEWAL, LOCK_LIFE)) if is_ordered else notice
        )
    if way != "notice":
        raise ArgumentError(f"clients learn of joins and leaves by {', '.join(WAYS)}, got {way!r}")
    if not least:
        return NotificationDelay(())
    if n_brokers > 1:
        return NotificationDelay((), at_once=1 / n_brokers, fixed=least, join_delay=least)
    # The last pass was uniformly long ago, so the rest of the least interval is uniform where it is
    # not over.
    return NotificationDelay((least,), at_once=1 - least / REBALANCE, join_delay=least)


ROUTES = NotificationDelay((ROUTE_POLL, REBALANCE), join_delay=DEFAULT_PROFILE.min_interval / 1_000)
"""How clients learn of routes: the poll takes them in, the next pass acts on them."""
