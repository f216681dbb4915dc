"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pyarrow as pa

from rmqalloc.documents import DocumentError, parse, read_source
from rmqalloc.documents._fields import Number, Text
from rmqalloc.documents._records import (
    ANY_TEXT,
    SIGNED,
    Anything,
    ListOf,
    MappingOf,
    Maybe,
    document_schema,
    record,
)
from rmqalloc.plans._plan import (
    API_VERSION,
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    KIND,
    QUEUES_SCHEMA,
    READABLE_VERSIONS,
    UNITS_SCHEMA,
    Plan,
    StoredTables,
    canonical,
    plain_text,
)
from rmqalloc.plans._plan_writing import PACKED, PlanError, write_plan
from rmqalloc.scenarios import scenarios_of, scenarios_schema

_SCHEMAS = {"units": UNITS_SCHEMA, "groups": GROUPS_SCHEMA, "clients": CLIENTS_SCHEMA, "queues": QUEUES_SCHEMA}
_NEW_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "units": {"double_owned": 0},
    "groups": {"double_owned": 0},
    "queues": {"others_before": None, "others_after": None},
}
"""Columns that files of v1 may lack, and what stands in for them: before there were these, a queue had one owner or none."""

_BEHIND = ("inputs", "undo", "tables", "signature")
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
        It is no plan of this version, or its hash is not that of its content.
    """
    try:
        source = read_source(path, PlanError, packed=str(path).endswith(PACKED))
        return _plan_of(parse(source, "json").data)
    except DocumentError as error:
        said = str(error).removeprefix(str(path)).lstrip(": ")
        raise PlanError(f"{path} is not a plan: {said}") from None


@dataclass(frozen=True)
class _PlanFile:
    """The fields of a plan's file."""

    apiVersion: Annotated[str, Text(READABLE_VERSIONS)]
    kind: Annotated[str, Text((KIND,))]
    toolVersion: str
    inputDigest: str
    scenarios: Any
    warnings: Annotated[tuple[str, ...], ListOf(ANY_TEXT)]
    tables: Annotated[Mapping[str, Any], MappingOf(MappingOf(Anything()))]
    digest: str
    snapshotTime: str | None = None
    gates: Annotated[Mapping[str, Any], MappingOf(Anything())] = field(default_factory=dict)
    inputs: Annotated[Mapping[str, Any], MappingOf(Anything())] = field(default_factory=dict)
    undo: Annotated[Mapping[str, Any], MappingOf(Anything())] = field(default_factory=dict)
    signature: str | None = None


def plan_schema() -> dict[str, Any]:
    """JSON Schema of a saved plan: a table is a mapping of columns, a column of text its words and the rows' positions in them.

    Examples
    --------
    >>> plan_schema()["properties"]["kind"]
    {'enum': ['Plan']}
    """
    body = record(_PlanFile).schema()
    columns = {name: {one.name: _column_schema(one.type) for one in schema} for name, schema in _SCHEMAS.items()}
    tables = {name: _of_fields(properties) for name, properties in columns.items()}
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


def _plan_of(data: Any) -> Plan:
    file: _PlanFile = record(_PlanFile).read(data)
    is_v1 = file.apiVersion != API_VERSION
    if not is_v1 and not file.inputs:
        raise PlanError(f"a plan of {API_VERSION} must have inputs")
    stored = dict(file.tables)
    if is_v1:
        stored |= {name: _of_v2(stored.get(name), columns) for name, columns in _NEW_COLUMNS.items()}
    units, groups, clients, queues = (_table(stored.get(name), name, schema) for name, schema in _SCHEMAS.items())
    scenarios = scenarios_of(file.scenarios) if file.scenarios != [] else ()
    if hashlib.sha256("".join(_content(data)).encode()).hexdigest() != file.digest:
        raise PlanError("its digest is not that of its content, so it was changed after it was written; make it anew")
    tables = StoredTables(groups, clients, queues, file.inputDigest, file.inputs or None)
    return Plan(units, scenarios, file.warnings, file.toolVersion, tables, file.snapshotTime, file.gates)


def _content(data: Mapping[str, Any]) -> Iterator[str]:
    """The text that the digest is of: with all values as they are, in the order in which `Plan.text` writes them."""
    head = data.keys() - {*_BEHIND, *_AROUND}
    yield canonical({name: data[name] for name in head})[:-1]
    for name in (one for one in _BEHIND if one in data):
        yield f',"{name}":{plain_text(data[name]) if name != "tables" else plain_text(_in_order(data[name]))}'


def _in_order(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables and columns in their order, unknown ones last, so that a key more is another content."""
    found: dict[str, Any] = {}
    for name in sorted(tables, key=[*_SCHEMAS, *tables].index):
        known = _SCHEMAS[name].names if name in _SCHEMAS else []
        columns = ((key, tables[name][key]) for key in sorted(tables[name], key=[*known, *tables[name]].index))
        found[name] = {key: dict(sorted(one.items())) if isinstance(one, Mapping) else one for key, one in columns}
    return found


def _of_v2(columns: Any, new: Mapping[str, Any]) -> Any:
    """Columns of a table of v1 with those that v2 has besides, where they are not there."""
    if not isinstance(columns, Mapping) or not isinstance(
        others := columns.get("moved", columns.get("queue_id")), list
    ):
        return columns
    return {**{name: [value] * len(others) for name, value in new.items()}, **columns}


def _table(columns: Any, name: str, schema: pa.Schema) -> pa.Table:
    """The table that `columns_of` wrote."""
    if not isinstance(columns, Mapping):
        raise PlanError(f"tables.{name} must be a mapping of columns")
    made = [_column(columns.get(field.name), f"tables.{name}.{field.name}", field.type) for field in schema]
    if len({len(column) for column in made}) > 1:
        raise PlanError(f"the columns of tables.{name} must have as many rows each")
    return pa.table(made, schema=schema)


def _column(data: Any, place: str, kind: pa.DataType) -> pa.Array:
    is_text = pa.types.is_string(kind)
    coded = data if isinstance(data, Mapping) else {}
    words, rows = (coded.get("words"), coded.get("rows")) if is_text else ([], data)
    if not isinstance(words, list) or not isinstance(rows, list):
        raise PlanError(f"{place} must be {'a mapping of words and rows' if is_text else 'a list'}")
    try:
        if not is_text:
            return pa.array(rows, kind)
        return pa.DictionaryArray.from_arrays(
            pa.array(rows, pa.int32()), pa.array(words, pa.string())
        ).dictionary_decode()
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise PlanError(f"{place} cannot be read as {kind}: {error}") from None
