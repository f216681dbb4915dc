"""A difference as text and in notebooks: what was compared, the groups that differ, and sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.diffs._diff_result import ComparedState, Diff
from rmqalloc.diffs._diff_sums import cause_words, explanation, plan_sentence, sentence
from rmqalloc.diffs._group_text import arrow, change_line, group_lines, lag_text
from rmqalloc.results import drawn
from rmqalloc.results.markup import escaped
from rmqalloc.results.table_result import Section
from rmqalloc.results.terminal import MARK_WIDTH, marked, text_table
from rmqalloc.text import counted, printable

Row = Mapping[str, Any]

_SHOWN = 20
_FEW_GROUPS = 3
"""Most groups that are shown client by client."""

_WORST_FIRST = [
    ("unowned_after", "descending"),
    ("double_owned_after", "descending"),
    ("moved", "descending"),
    ("consumer_group", "ascending"),
]
_NOTHING = "–"


def diff_lines(diff: Diff, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
    """Lines of a whole difference."""
    top = top or _SHOWN
    yield from _header(diff.before, diff.after)
    yield ""
    yield from _of_topics(diff, top)
    differing = _differing(diff.groups)
    if differing.num_rows <= _FEW_GROUPS:
        for row in differing.to_pylist():
            yield from group_lines(diff, row, file)
            yield ""
    else:
        yield from _ranked(diff, differing, file, top)
        yield ""
    yield from _lag_alone(diff.groups)
    yield f"Diff: {sentence(diff)}"
    for line in plan_sentence(diff) if diff.of_plan else explanation(diff):
        yield line
    for line in diff.warnings:
        yield marked("!", printable(line), file)


def _header(before: ComparedState, after: ComparedState) -> Iterator[str]:
    width = max(len(printable(side.name)) for side in (before, after))
    for side in (before, after):
        what = "snapshot" if side.scenario is None else f"plan, after scenario {printable(side.scenario)}"
        when = "at a time that is not known" if side.time is None else f"of {printable(side.time)}"
        partial = f", partial: {counted(side.n_errors, 'request')} not answered" if side.n_errors else ""
        later = _later(before.time, after.time) if side is after else ""
        yield f"{printable(side.name).ljust(width)}  {what} {when}{later}{partial}"


def _later(before: str | None, after: str | None) -> str:
    """How much later the second is, where both times are known.

    Examples
    --------
    >>> _later("2026-01-01T10:00:00+00:00", "2026-01-01T12:05:30+00:00"), _later("2026-01-02", "2026-01-01"), _later(None, "x")
    (', 2 h 5 min later', ', 24 h 0 min earlier', '')
    """
    try:
        seconds = round((datetime.fromisoformat(after or "") - datetime.fromisoformat(before or "")).total_seconds())
    except (ValueError, TypeError):
        return ""
    minutes = abs(seconds) // 60
    text = (
        f"{abs(seconds)} s"
        if minutes < 2
        else f"{minutes} min"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )
    return f", {text} {'later' if seconds >= 0 else 'earlier'}"


def _of_topics(diff: Diff, top: int) -> Iterator[str]:
    """Changes of topics and brokers."""
    found = diff.changes.filter(pc.is_null(diff.changes["consumer_group"]))
    for row in found.slice(0, top).to_pylist():
        yield change_line(row)
    if found.num_rows > top:
        yield f"and {counted(found.num_rows - top, 'more change')} of topics and brokers (--show changes)"
    if found.num_rows:
        yield ""


def _differing(groups: pa.Table) -> pa.Table:
    """Groups that differ, the worst first."""
    alike = pa.array(["same", "not_in_plan"])
    return groups.filter(pc.invert(pc.is_in(groups["status"], alike))).sort_by(_WORST_FIRST)


def _ranked(diff: Diff, groups: pa.Table, file: IO[str] | None, top: int) -> Iterator[str]:
    """Groups that differ, one line each."""
    header = ("group", "status", "clients", "queues", "moved", "new", "gone", "unowned", "double-owned", "why")
    rows = groups.slice(0, top).to_pylist()
    shown = pa.array([row["consumer_group"] for row in rows])
    causes = diff.causes.filter(pc.is_in(diff.causes["consumer_group"], shown))
    cells = [_cells(row, causes.filter(pc.equal(causes["consumer_group"], row["consumer_group"]))) for row in rows]
    yield from text_table(header, cells, [True, True, *[False] * (len(header) - 3), True], file, MARK_WIDTH)
    if groups.num_rows > top:
        yield f"and {counted(groups.num_rows - top, 'more group')} (--top)"


def _cells(row: Row, causes: pa.Table) -> list[str]:
    sizes = [arrow(row[f"{name}_before"], row[f"{name}_after"]) for name in ("clients", "queues")]
    counts = [_NOTHING if row[name] is None else f"{row[name]:,}" for name in ("moved", "new", "gone")]
    faults = [arrow(row[f"{name}_before"], row[f"{name}_after"]) for name in ("unowned", "double_owned")]
    return [row["consumer_group"], row["status"].replace("_", " "), *sizes, *counts, *faults, cause_words(causes)]


def _lag_alone(groups: pa.Table) -> Iterator[str]:
    """Groups of which nothing but the lag differs, and grew."""
    grown = groups.filter(
        pc.and_(pc.equal(groups["status"], "same"), pc.greater(groups["lag_after"], groups["lag_before"]))
    )
    if grown.num_rows:
        growth = pc.subtract(grown["lag_after"], grown["lag_before"])
        row = grown.slice(pc.index(growth, pc.max(growth)).as_py(), 1).to_pylist()[0]
        others = counted(grown.num_rows, "group of which nothing else differs", "groups of which nothing else differs")
        yield f"The lag grew in {others}, most in {printable(row['consumer_group'])}: {lag_text(row)}"


def diff_sections(diff: Diff, most: int) -> Iterator[Section]:
    """Sums, and the groups that differ; ``most`` rows in all."""
    groups = _differing(diff.groups)
    columns = [name for name in groups.column_names if groups[name].null_count < groups.num_rows]
    yield f"<b>rmqalloc diff</b>: {escaped(sentence(diff))}", groups.slice(0, most).select(columns), groups.num_rows


drawn(Diff, diff_lines, diff_sections)
