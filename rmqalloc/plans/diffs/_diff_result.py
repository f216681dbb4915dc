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
        Its name in the result.
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
    """Differences between two snapshots, or between a snapshot and the state after a plan; `diff`
    returns it.

    Attributes
    ----------
    before, after : ComparedState
        The compared states.
    groups : pyarrow.Table
        One row per consumer group of either side: `GROUPS_SCHEMA`. ``status`` is "same", "differs",
        "appeared", "vanished", "not_seen_before" or "not_seen_after" (a partial snapshot does not
        have it), "not_compared" (``not_compared`` has the reason) or "not_in_plan". Figures of
        queues are null if owners are not compared, as in groups without any difference. ``moved``
        counts queues of both sides whose owners differ; ``replayed`` counts queues whose owner
        after follows from the replayed differences, ``not_explained`` queues with another owner.
        ``lag_before`` and ``lag_after`` are unconsumed messages, null if not known; ``produced``
        and ``consumed`` count queues that both sides have.
    queues : pyarrow.Table
        One row per group and queue that differs: `QUEUES_SCHEMA`. ``change`` is "new" or "gone" for
        a queue of one side only, "unowned" if it lost its owner, "double_owned" if it got several
        owners, "repaired" if it has one owner and had none or several, else "moved". ``causes`` are
        those of `causes` that moved it, in order. ``planned`` is set if one side is a plan:
        "not_yet" for a queue that the plan moves and that has its previous owner, "elsewhere" for a
        queue with neither its previous nor its planned owner, "unplanned" for any other queue that
        differs from the plan.
    clients : pyarrow.Table
        One row per group and client that joined, left, gained or lost queues: `CLIENTS_SCHEMA`;
        figures are null if owners are not compared.
    changes : pyarrow.Table
        One row per single difference, such as a client that left or a topic with more read queues:
        `CHANGES_SCHEMA`. ``step`` is the cause with which it is replayed.
    causes : pyarrow.Table
        One row per group and cause that moved queues or has changes: `CAUSES_SCHEMA`. Causes are
        replayed in order, so the moves of a cause depend on the causes before it, and several
        causes may move a queue.
    planned : pyarrow.Table
        One row per group of the plan if one side is a plan: `PLANNED_SCHEMA`. ``planned`` are
        queues of both states whose owner the plan changes; ``as_planned`` of them have the planned
        owner.
    warnings : tuple of str
        Parts that are not compared, and why.
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
        """True if there is a difference; a larger lag is not a difference."""
        return bool(self.queues.num_rows or self.changes.num_rows)

    @property
    def of_plan(self) -> bool:
        """True if one side is a plan."""
        return self.before.scenario is not None or self.after.scenario is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the compared states, all tables as lists of rows, and the warnings."""
        return {"before": self.before._asdict(), "after": self.after._asdict(), **super().to_dict()}

    def _in_short(self) -> str:
        groups = counted(self.groups.num_rows, "group")
        queues = counted(self.queues.num_rows, "queue")
        return f"Diff of {groups}: {queues} and {counted(self.changes.num_rows, 'change')}"
