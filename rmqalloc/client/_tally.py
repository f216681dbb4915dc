"""What a running member counts: plain numbers that only the loop's thread changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

LATENCY_BOUNDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0)
"""Upper bounds of the buckets of a latency, in seconds; the last bucket has no bound."""


class Latency:
    """Durations in buckets, with their count and sum.

    Examples
    --------
    >>> latency = Latency()
    >>> latency.add(0.002)
    >>> latency.counts[:3], latency.total
    ([0, 1, 0], 0.002)
    """

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(LATENCY_BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(LATENCY_BOUNDS, seconds)] += 1
        self.total += seconds

    def add_all(self, durations: Sequence[float]) -> None:
        """Count many durations, together where none is beyond the first bucket."""
        if max(durations, default=0.0) <= LATENCY_BOUNDS[0]:
            self.counts[0] += len(durations)
            self.total += sum(durations)
        else:
            for seconds in durations:
                self.add(seconds)


@dataclass(slots=True)
class Tally:
    """Counts since the member was started.

    Attributes
    ----------
    consumed : int
        Messages that the listener has consumed.
    failed : int
        Messages for which the listener raised, or gave an answer that is none.
    retried : int
        Messages that are delivered again: sent back to a broker, or consumed again here.
    undecodable : int
        Messages that were passed over because they could not be decoded.
    rebalances : int
        Passes that changed the queues of a topic.
    pull, consume : Latency
        Seconds of pulls that brought messages, with the time in which the broker waited for them,
        and of calls of the listener.
    """

    consumed: int = 0
    failed: int = 0
    retried: int = 0
    undecodable: int = 0
    rebalances: int = 0
    pull: Latency = field(default_factory=Latency)
    consume: Latency = field(default_factory=Latency)
