"""Draw a difference as text and in notebooks: what was compared, the groups that differ, and sums.

A few groups are shown with the clients and queues that changed, and why; many groups are listed,
the worst first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.plans.diffs._diff_result import ComparedState, Diff
from rmqalloc.plans.diffs._diff_sums import cause_words, explanation, plan_sentence, sentence
from rmqalloc.plans.plan_text import OPEN, open_queues
from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.html_text import escaped
from rmqalloc.results.renderer import (
    MARK_WIDTH,
    arrow,
    figure,
    marked_table,
    order_of,
    scaled,
    text_table,
    warned,
)
from rmqalloc.results.tabular import Section
from rmqalloc.results.wrapping import fields, wrapped
from rmqalloc.text import counted, printable

Row = Mapping[str, Any]

_SHOWN = 20
_FEW_GROUPS = 3
"""Most groups that are shown client by client."""

_WORST_FIRST = "-unowned_after,-double_owned_after,-moved,consumer_group"
_SPARE = ("double-owned", "new", "gone", "status", "queues", "clients")
"""Columns of groups that give way where a line is too long, those without a figure first."""
_GROUP_COLUMNS = (
    "group",
    "status",
    "clients",
    "queues",
    "moved",
    "new",
    "gone",
    "unowned",
    "double-owned",
    "",
)

_MOST_LINES = 12
_MARKS = {"joined": "+", "left": "-", "not_seen_before": "?", "not_seen_after": "?"}
_WORST_QUEUES = ("unowned", "double_owned", "gone", "moved", "repaired", "new")
_FIGURES = ("before", "after", "gained", "lost")
_QUEUE_COLUMNS = ("topic", "queue", "owner before", "owner after", "change")
_NOBODY = "nobody"


def diff_lines(diff: Diff, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
    """Yield the lines of a difference."""
    top = top or _SHOWN
    yield from _header(diff.before, diff.after, file)
    yield ""
    yield from _of_topics(diff, file, top)
    differing = _differing(diff.groups)
    if differing.num_rows <= _FEW_GROUPS:
        for row in differing.to_pylist():
            yield from group_lines(diff, row, file)
            yield ""
    else:
        yield from _ranked(diff, differing, file, top)
        yield ""
    said = plan_sentence(diff) if diff.of_plan else explanation(diff)
    for line in (*_lag_alone(diff.groups), f"Diff: {sentence(diff)}", *said):
        yield from wrapped(line, file)
    yield from warned(diff.warnings, file)


def _header(before: ComparedState, after: ComparedState, file: IO[str] | None) -> Iterator[str]:
    width = max(len(printable(side.name)) for side in (before, after))
    for side in (before, after):
        what = (
            "snapshot"
            if side.scenario is None
            else f"plan, after scenario {printable(side.scenario)}"
        )
        when = "at an unknown time" if side.time is None else f"of {printable(side.time)}"
        partial = (
            f", partial: {counted(side.n_errors, 'request')} not answered" if side.n_errors else ""
        )
        later = _later(before.time, after.time) if side is after else ""
        yield from wrapped(
            f"{printable(side.name).ljust(width)}  {what} {when}{later}{partial}", file
        )


def _later(before: str | None, after: str | None) -> str:
    """Return how much later the second snapshot is, where both times are known.

    Examples
    --------
    >>> _later("2026-01-01T10:00:00+00:00", "2026-01-01T12:05:30+00:00"), _later("2026-01-02", "2026-01-01"), _later(None, "x")
    (', 2 h 5 min later', ', 24 h 0 min earlier', '')
    """
    try:
        seconds = round(
            (
                datetime.fromisoformat(after or "") - datetime.fromisoformat(before or "")
            ).total_seconds()
        )
    except (ValueError, TypeError):
        return ""
    hours, minutes = divmod(abs(seconds) // 60, 60)
    text = (
        f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min"
        if minutes > 1
        else f"{abs(seconds)} s"
    )
    return f", {text} {'later' if seconds >= 0 else 'earlier'}"


def _of_topics(diff: Diff, file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield the changes of topics and brokers."""
    found = diff.changes.filter(pc.is_null(diff.changes["consumer_group"]))
    for row in found.slice(0, top).to_pylist():
        yield from wrapped(change_line(row), file)
    yield from more(found.num_rows - top, "change", " of topics and brokers (--show changes)")
    if found.num_rows:
        yield ""


