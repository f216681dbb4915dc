"""Counts and lag of a consumer since its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rmqalloc.client._tally import LATENCY_BOUNDS, Latency
from rmqalloc.model import MessageQueue

__all__ = ["Histogram", "MemberMetrics"]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations counted in buckets.

    Attributes
    ----------
    bounds : tuple of float
        Upper bounds of the buckets in seconds; the last bucket has no bound.
    counts : tuple of int
        Durations of each bucket.
    total : float
        Sum of all durations, in seconds.

    Examples
    --------
    >>> Histogram((0.1, 1.0), (3, 1, 0), 0.9).cumulative
    ((0.1, 3), (1.0, 4), (inf, 4))
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @property
    def cumulative(self) -> tuple[tuple[float, int], ...]:
        """Return each bound with the number of durations up to it."""
        pairs, n = [], 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            n += count
            pairs.append((bound, n))
        return tuple(pairs)


@dataclass(frozen=True, slots=True)
class MemberMetrics:
    """The state of a `PushConsumer` at one moment. Counts begin at its start and only rise.

    Attributes
    ----------
    consumer_group : str
        Consumer group.
    lag : dict of MessageQueue to int or None
        Messages not yet consumed of each owned queue, as of its last pull; None before the first
        answer to a pull.
    consumed : int
        Messages that the listener has consumed.
    failed : int
        Messages for which the listener raised an error or gave an invalid answer.
    retried : int
        Messages delivered again: sent back to a broker, or consumed again by this member.
    undecodable : int
        Skipped messages that could not be decoded.
    rebalances : int
        Passes of the rebalance that changed the queues of a topic.
    pull, consume : Histogram
        Seconds of pulls that returned messages, with the time that the broker waited for messages,
        and seconds of calls of the listener.
    """

    consumer_group: str
    lag: Mapping[MessageQueue, int | None]
    consumed: int
    failed: int
    retried: int
    undecodable: int
    rebalances: int
    pull: Histogram
    consume: Histogram


def histogram_of(latency: Latency) -> Histogram:
    """Return a copy of the counts.

    Examples
    --------
    >>> histogram_of(Latency()).counts
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    """
    return Histogram(LATENCY_BOUNDS, tuple(latency.counts), latency.total)
