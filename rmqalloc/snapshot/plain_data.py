"""A snapshot as plain data (what JSON and YAML files hold), and back, with errors that name the field."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from rmqalloc.documents import DocumentError, known_names
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot import snapshot as model
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.snapshot.snapshot import Group, Snapshot

API_VERSION = "rmqalloc/v2"
READABLE_VERSIONS = (API_VERSION, "rmqalloc/v1")
"""Versions that are read; in v1 nothing said how a strategy is known or that queues are shared, and a live snapshot left AVG
out, known or not."""

KIND = "Snapshot"
HEAD = {"apiVersion": API_VERSION, "kind": KIND}
"""Fields that every document has, and what is written into them."""

_MAY_BE_NEGATIVE = ("_offset", "timestamp", "queue_id", "share_queue_num")

Reader = Callable[[Any], Any]


class SnapshotError(DocumentError):
    """A file or document is not a snapshot; the message names the place and what would be right."""


def to_document(snapshot: Snapshot) -> dict[str, Any]:
    """Plain data of a snapshot; what is not known is left out.

    Examples
    --------
    >>> to_document(Snapshot(groups=(model.Group("g"),)))
    {'apiVersion': 'rmqalloc/v2', 'kind': 'Snapshot', 'groups': [{'name': 'g'}]}
    """
    return {**HEAD, **_plain(snapshot)}


def from_document(document: Any) -> Snapshot:
    """The snapshot that plain data holds.

    Raises
    ------
    SnapshotError
        If a field is missing, unknown or of the wrong type, or the version is unknown.

    Examples
    --------
    >>> from_document({"apiVersion": "rmqalloc/v2", "kind": "Snapshot", "groups": [{"name": "g"}]}).groups[0].client_ids
    []
    """
    if not isinstance(document, Mapping):
        raise SnapshotError(f"a snapshot is an object with apiVersion and kind, got {_shown(document)}")
    for name, right in {"apiVersion": READABLE_VERSIONS, "kind": (KIND,)}.items():
        if document.get(name) not in right:
            raise SnapshotError(f"must be {' or '.join(map(repr, right))}, got {_shown(document.get(name))}", (name,))
    snapshot = cast(Snapshot, _reader(Snapshot)({key: value for key, value in document.items() if key not in HEAD}))
    return snapshot if document["apiVersion"] == API_VERSION else _from_v1(snapshot)


def _from_v1(snapshot: Snapshot) -> Snapshot:
    """The snapshot with the groups marked whose clients stand behind a proxy: v1 gave them owners that do not exist."""

    def is_shared(group: Group) -> bool:
        return any(is_behind_proxy(one.client_id, one.language, one.version) for one in group.clients)

    groups = (replace(group, is_shared=group.is_shared or is_shared(group)) for group in snapshot.groups)
    return replace(snapshot, groups=tuple(groups))


def field_types(cls: type[Any]) -> dict[str, Any]:
    """Type of every field of a dataclass or named tuple of the model."""
    return get_type_hints(cls, vars(model))


def needed_fields(cls: type[Any]) -> list[str]:
    """Fields that have no default."""
    if cls is MessageQueue:
        return list(MessageQueue._fields)
    return [one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING]


def least(name: str) -> int:
    """The smallest whole number that a field of that name may hold."""
    return -(2**63) if name.endswith(_MAY_BE_NEGATIVE) else 0


# --- Writing ---


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is MessageQueue:
        return value._asdict()
    if is_dataclass(kind):
        named = ((name, default, getattr(value, name)) for name, default in _defaults(kind))
        return {name: _plain(item) for name, default, item in named if default is MISSING or item != default}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [_plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    return value


@cache
def _defaults(cls: type[Any]) -> list[tuple[str, Any]]:
    """Fields and their defaults, MISSING for none."""
    return [(one.name, _default(one)) for one in fields(cls)]


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


# --- Reading: a function for every type, made once ---


@cache
def _reader(hint: Any, lowest: int = 0) -> Reader:
    """What reads a value of that type, or raises an error that names its place."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        inner = _reader(next(arg for arg in args if arg is not types.NoneType), lowest)
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _list_reader(_reader(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(_reader(args[1]))
    if hint is Any:
        return lambda value: value
    if hint is int:
        return lambda value: _whole(value, lowest)
    return _SCALARS[hint] if hint in _SCALARS else _object_reader(hint)


def _object_reader(cls: type[Any]) -> Reader:
    """Reads an instance of a dataclass or named tuple from a mapping."""
    readers = {name: _reader(hint, least(name)) for name, hint in field_types(cls).items()}
    needed = needed_fields(cls)

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise SnapshotError(f"must be an object, got {_shown(value)}")
        found = {}
        for key, item in value.items():
            reader = readers.get(key)
            if reader is None:
                raise SnapshotError(f"is not known; {known_names(str(key), readers)}", (str(key),))
            try:
                found[key] = reader(item)
            except SnapshotError as error:
                raise error.inside(key) from None
        for name in needed:
            if name not in found:
                raise SnapshotError("is missing", (name,))
        return cls(**found)

    return read


def _list_reader(reader: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise SnapshotError(f"must be a list, got {_shown(value)}")
        found = []
        try:
            for item in value:
                found.append(reader(item))
        except SnapshotError as error:
            raise error.inside(len(found)) from None
        return tuple(found)

    return read


def _mapping_reader(reader: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise SnapshotError(f"must be an object, got {_shown(value)}")
        found = {}
        for key, item in value.items():
            try:
                found[_text(key)] = reader(item)
            except SnapshotError as error:
                raise error.inside(str(key)) from None
        return found

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise SnapshotError(f"must be a string, got {_shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SnapshotError(f"must be Unicode text, got half a surrogate pair in {_shown(value)}") from None
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SnapshotError(f"must be true or false, got {_shown(value)}")
    return value


def _whole(value: Any, lowest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SnapshotError(f"must be a whole number, got {_shown(value)}")
    if not lowest <= value < 2**63:
        raise SnapshotError(f"must be from {lowest} to {2**63 - 1}, got {_shown(value)}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SnapshotError(f"must be a number, got {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise SnapshotError(f"must be a number, got {_shown(value)}") from None


_SCALARS: dict[Any, Reader] = {str: _text, bool: _truth, float: _number}


def _shown(value: Any) -> str:
    """A short picture of a value; the whole could be a whole file."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
