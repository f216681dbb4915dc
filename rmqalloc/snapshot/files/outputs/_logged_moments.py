"""Logs of clients over time: which groups have changed, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from math import inf
from operator import itemgetter
from typing import NamedTuple

from rmqalloc.snapshot.files.outputs._client_log import Event, is_own_name, time_of
from rmqalloc.snapshot.files.outputs._logged_clients import (
    ClientLogs,
    clients_of,
    events_of,
    text_of,
)
from rmqalloc.snapshot.files.outputs._sections import Section

_SETTLES = 1.0
"""Seconds that a state lasts to be one: a rebalance prints its lines one after the other."""

_LAST_LINES = 1 << 16
"""Characters at the end of a log in which its last time stands."""


class Settled(NamedTuple):
    """Groups that have changed and then stayed for a while; times in seconds of the Unix clock."""

    since: float  # the first line of the change
    at: float  # the last
    names: Sequence[str]
    changing: Mapping[str, float]  # other groups that change meanwhile, since when
    logs: ClientLogs  # the same object each time


def clients_over_time(sections: Sequence[Section]) -> Iterator[Settled]:
    """Yield groups whenever they have changed and then stayed for a second, in the order of time; at
    the end none, with the moment up to which all logs go.

    Raises
    ------
    DocumentError
        As `clients_of`; or a log has no times.
    """
    logs = ClientLogs(clients_of(sections))
    changes: dict[str, _Span] = {}  # by group, in the order of their ends
    at = -inf
    for at, file, event in merge(*(_timed(section) for section in sections), key=itemgetter(0)):
        yield from _settled(changes, at - _SETTLES, logs)
        for name in logs.take(file, event):
            begun = changes.pop(name, None)
            changes[name] = _Span(begun.since if begun else at, at)
    yield from _settled(changes, inf, logs)
    end = max(at + 0.001, min(map(_end, sections)))
    yield Settled(end, end, (), {}, logs)


class _Span(NamedTuple):
    """When a group began to change, and when it changed last."""

    since: float
    at: float


def _settled(changes: dict[str, _Span], until: float, logs: ClientLogs) -> Iterator[Settled]:
    """Take off the groups that have not changed since a moment."""
    while changes:
        at = next(iter(changes.values())).at
        if at > until:
            return
        spans = {name: span for name, span in changes.items() if span.at == at}
        for name in spans:
            del changes[name]
        changing = {name: span.since for name, span in changes.items() if span.since <= at}
        yield Settled(min(span.since for span in spans.values()), at, [*spans], changing, logs)


def _timed(section: Section) -> Iterator[tuple[float, str, Event]]:
    """Yield events with their times in whole milliseconds; a time never goes back."""
    at = -inf
    for event in events_of(section):
        at = at if event.at is None else max(at, round(event.at, 3))
        if at == -inf:
            raise section.source.error(
                "this line has no time, so its place in a history is not known", event.line
            )
        yield at, section.source.name, event


def _end(section: Section) -> float:
    """Return the time of the last line that has one."""
    is_own = is_own_name(section.source.path)
    found = (
        time_of(line, is_own) for line in reversed(text_of(section)[-_LAST_LINES:].split("\n"))
    )
    return next((at for at in found if at is not None), -inf)
