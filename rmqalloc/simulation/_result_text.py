"""Draw a simulation as text: a table of events, one of groups, and the timeline.

Names are made harmless. Equal results give equal texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import duration, figure, text_table
from rmqalloc.results.wrapping import GAP, line_width, width_of, wrapped
from rmqalloc.simulation._result import Ownership, Result
from rmqalloc.simulation._timeline import Spans
from rmqalloc.text import printable, shortened

COLUMNS, LEAST_COLUMNS = 96, 24
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MOST_ROWS = 24
"""Queues of a group that are shown unless told otherwise."""
MOST_EVENTS = 40
"""Events that are shown unless more are asked for."""

_EVENTS = (
    "at settled=settled_after unowned double=double_owned moved gap longest=longest_gap made=process_queues passes notices "
    "requests event"
)
_GROUPS = (
    "group=consumer_group queues=n_queues processes=n_processes moved gaps=n_gaps longest=longest_gap double=n_double "
    "lasting=longest_double twice=consumed_twice delayed delay=longest_delay left"
)
"""Columns of both tables: a heading, and the field where that has another name."""

_SPARE = ("requests", "notices", "passes", "made", "gap", "lasting", "processes", "queues")
"""Columns that are left out where a line is too long, the first of them first."""

_TEXTS = {"event", "group"}
_TIMES = {"at", "settled_after", "gap", "longest_gap", "longest_double", "longest_delay"}

NOBODY, BRIEFLY, SEVERAL, OTHERS = ".", ",", "#", "+"


class _Cells(NamedTuple):
    """What the rows of a picture show, row by queue and column by stretch of time."""

    owner: NDArray[np.int32]  # the process that owns longest, -1 for none
    gap: NDArray[np.float64]  # share of the column without an owner
    double: NDArray[np.float64]  # and with more than one


def text_timeline(result: Result, rows: int = MOST_ROWS) -> str:
    """Draw one line per queue and one letter per client, with marks for unowned and double-owned
    queues.

    Parameters
    ----------
    result : Result
        What to show.
    rows : int
        Most queues of a group to show; of more, some at even distances.

    Examples
    --------
    >>> from rmqalloc.simulation import Script, simulate
    >>> script = Script.of({"duration": "10s", "brokers": "b", "topics": [{"name": "t", "read_queue_nums": 2}],
    ...     "groups": [{"name": "g", "topics": "t", "clients": ["x", "y"]}]})
    >>> print(text_timeline(simulate(script)).splitlines()[1][:40])
    t b 0  .........aaaaaaaaaaaaaaaaaaaaaaaa
    """
    blocks = (_picture(result, one, rows) for one in result.ownerships)
    return "\n\n".join(
        "\n".join([title, *lines, ", ".join(legend)]) for title, lines, legend in blocks
    )


def _picture(
    result: Result, ownership: Ownership, rows: int, width: int | None = None
) -> tuple[str, list[str], list[str]]:
    """Return the title of a group's timeline, its lines, and the parts of its legend.

    It has 96 columns, or as many as a line has room for behind the names of queues.
    """
    places = spread_rows(len(ownership.queues), rows)
    labels = [queue_label(ownership, place) for place in places]
    if width is not None:  # names give way to the picture
        labels = [shortened(label, max(LEAST_COLUMNS, width // 2)) for label in labels]
    longest = max(map(width_of, labels), default=0)
    n_columns = (
        COLUMNS if width is None else min(COLUMNS, max(LEAST_COLUMNS, width - longest - len(GAP)))
    )
    cells = _cells(ownership, places, result.duration, n_columns)
    lines = [
        f"{label}{' ' * (longest - width_of(label))}  {_line(cells, row)}"
        for row, label in enumerate(labels)
    ]
    more = (
        f" ({len(places)} of {len(ownership.queues)} queues)"
        if len(places) < len(ownership.queues)
        else ""
    )
    step = result.duration / n_columns / 1000
    marks = f"{NOBODY} nobody, {BRIEFLY} nobody briefly, {SEVERAL} several"
    title = f"{printable(ownership.consumer_group)}{more}: one column is {step:.2f} s, {marks}"
    return title, lines, _legend(ownership)


def spread_rows(n_queues: int, rows: int) -> list[int]:
    """Return the positions of all queues, or of as many as there is room for, at even distances."""
    return (
        list(range(n_queues)) if n_queues <= rows else [i * n_queues // rows for i in range(rows)]
    )


def queue_label(ownership: Ownership, place: int) -> str:
    """Return topic, broker name and queue id of the row at `place`."""
    topic, broker_name, queue_id = ownership.queues[place]
    return printable(f"{topic} {broker_name} {queue_id}")


def _cells(ownership: Ownership, places: Sequence[int], length: int, n_columns: int) -> _Cells:
    """Return the cells of the picture, with time cut into columns."""
    row_of = np.full(len(ownership.queues), -1, np.int64)
    row_of[list(places)] = np.arange(len(places))
    shape = (len(places), n_columns)
    owner, most = np.full(shape, -1, np.int32), np.zeros(shape)
    for i, row, columns, share in _shares(ownership.intervals, row_of, length, n_columns):
        longer = share > most[row, columns]
        owner[row, columns[longer]] = ownership.processes[i]
        most[row, columns[longer]] = share[longer]
    gap, double = np.zeros(shape), np.zeros(shape)
    for marked, spans in ((gap, ownership.gaps), (double, ownership.double_owned)):
        for _, row, columns, share in _shares(spans, row_of, length, n_columns):
            marked[row, columns] += share
    return _Cells(owner, gap, double)


def _shares(
    spans: Spans, row_of: NDArray[np.int64], length: int, n_columns: int
) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield of every span shown its number, its row, the columns it touches and how much of each it
    covers.
    """
    for i in np.flatnonzero(row_of[spans.queue] >= 0).tolist():
        first, last = (
            int(spans.start[i]) * n_columns / length,
            int(spans.end[i]) * n_columns / length,
        )
        columns = np.arange(int(first), min(int(np.ceil(last)), n_columns))
        yield (
            i,
            int(row_of[spans.queue[i]]),
            columns,
            np.minimum(columns + 1, last) - np.maximum(columns, first),
        )


