"""A snapshot as plain data (what JSON and YAML files hold), and back, with errors that name the field."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot import model
from rmqalloc.snapshot.model import Snapshot

API_VERSION = "rmqalloc/v1"
KIND = "Snapshot"
_HEAD = {"apiVersion": API_VERSION, "kind": KIND}


class SnapshotError(ValueError):
    """A file or document is not a snapshot; the message names the place and what would be right."""


def to_document(snapshot: Snapshot) -> dict[str, Any]:
    """Plain data of a snapshot; what is not known is left out.

    Examples
    --------
    >>> to_document(Snapshot(groups=(model.Group("g"),)))
    {'apiVersion': 'rmqalloc/v1', 'kind': 'Snapshot', 'groups': [{'name': 'g'}]}
    """
    return {**_HEAD, **_plain(snapshot)}


def from_document(document: Any) -> Snapshot:
    """The snapshot that plain data holds.

    Raises
    ------
    SnapshotError
        If a field is missing, unknown or of the wrong type, or the version is unknown.

    Examples
    --------
    >>> from_document({"apiVersion": "rmqalloc/v1", "kind": "Snapshot", "groups": [{"name": "g"}]}).groups[0].strategy
    'AVG'
    """
    if not isinstance(document, Mapping):
        raise SnapshotError(f"a snapshot is an object with apiVersion and kind, got {_shown(document)}")
    for name, right in _HEAD.items():
        if document.get(name) != right:
            raise SnapshotError(f"{name} must be {right!r}, got {_shown(document.get(name))}")
    snapshot = _object(Snapshot, {key: value for key, value in document.items() if key not in _HEAD}, "")
    return cast(Snapshot, snapshot)


def _plain(value: Any) -> Any:
    if isinstance(value, MessageQueue):
        return value._asdict()
    if is_dataclass(value):
        named = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: _plain(item) for one, item in named if not _is_default(one, item)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [_plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    return value


def _is_default(one: Field[Any], value: Any) -> bool:
    if one.default is not MISSING:
        return bool(value == one.default)
    return one.default_factory is not MISSING and bool(value == one.default_factory())


def _object(cls: type[Any], value: Any, path: str) -> Any:
    """An instance of a dataclass or named tuple from a mapping."""
    if not isinstance(value, Mapping):
        raise SnapshotError(f"{path or 'the snapshot'} must be an object, got {_shown(value)}")
    hints = get_type_hints(cls, vars(model))
    if unknown := [key for key in value if key not in hints]:
        raise SnapshotError(f"{_join(path, unknown[0])} is not known; known are {', '.join(hints)}")
    needed = list(hints) if cls is MessageQueue else [f.name for f in fields(cls) if _is_needed(f)]
    for name in needed:
        if name not in value:
            raise SnapshotError(f"{_join(path, name)} is missing")
    return cls(**{key: _value(hints[key], item, _join(path, key)) for key, item in value.items()})


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _value(hint: Any, value: Any, path: str) -> Any:
    """A value of the hinted type, or an error that names its place."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        inner = next(arg for arg in args if arg is not types.NoneType)
        return None if value is None else _value(inner, value, path)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise SnapshotError(f"{path} must be a list, got {_shown(value)}")
        return tuple(_value(args[0], item, f"{path}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise SnapshotError(f"{path} must be an object, got {_shown(value)}")
        return {str(key): _value(args[1], item, _join(path, str(key))) for key, item in value.items()}
    if hint is Any:
        return value
    if hint is MessageQueue or is_dataclass(hint):
        return _object(cast(type[Any], hint), value, path)
    return _SCALARS[hint](value, path)


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise SnapshotError(f"{path} must be a string, got {_shown(value)}")
    return value


def _truth(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise SnapshotError(f"{path} must be true or false, got {_shown(value)}")
    return value


def _whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SnapshotError(f"{path} must be a whole number, got {_shown(value)}")
    least = -(2**63) if path.endswith(("_offset", "timestamp", "queue_id", "share_queue_num")) else 0
    if not least <= value < 2**63:
        raise SnapshotError(f"{path} must be from {least} to {2**63 - 1}, got {value}")
    return value


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SnapshotError(f"{path} must be a number, got {_shown(value)}")
    return float(value)


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {str: _text, bool: _truth, int: _whole, float: _number}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    """A short picture of a value; the whole could be a whole file."""
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
