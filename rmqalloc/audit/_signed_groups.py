"""The groups of a snapshot with their signs. What each client takes is laid out for those of which
something asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup, PlannedOwners
from rmqalloc.audit._group_signs import signs_of
from rmqalloc.audit._owner_signs import ComputedOwners
from rmqalloc.audit._signs import OF_OWNERS, Sign
from rmqalloc.evaluation.shares import divide
from rmqalloc.evidence.method import Rooms
from rmqalloc.globs import matcher
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.views.group_views import GroupViews, ViewReader
from rmqalloc.views.unit_views import UnitViews

_OPEN = Sign.LAGS | Sign.ROUTES | Sign.BROKERS | Sign.DOUBT | Sign.PAUSED
"""Signs of ordinary groups of which a queue may be unread, or not known to be read."""

Ages = Mapping[str, Mapping[str, float]]
"""Seconds that clients have been there at least, by group and client id."""


@dataclass(eq=False)
class SignedGroup:
    """A group and its signs.

    Attributes
    ----------
    group : Group
    signs : int
    """

    group: Group
    signs: int
    _lay_out: Callable[[SignedGroup], AuditedGroup]

    @lazy_property
    def audited(self) -> AuditedGroup:
        """The group with the views of its clients."""
        return self._lay_out(self)

    @property
    def is_ordinary(self) -> bool:
        """Whether every queue has exactly one owner, who is known."""
        return not self.signs & OF_OWNERS

    @property
    def reads_all(self) -> bool:
        """Whether it is certain that every queue is read, whether or not messages wait in it."""
        return not self.signs & (OF_OWNERS | _OPEN)

    @property
    def client_ids(self) -> Sequence[str]:
        """Client ids by slot."""
        return self.group.client_ids if self.is_ordinary else self.audited.client_ids

    @lazy_property
    def silent(self) -> frozenset[str]:
        """Client ids for which no process has answered."""
        if not self.is_ordinary:
            return frozenset(self.audited.reported.silent)
        return frozenset() if self.signs & Sign.OWNED else frozenset(self.group.client_ids)

    @lazy_property
    def topics(self) -> list[str]:
        """What the group subscribes to, its retry topic included."""
        if not self.is_ordinary:
            return self.audited.with_retry
        return list(
            dict.fromkeys([*sorted(set(self.group.subscriptions)), RETRY_PREFIX + self.group.name])
        )


class SignedGroups:
    """The wanted groups of a snapshot, by name.

    Attributes
    ----------
    all : sequence of SignedGroup
    owners : ComputedOwners or None
        Who owns what in ordinary groups, and in others that might have been; None if there are
        none.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        wanted: Callable[[Group], bool],
        planned: Mapping[str, PlannedOwners] | None = None,
        seen_for: Ages | None = None,
    ) -> None:
        self._snapshot, self._planned, self._ages = snapshot, planned or {}, seen_for or {}
        self._reader, self._unknown, self._rooms = (
            ViewReader(snapshot.topics),
            Unknowns(snapshot),
            Rooms.of(snapshot),
        )
        self._units: dict[str, list[UnitViews]] = {}
        groups = sorted(filter(wanted, snapshot.groups), key=lambda one: one.name)
        signs, self.owners = signs_of(snapshot, groups, self._planned)
        self.all: Sequence[SignedGroup] = [
            SignedGroup(*one, self._audited) for one in zip(groups, signs, strict=True)
        ]
        self._lay_out([one for one in self.all if not one.is_ordinary])

    def _audited(self, one: SignedGroup) -> AuditedGroup:
        views, name = self._reader.views_of(one.group), one.group.name
        return AuditedGroup(
            **{each.name: getattr(views, each.name) for each in fields(GroupViews)},
            snapshot=self._snapshot,
            unknown=self._unknown,
            planned=self._planned.get(name),
            seen_for=self._ages.get(name, {}),
            make_units=lambda: self._units_of(one),
        )

    def _units_of(self, one: SignedGroup) -> list[UnitViews]:
        """Return the units of an ordinary group are laid out together with those of all others of
        the same signs.
        """
        if one.group.name not in self._units:
            self._lay_out([each for each in self.all if each.signs == one.signs])
        return self._units[one.group.name]

    def _lay_out(self, some: Sequence[SignedGroup]) -> None:
        """Lay out the units of groups, and compute what every client takes."""
        for one in some:
            name, audited = one.group.name, one.audited
            divides = audited.is_clustering and audited.clients
            self._units[name] = units = self._reader.units_of(audited) if divides else []
            why = self._unknown.why("clients", name) or self._unknown.why("brokers", name)
            for unit in units:
                unit.unknown = why or self._unknown.why("routes", unit.topic)
        units = [unit for one in some for unit in self._units[one.group.name]]
        divide((view for unit in units for view in unit.views), self._rooms)


class ChosenGroups(NamedTuple):
    """The groups of a snapshot that patterns choose, and which names these patterns match."""

    all: Sequence[SignedGroup]
    has_name: Callable[[str], object]
    has_topic: Callable[[str], object]
    counts_topic: Callable[
        [str], object
    ]  # of a retry topic only if a pattern begins with its prefix, as in plans
    is_whole: bool  # whether groups were not chosen by their names
    owners: ComputedOwners | None  # see `SignedGroups`


def chosen_groups(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    planned: Mapping[str, PlannedOwners] | None = None,
    seen_for: Ages | None = None,
) -> ChosenGroups:
    """Return the groups that match, and subscribe to a topic that matches."""
    subscribed = dict.fromkeys(topic for group in snapshot.groups for topic in group.subscriptions)
    chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
    chosen(topics, subscribed | by_name(snapshot.topics, "topics"), "topic", snapshot)
    has_name, has_topic = matcher(tuple(groups)), matcher(tuple(topics))

    def is_wanted(group: Group) -> bool:
        return bool(has_name(group.name)) and (
            tuple(topics) == ALL or any(map(has_topic, group.subscriptions))
        )

    has_retry = matcher(tuple(one for one in topics if one.startswith(RETRY_PREFIX)))

    def counts(topic: str) -> object:
        return (has_retry if topic.startswith(RETRY_PREFIX) else has_topic)(topic)

    signed = SignedGroups(snapshot, is_wanted, planned, seen_for)
    return ChosenGroups(
        signed.all, has_name, has_topic, counts, tuple(groups) == ALL, signed.owners
    )
