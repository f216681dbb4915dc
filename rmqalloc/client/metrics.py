"""What a consumer has done since its start, and how far it is behind, as numbers of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rmqalloc.client._tally import LATENCY_BOUNDS, Latency
from rmqalloc.model import MessageQueue

__all__ = ["Histogram", "MemberMetrics"]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations, counted in buckets.

    Attributes
    ----------
    bounds : tuple of float
        Upper bounds of the buckets in seconds; one more bucket has none.
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
        Its group.
    lag : dict of MessageQueue to int or None
        Messages that are stored and not consumed, of each queue that it works on, as of its last
        pull; None before that was answered.
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
    pull, consume : Histogram
        Seconds of pulls that brought messages, with the time in which the broker waited for them,
        and of calls of the listener.
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
    """Return a copy of what is counted.

    Examples
    --------
    >>> histogram_of(Latency()).counts
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    """
    return Histogram(LATENCY_BOUNDS, tuple(latency.counts), latency.total)
