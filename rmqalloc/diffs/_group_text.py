"""One group of a difference as text: its changes, its clients, its queues, and why they moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.diffs._diff_result import Diff
from rmqalloc.diffs._diff_sums import cause_words
from rmqalloc.plans.plan_text import scaled
from rmqalloc.results.terminal import MARK_WIDTH, marked, text_table
from rmqalloc.text import counted, printable

Row = Mapping[str, Any]

_MOST_LINES = 12
_MARKS = {"joined": "+", "left": "-", "not_seen_before": "?", "not_seen_after": "?"}
_WORST_FIRST = ("unowned", "double_owned", "gone", "moved", "repaired", "new")
_NOBODY = "nobody"


def group_lines(diff: Diff, row: Row, file: IO[str] | None) -> Iterator[str]:
    """Lines of one group, given its row of `Diff.groups`."""
    name = row["consumer_group"]
    changes, clients, queues, causes = (
        table.filter(pc.equal(table["consumer_group"], name))
        for table in (diff.changes, diff.clients, diff.queues, diff.causes)
    )
    sizes = [f"clients {arrow(row['clients_before'], row['clients_after'])}"]
    if row["queues_before"] is not None:
        sizes.append(f"queues {arrow(row['queues_before'], row['queues_after'])}")
    status = "" if row["status"] == "differs" else f"  {row['status'].replace('_', ' ')}"
    yield f"Group {printable(name)}{status}  {'  '.join(sizes)}"
    yield from _changes(changes)
    yield from _clients(clients, file)
    yield from _queues(queues, file)
    if row["moved"]:
        why = f": {cause_words(causes)}" if causes.num_rows else ""
        yield f"  Moved {row['moved']:,} of {counted(row['queues_after'], 'queue')}{why}."
    if row["lag_before"] is not None and row["lag_after"] is not None:
        yield f"  {lag_text(row)}"
    for key, text in (("unowned_after", "owned by nobody"), ("double_owned_after", "owned by several clients")):
        if row[key]:
            yield marked(
                "!",
                f"{counted(row[key], 'queue is', 'queues are')} {text} (before: {row[key[:-5] + 'before']:,})",
                file,
            )


def lag_text(row: Row) -> str:
    """The growth of a group's lag."""
    text = f"Lag {scaled(row['lag_before'])} → {scaled(row['lag_after'])} messages"
    if row["produced"] is None:
        return text
    return f"{text}, {_signed(row['produced'])} produced, {_signed(row['consumed'])} consumed"


def _signed(count: int) -> str:
    return scaled(count) if count >= 0 else f"-{scaled(-count)}"


def arrow(before: Any, after: Any) -> str:
    """Both values, or one if they are the same."""
    texts = [
        "–" if one is None else f"{one:,}" if isinstance(one, int) else printable(str(one)) for one in (before, after)
    ]
    return texts[0] if texts[0] == texts[1] else " → ".join(texts)


def change_line(row: Row) -> str:
    """One difference, given its row of `Diff.changes`."""
    where = [printable(row[key]) for key in ("topic", "broker_name", "client_id") if row[key] is not None]
    what = row["change"].replace("_", " ")
    if row["before"] is None and row["after"] is None:
        return f"{' '.join(where)}: {what}"
    return f"{' '.join([*where, what])}: {arrow(row['before'], row['after'])}"


def _changes(changes: pa.Table) -> Iterator[str]:
    """Changes of a group, but for clients that joined or left, which the table of clients shows."""
    steps = pa.array(["clients_left", "clients_joined"])
    others = changes.filter(pc.invert(pc.is_in(changes["step"], steps)))
    for row in others.slice(0, _MOST_LINES).to_pylist():
        if not row["change"].startswith("group_"):
            yield f"  {change_line(row)}"
    if others.num_rows > _MOST_LINES:
        yield f"  and {counted(others.num_rows - _MOST_LINES, 'more change')} (--show changes)"


def _clients(clients: pa.Table, file: IO[str] | None) -> Iterator[str]:
    rows = clients.slice(0, _MOST_LINES).to_pylist()
    if not rows:
        return
    figures = ("before", "after", "gained", "lost")
    cells = [[row["client_id"], *("–" if row[key] is None else f"{row[key]:,}" for key in figures)] for row in rows]
    header, *lines = text_table(("client", *figures), cells, [True, *[False] * len(figures)], file, MARK_WIDTH)
    yield f"  {header}"
    for row, line in zip(rows, lines, strict=True):
        yield marked(_MARKS.get(row["status"], "~"), line, file)
    if clients.num_rows > len(rows):
        yield f"  and {counted(clients.num_rows - len(rows), 'more client')} (--show clients)"


def _queues(queues: pa.Table, file: IO[str] | None) -> Iterator[str]:
    """The queues that matter most: those that nobody or several own first."""
    rank = pc.index_in(queues["change"], pa.array(_WORST_FIRST))
    rows = queues.take(pc.array_sort_indices(rank)).slice(0, _MOST_LINES).to_pylist()
    if not rows:
        return
    cells = [_queue_cells(row) for row in rows]
    header, *lines = text_table(
        ("topic", "queue", "owner before", "owner after", "change"), cells, (), file, MARK_WIDTH
    )
    yield f"  {header}"
    for line in lines:
        yield f"  {line}"
    if queues.num_rows > len(rows):
        yield f"  and {counted(queues.num_rows - len(rows), 'more queue')} (--show queues)"


def _queue_cells(row: Row) -> list[str]:
    before, after = (_owners(row, when) for when in ("before", "after"))
    change = row["change"] if row["planned"] is None else f"{row['change']}, {row['planned']}"
    before, after = ("" if row["change"] == "new" else before), ("" if row["change"] == "gone" else after)
    return [row["topic"], f"{row['broker_name']}:{row['queue_id']}", before, after, change.replace("_", " ")]


def _owners(row: Row, when: str) -> str:
    first = row[f"owner_{when}"]
    return _NOBODY if first is None else ", ".join([first, *(row[f"others_{when}"] or ())])
