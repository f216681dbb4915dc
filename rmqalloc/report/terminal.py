"""A table as aligned text, cut to the width of a terminal where it goes to one."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from rmqalloc.text import printable, shortened

if TYPE_CHECKING:
    import pyarrow as pa

GAP = "  "
LEAST_WIDTH = 10
"""Columns of names are not cut below this, however narrow the terminal is."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def terminal_table(table: pa.Table, file: IO[str] | IO[bytes], wide: bool, left_out: int = 0) -> Iterator[str]:
    """Lines of a table: texts flush left, numbers flush right, every name made printable.

    Parameters
    ----------
    table : pyarrow.Table
        What to show.
    file : file
        Where it goes: a terminal has a width, and may have colours.
    wide : bool
        Nothing is cut, and columns without any value are shown too.
    left_out : int
        Rows that are not shown, to be told.
    """
    if not wide and table.num_rows:
        table = table.select([name for name in table.column_names if table[name].null_count < table.num_rows])
    is_text = [not is_number(field.type) for field in table.schema]
    columns = [[printable(cell_text(value)) for value in column.to_pylist()] for column in table.columns]
    header = [printable(name) for name in table.column_names]
    widths = [max(map(width_of, [name, *cells])) for name, cells in zip(header, columns, strict=True)]
    if file.isatty() and not wide:
        widths = fitted(widths, is_text, header, shutil.get_terminal_size().columns)
    bold, dim = (BOLD, DIM) if has_colour(file) else ("", "")
    yield _line(header, widths, is_text, bold)
    for row in zip(*columns, strict=True):
        yield _line(row, widths, is_text)
    if left_out:
        yield f"{dim}({table.num_rows:,} of {table.num_rows + left_out:,} rows){PLAIN if dim else ''}\n"


def cell_text(value: Any) -> str:
    """A value for people: ``-`` for null, three digits behind the point.

    Examples
    --------
    >>> [cell_text(value) for value in (None, 2.0, 1 / 3, True, "a", [1, 2])]
    ['-', '2', '0.333', 'yes', 'a', '[1, 2]']
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = f"{value:.3f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return value if isinstance(value, str) else json.dumps(value, default=str)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def width_of(text: str) -> int:
    """Places that a text takes in a terminal: two for a Chinese character, none for a combining mark.

    Examples
    --------
    >>> width_of("订单 e\\u0301")
    6
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def fitted(widths: Sequence[int], is_text: Sequence[bool], header: Sequence[str], most: int) -> list[int]:
    """Widths that fit a terminal: the widest column of names gives way first, headers stay whole.

    Examples
    --------
    >>> fitted([50, 30, 5], [True, True, False], ["group", "topic", "moved"], 60)
    [25, 26, 5]
    """
    widths = list(widths)
    least = [max(LEAST_WIDTH, width_of(name)) for name in header]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - most
    while over > 0:
        place = max(
            (i for i, text in enumerate(is_text) if text and widths[i] > least[i]), key=widths.__getitem__, default=None
        )
        if place is None:
            break
        widths[place] -= 1
        over -= 1
    return widths


def has_colour(file: IO[str] | IO[bytes]) -> bool:
    """Whether text may be bold or dim there.

    On a terminal, unless it is dumb or ``NO_COLOR`` is set; elsewhere never, but that ``FORCE_COLOR`` asks for it on standard
    output and standard error. Colour never says anything that the text does not.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0" and file in (sys.stdout, sys.stderr):
        return True
    return file.isatty() and os.environ.get("TERM") != "dumb"


def _line(cells: Sequence[str], widths: Sequence[int], is_text: Sequence[bool], style: str = "") -> str:
    parts = []
    for cell, width, text in zip(cells, widths, is_text, strict=True):
        shown = cell if width_of(cell) <= width else _cut(cell, width)
        blanks = " " * (width - width_of(shown))
        parts.append(shown + blanks if text else blanks + shown)
    line = GAP.join(parts).rstrip()
    return f"{style}{line}{PLAIN}\n" if style else f"{line}\n"


def _cut(cell: str, width: int) -> str:
    """The cell in so many places of a terminal."""
    most = width
    while width_of(shown := shortened(cell, most)) > width:
        most -= 1
    return shown
