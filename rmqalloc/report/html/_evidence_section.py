"""What answers rest on: how the strategies are known, how old the snapshot is, what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import floor
from typing import Any

import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.evidence import EVIDENCE_SCHEMA
from rmqalloc.evidence.evidence import BY_CLIENT
from rmqalloc.plans import Plan
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import Markup, TableColumn, html_table, number_columns
from rmqalloc.results.and_more import first_of, named
from rmqalloc.results.html_text import escaped, name
from rmqalloc.text import counted, shortened

MOST_ROWS, MOST_NAMES, MOST_TEXT = 50, 12, 120
SOURCES = {
    "given": "stated",
    "reported": "reported by its clients",
    "fitted": "fitted to the known owners",
    "assumed": "assumed",
    "by client": "known client by client",
}
"""Words for the sources of a strategy, strongest first; the last word marks a strategy in doubt."""

_TIME_UNKNOWN = "the snapshot does not state its time"
Row = Mapping[str, Any]


def plan_evidence(plan: Plan) -> pa.Table:
    """Return the evidence of a plan, a row for every group; if the plan has none, the strategies in
    its tables.
    """
    return plan.evidence if plan.evidence.num_rows else _of_plan(plan)


def _of_plan(plan: Plan) -> pa.Table:
    """Return strategies before any change, and the time of the snapshot."""
    n_states = len(plan.scenarios) + 1
    current = plan.units.take(pa.array(range(0, plan.units.num_rows, n_states), pa.int64()))
    known = current.filter(pc.is_valid(current["strategy"]))
    pairs = known.group_by(["consumer_group", "strategy"], use_threads=False).aggregate([])
    strategies_of: dict[str, dict[str, None]] = {}
    for row in pairs.to_pylist():
        names = strategies_of.setdefault(row["consumer_group"], {})
        names.update(dict.fromkeys(row["strategy"].split("+")))
    rows = []
    for group in plan.groups["consumer_group"].unique().to_pylist():
        names = strategies_of.get(group, {})
        row = {"consumer_group": group, "strategy": " + ".join(names) or None}
        row["fetched_at"] = plan.snapshot_time
        row["source"] = BY_CLIENT if len(names) > 1 else None
        rows.append(row)
    return pa.Table.from_pylist(rows, EVIDENCE_SCHEMA)


def evidence_line(evidence: pa.Table | None) -> str:
    """Return the line below the title, as markup: the evidence of a single group, or a summary of
    several groups.
    """
    if evidence is None or not evidence.num_rows:
        return ""
    rows = evidence.to_pylist()
    said = group_evidence(rows[0]) if len(rows) == 1 else _together(rows)
    sign = '<b class="warn">!</b> ' if any(map(_is_doubtful, rows)) else ""
    return f'<p class="evidence">{sign}{escaped(said)}</p>'


def group_evidence(row: Row) -> str:
    """Return what the answer for one group rests on, as plain text."""
    return "; ".join([_strategy(row), *_faults(row), _snapshot(row)]) + "."


def evidence_section(evidence: pa.Table | None) -> str:
    """Return a table with a row for all groups with equal evidence, groups in doubt first; empty
    for fewer than two groups.
    """
    if evidence is None or evidence.num_rows < 2:
        return ""
    alike: dict[tuple[bool, str, str], list[str]] = {}
    for row in sorted(
        evidence.to_pylist(), key=lambda row: (not _is_doubtful(row), str(row["consumer_group"]))
    ):
        said = (_is_doubtful(row), _strategy(row), "; ".join(_faults(row)))
        alike.setdefault(said, []).append(row["consumer_group"])
    rows = [
        [_names(groups), len(groups), _said(strategy), _said(doubt)]
        for (_, strategy, doubt), groups in alike.items()
    ]
    cells = rows[:MOST_ROWS]
    caption = "Sources of the strategies of groups, strategies in doubt first"
    caption += "" if len(cells) == len(rows) else f"; {len(cells)} of {counted(len(rows), 'row')}"
    columns = [
        TableColumn("groups"),
        *number_columns("how many"),
        TableColumn("strategy"),
        TableColumn("doubt"),
    ]
    return section("evidence", "Evidence", html_table(caption, columns, cells))


def _names(groups: list[str]) -> Markup:
    """Return the first groups of a row."""
    return Markup(", ".join(first_of(list(map(name, groups)), MOST_NAMES)), groups[0][:80])


def _said(text: str) -> Markup:
    return Markup(name(text or "–", MOST_TEXT), text)


def _together(rows: Sequence[Row]) -> str:
    counts = Counter(row["source"] for row in rows)
    parts = [f"{counts[source]:,} {said}" for source, said in SOURCES.items() if counts[source]]
    for source, n_groups in counts.items():
        if source and source not in SOURCES:
            parts.append(f"{n_groups:,} {_short(source)}")
    first = _snapshot(rows[0])
    sentences = [first[0].upper() + first[1:]]
    if parts:
        sentences.append(f"strategies of {counted(len(rows), 'group')}: {', '.join(parts)}")
    n_partial = sum(map(_is_partial, rows))
    if n_partial:
        sentences.append(f"{counted(n_partial, 'group')} not fully explained")
    faults = dict.fromkeys(chain.from_iterable(map(_faults, rows)))
    return "; ".join([*sentences, *first_of(list(faults), 2)]) + "."


def _strategy(row: Row) -> str:
    """Return its name, its parameters, how it is known, and how much of the known owners it
    explains.
    """
    values = json.loads(row["parameters"] or "{}")
    parameters = ", ".join(f"{key}={value}" for key, value in values.items())
    given = [_short(text) for text in (row["strategy"], parameters) if text]
    source = row["source"]
    said = [f"Strategy {' '.join(given) or 'not known'}"]
    said += [SOURCES.get(source, _short(source))] if source else []
    share = row["explains"]
    said += [] if share is None else [f"explains {floor(share * 100)} % of the known owners"]
    reporting = row["n_reporting"]
    if reporting:
        said.append(counted(reporting, "client reports its queues", "clients report their queues"))
    return ", ".join(said)


def _faults(row: Row) -> list[str]:
    """Return why its strategy is in doubt, what the snapshot lacks of a group, and what in it does
    not agree.
    """
    errors, cut, differs = row["errors"] or (), row["may_be_cut"] or (), row["differs"] or 0
    # A group known client by client is planned exactly.
    doubt = "" if row["source"] == BY_CLIENT else row["doubt"]
    faults = (
        (len(doubt or ""), _short(doubt)),
        (len(errors), counted(len(errors), "request was", "requests were") + " not answered"),
        (len(cut), f"mqadmin may have cut {_short(named(cut))}"),
        (differs, counted(differs, "queue has", "queues have") + " other owners than computed"),
    )
    return [words for n, words in faults if n]


def _short(value: object) -> str:
    return shortened(str(value), MOST_TEXT)


def _is_doubtful(row: Row) -> bool:
    return row["source"] == "assumed" or _is_partial(row) or bool(_faults(row))


def _is_partial(row: Row) -> bool:
    """Return whether some of the known owners are not those that the strategy gives."""
    share = row["explains"]
    return share is not None and share < 1


def _snapshot(row: Row) -> str:
    """Return when the snapshot was taken."""
    taken, age = row["fetched_at"], row["age_seconds"]
    if taken is None:
        return _TIME_UNKNOWN
    return f"snapshot of {_short(taken)}" + ("" if age is None else f", {age_text(age)} old")


def age_text(seconds: float) -> str:
    """Return a time span for people, in the unit that says it in two or three digits.

    Examples
    --------
    >>> [age_text(seconds) for seconds in (4, 90, 600, 90_000, 10**6)]
    ['4 s', '90 s', '10 min', '25 h', '12 days']
    """
    for unit, n in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * n:
            return f"{seconds / n:,.0f} {unit}"
    return f"{seconds:,.0f} s"
