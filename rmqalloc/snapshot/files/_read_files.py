"""Reading snapshots of any form."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rmqalloc.documents import Source
from rmqalloc.documents.memory import no_collection
from rmqalloc.errors import installation_hint
from rmqalloc.snapshot.examples import PREFIX, find
from rmqalloc.snapshot.files import _document_text as document_text
from rmqalloc.snapshot.files import outputs
from rmqalloc.snapshot.files._chosen_sources import LeftOut, chosen_sources
from rmqalloc.snapshot.files._file_forms import AUTO, FORMS, OUTPUTS
from rmqalloc.snapshot.files.given_sources import GivenSource, given_sources
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import ReadSource, Snapshot

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.outputs import LoggedMoment


def read_snapshot(path_or_dash: str, form: str = AUTO) -> Snapshot:
    """Return the snapshot that a file holds.

    Parameters
    ----------
    path_or_dash : str
        A file, or ``-`` for standard input.
    form : str
        One of `FORMS`, or ``auto``: by the suffix, else by the content.

    Raises
    ------
    OSError
        If the file cannot be read.
    SnapshotError
        If it is not a snapshot; the message names the file, the line and the field.
    ModuleNotFoundError
        If the form needs a package that is not installed (PyYAML, pyarrow).
    """
    return read_snapshot_with_warnings(path_or_dash, form)[0]


def read_snapshot_with_warnings(
    path_or_dash: str | Source, form: str = AUTO
) -> tuple[Snapshot, tuple[str, ...]]:
    """As `read_snapshot`, and what should be known about it, such as names that were probably cut."""
    return read_snapshots([path_or_dash], form)


def read_snapshots(
    paths: Iterable[str | os.PathLike[str] | Source | GivenSource], form: str = AUTO
) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot that several outputs of tools make together, or the snapshot in a single
    file of any form.

    Parameters
    ----------
    paths : iterable of str, path, Source or GivenSource
        Files and folders; ``-`` is standard input. A folder means the files in it, as
        `rmqalloc.snapshot.files.given_sources.given_sources` reads them. For inputs that can be
        read only once, such as pipes, give the content that was read.
    form : str
        As `read_snapshot`.

    Returns
    -------
    tuple of Snapshot and tuple of str
        The snapshot, and warnings. Among several files, files of unknown form are left out with a
        warning, and so are snapshots in a folder that also holds outputs of tools. The order of the
        files does not matter.

    Raises
    ------
    OSError, SnapshotError, ModuleNotFoundError
        As `read_snapshot`; also if a file of a snapshot is given beside another file, or nothing of
        several files can be read.
    """
    if form not in (AUTO, *FORMS):
        raise SnapshotError(f"form {form!r} is not known; known are {', '.join((AUTO, *FORMS))}")
    chosen = chosen_sources(given_sources(paths), form)
    with no_collection():
        if chosen.form == OUTPUTS:
            snapshot, notes = outputs.read(chosen.sources)
        else:
            snapshot, notes = _read(chosen.sources[0], chosen.form)
    if chosen.left_out:
        listed = [*snapshot.sources, *map(_as_read, chosen.left_out)]
        listed.sort(key=lambda read: (read.file, read.first_line))
        snapshot = replace(snapshot, sources=tuple(listed))
    return snapshot, (*chosen.warnings, *notes)


class LogsRead(NamedTuple):
    """What logs of clients show over time, and what should be known of their last state."""

    moments: Iterator[LoggedMoment]
    warnings: tuple[str, ...]


def read_logs(paths: Iterable[str | os.PathLike[str] | Source | GivenSource]) -> LogsRead:
    """Return what logs of Java clients show whenever it changes, in the order of time.

    Parameters
    ----------
    paths : iterable of str, path, Source or GivenSource
        Logs, also rotated logs, and folders of logs; files with outputs of topicRoute may be among
        them.

    Raises
    ------
    OSError, SnapshotError
        As `read_snapshots`; also if a file is neither a log nor topicRoute, or a log has no times.
    """
    chosen = chosen_sources(given_sources(paths))
    if chosen.form != OUTPUTS:
        raise chosen.sources[0].error(
            f"a history is made of logs of clients, and this is {chosen.form}"
        )
    _, notes = outputs.read(chosen.sources)
    return LogsRead(outputs.over_time(chosen.sources), (*chosen.warnings, *notes))


def _as_read(left_out: LeftOut) -> ReadSource:
    """Return the entry of a file of which nothing is in the snapshot."""
    source = left_out.source
    return ReadSource(source.name, 1, source.n_lines, "not read", "", left_out.reason)


def _read(source: Source, form: str) -> tuple[Snapshot, tuple[str, ...]]:
    if form == "csv":
        from rmqalloc.snapshot.files import csv_text

        return csv_text.read(source)
    if form == "parquet":
        with installation_hint():
            from rmqalloc.snapshot.files import _parquet as parquet

        return parquet.read(source)
    return document_text.read(source, form), ()


def read(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], form: str = AUTO
) -> Snapshot:
    r"""Read a snapshot from a file, from several outputs of tools or a folder of them, or from text.

    Parameters
    ----------
    source : str, path, or iterable of them
        A path, ``-`` for standard input, or ``example:NAME``; several paths if all are outputs of
        tools. A folder means the files in it. Text with a line break is read itself: a
        snapshot in JSON, YAML or CSV, or what a tool prints.
    form : str
        ``json``, ``yaml``, ``csv``, ``parquet`` or ``outputs``; ``auto`` decides by the suffix,
        else by the content.

    Returns
    -------
    Snapshot
        Warnings about it, such as names that a tool probably cut, are issued as `UserWarning`.

    Raises
    ------
    OSError
        A file cannot be read.
    SnapshotError
        It is not a snapshot; the message names the file, the line and the field.
    ExampleError
        There is no example of that name.
    ModuleNotFoundError
        The form needs a package that is not installed (PyYAML, pyarrow).

    Examples
    --------
    >>> [group.name for group in read("example:seed").groups]
    ['by-average', 'by-ring']
    >>> read('{"apiVersion": "rmqalloc/v2",\n"kind": "Snapshot"}').groups
    ()
    """
    several = [source] if isinstance(source, str | os.PathLike) else list(source)
    snapshot, notes = read_snapshots([_named(one) for one in several], form)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return snapshot


def _named(source: str | os.PathLike[str]) -> str | Source:
    """Return the file that is meant, or the text itself."""
    path = os.fspath(source)
    if "\n" in path:
        return Source("text", path.encode("utf-8", "surrogateescape"), SnapshotError)
    return str(find(path, "snapshot").path) if path.startswith(PREFIX) else path
