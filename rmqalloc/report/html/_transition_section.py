"""The transition of a group: what happens while its clients hear of a change one by one, as a timeline and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from rmqalloc.report.html._page_tables import Markup, TableColumn, folded, html_table
from rmqalloc.report.html.charts._transition import Exposure, TransitionStep, transition_figure
from rmqalloc.results._markup import escaped

KINDS = ("unowned", "double")
_FIGURES = ("worst", "exact", "expected", "seconds_worst", "seconds_p99")
EXPECTED = {
    "unowned_expected": "unowned, to expect",
    "double_expected": "double-owned, to expect",
    "unowned_seconds_worst": "unowned, s at most",
    "unowned_seconds_p99": "99 % within",
    "double_seconds_worst": "double-owned, s at most",
    "double_seconds_p99": "99 % within",
}
"""Further columns of transitions in a table, where they are known, by their names."""

Row = Mapping[str, Any]


def with_exposures(steps: pa.Table) -> pa.Table:
    """A rollout's steps with the columns of transitions; of these, null is what the steps do not say."""
    known = {
        "unowned_worst": "unowned",
        "unowned_exact": "unowned_is_exact",
        "double_worst": "double_owned",
        "double_exact": "double_owned_is_exact",
    }
    for column in (f"{kind}_{figure}" for kind in KINDS for figure in _FIGURES):
        if column not in steps.column_names:
            named = known.get(column)
            steps = steps.append_column(
                column, pa.nulls(steps.num_rows, pa.float64()) if named is None else steps[named]
            )
    return steps


def rollout_transition(ident: str, rows: Sequence[Row], n_queues: int) -> str:
    """A timeline of the steps of one group of a rollout; see `with_exposures`. The table of its steps says the same."""
    steps = [
        TransitionStep(
            str(row["step"]), f"step {row['step']} ({row['action']})" if row["step"] else "before", _exposures(row)
        )
        for row in rows
    ]
    return transition_figure(ident, steps, n_queues)


def plan_transition(ident: str, row: Row, before: Row, after: Row) -> str:
    """A scenario of one group: a timeline of what is before, while its clients hear of the change, and after; and a table.

    Parameters
    ----------
    ident : str
        Of the part in the page.
    row : mapping
        Its row of the plan's transitions.
    before, after : mapping
        Its rows of the plan's groups.
    """
    calm = [(Exposure(one["unowned"] or 0), Exposure(one["double_owned"] or 0)) for one in (before, after)]
    steps = [
        TransitionStep("before", "before the change", calm[0]),
        TransitionStep("change", "while clients hear of it", _exposures(row)),
        TransitionStep("after", "after the change", calm[1]),
    ]
    n_queues = max(before["n_queues"] or 0, after["n_queues"] or 0)
    known = [column for column in EXPECTED if row.get(column) is not None]
    columns = [TableColumn("moment"), TableColumn("unowned", True), TableColumn("double-owned", True)]
    columns += [TableColumn(EXPECTED[column], True) for column in known]
    rows = [
        [
            step.action,
            *(Markup(escaped(one.text()), one.worst) for one in step.exposures),
            *(others.get(c) for c in known),
        ]
        for step, others in zip(steps, ({}, row, {}), strict=True)
    ]
    table = html_table("Most queues at one moment, while clients hear of the change and else", columns, rows)
    return transition_figure(ident, steps, n_queues) + folded("The same as a table", table)


def _exposures(row: Row) -> tuple[Exposure, Exposure]:
    return _exposure(row, "unowned"), _exposure(row, "double")


def _exposure(row: Row, kind: str) -> Exposure:
    times = row.get(f"{kind}_seconds_worst"), row.get(f"{kind}_seconds_p99")
    return Exposure(row[f"{kind}_worst"], row[f"{kind}_exact"], row.get(f"{kind}_expected"), *times)
