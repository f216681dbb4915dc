"""Units × scenarios → owners, balance and movement; what crosses the door as Arrow, and what is bad about it.

``plan_batch``, ``parquet_plan``, ``quarantine``
    The doors: record batches and Parquet files in, figures out, bad rows set aside.
``limits``, ``rows``
    How large rows are before they are read; the good ones as fleets, the bad ones with their reasons.
``evaluate``
    The one evaluator. It stands on ``assigner`` (owners of queues, again and again), ``equivalence`` (units that must come to
    the same), ``balance`` and ``movement`` (the figures).
``figures_table``, ``expand``
    What was evaluated as rows: figures, and owners by name.
``totals``, ``worst``
    Sums of a run, and its worst units.
"""

# Imported by `numpy.unique` and `isin`, and by Arrow's tables, when these are first asked; a child forked while a thread
# is there waits for the import for ever.
import numpy.ma  # noqa: F401
import pyarrow.acero  # noqa: F401

from rmqalloc.evaluation.batch_planning import PLAN_SCHEMA, ErrCode, PlanSpec, plan_batch, plan_stream
from rmqalloc.evaluation.expand import client_load, expand_owners, sum_loads
from rmqalloc.evaluation.parquet_plan import plan_files

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
