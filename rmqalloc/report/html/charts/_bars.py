"""Who owns how much before and after: a bar per client, its parts by topic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rmqalloc.report.html.charts._loads import Loads
from rmqalloc.report.html.charts._svg import LABEL, box, figure, key_of, series, text
from rmqalloc.results.html_text import number
from rmqalloc.text import shortened

LEFT, PANEL, BETWEEN, TOP, ROW, BAR = 196, 336, 46, 24, 19, 13


def owners_figure(ident: str, loads: Loads) -> str:
    """Return bars of all clients, those before on the left and those after on the right, on one
    scale.
    """
    key = (
        key_of((_colour(loads, i), topic) for i, topic in enumerate(loads.topics))
        if len(loads.topics) > 1
        else ""
    )
    loads_of = (
        np.nan_to_num(side.each).sum(axis=1).tolist() for side in (loads.before, loads.after)
    )
    rows = zip(loads.labels, *loads_of, strict=True)
    return figure(
        f"{ident}-owners",
        "Queues by client and topic, <strong>before</strong> and <strong>after</strong>; + joins, − leaves; other clients: "
        "their mean",
        "Queues of every client before and after",
        "; ".join(
            f"{shortened(label, LABEL)}: {number(was)} before, {number(is_)} after"
            for label, was, is_ in rows
        ),
        TOP + ROW * len(loads.labels) + 4,
        _parts(loads),
        key,
    )


def _parts(loads: Loads) -> Iterator[str]:
    panels = ((LEFT, "before", loads.before), (LEFT + PANEL + BETWEEN, "after", loads.after))
    for x, when, _ in panels:
        yield text(x, 13, when, "head")
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{TOP - 4}" y2="{TOP + ROW * len(loads.labels)}"/>'
    for row, label in enumerate(loads.labels):
        y = TOP + ROW * row
        yield text(LEFT - 8, y + BAR - 2, label, "end")
        for x, when, side in panels:
            if side.there[row]:
                yield from _bar(loads, side.each[row], x, y, f"{label}, {when}")


def _bar(loads: Loads, owned: NDArray[np.float64], x: float, y: float, whose: str) -> Iterator[str]:
    """Yield the parts of a bar and its sum behind it."""
    scale = (PANEL - 30) / max(loads.most, 1)
    for i in np.flatnonzero(owned).tolist():
        width = float(owned[i]) * scale
        description = f"{whose}: {number(float(owned[i]))} of {loads.topics[i]}"
        yield box(x, y, max(width - 1, 0.8), BAR, _colour(loads, i), description)
        x += width
    yield text(x + 4, y + BAR - 2, number(float(owned.sum())), "" if owned.any() else "soft")


def _colour(loads: Loads, topic: int) -> str:
    return series(-1 if loads.has_other_topics and topic == len(loads.topics) - 1 else topic)
