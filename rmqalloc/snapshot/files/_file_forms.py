"""The form of a file: by its suffix, else by its content."""

from __future__ import annotations

import re
from pathlib import PurePath

from rmqalloc.documents import STDIN, DocumentError, Source
from rmqalloc.snapshot.files import outputs
from rmqalloc.snapshot.plain_data import SnapshotError

AUTO = "auto"
OUTPUTS = "outputs"
FORMS = ("json", "yaml", "csv", "parquet", OUTPUTS)
"""What can be read; all but outputs of tools can be written."""

SUFFIXES = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}

_HEAD = 1 << 18
_KIND = re.compile(r"""\bkind["']?[ \t]*:[ \t]*["']?Snapshot\b""")
"""The kind that every snapshot in JSON and YAML states."""


def form_of(source: Source) -> str:
    """Return the form of a file: by its suffix where that says it, else by its content.

    Examples
    --------
    >>> form_of(Source("-", b'{"kind": "Snapshot"}')), form_of(Source("s.yml", b"kind: Snapshot"))
    ('json', 'yaml')
    >>> form_of(Source("-", b"topic,broker"))
    'csv'
    """
    found = form_or_none(source)
    if not _is_right(source, found) and outputs.is_foreign(source.text(), source.path):
        raise source.error(outputs.not_read(source.text(), source.path))
    if found is None:
        raise source.error(
            "its format is not recognised from its name or content, which may be "
            f"{', '.join(FORMS)}; add a suffix such as .json"
        )
    return found


def _is_right(source: Source, form: str | None) -> bool:
    """Return whether a file holds what its form is for, as far as that can be seen."""
    if form in ("json", "yaml"):
        return is_snapshot(source, form)
    return form is not None


def form_or_none(source: Source) -> str | None:
    """Return the same, or None where neither the suffix nor the content says it.

    Raises
    ------
    SnapshotError
        If it is no text.
    """
    suffix = SUFFIXES.get(PurePath(source.path).suffix.lower()) if source.path != STDIN else None
    if suffix not in (None, "json"):
        return suffix
    if source.data.startswith(b"PAR1"):
        return "parquet"
    text = _text(source)
    if outputs.is_json_output(outputs.cleaned(text[:_HEAD])):
        return OUTPUTS
    if suffix is None and outputs.has_results(text):  # of a log in JSON, too
        return OUTPUTS
    if suffix is not None or text.lstrip().startswith("{"):
        return "json"
    if outputs.is_output(text):
        return OUTPUTS
    if re.search(r"^(---|apiVersion *:|kind *: *Snapshot)", text[:_HEAD], re.MULTILINE):
        return "yaml"
    if _has_columns(text):
        return "csv"
    if outputs.is_named_as_output(source.path) or outputs.is_part_of_log(text):
        return OUTPUTS
    return None


def _text(source: Source) -> str:
    """Return the content as text; the error for what is no text names what it is."""
    try:
        text = source.text()
        if "\0" not in text[:_HEAD]:
            return text
    except DocumentError:
        if not outputs.is_binary(source.data):
            raise
    raise source.error(outputs.not_read_bytes(source.data, source.path))


def is_snapshot(source: Source, form: str) -> bool:
    """Return whether a document is a snapshot, as far as its kind or its columns say it.

    Examples
    --------
    >>> is_snapshot(Source("pod.yaml", b"apiVersion: v1"), "yaml")
    False
    """
    if form == "parquet":
        return True
    text = source.text()
    return _has_columns(text) if form == "csv" else _KIND.search(text) is not None


def _has_columns(text: str) -> bool:
    from rmqalloc.snapshot.files._table_columns import column_names

    first = text[:_HEAD].partition("\n")[0].strip()
    names = re.split(r"[,;\t]", first)
    try:
        return len(names) > 1 and any(column_names(name.strip('" ') for name in names))
    except SnapshotError:
        return False
