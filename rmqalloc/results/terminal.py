"""Tables as aligned text, cut to the width of a terminal where they go to one."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from rmqalloc.results.skew import is_skew, skew_text
from rmqalloc.text import printable, shortened

if TYPE_CHECKING:
    import pyarrow as pa

GAP = "  "
LEAST_WIDTH = 10
"""Columns of names are not cut below this, however narrow the terminal is."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
MARK_WIDTH = 2
"""Places that the mark before a line takes."""

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "!": "\x1b[31m"}


def terminal_table(table: pa.Table, file: IO[Any] | None, wide: bool = False, left_out: int = 0) -> Iterator[str]:
    """Lines of an Arrow table."""
    if not wide and table.num_rows:
        table = table.select([name for name in table.column_names if table[name].null_count < table.num_rows])
    is_text = [not is_number(field.type) for field in table.schema]
    columns = zip(table.column_names, table.columns, strict=True)
    rows = list(
        zip(*([cell_text(value, name) for value in column.to_pylist()] for name, column in columns), strict=True)
    )
    bold, dim = (BOLD, DIM) if has_colour(file) else ("", "")
    yield from text_table(table.column_names, rows, is_text, None if wide else file, style=bold)
    if left_out:
        yield f"{dim}({table.num_rows:,} of {table.num_rows + left_out:,} rows){PLAIN if dim else ''}"


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    is_text: Sequence[bool] = (),
    file: IO[Any] | None = None,
    margin: int = 0,
    style: str = "",
) -> list[str]:
    """Lines of a table: texts flush left, numbers flush right, two blanks between columns; every cell is made printable.

    Examples
    --------
    >>> print(*text_table(("client", "before"), [("10.0.0.1@7", "12"), ("订单", "8")], (True, False)), sep="\\n")
    client      before
    10.0.0.1@7      12
    订单             8
    """
    cells = [[printable(cell) for cell in row] for row in ([header, *rows] if header else rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    left = is_text or [True] * len(widths)
    if file is not None and file.isatty():
        import shutil

        widths = fitted(widths, left, cells[0], shutil.get_terminal_size().columns - margin)
    return [_line(row, widths, left, style if header and not i else "") for i, row in enumerate(cells)]


def marked(mark: str, line: str, file: IO[Any] | None) -> str:
    """A line behind its mark, in a colour of its own where there are colours."""
    text = f"{mark} {line}"
    return f"{_COLOURS[mark]}{text}{PLAIN}" if mark in _COLOURS and has_colour(file) else text


def cell_text(value: Any, column: str = "") -> str:
    """A value for people: ``-`` for null, three digits behind the point, two of a skew.

    Examples
    --------
    >>> [cell_text(value) for value in (None, 2.0, 1 / 3, True, "a", [1, 2])]
    ['-', '2', '0.333', 'yes', 'a', '[1, 2]']
    >>> cell_text(2.0, "skew")
    '2.00'
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if is_skew(column):
            return skew_text(value)
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


def has_colour(file: IO[Any] | None) -> bool:
    """Whether text may be bold or dim there.

    On a terminal, unless it is dumb or ``NO_COLOR`` is set; elsewhere never, but that ``FORCE_COLOR`` asks for it on standard
    output and standard error. Colour never says anything that the text does not.
    """
    if file is None or os.environ.get("NO_COLOR"):
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
    return f"{style}{line}{PLAIN}" if style else line


def _cut(cell: str, width: int) -> str:
    """The cell in so many places of a terminal."""
    most = width
    while width_of(shown := shortened(cell, most)) > width:
        most -= 1
    return shown
