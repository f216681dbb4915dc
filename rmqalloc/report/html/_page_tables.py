"""Tables of the page: numbers right, names safe, columns that the page's script can sort by, rows
that are cards on a phone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.results.renderer import arrow, cell_text
from rmqalloc.text import counted


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    title : str
    is_number : bool
        Whether it holds numbers.
    is_lesser : bool
        Whether a phone leaves it out.
    """

    title: str
    is_number: bool = False
    is_lesser: bool = False


def number_columns(*titles: str, is_lesser: bool = False) -> list[TableColumn]:
    """Return columns that hold numbers."""
    return [TableColumn(title, True, is_lesser) for title in titles]


class BeforeAfter(NamedTuple):
    """A figure before and after; only one is shown where they are the same."""

    before: float | int | str | None
    after: float | int | str | None

    def text(self, column: str = "") -> str:
        """Return both, for people.

        Examples
        --------
        >>> BeforeAfter(2, 3).text(), BeforeAfter(1.001, 1.002).text("skew")
        ('2 → 3', '1.00')
        """
        return arrow(number(self.before, column), number(self.after, column))


class Markup(NamedTuple):
    """A cell that is markup already, and what it is sorted by."""

    html: str
    sorted_by: float | int | str = ""


def html_table(
    caption: str,
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[Any]],
    is_sortable: bool = True,
    has_cards: bool = True,
    kinds: Iterable[str] = repeat(""),
) -> str:
    """Return a table with its caption, in a frame of its own that scrolls where it is too wide;
    ``kinds`` are classes of rows.

    Examples
    --------
    >>> made = html_table("t", [TableColumn("a"), TableColumn("moved", True)], [("x", BeforeAfter(2, 3))])
    >>> "<td class=\\"n\\" data-l=\\"moved\\" data-v=\\"3\\">2 → 3</td>" in made
    True
    """
    head = "".join(f'<th scope="col"{_class(one)}>{escaped(one.title)}</th>' for one in columns)
    body = "\n".join(
        _row(row, columns, has_cards, kind) for row, kind in zip(rows, kinds, strict=False)
    )
    looks = class_of(["sortable"] * is_sortable + ["cards"] * has_cards)
    return (
        f'<div class="wide" role="group" aria-label="{escaped(caption)}" tabindex="0">'
        f"<table{looks}><caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def folded(said: str, inside: str, is_open: bool = False) -> str:
    """Return a part of the page that is unfolded by a click, and on paper."""
    return (
        f"<details{' open' if is_open else ''}><summary>{escaped(said)}</summary>{inside}</details>"
    )


def how_many(
    shown: int, there: int, what: str, where: str = "all rows are in the saved plan"
) -> str:
    """Return the end of a caption: how many rows there are, if not all are shown.

    Examples
    --------
    >>> how_many(3, 3, "group"), how_many(50, 1200, "group")
    ('', ' (50 of 1,200 groups; all rows are in the saved plan)')
    """
    return "" if shown == there else f" ({shown} of {counted(there, what)}; {where})"


def _row(row: Sequence[Any], columns: Sequence[TableColumn], has_cards: bool, kind: str) -> str:
    cells = [
        _cell(value, column, i == 0, has_cards)
        for i, (value, column) in enumerate(zip(row, columns, strict=True))
    ]
    return f"<tr{class_of(kind.split())}>{''.join(cells)}</tr>"


def _cell(value: Any, column: TableColumn, is_heading: bool, has_cards: bool) -> str:
    start, end = ('<th scope="row"', "</th>") if is_heading else ("<td", "</td>")
    text, sorted_by = _content(value, column)
    label = f' data-l="{escaped(column.title)}"' if has_cards and not is_heading else ""
    by = "" if sorted_by is None else f' data-v="{escaped(str(sorted_by))}"'
    return f"{start}{_class(column)}{label}{by}>{text}{end}"


def _content(value: Any, column: TableColumn) -> tuple[str, Any]:
    """Return the markup of a cell, and what it is sorted by where that is not its text."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, BeforeAfter):
        return value.text(column.title), "" if value.after is None else value.after
    if column.is_number:
        return number(value, column.title), "" if value is None else value
    return name(cell_text(value)), None


def _class(column: TableColumn) -> str:
    return class_of(["n"] * column.is_number + ["l"] * column.is_lesser)


def class_of(kinds: Sequence[str]) -> str:
    """Return the attribute of an element that has classes, with the blank before it.

    Examples
    --------
    >>> class_of(["n", "l"]), class_of([])
    (' class="n l"', '')
    """
    return f' class="{" ".join(kinds)}"' if kinds else ""
