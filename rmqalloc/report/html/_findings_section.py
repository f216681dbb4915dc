"""Findings of an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rmqalloc.audit.finding import SEVERITIES, Finding
from rmqalloc.audit.reach import queue_ranges
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import Markup, TableColumn, folded, html_table
from rmqalloc.results.and_more import first_of
from rmqalloc.results.html_text import escaped, name
from rmqalloc.text import counted, natural_key

MOST_SHOWN, MOST_FINDINGS = 3, 200
"""Findings that stand open above the figures of a plan, and findings in all."""

_SIGNS = {"error": ("bad", "✗ error"), "warning": ("warn", "! warning"), "note": ("soft", "· note")}
_COLUMNS = [
    TableColumn(title) for title in ("severity", "group", "topic", "finding", "advice", "concerns")
]


def findings_section(findings: Sequence[Finding], is_whole: bool = False) -> str:
    """Return findings, the most severe first; nothing if there are none."""
    if not findings:
        return ""
    ordered = sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.consumer_group))
    caption = f"{counted(len(findings), 'finding')}, the most severe first"
    if is_whole:
        table = html_table(caption, _COLUMNS, (_row(one, _concerned(one, None)) for one in ordered))
        return section("findings", "Findings", table, _lead(findings))
    caption += f"; the first {MOST_FINDINGS}" if len(findings) > MOST_FINDINGS else ""
    table = html_table(
        caption, _COLUMNS, (_row(one, _concerned(one)) for one in ordered[:MOST_FINDINGS])
    )
    short = f'<ul class="found">{"".join(map(_item, ordered[:MOST_SHOWN]))}</ul>'
    inside = short + folded(f"{caption}, with queues and clients", table)
    return section("findings", "Findings", inside, _lead(findings))


def _lead(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each severity."""
    counts = Counter(one.severity for one in findings)
    kinds = ", ".join(counted(counts[one], one) for one in SEVERITIES if counts[one])
    kind, sign = _SIGNS[next(one for one in SEVERITIES if counts[one])]
    return f'<p class="{kind}">{sign[0]} {escaped(counted(len(findings), "finding"))} of the audit: {escaped(kinds)}</p>'


def _item(finding: Finding) -> str:
    # The style sheet ends a long one after a few lines; the table below has all of it.
    kind, sign = _SIGNS[finding.severity]
    where = " · ".join(name(one) for one in (finding.consumer_group, finding.topic) if one)
    return (
        f'<li><div><span class="{kind}">{sign}</span> {f"<b>{where}</b>: " if where else ""}{name(finding.message, 400)} '
        f'<span class="soft">{name(finding.advice, 400)}</span></div></li>'
    )


def _row(finding: Finding, concerned: str) -> list[str | Markup]:
    kind, sign = _SIGNS[finding.severity]
    order = SEVERITIES.index(finding.severity)
    said = f'{name(finding.message, 400)}<br><code class="soft">{name(finding.rule)}</code>'
    return [
        Markup(f'<span class="{kind}">{sign}</span>', order),
        finding.consumer_group or "–",
        finding.topic or "–",
        Markup(said, finding.message[:80]),
        Markup(name(finding.advice, 400), finding.advice[:80]),
        Markup(concerned, len(finding.queues) + len(finding.clients)),
    ]


def _concerned(finding: Finding, most: int | None = 8) -> str:
    """Return clients, and queues by broker, such as ``12-15``; the first of them, or all if None."""
    by_topic = groupby(finding.queues, key=lambda queue: queue.topic)
    queues = (f"{topic} {those}" for topic, some in by_topic for those in queue_ranges(some))
    names = [*sorted(finding.clients, key=natural_key), *queues]
    return "<br>".join(first_of([f"<code>{name(one)}</code>" for one in names], most))
