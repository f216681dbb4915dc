"""Where in the files of a snapshot its consumer groups stand, for those who point at them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from rmqalloc.documents import Source, parse
from rmqalloc.snapshot.files import csv_text, outputs
from rmqalloc.snapshot.files._chosen_sources import chosen_sources
from rmqalloc.snapshot.files._file_forms import AUTO
from rmqalloc.snapshot.files._table_columns import column_names
from rmqalloc.snapshot.files.given_sources import GivenSource, given_sources


class Place(NamedTuple):
    """A place in a file: its line and, where it is known, its column, both from 1."""

    file: str
    line: int
    column: int | None = None


def group_places(
    paths: Iterable[str | os.PathLike[str] | Source | GivenSource], form: str = AUTO
) -> dict[str, Place]:
    """Return where the consumer groups of a snapshot are first mentioned.

    Parameters
    ----------
    paths : iterable of str, path, Source or GivenSource
        As `rmqalloc.snapshot.files.read_snapshots` takes them.
    form : str
        As there.
    """
    chosen = chosen_sources(given_sources(paths), form)
    if chosen.form == "outputs":
        first = outputs.first_outputs(chosen.sources)
        return {name: Place(section.source.path, section.line) for name, section in first.items()}
    (source,) = chosen.sources
    if chosen.form == "csv":
        return _of_rows(source)
    return {} if chosen.form == "parquet" else _of_document(source, chosen.form)


def _of_document(source: Source, form: str) -> dict[str, Place]:
    document = parse(source, form)
    groups = document.data.get("groups") or ()
    return {
        group["name"]: Place(source.path, *place)
        for group, place in zip(groups, document.places("groups"), strict=True)
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
            places.setdefault(name, Place(source.path, line))
        line = reader.line_num + 1  # a cell may hold line breaks
    return places
