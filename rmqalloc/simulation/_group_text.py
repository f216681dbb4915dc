"""Draw many simulations of a group as text: a table of figures for every event, and the timeline of
the worst run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import duration, figure, tenths, text_table
from rmqalloc.results.wrapping import wrapped
from rmqalloc.simulation._group_result import FIGURES, GroupSimulation
from rmqalloc.simulation._result_text import timeline_lines
from rmqalloc.text import counted, printable

MOST_EVENTS = 10
"""Events that are shown unless more are asked for."""

HEADINGS = {
    "unowned_queue_seconds": "unowned queue-seconds",
    "longest_gap_seconds": "longest gap",
    "double_owned_queue_seconds": "double-owned queue-seconds",
    "longest_double_seconds": "longest double ownership",
    "settle_seconds": "settled after",
    "moved": "queues moved",
    "unowned_at_end": "unowned at the end",
    "double_owned_at_end": "double-owned at the end",
    "messages_delayed": "messages delayed",
    "longest_delay_seconds": "longest delay",
    "messages_twice": "messages consumed twice",
}
"""What people read instead of the names of figures."""

_TIMES = (
    "longest_gap_seconds",
    "longest_double_seconds",
    "settle_seconds",
    "longest_delay_seconds",
)
_COUNTS = ("moved", "unowned_at_end", "double_owned_at_end", "messages_delayed", "messages_twice")


def figure_text(name: str, value: float) -> str:
    """Return a figure of a run for people.

    Examples
    --------
    >>> figure_text("settle_seconds", 1.26), figure_text("moved", 12), figure_text("unowned_queue_seconds", 40.71)
    ('1.3 s', '12', '40.7')
    """
    if name in _TIMES:
        return duration(value)
    return figure(round(value)) if name in _COUNTS else tenths(value)


def group_lines(
    made: GroupSimulation, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield what was simulated, a table for every event, and the timeline; 10 events unless ``top``
    is given.
    """
    clients, queues = counted(made.n_clients, "client"), counted(made.n_queues, "queue")
    lag = "" if made.lag is None else f", lag {figure(made.lag)}"
    about = f"{clients} on {queues}, {made.strategy}, RocketMQ {made.profile}{lag}; {counted(made.n_runs, 'run')}"
    yield from wrapped(f"{printable(made.consumer_group)}: {about}", file)
    most = top or MOST_EVENTS
    for number, text in enumerate(made.events[:most], 1):
        yield ""
        yield from wrapped(f"event {number}: {printable(text)}", file)
        yield from _figures(made, number, file)
    yield from (f"... {line}" for line in more(len(made.events) - most, "event"))
    yield ""
    yield from wrapped(
        f"the run with the most unowned queue-seconds, seed {made.drawn.seed}:", file
    )
    for ownership in made.drawn.ownerships:
        yield from timeline_lines(made.drawn, ownership, file)


def _figures(made: GroupSimulation, event: int, file: IO[str] | None) -> list[str]:
    rows = []
    for name in FIGURES:
        found = made.quantiles(name, event)
        if found is not None:
            rows.append([HEADINGS[name], *(figure_text(name, value) for value in found)])
    return text_table(["", "p50", "p99", "worst"], rows, {"p50", "p99", "worst"}, file)


drawn(GroupSimulation, group_lines)
