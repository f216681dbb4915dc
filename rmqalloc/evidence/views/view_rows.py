"""Consumer groups as rows that the evaluator reads, one row per view: ordinary units first, then
further views of mixed units.

The row of a unit is its main view: the group's own strategy, the route of the name server and the
whole client list. Clients that join have this view. If all clients have it, the unit has only this
row. If not, the unit is mixed: every further view is a row behind all units, and each row lists the
clients that act on it. Clients of several languages that divide alike now, but not by a strategy
that a scenario will set, have rows of their own, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.client_method import are_plain, divide_otherwise, method_of, reporting
from rmqalloc.evidence.other_dialects import (
    DialectDifferences,
    dialect_to_join,
    dialects_in,
    method_set,
)
from rmqalloc.evidence.views.group_views import GroupViews, ViewReader
from rmqalloc.evidence.views.owned_as_computed import OwnedAsComputed
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.evidence.views.unit_views import SlotsByQueue, UnitViews
from rmqalloc.evidence.views.view import View
from rmqalloc.evidence.views.without_owners import Sharing, as_read, sharing_of
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import batch_of, plain_pairs, unit_pairs
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies.dialects import JAVA

Pair = tuple[Group, Topic]


@dataclass(frozen=True)
class MixedRows:
    """The rows of mixed units."""

    # Row of the main view, by the row of every view; main views are among them
    unit_of: dict[int, int] = field(default_factory=dict)
    # By row, the slots of the clients that act on it
    acting: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # Rows on which clients act that join: those of the main strategy and route, one for each client
    # list
    joining: set[int] = field(default_factory=set)
    # By the main row of a unit, its client ids by slot; an id that is listed twice stands for two
    # clients
    client_ids: dict[int, list[str]] = field(default_factory=dict)
    # By main row, the client lists that brokers may give to a client. Of several it gets one by
    # chance, so a client acts on a row for each.
    n_lists: dict[int, int] = field(default_factory=dict)
    # By main row, the slots of the clients that subscribe to the topic
    subscribed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # Rows whose client list lacks clients of the group, or has an id less often
    partial: set[int] = field(default_factory=set)
    # By row, how clients share the queues, where these have several readers
    shared: dict[int, Sharing] = field(default_factory=dict)
    # By main row, the slots of the clients that report each queue, where all clients report and it
    # may not be what they compute
    reported: dict[int, SlotsByQueue] = field(default_factory=dict)
    # By main row, where clients report, the slots of those for which another client of their id
    # reports
    silent_twins: dict[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class ViewUnits:
    """What can be planned of a snapshot."""

    # As `rmqalloc.snapshot.units.units_of` makes it, with further views behind the units
    batch: pa.RecordBatch
    n_units: int  # rows that are units
    mixed: MixedRows
    # By row, the dialect in which its clients compute a strategy that the group is given, where it
    # is not Java's and that makes a difference
    dialects: dict[int, str]
    warnings: tuple[str, ...]  # subscriptions to topics without queues

    @property
    def units(self) -> pa.RecordBatch:
        """The rows that are units."""
        return self.batch.slice(0, self.n_units)


def view_units(
    snapshot: Snapshot,
    groups: Sequence[str],
    topics: Sequence[str],
    with_retry: bool = False,
    joining: Mapping[str, int] | None = None,
    to_set: Iterable[tuple[str, Mapping[str, Any] | None]] = (),
    is_answered: Callable[[Group, list[str]], bool] | None = None,
) -> ViewUnits:
    """Read the views of groups; ``is_answered`` as for `unit_pairs`."""
    pairs, warnings = unit_pairs(snapshot, groups, topics, with_retry, is_answered)
    differences = DialectDifferences([method_set(name, params) for name, params in to_set])
    reading = _Reading(pairs, differences, Unknowns(snapshot))
    joining = joining or {}
    twice = any(n > 1 for n in joining.values())
    last, is_mixed, joins, is_shared, reports = None, False, False, False, False
    dialect, others = JAVA, list[str]()
    for row, (group, topic) in enumerate(pairs):
        if group is not last:
            last, is_mixed, is_shared = group, differ(group), sharing_of(group) is not None
            joins = twice or (bool(joining) and not joining.keys().isdisjoint(group.client_ids))
            reports = not is_shared and reading.owned.is_known(group)
            dialect, *others = [JAVA] if is_shared else reading.dialects_of(group)
        otherwise = reports and (is_mixed or reading.owned.otherwise(group, topic))
        if dialect != JAVA:
            reading.dialects[row] = dialect
        if joins or is_mixed or others or otherwise or is_shared:
            reading.add(row, even_if_plain=joins or is_shared, with_reported=otherwise)
    batch = batch_of([*reading.units, *reading.more])
    return ViewUnits(batch, len(pairs), reading.rows, reading.dialects, warnings)


def plain_units(groups: Iterable[Group], topics: Iterable[Topic]) -> ViewUnits:
    """Read groups that do not `differ`, divide their queues, and report no owners: every unit has
    its main view alone.
    """
    pairs = plain_pairs(groups, topics)
    return ViewUnits(batch_of(pairs), len(pairs), MixedRows(), {}, ())


def differ(group: Group) -> bool:
    """Return True if clients of a group may have other views than its main view, or if several
    clients share an id.
    """
    clients = group.clients
    if group.broker_client_ids is not None or not clients:
        return group.broker_client_ids is not None
    # Asked of every group of a fleet: a set is quicker than a generator.
    if {client.sees_read_queue_nums is None for client in clients} != {True}:
        return True
    if len({client.client_id for client in clients}) < len(clients):
        return True
    if not reporting(group) and {client.subscriptions for client in clients} == {None}:
        return False  # as most groups of a file
    return _subscribe_otherwise(group) or (not are_plain(group) and divide_otherwise(group))


def _subscribe_otherwise(group: Group) -> bool:
    """Return True if a client reports that it does not subscribe to a topic that the group or
    another client subscribes to.
    """
    reported = {client.subscriptions for client in group.clients} - {None}
    if not reported - {group.subscriptions}:
        return False
    topics = set(group.all_subscriptions)
    return any(not topics.issubset(subscribed or ()) for subscribed in reported)


class _Reading:
    """Reads units that may be mixed, and keeps the rows of those that are."""

    def __init__(self, pairs: Sequence[Pair], apart: DialectDifferences, unknown: Unknowns) -> None:
        self.units, self.more, self.rows = list(pairs), list[Pair](), MixedRows()
        self.dialects: dict[int, str] = {}
        self._apart = apart
        self._reader = ViewReader([topic for _, topic in pairs])
        self._groups: dict[str, tuple[GroupViews, ReportedOwners]] = {}
        self.owned = OwnedAsComputed(unknown)

    def dialects_of(self, group: Group) -> list[str]:
        """Return the dialects of a group that make a difference: that of clients that join, then
        others that clients have.
        """
        if not self._apart.any_strategy:
            return [JAVA]
        own = {client.language: client for client in group.clients}.values()
        dialects = dict.fromkeys([dialect_to_join(group), *dialects_in(group, own)])
        apart = {JAVA: JAVA} if [*dialects] == [JAVA] else self._apart.among(group)
        return list(dict.fromkeys(apart[dialect] for dialect in dialects))

    def add(self, row: int, even_if_plain: bool, with_reported: bool) -> None:
        """Read the views of a unit, and the owners that its clients report."""
        group, topic = self.units[row]
        if group.name not in self._groups:
            self._groups[group.name] = self._views_of(group)
        found, reported = self._groups[group.name]
        unit = self._reader.unit_of(found, topic.name)
        if unit is None:
            return
        views = _ViewsOfUnit(found, unit, self.dialects.get(row, JAVA))
        # The strategy of a group that explains all owners says nothing of clients that divide by
        # another one.
        is_known = with_reported and reported.reports(unit)
        is_known = is_known and (not views.is_plain or self.owned.otherwise(group, topic))
        owners = reported.owners(unit) if is_known else None
        if views.is_plain and owners is None and not even_if_plain:
            return
        self.units[row] = found.whole, topic
        rows = self.rows
        rows.client_ids[row] = found.client_ids
        subscribed = chain.from_iterable(slots for _, slots in unit.options)
        rows.subscribed[row] = tuple(sorted(subscribed))
        rows.n_lists[row] = len(views.lists)
        rows.unit_of[row], rows.acting[row] = row, ()
        if owners is not None:
            rows.reported[row] = owners
            rows.silent_twins[row] = reported.silent_twins
        sharing = sharing_of(group)
        if sharing is not None and sharing.pop_share is not None and not unit.is_pop:
            sharing = None  # brokers do not share a retry topic by POP
        if sharing is not None:
            rows.shared[row] = sharing  # also where nobody has the main view
        for view in views:
            at = row
            if not views.is_main(view):
                at = len(self.units) + len(self.more)
                self.more.append(_pair_of(view, found, topic))
                if view.dialect != JAVA:
                    self.dialects[at] = view.dialect
            rows.unit_of[at] = row
            rows.acting[at] = tuple(unit.acting.get(id(view), ()))
            if views.is_joining(view):
                rows.joining.add(at)
            if not views.is_whole(view):
                rows.partial.add(at)
            if sharing is not None:
                rows.shared[at] = sharing

    def _views_of(self, group: Group) -> tuple[GroupViews, ReportedOwners]:
        found = self._reader.views_of(group, self._apart.among(group))
        if (sharing := sharing_of(group)) is not None:
            found = self._reader.views_of(as_read(group, sharing, found.clients))
        return found, ReportedOwners(found.clients)


class _ViewsOfUnit:
    """The views of a unit beside its main view, and those that clients will have that join."""

    def __init__(self, found: GroupViews, unit: UnitViews, dialect: str) -> None:
        self._main = method_of(found.group, Client(""))
        self._queues, self._dialect = unit.queues, dialect
        if unit.is_pop:
            self._main = replace(self._main, pop_share=found.group.pop_share_queue_num)
        self._everyone = found.everyone
        self.lists = found.client_lists(unit.topic)
        usual = {view.client_ids for view in unit.views if self._is_usual(view)}
        names = found.group.name, unit.topic
        joined = [
            View(*names, self._main, self._queues, ids, dialect=dialect)
            for ids in self.lists
            if ids not in usual
        ]
        self._views = [*unit.views, *joined]
        n = len(self._everyone)
        n_ids, n_listed = len(set(self._everyone)), len(found.group.clients)
        one_view = all(map(self.is_main, self._views))
        self.is_plain = one_view and unit.n_subscribers == n == n_ids == n_listed

    def __iter__(self) -> Iterator[View]:
        return iter(self._views)

    def _is_usual(self, view: View) -> bool:
        return (view.method, view.queues, view.dialect) == (self._main, self._queues, self._dialect)

    def is_main(self, view: View) -> bool:
        """Return True for the main view of the unit."""
        return self._is_usual(view) and self.is_whole(view)

    def is_whole(self, view: View) -> bool:
        """Return True if the client list of a view has all clients."""
        return view.client_ids == self._everyone

    def is_joining(self, view: View) -> bool:
        """Return True if clients that join may have this view."""
        return self._is_usual(view) and view.client_ids in self.lists


def _pair_of(view: View, found: GroupViews, topic: Topic) -> Pair:
    """Return a group and a topic that as a row give that view."""
    brokers = topic.brokers
    if view.read_queue_nums is not None:
        rooms = {broker.broker_name: broker.machine_room for broker in brokers}
        seen = view.read_queue_nums.items()
        brokers = tuple(TopicBroker(name, n, machine_room=rooms.get(name)) for name, n in seen)
    method = view.method
    own = replace(
        found.group,
        clients=found.clients_of(view.client_ids),
        strategy=method.name,
        strategy_params=dict(method.params),
    )
    return own, Topic(topic.name, brokers)
