"""What a rebalance does to messages: computed on stretches of reading, for every message is
produced and consumed at a rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.model import MessageQueue

DELAYED = 1_000
"""A message that waits longer than this (ms) for its first consumption counts as delayed."""


class Flow(NamedTuple):
    """Rates of one queue, in messages per second; production begins with the simulation and never
    ends.

    Examples
    --------
    >>> flow = Flow(produced_per_second=10, consumed_per_second=20)
    >>> flow.produced(1_500), flow.position(0, since=1_000, now=1_500), flow.position(0, since=1_000, now=9_000)
    (15, 10, 90)
    """

    produced_per_second: int | float
    consumed_per_second: int | float

    def produced(self, now: int) -> int:
        """Return the number of messages produced by ``now``, in milliseconds since the simulation
        began.
        """
        return int(self.produced_per_second * now // 1_000)

    def position(self, offset: int, since: int, now: int) -> int:
        """Return how far a reader has come that reads from ``offset`` since a time."""
        if now <= since:
            return offset
        read = offset + int(self.consumed_per_second * (now - since) // 1_000)
        produced = int(self.produced_per_second * now // 1_000)
        return read if read < produced else produced if produced > offset else offset


class Reading(NamedTuple):
    """One client reads one queue from an offset on, from a time to a time (ms since the simulation
    began).
    """

    place: int
    offset: int
    since: int
    until: int


class MessageCounts(NamedTuple):
    """Counts of messages that were delayed, consumed twice or left.

    Attributes
    ----------
    consumed_twice : int
        Consumptions of messages that had been consumed before, or were consumed by another client
        at the same time.
    delayed : int
        Messages that waited longer than `DELAYED` for their first consumption.
    longest_delay : int
        Longest wait of a message that was consumed, in milliseconds.
    left : int
        Messages not consumed by the end.
    """

    consumed_twice: int = 0
    delayed: int = 0
    longest_delay: int = 0
    left: int = 0

    def plus(self, other: MessageCounts) -> MessageCounts:
        """Return both together."""
        return MessageCounts(
            self.consumed_twice + other.consumed_twice,
            self.delayed + other.delayed,
            max(self.longest_delay, other.longest_delay),
            self.left + other.left,
        )


def count_messages(
    flow: Flow, readings: list[Reading], until: int, since: int = 0
) -> MessageCounts:
    """Follow one queue through all its readings; count what happens from ``since`` on.

    Examples
    --------
    Nobody reads for ten seconds, then the backlog is worked off as fast as it can be.

    >>> count_messages(Flow(10, 20), [Reading(0, 0, 10_000, 60_000)], until=60_000)
    MessageCounts(consumed_twice=0, delayed=180, longest_delay=10000, left=0)
    """
    twice = delayed = longest_delay = frontier = 0
    for one in readings:
        reading = one
        if one.since < since:  # what it read before counts as read, and no more
            reached = flow.position(one.offset, one.since, min(one.until, since))
            frontier = max(frontier, reached)
            if one.until <= since:
                continue
            reading = one._replace(offset=reached, since=since)
        end, offset = flow.position(reading.offset, reading.since, reading.until), reading.offset
        if frontier > offset:
            twice += max(0, min(end, frontier) - offset)
        if end > frontier:
            n_late, longest = _waits(flow, reading, max(frontier, offset), end)
            delayed += n_late
            if longest > longest_delay:
                longest_delay = longest
            frontier = end
    return MessageCounts(twice, delayed, longest_delay, max(0, flow.produced(until) - frontier))


def count_all_messages(
    queues: Sequence[MessageQueue],
    flows: Mapping[str, Flow],
    readings: Iterable[Reading],
    until: int,
    since: int = 0,
) -> MessageCounts:
    """Count what became of the messages of all queues of a group from ``since`` to ``until``."""
    by_place: dict[int, list[Reading]] = {place: [] for place in range(len(queues))}
    for reading in sorted(readings, key=lambda reading: reading.since):
        if reading.since <= until:
            by_place[reading.place].append(reading._replace(until=min(reading.until, until)))
    counts = MessageCounts()
    for place, mine in by_place.items():
        counts = counts.plus(count_messages(flows[queues[place].topic], mine, until, since))
    return counts


def _waits(flow: Flow, reading: Reading, first: int, end: int) -> tuple[int, int]:
    """Return how many messages from ``first`` to ``end`` waited too long, and how long the longest
    did (ms).

    Message x was there at x / p and consumed at s + (x - o) / c.
    """
    if not flow.produced_per_second or not flow.consumed_per_second:
        return 0, 0
    p, c = flow.produced_per_second / 1_000, flow.consumed_per_second / 1_000
    at_first = reading.since + (first - reading.offset) / c - first / p
    at_end = reading.since + (end - reading.offset) / c - end / p
    longest = at_first if at_first > at_end else at_end
    if longest <= DELAYED:
        delayed = 0
    elif at_first > DELAYED and at_end > DELAYED:
        delayed = end - first
    else:
        slope = 1 / c - 1 / p
        turn = first + (DELAYED - at_first) / slope
        delayed = round(turn - first if slope < 0 else end - turn)
    return delayed, round(longest) if longest > 0 else 0
