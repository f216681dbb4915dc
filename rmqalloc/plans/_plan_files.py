"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import DocumentError, parse, read_source
from rmqalloc.documents.fields import Number, Text
from rmqalloc.documents.records import (
    ANY_TEXT,
    SIGNED,
    Anything,
    ListOf,
    MappingOf,
    Maybe,
    document_schema,
    record,
)
from rmqalloc.plans._plan import API_VERSION, KIND, Plan, StoredDetails
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans._stored_tables import SCHEMAS, read_tables
from rmqalloc.plans.plan_writing import PACKED, PlanError, canonical, plain_text, write_plan
from rmqalloc.scenarios import scenarios_of, scenarios_schema
from rmqalloc.snapshot.plain_data import from_document

EARLIER_VERSIONS = ("rmqalloc/v2", "rmqalloc/v1")
"""Versions of plans that are not read any more."""

_BEHIND = ("inputs", "undo", "tables")
_AROUND = ("digest", "$schema")
"""Fields that are no part of what the digest is of."""

save_plan = write_plan


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan that `save_plan` wrote.

    Raises
    ------
    OSError
        The file cannot be read.
    PlanError
        The file is not a plan of this version, or its hash does not match its content.
    """
    file = read_plan_file(path)
    if not file.is_unchanged:
        raise PlanError(
            f"{path} is not a plan: its digest does not match its content, so the file was changed after it was written; "
            "plan again"
        )
    return file.plan


@dataclass(frozen=True)
class PlanFile:
    """A plan's file, read.

    Attributes
    ----------
    plan : Plan
    data : dict
        What stands in the file.
    is_unchanged : bool
        Whether its digest is that of its content.
    """

    plan: Plan
    data: Mapping[str, Any]
    is_unchanged: bool


def read_plan_file(path: str | os.PathLike[str]) -> PlanFile:
    """Read the file of a plan, whatever its digest."""
    try:
        source = read_source(path, PlanError, packed=str(path).endswith(PACKED))
        data = parse(source, "json").data
        version = _earlier_version(data)
        if version is None:
            return _read(data)
    except DocumentError as error:
        said = str(error).removeprefix(str(path)).lstrip(": ")
        raise PlanError(f"{path} is not a plan: {said}") from None
    raise PlanError(
        f"{path} is a plan of version {version}, and this release reads {API_VERSION}; plan again with `rmqalloc plan --out`"
    )


def _earlier_version(data: Any) -> str | None:
    """Return the version of a plan that an earlier version saved."""
    if not isinstance(data, Mapping) or data.get("kind") != KIND:
        return None
    version = data.get("apiVersion")
    return version if version in EARLIER_VERSIONS else None


@dataclass(frozen=True)
class _Fields:
    """The fields of a plan's file."""

    apiVersion: Annotated[str, Text((API_VERSION,))]
    kind: Annotated[str, Text((KIND,))]
    toolVersion: str
    semanticsVersion: int
    inputDigest: str
    scenarios: Any
    warnings: Annotated[tuple[str, ...], ListOf(ANY_TEXT)]
    inputs: Annotated[Mapping[str, Any], MappingOf(Anything())]
    tables: Annotated[Mapping[str, Any], MappingOf(MappingOf(Anything()))]
    digest: str
    snapshotTime: str | None = None
    gates: Annotated[Mapping[str, Any], MappingOf(Anything())] = field(default_factory=dict)
    undo: Annotated[Mapping[str, Any], MappingOf(ListOf(MappingOf(Anything())))] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class _Inputs:
    """What a plan follows from."""

    groups: Annotated[tuple[str, ...], ListOf(ANY_TEXT)]
    topics: Annotated[tuple[str, ...], ListOf(ANY_TEXT)]
    withRetry: bool
    snapshot: Any
    allowPartial: bool = False


def plan_schema() -> dict[str, Any]:
    """Return JSON Schema of a saved plan: a table is a mapping of columns, a column of text its
    words and the rows' positions in them.

    Examples
    --------
    >>> plan_schema()["properties"]["kind"]
    {'enum': ['Plan']}
    """
    body = record(_Fields).schema()
    tables = {}
    for name, schema in SCHEMAS.items():
        tables[name] = _of_fields({field.name: _column_schema(field.type) for field in schema})
    scenarios = {**scenarios_schema()["properties"]["scenarios"], "minItems": 0}
    body["properties"] |= {"scenarios": scenarios, "tables": _of_fields(tables)}
    return document_schema("Plan of rmqalloc", body)


def _of_fields(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _column_schema(kind: pa.DataType) -> dict[str, Any]:
    rows = ListOf(Maybe(SIGNED)).schema()
    if pa.types.is_string(kind):
        return _of_fields({"words": {"type": "array", "items": {"type": "string"}}, "rows": rows})
    if pa.types.is_list(kind):
        return ListOf(Maybe(ListOf(ANY_TEXT))).schema()
    return ListOf(Maybe(Number())).schema() if pa.types.is_floating(kind) else rows


def _read(data: Any) -> PlanFile:
    file: _Fields = record(_Fields).read(data)
    scenarios = scenarios_of(file.scenarios) if file.scenarios != [] else ()
    tables = read_tables(file.tables, [scenario.name for scenario in scenarios])
    details = StoredDetails(
        tables["groups"],
        tables["clients"],
        tables["queues"],
        input_digest=file.inputDigest,
        inputs=_inputs(file),
        undo=file.undo,
    )
    plan = Plan(
        tables["units"],
        scenarios,
        warnings=file.warnings,
        tool_version=file.toolVersion,
        details=details,
        snapshot_time=file.snapshotTime,
        gates=file.gates,
        semantics=file.semanticsVersion,
    )
    digest = hashlib.sha256("".join(_content(data)).encode()).hexdigest()
    return PlanFile(plan, data, digest == file.digest)


def _inputs(file: _Fields) -> PlanInputs:
    """Return the inputs of a plan, by the reader of snapshots."""
    try:
        given: _Inputs = record(_Inputs).read(file.inputs)
        snapshot = from_document(given.snapshot)
    except DocumentError as error:
        raise PlanError(f"inputs: {error}") from None
    return PlanInputs(snapshot, given.groups, given.topics, given.withRetry, given.allowPartial)


def _content(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text that the digest is of: with all values as they are, in the order in which
    `Plan.text` writes them.
    """
    head = data.keys() - {*_BEHIND, *_AROUND}
    yield canonical({name: data[name] for name in head})[:-1]
    for name in _BEHIND:
        if name in data:
            part = _in_order(data[name]) if name == "tables" else data[name]
            yield f',"{name}":{plain_text(part)}'


def _in_order(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables and columns in their order, unknown ones last, so that a key more is another
    content.
    """
    found: dict[str, Any] = {}
    for name in sorted(tables, key=[*SCHEMAS, *tables].index):
        known = SCHEMAS[name].names if name in SCHEMAS else []
        columns = tables[name]
        found[name] = {}
        for key in sorted(columns, key=[*known, *columns].index):
            column = columns[key]
            is_mapping = isinstance(column, Mapping)
            found[name][key] = dict(sorted(column.items())) if is_mapping else column
    return found
