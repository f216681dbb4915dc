"""What an observer beside the guard sees: queues without an owner and with several, from what the
consumers report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from live_restarts import Report

from rmqalloc import MessageQueue


class Moment(NamedTuple):
    """Queues that are open from a moment on (ms since the epoch)."""

    at: float
    unowned: int
    double_owned: int


LASTING = 100.0
"""Milliseconds: a client drops what it loses, asks a broker for offsets and then takes what it gains, queue by queue."""


class Span(NamedTuple):
    """What was open in a span of time: most queues at one moment, and seconds summed over queues.

    ``lasting`` is the largest number of unowned queues that was not gone below for `LASTING`,
    ``at_look`` that at any look.
    """

    lasting: int
    at_look: int
    unowned_seconds: float
    double_owned: int


def timeline(start: Mapping[MessageQueue, str], reports: Sequence[Report]) -> list[Moment]:
    """What is open after every report, given the owners before the first."""
    held: dict[str, frozenset[MessageQueue]] = {}
    for queue, owner in start.items():
        held[owner] = held.get(owner, frozenset()) | {queue}
    found = []
    for at, client_id, queues in reports:
        held[client_id.partition("@")[2]] = queues
        n = Counter(queue for mine in held.values() for queue in mine)
        found.append(
            Moment(at, sum(n[one] == 0 for one in start), sum(n[one] > 1 for one in start))
        )
    return found


def open_between(moments: Sequence[Moment], begin: float, end: float) -> Span:
    """What was open from one time to another, what was open already at the beginning included."""
    within = [one for one in moments if begin <= one.at < end]
    before = [one for one in moments if one.at < begin]
    if before:
        within.insert(0, before[-1]._replace(at=begin))
    ends = [one.at for one in within[1:]] + [end]
    seconds = sum(
        (until - one.at) / 1000 * one.unowned for one, until in zip(within, ends, strict=True)
    )
    at_look = max((one.unowned for one in within), default=0)
    lasting = next((n for n in range(at_look, 0, -1) if _longest(within, ends, n) >= LASTING), 0)
    return Span(lasting, at_look, seconds, max((one.double_owned for one in within), default=0))


def _longest(moments: Sequence[Moment], ends: Sequence[float], n: int) -> float:
    """Milliseconds for which so many queues were unowned in a row."""
    longest = so_far = 0.0
    for one, until in zip(moments, ends, strict=True):
        so_far = so_far + until - one.at if one.unowned >= n else 0.0
        longest = max(longest, so_far)
    return longest


def now() -> float:
    """Milliseconds since the epoch, as the consumers' reports have them."""
    return 1000 * time.time()
