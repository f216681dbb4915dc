"""Events in the order of time: `HistoryEvents`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import IO, Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.dataclass import dataclass
from rmqalloc.results import TableResult, drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import NOTHING, duration, text_table
from rmqalloc.results.schemas import columns
from rmqalloc.text import counted, shortened

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
_MOST_TEXT, _MOST_NAME = 2000, 500
_MOST_MOVES, _MOST_NAMED = 3, 8
"""Number of queues of a line that are named with their owners, and by their ids."""


@dataclass(frozen=True, eq=False, repr=False)
class HistoryEvents(TableResult):
    """Events of a cluster; the result of `History.events`.

    Attributes
    ----------
    events : pyarrow.Table
        One row per event, in the order of ``first_seen_after``: `EVENTS_SCHEMA`. The event happened
        after ``last_seen_before`` and not after ``first_seen_after``, both ISO 8601 in local time
        with the offset; null if nothing is known before, or the gap has not ended. ``event`` is one
        of `EVENTS`. A queue that ``moved`` has its owners before and after; an empty list means
        unowned, null unknown. The columns that are not null name the group, topic, broker or
        readable queue that ``appeared`` or is ``gone``. The time between the two moments of a
        ``gap`` is unknown, and ``message`` gives the reason; its ``consumer_group`` is null if the
        whole cluster was not read. ``seconds`` is the time that a group took to settle.
        long it took to settle.
    """

    TABLES: ClassVar = ("events",)
    NOTES: ClassVar = ()

    events: pa.Table


def events_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of rows; rows may lack columns."""
    names = EVENTS_SCHEMA.names
    data = [{name: row.get(name) for name in names} for row in rows]
    try:
        return pa.Table.from_pylist(data, schema=EVENTS_SCHEMA)
    except UnicodeEncodeError:  # half a surrogate pair, which Arrow's text cannot hold
        return pa.Table.from_pylist(list(map(_whole_pairs, data)), schema=EVENTS_SCHEMA)


def _whole_pairs(value: Any) -> Any:
    """Return a value with half surrogate pairs replaced, also within rows and lists."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_whole_pairs(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _whole_pairs(inner) for name, inner in value.items()}
    return value


_ROWS_AT_ONCE = 8192
_BYTES_PER_ROW = 150
_ROWS_OF_TEXT = 256


def events_in_order(rows: Iterable[Mapping[str, Any]], keep: Callable[[int], object]) -> pa.Table:
    """Return the table of rows in the order of their ``at``, and of their group.

    Rows are converted to columns in blocks of some thousands, which take a tenth of the memory.

    Parameters
    ----------
    rows : iterable of mapping
    keep : callable
        Receives the bytes of each row before it is kept; its error ends the reading.
    """
    tables, times = [], []
    found = iter(rows)
    while some := list(islice(found, _ROWS_AT_ONCE)):
        keep(sum(map(_bytes_of, some)))
        tables.append(events_table(some))
        times.append(pa.array([row["at"] for row in some], pa.int64()))
    if not tables:
        return events_table([])
    table = pa.concat_tables(tables)
    groups = pc.fill_null(table["consumer_group"], "")
    keys = pa.table({"at": pa.chunked_array(times), "group": groups})
    by = [(name, "ascending") for name in keys.column_names]
    order, columns = pc.sort_indices(keys, sort_keys=by), table.columns
    del table, tables, groups, keys
    for number, column in enumerate(columns):  # one after the other: no second table beside it
        columns[number] = column.take(order)
    return pa.table(columns, schema=EVENTS_SCHEMA)


def _bytes_of(row: Mapping[str, Any]) -> int:
    """Return about how much memory a row of the table takes."""
    texts = [text for value in row.values() for text in (value if type(value) is list else [value])]
    sizes = [len(text) * (1 if text.isascii() else 4) for text in texts if type(text) is str]
    return _BYTES_PER_ROW + sum(sizes)


def event_lines(
    found: HistoryEvents, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield the events as text; moves of a group between the same moments share one line."""
    top = _SHOWN if top is None else top
    if not found.events.num_rows:
        yield "The history has no events in this time."
        return
    changes = (_change_of(rows) for _, rows in groupby(_rows_of(found.events), _line_of))
    lines = [_cells(change) for change in islice(changes, top)]
    yield from text_table(_HEADINGS, lines, file=file, prose=_HEADINGS[-1:])
    yield from more(sum(1 for _ in changes), "line", " (--top)")


class _Change(NamedTuple):
    """The rows of one line: the first ones, and how many there are."""

    rows: Sequence[Mapping[str, Any]]
    n_rows: int

    def named(self, names: Sequence[str]) -> str:
        """Return names of the first rows, and how many more rows there are."""
        return " ".join([", ".join(names), *more(self.n_rows - len(names))])


def _change_of(rows: Iterator[Mapping[str, Any]]) -> _Change:
    first = list(islice(rows, _MOST_NAMED))
    return _Change(first, len(first) + sum(1 for _ in rows))


def _rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield rows, some hundreds at a time: each has texts of its own."""
    for batch in table.to_batches(max_chunksize=_ROWS_OF_TEXT):
        yield from batch.to_pylist()


def _line_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    same = row["last_seen_before"], row["first_seen_after"], row["consumer_group"], row["event"]
    if row["event"] == "moved":
        return same
    return (*same, row["client_id"], row["topic"], row["broker_name"], row["message"])


def _cells(change: _Change) -> list[str]:
    row = change.rows[0]
    times = row["last_seen_before"] or NOTHING, row["first_seen_after"] or NOTHING
    group = row["consumer_group"] or NOTHING
    return [
        *times,
        shortened(group, _MOST_TEXT),
        row["event"],
        shortened(_what(change), _MOST_TEXT),
    ]


def _what(change: _Change) -> str:
    one = change.rows[0]
    if one["event"] == "moved":
        moves = [_moved(row) for row in change.rows[:_MOST_MOVES]]
        return f"{counted(change.n_rows, 'queue')}: {change.named(moves)}"
    if one["event"] == "settled":
        return f"after {duration(one['seconds'])}"
    if one["queue_id"] is not None:
        ids = change.named([str(row["queue_id"]) for row in change.rows])
        return f"{counted(change.n_rows, 'queue')} of {one['topic']} on {one['broker_name']}: {ids}"
    if one["broker_name"] is not None:
        return f"broker {one['broker_name']}"
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
    if owners is None:
        return "not known"
    names = [shortened(name, _MOST_NAME) for name in owners[:_MOST_NAMED]]
    return " + ".join([*names, *more(len(owners) - len(names))]) or "nobody"


drawn(HistoryEvents, event_lines)
