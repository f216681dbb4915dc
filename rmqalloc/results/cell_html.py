"""HTML of tables in a cell of a notebook.

The HTML sets no colours, so it is readable in dark and light notebooks. Texts from a cluster are
escaped and cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rmqalloc.results.and_more import named
from rmqalloc.results.html_text import SHOWN, escaped, name, number
from rmqalloc.results.renderer import PROSE
from rmqalloc.text import counted

_LINE = "border-bottom:1px solid rgba(128,128,128,.4);padding:2px 10px;"
_SAFE = "unicode-bidi:isolate;overflow-wrap:break-word"
_MOST_PROSE, _MOST_ITEMS = 200, 5


def cell_html(sections: Iterable[tuple[str, Sequence[Mapping[str, Any]], int]]) -> str:
    """Return the HTML of sections. A section is HTML above a table, the rows to show, and the number
    of all rows.

    Examples
    --------
    >>> cell_html([("<b>Loads</b>", [{"client_id": "<a>"}], 3)]).count("&lt;a&gt;")
    1
    """
    parts = []
    for heading, rows, n_rows in sections:
        parts.append(f"<div>{heading}</div>" if heading else "")
        if rows:
            parts.append(_table(rows))
        if 0 < len(rows) < n_rows:
            parts.append(f"<div>{counted(n_rows - len(rows), 'more row')}</div>")
    return f'<div style="line-height:1.5;{_SAFE}">{"".join(parts)}</div>'


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    headings = [escaped(column.replace("_", " ")) for column in rows[0]]
    lines = [[_cell("th", heading, is_number=i > 0) for i, heading in enumerate(headings)]]
    for row in rows:
        lines.append([_value(value, column) for column, value in row.items()])
    markup = "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines)
    return f'<table style="border-collapse:collapse">{markup}</table>'


def _value(value: Any, column: str) -> str:
    if isinstance(value, bool):
        return _cell("td", "yes" if value else "no", is_number=False)
    if value is None or isinstance(value, int | float):
        return _cell("td", number(value, column), is_number=True)
    most = _MOST_PROSE if column in PROSE else SHOWN
    return _cell("td", name(_text(value), most), is_number=False)


def _text(value: Any) -> str:
    """Return a value as text, a list by its first items."""
    if not isinstance(value, list | tuple):
        return str(value)
    return named([*map(_text, value)], _MOST_ITEMS)


def _cell(kind: str, markup: str, is_number: bool) -> str:
    return f'<{kind} style="{_LINE}text-align:{"right" if is_number else "left"}">{markup}</{kind}>'
