"""Convert a snapshot to plain data (the content of JSON and YAML files) and back, with errors that
name the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

from rmqalloc.documents import DocumentError
from rmqalloc.documents.document_errors import shown
from rmqalloc.documents.fields import FieldError
from rmqalloc.documents.records import SIGNED, document_schema, record
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.proxy import with_shared
from rmqalloc.snapshot.snapshot import Snapshot

API_VERSION = "rmqalloc/v2"
READABLE_VERSIONS = (API_VERSION, "rmqalloc/v1")
"""Versions that are read; in v1 nothing said how a strategy is known or that queues are shared, and a live snapshot left AVG
out, known or not."""

KIND = "Snapshot"
HEAD = {"apiVersion": API_VERSION, "kind": KIND}
"""Fields that every document has, and what is written into them."""

_MAY_BE_NEGATIVE = ("_offset", "timestamp", "queue_id", "share_queue_num")


class SnapshotError(DocumentError):
    """A file or document is not a snapshot; the message names the place and the correct form."""


def to_document(snapshot: Snapshot) -> dict[str, Any]:
    """Return plain data of a snapshot; unknown values are omitted.

    Examples
    --------
    >>> from rmqalloc.snapshot.snapshot import Group
    >>> to_document(Snapshot(groups=(Group("g"),)))
    {'apiVersion': 'rmqalloc/v2', 'kind': 'Snapshot', 'groups': [{'name': 'g'}]}
    """
    return {**HEAD, **_plain(snapshot)}


def from_document(document: Any) -> Snapshot:
    """Return the snapshot that plain data holds.

    Examples
    --------
    >>> from_document({"apiVersion": "rmqalloc/v2", "kind": "Snapshot", "groups": [{"name": "g"}]}).groups[0].client_ids
    []
    """
    if not isinstance(document, Mapping):
        raise SnapshotError(f"must be a mapping with apiVersion and kind, got {shown(document)}")
    for name, right in {"apiVersion": READABLE_VERSIONS, "kind": (KIND,)}.items():
        if document.get(name) not in right:
            raise SnapshotError(
                f"must be {' or '.join(map(repr, right))}, got {shown(document.get(name))}", (name,)
            )
    try:
        read: Snapshot = record(Snapshot).read(
            {key: value for key, value in document.items() if key not in HEAD}
        )
    except FieldError as error:
        raise SnapshotError(error.what, error.parts) from None
    return with_shared(read)


def snapshot_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of snapshot files (JSON and YAML), for editors and programs.

    Examples
    --------
    >>> snapshot_schema()["required"]
    ['apiVersion', 'kind']
    """
    body = record(Snapshot).schema()
    versions = {"enum": [*READABLE_VERSIONS], "description": "Version of the format."}
    head = {"apiVersion": versions, "kind": {"const": KIND, "description": "Kind of document."}}
    body |= {"properties": {**head, **body["properties"]}, "required": list(HEAD)}
    return document_schema("Snapshot of a RocketMQ cluster, of rmqalloc", body)


def least(name: str) -> int:
    """Return the smallest whole number that a column of that name may hold."""
    return SIGNED.least if name.endswith(_MAY_BE_NEGATIVE) else 0


def check_range(name: str, number: int) -> None:
    """Refuse a number that the column of a table cannot hold."""
    if not least(name) <= number <= SIGNED.most:
        raise SnapshotError(f"{name} must be from {least(name)} to {SIGNED.most}, got {number}")


# --- Writing ---


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is MessageQueue:
        return value._asdict()
    if is_dataclass(kind):
        named = ((name, default, getattr(value, name)) for name, default in _defaults(kind))
        return {
            name: _plain(item)
            for name, default, item in named
            if default is MISSING or item != default
        }
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [
            _plain(item)
            for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)
        ]
    return value


@cache
def _defaults(cls: type[Any]) -> list[tuple[str, Any]]:
    """Return fields and their defaults, MISSING for none."""
    return [(one.name, _default(one)) for one in fields(cls)]


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()
