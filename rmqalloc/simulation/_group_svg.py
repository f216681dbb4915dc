"""Many simulations of a group as one picture: how often each figure had which value, above the
timeline of the worst run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from rmqalloc.simulation._group_result import GroupSimulation, Quantiles
from rmqalloc.simulation._group_text import HEADINGS, figure_text
from rmqalloc.simulation._timeline_svg import BACKGROUND, COLOURS, FULL, svg_head, timeline_parts
from rmqalloc.text import counted, printable, shortened

SHOWN = (
    "unowned_queue_seconds",
    "longest_gap_seconds",
    "double_owned_queue_seconds",
    "settle_seconds",
    "messages_delayed",
)
MOST_EVENTS, BINS = 8, 24
_LEFT, _TOP, _ROW, _HEIGHT, _GAP = 20, 34, 86, 40, 18
_P50, _P99 = "#222222", "#d62728"


def svg_simulation(made: GroupSimulation, rows: int = 48) -> str:
    """Draw the distribution of the main figures after every event, and the timeline of the worst
    run.

    Every text is escaped and has no control characters; equal results give equal pictures.

    Parameters
    ----------
    made : GroupSimulation
        What to show: 8 events of it at most.
    rows : int
        Most queues of the timeline; of more, some at even distances.

    Examples
    --------
    >>> import rmqalloc
    >>> made = rmqalloc.simulate_group(rmqalloc.read("example:seed"), "by-average", "crash clients=1", seeds=3)
    >>> svg_simulation(made).count("<svg ")
    1
    """
    parts, top = [], _TOP
    for number, text in enumerate(made.events[:MOST_EVENTS], 1):
        parts.append(
            f'<text x="{_LEFT}" y="{top}" font-weight="bold">{number}  {_text(text, 120)}</text>'
        )
        parts += _histograms(made, number, top + 8)
        top += _ROW
    if len(made.events) > MOST_EVENTS:
        left_out = counted(len(made.events) - MOST_EVENTS, "event")
        parts.append(f'<text x="{_LEFT}" y="{top}">and {left_out} more, which are not drawn</text>')
        top += _GAP
    timeline, height = timeline_parts(made.drawn, rows)
    background = f'<rect width="{FULL}" height="{top + height}" fill="{BACKGROUND}"/>'
    below = [f'<g transform="translate(0 {top})">', *timeline, "</g>"]
    return (
        "\n".join([svg_head(top + height), background, _heading(made), *parts, *below, "</svg>"])
        + "\n"
    )


def _heading(made: GroupSimulation) -> str:
    about = f": {counted(made.n_runs, 'run')}; black line: p50, red line: p99"
    return f'<text x="{_LEFT}" y="15" font-size="13">{_text(made.consumer_group, 70)}{about}</text>'


def _text(name: str, most: int) -> str:
    return escape(shortened(printable(name), most))


def _histograms(made: GroupSimulation, event: int, top: int) -> Iterator[str]:
    """Yield a histogram for every figure that is known, side by side."""
    known = [(name, found) for name in SHOWN if (found := made.quantiles(name, event)) is not None]
    width = (FULL - 2 * _LEFT - _GAP * (len(SHOWN) - 1)) / len(SHOWN)
    for place, (name, found) in enumerate(known):
        values = [value for value in made.values(name, event) if value is not None]
        yield from _histogram(name, values, found, _LEFT + place * (width + _GAP), top, width)


def _histogram(
    name: str, values: Sequence[float], found: Quantiles, left: float, top: int, width: float
) -> Iterator[str]:
    """Yield the bars of a histogram from 0 to the worst value, with its p50 and p99 as lines."""
    most = found.worst or 1.0
    counts = np.histogram(values, BINS, (0.0, most))[0].tolist()
    bottom, step = top + _HEIGHT, width / BINS
    for place, count in enumerate(counts):
        if count:
            size = _HEIGHT * count / max(counts)
            bar = f'x="{left + place * step:.2f}" y="{bottom - size:.2f}" width="{step:.2f}" height="{size:.2f}"'
            yield f'<rect {bar} fill="{COLOURS[0]}"><title>{counted(count, "run")}</title></rect>'
    for value, colour in ((found.p50, _P50), (found.p99, _P99)):
        x = f"{left + width * value / most:.2f}"
        yield f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}" stroke="{colour}"/>'
    yield f'<line x1="{left:.2f}" x2="{left + width:.2f}" y1="{bottom}" y2="{bottom}" stroke="#888888"/>'
    said = f"p50 {figure_text(name, found.p50)}, p99 {figure_text(name, found.p99)}, worst {figure_text(name, found.worst)}"
    yield f'<text x="{left:.2f}" y="{bottom + 11}">{escape(HEADINGS[name])}</text>'
    yield f'<text x="{left:.2f}" y="{bottom + 22}" fill="#555555">{escape(said)}</text>'
