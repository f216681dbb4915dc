"""The one renderer of results as text: figures, arrows, tables, marks, what is left out, and lines that change.

Every result draws itself from what stands here, so width, cutting, colour and the words for what is left out are decided once.
Text that goes anywhere but to a terminal is plain and as wide as it needs to be, and so always the same. Cells and marked lines
are made printable here; names inside sentences where the sentence is put together.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from rmqalloc.text import printable, shortened

if TYPE_CHECKING:
    import pyarrow as pa

GAP = "  "
LEAST_WIDTH = 10
"""Columns of names are not cut below this, however narrow the terminal is."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
MARK_WIDTH = 2
"""Places that the mark before a line takes."""
NOTHING = "–"
"""What stands where there is no figure."""

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "!": "\x1b[31m", "?": "\x1b[33m"}


# --- Figures ---


def figure(value: Any) -> str:
    """Return a value for people: a number with commas, a name made printable, a dash for null.

    Examples
    --------
    >>> figure(1200), figure("a\\n"), figure(None)
    ('1,200', 'a\\\\n', '–')
    """
    return NOTHING if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))


def arrow(before: Any, after: Any) -> str:
    """Return both values with an arrow between them, or one if they read the same.

    Examples
    --------
    >>> arrow(2, 1200), arrow(3, 3), arrow(None, "AVG")
    ('2 → 1,200', '3', '– → AVG')
    """
    return " → ".join(dict.fromkeys(map(figure, (before, after))))


