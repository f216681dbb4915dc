"""The files that paths stand for: a folder for all files in it, every file once.

The order in which paths are given does not matter: sources are sorted by their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rmqalloc.documents import STDIN, Source, read_budget, read_source
from rmqalloc.snapshot.plain_data import SnapshotError

MOST_FILES = 10_000
"""Files and folders in one folder at most, those of folders within it included."""


class GivenSource(NamedTuple):
    """What one file holds."""

    source: Source
    is_in_folder: bool = False  # the folder was given, not the file
    problem: str | None = None  # why a file in a folder could not be read


class _Path(NamedTuple):
    """A file that is to be read."""

    path: str
    is_in_folder: bool = False
    problem: str | None = None  # why it cannot be read


def given_sources(
    paths: Iterable[str | os.PathLike[str] | Source | GivenSource],
) -> tuple[GivenSource, ...]:
    """Read the files of paths and folders.

    Parameters
    ----------
    paths : iterable of str, path, Source or GivenSource
        Files, folders, and ``-`` for standard input. A folder means its files and the files of the
        folders in it, except hidden files and linked folders. A file that is given several times,
        also by its folder, is read once. Sources are kept as they are.

    Returns
    -------
    tuple of GivenSource
        Sorted by name.

    Raises
    ------
    OSError
        If a file or folder that is given cannot be read.
    SnapshotError
        If standard input is given twice, a folder is empty or has more than `MOST_FILES`, or all
        files together have more bytes than the limit of one file.
    """
    given, named = [], []
    for path in paths:
        if isinstance(path, GivenSource):
            given.append(path)
        elif isinstance(path, Source):
            given.append(GivenSource(path))
        else:
            named.append(os.fspath(path))
    given += _read(_files(named))
    return tuple(sorted(given, key=lambda entry: (entry.source.path, entry.source.data)))


def _files(paths: list[str]) -> list[_Path]:
    """Return the files that paths stand for, each once, by the first of its names."""
    if paths.count(STDIN) > 1:
        raise SnapshotError("standard input is given twice, and can be read once")
    folders = sorted({path for path in paths if path != STDIN and os.path.isdir(path)})
    found = [_Path(path) for path in sorted({*paths}.difference(folders))]
    for folder in folders:
        found += _files_in(folder)
    by_place: dict[str, _Path] = {}
    for file in found:
        place = STDIN if file.path == STDIN else os.path.realpath(file.path)
        by_place.setdefault(place, file)
    return list(by_place.values())


def _files_in(folder: str) -> list[_Path]:
    """Return the files in a folder and in the folders within it."""
    found, n_entries, waiting = [], 0, [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                n_entries += 1
                if n_entries > MOST_FILES:
                    raise SnapshotError(
                        f"{folder} has more than {MOST_FILES:,} files and folders; give the files "
                        "that are to be read, or a folder within it"
                    )
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    found.append(_Path(entry.path, True, _problem(entry)))
    if not found:
        raise SnapshotError(f"{folder}: this folder contains no file, except hidden files")
    return sorted(found)


def _problem(entry: os.DirEntry[str]) -> str | None:
    """Return why an entry of a folder is not opened: reading a pipe, say, may wait for ever."""
    if entry.is_file():
        return None
    return "a link to a folder is not followed" if entry.is_dir() else "it is not a regular file"


def _read(files: Iterable[_Path]) -> Iterator[GivenSource]:
    """Read files; all together may have as many bytes as one."""
    n_bytes = 0
    for file in files:
        source, problem = _content(file)
        n_bytes += len(source.data)
        if n_bytes > read_budget.MAX_BYTES:
            raise SnapshotError(
                f"{source.name}: the files up to this one have more than "
                f"{read_budget.MAX_BYTES >> 20} MiB together; give fewer groups"
            )
        yield GivenSource(source, file.is_in_folder, problem)


def _content(file: _Path) -> tuple[Source, str | None]:
    """Return what a file holds; of a file in a folder that cannot be read, nothing and why."""
    problem = file.problem
    if problem is None:
        try:
            return read_source(file.path, SnapshotError), None
        except OSError as error:
            if not file.is_in_folder:
                raise
            problem = error.strerror or type(error).__name__
    return Source(file.path, b"", SnapshotError), problem
