"""Draw a simulation as text: a table of events, one of groups, and the timeline.

Names are made harmless. Equal results give equal texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import duration, figure, text_table
from rmqalloc.results.wrapping import GAP, line_width, width_of, wrapped
from rmqalloc.simulation._result import Ownership, Quantiles, Result
from rmqalloc.simulation._timeline import Spans
from rmqalloc.text import counted, printable, shortened

COLUMNS, LEAST_COLUMNS = 96, 24
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MOST_ROWS = 24
"""Default number of shown queues of a group."""
MOST_EVENTS = 40
"""Default number of shown events."""

_EVENTS = (
    "at settled=settled_after unowned double=double_owned moved gap longest=longest_gap lasting=longest_double "
    "twice=consumed_twice delayed delay=longest_delay made=process_queues passes notices requests event"
)
_GROUPS = (
    "group=consumer_group queues=n_queues processes=n_processes moved gaps=n_gaps longest=longest_gap double=n_double "
    "lasting=longest_double twice=consumed_twice delayed delay=longest_delay left"
)
"""Columns of both tables: a heading, and the field where that has another name."""

_SPARE = ("requests", "notices", "passes", "made", "delay", "lasting", "gap", "processes", "queues")
"""Columns that are left out where a line is too long, the first of them first."""

_TEXTS = {"", "event", "group"}
_TIMES = {"at", "settled_after", "gap", "longest_gap", "longest_double", "longest_delay"}

NOBODY, BRIEFLY, SEVERAL, OTHERS = ".", ",", "#", "+"


class _Cells(NamedTuple):
    """Cells of a picture; a row is a queue, a column a stretch of time."""

    owner: NDArray[np.int32]  # the process that owns longest, -1 for none
    gap: NDArray[np.float64]  # share of the column without an owner
    double: NDArray[np.float64]  # share of the column with more than one


class _Picture(NamedTuple):
    """The timeline of a group."""

    title: str
    lines: list[str]
    legend: list[str]


def _picture(result: Result, ownership: Ownership, width: int) -> _Picture:
    """Draw the timeline of a group: 96 columns, or as many as fit behind the names of queues, which
    are shortened if need be.
    """
    places = _spread(len(ownership.queues))
    most = max(LEAST_COLUMNS, width // 2)
    labels = [shortened(_label(ownership, place), most) for place in places]
    longest = max(map(width_of, labels), default=0)
    n_columns = min(COLUMNS, max(LEAST_COLUMNS, width - longest - len(GAP)))
    cells = _cells(ownership, places, result, n_columns)
    lines = []
    for row, label in enumerate(labels):
        padding = " " * (longest - width_of(label))
        lines.append(f"{label}{padding}  {_line(cells, row)}")
    n_shown, n_queues = len(places), len(ownership.queues)
    of_all = f" ({n_shown} of {n_queues} queues)" if n_shown < n_queues else ""
    step = result.duration / n_columns / 1000
    marks = f"{NOBODY} unowned, {BRIEFLY} briefly unowned, {SEVERAL} double-owned"
    title = f"{printable(ownership.consumer_group)}{of_all}: one column is {step:.2f} s, {marks}"
    return _Picture(title, lines, _legend(ownership))


def _spread(n_queues: int) -> list[int]:
    """Return the positions of all queues, or of as many as there is room for, at even distances."""
    if n_queues <= MOST_ROWS:
        return list(range(n_queues))
    return [i * n_queues // MOST_ROWS for i in range(MOST_ROWS)]


def _label(ownership: Ownership, place: int) -> str:
    """Return topic, broker name and queue id of the row at `place`."""
    topic, broker_name, queue_id = ownership.queues[place]
    return printable(f"{topic} {broker_name} {queue_id}")


def _cells(ownership: Ownership, places: Sequence[int], result: Result, n_columns: int) -> _Cells:
    """Return the cells of the picture, with time cut into columns."""
    row_of = np.full(len(ownership.queues), -1, np.int64)
    row_of[list(places)] = np.arange(len(places))
    shape = (len(places), n_columns)
    owner, most = np.full(shape, -1, np.int32), np.zeros(shape)
    for span in _drawn_spans(ownership.intervals, row_of, result, n_columns):
        row = span.row
        longer = span.covered > most[row, span.columns]
        columns = span.columns[longer]
        owner[row, columns] = ownership.processes[span.number]
        most[row, columns] = span.covered[longer]
    gap, double = np.zeros(shape), np.zeros(shape)
    for span in _drawn_spans(ownership.gaps, row_of, result, n_columns):
        gap[span.row, span.columns] += span.covered
    for span in _drawn_spans(ownership.double_owned, row_of, result, n_columns):
        double[span.row, span.columns] += span.covered
    return _Cells(owner, gap, double)


class _DrawnSpan(NamedTuple):
    """The cells that a span touches."""

    number: int  # of the span
    row: int
    columns: NDArray[np.int64]
    covered: NDArray[np.float64]  # share of each column


def _drawn_spans(
    spans: Spans, row_of: NDArray[np.int64], result: Result, n_columns: int
) -> Iterator[_DrawnSpan]:
    """Yield the spans that have a row."""
    for i in np.flatnonzero(row_of[spans.queue] >= 0).tolist():
        first = max(0, int(spans.start[i]) - result.since) * n_columns / result.duration
        last = (int(spans.end[i]) - result.since) * n_columns / result.duration
        if last <= 0:
            continue
        columns = np.arange(int(first), min(int(np.ceil(last)), n_columns))
        covered = np.minimum(columns + 1, last) - np.maximum(columns, first)
        yield _DrawnSpan(i, int(row_of[spans.queue[i]]), columns, covered)


def _line(cells: _Cells, row: int) -> str:
    """Return the letters of a row: double ownership hides a gap, a gap hides an owner."""
    owners, gaps, doubles = (cells_of_kind[row].tolist() for cells_of_kind in cells)
    return "".join(map(_letter, owners, gaps, doubles))


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
    others = (
        f"; {OTHERS} any process after the first {len(LETTERS)}" if len(ids) > len(LETTERS) else ""
    )
    return [*named, f"... ({len(ids):,} processes{others})"] if len(ids) > 12 else named


def result_lines(
    result: Result, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield events, groups and the timeline; 40 events unless ``top`` is given.

    Of several runs, each event and each group has three rows.
    """
    most = top or MOST_EVENTS
    runs = f"seed {result.seed}"
    if result.n_runs > 1:
        runs = f"{counted(result.n_runs, 'run')} from seed {result.seed} on"
    length = duration(result.duration / 1000)
    yield from wrapped(
        f"{printable(result.name)}: RocketMQ {result.profile}, {runs}, {length}", file
    )
    events = _by_name(result.events, "number")
    yield ""
    yield from _table(_EVENTS, events[:most], file)
    yield from (f"... {line}" for line in more(len(events) - most, "event"))
    yield ""
    yield from _table(_GROUPS, _by_name(result.groups, "consumer_group"), file)
    if result.n_runs > 1:
        yield ""
        yield from wrapped(
            f"the run in which queues were unowned longest, seed {result.drawn_seed}:", file
        )
    for ownership in result.ownerships:
        yield ""
        picture = _picture(result, ownership, line_width(file))
        yield from wrapped(picture.title, file)
        yield from picture.lines
        yield from wrapped(", ".join(picture.legend), file)


