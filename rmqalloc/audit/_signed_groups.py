"""The groups of a snapshot with their signs. What each client takes is laid out for those of which
something asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup, PlannedOwners
from rmqalloc.audit._group_signs import signs_of
from rmqalloc.audit._owner_signs import ComputedOwners
from rmqalloc.audit._signs import OF_OWNERS, Sign
from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.groups_with_views import laid_groups
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import open_doubt
from rmqalloc.evidence.views.group_views import GroupViews
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.ownership.present_states import present_states
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import Group
from rmqalloc.text import matcher

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

    @property
    def doubt(self) -> str | None:
        """Why the clients may divide by something else than what is computed."""
        return open_doubt(self.group)

    @property
    def reports_owners(self) -> bool:
        """Whether a client reports what it owns, where clients divide the queues."""
        return bool(self.signs & Sign.OWNED)

    @lazy_property
    def silent(self) -> frozenset[str]:
        """Client ids for which no process has answered."""
        if not self.is_ordinary:
            return frozenset(self.audited.reported.silent)
        return frozenset() if self.reports_owners else frozenset(self.group.client_ids)

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
        Who owns what in ordinary groups, and in others that might have been, where that is
        computed; None if it is of none.
    """

    def __init__(
        self,
        known: Known,
        wanted: Callable[[Group], bool],
        with_owners: bool = False,
        planned: Mapping[str, PlannedOwners] | None = None,
        seen_for: Ages | None = None,
    ) -> None:
        snapshot = known.snapshot
        self._snapshot, self._planned, self._ages = snapshot, planned or {}, seen_for or {}
        self._laid, self._present = known.once(laid_groups), known.once(present_states)
        groups = sorted(filter(wanted, snapshot.groups), key=lambda group: group.name)
        found = signs_of(snapshot, groups, self._planned, with_owners)
        self.owners = found.owners
        self.all: Sequence[SignedGroup] = [
            SignedGroup(group, signs, self._audited)
            for group, signs in zip(groups, found.signs, strict=True)
        ]
        self._laid.lay_out(signed.group for signed in self.all if not signed.is_ordinary)

    def _audited(self, signed: SignedGroup) -> AuditedGroup:
        views, name = self._laid.views_of(signed.group), signed.group.name
        return AuditedGroup(
            **{field.name: getattr(views, field.name) for field in fields(GroupViews)},
            snapshot=self._snapshot,
            unknown=self._laid.unknown,
            planned=self._planned.get(name),
            seen_for=self._ages.get(name, {}),
            make_units=lambda: self._units_of(signed),
            states=self._present.of(signed.group),
        )

    def _units_of(self, signed: SignedGroup) -> list[UnitViews]:
        """Return the units of an ordinary group, which are laid out together with those of all
        groups of the same signs.
        """
        if not self._laid.has(signed.group):
            self._laid.lay_out(like.group for like in self.all if like.signs == signed.signs)
        return self._laid.units_of(signed.group)


class ChosenGroups(NamedTuple):
    """The groups of a snapshot that patterns choose, and which names these patterns match."""

    all: Sequence[SignedGroup]
    has_name: Callable[[str], object]
    has_topic: Callable[[str], object]
    counts_topic: Callable[
        [str], object
    ]  # of a retry topic only if a pattern begins with its prefix, as in plans
    is_whole: bool  # whether groups were not chosen by their names
    is_of_all_topics: bool  # whether no topics were chosen
    owners: ComputedOwners | None  # see `SignedGroups`


def chosen_groups(
    known: Known,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    planned: Mapping[str, PlannedOwners] | None = None,
    seen_for: Ages | None = None,
    with_owners: bool = False,
) -> ChosenGroups:
    """Return the groups that match, and subscribe to a topic that matches, ``with_owners`` or with
    their signs alone; chosen once for each snapshot where nothing is given beside this.
    """
    if planned is None and not seen_for:
        return known.once(_chosen, tuple(groups), tuple(topics), with_owners)
    return _chosen(known, groups, topics, with_owners, planned=planned, seen_for=seen_for)


def _chosen(
    known: Known,
    groups: Sequence[str],
    topics: Sequence[str],
    with_owners: bool,
    planned: Mapping[str, PlannedOwners] | None = None,
    seen_for: Ages | None = None,
) -> ChosenGroups:
    snapshot = known.snapshot
    chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
    routes, is_of_all_topics = by_name(snapshot.topics, "topics"), tuple(topics) == ALL
    if not is_of_all_topics:
        names = chain.from_iterable(group.subscriptions for group in snapshot.groups)
        chosen(topics, dict.fromkeys(names) | routes, "topic", snapshot)
    has_name, has_topic = matcher(tuple(groups)), matcher(tuple(topics))

    def is_wanted(group: Group) -> bool:
        has_wanted = is_of_all_topics or any(map(has_topic, group.subscriptions))
        return bool(has_name(group.name)) and has_wanted

    has_retry = matcher(tuple(name for name in topics if name.startswith(RETRY_PREFIX)))

    def counts_topic(topic: str) -> object:
        return (has_retry if topic.startswith(RETRY_PREFIX) else has_topic)(topic)

    signed = SignedGroups(known, is_wanted, with_owners, planned, seen_for)
    return ChosenGroups(
        all=signed.all,
        has_name=has_name,
        has_topic=has_topic,
        counts_topic=counts_topic,
        is_whole=tuple(groups) == ALL,
        is_of_all_topics=is_of_all_topics,
        owners=signed.owners,
    )
