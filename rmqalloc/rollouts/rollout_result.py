"""The result of a rollout: its tables and the reasons against doing it now."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.results import TableResult
from rmqalloc.results import compute as pc
from rmqalloc.results.schemas import columns
from rmqalloc.snapshot.matching import no_match
from rmqalloc.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OPEN = (
    "{0}_expected: float64",
    "{0}_after: int64",
    "{0}_seconds_worst {0}_seconds_p99 {0}_queue_seconds: float64",
)
_STEP = ("step: int64", "action: string")
_FIGURES = (
    "n_clients n_queues moved clients_touched unowned unowned_written unowned_dry: int64",
    "unowned_is_exact: bool",
    "double_owned: int64",
    "double_owned_is_exact: bool",
    "min_load max_load idle only_dry: int64",
    *(part.format(which) for which in ("unowned", "double_owned") for part in _OPEN),
    "messages_delayed messages_twice: float64",
)

STEPS_SCHEMA = columns("consumer_group: string", *_STEP, *_FIGURES)
"""Columns of `Rollout.steps`."""

TOPICS_SCHEMA = columns("consumer_group topic: string", *_STEP, *_FIGURES)
"""Columns of `Rollout.topics`."""

TOTALS_SCHEMA = columns(
    "consumer_group: string",
    "batch n_steps n_topics n_queues n_clients moved: int64",
    "moved_per_queue: float64",
    "clients_touched max_unowned max_unowned_written max_unowned_dry: int64",
    "max_unowned_is_exact: bool",
    "max_double_owned: int64",
    "max_double_owned_is_exact: bool",
    "min_load max_load: int64",
    "max_unowned_expected max_unowned_seconds_worst max_unowned_seconds_p99: float64",
    "unowned_queue_seconds double_owned_queue_seconds messages_delayed messages_twice: float64",
)
"""Columns of `Rollout.totals`."""

EXPOSED_SCHEMA = columns(
    "consumer_group: string",
    *_STEP,
    "topic broker_name: string",
    "queue_id: int32",
    "exposure: string",
    "client_ids: [string]",
)
"""Columns of `Rollout.exposed`."""

WAYS_SCHEMA = columns(
    "consumer_group: string",
    "rank n_batches batch: int64",
    "surge: bool",
    "order: string",
    "keeps_gates: bool",
    "max_unowned_after moved: int64",
    "moved_per_queue: float64",
    "max_unowned_written: int64",
    "max_unowned_is_exact: bool",
    "unowned_queue_seconds: float64",
    "max_double_owned: int64",
    "max_double_owned_is_exact: bool",
    "max_load: int64",
    "lost_by: string",
)
"""Columns of `Rollout.ways`."""

SKIPPED_SCHEMA = columns("consumer_group reason: string")
"""Columns of `Rollout.skipped`."""


@dataclass(frozen=True, eq=False, repr=False)
class Rollout(TableResult):
    """The steps of a rollout and their costs.

    Attributes
    ----------
    steps : pyarrow.Table
        One row per group and step, over all its topics: `STEPS_SCHEMA`. Step 0 is the state before.

        ``moved``: queues whose readers differ before and after the step; a queue that loses its
        reader or gets a reader has moved. ``clients_touched``: clients that gain or lose a queue in
        the step. ``unowned``, ``double_owned``: the most queues without a reader, or with two
        readers, at one moment of the step. Clients are informed one by one in any order, so each
        figure is a maximum over all sets of informed clients: a queue that passes between two
        clients has no reader or two readers, depending on which client is informed first.
        ``unowned_written``, ``unowned_dry``: the same for queues that producers write to, and for
        the remaining queues. If ``unowned_is_exact`` or ``double_owned_is_exact`` is False, these
        figures are upper bounds, see `rmqalloc.ownership.transitions._worst_moment`. Loads are
        after the step; ``idle`` clients have no queue, ``only_dry`` clients have only queues that
        no producer writes to.

        The remaining figures are of queues that producers write to, see
        `rmqalloc.ownership.transitions.open_queues.Open`: ``_expected``, the greatest expected
        number at one moment; ``_after``, the queues that stay unowned or double-owned after the
        step, which do not count in the seconds; ``_seconds_worst`` and ``_seconds_p99``, the
        longest time of a queue in that state, and an upper bound of its 99th percentile;
        ``_queue_seconds``, the expected sum over queues. Seconds are null if RocketMQ's timers do
        not bound the time until clients follow, for example if clients are redeployed.
        ``messages_delayed`` and ``messages_twice`` are queue-seconds times the messages that the
        group consumes of a queue in a second; null if the snapshot has no ``consume_tps``.
    topics : pyarrow.Table
        The same by topic: `TOPICS_SCHEMA`. Empty unless requested.
    totals : pyarrow.Table
        One row per group: `TOTALS_SCHEMA`; sums of ``moved`` and ``clients_touched``, the worst of
        the remaining figures. ``moved_per_queue`` is ``moved`` over the queues before.
    exposed : pyarrow.Table
        One row per queue with no reader or two readers at one moment of a step: `EXPOSED_SCHEMA`.
        It is a typical moment, not the worst: the step has begun and no remaining client is
        informed; if routes change, a share of the clients has the new routes; if clients stop in
        batches, the whole batch has stopped. ``exposure`` is "unowned", "unowned_dry" or
        "double_owned"; ``client_ids`` are the readers. Empty unless requested.
    skipped : pyarrow.Table
        One row per group to which the rollout does not apply, with the reason: `SKIPPED_SCHEMA`.
        These groups are in no other table.
    ways : pyarrow.Table
        One row per group and tried way of restarting, best first: `WAYS_SCHEMA`. The remaining
        tables show the way with ``rank`` 1. ``max_unowned_after`` are queues that are unread from
        one step to the next; ``lost_by`` is the goal in which a way is worse than the best way.
        Empty except for `best_restart`.
    refusals : tuple of str
        Reasons against doing the rollout now; usually empty.
    warnings : tuple of str
        Parts that are left out, and why.

    Examples
    --------
    >>> import rmqalloc
    >>> made = rmqalloc.rollout.restart(rmqalloc.read("example:seed"), ["by-average"])
    >>> made, made.totals["moved"].to_pylist()
    (<Rollout of 1 group: 9 steps, 80 queues moved>, [80])
    """

    TABLES: ClassVar = ("steps", "topics", "totals", "exposed", "skipped", "ways")
    NOTES: ClassVar = ("refusals", "warnings")
    SHOWN: ClassVar = (
        *("consumer_group", "step", "action", "n_clients", "moved", "clients_touched"),
        *("unowned", "double_owned", "max_load"),
    )

    steps: pa.Table
    topics: pa.Table
    totals: pa.Table
    exposed: pa.Table
    skipped: pa.Table
    ways: pa.Table = field(default_factory=WAYS_SCHEMA.empty_table)
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def plot(self, group: str | None = None) -> Figure:
        """Draw the unowned and double-owned queues of each step of a group.

        Parameters
        ----------
        group : str, optional
            A consumer group; if not given, the group with most unowned queues in one step.

        Returns
        -------
        matplotlib.figure.Figure
            Two lines over the steps, in ``axes[0]``: columns ``unowned`` and ``double_owned`` of
            `steps`. A notebook shows it.

        Raises
        ------
        ArgumentError
            There is no such group, or the rollout has no step.
        ModuleNotFoundError
            matplotlib is not installed.

        Examples
        --------
        >>> import rmqalloc
        >>> made = rmqalloc.rollout.restart(rmqalloc.read("example:seed"), ["by-average"])
        >>> unowned, double_owned = made.plot().axes[0].lines
        >>> [int(n_queues) for n_queues in unowned.get_ydata()]
        [0, 8, 8, 6, 6, 6, 6, 8, 8]
        """
        with installation_hint():
            from rmqalloc.results import pictures
        names = ("consumer_group", "step", "unowned", "double_owned")
        rows = list(zip(*(self.steps[name].to_pylist() for name in names), strict=True))
        if not rows:
            raise ArgumentError("the rollout has no step to draw")
        group = max(rows, key=lambda row: row[2] or 0)[0] if group is None else group
        steps = [row[1:] for row in rows if row[0] == group]
        if not steps:
            raise no_match(group, {row[0] for row in rows}, "consumer group")
        places, unowned, double_owned = zip(*steps, strict=True)
        return pictures.timeline(
            places,
            {"unowned": unowned, "double-owned": double_owned},
            f"{group}: queues without an owner, or with two, at the worst moment of each step",
            "step",
            where="mid",
        )

    def _in_short(self) -> str:
        groups = counted(self.totals.num_rows, "group")
        moved = counted(pc.sum(self.totals["moved"]).as_py() or 0, "queue")
        return f"Rollout of {groups}: {counted(self.steps.num_rows, 'step')}, {moved} moved"
