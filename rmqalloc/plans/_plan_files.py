"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
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
from rmqalloc.evaluation._plan_batch import PLAN_SCHEMA
from rmqalloc.plans._plan import (
    API_VERSION,
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    KIND,
    QUEUES_SCHEMA,
    Plan,
    StoredTables,
)
from rmqalloc.plans._plan_writing import PACKED, PlanError, write_plan
from rmqalloc.scenarios import scenarios_of, scenarios_schema

_SCHEMAS = {"units": PLAN_SCHEMA, "groups": GROUPS_SCHEMA, "clients": CLIENTS_SCHEMA, "queues": QUEUES_SCHEMA}


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

    apiVersion: Annotated[str, Text((API_VERSION,))]
    kind: Annotated[str, Text((KIND,))]
    toolVersion: str
    inputDigest: str
    scenarios: Any
    warnings: Annotated[tuple[str, ...], ListOf(ANY_TEXT)]
    tables: Annotated[Mapping[str, Any], MappingOf(MappingOf(Anything()))]
    digest: str
    snapshotTime: str | None = None


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
    return ListOf(Maybe(Number())).schema() if pa.types.is_floating(kind) else rows


def _plan_of(data: Any) -> Plan:
    file: _PlanFile = record(_PlanFile).read(data)
    units, groups, clients, queues = (_table(file.tables.get(name), name, schema) for name, schema in _SCHEMAS.items())
    scenarios = scenarios_of(file.scenarios) if file.scenarios != [] else ()
    tables = StoredTables(groups, clients, queues, file.inputDigest)
    plan = Plan(units, scenarios, file.warnings, file.toolVersion, tables, file.snapshotTime)
    if plan.digest != file.digest:
        raise PlanError("its digest is not that of its content, so it was changed after it was written; make it anew")
    return plan


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
