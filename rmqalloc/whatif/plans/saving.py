"""Plans in files, which say whether they are as they were written."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from rmqalloc.documents import json_text
from rmqalloc.store import replaced_file
from rmqalloc.whatif.plan import PLAN_SCHEMA
from rmqalloc.whatif.plans.model import (
    API_VERSION,
    CLIENTS_SCHEMA,
    GROUPS_SCHEMA,
    KIND,
    QUEUES_SCHEMA,
    Made,
    Plan,
)
from rmqalloc.whatif.scenarios import scenarios_of

_SCHEMAS = {"units": PLAN_SCHEMA, "groups": GROUPS_SCHEMA, "clients": CLIENTS_SCHEMA, "queues": QUEUES_SCHEMA}
_FIELDS = ("apiVersion", "kind", "toolVersion", "inputDigest", "scenarios", "warnings", "tables", "digest")
_GZIP = ".gz"
_EFFORT = 4  # of 9: an eighth larger than with all, in a quarter of the time


class PlanError(ValueError):
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
    """
    hashed = hashlib.sha256()
    with replaced_file(path) as plain, _packed(plain, path) as file:
        for piece in map(str.encode, plan.text()):
            hashed.update(piece)
            file.write(piece)
        file.write(f',"digest":"{hashed.hexdigest()}"}}\n'.encode())
    return hashed.hexdigest()


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
        data = Path(path).read_bytes()
        data = gzip.decompress(data) if str(path).endswith(_GZIP) else data
        document = json_text.loads(data.decode())
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise PlanError(f"{path} is not a plan: {error}") from None
    try:
        return _plan_of(document)
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise PlanError(f"{path} is not a plan: {error}") from None


def _plan_of(document: Any) -> Plan:
    if not isinstance(document, Mapping) or sorted(document) != sorted(_FIELDS):
        raise PlanError(f"it must be an object of {', '.join(_FIELDS)}")
    if (document["apiVersion"], document["kind"]) != (API_VERSION, KIND):
        raise PlanError(f"it must be of kind {KIND} and apiVersion {API_VERSION}")
    words = [document["toolVersion"], document["inputDigest"], *document["warnings"]]
    if not all(isinstance(word, str) for word in words):
        raise PlanError("toolVersion, inputDigest and warnings must be text")
    tables = {name: _table(document["tables"][name], schema) for name, schema in _SCHEMAS.items()}
    scenarios = scenarios_of(document["scenarios"]) if document["scenarios"] else ()
    plan = Plan(
        tables["units"], tables["groups"], scenarios, tuple(document["warnings"]), document["inputDigest"],
        document["toolVersion"], Made(tables["clients"], tables["queues"]),
    )  # fmt: skip
    if plan.digest != document["digest"]:
        raise PlanError("its digest is not that of its content, so it was changed after it was written; make it anew")
    return plan


def _table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """The table that `rmqalloc.whatif.plans.model.columns_of` wrote."""
    return pa.table([_column(columns[field.name], field.type) for field in schema], schema=schema)


def _column(data: Any, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_string(kind):
        return pa.array(data, kind)
    words = pa.array(data["words"], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(data["rows"], pa.int32()), words).dictionary_decode()
