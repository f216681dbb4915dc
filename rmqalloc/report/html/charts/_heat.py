"""How even loads are: client by topic, load over the mean load of a client."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rmqalloc.report.html._palette import HEAT_WORDS, heat_step
from rmqalloc.report.html.charts._loads import Loads
from rmqalloc.report.html.charts._svg import box, figure, key_of, text
from rmqalloc.results.html_text import name
from rmqalloc.results.renderer import skew_text
from rmqalloc.text import counted

LEFT, PANEL, BETWEEN, TOP, ROW = 196, 364, 24, 40, 19
WIDEST = 72


def heat_figure(ident: str, loads: Loads) -> str:
    """Return a cell for every client and topic, before on the left and after on the right."""
    topics = ", ".join(f"T{i} {name(topic)}" for i, topic in enumerate(loads.topics, start=1))
    caption = (
        f"Load over the mean load of a client; 1 is even, 2 is twice the mean. Topics: {topics}"
    )
    seen = loads.after.shares[~np.isnan(loads.after.shares)]
    description = (
        f"After the change shares go from {skew_text(float(seen.min()))} to {skew_text(float(seen.max()))}."
        if seen.size
        else ""
    )
    key = key_of((f"h{i} cell", word) for i, word in enumerate(HEAT_WORDS))
    height = TOP + ROW * len(loads.labels) + 4
    title = f"Load over mean load, {counted(len(loads.labels), 'row')} by {counted(len(loads.topics), 'topic')}"
    return figure(f"{ident}-heat", caption, title, description, height, _parts(loads), key)


def _parts(loads: Loads) -> Iterator[str]:
    width = min(WIDEST, PANEL / max(len(loads.topics), 1))
    panels = (
        (LEFT, "before", loads.before.shares),
        (LEFT + width * len(loads.topics) + BETWEEN, "after", loads.after.shares),
    )
    for x, when, _ in panels:
        yield text(x, 13, when, "head")
        for column in range(len(loads.topics)):
            yield text(x + width * (column + 0.5), 32, f"T{column + 1}", "mid soft")
    for row, label in enumerate(loads.labels):
        y = TOP + ROW * row
        yield text(LEFT - 8, y + 13, label, "end")
        for x, when, shares in panels:
            for column, topic in enumerate(loads.topics):
                yield _cell(
                    x + width * column,
                    y,
                    width,
                    float(shares[row, column]),
                    f"{label}, {topic}, {when}",
                )


def _cell(x: float, y: float, width: float, share: float, whose: str) -> str:
    """Return the number stands in the cell, so that colour says nothing alone."""
    if np.isnan(share):
        return text(x + width / 2, y + 13, "·", "mid soft")
    step, said = heat_step(share), skew_text(share)
    cell = box(x, y, width, ROW, f"h{step} cell", f"{whose}: {said}")
    return cell + text(x + width / 2, y + 13, said, f"cellnum t{step}")