def _by_name(rows: Sequence[Any], name: str) -> list[list[Any]]:
    """Return rows of all runs by event or by group."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(getattr(row, name), []).append(row)
    return list(found.values())


def _table(columns: str, rows: Sequence[Sequence[Any]], file: IO[str] | None) -> list[str]:
    """Return a table: a row of figures for one run, three for several."""
    by_heading = {}
    for column in columns.split():
        heading, _, field = column.partition("=")
        field = field or heading
        values = map(attrgetter(field), chain.from_iterable(rows))
        if any(value is not None for value in values):
            by_heading[heading] = field
    cells: list[list[str]] = []
    for of_runs in rows:
        cells += _lines_of(of_runs, list(by_heading.values()))
    header = ["", *by_heading] if rows and len(rows[0]) > 1 else list(by_heading)
    numbers = {*by_heading} - _TEXTS
    return text_table(header, cells, numbers, file, prose=("event",), spare=_SPARE)


def _lines_of(of_runs: Sequence[Any], fields: Sequence[str]) -> Iterator[list[str]]:
    """Yield the cells of one run, or those of the quantiles of several; texts stand in the first."""
    if len(of_runs) == 1:
        yield [_cell(getattr(of_runs[0], field), field) for field in fields]
        return
    lines = [[name] for name in Quantiles._fields]
    for field in fields:
        values = list(map(attrgetter(field), of_runs))
        first = values[0]
        is_figure = first is not None and not isinstance(first, str)
        found = Quantiles.of(values) if is_figure else (first, *[""] * (len(lines) - 1))
        for line, value in zip(lines, found, strict=True):
            line.append(_cell(value, field))
    yield from lines


def _cell(value: Any, field: str) -> str:
    if value is None:
        return ""
    if field in _TIMES and not isinstance(value, str):
        return duration(value / 1000)
    return figure(value)


drawn(Result, result_lines)
