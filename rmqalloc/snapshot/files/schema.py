"""JSON Schema of a snapshot's document, made from the types of its fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from rmqalloc.snapshot.files.checks import CHOICES, MAX_QUEUES
from rmqalloc.snapshot.plain_data import (
    HEAD,
    KIND,
    READABLE_VERSIONS,
    field_types,
    least,
    needed_fields,
)
from rmqalloc.snapshot.snapshot import Snapshot

_WORDS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    Any: {},
}


def snapshot_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of JSON and YAML files of a snapshot, for editors and other programs.

    Examples
    --------
    >>> snapshot_schema()["required"]
    ['apiVersion', 'kind']
    """
    definitions: dict[str, Any] = {}
    body = _object(Snapshot, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Snapshot of a RocketMQ cluster, of rmqalloc",
        **body,
        "properties": {"apiVersion": {"enum": [*READABLE_VERSIONS]}, "kind": {"const": KIND}, **body["properties"]},
        "required": list(HEAD),
        "$defs": dict(sorted(definitions.items())),
    }


def _object(cls: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _field(name, hint, definitions) for name, hint in field_types(cls).items()}
    return {
        "type": "object",
        "properties": properties,
        "required": needed_fields(cls),
        "additionalProperties": False,
    }


def _field(name: str, hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if name in CHOICES:
        return {"enum": list(CHOICES[name])}
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        inner = next(arg for arg in args if arg is not types.NoneType)
        return {"anyOf": [_field(name, inner, definitions), {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _field("", args[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _field("", args[1], definitions)}
    if hint is int:
        most = MAX_QUEUES if name.endswith("_queue_nums") else 2**63 - 1
        return {"type": "integer", "minimum": least(name), "maximum": most}
    if hint in _WORDS:
        return _WORDS[hint]
    if hint.__name__ not in definitions:
        definitions[hint.__name__] = {}
        definitions[hint.__name__] = _object(hint, definitions)
    return {"$ref": f"#/$defs/{hint.__name__}"}
