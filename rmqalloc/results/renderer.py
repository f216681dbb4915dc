"""The one renderer of results as text: figures, arrows, sentences, tables, marks, notes on omitted
rows, and lines that change.

Every result draws itself with this module, so wrapping, cutting, colour and the words for omitted
rows are decided once; `rmqalloc.results.wrapping` has the width of a line. Sentences, commands and
reasons wrap and are never cut. Names lose their middle in tables, and only on a terminal. Text for
any target but a terminal is plain. Cells and marked lines are made printable here; names inside
sentences are made printable where the sentence is put together.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from rmqalloc.results.wrapping import GAP, LEAST_WIDTH, line_width, width_of, wrapped
from rmqalloc.text import printable, shortened

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

LEAST_PROSE = 20
"""Places that a column of sentences needs; where there are fewer, its text goes below the row."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
MARK_WIDTH = 2
"""Places that the mark before a line takes."""
NOTHING = "–"
"""What stands where there is no figure."""

PROSE = {"action", "advice", "expected", "message", "reason", "searched"}
"""Columns of Arrow tables that hold sentences."""

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "~": "\x1b[33m", "!": "\x1b[31m", "?": "\x1b[33m"}


# --- Figures ---


def figure(value: Any) -> str:
    """Return a value for people: a number with commas, a name made printable, a dash for null.

    Examples
    --------
    >>> figure(1200), figure("a\\n"), figure(None)
    ('1,200', 'a\\\\n', '–')
    """
    return (
        NOTHING
        if value is None
        else f"{value:,}"
        if isinstance(value, int)
        else printable(str(value))
    )


