"""Bounds that a rollout must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rmqalloc.ownership.transitions.seconds_bound import SecondsBound
from rmqalloc.rollouts.rollout_result import Rollout


class BrokenGate(NamedTuple):
    """A limit that a group exceeds.

    Attributes
    ----------
    consumer_group : str
    excess : float
        By how much the bound is exceeded, relative to the bound.
    text : str
    """

    consumer_group: str
    excess: float
    text: str


def violated_gates(
    rollout: Rollout,
    max_moved_per_queue: float | None = None,
    max_unowned: int | None = None,
    max_double: int | None = None,
    max_unowned_seconds: str | None = None,
) -> Iterator[str]:
    """Yield the exceeded limits by group, as text.

    Parameters
    ----------
    rollout : Rollout
    max_moved_per_queue : float, optional
        Most moves per queue over all steps.
    max_unowned : int, optional
        Most unread queues that producers write to at the worst moment of a step; the upper bound
        counts if the number is not exact. The state before the first step does not count.
    max_double : int, optional
        The same for queues that two clients read.
    max_unowned_seconds : str, optional
        Longest time in seconds that a queue with new messages may be unowned in a step: ``30`` or
        ``30@worst`` for the worst case, ``30@p99`` for 99 of 100 cases. The limit is exceeded if a
        queue stays unowned after the step, or if no timer bounds the time.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.rollouts import rollout
    >>> topic = Topic("T", (TopicBroker("b", 8),))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c1"), Client("c2")), strategy="AVG"),))
    >>> [line.partition(":")[2] for line in violated_gates(rollout.restart(snapshot), max_unowned=3)]
    [' 4 queues without a reader at the worst moment of step 1 (batch 1 of 2: 1 client stops); the limit is 3']
    """
    gates = broken_gates(rollout, max_moved_per_queue, max_unowned, max_double, max_unowned_seconds)
    return (gate.text for gate in gates)


def broken_gates(
    rollout: Rollout,
    max_moved_per_queue: float | None = None,
    max_unowned: int | None = None,
    max_double: int | None = None,
    max_unowned_seconds: str | None = None,
) -> Iterator[BrokenGate]:
    """Yield the bounds that are not kept, group by group; arguments as of `violated_gates`."""
    if max_moved_per_queue is not None:
        yield from _too_often(rollout, max_moved_per_queue)
    if max_unowned is not None:
        yield from _too_many(rollout, "unowned_written", "without a reader", max_unowned)
    if max_double is not None:
        yield from _too_many(rollout, "double_owned", "with two readers", max_double)
    if max_unowned_seconds is not None:
        yield from _too_long(rollout, SecondsBound.parse(max_unowned_seconds))


def _broken(row: dict[str, Any], figure: float, most: float, text: str) -> BrokenGate:
    name = row["consumer_group"]
    return BrokenGate(name, (figure - most) / max(most, 1), f"consumer group {name!r}: {text}")


def _too_often(rollout: Rollout, most: float) -> Iterator[BrokenGate]:
    """Yield groups whose queues move too often."""
    for row in rollout.totals.select(["consumer_group", "moved_per_queue"]).to_pylist():
        moved = row["moved_per_queue"]
        if moved > most:
            text = f"{moved:.2f} moves per queue; the limit is {most:g}"
            yield _broken(row, moved, most, text)


def _too_many(rollout: Rollout, figure: str, what: str, most: int) -> Iterator[BrokenGate]:
    """Yield groups with more than so many open queues at the worst moment of a step."""
    for row in _worst_steps(rollout, lambda row: row[figure], most):
        is_exact = row[f"{figure.removesuffix('_written')}_is_exact"]
        upto, bound = ("", "") if is_exact else ("up to ", ", which is an upper bound")
        text = (
            f"{upto}{row[figure]:,} queues {what} at the worst moment of step {row['step']} "
            f"({row['action']}){bound}; the limit is {most:,}"
        )
        yield _broken(row, row[figure], most, text)


def _too_long(rollout: Rollout, bound: SecondsBound) -> Iterator[BrokenGate]:
    """Yield groups in which a queue has no owner for too long."""
    for row in _worst_steps(rollout, bound.of_row, bound.seconds):
        text = f"step {row['step']} ({row['action']}): {bound.violation(row)}"
        yield _broken(row, bound.of_row(row), bound.seconds, text)


def _worst_steps(
    rollout: Rollout, figure: Callable[[dict[str, Any]], float], most: float
) -> list[dict[str, Any]]:
    """Of every group that exceeds a bound, the first step that exceeds it most."""
    worst: dict[str, dict[str, Any]] = {}
    for row in rollout.steps.to_pylist():
        name = row["consumer_group"]
        if row["step"] and figure(row) > max(most, figure(worst[name]) if name in worst else most):
            worst[name] = row
    return list(worst.values())
