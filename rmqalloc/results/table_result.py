"""Results of verbs: print, convert and save. A result has a few tables; the first is the main
table.

The class holds the data; the module that prints it registers itself with `drawn`. So printing may
use higher packages; the class of the result only names the module.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import IO, Any, ClassVar, TypeVar

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.results.renderer import terminal_table
from rmqalloc.results.tabular import MOST_ROWS, Section, Tabular

Draw = Callable[..., Iterable[str]]
_Result = TypeVar("_Result", bound="TableResult")


class TableResult(Tabular):
    """A result that prints (``str``), converts (Arrow, pandas, ``to_dict``, HTML of notebooks) and
    is saved as JSON.

    Attributes
    ----------
    TABLES : tuple of str
        Attributes that are tables; Arrow readers get the first table.
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
    ({'loads': [{'client': 'a', 'load': 1}, {'client': 'b', 'load': 20}]}, <Loads: 2 loads>)
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

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the result as text for people.

        Parameters
        ----------
        file : text file, optional
            Destination. For a terminal, lines fit its width and may have colours.
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

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the main table to pandas, polars, DuckDB and further readers of Arrow."""
        return self.main_table().__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, Any]:
        """Return all tables as lists of rows, and the notes, as plain data."""
        tables = {name: getattr(self, name).to_pylist() for name in self.TABLES}
        return tables | {name: list(getattr(self, name)) for name in self.NOTES}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_dict` to a JSON file, atomically.

        Raises
        ------
        OSError
            The file cannot be written; an earlier file is unchanged.
        """
        from rmqalloc.documents.store import write_file

        write_file(path, json.dumps(self.to_dict(), indent=1) + "\n")

    def _parts(self) -> Iterable[Section]:
        sections = self._drawing()._sections
        return super()._parts() if sections is None else sections(self, MOST_ROWS)


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
