"""Bounds that a rollout must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rmqalloc.rollouts._rollout import Rollout


def violated_gates(
    rollout: Rollout, max_moved_per_queue: float | None = None, max_unowned: int | None = None
) -> Iterator[str]:
    """The bounds that are not kept, group by group.

    Parameters
    ----------
    rollout : Rollout
    max_moved_per_queue : float, optional
        Most moves per queue over all steps.
    max_unowned : int, optional
        Most queues that producers write to and nobody reads at the worst moment of a step; its upper bound counts if it is not
        known exactly. The state before the first step does not count.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.rollouts import rollout
    >>> topic = Topic("T", (TopicBroker("b", 8),))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c1"), Client("c2")), strategy="AVG"),))
    >>> [line.partition(":")[2] for line in violated_gates(rollout.restart(snapshot), max_unowned=3)]
    [' 4 queues without a reader at the worst moment of step 1 (batch 1 of 2: 1 client stops), at most 3 are allowed']
    """
    if max_moved_per_queue is not None:
        for row in rollout.totals.select(["consumer_group", "moved_per_queue"]).to_pylist():
            if row["moved_per_queue"] > max_moved_per_queue:
                yield (
                    f"consumer group {row['consumer_group']!r}: {row['moved_per_queue']:.2f} moves per queue, at most "
                    f"{max_moved_per_queue:g} are allowed"
                )
    if max_unowned is None:
        return
    worst: dict[str, dict[str, Any]] = {}
    for row in rollout.steps.to_pylist():
        name, unread = row["consumer_group"], row["unowned_written"]
        if row["step"] and unread > max(max_unowned, worst[name]["unowned_written"] if name in worst else 0):
            worst[name] = row
    for name, row in worst.items():
        upto, bound = ("", "") if row["unowned_is_exact"] else ("up to ", ", which is an upper bound")
        yield (
            f"consumer group {name!r}: {upto}{row['unowned_written']:,} queues without a reader at the worst moment of step "
            f"{row['step']} ({row['action']}){bound}, at most {max_unowned:,} are allowed"
        )