def _differing(groups: pa.Table) -> pa.Table:
    """Return the groups that differ, the worst first."""
    alike = pa.array(["same", "not_in_plan"])
    differing = groups.filter(pc.invert(pc.is_in(groups["status"], alike)))
    return differing.take(order_of(differing, _WORST_FIRST))


def _ranked(diff: Diff, groups: pa.Table, file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield the groups that differ, one line each."""
    rows = groups.slice(0, top).to_pylist()
    shown = pa.array([row["consumer_group"] for row in rows])
    causes = diff.causes.filter(pc.is_in(diff.causes["consumer_group"], shown))
    cells = [
        _cells(row, causes.filter(pc.equal(causes["consumer_group"], row["consumer_group"])))
        for row in rows
    ]
    empty = [
        name
        for name, *column in zip(_GROUP_COLUMNS, *cells, strict=True)
        if name in _SPARE and {*column} <= {"0"}
    ]
    spare = (*empty, *_SPARE)
    yield from text_table(
        _GROUP_COLUMNS, cells, _GROUP_COLUMNS[2:-1], file, MARK_WIDTH, prose=("",), spare=spare
    )
    yield from more(groups.num_rows - top, "group", " (--top)")


def _cells(row: Row, causes: pa.Table) -> list[str]:
    names = ("clients", "queues", "unowned", "double_owned")
    clients, queues, *faults = (
        arrow(row[f"{name}_before"], row[f"{name}_after"]) for name in names
    )
    counts = [figure(row[name]) for name in ("moved", "new", "gone")]
    return [
        row["consumer_group"],
        row["status"].replace("_", " "),
        clients,
        queues,
        *counts,
        *faults,
        cause_words(causes),
    ]


def _lag_alone(groups: pa.Table) -> Iterator[str]:
    """Yield a line on the groups of which nothing but the lag differs, and grew."""
    grown = groups.filter(
        pc.and_(
            pc.equal(groups["status"], "same"),
            pc.greater(groups["lag_after"], groups["lag_before"]),
        )
    )
    if grown.num_rows:
        growth = pc.subtract(grown["lag_after"], grown["lag_before"])
        row = grown.slice(pc.index(growth, pc.max(growth)).as_py(), 1).to_pylist()[0]
        others = counted(
            grown.num_rows,
            "group without another difference",
            "groups without another difference",
        )
        yield f"The lag grew in {others}, most in {printable(row['consumer_group'])}: {lag_text(row)}"


# --- One group ---


def group_lines(diff: Diff, row: Row, file: IO[str] | None) -> Iterator[str]:
    """Yield the lines of one group, given its row of `Diff.groups`."""
    name = row["consumer_group"]
    changes, clients, queues, causes = (
        table.filter(pc.equal(table["consumer_group"], name))
        for table in (diff.changes, diff.clients, diff.queues, diff.causes)
    )
    sizes = [f"clients {arrow(row['clients_before'], row['clients_after'])}"]
    if row["queues_before"] is not None:
        sizes.append(f"queues {arrow(row['queues_before'], row['queues_after'])}")
    status = "" if row["status"] == "differs" else f"  {row['status'].replace('_', ' ')}"
    yield from fields([f"Group {printable(name)}{status}", *sizes], file)
    yield from _changes(changes, file)
    yield from _clients(clients, file)
    yield from _queues(queues, file)
    if row["moved"]:
        why = f": {cause_words(causes)}" if causes.num_rows else ""
        yield from wrapped(
            f"  Moved {row['moved']:,} of {counted(row['queues_after'], 'queue')}{why}.",
            file,
            "    ",
        )
    if row["lag_before"] is not None and row["lag_after"] is not None:
        yield from wrapped(f"  {lag_text(row)}", file, "    ")
    open_after = ((row[f"{which}_after"], row[f"{which}_before"], which) for which in OPEN)
    yield from warned(
        (f"{open_queues(n, which)} (before: {was:,})" for n, was, which in open_after if n), file
    )


def lag_text(row: Row) -> str:
    """Return the growth of a group's lag as a sentence."""
    text = f"Lag {scaled(row['lag_before'])} → {scaled(row['lag_after'])} messages"
    if row["produced"] is None:
        return text
    return f"{text}, {scaled(row['produced'])} produced, {scaled(row['consumed'])} consumed"


def change_line(row: Row) -> str:
    """Return one difference as a line, given its row of `Diff.changes`."""
    where = [
        printable(row[key]) for key in ("topic", "broker_name", "client_id") if row[key] is not None
    ]
    what = row["change"].replace("_", " ")
    if row["before"] is None and row["after"] is None:
        return f"{' '.join(where)}: {what}"
    return f"{' '.join([*where, what])}: {arrow(row['before'], row['after'])}"


def _changes(changes: pa.Table, file: IO[str] | None) -> Iterator[str]:
    """Yield the changes of a group without clients that joined or left, which the table of clients
    shows.
    """
    steps = pa.array(["clients_left", "clients_joined"])
    others = changes.filter(pc.invert(pc.is_in(changes["step"], steps)))
    for row in others.slice(0, _MOST_LINES).to_pylist():
        if not row["change"].startswith("group_"):
            yield from wrapped(f"  {change_line(row)}", file, "    ")
    yield from (
        f"  {line}" for line in more(others.num_rows - _MOST_LINES, "change", " (--show changes)")
    )


def _clients(clients: pa.Table, file: IO[str] | None) -> Iterator[str]:
    rows = clients.slice(0, _MOST_LINES).to_pylist()
    cells = [[row["client_id"], *(figure(row[key]) for key in _FIGURES)] for row in rows]
    marks = [_MARKS.get(row["status"], "~") for row in rows]
    left_out = more(clients.num_rows - len(rows), "client", " (--show clients)")
    if rows:
        yield from marked_table(("client", *_FIGURES), cells, marks, _FIGURES, file, left_out)


def _queues(queues: pa.Table, file: IO[str] | None) -> Iterator[str]:
    """Yield the most important queues: unowned and double-owned ones first."""
    rank = pc.index_in(queues["change"], pa.array(_WORST_QUEUES))
    rows = queues.take(pc.array_sort_indices(rank)).slice(0, _MOST_LINES).to_pylist()
    left_out = more(queues.num_rows - len(rows), "queue", " (--show queues)")
    if rows:
        yield from marked_table(
            _QUEUE_COLUMNS, [*map(_queue_cells, rows)], " " * len(rows), (), file, left_out
        )


def _queue_cells(row: Row) -> list[str]:
    before, after = (_owners(row, when) for when in ("before", "after"))
    change = row["change"] if row["planned"] is None else f"{row['change']}, {row['planned']}"
    before, after = (
        ("" if row["change"] == "new" else before),
        ("" if row["change"] == "gone" else after),
    )
    return [
        row["topic"],
        f"{row['broker_name']}:{row['queue_id']}",
        before,
        after,
        change.replace("_", " "),
    ]


def _owners(row: Row, when: str) -> str:
    first = row[f"owner_{when}"]
    return _NOBODY if first is None else ", ".join([first, *(row[f"others_{when}"] or ())])


# --- In notebooks ---


def diff_sections(diff: Diff, most: int) -> Iterator[Section]:
    """Yield the sums and the groups that differ; ``most`` rows in all."""
    groups = _differing(diff.groups)
    columns = [name for name in groups.column_names if groups[name].null_count < groups.num_rows]
    yield (
        f"<b>rmqalloc diff</b>: {escaped(sentence(diff))}",
        groups.slice(0, most).select(columns).to_pylist(),
        groups.num_rows,
    )


drawn(Diff, diff_lines, diff_sections)
