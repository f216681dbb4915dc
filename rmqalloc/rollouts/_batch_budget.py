"""The smallest batch of a rolling restart that stays within a number of moves.

Goals, in this order: the moves per queue of each group are within the budget; as few clients as
possible are away at once. Moves need not fall as batches grow, not even between batches that take
equally many rounds, because they depend on which clients go together. So there is no bisection:
every size is tried, all groups at once, and each group takes its smallest good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import columns
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.schedule import InapplicableError
from rmqalloc.snapshot.snapshot import Snapshot

BUDGET_SCHEMA = columns(
    "consumer_group: string",
    "n_batches batch moved: int64",
    "moved_per_queue: float64",
    "max_unowned: int64",
    "max_unowned_is_exact: bool",
    "max_double_owned: int64",
    "max_double_owned_is_exact in_budget chosen: bool",
)
"""Columns of `BudgetedBatches.tried`."""


@dataclass(frozen=True, eq=False, repr=False)
class BudgetedBatches(TableResult):
    """The batches that were tried, and the groups that none of them suits.

    Attributes
    ----------
    tried : pyarrow.Table
        One row per group and size of a batch: `BUDGET_SCHEMA`, smallest batches first.
    missed : dict of str to float
        Groups for which no batch stays within the budget, with the fewest moves per queue of any.
    warnings : tuple of str
        What is left out, and why.
    """

    TABLES: ClassVar = ("tried",)

    tried: pa.Table
    missed: dict[str, float]
    warnings: tuple[str, ...]


def within_budget(
    snapshot: Snapshot | Known,
    budget: float,
    groups: Sequence[str] = ("*",),
    max_batch: int | None = None,
    **how: Any,
) -> BudgetedBatches:
    """Find the smallest batch of a rolling restart that stays within a number of moves per queue.

    Every size from one client to all, or to ``max_batch``, is tried. Larger batches take fewer
    rebalances and mostly fewer moves, but more clients are away at once.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 24),)), tuple(Client(f"c{i}@1#1") for i in range(6))
    >>> choice = within_budget(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),)), 4.0)
    >>> [(row["n_batches"], row["batch"], row["in_budget"]) for row in choice.tried.to_pylist()]
    [(6, 1, False), (3, 2, True), (2, 3, True), (2, 4, True), (2, 5, True), (1, 6, True)]
    """
    if not budget >= 0:
        raise ArgumentError(f"a budget is a number of moves per queue from 0 on, got {budget}")
    if max_batch is not None and max_batch < 1:
        raise ArgumentError(f"at least 1 client is away at once, got {max_batch} for the most")
    known = Known.of(snapshot, groups)
    whole = restart(known, groups, batch="100%", **how)
    sizes = dict(
        zip(
            *(whole.totals[name].to_pylist() for name in ("consumer_group", "n_clients")),
            strict=True,
        )
    )
    tried: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in sizes}
    warnings = [*whole.warnings, *whole.skipped["reason"].to_pylist()]
    largest = {name: min(size, max_batch or size) for name, size in sizes.items()}
    for batch in range(1, max(largest.values()) + 1):
        mine = tuple(one for one in known.snapshot.groups if batch <= largest.get(one.name, 0))
        made, reasons = _tried(Known.already(replace(known.snapshot, groups=mine)), batch, how)
        warnings += reasons
        for row in made:
            tried[row["consumer_group"]][batch] = row
    rows, missed = [], {}
    for name, found in ((name, found) for name, found in tried.items() if found):
        good = [batch for batch, row in found.items() if row["moved_per_queue"] <= budget]
        if not good:
            missed[name] = min(row["moved_per_queue"] for row in found.values())
        for batch, row in found.items():
            n_batches = -(-sizes[name] // batch)
            more = {
                "n_batches": n_batches,
                "in_budget": batch in good,
                "chosen": batch == min(good, default=None),
            }
            rows.append({key: (row | more)[key] for key in BUDGET_SCHEMA.names})
    return BudgetedBatches(pa.Table.from_pylist(rows, BUDGET_SCHEMA), missed, tuple(warnings))


def _tried(
    snapshot: Known, batch: int, how: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return totals of all groups for one size of batch, and why some groups were skipped."""
    try:
        made = restart(snapshot, batch=batch, **how)
    except InapplicableError as error:
        return [], [str(error)]
    return made.totals.to_pylist(), made.skipped["reason"].to_pylist()
