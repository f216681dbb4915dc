"""Draw a simulation as text: a table of events, one of groups, and the timeline.

Names are made harmless. Equal results give equal texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.results import drawn
from rmqalloc.results.renderer import text_table
from rmqalloc.simulation._result import Ownership, Result
from rmqalloc.simulation._timeline import Spans
from rmqalloc.text import more, printable

COLUMNS = 96
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MOST_EVENTS = 40
"""Events that are shown unless more are asked for."""

_EVENTS = (
    "at event settled=settled_after unowned double=double_owned made=process_queues moved passes notices requests gap "
    "longest=longest_gap"
)
_GROUPS = (
    "group=consumer_group queues=n_queues processes=n_processes moved gaps=n_gaps longest=longest_gap double=n_double "
    "longest=longest_double twice=consumed_twice delayed delay=longest_delay left"
)
"""Columns of both tables: a heading, and the field where that has another name."""

_TIMES = {"at", "settled_after", "gap", "longest_gap", "longest_double", "longest_delay"}

NOBODY, BRIEFLY, SEVERAL, OTHERS = ".", ",", "#", "+"


class _Cells(NamedTuple):
    """What the rows of a picture show, row by queue and column by stretch of time."""

    owner: NDArray[np.int32]  # the process that owns longest, -1 for none
    gap: NDArray[np.float64]  # share of the column without an owner
    double: NDArray[np.float64]  # and with more than one


def text_timeline(result: Result, rows: int = 24) -> str:
    """Draw one line per queue and one letter per client, with marks for unowned and double-owned queues.

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
    blocks = []
    for ownership in result.ownerships:
        places = spread_rows(len(ownership.queues), rows)
        cells = _cells(ownership, places, result.duration)
        labels = [queue_label(ownership, place) for place in places]
        width = max(map(len, labels), default=0)
        lines = [f"{label:<{width}}  {_line(cells, row)}" for row, label in enumerate(labels)]
        more = f" ({len(places)} of {len(ownership.queues)} queues)" if len(places) < len(ownership.queues) else ""
        step = result.duration / COLUMNS / 1000
        marks = f"{NOBODY} nobody, {BRIEFLY} nobody briefly, {SEVERAL} several"
        title = f"{printable(ownership.consumer_group)}{more}: one column is {step:.2f} s, {marks}"
        blocks.append("\n".join([title, *lines, _legend(ownership)]))
    return "\n\n".join(blocks)


def spread_rows(n_queues: int, rows: int) -> list[int]:
    """Return the positions of all queues, or of as many as there is room for, at even distances."""
    return list(range(n_queues)) if n_queues <= rows else [i * n_queues // rows for i in range(rows)]


def queue_label(ownership: Ownership, place: int) -> str:
    """Return topic, broker name and queue id of the row at `place`."""
    topic, broker_name, queue_id = ownership.queues[place]
    return printable(f"{topic} {broker_name} {queue_id}")


def _cells(ownership: Ownership, places: Sequence[int], duration: int) -> _Cells:
    """Return the cells of the picture, with time cut into columns."""
    row_of = np.full(len(ownership.queues), -1, np.int64)
    row_of[list(places)] = np.arange(len(places))
    shape = (len(places), COLUMNS)
    owner, most = np.full(shape, -1, np.int32), np.zeros(shape)
    for i, row, columns, share in _shares(ownership.intervals, row_of, duration):
        longer = share > most[row, columns]
        owner[row, columns[longer]] = ownership.processes[i]
        most[row, columns[longer]] = share[longer]
    gap, double = np.zeros(shape), np.zeros(shape)
    for marked, spans in ((gap, ownership.gaps), (double, ownership.double_owned)):
        for _, row, columns, share in _shares(spans, row_of, duration):
            marked[row, columns] += share
    return _Cells(owner, gap, double)


def _shares(
    spans: Spans, row_of: NDArray[np.int64], duration: int
) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield of every span shown its number, its row, the columns it touches and how much of each it covers."""
    for i in np.flatnonzero(row_of[spans.queue] >= 0).tolist():
        first, last = int(spans.start[i]) * COLUMNS / duration, int(spans.end[i]) * COLUMNS / duration
        columns = np.arange(int(first), min(int(np.ceil(last)), COLUMNS))
        yield i, int(row_of[spans.queue[i]]), columns, np.minimum(columns + 1, last) - np.maximum(columns, first)


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


def _legend(ownership: Ownership) -> str:
    ids = [printable(client_id) for client_id in ownership.client_ids]
    named = [f"{letter} {client_id}" for letter, client_id in zip(LETTERS, ids[:12], strict=False)]
    others = f"; {OTHERS} any but the first {len(LETTERS)}" if len(ids) > len(LETTERS) else ""
    return ", ".join(named) + (f", ... ({len(ids):,} processes{others})" if len(ids) > 12 else "")


def result_lines(result: Result, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
    """Yield events, groups and the timeline; 40 events unless ``top`` is given."""
    most = top or MOST_EVENTS
    yield f"{printable(result.name)}: RocketMQ {result.profile}, seed {result.seed}, {_seconds(result.duration)}"
    yield ""
    yield from _table(_EVENTS, result.events[:most])
    yield from (f"... {line}" for line in more(len(result.events) - most, "event"))
    yield ""
    yield from _table(_GROUPS, result.groups)
    yield ""
    yield from text_timeline(result).split("\n")


def _table(columns: str, rows: Sequence[Any]) -> list[str]:
    named = [column.partition("=") for column in columns.split()]
    fields = [field or heading for heading, _, field in named]
    cells = [
        [_seconds(getattr(row, one)) if one in _TIMES else str(getattr(row, one)) for one in fields] for row in rows
    ]
    return text_table([heading for heading, _, _ in named], cells)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}s"


drawn(Result, result_lines)
