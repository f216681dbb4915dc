"""Sums of a difference over all groups, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.plans.diffs._diff_result import Diff
from rmqalloc.plans.diffs._replayed_moves import (
    CAUSES,
    NOT_EXPLAINED,
    NOT_REPLAYED,
    REPORTED_BEFORE,
)
from rmqalloc.text import counted

_ALIKE = ("same", "not_in_plan")
_WORDS = {
    REPORTED_BEFORE: "owners not yet as computed",
    "topics": "topics and queues",
    "subscriptions": "subscriptions",
    "strategies": "strategies",
    "clients_left": "clients left",
    "clients_joined": "clients joined",
    "views": "stale views",
    NOT_EXPLAINED: "not explained",
    NOT_REPLAYED: "not replayed",
}


def sentence(diff: Diff) -> str:
    """Return what differs in all."""
    groups = diff.groups
    both = groups.filter(pc.is_in(groups["status"], pa.array(["differs", "not_compared"])))
    status = {row["values"]: row["counts"] for row in pc.value_counts(groups["status"]).to_pylist()}
    n_alike = sum(status.get(word, 0) for word in _ALIKE)
    if not diff.differs:
        return f"no difference in {counted(groups.num_rows, 'group')}."
    changes = {
        row["values"]: row["counts"] for row in pc.value_counts(diff.queues["change"]).to_pylist()
    }
    n_differ = groups.num_rows - n_alike
    parts = [f"{n_differ:,} of {counted(groups.num_rows, 'group differs', 'groups differ')}"]
    parts += [
        f"{counted(status[word], 'group')} {word.replace('_', ' ')}"
        for word in _PRESENCE
        if word in status
    ]
    parts.append(counted(total(both, "moved"), "queue changes owner", "queues change owner"))
    parts += [f"{changes[word]:,} {text}" for word, text in _BECAME.items() if word in changes]
    parts += [f"{n:,} {word}" for word in ("new", "gone") if (n := total(both, word))]
    parts += [
        f"{counted(n, 'client')} {word}" for word in ("left", "joined") if (n := total(both, word))
    ]
    return f"{', '.join(parts)}."


_PRESENCE = ("appeared", "vanished", "not_seen_before", "not_seen_after")
_BECAME = {
    "unowned": "became unowned",
    "double_owned": "became double-owned",
    "repaired": "repaired",
}


def total(table: pa.Table, column: str) -> int:
    """Return the sum of a column; null counts nothing."""
    return int(pc.sum(table[column]).as_py() or 0)


def moved_by_cause(causes: pa.Table) -> dict[str, int]:
    """Return queues that each cause moved, in the order of `CAUSES`; causes that moved none are
    left out.
    """
    summed = causes.group_by("cause").aggregate([("moved", "sum")])
    found: dict[Any, int] = dict(
        zip(summed["cause"].to_pylist(), summed["moved_sum"].to_pylist(), strict=True)
    )
    return {cause: found[cause] for cause in CAUSES if found.get(cause)}


def cause_words(causes: pa.Table) -> str:
    """Return how many queues each cause moved.

    Examples
    --------
    >>> cause_words(pa.table({"cause": ["clients_left", "topics"], "moved": [8, 2]}))
    'topics and queues 2, clients left 8'
    """
    return ", ".join(f"{_WORDS[cause]} {n:,}" for cause, n in moved_by_cause(causes).items())


def explanation(diff: Diff) -> Iterator[str]:
    """Yield which changes moved how many queues, and how far the replay of the changes comes to the
    second snapshot.
    """
    by_cause = moved_by_cause(diff.causes)
    if by_cause:
        yield f"Causes, with the changes replayed in order: {cause_words(diff.causes)}."
    replayed, differ = total(diff.groups, "replayed"), by_cause.get(NOT_EXPLAINED, 0)
    if replayed + differ:
        rest = (
            f"; {differ:,} {'has' if differ == 1 else 'have'} owners that the changes do not explain"
            if differ
            else ""
        )
        yield f"Replayed {replayed:,} of {counted(replayed + differ, 'queue')}{rest}."


def plan_sentence(diff: Diff) -> Iterator[str]:
    """Yield how much of a plan came true."""
    planned = {name: total(diff.planned, name) for name in diff.planned.column_names[1:]}
    parts = [
        f"As planned: {planned['as_planned']:,} of {counted(planned['planned'], 'queue')} that the plan moves"
    ]
    parts += [
        f"{planned[name]:,} {text}" for name, text in _NOT_AS_PLANNED.items() if planned[name]
    ]
    yield f"{'; '.join(parts)}."
    not_in_plan = int(pc.sum(pc.equal(diff.groups["status"], "not_in_plan")).as_py() or 0)
    if not_in_plan:
        yield f"{counted(not_in_plan, 'group is', 'groups are')} not in the plan."


_NOT_AS_PLANNED = {
    "not_yet": "not moved yet",
    "elsewhere": "moved elsewhere",
    "unplanned": "moved outside the plan",
}
