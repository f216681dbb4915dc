"""Which kind of differences moved which queues: the differences are done to the first snapshot, one
kind after another.

Every state on the way is computed by the one evaluator, of the groups alone that the kind concerns.
A queue is moved by a kind if its owner after it is another than before it. What is left in the end,
between the state that is replayed in full and the second snapshot, is not explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rmqalloc.evidence.views.owned_as_computed import OwnedAsComputed
from rmqalloc.ownership.named_states import KnownOwners, NamedQueues
from rmqalloc.ownership.reader_sets import ABSENT, Mask
from rmqalloc.plans.diffs._group_steps import STEPS, stages
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide, changed_topics, owners_of

REPORTED_BEFORE, NOT_EXPLAINED, NOT_REPLAYED = (
    "reported_before",
    "not_explained",
    "not_replayed",
)
"""Further causes: before, clients report other owners than they compute; after, the owners are not
the replayed owners; the strategy of clients is not known, so nothing can be replayed."""

CAUSES = (REPORTED_BEFORE, *STEPS, NOT_EXPLAINED, NOT_REPLAYED)
"""All causes, in the order in which they are counted."""


class ReplayedState(NamedTuple):
    """Owners after a kind of differences, in the groups that it concerns."""

    groups: Sequence[str]
    state: KnownOwners


class Replayed(NamedTuple):
    """What moved the queues.

    Attributes
    ----------
    moved : ndarray of bool, shape (n_causes, n_queues)
        By `CAUSES`, queues that are there before and after all and that the cause moved; of
        `NOT_EXPLAINED` also queues that are new and have another owner than the replayed one.
    compared : ndarray of bool
        Queues of which the replay says who owns them after all.
    """

    moved: Mask
    compared: Mask

    @property
    def agrees(self) -> Mask:
        """Queues whose replayed owner is the owner after."""
        found: Mask = self.compared & ~self.moved[CAUSES.index(NOT_EXPLAINED)]
        return found


def moments(
    before: SnapshotSide, after: SnapshotSide, groups: Sequence[str]
) -> list[ReplayedState]:
    """Return the states on the way from one snapshot to the other, that before any difference
    first, with computed owners.
    """
    on_the_way = {name: list(stages(before.groups[name], after.groups[name])) for name in groups}
    routes = changed_topics(before, after)
    concerned = [[name for name in groups if _own_otherwise(before, name)]]
    concerned += [
        [name for name in groups if not routes.isdisjoint(on_the_way[name][0].subscriptions)]
    ]
    for number in range(2, 1 + len(STEPS)):
        concerned.append(
            [
                name
                for name, of in on_the_way.items()
                if of[number] is not of[number - 1] and of[number] != of[number - 1]
            ]
        )
    found = []
    for number, names in enumerate(concerned):
        topics = (after if number else before).topics
        state = owners_of(list(topics.values()), [on_the_way[name][number] for name in names])
        found.append(ReplayedState(names, state))
    return found


def _own_otherwise(side: SnapshotSide, name: str) -> bool:
    """Return whether all clients of a group report what they own, and it may not be what they
    compute.
    """
    group, owned = side.reporting(name), OwnedAsComputed(side.unknown)
    return any(
        owned.otherwise(group, side.topics[one])
        for one in group.subscriptions
        if one in side.topics
    )


def replayed(
    queues: NamedQueues, states: Sequence[ReplayedState], groups: Sequence[str]
) -> Replayed:
    """Count what moved which queue."""
    before, after, *owners = queues.owners
    rows, in_both = queues.rows_of(groups), (before != ABSENT) & (after != ABSENT)
    moved = np.zeros((len(CAUSES), before.size), bool)
    now = before
    for number, (moment, then) in enumerate(zip(states, owners, strict=True)):
        # Where a state cannot be computed, what it moves counts with the next kind.
        then = np.where(queues.rows_of(moment.groups, moment.state.unknown) & rows, then, now)
        moved[number] = in_both & (then != now)
        now = then
    moved[CAUSES.index(NOT_EXPLAINED)] = rows & (after != ABSENT) & (now != after)
    moved[CAUSES.index(NOT_REPLAYED)] = ~rows & in_both & (before != after)
    return Replayed(moved, rows & (after != ABSENT))
