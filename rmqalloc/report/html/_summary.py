"""The figures of a plan: what comes of it, scenario by scenario; what it leaves out; what could not
be planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.plans import Gates, Plan
from rmqalloc.plans.plan_totals import NOT_KNOWN, PRESENT, Summary, summaries
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import BeforeAfter, TableColumn, class_of, html_table
from rmqalloc.results.and_more import first_of
from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.scenarios import CURRENT
from rmqalloc.text import counted

MOST_HEADLINES, MOST_LISTED, MOST_FAILED = 6, 20, 50
"""Scenarios with figures above the table, texts of a list, rows of what could not be planned."""

_SUMS = {
    "moved": "moved",
    "idle": "idle",
    "unowned": "unowned",
    "double-owned": "double_owned",
    "queues": "n_queues",
    "clients": "n_clients",
    "least": "least_moves",
    "clients affected": "clients_affected",
    "cross-room": "cross_room",
}
"""What is added up over all groups, by its heading."""

_OF_MOVES = ("moved", "least", "clients affected")
_WORSE = {
    "idle": "idle clients",
    "unowned": "unowned queues",
    "double-owned": "double-owned queues",
}
_LESSER = ("least", "clients affected", "cross-room")
_SKEW = "worst skew"
_CAPTION = "All groups together, by scenario; least: moves that even loads need"


class ScenarioTotals(NamedTuple):
    """What a scenario comes to over all groups: figures by their headings."""

    scenario: str
    figures: dict[str, float | int | str | None]


def summary_section(plan: Plan, gates: Gates) -> str:
    """Return the section with the figures of every scenario, broken bounds and warnings."""
    names = [CURRENT, *(scenario.name for scenario in plan.scenarios)]
    totals = [_totals(plan, name) for name in names]
    before, *after = totals
    kept, broken = _gates(plan, gates)
    if after:
        headlines = zip(summaries(plan)[:MOST_HEADLINES], after, strict=False)
        parts = [_headline(summary, plan.n_groups, before, of) for summary, of in headlines]
    else:
        parts = ["<p>There is no scenario: this is the current state.</p>", _tiles(before, before)]
    n_more = len(after) - MOST_HEADLINES
    if n_more > 0:
        parts.append(f'<p class="soft">{counted(n_more, "more scenario")} in the table below.</p>')
    columns = [TableColumn("scenario")]
    columns += [TableColumn(heading, True, heading in _LESSER) for heading in (*_SUMS, _SKEW)]
    rows = ([of.scenario, *of.figures.values()] for of in totals)
    parts += [_list(broken), _rising(totals), _warnings(plan.warnings)]
    inside = "".join([*parts, html_table(_CAPTION, columns, rows)])
    return section("summary", "Figures", inside, kept)


def of_scenario(rows: pa.Table, scenario: str) -> pa.Table:
    """Return the rows of one scenario."""
    return rows.filter(pc.equal(rows["scenario"], scenario))


def _totals(plan: Plan, scenario: str) -> ScenarioTotals:
    """Return the sums over all groups, and the largest skew."""
    groups = of_scenario(plan.groups, scenario)
    figures = {heading: pc.sum(groups[column]).as_py() for heading, column in _SUMS.items()}
    figures[_SKEW] = pc.max(groups["skew"]).as_py()
    if scenario == CURRENT:
        figures |= dict.fromkeys(_OF_MOVES)
        planned = groups.filter(pc.greater(groups["n_topics"], 0))
        for heading, column in {**_SUMS, _SKEW: "skew"}.items():
            if column in PRESENT and planned[column].null_count:
                figures[heading] = NOT_KNOWN
    return ScenarioTotals(scenario, figures)


def _grows(before: float | int | str | None, after: float | int | str | None) -> bool:
    """Return whether a figure gets greater; one that is not known is not compared."""
    if isinstance(before, str) or isinstance(after, str):
        return False
    return (after or 0) > (before or 0)


def _headline(
    summary: Summary, n_groups: int, before: ScenarioTotals, after: ScenarioTotals
) -> str:
    """Return the figures of a scenario in large, and all in one sentence."""
    return (
        f'<p class="sentence"><b>{name(summary.scenario)}</b>: {escaped(summary.sentence(n_groups))}</p>'
        f"{_tiles(before, after)}"
    )


def _tiles(before: ScenarioTotals, after: ScenarioTotals) -> str:
    """Return what moves and what gets worse or better; a figure that gets worse has a sign before
    its colour.
    """
    items = [_tile(number(after.figures["moved"]), "moved", False)]
    for heading in (*_WORSE, _SKEW):
        was, is_now = before.figures[heading], after.figures[heading]
        is_worse = heading != _SKEW and _grows(was, is_now)
        items.append(_tile(BeforeAfter(was, is_now).text(heading), heading, is_worse))
    return f'<ul class="tiles">{"".join(items)}</ul>'


def _tile(figure: str, heading: str, is_worse: bool) -> str:
    kind, sign = (class_of(["warn"]), "! ") if is_worse else ("", "")
    return f"<li><b{kind}>{sign}{escaped(figure)}</b><span>{escaped(heading)}</span></li>"


def _gates(plan: Plan, gates: Gates) -> tuple[str, list[str]]:
    """Return as markup whether the plan keeps its bounds, and the bounds that are not kept."""
    if gates.is_open:
        return "", []
    given = []
    for field in fields(gates):
        value = getattr(gates, field.name)
        if value != field.default:
            given.append(f"{field.name} {value}")
    bounds = ", ".join(given)
    broken = list(map(str, gates.broken(plan)))
    if not broken:
        return f'<p class="good">✓ Every group keeps the bounds ({escaped(bounds)}).</p>', []
    said = counted(len(broken), "bound is not kept", "bounds are not kept")
    return f'<p class="bad">✗ {said} ({escaped(bounds)})</p>', broken


def _rising(totals: Sequence[ScenarioTotals]) -> str:
    """Return lines on what gets worse in a scenario: idle clients, unowned and double-owned queues."""
    before, *scenarios = totals
    lines = []
    for after in scenarios:
        for heading, noun in _WORSE.items():
            was, is_now = before.figures[heading], after.figures[heading]
            if _grows(was, is_now):
                text = escaped(f"{noun} {number(was)} → {number(is_now)}")
                lines.append(f'<p class="warn">! {name(after.scenario)}: {text}</p>')
    return "".join(lines[:MOST_LISTED])


def _warnings(warnings: Sequence[str]) -> str:
    """Return what the plan leaves out."""
    if not warnings:
        return '<p class="soft">All groups are included.</p>'
    return notes(counted(len(warnings), "warning"), warnings)


def notes(said: str, texts: Sequence[str]) -> str:
    """Return a list under its heading; nothing if it is empty."""
    return f'<p class="warn">! {escaped(said)}</p>{_list(texts)}' if texts else ""


def _list(texts: Sequence[str]) -> str:
    """Return the first texts as a list, and how many more there are."""
    items = first_of([name(text, 400) for text in texts], MOST_LISTED)
    return (
        f'<ul class="plain">{"".join(f"<li>{item}</li>" for item in items)}</ul>' if items else ""
    )


def origin_section(plan: Plan) -> str:
    """Return the section with the digests of the plan and the version that made it."""
    facts = [
        ("Plan digest", plan.digest),
        ("Input digest", plan.input_digest),
        ("Made by", f"rmqalloc {plan.tool_version}"),
    ]
    rows = "".join(f"<dt>{what}</dt><dd><code>{escaped(said)}</code></dd>" for what, said in facts)
    return section("origin", "Origin", f'<dl class="facts">{rows}</dl>')


def failed_section(plan: Plan) -> str:
    """Return the section of groups and topics without figures, and why."""
    failed = plan.units.filter(pc.not_equal(plan.units["err_code"], 0))
    if not failed.num_rows:
        return ""
    columns = [TableColumn(title) for title in ("group", "topic", "scenario", "why")]
    shown = failed.select(["consumer_group", "topic", "scenario", "err_msg"]).slice(0, MOST_FAILED)
    rows = [list(row.values()) for row in shown.to_pylist()]
    caption = f"{counted(failed.num_rows, 'row')} without figures"
    if failed.num_rows > MOST_FAILED:
        caption += f"; the first {MOST_FAILED}, all rows are in the saved plan"
    return section("failed", "Not planned", html_table(caption, columns, rows))
