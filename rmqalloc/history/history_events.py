"""What happened, in the order of time: `HistoryEvents`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Any, ClassVar

import pyarrow as pa

from rmqalloc.results import TableResult, drawn
from rmqalloc.results.and_more import more, named
from rmqalloc.results.renderer import NOTHING, duration, text_table
from rmqalloc.results.schemas import columns
from rmqalloc.text import counted

EVENTS_SCHEMA = columns(
    "last_seen_before first_seen_after consumer_group event client_id topic broker_name: string",
    "queue_id: int64",
    "owners_before owners_after: [string]",
    "rule severity message: string",
    "seconds: double",
)
"""Columns of `HistoryEvents.events`."""

EVENTS = (
    "joined",
    "left",
    "moved",
    "raised",
    "cleared",
    "settled",
    "settings",
    "appeared",
    "gone",
    "gap",
)
_HEADINGS = ("last seen before", "first seen after", "group", "event", "what")
_SHOWN = 50


@dataclass(frozen=True, eq=False, repr=False)
class HistoryEvents(TableResult):
    """What happened; `History.events` makes it.

    Attributes
    ----------
    events : pyarrow.Table
        One row per event, in the order of ``first_seen_after``: `EVENTS_SCHEMA`. It happened after
        ``last_seen_before`` and not after ``first_seen_after``, both ISO 8601 in local time with
        its offset; null where nothing is known before, or the gap has not ended. ``event`` is one
        of `EVENTS`. A queue that ``moved`` has its owners before and after, none for nobody, null
        for not known. Of a ``gap`` nothing is known between the two times, and ``message`` says
        why; its ``consumer_group`` is null where the whole cluster was not read. ``seconds`` is how
        long it took to settle.
    """

    TABLES: ClassVar = ("events",)
    NOTES: ClassVar = ()

    events: pa.Table


def events_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the table of rows, which may lack columns."""
    names = EVENTS_SCHEMA.names
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in names} for row in rows], schema=EVENTS_SCHEMA
    )


def event_lines(
    found: HistoryEvents, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield the events as text; queues of a group that moved between the same moments are one line."""
    top = _SHOWN if top is None else top
    rows = found.events.to_pylist()
    if not rows:
        yield "Nothing happened, as far as the history knows."
        return
    lines = [_cells(list(some)) for _, some in groupby(rows, _line_of)]
    yield from text_table(_HEADINGS, lines[:top], file=file, prose=_HEADINGS[-1:])
    yield from more(len(lines) - top, "line", " (--top)")


def _line_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    same = row["last_seen_before"], row["first_seen_after"], row["consumer_group"], row["event"]
    return (*same, row["event"] == "moved" or row["client_id"], row["message"])


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    one = rows[0]
    group = one["consumer_group"] or NOTHING
    return [
        one["last_seen_before"] or NOTHING,
        one["first_seen_after"] or NOTHING,
        group,
        one["event"],
        _what(rows),
    ]


def _what(rows: Sequence[Mapping[str, Any]]) -> str:
    one = rows[0]
    if one["event"] == "moved":
        return f"{counted(len(rows), 'queue')}: {named([_moved(row) for row in rows], 3)}"
    if one["event"] == "settled":
        return f"after {duration(one['seconds'])}"
    if one["rule"] is not None:
        return f"{one['severity']} {one['rule']}: {one['message']}"
    if one["event"] == "settings" and one["topic"] is None:
        return (
            "brokers of the cluster"
            if one["consumer_group"] is None
            else "subscriptions, strategy or mode of the group"
        )
    return str(one["client_id"] or one["message"] or one["topic"] or "")


def _moved(row: Mapping[str, Any]) -> str:
    owners = (_owners(row["owners_before"]), _owners(row["owners_after"]))
    return f"{row['topic']} {row['broker_name']}:{row['queue_id']} {' → '.join(owners)}"


def _owners(owners: Sequence[str] | None) -> str:
    return "not known" if owners is None else " + ".join(owners) or "nobody"


drawn(HistoryEvents, event_lines)
