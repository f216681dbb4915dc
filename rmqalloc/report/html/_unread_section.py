"""Messages that nobody reads: what a check found, above everything else."""

from __future__ import annotations

import pyarrow as pa

from rmqalloc._text import counted
from rmqalloc.report.html._page import section
from rmqalloc.report.html._page_tables import Markup, TableColumn, folded, html_table
from rmqalloc.results._markup import escaped, name

MOST_SHOWN, MOST_ROWS = 3, 200
"""Rows that stand open, and rows in all."""

_COLUMNS = ("consumer_group", "topic", "reason", "queues", "n_queues", "backlog", "rate")
_HEADS = (
    TableColumn("group"),
    TableColumn("topic"),
    TableColumn("why"),
    TableColumn("which queues", is_lesser=True),
    TableColumn("queues", True),
    TableColumn("backlog", True),
    TableColumn("messages/s", True),
)
_WORST_FIRST = [("backlog", "descending"), ("n_queues", "descending")]


def unread_section(unread: pa.Table | None) -> str:
    """Queues that are written to and that nobody reads, the greatest backlog first; nothing if there are none.

    Parameters
    ----------
    unread : pyarrow.Table or None
        ``consumer_group``, ``topic``, ``reason``, ``queues`` as a short text, ``n_queues``, ``backlog`` and ``rate``.
    """
    if unread is None or not unread.num_rows:
        return ""
    ordered = unread.select(_COLUMNS).sort_by(_WORST_FIRST).slice(0, MOST_ROWS)
    rows = [_cells(list(row.values())) for row in ordered.to_pylist()]
    n_queues = sum(unread["n_queues"].to_pylist())
    said = f"✗ {counted(n_queues, 'queue is', 'queues are')} read by nobody"
    caption = "Queues that nobody reads, the greatest backlog first"
    inside = html_table(caption, _HEADS, rows[:MOST_SHOWN])
    if len(rows) > MOST_SHOWN:
        more = f"{counted(unread.num_rows - MOST_SHOWN, 'more row')}"
        cut = f"; the first {len(rows) - MOST_SHOWN}" if unread.num_rows > MOST_ROWS else ""
        inside += folded(more + cut, html_table(f"{caption}, continued", _HEADS, rows[MOST_SHOWN:]))
    return section("unread", "Messages nobody reads", inside, f'<p class="bad">{escaped(said)}</p>')


def _cells(row: list[object]) -> list[object]:
    """The first texts are names; why and which may be longer than these."""
    reason, queues = str(row[2] or ""), str(row[3] or "")
    return [*row[:2], Markup(name(reason, 100), reason[:80]), Markup(name(queues, 60), queues[:80]), *row[4:]]
