"""What a rollout comes to: its tables, and what stands in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_FIGURES = [
    ("n_clients", pa.int64()),
    ("n_queues", pa.int64()),
    ("moved", pa.int64()),
    ("clients_touched", pa.int64()),
    ("unowned", pa.int64()),
    ("unowned_written", pa.int64()),
    ("unowned_dry", pa.int64()),
    ("unowned_is_exact", pa.bool_()),
    ("double_owned", pa.int64()),
    ("double_owned_is_exact", pa.bool_()),
    ("min_load", pa.int64()),
    ("max_load", pa.int64()),
    ("idle", pa.int64()),
    ("only_dry", pa.int64()),
]
_STEP = [("step", pa.int64()), ("action", pa.string())]

STEPS_SCHEMA = pa.schema([("consumer_group", pa.string()), *_STEP, *_FIGURES])
"""Columns of `Rollout.steps`."""

TOPICS_SCHEMA = pa.schema([("consumer_group", pa.string()), ("topic", pa.string()), *_STEP, *_FIGURES])
"""Columns of `Rollout.topics`."""

TOTALS_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("batch", pa.int64()),
        ("n_steps", pa.int64()),
        ("n_topics", pa.int64()),
        ("n_queues", pa.int64()),
        ("n_clients", pa.int64()),
        ("moved", pa.int64()),
        ("moved_per_queue", pa.float64()),
        ("clients_touched", pa.int64()),
        ("max_unowned", pa.int64()),
        ("max_unowned_written", pa.int64()),
        ("max_unowned_dry", pa.int64()),
        ("max_unowned_is_exact", pa.bool_()),
        ("max_double_owned", pa.int64()),
        ("max_double_owned_is_exact", pa.bool_()),
        ("min_load", pa.int64()),
        ("max_load", pa.int64()),
    ]
)
"""Columns of `Rollout.totals`."""

EXPOSED_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        *_STEP,
        ("topic", pa.string()),
        ("broker_name", pa.string()),
        ("queue_id", pa.int32()),
        ("exposure", pa.string()),
        ("client_ids", pa.list_(pa.string())),
    ]
)
"""Columns of `Rollout.exposed`."""


SKIPPED_SCHEMA = pa.schema([("consumer_group", pa.string()), ("reason", pa.string())])
"""Columns of `Rollout.skipped`."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """The steps of a rollout and what each costs.

    Attributes
    ----------
    steps : pyarrow.Table
        One row per group and step, over all its topics: `STEPS_SCHEMA`. Step 0 is the state before.

        ``moved``: queues whose readers are others when the step is over than they were before it; a queue that passes from
        one client to nobody, or back, has moved. ``clients_touched``: clients that gain or lose a queue by the step.
        ``unowned``, ``double_owned``: the most queues that nobody, or two clients, read at one moment while the step lasts.
        Clients hear of it one by one, in any order; so of all sets of clients that may have heard, those that leave most queues
        open count, and each figure is the worst for itself: a queue that passes from one client to another has nobody, or
        both, as the one or the other hears first. ``unowned_written``, ``unowned_dry``: likewise, of the queues that producers
        write to and of those that they do not. Where ``unowned_is_exact`` or ``double_owned_is_exact`` is False, these figures
        are upper bounds: no moment is worse; see `rmqalloc.rollouts.informed`. Loads are those when the step is over;
        ``idle`` clients have no queue, ``only_dry`` clients none that is written to.
    topics : pyarrow.Table
        The same for every topic: `TOPICS_SCHEMA`. Empty unless it was asked for.
    totals : pyarrow.Table
        One row per group: `TOTALS_SCHEMA`; sums of ``moved`` and ``clients_touched`` over all steps, the worst of the others.
        ``moved_per_queue`` is ``moved`` over the queues before.
    exposed : pyarrow.Table
        One row per queue that nobody or two clients read at one moment of a step: `EXPOSED_SCHEMA`. It is not the worst moment
        but a plain one: the step has begun and no other client has heard of it; where routes change, a share of the clients has
        them; where clients go in batches, all of the batch have gone. ``exposure`` is "unowned", "unowned_dry" or
        "double_owned"; ``client_ids`` are those that read it. Empty unless it was asked for.
    skipped : pyarrow.Table
        One row per group to which the rollout does not apply, with the reason: `SKIPPED_SCHEMA`. No other table has it.
    refusals : tuple of str
        Why this must not be done now; empty if nothing stands in the way.
    warnings : tuple of str
        What is left out, and why.
    """

    steps: pa.Table
    topics: pa.Table
    totals: pa.Table
    exposed: pa.Table
    skipped: pa.Table
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The steps, for pandas, polars, DuckDB and others that read Arrow."""
        return self.steps.__arrow_c_stream__(requested_schema)
