"""One scenario: its groups before and after, the worst first, and pictures of the worst."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc._text import counted, shortened
from rmqalloc.plans import Plan
from rmqalloc.plans._plan_text import WORST_FIRST
from rmqalloc.plans._plan_totals import scenario_summary
from rmqalloc.report.html._group_section import LEAST, figures, group_details
from rmqalloc.report.html._page_tables import html_table
from rmqalloc.report.html._summary import of_scenario
from rmqalloc.results._markup import escaped, name
from rmqalloc.scenarios import CURRENT

MOST_GROUPS, PICTURED = 50, 12
"""Rows of a table, and pictured groups of all scenarios together."""

_MOVES = ("moved", "least_moves", "clients_affected", "cross_room", "backlog_moved")
_HEADS = ("group", "topics", "queues", "clients", "idle", "unowned", "loads", "skew")
_HEADS_OF_MOVES = ("moved", "least", "affected", "cross-room", "backlog moved")


def scenario_section(plan: Plan, number: int, pictured: int) -> str:
    """The section of the so-many-th scenario, counted from 1, with pictures of some groups."""
    scenario = plan.scenarios[number - 1]
    groups = plan.groups.slice(number * plan.n_groups, plan.n_groups)
    worst = groups.sort_by(WORST_FIRST).slice(0, MOST_GROUPS)
    now = _of_groups(plan.groups.slice(0, plan.n_groups), worst["consumer_group"])
    current = {row["consumer_group"]: row for row in now.to_pylist()}
    ident = f"s{number}"
    changes = escaped(shortened(json.dumps(scenario.to_data(), ensure_ascii=False), 1500))
    shown = worst["consumer_group"].slice(0, pictured)
    tables = [_of_groups(of_scenario(rows, scenario.name), shown) for rows in (plan.clients, plan.queues, plan.units)]
    before = _of_groups(of_scenario(plan.units, CURRENT), shown)
    details = [
        group_details(group, f"{ident}g{i}", *(_of_group(rows, group) for rows in (*tables, before)))
        for i, group in enumerate(shown.to_pylist())
    ]
    more = groups.num_rows - len(details)
    rest = f'<p class="soft">Pictures of {counted(more, "more group")} are left out.</p>' if more else ""
    return (
        f'<section id="{ident}" aria-labelledby="{ident}-h"><h2 id="{ident}-h">{name(scenario.name)}</h2>'
        f'<p>{escaped(scenario_summary(plan, number).sentence(plan.n_groups))}</p><p class="soft"><code>{changes}</code></p>'
        f"{_group_table(groups, worst, current)}{''.join(details)}{rest}</section>"
    )


def _of_groups(rows: pa.Table, groups: pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.is_in(rows["consumer_group"], value_set=groups.combine_chunks()))


def _of_group(rows: pa.Table, group: str) -> pa.Table:
    return rows.filter(pc.equal(rows["consumer_group"], group))


def _group_table(groups: pa.Table, worst: pa.Table, current: dict[str, dict[str, Any]]) -> str:
    moves = [name for name in _MOVES if groups[name].null_count < groups.num_rows]
    heads = [
        (head, i > 0) for i, head in enumerate([*_HEADS, *(_HEADS_OF_MOVES[_MOVES.index(name)] for name in moves)])
    ]
    rows = []
    for row in worst.to_pylist():
        before = current[row["consumer_group"]]
        rows.append([row["consumer_group"], row["n_topics"], *figures(before, row), *(row[name] for name in moves)])
    caption = f"Groups over all their topics, before → after, {LEAST}; queues without owner and most movement first"
    if groups.num_rows > len(rows):
        caption += f" ({len(rows)} of {groups.num_rows:,}; all are in the saved plan)"
    return html_table(caption, heads, rows)
