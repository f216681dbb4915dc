"""Unread messages that a check found, above everything else."""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc.audit import Finding, Findings
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.audit.reach_text import headline, messages_text, ranges_text, unknown_words
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import (
    Markup,
    TableColumn,
    folded,
    html_table,
    number_columns,
)
from rmqalloc.results.html_text import escaped, name
from rmqalloc.text import counted

MOST_SHOWN, MOST_ROWS = 3, 200
"""Rows that stand open, and rows in all."""

_HEADS = (
    *map(TableColumn, ("group", "topic")),
    *number_columns("messages", "queues"),
    TableColumn("which", is_lesser=True),
    TableColumn("why"),
)


def unread_section(findings: Sequence[Finding]) -> str:
    """Return the section of unread messages, the largest backlog first, or that there are none;
    empty if the findings do not cover readers.
    """
    reach = findings.who_reads if isinstance(findings, Findings) else None
    if reach is None or not isinstance(findings, Findings):
        return ""
    is_known = not findings.missing
    kind, sign = (
        ("bad", "✗")
        if reach.unread
        else ("good", "✓")
        if is_known and not reach.unknown
        else ("warn", "!")
    )
    said = f'<p class="{kind}">{sign} {escaped(headline(reach, is_known))}</p>'
    rows, inside = [_cells(one) for one in reach.unread[:MOST_ROWS]], ""
    if rows:
        caption = "Unread queues, largest backlog first"
        inside = html_table(caption, _HEADS, rows[:MOST_SHOWN])
        if (more := len(reach.unread) - MOST_SHOWN) > 0:
            cut = f"; the first {MOST_ROWS - MOST_SHOWN}" if len(reach.unread) > MOST_ROWS else ""
            rest = html_table(f"{caption}, continued", _HEADS, rows[MOST_SHOWN:])
            inside += folded(counted(more, "more row") + cut, rest)
    if unknown := unknown_words(reach):
        inside += f'<p class="soft">{escaped(unknown)}</p>'
    return section("unread", "Unread messages", inside or said, said if inside else "")


def _cells(one: Answer) -> list[object]:
    why = f"{REASONS[one.reason].meaning}{': ' if one.detail else ''}{one.detail}"
    return [
        one.consumer_group or "–",
        one.topic,
        Markup(messages_text(one), -1 if one.messages is None else one.messages),
        len(one.queues),
        Markup(f"<code>{name(ranges_text(one), 60)}</code>", len(one.queues)),
        Markup(f'{name(why, 200)}<br><code class="soft">{one.reason}</code>', one.reason),
    ]
