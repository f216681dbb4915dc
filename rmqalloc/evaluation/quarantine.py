"""Bad rows set aside: what a table said, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.batch_planning import MAX_QUEUES_PER_BATCH, PlanSpec, plan_stream
from rmqalloc.fleet.arrow_columns import taken
from rmqalloc.fleet.columns import among

REASON = pa.schema([("scenario", pa.string()), ("err_code", pa.int32()), ("err_msg", pa.string())])
"""Columns behind those of the table."""


def quarantine_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of the bad rows of a table: its own, and `REASON`, which replaces columns of those names.

    Examples
    --------
    >>> quarantine_schema(pa.schema([("topic", pa.string()), ("err_msg", pa.int8())])).names
    ['topic', 'scenario', 'err_code', 'err_msg']
    """
    return pa.schema([*_own(schema), *REASON])


def plan_and_quarantine(
    batches: Iterable[pa.RecordBatch], spec: PlanSpec, max_queues: int = MAX_QUEUES_PER_BATCH
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Plan a stream of batches, and set their bad rows aside.

    Examples
    --------
    >>> unit = {"consumer_group": "g", "topic": "T", "brokers": [{"broker_name": "b", "read_queue_nums": 4}]}
    >>> batch = pa.RecordBatch.from_pylist([{**unit, "client_ids": ["c"]}, {**unit, "client_ids": []}])
    >>> [(planned, bad)] = plan_and_quarantine([batch], PlanSpec("AVG"))
    >>> [(row["client_ids"], row["err_msg"]) for row in bad.to_pylist()]
    [([], 'cidAll is null or cidAll empty')]
    """
    for batch in batches:
        first = 0
        for planned in plan_stream([batch], spec, max_queues):
            yield planned, _bad_rows(batch, planned, first, spec)
            first += planned.num_rows


def _bad_rows(batch: pa.RecordBatch, planned: pa.RecordBatch, first: int, spec: PlanSpec) -> pa.RecordBatch:
    """Return the bad rows of a batch, from a piece of its plan that begins with the plan's row ``first``."""
    at = np.flatnonzero(planned.column("err_code"))
    row, state = np.divmod(first + at, 1 if spec.output == "best" else len(spec.names))
    once = (state == 0) | ~among(row, row[state == 0])
    own = [taken(batch.column(field.name), row[once]) for field in _own(batch.schema)]
    why = [taken(planned.column(field.name), at[once]) for field in REASON]
    return pa.RecordBatch.from_arrays([*own, *why], schema=quarantine_schema(batch.schema))


def _own(schema: pa.Schema) -> list[pa.Field]:
    """Return the columns of a table that are not named like one of `REASON`."""
    return [field for field in schema if field.name not in REASON.names]
