"""Bounds that a rollout must keep."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.whatif.rollout.model import Rollout


def broken_gates(
    rollout: Rollout, max_moved_per_queue: float | None = None, max_unowned: int | None = None
) -> Iterator[str]:
    """What is not kept, group by group.

    Parameters
    ----------
    rollout : Rollout
    max_moved_per_queue : float, optional
        Most moves per queue over all steps.
    max_unowned : int, optional
        Most queues that producers write to and nobody reads while a step lasts; the state before counts nothing.

    Examples
    --------
    >>> from rmqalloc.snapshot.model import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.whatif.rollout.restart import restart
    >>> topic = Topic("T", (TopicBroker("b", 8),))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c1"), Client("c2"))),))
    >>> list(broken_gates(restart(snapshot), max_unowned=3))
    ["consumer group 'g': 4 queues without a reader in step 1 (batch 1 of 2: 1 client stops), at most 3 are allowed"]
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
    worst: dict[str, tuple[int, str]] = {}
    for row in rollout.steps.select(["consumer_group", "step", "action", "unowned", "unowned_dry"]).to_pylist():
        unread = row["unowned"] - row["unowned_dry"]
        if row["step"] and unread > max(max_unowned, worst.get(row["consumer_group"], (0, ""))[0]):
            worst[row["consumer_group"]] = unread, f"step {row['step']} ({row['action']})"
    for name, (unread, where) in worst.items():
        yield f"consumer group {name!r}: {unread:,} queues without a reader in {where}, at most {max_unowned:,} are allowed"
