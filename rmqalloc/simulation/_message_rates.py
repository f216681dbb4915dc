"""How many messages a group is sent, and how many it can consume: given, or from two readings of
its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import ceil, log10
from typing import NamedTuple

from rmqalloc.errors import ArgumentError
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.matching import by_name, no_match
from rmqalloc.snapshot.snapshot import Lag, Snapshot, Topic

MOST = 1_000_000
"""Greatest rate of a queue in a script; a consumer that reads as fast is never behind."""

_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(?:/(\d{1,9}(?:\.\d{1,6})?))?", re.ASCII)
_LEAST = 100


class MessageRates(NamedTuple):
    """Messages per second of a whole group.

    Attributes
    ----------
    produced : float or mapping of str to float
        Messages that it is sent: in all, which are spread over its queues evenly, or by topic.
    consumed : float or None
        Messages that it can consume in all; None where not known: then clients catch up at once,
        and delays are lower bounds.
    """

    produced: float | Mapping[str, float]
    consumed: float | None = None

    @classmethod
    def of(cls, text: str) -> MessageRates:
        """Read rates: ``1200`` messages per second, or ``1200/3000`` of a group that can consume
        3,000.

        Raises
        ------
        ArgumentError
            It is no such text.

        Examples
        --------
        >>> MessageRates.of("1200/3000")
        MessageRates(produced=1200.0, consumed=3000.0)
        """
        match = _RATE.fullmatch(text)
        if match is None:
            raise ArgumentError(
                f"{text[:100]!r} is not messages per second, such as 1200, or 1200/3000 with what it can consume"
            )
        return cls(float(match[1]), None if match[2] is None else float(match[2]))

    def by_topic(self, topics: Sequence[Topic]) -> dict[str, float]:
        """Return the messages per second of each topic."""
        if isinstance(self.produced, Mapping):
            return {topic.name: float(self.produced.get(topic.name, 0.0)) for topic in topics}
        n_queues = {topic.name: sum(1 for _ in topic.queues()) for topic in topics}
        n_all = max(1, sum(n_queues.values()))
        return {name: self.produced * n / n_all for name, n in n_queues.items()}


def rates_between(
    first: Snapshot, second: Snapshot, consumer_group: str, seconds: float | None = None
) -> MessageRates:
    """Return the rates of a group from two snapshots: what the ends of its queues have moved in the
    time between.

    Parameters
    ----------
    first, second : Snapshot
        With offsets, of one cluster.
    consumer_group : str
    seconds : float, optional
        The time between them; by default from when they say they were taken.

    Raises
    ------
    ArgumentError
        A snapshot does not say when it was taken or has no offsets of the group, or the second is
        not the later one.

    Examples
    --------
    >>> from rmqalloc.model import MessageQueue
    >>> from rmqalloc.snapshot import Group
    >>> def reading(end):
    ...     return Snapshot(groups=(Group("g", lags=(Lag(MessageQueue("t", "b", 0), end, end),)),))
    >>> rates_between(reading(1_000), reading(1_600), "g", seconds=30)
    MessageRates(produced={'t': 20.0}, consumed=None)
    """
    before, after = _lags(first, consumer_group), _lags(second, consumer_group)
    length = _seconds(first, second) if seconds is None else seconds
    if not length > 0:
        raise ArgumentError(
            f"the second snapshot must be later than the first; it is {length:g} s later"
        )
    rates: dict[str, float] = {}
    for queue in before.keys() & after.keys():
        sent = max(0, after[queue].broker_offset - before[queue].broker_offset)
        rates[queue.topic] = rates.get(queue.topic, 0.0) + sent / length
    if not rates:
        raise ArgumentError(
            f"the two snapshots have no offsets of the same queues of group {consumer_group!r}: it has committed none, or they "
            "were read without lags; give the rate"
        )
    return MessageRates(dict(sorted(rates.items())))


def _lags(snapshot: Snapshot, consumer_group: str) -> dict[MessageQueue, Lag]:
    groups = by_name(snapshot.groups, "groups")
    if consumer_group not in groups:
        raise no_match(consumer_group, groups, "group")
    return {lag.queue: lag for lag in groups[consumer_group].lags}


def _seconds(first: Snapshot, second: Snapshot) -> float:
    """Return the seconds between two snapshots by what they say."""
    times = []
    for one in (first, second):
        try:
            times.append(datetime.fromisoformat(one.fetched_at or ""))
        except ValueError:
            raise ArgumentError(
                "a snapshot does not say when it was taken; give the seconds between the two"
            ) from None
    return (times[1] - times[0]).total_seconds()


class ScaledRates(NamedTuple):
    """Rates of single queues as whole numbers: of so many times as many messages, as a script takes
    no fractions.

    Attributes
    ----------
    produced : dict of str to int
        Of each queue of a topic.
    consumed : int
        Of each queue.
    scale : float
        Messages of the script for one message of the cluster.
    """

    produced: dict[str, int]
    consumed: int
    scale: float

    @classmethod
    def of(cls, rates: MessageRates, topics: Sequence[Topic]) -> ScaledRates:
        """Return rates of queues, of three digits at least where there is room.

        Examples
        --------
        >>> from rmqalloc.snapshot import TopicBroker
        >>> ScaledRates.of(MessageRates(10), [Topic("t", (TopicBroker("b", 20),))])
        ScaledRates(produced={'t': 500}, consumed=1000000, scale=1000.0)
        """
        n_queues = {topic.name: sum(1 for _ in topic.queues()) for topic in topics}
        of_queue = {
            name: rate / max(1, n_queues[name]) for name, rate in rates.by_topic(topics).items()
        }
        n_all = max(1, sum(n_queues.values()))
        reads = None if rates.consumed is None else rates.consumed / n_all
        some = [rate for rate in of_queue.values() if rate > 0]
        scale = 10.0 ** max(0, ceil(log10(_LEAST / min(some)))) if some else 1.0
        scale = min(scale, MOST / max([*some, reads or 0.0, 1e-9]))
        consumed = MOST if reads is None else max(1, round(reads * scale))
        return cls({name: round(rate * scale) for name, rate in of_queue.items()}, consumed, scale)
