"""What readings before this one found of a cluster, with when: parts of groups that a reading may
carry over.

Parts are compared by the numbers of their readings, never by time: clocks jump.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from rmqalloc.snapshot.live._answers import Connections, GroupConfig, Modes, RunningInfo
from rmqalloc.snapshot.snapshot import Broker, Group, Lag, Topic

READINGS_AFTER_A_CHANGE = 2
"""Readings after that of a change in which clients are asked again, so that a move is seen twice."""

T = TypeVar("T")


class Reported(NamedTuple, Generic[T]):
    """What one answer said."""

    value: T
    at: float  # seconds of the Unix clock
    reading: int


Stats = tuple[list[Lag], float]


@dataclass(slots=True)
class GroupBefore:
    """One group, by broker and by client id; None of a broker that does not know the group."""

    views: dict[str, Reported[Connections | None]] = field(default_factory=dict)
    stats: dict[str, Reported[Stats | None]] = field(default_factory=dict)
    infos: dict[str, Reported[RunningInfo]] = field(default_factory=dict)
    not_listed: list[str] = field(
        default_factory=list
    )  # brokers whose list could not be read in this reading
    members: Any = None
    changed_in: int = -1  # the reading that found other members than the one before
    made_from: tuple[Any, ...] | None = None
    group: Group | None = None
    lags: tuple[Lag, ...] = ()

    def listed(self, broker: str, view: Connections | None, at: float, reading: int) -> None:
        """Take one broker's list; who has left it is taken off lists that are not read again
        meanwhile.
        """
        before = self.views.get(broker)
        if before is not None and before.value == view:
            view = before.value
        self.views[broker] = Reported(view, at, reading)
        if before is None or before.value is None or before.value is view:
            return
        left = _ids(before.value) - (_ids(view) if view is not None else set())
        if left:
            for other, part in self.views.items():
                if other != broker and part.reading < reading and part.value is not None:
                    self.views[other] = part._replace(value=_without(part.value, left))

    def view(self, brokers: Iterable[str]) -> dict[str, Connections]:
        """Return the group as brokers know it; the last list of a silent one only if others do not
        have all of its clients.
        """
        found = {
            name: part.value
            for name in brokers
            if (part := self.views.get(name)) and part.value is not None
        }
        if not any(name in found for name in self.not_listed):
            return found
        heard = {
            one for name, view in found.items() if name not in self.not_listed for one in _ids(view)
        }
        return {
            name: view for name, view in found.items() if name not in self.not_listed or not _ids(view) or _ids(view) - heard
        }  # fmt: skip

    def observe(
        self, view: Mapping[str, Connections], routes: tuple[Topic | None, ...], reading: int
    ) -> None:
        """Note whether the members, or the queues that they divide, differ from those of the
        reading before.
        """
        ids: Counter[str] = Counter()
        for one in view.values():
            ids |= Counter(c.client_id for c in one.connections)
        members = frozenset(ids.items()), routes
        is_new = (
            self.members is None and reading > 0
        )  # it appeared; in the first reading nobody knows
        if is_new or (self.members is not None and self.members != members):
            self.changed_in = reading
        self.members = members
        for gone in self.infos.keys() - ids.keys():
            del self.infos[gone]

    def is_moving(self, reading: int) -> bool:
        """Return whether queues may move because of a change."""
        return self.changed_in >= 0 and reading - self.changed_in <= READINGS_AFTER_A_CHANGE

    def current_infos(self) -> dict[str, RunningInfo]:
        """Return what clients say of themselves; queues from before a change of the members are not
        current.
        """
        return {
            name: info.value
            if info.reading >= self.changed_in
            else info.value._replace(owned=None, popped=())
            for name, info in self.infos.items()
        }

    def outdated(self) -> list[str]:
        """Return client ids of those that last said what they own before the members changed."""
        return [
            name
            for name, info in self.infos.items()
            if info.reading < self.changed_in
            and (info.value.owned is not None or info.value.popped)
        ]

    def owned_at(self) -> dict[str, float]:
        """Return when clients said what they own, of those of which it is current."""
        return {
            name: info.at
            for name, info in self.infos.items()
            if info.reading >= self.changed_in
            and (info.value.owned is not None or info.value.popped)
        }


@dataclass(slots=True)
class ClusterBefore:
    """A cluster as the readings so far found it."""

    reading: int = -1
    brokers: dict[str, Broker] = field(default_factory=dict)
    own_topics: set[str] = field(default_factory=set)
    listed_at: dict[str, float] = field(
        default_factory=dict
    )  # by broker, when a name server last had it (monotonic)
    topics: list[str] = field(default_factory=list)
    settings: dict[str, dict[str, GroupConfig]] = field(default_factory=dict)
    modes: dict[str, Modes] = field(default_factory=dict)
    routes: dict[str, Reported[Topic | None]] = field(default_factory=dict)
    groups: dict[str, GroupBefore] = field(default_factory=dict)

    def keep_only(self, brokers: Collection[str], groups: Collection[str]) -> None:
        """Forget what is no longer there; begin with the groups that are new."""
        self.groups = {name: self.groups.get(name) or GroupBefore() for name in groups}
        for by_broker in (self.settings, self.modes, self.listed_at):
            for gone in by_broker.keys() - brokers:
                del by_broker[gone]
        for one in self.groups.values():
            one.not_listed = []
            for gone in one.views.keys() - brokers:
                del one.views[gone]
            for gone in one.stats.keys() - brokers:
                del one.stats[gone]


def _ids(view: Connections) -> set[str]:
    return {one.client_id for one in view.connections}


def _without(view: Connections, left: set[str]) -> Connections:
    return view._replace(
        connections=tuple(one for one in view.connections if one.client_id not in left)
    )
