"""How much a plan's file may ask to be planned again, counted before anything is.

A file of a few bytes can claim brokers with millions of queues or rings with millions of points.
What a plan that was written can hold is far below these limits, for its tables have a row for every
queue and client of every state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmqalloc.evaluation.batch_sizes import Sizes
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans.plan_writing import PlanError
from rmqalloc.scenarios import Scenario, SetStrategy, SetVirtualNodes
from rmqalloc.snapshot.units import batch_of, unit_pairs
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES

MOST_QUEUES = 1 << 22
"""Queues of all units in all states together."""

MOST_CLIENTS = 1 << 22
"""Clients of all units in all states together."""

MOST_POINTS = 1 << 25
"""Points of all rings in all states together."""


def check_size(inputs: PlanInputs, scenarios: Sequence[Scenario]) -> None:
    """Raise `PlanError` if there is more to plan than is replayed.

    Examples
    --------
    >>> from rmqalloc.snapshot import Group, Snapshot, Topic, TopicBroker
    >>> large = Topic("T", (TopicBroker("b", 1 << 23),))
    >>> check_size(PlanInputs(Snapshot((large,), (Group("g", ("T",), strategy="AVG"),))), [])
    Traceback (most recent call last):
    rmqalloc.plans.plan_writing.PlanError: the plan may have 8,388,608 queues in all states; at most 4,194,304 are replayed
    """
    read = unit_pairs(inputs.snapshot, inputs.groups, inputs.topics, inputs.with_retry)
    batch = batch_of(read.pairs)
    sizes, n_states = Sizes.of(batch, scenarios), 1 + len(scenarios)
    clients = sizes.clients.astype(np.float64) * n_states
    nodes = np.array(
        batch.column("virtual_nodes")
        .fill_null(DEFAULT_VIRTUAL_NODES)
        .to_numpy(zero_copy_only=False)
    )
    given = [_nodes_set(change) for scenario in scenarios for change in scenario.changes]
    points = float((clients * np.maximum(nodes, max(given, default=0))).sum())
    for what, n, most in (
        ("queues", float(sizes.all_queues.sum()), MOST_QUEUES),
        ("clients", float(clients.sum()), MOST_CLIENTS),
        ("points of rings", points, MOST_POINTS),
    ):
        if n > most:
            raise PlanError(
                f"the plan may have {n:,.0f} {what} in all states; at most {most:,} are replayed"
            )


def _nodes_set(change: object) -> int:
    """Return virtual nodes that a change gives."""
    if isinstance(change, SetVirtualNodes):
        return change.virtual_nodes
    params = change.params or {} if isinstance(change, SetStrategy) else {}
    nodes = params.get("virtual_nodes", 0)
    return nodes if isinstance(nodes, int) else 0
