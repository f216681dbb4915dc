"""Writing snapshots, and reporting what a form cannot hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from rmqalloc.documents import STDIN, path_text, read_budget
from rmqalloc.documents.store import write_file
from rmqalloc.errors import installation_hint
from rmqalloc.snapshot.files import _document_text as document_text
from rmqalloc.snapshot.files import csv_text
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files._file_forms import AUTO, FORMS, SUFFIXES
from rmqalloc.snapshot.files._from_rows import from_rows
from rmqalloc.snapshot.files._to_rows import to_rows
from rmqalloc.snapshot.plain_data import SnapshotError, to_document
from rmqalloc.snapshot.snapshot import Snapshot

WRITTEN = tuple(form for form in FORMS if form != "outputs")
"""Forms that can be written."""

_UNORDERED = (("groups", 0, "lags"), ("groups", 0, "clients", 0, "owned"))
"""Lists whose order says nothing; a strategy's parameters may bear any name, these too."""


def write_snapshot(
    snapshot: Snapshot, path_or_dash: str, form: str = AUTO, safe: bool = False
) -> None:
    """Write a snapshot to a file, which appears whole or not at all.

    Parameters
    ----------
    snapshot : Snapshot
    path_or_dash : str
        A file, or ``-`` for standard output.
    form : str
        One of `WRITTEN`, or ``auto``: by the suffix, JSON for any other suffix. CSV and Parquet
        cannot hold all: see `losses`.
    safe : bool
        In CSV, put an apostrophe before what a spreadsheet takes for a formula; it is read back as
        it is written, with it.

    Raises
    ------
    OSError
        If the file cannot be written.
    SnapshotError
        If the form is not known, the snapshot has a name that the form cannot hold, or
        `read_snapshot` would refuse the snapshot, for example because it has a topic twice or
        exceeds a limit; nothing is written then.
    ModuleNotFoundError
        If the form needs a package that is not installed (PyYAML, pyarrow).
    """
    form = form_to_write(path_or_dash, form)
    check_values(snapshot)
    content = _bytes(snapshot, form, safe)
    if len(content) > read_budget.MAX_BYTES:
        raise SnapshotError(
            f"has more than {read_budget.MAX_BYTES >> 20} MiB as {form}; give fewer groups"
        )
    if path_or_dash == STDIN:
        sys.stdout.buffer.write(content)
    else:
        write_file(path_or_dash, content)


def form_to_write(path_or_dash: str, form: str = AUTO) -> str:
    """Return the form that a file will be written in.

    Examples
    --------
    >>> form_to_write("out.yml"), form_to_write("-"), form_to_write("out.yml", "csv")
    ('yaml', 'json', 'csv')
    """
    if form == AUTO:
        suffix = PurePath(path_or_dash).suffix.lower()
        if suffix and path_or_dash != STDIN and suffix not in SUFFIXES:
            raise SnapshotError(
                f"suffix {suffix!r} is not known; known are {', '.join(SUFFIXES)}; or give the format"
            )
        return SUFFIXES.get(suffix, "json")
    if form not in WRITTEN:
        raise SnapshotError(f"form {form!r} cannot be written; {', '.join(WRITTEN)} can")
    return form


def losses(snapshot: Snapshot, form: str) -> tuple[str, ...]:
    """Return fields of the snapshot that a form cannot hold; JSON and YAML hold all.

    Examples
    --------
    >>> losses(Snapshot(fetched_at="2026-01-01T00:00:00Z"), "csv")
    ('fetched_at',)
    """
    if form in ("json", "yaml"):
        return ()
    before, after = to_document(snapshot), to_document(from_rows(to_rows(snapshot))[0])
    return tuple(
        dict.fromkeys(
            path_text(parts).replace("[0]", "[]") for parts in _differences(before, after, ())
        )
    )


def _bytes(snapshot: Snapshot, form: str, safe: bool) -> bytes:
    if form == "csv":
        return csv_text.write(snapshot, safe)
    if form == "parquet":
        with installation_hint():
            from rmqalloc.snapshot.files import _parquet as parquet

        return parquet.write(snapshot)
    return document_text.write(snapshot, form)


def _differences(
    before: Any, after: Any, parts: tuple[str | int, ...]
) -> Iterator[tuple[str | int, ...]]:
    """Yield places at which two documents differ; all elements of a list count as its first."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            yield from _differences(before.get(name), after.get(name), (*parts, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        if parts in _UNORDERED:
            before, after = sorted(before, key=_queue), sorted(after, key=_queue)
        for one, other in zip(before, after, strict=True):
            yield from _differences(one, other, (*parts, 0))
    elif before != after:
        yield parts


def _queue(entry: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get("queue", entry).values())
