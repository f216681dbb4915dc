"""The result of a simulation as text: a table of events, one of groups, and the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from rmqalloc.results import drawn
from rmqalloc.results.terminal import text_table
from rmqalloc.simulation._result import Result
from rmqalloc.simulation._timeline_text import text_timeline
from rmqalloc.text import printable

MOST_ROWS = 40
_EVENT_HEADER = (
    "at",
    "event",
    "settled",
    "unowned",
    "double",
    "made",
    "moved",
    "passes",
    "notices",
    "requests",
    "gap",
    "longest",
)
_GROUP_HEADER = (
    "group",
    "queues",
    "processes",
    "moved",
    "gaps",
    "longest",
    "double",
    "longest",
    "twice",
    "delayed",
    "delay",
    "left",
)


def result_lines(result: Result, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
    """Events, groups and the timeline; of 40 events unless ``top`` is given."""
    most = top or MOST_ROWS
    yield f"{printable(result.name)}: RocketMQ {result.profile}, seed {result.seed}, {_seconds(result.duration)}"
    yield ""
    rows = [
        (
            _seconds(event.at),
            event.event,
            _seconds(event.settled_after),
            *map(str, (event.unowned, event.double_owned, event.process_queues, event.moved)),
            *map(str, (event.passes, event.notices, event.requests)),
            _seconds(event.gap),
            _seconds(event.longest_gap),
        )
        for event in result.events
    ]
    yield from text_table(_EVENT_HEADER, rows[:most])
    if len(rows) > most:
        yield f"... and {len(rows) - most} more events"
    yield ""
    groups = [
        (
            group.consumer_group,
            *map(str, (group.n_queues, group.n_processes, group.moved, group.n_gaps)),
            _seconds(group.longest_gap),
            str(group.n_double),
            _seconds(group.longest_double),
            *map(str, (group.consumed_twice, group.delayed)),
            _seconds(group.longest_delay),
            str(group.left),
        )
        for group in result.groups
    ]
    yield from text_table(_GROUP_HEADER, groups)
    yield ""
    yield from text_timeline(result).split("\n")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}s"


drawn(Result, result_lines)
