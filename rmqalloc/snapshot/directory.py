"""Directories of Parquet files that appear complete or not at all, and never replace files of
other programs.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from rmqalloc.documents import store

MARKER = "_rmqalloc.json"
"""File that says a directory is ours; Spark and pyarrow do not read names that begin with an underscore."""

_OUR_NAMES = (MARKER, "_SUCCESS", "part-*.parquet", ".*.crc")
_UNFINISHED = f".{MARKER}.*.new"


@contextmanager
def replaced_result(path: str | os.PathLike[str], kind: str) -> Iterator[Path]:
    """Fill a new directory, and let it take the place of ``path`` when the block ends without an
    error.

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> with replaced_result(home / "out", "owners") as new:
    ...     _ = (new / "part-0.parquet").write_text("")
    >>> sorted(p.name for p in (home / "out").iterdir())
    ['_rmqalloc.json', 'part-0.parquet']
    """
    check_replaceable(path, kind)
    with store.replaced_directory(path, partial(_check_standing, path, kind)) as new:
        yield new
        store.write_file(
            new / MARKER, _marked(kind), sync="nothing"
        )  # the directory is brought to the disk as a whole


def check_replaceable(path: str | os.PathLike[str], kind: str) -> None:
    """Raise FileExistsError unless ``path`` is absent, empty, or wholly an earlier result of this
    kind.
    """
    _check_standing(path, kind, Path(path))


def _check_standing(path: str | os.PathLike[str], kind: str, standing: Path) -> None:
    """As `check_replaceable`, for a directory that may have been moved; ``path`` is what to call
    it.
    """
    if not standing.exists():
        return
    if not standing.is_dir():
        raise FileExistsError(
            f"{path} is a file; give a directory that is empty, absent, or was written by rmqalloc"
        )
    try:
        entries = [
            entry for entry in sorted(standing.iterdir()) if not fnmatch(entry.name, _UNFINISHED)
        ]
    except FileNotFoundError:  # being replaced, where that takes more than one step
        return
    if not entries:
        return
    found = _kind(standing / MARKER)
    if found is None:
        raise FileExistsError(
            f"{path} holds files that rmqalloc did not write (such as {entries[0].name}); give a new or empty directory"
        )
    if found != kind:
        raise FileExistsError(
            f"{path} holds {found!r} and would be replaced by {kind!r}; give another directory"
        )
    for entry in entries:
        if entry.is_dir() or not any(fnmatch(entry.name, name) for name in _OUR_NAMES):
            raise FileExistsError(
                f"{path} was written by rmqalloc, but not {entry.name} in it; move that away or give another directory"
            )


def _marked(kind: str) -> bytes:
    """Return what the marker file holds."""
    return (json.dumps({"tool": "rmqalloc", "kind": kind}) + "\n").encode()


def _kind(marker: Path) -> str | None:
    """Return the kind that a marker file states, None if there is no such file or it is not ours."""
    from rmqalloc.documents import DocumentError, json_text, read_source

    try:
        content = json_text.loads(read_source(marker).text())
    except (OSError, DocumentError):
        return None
    is_ours = isinstance(content, dict) and content.get("tool") == "rmqalloc" and "kind" in content
    return str(content["kind"]) if is_ours else None
