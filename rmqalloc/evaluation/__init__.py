"""Units × scenarios → owners, balance and movement, from Arrow data to Arrow data; and the errors of
its rows.

``plan_batch``, ``parquet_plan``
    The entry points: record batches and Parquet files in, figures out.
``unit_files``
    The files of a directory that hold units, and their rows; Spark uses it too.
``batch_sizes``, ``row_check``
    Sizes of rows before they are read; good rows as fleets, bad rows with their reasons.
``evaluate``
    The one evaluator. It uses ``assigner`` (owners of queues, repeatedly), ``equivalence`` (units
    with equal results), ``balance`` and ``movement`` (the figures).
``figures_table``, ``expand``
    Results as rows: figures, and owners by name.
``totals``, ``worst``
    Sums of a run, and its worst units.
"""

from typing import TYPE_CHECKING

import numpy.ma  # noqa: F401 (before threads: the first `pyarrow.array` of an ndarray imports it, and a forked child waits)

from rmqalloc.evaluation.batch_planning import (
    PLAN_SCHEMA,
    ErrCode,
    PlanSpec,
    plan_batch,
    plan_stream,
)
from rmqalloc.lazy import import_ahead, imported_on_use

if TYPE_CHECKING:
    from rmqalloc.evaluation.expand import client_load, expand_owners, sum_loads
    from rmqalloc.evaluation.parquet_plan import plan_files

import_ahead("rmqalloc.documents", "rmqalloc.scenarios.scenario_files")

__all__ = [
    "PLAN_SCHEMA",
    "ErrCode",
    "PlanSpec",
    "client_load",
    "expand_owners",
    "plan_batch",
    "plan_files",
    "plan_stream",
    "sum_loads",
]

_NAMES = {"expand": ("client_load", "expand_owners", "sum_loads"), "parquet_plan": ("plan_files",)}
__getattr__ = imported_on_use(__name__, _NAMES)
