"""Groups of a snapshot with the views of their clients, and the queues that each client takes by
its view.

Views are computed once for each snapshot, on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.evidence import Known
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.evidence.views.group_views import GroupViews, ViewReader
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.evidence.views.view import Shares, View
from rmqalloc.fleet import Fleet
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies import Pop, Strategy


class GroupsWithViews:
    """Views of groups, by name.

    Attributes
    ----------
    unknown : Unknowns
        What the snapshot does not know.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.unknown = Unknowns(snapshot)
        self._snapshot = snapshot
        self._views: dict[str, GroupViews] = {}
        self._units: dict[str, list[UnitViews]] = {}

    @lazy_property
    def _reader(self) -> ViewReader:
        return ViewReader(self._snapshot.topics)

    @lazy_property
    def _rooms(self) -> Rooms:
        return Rooms.of(self._snapshot)

    def views_of(self, group: Group) -> GroupViews:
        """Return the views of a group; nothing is computed."""
        if group.name not in self._views:
            self._views[group.name] = self._reader.views_of(group)
        return self._views[group.name]

    def units_of(self, group: Group) -> list[UnitViews]:
        """Return the units of a group, one per topic with queues, with what every client takes;
        none if the group has no clients or they do not divide the queues.
        """
        if not self.has(group):
            self.lay_out([group])
        return self._units[group.name]

    def has(self, group: Group) -> bool:
        """Return whether the queues that the clients of a group take are computed already."""
        return group.name in self._units

    def lay_out(self, groups: Iterable[Group]) -> None:
        """Compute what the clients of groups take, all of them at once."""
        new = [group for group in groups if not self.has(group)]
        for group in new:
            views = self.views_of(group)
            divides = views.is_clustering and views.clients
            self._units[group.name] = self._reader.units_of(views) if divides else []
            why = self.unknown.why("clients", group.name) or self.unknown.why("brokers", group.name)
            for unit in self._units[group.name]:
                unit.unknown = why or self.unknown.why("routes", unit.topic)
        units = chain.from_iterable(self._units[group.name] for group in new)
        if new:
            divide(chain.from_iterable(unit.views for unit in units), self._rooms)


def laid_groups(known: Known) -> GroupsWithViews:
    """Return the views of the groups of a snapshot; see `Known.once`."""
    return GroupsWithViews(known.snapshot)


# Compute in bulk which queues every client takes by its views.
#
# CONFIG gives every client its own list, and POP shares queues: neither has one owner per queue. All
# other views are assigned as one fleet.


def divide(views: Iterable[View], rooms: Rooms) -> None:
    """Compute the shares of views, or state their problem; all views of one method are assigned as
    one fleet.
    """
    by_method: dict[Method, list[View]] = {}
    for view in views:
        by_method.setdefault(view.method, []).append(view)
    for method, views_alike in by_method.items():
        units = [view for view in views_alike if view.queues and view.client_ids]
        try:
            _divide(method, units, rooms)
        except Error as error:
            for view in views_alike:
                view.problem = str(error)


def _divide(method: Method, views: Sequence[View], rooms: Rooms) -> None:
    if method.problem is not None:
        raise ArgumentError(method.problem)
    if method.is_config:
        _list(method.listed(), views)
        return
    strategy = method.strategy()
    fleet = Fleet.from_groups(
        (view.consumer_group, view.topic, view.queues, view.client_ids) for view in views
    )
    if method.asks_for_rooms:
        fleet = rooms.put_into(fleet)
    if method.pop_share is not None:
        _share(Pop(strategy, method.pop_share), fleet, views)
    else:
        _own(strategy, fleet, views)


def _list(lists: Mapping[str | None, list[MessageQueue]], views: Sequence[View]) -> None:
    """Share by CONFIG: a client takes what its list has of the topic; one without a list takes the
    list for all.
    """
    by_topic: dict[str, dict[str | None, set[MessageQueue]]] = {}
    for client_id, queues in lists.items():
        for queue in queues:
            by_topic.setdefault(queue.topic, {}).setdefault(client_id, set()).add(queue)
    for view in views:
        listed = by_topic.get(view.topic, {})
        view.shares = {}
        for client_id in view.client_ids:
            if client_id in listed:
                view.shares[client_id] = listed[client_id]
            elif None in listed and client_id not in lists:
                view.shares[client_id] = listed[None]


def _own(strategy: Strategy, fleet: Fleet, views: Sequence[View]) -> None:
    assigned, bad = Assigner(fleet).owners(fleet, Rules.same(strategy, fleet.n_units))
    owners, offsets = assigned.tolist(), fleet.queue_offsets.tolist()
    for view, (start, stop) in zip(views, pairwise(offsets), strict=True):
        shares: Shares = {}
        for queue, owner in zip(view.queues, owners[start:stop], strict=True):
            if owner >= 0:
                shares.setdefault(view.client_ids[owner], set()).add(queue)
        view.shares = shares
    for unit, reason in bad.items():
        views[unit].problem = reason.text


def _share(strategy: Pop, fleet: Fleet, views: Sequence[View]) -> None:
    shared = strategy.share_fleet(fleet, on_error="report")
    positions = shared.queues.tolist()
    bounds_of_slots = pairwise(shared.offsets.tolist())
    for view, is_whole in zip(views, shared.whole_broker.tolist(), strict=True):
        view.is_for_anyone = is_whole
        for client_id, (start, stop) in zip(view.client_ids, bounds_of_slots, strict=False):
            queues = view.shares.setdefault(client_id, set())
            if is_whole:
                queues.update(view.queues)
            else:
                queues.update(view.queues[place] for place in positions[start:stop])