def changes(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return `arrow` of each of some figures of two rows."""
    return [arrow(before[name], after[name]) for name in names]


def skew_text(skew: float | None) -> str:
    """Return a skew for people, with two digits; programs get it as it is.

    Examples
    --------
    >>> skew_text(1.0), skew_text(4 / 3), skew_text(1234.5), skew_text(None)
    ('1.00', '1.33', '1,234.50', '–')
    """
    return NOTHING if skew is None else f"{skew:,.2f}"


def is_skew(column: str) -> bool:
    """Return True if a column holds skews, by its name or its heading.

    Examples
    --------
    >>> is_skew("skew"), is_skew("chance_skew"), is_skew("worst skew"), is_skew("moved")
    (True, True, True, False)
    """
    return column.replace("_", " ").rpartition(" ")[2] == "skew"


def skews_apart(less: float, more: float) -> tuple[str, str]:
    """Return two different skews for people, with as many digits as tell them apart.

    Examples
    --------
    >>> skews_apart(1.0, 1.5), skews_apart(1.251, 1.2536)
    (('1.00', '1.50'), ('1.251', '1.254'))
    """
    for digits in range(2, 17):
        texts = f"{less:,.{digits}f}", f"{more:,.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts


def scaled(count: int) -> str:
    """Return a large number in three digits or so.

    Examples
    --------
    >>> [scaled(n) for n in (0, 999, 1200, 1_234_567, 5_000_000_000, -1200)]
    ['0', '999', '1.2 k', '1.23 M', '5 G', '-1.2 k']
    """
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(count) >= unit:
            return f"{count / unit:.3g} {name}"
    return str(count)


def cell_text(value: Any, column: str = "") -> str:
    """Return a cell of a table for people: ``-`` for null, three digits behind the point, two of a skew.

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
    """Return True if a column holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def bound(text: str, is_exact: bool) -> str:
    """Return a figure, with a sign before it if it is an upper bound.

    Examples
    --------
    >>> bound("7", True), bound("62", False)
    ('7', '≤ 62')
    """
    return text if is_exact else f"≤ {text}"


def bounded(numbers: Sequence[float | None], exact: Sequence[bool]) -> list[str]:
    """Return figures as texts, all of one width, upper bounds with a sign before them.

    Examples
    --------
    >>> bounded([7, 62], [True, False])
    ['   7', '≤ 62']
    """
    texts = [bound(f"{n}", sure) for n, sure in zip(numbers, exact, strict=True)]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def with_bounds(table: pa.Table) -> pa.Table:
    """Return a table without columns such as ``unowned_is_exact``; figures that are not exact become `bounded` texts."""
    import pyarrow as pa

    for column in [name for name in table.column_names if name.endswith("_is_exact")]:
        exact = table[column].to_pylist()
        table = table.drop_columns([column])
        about = column.removesuffix("_is_exact")
        for place, name in enumerate(table.column_names):
            if name.startswith(about) and not all(exact):
                texts = bounded(table[name].to_pylist(), exact)
                table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table


def order_of(table: pa.Table, keys: str | Sequence[str]) -> pa.Array:
    """Return the positions of rows by some columns, as ``--sort`` takes them; ties stay in their order, nulls come last.

    Examples
    --------
    >>> import pyarrow as pa
    >>> order_of(pa.table({"group": ["a", "b", "c"], "moved": [1, 2, 2]}), "-moved,group").to_pylist()
    [1, 2, 0]
    """
    import pyarrow.compute as pc

    names = keys.split(",") if isinstance(keys, str) else keys
    by = [(name.removeprefix("-"), "descending" if name.startswith("-") else "ascending") for name in names]
    return pc.sort_indices(table, sort_keys=by)


# --- Tables ---


def terminal_table(table: pa.Table, file: IO[Any] | None, wide: bool = False, left_out: int = 0) -> Iterator[str]:
    """Yield the lines of an Arrow table, and how many rows are left out."""
    if not wide and table.num_rows:
        table = table.select([name for name in table.column_names if table[name].null_count < table.num_rows])
    numbers = {field.name for field in table.schema if is_number(field.type)}
    columns = zip(table.column_names, table.columns, strict=True)
    cells = ([cell_text(value, name) for value in column.to_pylist()] for name, column in columns)
    bold, dim = (BOLD, DIM) if has_colour(file) else ("", "")
    yield from text_table(table.column_names, list(zip(*cells, strict=True)), numbers, None if wide else file, 0, bold)
    if left_out:
        yield f"{dim}({table.num_rows:,} of {table.num_rows + left_out:,} rows){PLAIN if dim else ''}"


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Container[str] = (),
    file: IO[Any] | None = None,
    margin: int = 0,
    style: str = "",
) -> list[str]:
    """Return the lines of a table: texts flush left, numbers flush right, two blanks between columns; cells are made printable.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str
    numbers : container of str
        Headings of the columns that hold numbers.
    file : text file, optional
        Where it goes; on a terminal, columns of names are cut until a line fits.
    margin : int
        Places that something before each line takes.
    style : str
        Escape before the header.

    Examples
    --------
    >>> print(*text_table(("client", "before"), [("10.0.0.1@7", "12"), ("订单", "8")], ("before",)), sep="\\n")
    client      before
    10.0.0.1@7      12
    订单             8
    """
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    is_text = [name not in numbers for name in header]
    if file is not None and file.isatty():
        widths = fitted(widths, is_text, cells[0], terminal_width() - margin)
    return [_line(row, widths, is_text, "" if i else style) for i, row in enumerate(cells)]


def marked_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    marks: Iterable[str],
    numbers: Container[str],
    file: IO[Any] | None,
    left_out: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the lines of a table, each row behind its mark, and below them what is left out."""
    head, *lines = text_table(header, rows, numbers, file, MARK_WIDTH)
    yield f"  {head}"
    yield from (marked(mark, line, file) for mark, line in zip(marks, lines, strict=True))
    yield from (f"  {line}" for line in left_out)


def marked(mark: str, line: str, file: IO[Any] | None) -> str:
    """Return a line behind its mark, in a colour of its own where there are colours."""
    text = f"{mark} {line}"
    return f"{_COLOURS[mark]}{text}{PLAIN}" if mark in _COLOURS and has_colour(file) else text


def warned(lines: Iterable[str], file: IO[Any] | None) -> Iterator[str]:
    """Yield lines behind the mark of a warning."""
    return (marked("!", printable(line), file) for line in lines)


def encodable(text: str, file: Any) -> str:
    """Return a text with escapes for what the encoding of a file lacks."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def width_of(text: str) -> int:
    """Return the places that a text takes in a terminal: two for a Chinese character, none for a combining mark.

    Examples
    --------
    >>> width_of("订单 e\\u0301")
    6
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def fitted(widths: Sequence[int], is_text: Sequence[bool], header: Sequence[str], most: int) -> list[int]:
    """Return widths that fit a terminal: the widest column of names gives way first, headers stay whole.

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


def columns_that_fit(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    texts: Container[str],
    least_important: Iterable[str],
    file: IO[Any] | None,
    margin: int = MARK_WIDTH,
) -> list[int]:
    """Return the places of the columns for which a terminal has room, if those of ``texts`` are cut; elsewhere all.

    Examples
    --------
    >>> columns_that_fit(["group", "skew"], [["g", "1.00"]], ["group"], ["skew"], None)
    [0, 1]
    """
    places = list(range(len(header)))
    if file is None or not file.isatty():
        return places
    widths = [max(map(width_of, column)) for column in zip(header, *rows, strict=True)]
    least = [min(w, LEAST_WIDTH) if name in texts else w for w, name in zip(widths, header, strict=True)]
    for name in (None, *least_important):
        places = [at for at in places if header[at] != name]
        if sum(least[at] for at in places) + len(GAP) * (len(places) - 1) + margin <= terminal_width():
            break
    return places


def terminal_width() -> int:
    """Return the places of a line of the terminal."""
    import shutil  # slow to import

    return shutil.get_terminal_size().columns


def has_colour(file: IO[Any] | None) -> bool:
    """Return True if text may be bold or dim there.

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
    """Return a cell shortened to a width in a terminal."""
    most = width
    while width_of(shown := shortened(cell, most)) > width:
        most -= 1
    return shown
