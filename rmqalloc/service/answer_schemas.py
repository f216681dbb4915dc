"""JSON Schemas of the served documents, derived from the schemas of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from rmqalloc.documents.records import document_schema

Schema = dict[str, Any]

_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_ANY: Schema = {}


def row_schema(columns: pa.Schema) -> Schema:
    """Return the JSON Schema of one row of a table; any field may be null.

    Examples
    --------
    >>> from rmqalloc.results.schemas import columns
    >>> row_schema(columns("moved: int64"))["properties"]
    {'moved': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}
    """
    properties = {field.name: _or_null(_of_type(field.type)) for field in columns}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _of_type(kind: pa.DataType) -> Schema:
    if pa.types.is_list(kind):
        return {"type": "array", "items": _or_null(_of_type(kind.value_type))}
    if pa.types.is_struct(kind):
        return row_schema(pa.schema(list(kind)))
    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    if pa.types.is_integer(kind):
        return {"type": "integer"}
    return {"type": "number"} if pa.types.is_floating(kind) else {"type": "string"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _rows(columns: pa.Schema) -> Schema:
    return {"type": "array", "items": row_schema(columns)}


def _document(heading: str, /, **properties: Schema) -> Schema:
    return document_schema(
        heading, {"type": "object", "properties": properties, "required": list(properties)}
    )


def _groups() -> Schema:
    from rmqalloc.audit.group_table import GROUP_LIST_SCHEMA

    return _document(
        "Groups of rmqalloc", groups=_rows(GROUP_LIST_SCHEMA), n_rows={"type": "integer"}
    )


def _group() -> Schema:
    from rmqalloc.audit import current_owners
    from rmqalloc.audit.findings import FINDINGS_SCHEMA
    from rmqalloc.audit.group_table import GROUP_LIST_SCHEMA
    from rmqalloc.rollouts.advice.replicas import REPLICAS_SCHEMA
    from rmqalloc.snapshot import Snapshot

    owners, count = current_owners(Snapshot()), {"type": "integer"}
    return _document(
        "One group of rmqalloc",
        group=_or_null(row_schema(GROUP_LIST_SCHEMA)),
        queues=_rows(owners.queues.schema),
        n_queue_rows=count,
        clients=_rows(owners.clients.schema),
        n_client_rows=count,
        findings=_rows(FINDINGS_SCHEMA),
        events={"type": "array", "items": {"type": "object"}},
        replicas=_or_null(row_schema(REPLICAS_SCHEMA)),
        unsettled_since=_or_null({"type": "number"}),
        read=_or_null({"type": "object"}),
    )


def _check() -> Schema:
    from rmqalloc.audit.findings import FINDINGS_SCHEMA

    made = _document(
        "Findings of rmqalloc",
        apiVersion={"type": "string"},
        kind={"const": "Findings"},
        counts={"type": "object", "additionalProperties": {"type": "integer"}},
        findings=_rows(FINDINGS_SCHEMA),
        not_known={"type": "array", "items": {"type": "object"}},
    )
    optional = ("unread", "evidence", "sources")
    made["properties"] |= {name: {"type": "array"} for name in optional}
    return made


def _explain() -> Schema:
    text: Schema = {"type": "string"}
    count: Schema = {"type": "integer"}
    names: dict[str, Schema] = {
        "consumer_group": text,
        "strategy": text,
        "owner": _or_null({"type": "string"}),
        "others": _TEXTS,
    }
    counts = {"n_queues": count, "n_clients": count, "queue_place": count}
    return _document(
        "Explanation of rmqalloc",
        **names,
        **counts,
        queue={"type": "object"},
        steps=_TEXTS,
        facts=_ANY,
    )


def _recommend() -> Schema:
    from rmqalloc.rollouts.advice import advice

    tables = {
        name: _rows(getattr(advice, f"{name.upper()}_SCHEMA")) for name in advice.Advice.TABLES
    }
    return _document("Advice of rmqalloc", **tables, warnings=_TEXTS)


def _guard() -> Schema:
    from rmqalloc.watching.guard import GUARD_SCHEMA

    text: Schema = {"type": "string"}
    said = {
        "target": text,
        "verdict": {"enum": ["yes", "no", "unknown"]},
        "reason": text,
        "clients": _TEXTS,
    }
    return _document(
        "Answer of the guard of rmqalloc",
        apiVersion=text,
        kind={"const": "GuardAnswer"},
        **said,
        groups=_rows(GUARD_SCHEMA),
    )


def _diff() -> Schema:
    import rmqalloc
    from rmqalloc.plans.diffs import Diff
    from rmqalloc.snapshot import Snapshot

    none = rmqalloc.diff(Snapshot(), Snapshot())
    tables = {name: _rows(getattr(none, name).schema) for name in Diff.TABLES}
    side = {"type": "object"}
    return _document(
        "Difference of rmqalloc",
        before=side,
        after=side,
        **tables,
        warnings=_TEXTS,
        doubtful=_TEXTS,
    )


def _plan() -> Schema:
    from rmqalloc.plans import plan_schema

    return plan_schema()


def _snapshot() -> Schema:
    from rmqalloc.snapshot.files import snapshot_schema

    return snapshot_schema()


def _scenarios() -> Schema:
    from rmqalloc.scenarios import scenarios_schema

    return scenarios_schema()


def _problem() -> Schema:
    text = {"type": "string"}
    return _document("Problem", type=text, title=text, status={"type": "integer"}, detail=text)


SCHEMAS_SERVED: Mapping[str, Callable[[], Schema]] = {
    "groups": _groups,
    "group": _group,
    "check": _check,
    "plan": _plan,
    "explain": _explain,
    "recommend": _recommend,
    "diff": _diff,
    "guard": _guard,
    "snapshot": _snapshot,
    "scenarios": _scenarios,
    "problem": _problem,
}
"""Functions that return the schema of each document, by its name."""
