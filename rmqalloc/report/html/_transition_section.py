"""The transition of a group: what happens while its clients hear of a change one by one, as a
timeline and as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rmqalloc.report.html._page_tables import (
    Markup,
    TableColumn,
    folded,
    html_table,
    number_columns,
)
from rmqalloc.report.html.charts._transition import Exposure, TransitionStep, transition_figure
from rmqalloc.results.html_text import escaped

EXPECTED = {
    "unowned_expected": "unowned, expected",
    "double_owned_expected": "double-owned, expected",
    "unowned_seconds_worst": "unowned, s at most",
    "unowned_seconds_p99": "99 % within",
    "double_owned_seconds_worst": "double-owned, s at most",
    "double_owned_seconds_p99": "99 % within",
}
"""Further columns of transitions in a table, where they are known, by their names."""

Row = Mapping[str, Any]


def plan_transition(ident: str, row: Row, before: Row, after: Row) -> str:
    """Return a scenario of one group: a timeline of what is before, while its clients hear of the
    change, and after; and a table.
    """
    steps = [
        TransitionStep("before", "before the change", _at_rest(before)),
        TransitionStep("change", "while clients are being notified", _exposures(row)),
        TransitionStep("after", "after the change", _at_rest(after)),
    ]
    n_queues = max(before["n_queues"] or 0, after["n_queues"] or 0)
    known = [column for column in EXPECTED if row.get(column) is not None]
    headings = ["unowned", "double-owned", *(EXPECTED[column] for column in known)]
    columns = [TableColumn("moment"), *number_columns(*headings)]
    none = [None] * len(known)
    expected = (none, [row[column] for column in known], none)
    rows = []
    for step, figures in zip(steps, expected, strict=True):
        worst = [Markup(escaped(exposure.text()), exposure.worst) for exposure in step.exposures]
        rows.append([step.action, *worst, *figures])
    table = html_table(
        "Most queues at one moment, before, during and after the notification of clients",
        columns,
        rows,
    )
    return transition_figure(ident, steps, n_queues) + folded("The same as a table", table)


def _at_rest(row: Row) -> tuple[Exposure, Exposure]:
    return Exposure(row["unowned"] or 0), Exposure(row["double_owned"] or 0)


def _exposures(row: Row) -> tuple[Exposure, Exposure]:
    return _exposure(row, "unowned"), _exposure(row, "double_owned")


def _exposure(row: Row, kind: str) -> Exposure:
    times = row.get(f"{kind}_seconds_worst"), row.get(f"{kind}_seconds_p99")
    return Exposure(row[kind], row[f"{kind}_is_exact"], row.get(f"{kind}_expected"), *times)
