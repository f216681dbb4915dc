"""One scenario: its groups before and after, the worst first, and pictures of the worst."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.plans import Plan
from rmqalloc.plans.plan_totals import scenario_summary
from rmqalloc.plans.worst_first import Positions, WorstFirst, worst_groups
from rmqalloc.report.html._group_section import FIGURES, LEAST, GroupTables, figures, group_details
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import (
    Markup,
    TableColumn,
    how_many,
    html_table,
    number_columns,
)
from rmqalloc.report.html._summary import of_scenario
from rmqalloc.results.html_text import escaped, name
from rmqalloc.scenarios import CURRENT
from rmqalloc.text import counted, shortened

MOST_GROUPS, LEAST_GROUPS, PICTURED = 2000, 50, 12
"""Rows of the tables, of one of them at least, and pictured groups, of all scenarios together."""

_MOVES = {
    "least_moves": "least",
    "clients_affected": "affected",
    "cross_room": "cross-room",
    "backlog_moved": "backlog moved",
}


def scenario_section(plan: Plan, number: int, pictured: int, evidence: pa.Table | None) -> str:
    """Return the section of scenario *number* (1-based): figures, charts of the worst groups,
    evidence.
    """
    scenario, ident = plan.scenarios[number - 1], f"s{number}"
    groups = plan.groups.slice(number * plan.n_groups, plan.n_groups)
    first = worst_groups(plan, number)
    shown_groups = first.positions[: max(LEAST_GROUPS, MOST_GROUPS // len(plan.scenarios))]
    worst, kinds = groups.take(shown_groups), _kinds(groups, first, shown_groups)
    now = plan.groups.slice(0, plan.n_groups).take(shown_groups)
    current = {row["consumer_group"]: row for row in now.to_pylist()}
    changes = escaped(shortened(json.dumps(scenario.to_data(), ensure_ascii=False), 1500))
    shown = worst["consumer_group"].slice(0, pictured)
    clients = _of_groups(of_scenario(plan.clients, scenario.name), shown)
    queues = _of_groups(of_scenario(plan.queues, scenario.name), shown)
    units = _of_groups(of_scenario(plan.units, scenario.name), shown)
    units_before = _of_groups(of_scenario(plan.units, CURRENT), shown)
    transitions = _of_groups(of_scenario(plan.transitions(), scenario.name), shown)
    known = None if evidence is None else _of_groups(evidence, shown)
    details = []
    for i, row in enumerate(worst.slice(0, pictured).to_pylist()):
        tables = GroupTables(
            before=current[row["consumer_group"]],
            after=row,
            clients=_of_group(clients, row),
            queues=_of_group(queues, row),
            units=_of_group(units, row),
            units_before=_of_group(units_before, row),
        )
        of_group, transition = _only(known, row), _only(transitions, row)
        details.append(group_details(f"{ident}g{i}", tables, of_group, transition, kinds[i]))
    more = groups.num_rows - len(details)
    rest = (
        f'<p class="soft">Charts of {counted(more, "more group")} are left out.</p>' if more else ""
    )
    sentence = escaped(scenario_summary(plan, number).sentence(plan.n_groups))
    parts = [
        f'<p>{sentence}</p><p class="soft"><code>{changes}</code></p>',
        _filters(scenario.name, worst.num_rows),
        _group_table(groups, worst, current, kinds, first.n_worse),
        *details,
        rest,
    ]
    return section(ident, scenario.name, "".join(parts))


def _of_groups(rows: pa.Table, groups: pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.is_in(rows["consumer_group"], value_set=groups.combine_chunks()))


def _of_group(rows: pa.Table, group: dict[str, Any]) -> pa.Table:
    return rows.filter(pc.equal(rows["consumer_group"], group["consumer_group"]))


def _only(rows: pa.Table | None, group: dict[str, Any]) -> dict[str, Any] | None:
    """Return the one row of a group, if there is any."""
    found = [] if rows is None else _of_group(rows, group).to_pylist()
    return found[0] if found else None


def _kinds(groups: pa.Table, first: WorstFirst, shown: Positions) -> list[str]:
    """Return the classes by which groups are filtered: those that get worse, and those that move."""
    moves = pc.greater(groups["moved"], 0).to_numpy()
    marks = zip(first.is_worse[shown].tolist(), moves[shown].tolist(), strict=True)
    return [f"g{' w' * is_worse}{' m' * is_moving}" for is_worse, is_moving in marks]


def _filters(scenario: str, n_groups: int) -> str:
    """Return the search and the filters of the groups of a scenario, which the page's script shows;
    none for a single group.
    """
    if n_groups < 2:
        return ""
    boxes = (("w", "only groups that get worse"), ("m", "only groups that move"))
    inputs = "".join(
        f'<label><input type="checkbox" value="{kind}"> {said}</label>' for kind, said in boxes
    )
    return (
        f'<div class="filters" role="search" aria-label="Groups of {escaped(shortened(scenario, 100))}" hidden>'
        '<label>Group <input type="search" placeholder="part of a name" autocomplete="off" spellcheck="false"></label>'
        f"{inputs}<output></output></div>"
    )


def _group_table(
    groups: pa.Table,
    worst: pa.Table,
    current: dict[str, dict[str, Any]],
    kinds: list[str],
    n_worse: int,
) -> str:
    moves = [name for name in _MOVES if groups[name].null_count < groups.num_rows]
    headings = [_MOVES[name] for name in moves]
    lesser = number_columns("topics", *headings, is_lesser=True)
    columns = [TableColumn("group"), *FIGURES, *lesser]
    rows = []
    for row, kind in zip(worst.to_pylist(), kinds, strict=True):
        before = current[row["consumer_group"]]
        sign = '<span class="warn">!</span> ' if "w" in kind.split() else ""
        group = Markup(f"{sign}{name(row['consumer_group'])}", row["consumer_group"][:80])
        moved = [row[name] for name in moves]
        rows.append([group, *figures(before, row), row["n_topics"], *moved])
    caption = f"Groups over all their topics, before → after, {LEAST}; "
    caption += (
        f"{n_worse:,} get worse (!) and are listed first"
        if n_worse
        else "no group gets worse; most moved queues first"
    )
    return html_table(
        caption + how_many(len(rows), groups.num_rows, "group"), columns, rows, kinds=kinds
    )
