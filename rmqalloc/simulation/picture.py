"""The timeline of a simulation as text and as SVG. All names are made harmless, and equal results give equal pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.simulation.result import Ownership, Result
from rmqalloc.simulation.timeline import Spans
from rmqalloc.text import printable

COLUMNS = 96
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NOBODY, BRIEFLY, SEVERAL, OTHERS = ".", ",", "#", "+"
PALETTE = ("#4e79a7", "#f28e2b", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#86bcb6", "#8cd17d")
GAP, DOUBLE = "#d62728", "#111111"
LEFT, TOP, WIDTH, ROW, BAR = 170, 46, 780, 14, 10


class _Cells(NamedTuple):
    """What the rows of a picture show, row by queue and column by stretch of time."""

    owner: NDArray[np.int32]  # the process that owns longest, -1 for none
    gap: NDArray[np.float64]  # share of the column without an owner
    double: NDArray[np.float64]  # and with more than one


def text_timeline(result: Result, rows: int = 24) -> str:
    """One line per queue and one letter per client, with marks for queues owned by nobody or by several.

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
        places = _chosen(len(ownership.queues), rows)
        cells = _cells(ownership, places, result.duration)
        labels = [_label(ownership, place) for place in places]
        width = max(map(len, labels), default=0)
        lines = [f"{label:<{width}}  {_line(cells, row)}" for row, label in enumerate(labels)]
        more = f" ({len(places)} of {len(ownership.queues)} queues)" if len(places) < len(ownership.queues) else ""
        step = result.duration / COLUMNS / 1000
        marks = f"{NOBODY} nobody, {BRIEFLY} nobody briefly, {SEVERAL} several"
        title = f"{printable(ownership.consumer_group)}{more}: one column is {step:.2f} s, {marks}"
        blocks.append("\n".join([title, *lines, _legend(ownership)]))
    return "\n\n".join(blocks)


def svg_timeline(result: Result, rows: int = 48) -> str:
    """The same as a picture: a row per queue, a colour per client, red for nobody, black for more than one.

    Every text is escaped and has no control characters; no number depends on anything but the result.
    """
    parts: list[str] = []
    top = TOP
    for ownership in result.ownerships:
        places = _chosen(len(ownership.queues), rows)
        parts += _svg_group(ownership, places, top, result.duration)
        top += 24 + ROW * len(places)
    events = [(event.at, event.event) for event in result.events[1:]]
    lines = [_svg_event(at, event, i, top, result.duration) for i, (at, event) in enumerate(events)]
    height = top + 30 + 13 * len(events)
    title = f"{result.name} (RocketMQ {result.profile}, seed {result.seed}; red: nobody, black: several)"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" '
        f'font-family="sans-serif" font-size="10">'
    )
    background = f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="#ffffff"/>'
    heading = f'<text x="{LEFT}" y="18" font-size="13">{_escaped(title)}</text>'
    return "\n".join([head, background, heading, *parts, _svg_axis(top, result.duration), *lines, "</svg>"]) + "\n"


def _escaped(text: str) -> str:
    return escape(printable(text))


def _chosen(n_queues: int, rows: int) -> list[int]:
    """All queues, or as many as there is room for, at even distances."""
    return list(range(n_queues)) if n_queues <= rows else [i * n_queues // rows for i in range(rows)]


def _label(ownership: Ownership, place: int) -> str:
    topic, broker_name, queue_id = ownership.queues[place]
    return printable(f"{topic} {broker_name} {queue_id}")


# --- Text ---


def _cells(ownership: Ownership, places: Sequence[int], duration: int) -> _Cells:
    """Cut time into columns."""
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
    """Of every span that is shown: its number, its row, the columns it touches and how much of each it covers."""
    for i in np.flatnonzero(row_of[spans.queue] >= 0).tolist():
        first, last = int(spans.start[i]) * COLUMNS / duration, int(spans.end[i]) * COLUMNS / duration
        columns = np.arange(int(first), min(int(np.ceil(last)), COLUMNS))
        yield i, int(row_of[spans.queue[i]]), columns, np.minimum(columns + 1, last) - np.maximum(columns, first)


def _line(cells: _Cells, row: int) -> str:
    """Double ownership shows before a gap, a gap before an owner."""
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
    return ", ".join(named) + (f", ... ({len(ids)} processes)" if len(ids) > 12 else "")


# --- SVG ---


def _x(time: int, duration: int) -> str:
    return f"{LEFT + WIDTH * min(time, duration) / duration:.2f}"


def _bar(spans: Spans, i: int, y: float, height: float, duration: int) -> str:
    """Place and size of a bar; the shortest is still to be seen."""
    width = max(0.6, WIDTH * int(spans.end[i] - spans.start[i]) / duration)
    return f'x="{_x(int(spans.start[i]), duration)}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}"'


def _svg_group(ownership: Ownership, places: Sequence[int], top: int, duration: int) -> list[str]:
    row_of = {place: row for row, place in enumerate(places)}
    numbers: dict[str, int] = {}
    colours = [
        PALETTE[numbers.setdefault(client_id, len(numbers)) % len(PALETTE)] for client_id in ownership.client_ids
    ]
    n = len(ownership.queues)
    said = ownership.consumer_group + (f" ({len(places):,} of {n:,} queues)" if len(places) < n else "")
    parts = [f'<text x="4" y="{top - 6}" font-weight="bold">{_escaped(said)}</text>']
    for place, row in row_of.items():
        parts.append(f'<text x="4" y="{top + ROW * row + 9}">{_escaped(_label(ownership, place)[:28])}</text>')
    spans = ownership.intervals
    for i in np.lexsort((ownership.processes, spans.start, spans.queue)).tolist():
        row_of_queue = row_of.get(int(spans.queue[i]))
        if row_of_queue is not None and spans.end[i] > spans.start[i]:
            process = int(ownership.processes[i])
            said = _escaped(f"{ownership.client_ids[process]} {spans.start[i]}-{spans.end[i]} ms")
            bar = _bar(spans, i, top + ROW * row_of_queue, BAR, duration)
            parts.append(f'<rect {bar} fill="{colours[process]}"><title>{said}</title></rect>')
    for marks, colour in ((ownership.gaps, GAP), (ownership.double_owned, DOUBLE)):
        for i, queue in enumerate(marks.queue.tolist()):
            if queue in row_of:
                parts.append(f'<rect {_bar(marks, i, top + ROW * row_of[queue], BAR, duration)} fill="{colour}"/>')
    return parts


def _svg_axis(top: int, duration: int) -> str:
    ticks = [duration * i // 6 for i in range(7)]
    return "\n".join(
        f'<text x="{_x(tick, duration)}" y="{top - 4}" text-anchor="middle">{tick / 1000:g} s</text>' for tick in ticks
    )


def _svg_event(at: int, event: str, number: int, top: int, duration: int) -> str:
    """A line through the picture, and below it what happened."""
    x, y = _x(at, duration), top + 18 + 13 * number
    line = f'<line x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{top - 16}" stroke="#555555" stroke-dasharray="3 2"/>'
    said = _escaped(f"{number + 1}  {at / 1000:g} s  {event}"[:150])
    return f'{line}\n<text x="{x}" y="{TOP - 17}" text-anchor="middle">{number + 1}</text>\n<text x="4" y="{y}">{said}</text>'
