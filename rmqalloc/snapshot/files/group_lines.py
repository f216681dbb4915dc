"""Where in a snapshot's file its consumer groups stand, for those who point at them."""

from __future__ import annotations

from rmqalloc.documents import Source, parse, read_source
from rmqalloc.snapshot.files import csv_text, outputs
from rmqalloc.snapshot.files._read_files import AUTO, form_of
from rmqalloc.snapshot.files._table_columns import column_names
from rmqalloc.snapshot.plain_data import SnapshotError

Place = tuple[int, int | None]
"""A line and, where it is known, a column, both from 1."""


def group_places(path: str | Source, form: str = AUTO) -> dict[str, Place]:
    """Return where the consumer groups of a snapshot are first spoken of."""
    source = path if isinstance(path, Source) else read_source(path, SnapshotError)
    found = form_of(source) if form == AUTO else form
    if found == "csv":
        return _of_rows(source)
    if found == "outputs":
        return {name: (line, None) for name, line in outputs.group_lines(source).items()}
    return {} if found == "parquet" else _of_document(source, found)


def _of_document(source: Source, form: str) -> dict[str, Place]:
    document = parse(source, form)
    groups = document.data.get("groups") or ()
    return {
        group["name"]: place for group, place in zip(groups, document.places("groups"), strict=True)
    }


def _of_rows(source: Source) -> dict[str, Place]:
    reader = csv_text.rows(source)
    names = column_names(next(reader, []))
    places: dict[str, Place] = {}
    if "consumer_group" not in names:
        return places
    at = names.index("consumer_group")
    line = reader.line_num + 1
    for cells in reader:
        if at < len(cells) and (name := cells[at].strip()):
            places.setdefault(name, (line, None))
        line = reader.line_num + 1  # a cell may hold line breaks
    return places
