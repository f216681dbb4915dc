"""Write a table in every output format."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa

from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.results.headings import named_column, sort_key
from rmqalloc.results.renderer import cell_text, encodable, is_number, order_of, terminal_table
from rmqalloc.results.table_result import checked_top
from rmqalloc.text import is_formula, printable

OUTPUTS = ("table", "wide", "json", "jsonl", "yaml", "csv", "parquet", "md", "html")
"""What ``output`` can be."""

_ROWS = 10_000
_PLAIN_WORD = re.compile(
    r"-|\(?(?![0-9a-f]{7,40}\b)(?:[A-Za-z]+(?:[-_][A-Za-z]+)*|[0-9][0-9,.]*%?)[).,:;]*"
)
"""A word that Markdown and GitHub show as it is; seven hexadecimal digits may be a commit."""


def write_table(
    table: pa.Table,
    output: str,
    file: IO[str] | IO[bytes],
    columns: Sequence[str] | str | None = None,
    sort: str | None = None,
    top: int | None = None,
) -> None:
    """Write a table to a file or a terminal.

    Parameters
    ----------
    table : pyarrow.Table
        The table; its texts may have any content.
    output : str
        One of `OUTPUTS`. ``table`` is text: empty columns are left out, and on a terminal long
        names are shortened in the middle; ``wide`` is complete. ``csv`` puts an apostrophe before a
        text that a spreadsheet would read as a formula. JSON has ``null`` for null, infinite and
        NaN.
    file : text or binary file
        The destination. Parquet needs a binary file, or a text file over a binary file such as
        standard output, and no terminal.
    columns : sequence of str or "a,b", optional
        Columns in the given order; all columns by default.
    sort : "a,-b", optional
        Columns to sort by, most significant first; ``-`` before a name sorts in descending order.
        Nulls come last.
    top : int, optional
        At most N rows.

    Raises
    ------
    ColumnError
        The table has no such column.
    ValueError
        The output or ``top`` is invalid, or Parquet would go to a terminal.

    Examples
    --------
    >>> import sys
    >>> write_table(pa.table({"client": ["a", "b"], "load": [1, 20]}), "table", sys.stdout, sort="-load")
    client  load
    b         20
    a          1
    """
    if output not in OUTPUTS:
        raise ArgumentError(f"output must be one of {', '.join(OUTPUTS)}, got {output!r}")
    shown, left_out = _chosen(table, columns, sort, top)
    if output == "parquet":
        _write_parquet(shown, file)
    elif output in ("table", "wide"):
        lines = terminal_table(shown, file, wide=output == "wide", left_out=left_out)
        _write((f"{line}\n" for line in lines), file)
    else:
        _write(_TEXTS[output](shown, file), file)


def _chosen(
    table: pa.Table, columns: Sequence[str] | str | None, sort: str | None, top: int | None
) -> tuple[pa.Table, int]:
    """Return the rows and columns that are asked for, and how many rows are left out."""
    keys = [sort_key(name, table) for name in _names(sort)]
    wanted = [named_column(name, table) for name in _names(columns)]
    top = checked_top(top)
    ordered = table.take(order_of(table, keys)) if keys else table
    chosen = ordered if columns is None else ordered.select(wanted)
    shown = chosen.slice(0, top)
    return shown, table.num_rows - shown.num_rows


def _names(names: Sequence[str] | str | None) -> list[str]:
    """Return names given as a list or with commas between them."""
    if names is None:
        return []
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield rows as plain values."""
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield from batch.to_pylist()


def _write(pieces: Iterator[str], file: IO[str] | IO[bytes]) -> None:
    """Write text; what the file's encoding lacks is written as an escape."""
    is_text = isinstance(file, io.TextIOBase)
    for piece in pieces:
        text = encodable(piece, file)
        file.write(text if is_text else text.encode())  # type: ignore[arg-type]


# --- For programs ---