def arrow(before: Any, after: Any) -> str:
    """Return both values with an arrow between them, or a single value if both print equally.

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


def tenths(value: float | None) -> str:
    """Return a figure for people, with one decimal.

    Examples
    --------
    >>> tenths(44.312), tenths(1234), tenths(None)
    ('44.3', '1,234.0', '–')
    """
    return NOTHING if value is None else f"{value:,.1f}"


def duration(seconds: float | None) -> str:
    """Return a time for people, in seconds with one digit, or in milliseconds where there is less
    than one second.

    Examples
    --------
    >>> duration(50.0), duration(36.974), duration(0.01), duration(0), duration(None)
    ('50 s', '37 s', '10 ms', '0 s', '–')
    """
    if seconds is None:
        return NOTHING
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:,.1f}".removesuffix(".0") + " s"


def is_skew(column: str) -> bool:
    """Return True if a column holds skews, by its name or its heading.

    Examples
    --------
    >>> is_skew("skew"), is_skew("chance_skew"), is_skew("worst skew"), is_skew("moved")
    (True, True, True, False)
    """
    return column.replace("_", " ").rpartition(" ")[2] == "skew"


def skews_apart(less: float, more: float) -> tuple[str, str]:
    """Return two different skews for people, with enough digits to distinguish them.

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
    """Return a cell of a table for people: ``-`` for null, three digits behind the point, two of a
    skew.

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

    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def bound(text: str, is_exact: bool) -> str:
    """Return a figure, with a sign before it if it is an upper bound.

    Examples
    --------
    >>> bound("7", True), bound("62", False)
    ('7', '≤ 62')
    """
    return text if is_exact else f"≤ {text}"


def bounded(numbers: Sequence[float | None], exact: Sequence[bool]) -> list[str]:
    """Return figures as texts of equal width, upper bounds with the sign ≤.

    Examples
    --------
    >>> bounded([7, 62], [True, False])
    ['   7', '≤ 62']
    """
    texts = [bound(f"{n}", sure) for n, sure in zip(numbers, exact, strict=True)]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def with_bounds(table: pa.Table) -> pa.Table:
    """Return a table without columns such as ``unowned_is_exact``; figures that are not exact
    become `bounded` texts.
    """
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
    """Return the positions of rows by some columns, as ``--sort`` takes them; ties stay in their
    order, nulls come last. A list of texts counts as its texts with commas between them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> order_of(pa.table({"group": ["a", "b", "c"], "moved": [1, 2, 2]}), "-moved,group").to_pylist()
    [1, 2, 0]
    """
    import pyarrow as pa

    from rmqalloc.results import compute as pc

    names = keys.split(",") if isinstance(keys, str) else keys
    by = []
    for name in names:
        order = "descending" if name.startswith("-") else "ascending"
        by.append((name.removeprefix("-"), order))
    for name, _ in by:
        if pa.types.is_list(table[name].type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, pc.binary_join(table[name], ","))
    return pc.sort_indices(table, sort_keys=by)


def ranks(values: pa.Array) -> NDArray[np.int64]:
    """Return the ranks of values; equal values share a rank, nulls are last.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ranks(pa.array(["b", None, "a", "b"])).tolist()
    [2, 3, 1, 2]
    """
    from rmqalloc.results import compute as pc

    places: NDArray[np.int64] = pc.rank(values, tiebreaker="dense").to_numpy().astype("int64")
    return places


# --- Tables ---


def terminal_table(
    table: pa.Table, file: IO[Any] | None, wide: bool = False, left_out: int = 0
) -> Iterator[str]:
    """Yield the lines of an Arrow table, and how many rows are left out."""
    if not wide and table.num_rows:
        names = table.column_names
        table = table.select([name for name in names if table[name].null_count < table.num_rows])
    numbers = {field.name for field in table.schema if is_number(field.type)}
    cells = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        cells.append([cell_text(value, name) for value in column.to_pylist()])
    rows = list(zip(*cells, strict=True))
    bold, dim = (BOLD, DIM) if has_colour(file) else ("", "")
    prose = PROSE if file is not None and file.isatty() and not wide else ()
    yield from text_table(
        table.column_names, rows, numbers, None if wide else file, style=bold, prose=prose
    )
    if left_out:
        yield f"{dim}({table.num_rows:,} of {table.num_rows + left_out:,} rows){PLAIN if dim else ''}"


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Container[str] = (),
    file: IO[Any] | None = None,
    margin: int = 0,
    style: str = "",
    prose: Container[str] = (),
    spare: Iterable[str] = (),
) -> list[str]:
    """Return the lines of a table: texts flush left, numbers flush right, two blanks between
    columns; cells are made printable.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str
    numbers : container of str
        Headings of the columns that hold numbers.
    file : text file, optional
        Where it goes; on a terminal, columns of names are cut until a line fits.
    margin : int
        Width of the text before each line.
    style : str
        Escape before the header.
    prose : container of str
        Headings of columns that hold sentences, which are never cut; the last column wraps, or goes
        below its row where there is no room beside it.
    spare : iterable of str
        Headings of columns that are omitted, in order, until a line fits.

    Examples
    --------
    >>> print(*text_table(("client", "before"), [("10.0.0.1@7", "12"), ("订单", "8")], ("before",)), sep="\\n")
    client      before
    10.0.0.1@7      12
    订单             8
    """
    laid = _laid(
        header,
        rows,
        numbers=numbers,
        file=file,
        margin=margin,
        style=style,
        prose=prose,
        spare=spare,
    )
    return list(chain.from_iterable(laid))


def _laid(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Container[str],
    file: IO[Any] | None,
    margin: int,
    style: str = "",
    prose: Container[str],
    spare: Iterable[str],
) -> Iterator[list[str]]:
    """Yield the lines of the header and of every row."""
    most = line_width(file) - margin
    printed = list(map(_printed, zip(header, *rows, strict=True)))
    columns = _kept(printed, most, prose, spare)
    widths = list(map(_widest, columns))
    is_text = [column[0] not in numbers for column in columns]
    has_prose = bool(columns) and columns[-1][0] in prose
    is_prose = has_prose and _table_width(widths) > most
    beside = LEAST_PROSE + len(GAP) if is_prose else 0
    n = len(columns) - is_prose
    if file is not None and file.isatty():
        headings = [column[0] for column in columns]
        is_name = [heading not in numbers and heading not in prose for heading in headings]
        widths[:n] = fitted(widths[:n], is_name[:n], headings[:n], most - beside)
    room = most - sum(widths[:n]) - len(GAP) * n
    cells = [*map(_padded, columns[:n], widths, is_text)] or [[""] * len(columns and columns[0])]
    lines = zip(zip(*columns, strict=True), zip(*cells, strict=True), strict=True)
    for i, (row, parts) in enumerate(lines):
        line = GAP.join(parts).rstrip()
        if is_prose and room >= LEAST_PROSE:
            yield _styled(_beside(line, most - room, row[n], file, margin), "" if i else style)
        elif is_prose and i:
            below = wrapped(" " * (4 + margin) + row[n], file, " " * (6 + margin))
            yield [line, *(text[margin:] for text in below)]
        else:
            yield _styled([line], "" if i else style)


def _printed(column: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells of a column made printable; most columns are."""
    text = "".join(column)
    is_plain = text.isprintable() and "\\" not in text
    return column if is_plain else tuple(map(printable, column))


