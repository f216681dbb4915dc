"""The difference of two snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from rmqalloc.ownership.named_states import by_name
from rmqalloc.plans.diffs._changes_between import changes_between
from rmqalloc.plans.diffs._compared import Compared
from rmqalloc.plans.diffs._diff_result import PLANNED_SCHEMA, ComparedState, Diff
from rmqalloc.plans.diffs._diff_tables import (
    causes_column,
    causes_table,
    changes_table,
    clients_table,
    lags_of,
    queues_table,
)
from rmqalloc.plans.diffs._group_rows import GroupFacts
from rmqalloc.plans.diffs._not_compared import (
    groups_apart,
    notes_of,
    refused,
    units_hidden,
    warnings_of,
)
from rmqalloc.plans.diffs._replayed_moves import CAUSES, NOT_EXPLAINED, moments, replayed
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide, changed_topics, is_replayable
from rmqalloc.snapshot.snapshot import Client, Group


def diff_sides(
    before: SnapshotSide, after: SnapshotSide, seen: tuple[ComparedState, ComparedState]
) -> Diff:
    """Return the difference of two snapshots.

    Owners are computed of the groups alone of which anything differs: all others have the same
    owners on both sides.
    """
    sides, readers = (before, after), _readers(before, after)
    groups = before.groups, after.groups
    changes = changes_between(before, after)
    differing = _differing(before, after)
    apart = groups_apart(differing, sides, changes)
    mine = [name for name in differing if name not in apart]
    states = [side.owners([name for name in mine if name in side.groups]) for side in sides]
    units = {**states[0].unknown, **states[1].unknown, **units_hidden(changes, readers)}
    states = [state.without(units) for state in states]
    known = [
        name for name in mine if all(name in one and is_replayable(one[name]) for one in groups)
    ]
    on_the_way = moments(before, after, known)
    compared = Compared(by_name([*states, *(moment.state for moment in on_the_way)]), states)
    queues, found = compared.queues, replayed(compared.queues, on_the_way, known)
    figures = compared.figures() | {
        "replayed": queues.counted(found.agrees),
        "not_explained": queues.counted(found.moved[CAUSES.index(NOT_EXPLAINED)]),
    }
    notes = notes_of(apart, units)
    lags = lags_of(before.groups, mine), lags_of(after.groups, mine)
    return Diff(
        *seen,
        groups=GroupFacts(groups, changes, {*mine}, queues.group_numbers, figures, notes).table(),
        queues=queues_table(compared, causes_column(found.moved[:, compared.rows]), None, lags),
        clients=clients_table(compared, changes, groups, {*mine}),
        changes=changes_table(changes),
        causes=causes_table(compared, found, changes, readers),
        planned=PLANNED_SCHEMA.empty_table(),
        warnings=tuple(warnings_of(notes, seen)),
        doubtful=refused(apart, sides),
    )


def _readers(before: SnapshotSide, after: SnapshotSide) -> Mapping[str, list[str]]:
    """By topic, the groups that read it on either side."""
    found: dict[str, dict[str, None]] = {}
    for side in (before, after):
        for group in side.groups.values():
            for topic in group.subscriptions:
                found.setdefault(topic, {})[group.name] = None
    return {topic: list(groups) for topic, groups in found.items()}


def _all_but(cls: type[Any], *names: str) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(one.name for one in fields(cls) if one.name not in names))


# Of no interest to owners are when clients started, and which expressions brokers hold.
_of_group = _all_but(Group, "clients", "filters", "lags", "consume_tps")
_of_client = _all_but(Client, "start_timestamp")


def _are_alike(one: Group, other: Group) -> bool:
    """Return whether all is equal that decides who owns what."""
    return _of_group(one) == _of_group(other) and [*map(_of_client, one.clients)] == [
        *map(_of_client, other.clients)
    ]


def _differing(before: SnapshotSide, after: SnapshotSide) -> list[str]:
    """Return groups of which anything but the lag differs, that of the topics they read included."""
    topics = changed_topics(before, after)

    def differs(name: str) -> bool:
        one, other = before.groups.get(name), after.groups.get(name)
        if one is None or other is None or not _are_alike(one, other):
            return True
        return not topics.isdisjoint(one.subscriptions)

    return [name for name in dict.fromkeys([*before.groups, *after.groups]) if differs(name)]
