"""Messages that nobody reads."""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc.audit import Finding, Findings
from rmqalloc.audit._reach_answers import Answer
from rmqalloc.audit._reach_reasons import REASONS
from rmqalloc.audit._reach_text import headline, messages_text, ranges_text, unknown_words
from rmqalloc.report.html._page_tables import Markup, html_table
from rmqalloc.results._markup import escaped, name

MOST_UNREAD = 50
_HEADS = (("group", False), ("topic", False), ("messages", True), ("queues", True), ("which", False), ("why", False))


def unread_section(findings: Sequence[Finding]) -> str:
    """Messages that nobody reads, the largest backlog first, or that there are none; nothing if it was not looked at."""
    reach = findings.who_reads if isinstance(findings, Findings) else None
    if reach is None:
        return ""
    kind, sign = ("bad", "✗") if reach.unread else ("warn", "!") if reach.unknown else ("good", "✓")
    said = f'<p class="{kind}">{sign} {escaped(headline(reach))}</p>'
    if reach.unread:
        n = len(reach.unread)
        caption = "Queues that nobody reads, the largest backlog first"
        caption += f"; the first {MOST_UNREAD} of {n:,} rows" if n > MOST_UNREAD else ""
        said += html_table(caption, _HEADS, map(_row, reach.unread[:MOST_UNREAD]))
    if unknown := unknown_words(reach):
        said += f'<p class="soft">{escaped(unknown)}</p>'
    return (
        f'<section id="unread" aria-labelledby="unread-h"><h2 id="unread-h">Messages nobody reads</h2>{said}</section>'
    )


def _row(one: Answer) -> list[str | int | Markup]:
    why = f"{REASONS[one.reason].meaning}{': ' if one.detail else ''}{one.detail}"
    said = f'{name(why, 400)}<br><code class="soft">{one.reason}</code>'
    return [
        one.consumer_group or "–",
        one.topic,
        Markup(messages_text(one), -1 if one.messages is None else one.messages),
        len(one.queues),
        Markup(f"<code>{name(ranges_text(one), 120)}</code>", len(one.queues)),
        Markup(said, one.reason),
    ]