def _widest(column: Iterable[str]) -> int:
    return max(map(width_of, set(column)))


def _kept(
    columns: list[tuple[str, ...]], most: int, prose: Container[str], spare: Iterable[str]
) -> list[tuple[str, ...]]:
    """Return columns without as many spare ones as it takes for a line to fit."""
    for name in spare:
        widths = []
        for column in columns:
            widest = LEAST_PROSE if column[0] in prose else most
            widths.append(min(_widest(column), widest))
        if _table_width(widths) <= most:
            break
        columns = [column for column in columns if column[0] != name]
    return columns


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _beside(line: str, width: int, text: str, file: IO[Any] | None, margin: int) -> list[str]:
    """Return a line of a table with a text beside it that wraps, without the margin."""
    blanks = " " * (width - width_of(line))
    found = wrapped(" " * margin + line + blanks + text, file, " " * (width + margin))
    return [text[margin:] for text in found]


def _styled(lines: list[str], style: str) -> list[str]:
    return [f"{style}{line}{PLAIN}" for line in lines] if style else lines


def marked_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    marks: Iterable[str],
    numbers: Container[str],
    file: IO[Any] | None,
    left_out: Iterable[str] = (),
    prose: Container[str] = (),
    spare: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the lines of a table, each row after its mark, and then a note on omitted rows."""
    (head,), *laid = _laid(
        header, rows, numbers=numbers, file=file, margin=MARK_WIDTH, prose=prose, spare=spare
    )
    yield f"  {head}"
    file = file if has_colour(file) else None
    for mark, (first, *others) in zip(marks, laid, strict=True):
        yield marked(mark, first, file)
        for line in others:
            yield f"  {line}"
    yield from (f"  {line}" for line in left_out)


def marked(mark: str, line: str, file: IO[Any] | None) -> str:
    """Return a line behind its mark, in a colour of its own where there are colours."""
    return _coloured(mark, f"{mark} {line}", file)


def _coloured(mark: str, text: str, file: IO[Any] | None) -> str:
    return f"{_COLOURS[mark]}{text}{PLAIN}" if mark in _COLOURS and has_colour(file) else text


def warned(lines: Iterable[str], file: IO[Any] | None) -> Iterator[str]:
    """Yield lines behind the mark of a warning."""
    for line in lines:
        for part in wrapped(f"! {printable(line)}", file):
            yield _coloured("!", part, file)


def encodable(text: str, file: Any) -> str:
    """Return a text with escapes for characters that the encoding of a file lacks."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def fitted(
    widths: Sequence[int], is_text: Sequence[bool], header: Sequence[str], most: int
) -> list[int]:
    """Return widths that fit a terminal: the widest column of names gives way first, headers stay
    whole.

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
            (i for i, text in enumerate(is_text) if text and widths[i] > least[i]),
            key=widths.__getitem__,
            default=None,
        )
        if place is None:
            break
        widths[place] -= 1
        over -= 1
    return widths


def has_colour(file: IO[Any] | None) -> bool:
    """Return True if text for a file may be bold or dim.

    True for a terminal, unless it is dumb or ``NO_COLOR`` is set, and for standard output and
    standard error with ``FORCE_COLOR``. Colour carries no information of its own.
    """
    if file is None or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0" and file in (sys.stdout, sys.stderr):
        return True
    return file.isatty() and os.environ.get("TERM") != "dumb"


def _padded(column: Sequence[str], width: int, is_text: bool) -> list[str]:
    """Return the cells of a column in its width; equal ones are laid out once."""
    made = {}
    for cell in dict.fromkeys(column):
        shown = cell if width_of(cell) <= width else _cut(cell, width)
        blanks = " " * (width - width_of(shown))
        made[cell] = shown + blanks if is_text else blanks + shown
    return [made[cell] for cell in column]


def _cut(cell: str, width: int) -> str:
    """Return a cell shortened to a width in a terminal."""
    most = width
    while width_of(shown := shortened(cell, most)) > width:
        most -= 1
    return shown
