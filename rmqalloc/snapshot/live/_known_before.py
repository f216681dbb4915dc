"""Findings of earlier readings of a cluster, with their times: parts of groups that a reading may
carry over.

Parts are compared by the numbers of their readings, never by time: clocks jump.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from rmqalloc.snapshot.live._answers import (
    Connections,
    ConsumeStats,
    GroupConfig,
    Modes,
    RunningInfo,
)
from rmqalloc.snapshot.snapshot import Broker, Group, Lag, Topic

READINGS_AFTER_A_CHANGE = 2
"""Readings after that of a change in which clients are asked again, so that a move is seen twice."""

T = TypeVar("T")


class Reported(NamedTuple, Generic[T]):
    """The value of one answer."""

    value: T
    at: float  # seconds of the Unix clock
    reading: int


@dataclass(slots=True)
class GroupBefore:
    """One group, by broker and by client id; None of a broker that does not know the group."""

    views: dict[str, Reported[Connections | None]] = field(default_factory=dict)
    stats: dict[str, Reported[ConsumeStats | None]] = field(default_factory=dict)
    infos: dict[str, Reported[RunningInfo]] = field(default_factory=dict)
    not_listed: list[str] = field(default_factory=list)
    """Brokers whose list could not be read in this reading."""
    silent: set[str] = field(default_factory=set)
    """Clients that did not answer in this reading."""
    members: Any = None
    changed_in: int = -1  # the reading that found other members than the one before
    made_from: tuple[Any, ...] | None = None
    group: Group | None = None
    lags: tuple[Lag, ...] = ()

    def listed(self, broker: str, view: Connections | None, at: float, reading: int) -> None:
        """Keep the list of one broker; clients that left it are removed from lists of other brokers
        that were not read since.
        """
        before = self.views.get(broker)
        if before is not None and before.value == view:
            view = before.value
        self.views[broker] = Reported(view, at, reading)
        if before is None or before.value is None or before.value is view:
            return
        left = _ids(before.value) - (_ids(view) if view is not None else set())
        if not left:
            return
        for name, part in self.views.items():
            if name != broker and part.reading < reading and part.value is not None:
                self.views[name] = part._replace(value=_without(part.value, left))

    def view(self, brokers: Iterable[str]) -> dict[str, Connections]:
        """Return the group as brokers know it, with the last list of a silent broker only if it has
        clients that no other list has, or none at all.
        """
        found: dict[str, Connections] = {}
        for name in brokers:
            part = self.views.get(name)
            if part is not None and part.value is not None:
                found[name] = part.value
        silent = found.keys() & set(self.not_listed)
        if not silent:
            return found
        heard: set[str] = set()
        for name in found.keys() - silent:
            heard |= _ids(found[name])
        kept = {}
        for name, view in found.items():
            ids = _ids(view)
            if name not in silent or not ids or ids - heard:
                kept[name] = view
        return kept

    def observe(
        self, view: Mapping[str, Connections], routes: tuple[Topic | None, ...], reading: int
    ) -> None:
        """Note a change if the members, or the queues that they divide, differ from those of the
        reading before.
        """
        ids: Counter[str] = Counter()
        for known in view.values():
            ids |= Counter(client.client_id for client in known.connections)
        members = frozenset(ids.items()), routes
        is_new = self.members is None and reading > 0  # in the first reading nobody knows
        if is_new or (self.members is not None and self.members != members):
            self.changed_in = reading
        self.members = members
        for gone in self.infos.keys() - ids.keys():
            del self.infos[gone]

    def is_moving(self, reading: int) -> bool:
        """Check whether queues may move because of a change."""
        return self.changed_in >= 0 and reading - self.changed_in <= READINGS_AFTER_A_CHANGE

    def current_infos(self) -> dict[str, RunningInfo]:
        """Return running infos by client id, without queues that were reported before the members
        changed, and without clients that did not answer in this reading.
        """
        found = {}
        for client_id, info in self.infos.items():
            if client_id in self.silent:
                continue
            if info.reading >= self.changed_in:
                found[client_id] = info.value
            else:
                found[client_id] = info.value._replace(owned=None, popped=())
        return found

    def of_rmqalloc(self) -> list[str]:
        """Return ids of clients whose last answer was that of a member of `rmqalloc.client`."""
        return [client_id for client_id, info in self.infos.items() if info.value.is_of_rmqalloc]

    def outdated(self) -> list[str]:
        """Return ids of clients whose owned queues were reported before the members changed."""
        infos = self._infos_with_queues().items()
        return [client_id for client_id, info in infos if info.reading < self.changed_in]

    def owned_at(self) -> dict[str, float]:
        """Return when clients reported owned queues, by client id, if that is current."""
        current = self._infos_with_queues().keys() - self.silent - set(self.outdated())
        return {client_id: self.infos[client_id].at for client_id in current}

    def stats_of(self, reading: int) -> tuple[ConsumeStats, ...]:
        """Return offsets that brokers reported in one reading: offsets of before are no lag of now."""
        parts = self.stats.values()
        return tuple(
            part.value for part in parts if part.reading == reading and part.value is not None
        )

    def _infos_with_queues(self) -> dict[str, Reported[RunningInfo]]:
        found = {}
        for client_id, info in self.infos.items():
            if info.value.owned is not None or info.value.popped:
                found[client_id] = info
        return found


@dataclass(slots=True)
class ClusterBefore:
    """Findings of all readings so far."""

    reading: int = -1
    brokers: dict[str, Broker] = field(default_factory=dict)
    own_topics: set[str] = field(default_factory=set)
    listed_at: dict[str, float] = field(default_factory=dict)
    """By broker, when a name server last listed it, on the monotonic clock."""
    unlisted: dict[str, Broker] = field(default_factory=dict)
    """Brokers that a name server listed before."""
    topics: list[str] = field(default_factory=list)
    settings: dict[str, dict[str, GroupConfig]] = field(default_factory=dict)
    modes: dict[str, Modes] = field(default_factory=dict)
    routes: dict[str, Reported[Topic | None]] = field(default_factory=dict)
    groups: dict[str, GroupBefore] = field(default_factory=dict)

    def keep_only(self, brokers: Collection[str], groups: Collection[str]) -> None:
        """Forget all other brokers and groups, and begin new groups."""
        self.groups = {name: self.groups.get(name) or GroupBefore() for name in groups}
        for by_broker in (self.settings, self.modes):
            for gone in by_broker.keys() - brokers:
                del by_broker[gone]
        for group in self.groups.values():
            group.not_listed, group.silent = [], set()
            for gone in group.views.keys() - brokers:
                del group.views[gone]
            for gone in group.stats.keys() - brokers:
                del group.stats[gone]


def _ids(view: Connections) -> set[str]:
    return {client.client_id for client in view.connections}


def _without(view: Connections, left: set[str]) -> Connections:
    kept = tuple(client for client in view.connections if client.client_id not in left)
    return view._replace(connections=kept)
