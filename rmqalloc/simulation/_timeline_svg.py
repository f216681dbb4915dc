"""The timeline of a simulation as SVG: a row per queue, a colour, pattern and number per client,
and a legend of the clients.

The picture's size is bounded, and it says how much it leaves out. It brings its own white
background, so it looks the same on light and on dark pages. All names are escaped and never become
ids or attributes, and equal results give equal pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from rmqalloc.fleet.columns import among
from rmqalloc.simulation._result import EventResult, Ownership, Result
from rmqalloc.simulation._result_text import queue_label, spread_rows
from rmqalloc.simulation._timeline import Spans
from rmqalloc.text import counted, printable, shortened

LEFT, TOP, WIDTH, ROW, BAR = 170, 46, 780, 14, 10
FULL = LEFT + WIDTH + 20
LINE, COLUMNS, COLUMN = 15, 5, 190
MOST_GROUPS, MOST_EVENTS = 12, 60
NUMBERED = 18.0
"""Width of the narrowest bar that bears the number of its client."""

# The first eight clients have plain colours; the next ones repeat them under a pattern, because not
# everybody can tell more than eight colours apart. The colours differ from each other, from white,
# from the two colours with a fixed meaning and from the grey of all others, also for readers with
# protanopia, deuteranopia or tritanopia.
COLOURS = ("#56b4e9", "#f28e2b", "#0072b2", "#f0e442", "#332288", "#8cd17d", "#882255", "#b07aa1")
BACKGROUND, GAP, DOUBLE, OTHERS = "#ffffff", "#d62728", "#111111", "#c8c8c8"

_PATTERNS = (
    "",
    '<path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="{ink}" stroke-width="2"/>',
    '<circle cx="2" cy="2" r="1.3" fill="{ink}"/><circle cx="6" cy="6" r="1.3" fill="{ink}"/>',
    '<path d="M0 4H8" stroke="{ink}" stroke-width="2.5"/>',
    '<path d="M-2 6L2 10M0 0L8 8M6 -2L10 2" stroke="{ink}" stroke-width="2"/>',
    '<path d="M4 0V8M0 4H8" stroke="{ink}" stroke-width="1.2"/>',
)
MOST_STYLES = len(COLOURS) * len(_PATTERNS)


def fill(number: int) -> str:
    """Return the fill of the bars of a client, by its number from 0; grey beyond `MOST_STYLES`.

    Examples
    --------
    >>> fill(0), fill(8), fill(1_000)
    ('#56b4e9', 'url(#client-9)', '#c8c8c8')
    """
    if number < len(COLOURS):
        return COLOURS[number]
    return f"url(#client-{number + 1})" if number < MOST_STYLES else OTHERS


def definitions(n: int) -> Iterator[str]:
    """Yield the patterns of the first ``n`` clients, as elements of SVG ``defs``."""
    for number in range(len(COLOURS), min(n, MOST_STYLES)):
        colour = COLOURS[number % len(COLOURS)]
        marks = _PATTERNS[number // len(COLOURS)].format(ink=_ink(colour))
        yield (
            f'<pattern id="client-{number + 1}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect width="8" height="8" fill="{colour}"/>{marks}</pattern>'
        )


def _ink(colour: str) -> str:
    """Return an ink that is visible on a colour: white on dark ones, black on light ones."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#ffffff" if 299 * red + 587 * green + 114 * blue < 140_000 else "#222222"


def svg_timeline(result: Result, rows: int = 48) -> str:
    """Draw the timeline: a row per queue, a colour per client, red for nobody, black for more than
    one.

    A legend names the clients of each group, 48 at most; all others are grey. The full names are
    titles, which browsers show where one points. Every text is escaped and has no control
    characters; no number depends on anything but the result.

    Parameters
    ----------
    result : Result
        What to show: 12 groups and 60 events of it at most.
    rows : int
        Most queues of a group to show; of more, some at even distances.

    Examples
    --------
    >>> from rmqalloc.simulation import Script, simulate
    >>> script = Script.of({"duration": "10s", "brokers": "b", "topics": [{"name": "t", "read_queue_nums": 2}],
    ...     "groups": [{"name": "g", "topics": "t", "clients": ["x", "y"]}]})
    >>> svg_timeline(simulate(script)).count("<title>")
    4
    """
    parts, height = timeline_parts(result, rows)
    return "\n".join([svg_head(height), *parts, "</svg>"]) + "\n"


