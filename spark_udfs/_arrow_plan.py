"""Plans from an Arrow array of structs, one per consumer group and topic: what
`spark_udfs.functions.plan` runs in workers.

Imports no pyspark. A bad row never raises, its reason is in the structs of its plan. What is wrong
with the struct's fields does raise; for SQL so does what is wrong with a strategy or the scenarios.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec, figures_schema, plan_stream
from rmqalloc.evaluation.unit_files import read_columns
from rmqalloc.fleet.arrow_columns import check_type, is_text, taken, utf8
from rmqalloc.scenarios.scenario_files import scenarios_of_text
from spark_udfs._arrow_owners import typed
from spark_udfs.map_in_arrow import ddl

KEYS = ("consumer_group", "topic")
"""Columns of a plan that its row has anyway."""

SQL_OUTPUTS = ("metrics", "best")
"""Outputs that have the same type."""


def plans_ddl(output: str) -> str:
    """Return the type of `plan_array` as Spark's DDL text.

    Examples
    --------
    >>> plans_ddl("best")[:44]
    'array<struct<scenario string, strategy strin'
    """
    return f"array<struct<{ddl(_fields(output))}>>"


def plan_array(unit: pa.StructArray, spec: PlanSpec) -> pa.ListArray:
    """Return the plan of every row.

    Examples
    --------
    >>> unit = {"consumer_group": "g", "topic": "T", "queues": [{"broker_name": "b", "queue_id": 0}], "client_ids": ["c"]}
    >>> [[row]] = plan_array(pa.array([unit]), PlanSpec("AVG")).to_pylist()
    >>> row["scenario"], row["max_load"]
    ('current', 1)
    """
    if not pa.types.is_struct(unit.type):
        raise ArgumentTypeError(
            f"unit must be a struct with the columns of a table, got {unit.type}"
        )
    names = [field.name for field in unit.type]
    read = read_columns(names)
    arrays = dict(zip(names, unit.flatten(), strict=True))
    batch = pa.RecordBatch.from_arrays([arrays[name] for name in read], names=read)
    fields = _fields(spec.output)
    plans = [
        pa.StructArray.from_arrays(one.select(fields.names).columns, fields=list(fields))
        for one in plan_stream([batch], spec)
    ]
    each = 1 if spec.output == "best" else len(spec.names)
    offsets = pa.array(np.arange(len(unit) + 1, dtype=np.int32) * each)
    try:
        return pa.ListArray.from_arrays(offsets, pa.concat_arrays(plans))
    except pa.ArrowInvalid as error:
        raise ArgumentError(
            f"the plans of the {len(unit):,} rows of a batch do not fit in one column ({error}): lower "
            "spark.sql.execution.arrow.maxRecordsPerBatch, or use the transform plan, which splits batches"
        ) from None


def plan_rows(
    unit: pa.Array, scenarios: pa.Array, strategy: pa.Array = None, output: pa.Array = None
) -> pa.Array:
    """Plan as `plan_array` with arguments that SQL can name.

    What is wrong with scenarios, strategy or output is raised, as in
    `spark_udfs._arrow_owners.owners`. A null strategy or output is the default; a row without
    scenarios is null.
    """
    texts = {"scenarios": scenarios, "strategy": strategy, "output": output}
    given = {
        name: utf8(typed(text, pa.string())) for name, text in texts.items() if text is not None
    }
    for name, array in given.items():
        check_type(name, array.type, is_text(array.type), "strings")
    table = pa.table({**given, "row": pa.array(np.arange(len(unit)))})
    parts, rows = [], []
    for group in table.group_by(list(given)).aggregate([("row", "list")]).to_pylist():
        at = np.array(group.pop("row_list"), np.int64)
        rows.append(pa.array(at))
        said = {name: text for name, text in group.items() if text is not None}
        parts.append(
            plan_array(taken(unit, at), _spec(**said))
            if "scenarios" in said
            else pa.nulls(at.size, _TYPE)
        )
    if not parts:
        return pa.nulls(0, _TYPE)
    return (
        parts[0]
        if len(parts) == 1
        else pa.concat_arrays(parts).take(pc.sort_indices(pa.concat_arrays(rows)))
    )


@lru_cache(maxsize=64)
def _spec(scenarios: str, strategy: str = "AVG", output: str = "metrics") -> PlanSpec:
    """Return the spec that texts of SQL describe."""
    if output not in SQL_OUTPUTS:
        raise ArgumentError(
            f"output must be one of {', '.join(SQL_OUTPUTS)}, got {output!r}; for owners use allocate"
        )
    return PlanSpec(strategy, scenarios=scenarios_of_text(scenarios), output=output)


def _fields(output: str) -> pa.Schema:
    """Return the fields of a struct."""
    return pa.schema([field for field in figures_schema(output) if field.name not in KEYS])


_TYPE = pa.list_(pa.struct(list(_fields("metrics"))))
