"""Snapshots as JSON and YAML, read with the line of whatever is wrong."""

from __future__ import annotations

import json
from typing import Any

from rmqalloc.documents import (
    DocumentError,
    Source,
    json_text,
    parse,
    yaml_text,
)
from rmqalloc.documents.read_budget import made_of_json
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.plain_data import SnapshotError, from_document, to_document
from rmqalloc.snapshot.snapshot import Snapshot


def read(source: Source, form: str) -> Snapshot:
    """Return the snapshot of a JSON or YAML file.

    Raises
    ------
    SnapshotError
        If it is none; the message names the file, the line and the field.
    """
    document = parse(source, form)
    try:
        snapshot = from_document(document.data)
        check_values(snapshot)
    except SnapshotError as error:
        raise document.located(error) from None
    return snapshot


def write(snapshot: Snapshot, form: str) -> bytes:
    """Return the bytes of a JSON or YAML file."""
    document: dict[str, Any] = to_document(snapshot)
    if form == "json":
        return _json_text(document).encode()
    try:
        return yaml_text.dump(document).encode()
    except DocumentError as error:
        raise SnapshotError(error.what) from None


def _json_text(document: dict[str, Any]) -> str:
    try:
        text = (
            "{\n"
            + ",\n".join(f"{_json(name)}: {_lines(value)}" for name, value in document.items())
            + "\n}\n"
        )
        json_text.check_depth(document)
        json_text.check_made(made_of_json(text))
    except DocumentError as error:
        raise SnapshotError(error.what) from None
    return text


def _lines(value: Any) -> str:
    """Return JSON of a field; a list has a line for every element, so that large files stay small
    and can be compared.
    """
    return (
        "[\n" + ",\n".join(map(_json, value)) + "\n]" if isinstance(value, list) else _json(value)
    )


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _json(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except ValueError as error:  # a number that is none
        raise SnapshotError(f"not JSON: {error}") from None
