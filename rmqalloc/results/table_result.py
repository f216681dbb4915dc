"""Print, convert and save results of verbs. A result is a few tables, of which the first is the
main one.

The class holds the data; the module that draws it registers itself by `drawn`. So drawing may use
whatever is computed from a result; the class of the result names the module at most.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.results.renderer import terminal_table
from rmqalloc.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 50
"""Rows that a notebook shows of a result."""

# No colour of its own, so that it can be read in a dark notebook as in a light one.
_LINE = "border-bottom:1px solid rgba(128,128,128,.4);padding:2px 10px;"
_SAFE = "unicode-bidi:isolate;overflow-wrap:break-word"

Draw = Callable[..., Iterable[str]]
Section = tuple[str, "pa.Table | None", int]
"""Markup above a table, its rows to show, and how many rows there are."""

_Result = TypeVar("_Result", bound="TableResult")


class TableResult:
    """A result that prints (``str``), converts (Arrow, ``to_dict``, HTML of notebooks) and is saved
    as JSON.

    Attributes
    ----------
    TABLES : tuple of str
        Attributes that are tables; the first is what Arrow readers get.
    NOTES : tuple of str
        Attributes that are tuples of text, such as warnings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> class Loads(TableResult):
    ...     TABLES, NOTES = ("loads",), ()
    ...     loads = pa.table({"client": ["a", "b"], "load": [1, 20]})
    >>> print(Loads())
    client  load
    a          1
    b         20
    >>> Loads().to_dict(), Loads()
    ({'loads': [{'client': 'a', 'load': 1}, {'client': 'b', 'load': 20}]}, <Loads: 2 rows>)
    """

    TABLES: ClassVar[tuple[str, ...]]
    NOTES: ClassVar[tuple[str, ...]] = ("warnings",)
    _drawn_by: ClassVar[str | None] = None
    _draw: ClassVar[Draw | None] = None
    _sections: ClassVar[Callable[[Any, int], Iterator[Section]] | None] = None

    def _drawing(self) -> type[TableResult]:
        """Return the class, once the module that draws it has registered itself."""
        if self._drawn_by is not None:
            import_module(self._drawn_by)
        return type(self)

    def main_table(self) -> pa.Table:
        """Return the main table."""
        return getattr(self, self.TABLES[0])

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the result as text for people.

        Parameters
        ----------
        file : text file, optional
            Where it goes. On a terminal, lines are fitted to its width and may have colours.
        top : int, optional
            Most groups, topics or rows to show; each kind of result has a default.
        """
        top = checked_top(top)
        draw = self._drawing()._draw
        if draw is not None:
            yield from draw(self, file, top)
            return
        table = self.main_table()
        left_out = 0 if top is None else max(0, table.num_rows - top)
        yield from terminal_table(table.slice(0, top), file, left_out=left_out)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {counted(self.main_table().num_rows, 'row')}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the main table to pandas, polars, DuckDB and others that read Arrow."""
        return self.main_table().__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, Any]:
        """Return all tables as lists of rows, and the notes, as plain data."""
        tables = {name: getattr(self, name).to_pylist() for name in self.TABLES}
        return tables | {name: list(getattr(self, name)) for name in self.NOTES}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_dict` as a JSON file, whole or not at all.

        Raises
        ------
        OSError
            The file cannot be written; an earlier one stays as it was.
        """
        from rmqalloc.documents.store import write_file

        write_file(path, json.dumps(self.to_dict(), indent=1) + "\n")

    def _repr_html_(self) -> str:
        """Return markup of fifty rows at most in all, names escaped, no script, no style sheet."""
        sections = self._drawing()._sections
        found = _first_rows(self) if sections is None else sections(self, MOST_ROWS)
        parts = []
        for heading, table, n_rows in found:
            parts.append(f"<div>{heading}</div>" if heading else "")
            if table is not None and table.num_rows:
                parts.append(_html_table(table.column_names, table.to_pylist()))
                if table.num_rows < n_rows:
                    parts.append(f"<div>{counted(n_rows - table.num_rows, 'more row')}</div>")
        return f'<div style="line-height:1.5;{_SAFE}">{"".join(parts)}</div>'


def drawn(
    kind: type[_Result],
    draw: Draw | None = None,
    sections: Callable[[_Result, int], Iterator[Section]] | None = None,
) -> None:
    """Register how a kind of result is drawn: as lines of text, and as sections of a notebook's
    cell.

    Parameters
    ----------
    kind : type
    draw : callable, optional
        Takes the result, the file or None, and ``top`` or None; gives lines.
    sections : callable, optional
        Takes the result and the most rows to show in all.
    """
    if draw is not None:
        kind._draw = staticmethod(draw)
    if sections is not None:
        kind._sections = staticmethod(sections)


def checked_top(top: Any, name: str = "top") -> int | None:
    """Return the most rows to show, None for all."""
    if top is None:
        return None
    if isinstance(top, bool) or not hasattr(top, "__index__"):
        raise ArgumentTypeError(f"{name} must be a whole number of rows, got {top!r}")
    if int(top) < 0:
        raise ArgumentError(f"{name} must be a number of rows from 0 on, got {top}")
    return min(int(top), sys.maxsize)


def _first_rows(result: TableResult) -> Iterator[Section]:
    table = result.main_table()
    yield f"<b>{escaped(repr(result))}</b>", table.slice(0, MOST_ROWS), table.num_rows


def _html_table(columns: list[str], rows: list[dict[str, Any]]) -> str:
    headings = [escaped(column.replace("_", " ")) for column in columns]
    lines = [[_cell("th", heading, is_number=i > 0) for i, heading in enumerate(headings)]]
    for row in rows:
        lines.append([_value(value, column) for column, value in row.items()])
    markup = "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines)
    return f'<table style="border-collapse:collapse">{markup}</table>'


def _value(value: Any, column: str) -> str:
    is_number = value is None or isinstance(value, int | float)
    return _cell("td", number(value, column) if is_number else name(str(value)), is_number)


def _cell(kind: str, markup: str, is_number: bool) -> str:
    return f'<{kind} style="{_LINE}text-align:{"right" if is_number else "left"}">{markup}</{kind}>'