def _write_parquet(table: pa.Table, file: IO[str] | IO[bytes]) -> None:
    with installation_hint():
        from pyarrow import parquet

    if file.isatty():
        raise ArgumentError(
            "Parquet cannot be written to a terminal: give a file (--out FILE) or a pipe"
        )
    binary = getattr(file, "buffer", None) if isinstance(file, io.TextIOBase) else file
    if binary is None:
        raise ArgumentError(f"Parquet needs a binary file, got the text file {file!r}")
    parquet.write_table(table, binary)


def _plain(value: Any) -> Any:
    """Return the value as JSON can have it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _json_line(row: dict[str, Any]) -> str:
    # ASCII alone: no name controls a terminal, and no encoding lacks anything.
    return json.dumps(_plain(row), default=str)


def _json(table: pa.Table, _file: object) -> Iterator[str]:
    between = "[\n"
    for row in _rows(table):
        yield f"{between}  {_json_line(row)}"
        between = ",\n"
    yield "\n]\n" if table.num_rows else "[]\n"


def _jsonl(table: pa.Table, _file: object) -> Iterator[str]:
    return (f"{_json_line(row)}\n" for row in _rows(table))


def _yaml(table: pa.Table, _file: object) -> Iterator[str]:
    with installation_hint():
        import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for row in _rows(table):
        yield yaml.dump([_plain(row)], Dumper=dumper, sort_keys=False, width=2**31 - 1)
    if not table.num_rows:
        yield "[]\n"


def _csv(table: pa.Table, file: IO[str] | IO[bytes]) -> Iterator[str]:
    # A file gets names as they are; they must not control a terminal.
    shown = printable if file.isatty() else str
    yield ",".join(_csv_text(name) for name in table.column_names) + "\n"
    for row in _rows(table):
        yield ",".join(_csv_cell(value, shown) for value in row.values()) + "\n"


def _csv_cell(value: Any, shown: Callable[[str], str]) -> str:
    """Return a cell: a number is bare, null is nothing, an empty text is ``""``."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return _csv_text(shown(value if isinstance(value, str) else json.dumps(value, default=str)))


def _csv_text(text: str) -> str:
    # What a spreadsheet takes for a formula would be run where the file is opened. A semicolon
    # parts cells in some countries.
    if is_formula(text):
        text = f"'{text}"
    return (
        '"' + text.replace('"', '""') + '"' if not text or re.search(r"[,;\s\"']", text) else text
    )


# --- For people ---


def _markdown(table: pa.Table, _file: object) -> Iterator[str]:
    marks = ["---:" if is_number(field.type) else "---" for field in table.schema]
    yield "".join(
        f"| {' | '.join(cells)} |\n" for cells in (map(_markdown_text, table.column_names), marks)
    )
    for row in _rows(table):
        yield f"| {' | '.join(_markdown_text(cell_text(value, column)) for column, value in row.items())} |\n"


def _markdown_text(text: str) -> str:
    """Return text that is no markup, no link, and mentions and refers to nothing: GitHub looks for
    ``@user`` and ``#12`` everywhere but in code, whatever is escaped.
    """
    return " ".join(map(_markdown_word, printable(text).split(" ")))


def _markdown_word(word: str) -> str:
    if not word or _PLAIN_WORD.fullmatch(word):
        return word
    return " ".join(map(_markdown_code, re.split(r"(?<=\\)(?=\|)", word)))


def _markdown_code(text: str) -> str:
    """Return text as code in a cell, where a vertical bar is ``\\|``; no backslash may stand
    before it, which readers of Markdown take in two ways.
    """
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")


def _html(table: pa.Table, _file: object) -> Iterator[str]:
    from rmqalloc.report.html._page import table_page

    return table_page(table)


_TEXTS: dict[str, Callable[[pa.Table, IO[str] | IO[bytes]], Iterator[str]]] = {
    "json": _json,
    "jsonl": _jsonl,
    "yaml": _yaml,
    "csv": _csv,
    "md": _markdown,
    "html": _html,
}