def _line(cells: _Cells, row: int) -> str:
    """Return the letters of a row: double ownership hides a gap, a gap hides an owner."""
    columns = zip(*(cell[row].tolist() for cell in cells), strict=True)
    return "".join(_letter(owner, gap, double) for owner, gap, double in columns)


def _letter(owner: int, gap: float, double: float) -> str:
    if double:
        return SEVERAL
    if owner < 0 or gap > 0.5:
        return NOBODY
    if gap:
        return BRIEFLY
    return LETTERS[owner] if owner < len(LETTERS) else OTHERS


def _legend(ownership: Ownership) -> list[str]:
    ids = [printable(client_id) for client_id in ownership.client_ids]
    named = [f"{letter} {client_id}" for letter, client_id in zip(LETTERS, ids[:12], strict=False)]
    others = f"; {OTHERS} any but the first {len(LETTERS)}" if len(ids) > len(LETTERS) else ""
    return [*named, f"... ({len(ids):,} processes{others})"] if len(ids) > 12 else named


def result_lines(
    result: Result, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield events, groups and the timeline; 40 events unless ``top`` is given."""
    most = top or MOST_EVENTS
    length = duration(result.duration / 1000)
    yield from wrapped(
        f"{printable(result.name)}: RocketMQ {result.profile}, seed {result.seed}, {length}", file
    )
    yield ""
    yield from _table(_EVENTS, result.events[:most], file)
    yield from (f"... {line}" for line in more(len(result.events) - most, "event"))
    yield ""
    yield from _table(_GROUPS, result.groups, file)
    for ownership in result.ownerships:
        yield ""
        yield from timeline_lines(result, ownership, file)


def timeline_lines(result: Result, ownership: Ownership, file: IO[str] | None) -> Iterator[str]:
    """Yield the timeline of a group as wide as there is room."""
    title, lines, legend = _picture(result, ownership, MOST_ROWS, line_width(file))
    yield from wrapped(title, file)
    yield from lines
    yield from wrapped(", ".join(legend), file)


def _table(columns: str, rows: Sequence[Any], file: IO[str] | None) -> list[str]:
    named = [column.partition("=") for column in columns.split()]
    by_heading = {heading: field or heading for heading, _, field in named}
    cells = [[_cell(getattr(row, one), one) for one in by_heading.values()] for row in rows]
    return text_table(
        list(by_heading), cells, {*by_heading} - _TEXTS, file, prose=("event",), spare=_SPARE
    )


def _cell(value: Any, field: str) -> str:
    return duration(value / 1000) if field in _TIMES else figure(value)


drawn(Result, result_lines)
