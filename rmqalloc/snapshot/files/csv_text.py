"""Long tables as CSV, also as spreadsheets save them: semicolons or tabs, blank rows and columns,
whole numbers as 3.0.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from rmqalloc.documents import Source, read_budget
from rmqalloc.documents.read_budget import most_rows
from rmqalloc.snapshot.files._from_rows import Rows
from rmqalloc.snapshot.files._table_columns import COLUMNS, Row, column_names
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError, check_range
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import is_formula

_MOST_CELLS = 1000
"""Columns of the header at most, most of which must be blank then."""

_DELIMITERS = ",;\t"
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read(source: Source) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot of a CSV file whose first row names
    `rmqalloc.snapshot.files._table_columns`, and warnings.

    Raises
    ------
    SnapshotError
        If it is not such a file; the message names the file, the line and the column.
    """
    reader = rows(source)
    try:
        names = column_names(next(reader, []))
        table = Rows(names)
        if not any(names):
            raise SnapshotError(
                f"has no header; the first row must name columns such as {', '.join(list(COLUMNS)[:5])}"
            )
        for number, cells in enumerate(reader):
            if number >= most_rows():
                raise SnapshotError(f"has more than {most_rows()} rows; give fewer groups")
            row = dict(_cells(names, cells))
            if row:
                table.add(row)
    except (SnapshotError, csv.Error) as error:
        raise source.error(str(error), max(1, reader.line_num)) from None
    return table.checked(source)


def rows(source: Source) -> Any:
    """Return a reader of the rows of a table; the delimiter is the most frequent of the first line."""
    text = source.text()
    first, _, _ = text.partition("\n")
    delimiter = max(_DELIMITERS, key=first.count)
    if first.count(delimiter) >= _MOST_CELLS:
        raise source.error(
            f"has {first.count(delimiter) + 1} columns; up to {_MOST_CELLS} are read", 1
        )
    csv.field_size_limit(max(csv.field_size_limit(), read_budget.MAX_BYTES))
    return csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )


def write(snapshot: Snapshot, safe: bool = False) -> bytes:
    """Return the bytes of a CSV file with the columns that are filled anywhere; ``safe`` puts an
    apostrophe before formulas.
    """
    rows = list(to_rows(snapshot))
    filled: set[str] = set()
    for row in rows:
        filled.update(row)
    if "consumer_group" in filled:
        filled.add("client_id")  # without that column no group's clients would be known
    names = [name for name in COLUMNS if name in filled] or list(COLUMNS)[:5]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_shown_row(row, safe) for row in rows)
    return out.getvalue().encode()


def formulas(snapshot: Snapshot) -> Iterator[tuple[int, str, str]]:
    """Yield line, column and text of every cell that a spreadsheet takes for a formula; line breaks
    within cells are not counted.

    Examples
    --------
    >>> from rmqalloc.snapshot import Group
    >>> list(formulas(Snapshot(groups=(Group("g"), Group("=1+1")))))
    [(3, 'consumer_group', '=1+1')]
    """
    for line, row in enumerate(to_rows(snapshot), 2):
        for name, value in row.items():
            if isinstance(value, str) and is_formula(value):
                yield line, name, value


def _cells(names: list[str], cells: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield filled cells of a row."""
    if any(cell.strip() for cell in islice(cells, len(names), None)):
        raise SnapshotError(f"has {len(cells)} cells, the header {len(names)}")
    for name, cell in zip(names, cells, strict=False):
        text = cell.strip()
        if name and text:
            parse = _PARSE[COLUMNS[name]]
            yield name, parse(name, text)


def _whole(name: str, text: str) -> int:
    number, _, zeros = text.partition(".")
    digits = number[1:] if number[:1] in ("-", "+") else number
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20) or zeros.strip("0"):
        raise SnapshotError(f"{name} must be a whole number, got {text[:40]!r}")
    check_range(name, int(number))
    return int(number)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SnapshotError(f"{name} must be a number, got {text[:40]!r}") from None


def _truth(name: str, text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise SnapshotError(f"{name} must be true or false, got {text[:40]!r}")
    return _TRUTH[text.lower()]


_PARSE: dict[type, Callable[[str, str], Any]] = {
    str: lambda _name, text: text,
    int: _whole,
    float: _number,
    bool: _truth,
}


def _shown_row(row: Row, safe: bool) -> Row:
    return {name: _shown(value, safe) for name, value in row.items()}


def _shown(value: Any, safe: bool) -> Any:
    if safe and isinstance(value, str) and is_formula(value):
        return f"'{value}"
    return str(value).lower() if isinstance(value, bool) else value
