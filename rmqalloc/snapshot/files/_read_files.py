"""Reading snapshots of any form."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from rmqalloc.documents import STDIN, Source, read_source
from rmqalloc.documents.memory import no_collection
from rmqalloc.snapshot.examples import PREFIX, find
from rmqalloc.snapshot.files import _document_text as document_text
from rmqalloc.snapshot.files import outputs
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Snapshot

AUTO = "auto"
FORMS = ("json", "yaml", "csv", "parquet", "outputs")
"""What can be read; all but mqadmin can be written."""

SUFFIXES = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}

_HEAD = 1 << 18
_MQADMIN_JSON = re.compile(
    r'\A(?:[^{\n].*\n|\n)*[ \t]*\{\s*"(?:brokerDatas|queueDatas|filterServerTable|orderTopicConf|result)"'
)


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
    paths: Sequence[str | Source], form: str = AUTO
) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot that several outputs of mqadmin make together, or the one of a single
    file of any form.

    Parameters
    ----------
    paths : sequence of str or Source
        Files; ``-`` is standard input. Of those that can be read only once, such as pipes, what was
        read of them.
    form : str
        As `read_snapshot`.

    Returns
    -------
    tuple of Snapshot and tuple of str
        The snapshot, and warnings.

    Raises
    ------
    OSError, SnapshotError, ModuleNotFoundError
        As `read_snapshot`; also if there are several files and not all are outputs of mqadmin.
    """
    if form not in (AUTO, *FORMS):
        raise SnapshotError(f"form {form!r} is not known; known are {', '.join((AUTO, *FORMS))}")
    sources = [one if isinstance(one, Source) else read_source(one, SnapshotError) for one in paths]
    forms = [form_of(source) if form == AUTO else form for source in sources]
    if len(sources) != 1 and set(forms) != {"outputs"}:
        shown = ", ".join(
            f"{source.name} ({one})" for source, one in zip(sources, forms, strict=True)
        )
        raise SnapshotError(
            f"only outputs of mqadmin can be put together; else give one file, got {shown or 'none'}"
        )
    with no_collection():
        return outputs.read(sources) if forms[0] == "outputs" else _read(sources[0], forms[0])


def _read(source: Source, form: str) -> tuple[Snapshot, tuple[str, ...]]:
    if form == "csv":
        from rmqalloc.snapshot.files import csv_text

        return csv_text.read(source)
    if form == "parquet":
        from rmqalloc.snapshot.files import _parquet as parquet

        return parquet.read(source)
    return document_text.read(source, form), ()


def form_of(source: Source) -> str:
    """Return the form of a file: by its suffix where that says it, else by its content.

    Examples
    --------
    >>> form_of(Source("-", b'{"apiVersion": ""}')), form_of(Source("s.yml", b"")), form_of(Source("-", b"topic,broker"))
    ('json', 'yaml', 'csv')
    """
    suffix = SUFFIXES.get(PurePath(source.path).suffix.lower()) if source.path != STDIN else None
    if suffix not in (None, "json"):
        return suffix
    if source.data.startswith(b"PAR1"):
        return "parquet"
    text = source.text()
    bare = outputs.cleaned(text[:_HEAD])
    if _MQADMIN_JSON.match(bare) or outputs.is_dashboard(bare):
        return "outputs"
    if suffix is not None or text.lstrip().startswith("{"):
        return "json"
    if outputs.is_output(text):
        return "outputs"
    if re.search(r"^(---|apiVersion *:|kind *: *Snapshot)", text[:_HEAD], re.MULTILINE):
        return "yaml"
    if _has_columns(text):
        return "csv"
    if outputs.is_named_as_output(source.path):
        return "outputs"
    raise source.error(
        f"its form cannot be told from its name or content, which may be {', '.join(FORMS)}; "
        "a suffix such as .json says it"
    )


def _has_columns(text: str) -> bool:
    from rmqalloc.snapshot.files._table_columns import column_names

    first = text[:_HEAD].partition("\n")[0].strip()
    names = re.split(r"[,;\t]", first)
    try:
        return len(names) > 1 and any(column_names(name.strip('" ') for name in names))
    except SnapshotError:
        return False


def read(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], form: str = AUTO
) -> Snapshot:
    r"""Read a snapshot from a file, from several outputs of mqadmin, or from text.

    Parameters
    ----------
    source : str, path, or iterable of them
        A path, ``-`` for standard input, or ``example:NAME``; several paths if all are outputs of
        mqadmin. Text with a line break is read itself: a snapshot in JSON, YAML or CSV, or what
        mqadmin prints.
    form : str
        ``json``, ``yaml``, ``csv``, ``parquet`` or ``mqadmin``; ``auto`` decides by the suffix,
        else by the content.

    Returns
    -------
    Snapshot
        What should be known about it, such as names that mqadmin probably cut, is issued as a
        `UserWarning`.

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
