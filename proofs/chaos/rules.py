"""The invariants, as loops over what a simulation recorded. Nothing here asks the engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from chaos.recording import Interval, Record
from rmqalloc import MessageQueue
from rmqalloc.simulation import Flow
from rmqalloc.simulation._messages import Reading

RULES = {
    "two-owners": "a queue of an ordered group never has two owners at one time",
    "order": "a message of an ordered queue is consumed after a later one only from a stored offset",
    "skip": "no message before the last one that was consumed stays unconsumed",
    "stored-ahead": "a broker never stores an offset past what was consumed by then",
    "unowned": "every queue has an owner from T after the last fault on",
    "double": "no queue has two owners from T after the last fault on",
}
"""What is judged, by name."""


class Violation(NamedTuple):
    """An invariant that does not hold: of which queue, between which times (ms), and figures that
    say how.
    """

    rule: str
    queue: MessageQueue
    since: int
    until: int
    says: str


def violations(record: Record) -> list[Violation]:
    """Return everything that is wrong, by rule and time.

    A queue of a group without a living client is not judged by "unowned".
    """
    found: list[Violation] = []
    queues = dict.fromkeys([*record.queues, *(one.queue for one in record.intervals)])
    for queue in queues:
        found += _of_owners(record, queue)
        readings = record.readings.get(queue, [])
        if record.is_ordered:
            found += _order(record, queue, readings)
        found += _skipped(record, queue, readings)
        found += _stored_ahead(record, queue, readings)
    return sorted(found, key=lambda one: (list(RULES).index(one.rule), one.since, one.queue))


# --- Owners ---


def _of_owners(record: Record, queue: MessageQueue) -> Iterator[Violation]:
    intervals = [one for one in record.intervals if one.queue == queue]
    for since, until, processes in owned_together(intervals):
        names = " and ".join(record.names[process] for process in sorted(processes))
        if record.is_ordered:
            yield Violation("two-owners", queue, since, until, names)
        if until > record.settled:
            yield Violation("double", queue, max(since, record.settled), until, names)
    if queue in record.queues and record.alive:
        for since, until in unowned(intervals, record.settled, record.until):
            yield Violation("unowned", queue, since, until, f"{until - since} ms")


def owned_together(intervals: list[Interval]) -> Iterator[tuple[int, int, set[int]]]:
    """Return when more than one process worked on a queue, and which.

    Examples
    --------
    >>> from rmqalloc import MessageQueue
    >>> queue = MessageQueue("t", "b", 0)
    >>> list(owned_together([Interval(queue, 0, 0, 50), Interval(queue, 1, 40, 90), Interval(queue, 0, 90, 95)]))
    [(40, 50, {0, 1})]
    """
    times = sorted({one.start for one in intervals} | {one.end for one in intervals})
    for since, until in pairwise(times):
        processes = {
            one.process
            for one in intervals
            if one.start <= since and one.end >= until and one.end > one.start
        }
        if len(processes) > 1:
            yield since, until, processes


def unowned(intervals: list[Interval], since: int, until: int) -> Iterator[tuple[int, int]]:
    """Return when no process worked on a queue in a window.

    Examples
    --------
    >>> from rmqalloc import MessageQueue
    >>> list(unowned([Interval(MessageQueue("t", "b", 0), 0, 10, 50)], 0, 60))
    [(0, 10), (50, 60)]
    """
    at = since
    for one in sorted(intervals, key=lambda one: one.start):
        if one.start > at and at < until:
            yield at, min(one.start, until)
        at = max(at, one.end)
    if at < until:
        yield at, until


# --- Messages ---


def consumed_by(flow: Flow, reading: Reading, now: int) -> int:
    """Return the offset up to which a reading has consumed by a time."""
    until = min(now, reading.until)
    if until <= reading.since:
        return reading.offset
    able = reading.offset + flow.consumed_per_second * (until - reading.since) // 1_000
    there = flow.produced_per_second * until // 1_000
    return max(reading.offset, min(able, there))


def furthest(flow: Flow, readings: list[Reading], now: int) -> int:
    """Return the offset after the last message that anybody has consumed by a time; 0 if none was."""
    return max((consumed_by(flow, one, now) for one in readings if one.since < now), default=0)


def _order(record: Record, queue: MessageQueue, readings: list[Reading]) -> Iterator[Violation]:
    """Judge where readings begin: at what was consumed last, or before it at an offset that a
    broker has just answered.
    """
    trips = 4 * int(
        record.script.latency
    )  # without an offset, the last one of the queue is asked for as well
    for reading in readings:
        before = furthest(record.flow, readings, reading.since)
        if (
            reading.offset >= before
            or consumed_by(record.flow, reading, reading.until) <= reading.offset
        ):
            continue
        answers = {
            one.offset
            for one in record.answered.get(queue, [])
            if reading.since - trips <= one.at <= reading.since
        }
        if reading.offset not in answers:
            says = f"goes on at {reading.offset} after {before}"
            yield Violation("order", queue, reading.since, reading.until, says)


def _skipped(record: Record, queue: MessageQueue, readings: list[Reading]) -> Iterator[Violation]:
    """Find messages before the last consumed one that nobody consumed."""
    at = 0
    ranges = sorted(
        (one.offset, consumed_by(record.flow, one, one.until), one.since) for one in readings
    )
    for first, after, since in ranges:
        if after > first > at:
            yield Violation(
                "skip", queue, since, record.until, f"{first - at} messages from {at} on"
            )
        at = max(at, after) if after > first else at


def _stored_ahead(
    record: Record, queue: MessageQueue, readings: list[Reading]
) -> Iterator[Violation]:
    """A listener at work is waited for before a queue is given up, and what it works on is stored
    as done before.
    """
    at_work = int(record.script.groups[0].listener_time)
    for one in record.stored.get(queue, []):
        done = furthest(record.flow, readings, one.at + at_work)
        if one.offset > done:
            yield Violation(
                "stored-ahead", queue, one.at, one.at, f"{one.offset} stored, {done} consumed"
            )
