"""Tables of the page: numbers right, names safe, columns that the page's script can sort by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rmqalloc.results._markup import escaped, name, number
from rmqalloc.results._terminal import cell_text


class BeforeAfter(NamedTuple):
    """A figure before and after; only one is shown where they are the same."""

    before: float | int | None
    after: float | int | None


class Markup(NamedTuple):
    """A cell that is markup already, and what it is sorted by."""

    html: str
    sorted_by: float | int | str = ""


def html_table(
    caption: str, heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[Any]], is_sortable: bool = True
) -> str:
    """A table with its caption, in a frame of its own that scrolls where it is too wide.

    Parameters
    ----------
    caption : str
        Plain text.
    heads : sequence of (str, bool)
        Name of every column, and whether it holds numbers.
    rows : iterable of sequences
        Texts, numbers, None, `BeforeAfter` or `Markup`; the first of a row is its heading.
    is_sortable : bool
        Whether the page's script lets people sort it.

    Examples
    --------
    >>> "<td class=\\"n\\" data-v=\\"3\\">2 → 3</td>" in html_table("t", [("a", False), ("", True)], [("x", BeforeAfter(2, 3))])
    True
    """
    head = "".join(f'<th scope="col"{_class(numeric)}>{escaped(title)}</th>' for title, numeric in heads)
    body = "\n".join(_row(row, heads) for row in rows)
    sortable = ' class="sortable"' if is_sortable else ""
    return (
        f'<div class="wide" role="region" aria-label="{escaped(caption)}" tabindex="0"><table{sortable}>'
        f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[Any], heads: Sequence[tuple[str, bool]]) -> str:
    cells = [_cell(value, numeric, i == 0) for i, (value, (_, numeric)) in enumerate(zip(row, heads, strict=True))]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: Any, numeric: bool, is_heading: bool) -> str:
    start, end = ('<th scope="row"', "</th>") if is_heading else ("<td", "</td>")
    text, sorted_by = _content(value, numeric)
    by = "" if sorted_by is None else f' data-v="{escaped(str(sorted_by))}"'
    return f"{start}{_class(numeric)}{by}>{text}{end}"


def _content(value: Any, numeric: bool) -> tuple[str, Any]:
    """Markup of a cell, and what it is sorted by where that is not its text."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, BeforeAfter):
        before, after = number(value.before), number(value.after)
        return after if before == after else f"{before} → {after}", "" if value.after is None else value.after
    if numeric:
        return number(value), "" if value is None else value
    return name(cell_text(value)), None


def _class(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