def svg_head(height: int) -> str:
    """Return the opening tag of a picture as wide as a timeline."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {FULL} {height}" font-family="sans-serif" font-size="10">'


def timeline_parts(result: Result, rows: int = 48) -> tuple[list[str], int]:
    """Return the elements of a timeline, its background first, and its height."""
    blocks = [_Block(ownership, rows) for ownership in result.ownerships[:MOST_GROUPS]]
    parts: list[str] = []
    top = TOP
    for block in blocks:
        parts += block.drawn(top, result.duration)
        top += 24 + ROW * len(block.places)
    parts.append(_axis(top, result.duration))
    below = top + 20
    for block in blocks:
        legend = list(block.legend(below))
        parts += legend
        below += 8 + LINE * block.legend_lines
    events, height = _events(result.events[1:], top, below, result.duration)
    styles = "\n".join(
        ["<defs>", *definitions(max((len(block.owning) for block in blocks), default=0)), "</defs>"]
    )
    background = f'<rect width="{FULL}" height="{height}" fill="{BACKGROUND}"/>'
    return [styles, background, _heading(result), *parts, *events], height


def _heading(result: Result) -> str:
    n = len(result.ownerships)
    some = f"; {MOST_GROUPS} of {n:,} groups" if n > MOST_GROUPS else ""
    about = f" (RocketMQ {result.profile}, seed {result.seed}; red: nobody, black: several{some})"
    return f'<text x="{LEFT}" y="15" font-size="13">{_text(result.name, 70)}{escape(about)}</text>'


def _text(name: str, most: int) -> str:
    """Return a name, escaped and shortened to the room there is; wide letters take twice as much."""
    shown = printable(name)
    return escape(shortened(shown, most if shown.isascii() else most // 2))


def _title(name: str) -> str:
    return f"<title>{escape(printable(name))}</title>"


def _x(time: int, duration: int) -> float:
    return LEFT + WIDTH * min(time, duration) / duration


def _bar(spans: Spans, i: int, y: float, duration: int) -> tuple[str, float]:
    """Place and size of a bar, and its width; the shortest is still to be seen."""
    width = max(0.6, WIDTH * int(spans.end[i] - spans.start[i]) / duration)
    return (
        f'x="{_x(int(spans.start[i]), duration):.2f}" y="{y:.1f}" width="{width:.2f}" height="{BAR:.1f}"',
        width,
    )


class _Block:
    """One group: the queues that are shown, and the clients that own them at any time, in the order
    in which they joined.
    """

    def __init__(self, ownership: Ownership, rows: int) -> None:
        self.of = ownership
        self.places = spread_rows(len(ownership.queues), rows)
        self._row_of = {place: row for row, place in enumerate(self.places)}
        spans = ownership.intervals
        is_shown = among(spans.queue, self.places) & (spans.end > spans.start)
        order = np.lexsort((ownership.processes, spans.start, spans.queue))
        self._shown: list[int] = order[is_shown[order]].tolist()
        processes = sorted(set(ownership.processes[self._shown].tolist()))
        self.owning = list(dict.fromkeys(ownership.client_ids[process] for process in processes))
        self._numbers = {client_id: number for number, client_id in enumerate(self.owning)}

    def drawn(self, top: int, duration: int) -> list[str]:
        """Return the group's name, its rows and its bars."""
        n = len(self.of.queues)
        some = f" ({len(self.places):,} of {counted(n, 'queue')})" if len(self.places) < n else ""
        name = _text(self.of.consumer_group, 100)
        parts = [f'<text x="4" y="{top - 6}" font-weight="bold">{name}{some}</text>']
        for place, row in self._row_of.items():
            label = queue_label(self.of, place)
            parts.append(
                f'<text x="4" y="{top + ROW * row + 9}">{escape(shortened(label, 28))}</text>'
            )
        return [*parts, *self._bars(top, duration)]

    def _bars(self, top: int, duration: int) -> Iterator[str]:
        numbers = []
        spans = self.of.intervals
        for i in self._shown:
            client_id = self.of.client_ids[int(self.of.processes[i])]
            number, y = self._numbers[client_id], top + ROW * self._row_of[int(spans.queue[i])]
            bar, width = _bar(spans, i, y, duration)
            said = _title(f"{client_id} {spans.start[i]}-{spans.end[i]} ms")
            yield f'<rect {bar} fill="{fill(number)}">{said}</rect>'
            if width >= NUMBERED and number < MOST_STYLES:
                middle = _x(int(spans.start[i]), duration) + width / 2
                numbers.append(f'<text x="{middle:.1f}" y="{y + 8}">{number + 1}</text>')
        for marks, colour in ((self.of.gaps, GAP), (self.of.double_owned, DOUBLE)):
            for i, queue in enumerate(marks.queue.tolist()):
                if queue in self._row_of:
                    yield f'<rect {_bar(marks, i, top + ROW * self._row_of[queue], duration)[0]} fill="{colour}"/>'
        yield _numbers_over(numbers)

    @property
    def _named(self) -> list[str]:
        return self.owning[:MOST_STYLES]

    @property
    def legend_lines(self) -> int:
        """Return the number of lines of text that the legend takes."""
        return 1 + -(-len(self._named) // COLUMNS)

    def legend(self, top: int) -> Iterator[str]:
        """Yield how many clients there are and which are left out, then every client that is named,
        by its number.
        """
        yield f'<text x="4" y="{top + 9}">{self._legend_head()}</text>'
        for number, client_id in enumerate(self._named):
            x, y = 4 + COLUMN * (number % COLUMNS), top + LINE * (1 + number // COLUMNS)
            yield f'<rect x="{x}" y="{y}" width="22" height="{BAR}" fill="{fill(number)}">{_title(client_id)}</rect>'
            yield f'<text x="{x + 27}" y="{y + 9}">{number + 1}  {_text(client_id, 26)}</text>'

    def _legend_head(self) -> str:
        n, n_owning, n_named = len(set(self.of.client_ids)), len(self.owning), len(self._named)
        parts = []
        if n_owning > n_named:
            parts.append(
                f"{n_named} of them are named, {n_owning - n_named:,} more own queues shown here, in grey"
            )
        if n > n_owning:
            parts.append(f"{n - n_owning:,} own no queue that is shown")
        said = f": {counted(n, 'client')}" + "".join(f"; {part}" for part in parts)
        return f'<tspan font-weight="bold">{_text(self.of.consumer_group, 60)}</tspan>{said}'


def _numbers_over(numbers: Sequence[str]) -> str:
    """Return numbers of clients over their bars, readable on any colour; the pointer finds the bar
    beneath.
    """
    style = 'text-anchor="middle" font-size="8" stroke="#ffffff" stroke-width="2.5" paint-order="stroke" pointer-events="none"'
    return "\n".join([f"<g {style}>", *numbers, "</g>"]) if numbers else "<g/>"


def _axis(top: int, duration: int) -> str:
    ticks = [duration * i // 6 for i in range(7)]
    return "\n".join(
        f'<text x="{_x(tick, duration):.2f}" y="{top - 4}" text-anchor="middle">{tick / 1000:g} s</text>'
        for tick in ticks
    )


def _events(
    events: Sequence[EventResult], top: int, below: int, duration: int
) -> tuple[list[str], int]:
    """Return a line for every event with what happened below the picture, and where the picture
    ends.
    """
    parts = []
    for number, event in enumerate(events[:MOST_EVENTS], 1):
        x = f"{_x(event.at, duration):.2f}"
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{top - 16}" stroke="#555555" stroke-dasharray="3 2"/>\n'
            f'<text x="{x}" y="{TOP - 17}" text-anchor="middle">{number}</text>\n'
            f'<text x="4" y="{below + 4 + 13 * number}">{_text(f"{number}  {event.at / 1000:g} s  {event.event}", 150)}</text>'
        )
    left_out = len(events) - MOST_EVENTS
    if left_out > 0:
        said = f"and {counted(left_out, 'event')} more, which are not drawn"
        parts.append(f'<text x="4" y="{below + 17 + 13 * MOST_EVENTS}">{said}</text>')
    return parts, below + 12 + 13 * (min(len(events), MOST_EVENTS) + (left_out > 0))
