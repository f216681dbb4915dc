"""The difference of two snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from rmqalloc.ownership.named_states import KnownOwners, by_name
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
    names = [name for name in differing if name not in apart]
    states = [_owners(side, names) for side in sides]
    units = {**states[0].unknown, **states[1].unknown, **units_hidden(changes, readers)}
    states = [state.without(units) for state in states]
    replayable = [name for name in names if _is_replayable(name, before, after)]
    on_the_way = moments(before, after, replayable)
    compared = Compared(by_name([*states, *(moment.state for moment in on_the_way)]), states)
    queues, found = compared.queues, replayed(compared.queues, on_the_way, replayable)
    not_explained = found.moved[CAUSES.index(NOT_EXPLAINED)]
    figures = compared.figures()
    figures["replayed"] = queues.counted(found.agrees)
    figures["not_explained"] = queues.counted(not_explained)
    notes = notes_of(apart, units)
    facts = GroupFacts(
        sides=groups,
        changes=changes,
        compared={*names},
        numbers=queues.group_numbers,
        figures=figures,
        notes=notes,
    )
    lags = lags_of(before.groups, names), lags_of(after.groups, names)
    return Diff(
        *seen,
        groups=facts.table(),
        queues=queues_table(compared, causes_column(found.moved[:, compared.rows]), None, lags),
        clients=clients_table(compared, changes, groups, {*names}),
        changes=changes_table(changes),
        causes=causes_table(compared, found, changes, readers),
        planned=PLANNED_SCHEMA.empty_table(),
        warnings=tuple(warnings_of(notes, seen)),
        doubtful=refused(apart, sides),
    )


def _owners(side: SnapshotSide, names: list[str]) -> KnownOwners:
    """Return the owners of the groups that a side has."""
    return side.owners([name for name in names if name in side.groups])


def _is_replayable(name: str, before: SnapshotSide, after: SnapshotSide) -> bool:
    """Return whether a group is replayable on both sides."""
    old, new = before.groups.get(name), after.groups.get(name)
    if old is None or new is None:
        return False
    return is_replayable(old) and is_replayable(new)


def _readers(before: SnapshotSide, after: SnapshotSide) -> Mapping[str, list[str]]:
    """By topic, the groups that read it on either side."""
    found: dict[str, dict[str, None]] = {}
    for side in (before, after):
        for group in side.groups.values():
            for topic in group.subscriptions:
                found.setdefault(topic, {})[group.name] = None
    return {topic: list(groups) for topic, groups in found.items()}


def _all_but(cls: type[Any], *names: str) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(cls) if field.name not in names))


# Of no interest to owners are when clients started, and which expressions brokers hold.
_of_group = _all_but(Group, "clients", "filters", "lags", "consume_tps")
_of_client = _all_but(Client, "start_timestamp")


def _are_alike(old: Group, new: Group) -> bool:
    """Return whether all is equal that decides who owns what."""
    if _of_group(old) != _of_group(new):
        return False
    return [*map(_of_client, old.clients)] == [*map(_of_client, new.clients)]


def _differing(before: SnapshotSide, after: SnapshotSide) -> list[str]:
    """Return groups of which anything but the lag differs, that of the topics they read included."""
    topics = changed_topics(before, after)

    def differs(name: str) -> bool:
        old, new = before.groups.get(name), after.groups.get(name)
        if old is None or new is None or not _are_alike(old, new):
            return True
        return not topics.isdisjoint(old.subscriptions)

    return [name for name in dict.fromkeys([*before.groups, *after.groups]) if differs(name)]
