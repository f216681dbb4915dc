"""The groups of a snapshot with the views of their clients, and what each client takes by them.

Views are laid out once for each snapshot, for whoever asks first.
"""

from __future__ import annotations

from collections.abc import Iterable

from rmqalloc.evaluation.shares import divide
from rmqalloc.evidence import Known
from rmqalloc.evidence.method import Rooms
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.views.group_views import GroupViews, ViewReader
from rmqalloc.views.unit_views import UnitViews


class LaidGroups:
    """Views of groups, by name.

    Attributes
    ----------
    unknown : Unknowns
        What the snapshot does not know.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.unknown = Unknowns(snapshot)
        self._reader, self._rooms = ViewReader(snapshot.topics), Rooms.of(snapshot)
        self._views: dict[str, GroupViews] = {}
        self._units: dict[str, list[UnitViews]] = {}

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
        """Return whether what the clients of a group take is computed already."""
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
        units = [unit for group in new for unit in self._units[group.name]]
        divide((view for unit in units for view in unit.views), self._rooms)


def laid_groups(known: Known) -> LaidGroups:
    """Return the views of the groups of a snapshot; see `Known.once`."""
    return LaidGroups(known.snapshot)
