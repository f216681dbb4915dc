"""A snapshot from whatever names or holds one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable

from rmqalloc.documents import Source
from rmqalloc.examples import PREFIX, find
from rmqalloc.snapshot.files._read_files import AUTO, read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Snapshot

_TEXT = "text"


def read(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], form: str = AUTO) -> Snapshot:
    r"""Read a snapshot from a file, from several outputs of mqadmin, or from text.

    Parameters
    ----------
    source : str, path, or iterable of them
        A path, ``-`` for standard input, or ``example:NAME``; several paths if all are outputs of mqadmin. Text with a line
        break is read itself: a snapshot in JSON, YAML or CSV, or what mqadmin prints.
    form : str
        ``json``, ``yaml``, ``csv``, ``parquet`` or ``mqadmin``; ``auto`` decides by the suffix, else by the content.

    Returns
    -------
    Snapshot
        What should be known about it, such as names that mqadmin probably cut, is issued as a `UserWarning`.

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
    """The file that is meant, or the text itself."""
    path = os.fspath(source)
    if "\n" in path:
        return Source(_TEXT, path.encode("utf-8", "surrogateescape"), SnapshotError)
    return str(find(path, "snapshot").path) if path.startswith(PREFIX) else path
