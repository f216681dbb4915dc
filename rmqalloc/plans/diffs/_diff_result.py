"""What a difference is: its tables, and what was compared."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.plans.diffs._changes_between import CHANGES_SCHEMA
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import columns
from rmqalloc.text import counted

__all__ = [
    "CAUSES_SCHEMA",
    "CHANGES_SCHEMA",
    "CLIENTS_SCHEMA",
    "GROUPS_SCHEMA",
    "PLANNED_SCHEMA",
    "QUEUES_SCHEMA",
    "ComparedState",
    "Diff",
]

GROUPS_SCHEMA = columns(
    "consumer_group status: string",
    "clients_before clients_after joined left queues_before queues_after moved new gone: int64",
    "unowned_before unowned_after double_owned_before double_owned_after repaired replayed: int64",
    "not_explained lag_before lag_after produced consumed: int64",
    "not_compared: string",
)
"""Columns of `Diff.groups`."""

QUEUES_SCHEMA = columns(
    "consumer_group topic broker_name: string",
    "queue_id: int32",
    "owner_before: string",
    "others_before: [string]",
    "owner_after: string",
    "others_after: [string]",
    "change: string",
    "causes: [string]",
    "planned: string",
    "lag_before lag_after: int64",
)
"""Columns of `Diff.queues`."""

CLIENTS_SCHEMA = columns(
    "consumer_group client_id status: string",
    "before after gained lost: int64",
)
"""Columns of `Diff.clients`."""

CAUSES_SCHEMA = columns(
    "consumer_group cause: string",
    "changes moved: int64",
)
"""Columns of `Diff.causes`."""

PLANNED_SCHEMA = columns(
    "consumer_group: string",
    "planned as_planned not_yet elsewhere unplanned: int64",
)
"""Columns of `Diff.planned`."""


class ComparedState(NamedTuple):
    """One of the two things that are compared.

    Attributes
    ----------
    name : str
        What to call it.
    time : str or None
        When the snapshot was taken, as ISO 8601, where it says so; of a plan that of the snapshot
        that was planned.
    scenario : str or None
        Of a plan, the scenario whose outcome is compared.
    n_errors : int
        Requests that were not answered; a snapshot that has any is partial.
    """

    name: str
    time: str | None
    scenario: str | None = None
    n_errors: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Diff(TableResult):
    """What differs between two snapshots, or between a snapshot and what a plan comes to; `diff`
    makes it.

    Attributes
    ----------
    before, after : ComparedState
        What is compared.
    groups : pyarrow.Table
        One row per consumer group of either side: `GROUPS_SCHEMA`. ``status`` is "same", "differs",
        "appeared", "vanished", "not_seen_before" or "not_seen_after" (a partial snapshot does not
        have it), "not_compared" (``not_compared`` says why its owners are not) or "not_in_plan".
        Figures of queues are null where owners are not compared, which those of groups without any
        difference are not. ``moved`` counts queues that are there on both sides and whose owners
        differ; ``replayed`` the queues after whose owner the replayed differences give,
        ``not_explained`` those with another owner. ``lag_before`` and ``lag_after`` are messages
        not yet consumed, null where not known; ``produced`` and ``consumed`` grow by the queues
        that both sides know.
    queues : pyarrow.Table
        One row per group and queue that differs: `QUEUES_SCHEMA`. ``change`` is "new" or "gone" for
        a queue that is there on one side alone, "unowned" if it had an owner and has none,
        "double_owned" if it has several and had not, "repaired" if it has one and had none or
        several, else "moved". ``causes`` are those of `causes` that moved it, in order. ``planned``
        is there if one side is a plan: "not_yet" for a queue that the plan moves and that is where
        it was, "elsewhere" for one that is neither where it was nor where the plan puts it,
        "unplanned" for any other that is not as the plan has it: one that it leaves where it was,
        or that was to be new or gone.
    clients : pyarrow.Table
        One row per group and client that joined, left, gained or lost queues: `CLIENTS_SCHEMA`;
        figures are null where owners are not compared.
    changes : pyarrow.Table
        One row per single difference, such as a client that left or a topic with more read queues:
        `CHANGES_SCHEMA`. ``step`` is the cause with which it is replayed.
    causes : pyarrow.Table
        One row per group and cause that moved queues or has changes: `CAUSES_SCHEMA`. Causes are
        counted in their order, so what one moves depends on those before it, and a queue may be
        moved by several.
    planned : pyarrow.Table
        One row per group of the plan if one side is a plan: `PLANNED_SCHEMA`. ``planned`` are
        queues of both states whose owner the plan changes, of which ``as_planned`` have the owner
        that the plan gives them.
    warnings : tuple of str
        What is not compared, and why.
    doubtful : tuple of str
        Groups whose owners are not compared because their strategy is in doubt.
    """

    TABLES: ClassVar = ("groups", "queues", "clients", "changes", "causes", "planned")
    NOTES: ClassVar = ("warnings", "doubtful")

    before: ComparedState
    after: ComparedState
    groups: pa.Table
    queues: pa.Table
    clients: pa.Table
    changes: pa.Table
    causes: pa.Table
    planned: pa.Table
    warnings: tuple[str, ...]
    doubtful: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether there is any difference; the growth of a lag is none."""
        return bool(self.queues.num_rows or self.changes.num_rows)

    @property
    def of_plan(self) -> bool:
        """Whether one side is a plan."""
        return self.before.scenario is not None or self.after.scenario is not None

    def to_dict(self) -> dict[str, Any]:
        """Return what was compared, all tables as lists of rows, and the warnings."""
        return {"before": self.before._asdict(), "after": self.after._asdict(), **super().to_dict()}

    def _in_short(self) -> str:
        groups = counted(self.groups.num_rows, "group")
        queues = counted(self.queues.num_rows, "queue")
        return f"Diff of {groups}: {queues} and {counted(self.changes.num_rows, 'change')}"
