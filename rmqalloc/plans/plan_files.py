"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO

import pyarrow as pa

from rmqalloc.documents import DocumentError, json_text, parse, read_budget, read_source
from rmqalloc.documents.fields import Number, Text
from rmqalloc.documents.records import ANY_TEXT, SIGNED, Anything, ListOf, MappingOf, Maybe, document_schema, record
from rmqalloc.evaluation.plan_batch import PLAN_SCHEMA
from rmqalloc.plans.plan import (
    API_VERSION,
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    KIND,
    QUEUES_SCHEMA,
    Made,
    Plan,
)
from rmqalloc.scenarios import scenarios_of, scenarios_schema
from rmqalloc.store import replaced_file

_SCHEMAS = {"units": PLAN_SCHEMA, "groups": GROUPS_SCHEMA, "clients": CLIENTS_SCHEMA, "queues": QUEUES_SCHEMA}
_GZIP = ".gz"
_EFFORT = 4  # of 9: an eighth larger than with all, in a quarter of the time


class PlanError(DocumentError):
    """A file is not a plan, or was changed after it was written."""


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> str:
    """Write a plan as JSON, packed if the name ends in ``.gz``, whole or not at all; plans of the same have the same bytes.

    Returns
    -------
    str
        The plan's hash.

    Raises
    ------
    OSError
        The file cannot be written; an earlier one stays as it was.
    PlanError
        It would be larger than `load_plan` reads; an earlier one stays as it was, too.
    """
    hashed = hashlib.sha256()
    n_bytes = made = 0
    with replaced_file(path) as plain, _packed(plain, path) as file:
        for text in plan.text():
            piece = text.encode()
            hashed.update(piece)
            file.write(piece)
            n_bytes, made = n_bytes + len(piece), made + read_budget.made_of_json(text)
        end = f',"digest":"{hashed.hexdigest()}"}}\n'
        file.write(end.encode())
        _check_readable(n_bytes + len(end), made + read_budget.made_of_json(end), path)
    return hashed.hexdigest()


def _check_readable(n_bytes: int, made: int, path: str | os.PathLike[str]) -> None:
    """Raise unless a plan of that many bytes, unpacked, whose data take that much memory, is read."""
    if n_bytes > read_budget.MAX_BYTES:
        raise PlanError(
            f"{path} would have more than {read_budget.MAX_BYTES >> 20} MiB unpacked; plan fewer groups at once"
        )
    try:
        json_text.check_made(made)
    except DocumentError as error:
        raise PlanError(f"{path} {error.what}") from None


def _packed(file: BinaryIO, path: str | os.PathLike[str]) -> AbstractContextManager[Any]:
    """The file itself, or what packs into it."""
    return gzip.GzipFile("", "wb", _EFFORT, file, 0) if str(path).endswith(_GZIP) else nullcontext(file)


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
        source = read_source(path, PlanError, packed=str(path).endswith(_GZIP))
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
    tables = Made(clients, queues)
    plan = Plan(units, groups, scenarios, file.warnings, file.inputDigest, file.toolVersion, tables, file.snapshotTime)
    if plan.digest != file.digest:
        raise PlanError("its digest is not that of its content, so it was changed after it was written; make it anew")
    return plan


def _table(columns: Any, name: str, schema: pa.Schema) -> pa.Table:
    """The table that `rmqalloc.plans.plan.columns_of` wrote."""
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
