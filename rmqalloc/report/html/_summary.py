"""The head of the report: what was planned, what comes of it in one line per scenario, and what could not be planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc._text import counted
from rmqalloc.audit._finding import SEVERITIES, Finding
from rmqalloc.plans import Gates, Plan
from rmqalloc.plans._plan_totals import summaries
from rmqalloc.report.html._page_tables import html_table
from rmqalloc.results._markup import escaped, name, number
from rmqalloc.scenarios import CURRENT

MOST_LISTED, MOST_FAILED = 20, 50
_SUMS = ("n_queues", "n_clients", "moved", "least_moves", "clients_affected", "idle", "unowned", "cross_room")
_HEADS = (
    "scenario",
    "queues",
    "clients",
    "moved",
    "least",
    "clients affected",
    "idle clients",
    "unowned queues",
    "cross-room",
)

_WORSE = (_HEADS.index("idle clients"), _HEADS.index("unowned queues"))
_CAPTION = "All groups together, by scenario; least: moves that even loads would take"


def summary_section(plan: Plan, gates: Gates, findings: Sequence[Finding] = ()) -> str:
    """The summary card; findings are only counted here."""
    tiles = [
        (plan.n_groups, "consumer groups"),
        (plan.units.num_rows // (len(plan.scenarios) + 1), "groups × topics"),
        (len(plan.scenarios), "scenarios"),
        (len(plan.warnings), "warnings of the plan"),
        *([(len(findings), "findings")] if findings else []),
    ]
    shown = "".join(f"<li><b>{number(n)}</b><span>{what}</span></li>" for n, what in tiles)
    names = [CURRENT, *(one.name for one in plan.scenarios)]
    rows = [[scenario, *_totals(of_scenario(plan.groups, scenario))] for scenario in names]
    rows[0][3:6] = None, None, None
    heads = [(head, i > 0) for i, head in enumerate([*_HEADS, "worst skew"])]
    return (
        '<section id="summary" aria-labelledby="summary-h"><h2 id="summary-h">Summary</h2>'
        f'<p class="soft">{escaped(_time(plan))}</p>'
        f"{_sentences(plan)}{_rising(rows)}{_gates(plan, gates)}{_warnings(plan.warnings)}{_found(findings)}"
        f'<ul class="tiles">{shown}</ul>{html_table(_CAPTION, heads, rows)}{_facts(plan)}</section>'
    )


def of_scenario(rows: pa.Table, scenario: str) -> pa.Table:
    """Rows of one scenario."""
    return rows.filter(pc.equal(rows["scenario"], scenario))


def _totals(groups: pa.Table) -> list[float | int | None]:
    """Sums over all groups, and the largest skew."""
    return [*(pc.sum(groups[column]).as_py() for column in _SUMS), pc.max(groups["skew"]).as_py()]


def _sentences(plan: Plan) -> str:
    lines = [(f"<b>{name(one.scenario)}</b>: ", one.sentence(plan.n_groups)) for one in summaries(plan)]
    if not lines:
        return "<p>There is no scenario: this is the current state.</p>"
    return "".join(f'<p class="sentence">{who}{escaped(said)}</p>' for who, said in lines)


def _gates(plan: Plan, gates: Gates) -> str:
    """What the plan was held to, and what does not keep it."""
    if gates.is_open:
        return ""
    bounds = ", ".join(f"{bound} {value}" for bound, value in asdict(gates).items() if value not in (None, False))
    broken = gates.broken(plan)
    if not broken:
        return f'<p class="good">✓ Every group keeps the bounds ({escaped(bounds)}).</p>'
    said = counted(len(broken), "bound is not kept", "bounds are not kept")
    return f'<p class="bad">✗ {said} ({escaped(bounds)})</p>{_list(list(map(str, broken)))}'


def _time(plan: Plan) -> str:
    """Of when all this is."""
    return f"Snapshot of {plan.snapshot_time}" if plan.snapshot_time else "The snapshot does not say when it was taken."


def _rising(rows: Sequence[Sequence[Any]]) -> str:
    """What gets worse from the current state, the first row, to a scenario: clients without work, queues without an owner."""
    said = [
        f"{name(row[0])}: {escaped(f'{what} {number(rows[0][at])} → {number(row[at])}')}"
        for row in rows[1:]
        for what, at in ((_HEADS[at], at) for at in _WORSE)
        if (row[at] or 0) > (rows[0][at] or 0)
    ]
    return "".join(f'<p class="warn">! {one}</p>' for one in said[:MOST_LISTED])


def _warnings(warnings: Sequence[str]) -> str:
    """What the plan leaves out; that nothing is says nothing about the groups, so it is no praise."""
    if not warnings:
        return '<p class="soft">The plan leaves nothing out.</p>'
    return f'<p class="warn">! {counted(len(warnings), "warning")}</p>{_list(warnings)}'


def _found(findings: Sequence[Finding]) -> str:
    """How many findings of the audit there are, with the way to them."""
    if not findings:
        return ""
    counts = Counter(one.severity for one in findings)
    kinds = ", ".join(counted(counts[one], one) for one in SEVERITIES if counts[one])
    sign = {"error": ("bad", "✗"), "warning": ("warn", "!"), "note": ("soft", "·")}
    kind, mark = sign[next(one for one in SEVERITIES if counts[one])]
    link = f'<a href="#findings">{counted(len(findings), "finding")}</a>'
    return f'<p class="{kind}">{mark} {link} of the audit: {kinds}</p>'


def _list(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    items = [name(text, 400) for text in texts[:MOST_LISTED]]
    if len(texts) > MOST_LISTED:
        items.append(f"and {len(texts) - MOST_LISTED:,} more")
    return f'<ul class="plain">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _facts(plan: Plan) -> str:
    facts = [
        ("Plan digest", plan.digest),
        ("Input digest", plan.input_digest),
        ("Made by", f"rmqalloc {plan.tool_version}"),
    ]
    return f'<dl class="facts">{"".join(f"<dt>{what}</dt><dd><code>{escaped(said)}</code></dd>" for what, said in facts)}</dl>'


def failed_section(plan: Plan) -> str:
    """Groups and topics without figures, and why."""
    failed = plan.units.filter(pc.not_equal(plan.units["err_code"], 0))
    if not failed.num_rows:
        return ""
    heads = [(head, False) for head in ("group", "topic", "scenario", "why")]
    rows = failed.select(["consumer_group", "topic", "scenario", "err_msg"]).slice(0, MOST_FAILED).to_pylist()
    caption = f"{counted(failed.num_rows, 'row')} without figures" + (
        f"; the first {MOST_FAILED}, all are in the saved plan" if failed.num_rows > MOST_FAILED else ""
    )
    return (
        '<section id="failed" aria-labelledby="failed-h"><h2 id="failed-h">Not planned</h2>'
        f"{html_table(caption, heads, [list(row.values()) for row in rows])}</section>"
    )
