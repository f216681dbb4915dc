"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rmqalloc.documents import DocumentError, json_text, read_source
from rmqalloc.evaluation.plan_batch import PLAN_SCHEMA
from rmqalloc.plans.plan import (
    API_VERSION,
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    KIND,
    QUEUES_SCHEMA,
    TIME,
    Plan,
    StoredTables,
)
from rmqalloc.plans.plan_writing import PACKED, PlanError, write_plan
from rmqalloc.scenarios import scenarios_of

_SCHEMAS = {"units": PLAN_SCHEMA, "groups": GROUPS_SCHEMA, "clients": CLIENTS_SCHEMA, "queues": QUEUES_SCHEMA}
_FIELDS = ("apiVersion", "kind", "toolVersion", "inputDigest", "scenarios", "warnings", "tables", "digest")


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
        return _plan_of(json_text.loads(source.text()))
    except DocumentError as error:
        said = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
        raise PlanError(f"{path} is not a plan: {said}") from None


def _plan_of(document: Any) -> Plan:
    if not isinstance(document, Mapping) or sorted(document.keys() - {TIME}) != sorted(_FIELDS):
        raise PlanError(f"it must be an object of {', '.join(_FIELDS)}")
    if (document["apiVersion"], document["kind"]) != (API_VERSION, KIND):
        raise PlanError(f"it must be of kind {KIND} and apiVersion {API_VERSION}")
    warnings, tables = document["warnings"], document["tables"]
    if not isinstance(warnings, list) or not isinstance(tables, Mapping):
        raise PlanError("warnings must be a list, and tables an object")
    said = [document["toolVersion"], document["inputDigest"], document.get(TIME, ""), *warnings]
    if not all(isinstance(word, str) for word in said):
        raise PlanError(f"toolVersion, inputDigest, {TIME} and warnings must be text")
    units, groups, clients, queues = (_table(tables.get(name), name, schema) for name, schema in _SCHEMAS.items())
    scenarios = scenarios_of(document["scenarios"]) if document["scenarios"] != [] else ()
    made = StoredTables(groups, clients, queues, said[1])
    plan = Plan(units, scenarios, tuple(warnings), said[0], made, document.get(TIME))
    if plan.digest != document["digest"]:
        raise PlanError("its digest is not that of its content, so it was changed after it was written; make it anew")
    return plan


def _table(columns: Any, name: str, schema: pa.Schema) -> pa.Table:
    """The table that `rmqalloc.plans.plan.columns_of` wrote."""
    if not isinstance(columns, Mapping):
        raise PlanError(f"tables.{name} must be an object of columns")
    made = [_column(columns.get(field.name), f"tables.{name}.{field.name}", field.type) for field in schema]
    if len({len(column) for column in made}) > 1:
        raise PlanError(f"the columns of tables.{name} must have as many rows each")
    return pa.table(made, schema=schema)


def _column(data: Any, place: str, kind: pa.DataType) -> pa.Array:
    is_text = pa.types.is_string(kind)
    coded = data if isinstance(data, Mapping) else {}
    words, rows = (coded.get("words"), coded.get("rows")) if is_text else ([], data)
    if not isinstance(words, list) or not isinstance(rows, list):
        raise PlanError(f"{place} must be {'an object of words and rows' if is_text else 'a list'}")
    try:
        if not is_text:
            return pa.array(rows, kind)
        return pa.DictionaryArray.from_arrays(
            pa.array(rows, pa.int32()), pa.array(words, pa.string())
        ).dictionary_decode()
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise PlanError(f"{place} cannot be read as {kind}: {error}") from None
