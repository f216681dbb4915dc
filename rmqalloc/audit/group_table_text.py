"""Draw the list of groups as text: a line each, worst first; columns of problems that no group has
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from rmqalloc.audit.group_table import GroupList, is_unknown
from rmqalloc.results import compute as pc
from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import NOTHING, figure, marked_table, skew_text
from rmqalloc.text import counted

_SHOWN = 20
_PROBLEMS = ("unowned", "double_owned", "unread", "idle", "errors", "warnings")
_HEADINGS = {
    "consumer_group": "group",
    "n_clients": "clients",
    "n_queues": "queues",
    "double_owned": "double-owned",
}
_TEXTS = ("group", "strategy", "worst", "not known")
_LEAST_IMPORTANT = ("skew", "warnings", "unread", "strategy", "queues", "clients", "not known")
"""Columns that a narrow line does without, the first of them first, but after those of which nothing is known; ``-o wide``
has all."""
_SEEN_OTHERWISE = "lags"
"""What is not known of a group and needs no word: its lag is a dash."""

Row = Mapping[str, Any]


def group_lines(
    found: GroupList, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield the lines of the groups; ``top`` is how many at most, 20 by default."""
    table, top = found.groups, top or _SHOWN
    if not table.num_rows:
        yield "No group."
        return
    yield from (_headline(found), "")
    rows = table.slice(0, top).to_pylist()
    names = ["consumer_group", "n_clients", "n_queues", "strategy", "messages", "skew"]
    for name in _PROBLEMS:
        if pc.max(table[name]).as_py():
            names.append(name)
    for name in ("worst", "not_known"):
        if any(_cell(row, name) for row in rows):
            names.append(name)
    headings = [_HEADINGS.get(name, name.replace("_", " ")) for name in names]
    cells = []
    for row in rows:
        cells.append([_text(row, name) for name in names])
    columns = zip(headings, *cells, strict=True)
    unknown = [heading for heading, *column in columns if set(column) == {NOTHING}]
    yield from marked_table(
        headings,
        cells,
        marks=map(_mark, rows),
        numbers=set(headings).difference(_TEXTS),
        file=file,
        left_out=more(table.num_rows - len(rows), "group", " (--top)"),
        spare=(*unknown, *_LEAST_IMPORTANT),
    )


def _text(row: Row, name: str) -> str:
    return _cell(row, name) or ("" if name == "not_known" else NOTHING)


def _cell(row: Row, name: str) -> str:
    value = row[name]
    if name == "strategy":
        source = row["strategy_source"]
        return f"{value or NOTHING} ({source})" if source else value or NOTHING
    if name == "not_known":
        return ", ".join(kind for kind in value if kind != _SEEN_OTHERWISE)
    if name == "worst":
        return value or ""
    return skew_text(value) if name == "skew" else figure(value)


def _mark(row: Row) -> str:
    if any(row[name] for name in ("unowned", "double_owned", "errors")):
        return "!"
    if row["unowned"] is None and row["n_clients"] != 0:
        return "?"
    return "~" if row["unread"] or row["idle"] or row["warnings"] else " "


def _headline(found: GroupList) -> str:
    table = found.groups
    kinds = {
        "with errors": pc.greater(table["errors"], 0),
        "with warnings": pc.greater(table["warnings"], 0),
        "without clients": pc.equal(table["n_clients"], 0),
        "with unknown owners": is_unknown(table),
    }
    problems = []
    for what, is_such in kinds.items():
        n_groups = pc.sum(is_such).as_py()
        if n_groups:
            problems.append(f"{n_groups:,} {what}")
    lag = pc.sum(table["messages"]).as_py()
    lags = "no lag known" if lag is None else f"{counted(lag, 'message')} waiting"
    of_none = sum(not finding.consumer_group for finding in found.findings)
    others = (
        f"; {counted(of_none, 'finding')} not about a single group (rmqalloc check)"
        if of_none
        else ""
    )
    return (
        f"{counted(table.num_rows, 'group')}: {', '.join(problems) or 'no problem'}; {lags}{others}"
    )


drawn(GroupList, group_lines)
