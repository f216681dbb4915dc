"""Findings of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc._text import counted
from rmqalloc.audit._finding import SEVERITIES, Finding
from rmqalloc.report.html._page_tables import Markup, html_table
from rmqalloc.results._markup import name

MOST_FINDINGS = 200
_SIGNS = {"error": ("bad", "✗ error"), "warning": ("warn", "! warning"), "note": ("soft", "· note")}


def findings_section(findings: Sequence[Finding]) -> str:
    """Findings, the gravest first."""
    if not findings:
        return ""
    ordered = sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.consumer_group))
    heads = [(title, False) for title in ("severity", "group", "topic", "finding", "advice", "concerns")]
    n = len(findings)
    caption = f"{counted(n, 'finding')}, the gravest first" + (
        f"; the first {MOST_FINDINGS}" if n > MOST_FINDINGS else ""
    )
    return (
        '<section id="findings" aria-labelledby="findings-h"><h2 id="findings-h">Findings</h2>'
        f"{html_table(caption, heads, map(_row, ordered[:MOST_FINDINGS]))}</section>"
    )


def _row(finding: Finding) -> list[str | Markup]:
    kind, sign = _SIGNS[finding.severity]
    order = SEVERITIES.index(finding.severity)
    said = f'{name(finding.message, 400)}<br><code class="soft">{name(finding.rule)}</code>'
    return [
        Markup(f'<span class="{kind}">{sign}</span>', order),
        finding.consumer_group or "–",
        finding.topic or "–",
        Markup(said, finding.message[:80]),
        Markup(name(finding.advice, 400), finding.advice[:80]),
        Markup(_concerned(finding), len(finding.queues) + len(finding.clients)),
    ]


def _concerned(finding: Finding, most: int = 8) -> str:
    """Clients and queues, folded where they are many."""
    named = [f"<code>{name(client_id)}</code>" for client_id in finding.clients[:most]]
    named += [
        f"<code>{name(f'{q.topic} {q.broker_name}:{q.queue_id}')}</code>" for q in finding.queues[: most - len(named)]
    ]
    n = len(finding.clients) + len(finding.queues)
    return "<br>".join(named) + (f"<br>and {n - len(named):,} more" if n > len(named) else "")
