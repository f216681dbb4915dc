"""Who worked on which queue when, as intervals, and what follows: gaps, double ownership, moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.model import MessageQueue

OPEN = -1

Times = NDArray[np.int64]


class Spans(NamedTuple):
    """Stretches of time, each of one queue.

    Attributes
    ----------
    queue : ndarray of int32
        Places in `Timeline.queues`.
    start, end : ndarray of int64
        Milliseconds since the simulation began.
    """

    queue: NDArray[np.int32]
    start: Times
    end: Times

    def within(self, since: int, until: int) -> Spans:
        """Return the parts that lie in a window."""
        start, end = np.maximum(self.start, since), np.minimum(self.end, until)
        kept = start < end
        return Spans(self.queue[kept], start[kept], end[kept])

    def total(self) -> int:
        """Return their total length, in milliseconds of queues."""
        return int((self.end - self.start).sum())

    def open_at(self, times: Times) -> Times:
        """Return how many stretches are open at each of some times; the end of one is not in it.

        Examples
        --------
        >>> spans = Spans(np.array([0, 1], np.int32), np.array([10, 20]), np.array([30, 25]))
        >>> spans.open_at(np.array([0, 10, 20, 25, 30])).tolist()
        [0, 1, 2, 1, 0]
        """
        begun = np.searchsorted(np.sort(self.start), times, side="right")
        ended = np.searchsorted(np.sort(self.end), times, side="right")
        return begun - ended

    def longest(self) -> int:
        """Return the length of the longest; 0 if there are none."""
        return int((self.end - self.start).max(initial=0))


class Timeline:
    """Ownership of the queues of one consumer group.

    A queue is owned by a client from the moment it has a process queue for it to the moment that is
    dropped or the client stops working: shut down, dead, frozen or paused. In an ordered group the
    broker's lock must be held too, and not be lost.

    Attributes
    ----------
    owners : list of set of int
        For every queue the processes that work on it now.
    last_change : int
        When a set of owners last changed, in milliseconds since the simulation began.

    Examples
    --------
    >>> timeline = Timeline([MessageQueue("orders", "broker-a", 0)])
    >>> first = timeline.begin(0, owner=7, now=10)
    >>> second = timeline.begin(0, owner=8, now=40)
    >>> timeline.end(first, now=50), timeline.end(second, now=60)
    (None, None)
    >>> timeline.double_owned(until=100).total(), timeline.gaps(until=100).total()
    (10, 40)
    """

    def __init__(self, queues: Sequence[MessageQueue]) -> None:
        self.queues: list[MessageQueue] = []
        self.place: dict[MessageQueue, int] = {}
        self.owners: list[set[int]] = []
        self.last_change = 0
        self._exists: list[tuple[int, int]] = []
        self._queue: list[int] = []
        self._owner: list[int] = []
        self._start: list[int] = []
        self._end: list[int] = []
        self.add_queues(queues, 0)

    def add_queues(self, queues: Sequence[MessageQueue], now: int) -> None:
        """Add queues; those known already exist again."""
        for queue in queues:
            place = self.place.setdefault(queue, len(self.queues))
            if place == len(self.queues):
                self.queues.append(queue)
                self.owners.append(set())
                self._exists.append((now, OPEN))
            else:
                self._exists[place] = (self._exists[place][0], OPEN)

    def remove_queues(self, queues: Sequence[MessageQueue], now: int) -> None:
        """Remove queues from those to be read; from then on an unowned one is no gap."""
        for queue in queues:
            self._exists[self.place[queue]] = (self._exists[self.place[queue]][0], now)

    def is_first(self, place: int) -> bool:
        """Return True if a queue was there when the simulation began."""
        return self._exists[place][0] == 0

    def exists(self, place: int) -> bool:
        """Return True if a queue is to be read now."""
        return self._exists[place][1] == OPEN

    def begin(self, place: int, owner: int, now: int) -> int:
        """Let a process begin to work on a queue; return the number of the interval, for `end`."""
        self.owners[place].add(owner)
        if now > self.last_change:
            self.last_change = now
        self._queue.append(place)
        self._owner.append(owner)
        self._start.append(now)
        self._end.append(OPEN)
        return len(self._end) - 1

    def end(self, interval: int, now: int) -> None:
        """Let a process stop working on a queue."""
        self._end[interval] = max(now, self._start[interval])
        self.owners[self._queue[interval]].discard(self._owner[interval])
        if now > self.last_change:
            self.last_change = now

    def intervals(self, until: int) -> tuple[Spans, NDArray[np.int32]]:
        """Return all intervals and their owners; those still open end at ``until``."""
        end = np.array(self._end, np.int64)
        end[end == OPEN] = until
        spans = Spans(np.array(self._queue, np.int32), np.array(self._start, np.int64), end)
        return spans, np.array(self._owner, np.int32)

    def gaps(self, until: int) -> Spans:
        """Return when queues were unowned, from the first ownership of any queue of the topic on."""
        since = self._first_owned()
        born = np.array(
            [max(start, first) for (start, _), first in zip(self._exists, since, strict=True)],
            np.int64,
        )
        gone = np.array([until if end == OPEN else end for _, end in self._exists], np.int64)
        return self._counted(0, until, born, gone)

    def double_owned(self, until: int) -> Spans:
        """Return when queues were owned by two processes or more."""
        n = len(self.queues)
        return self._counted(2, until, np.zeros(n, np.int64), np.full(n, until, np.int64))

    def moves(self, until: int, names: NDArray[np.int32]) -> tuple[NDArray[np.int32], Times]:
        """Return the queues that went from one owner to another, and when the other began."""
        spans, owner = self.intervals(until)
        order = np.lexsort((np.arange(owner.size), spans.start, spans.queue))
        queue, name = spans.queue[order], names[owner[order]]
        moved = np.flatnonzero((queue[1:] == queue[:-1]) & (name[1:] != name[:-1])) + 1
        return queue[moved], spans.start[order][moved]

    def _first_owned(self) -> list[int]:
        """Return by queue when any queue of its topic was first owned; the far future if none ever
        was.
        """
        first: dict[str, int] = {}
        for place, start in zip(self._queue, self._start, strict=True):
            topic = self.queues[place].topic
            first[topic] = min(first.get(topic, start), start)
        return [first.get(queue.topic, 2**62) for queue in self.queues]

    def _counted(self, level: int, until: int, born: Times, gone: Times) -> Spans:
        """Return when a queue had no owner (level 0) or at least ``level``, between its birth and
        its end.
        """
        spans, _ = self.intervals(until)
        n = len(self.queues)
        everyone = np.arange(n, dtype=np.int32)
        queue = np.concatenate([spans.queue, spans.queue, everyone, everyone])
        time = np.concatenate([spans.start, spans.end, born, gone])
        step = np.repeat([1, -1, 0, 0], [spans.queue.size, spans.queue.size, n, n])
        order = np.lexsort((time, queue))
        queue, time, step = queue[order], time[order], step[order]
        owners = np.cumsum(step)  # every queue's steps sum to zero, so one sum serves all
        held = (owners == 0) if level == 0 else (owners >= level)
        start, end = np.maximum(time[:-1], born[queue[:-1]]), np.minimum(time[1:], gone[queue[:-1]])
        kept = held[:-1] & (queue[1:] == queue[:-1]) & (start < end)
        return _joined(Spans(queue[:-1][kept], start[kept], end[kept]))


def _joined(spans: Spans) -> Spans:
    """Merge adjoining stretches of one queue."""
    if not spans.queue.size:
        return spans
    first = np.r_[True, (spans.queue[1:] != spans.queue[:-1]) | (spans.start[1:] != spans.end[:-1])]
    return Spans(spans.queue[first], spans.start[first], spans.end[np.r_[first[1:], True]])
