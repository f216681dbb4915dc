"""The owners now: the reported ones, or those by strategy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence import Known
from rmqalloc.fleet.columns import ranges
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.ownership.present_states import present_states
from rmqalloc.ownership.queue_states import REPORTED, OwnerStates
from rmqalloc.rollouts.planned_groups import PlannedGroups


@dataclass(frozen=True, eq=False)
class Present:
    """Owners of all queues of the planned groups.

    ``actual`` holds positions in the group's client ids, -1 for unowned: as reported if all clients
    of a group report, else by strategy. A queue that several report is the first one's.
    """

    planned: PlannedGroups
    actual: NDArray[np.int32]
    is_actual: NDArray[np.bool_]  # by group

    def units_of(self, group: int) -> NDArray[np.int64]:
        """Return the units of a group."""
        first, stop = np.searchsorted(self.planned.group_of, [group, group + 1])
        return np.arange(first, stop)

    def cells_of(self, group: int) -> slice:
        """Return the slice of a group's queues in ``actual``."""
        units, offsets = self.units_of(group), self.planned.fleet.queue_offsets
        return slice(int(offsets[units[0]]), int(offsets[units[-1] + 1]))

    def loads_of(self, group: int) -> NDArray[np.int64]:
        """Return the queues of every client of a group by its strategy, over all topics."""
        owners = self.planned.owners[self.cells_of(group)]
        n_clients = len(self.planned.groups[group].client_ids)
        return np.bincount(owners[owners >= 0], minlength=n_clients)

    def work_of(self, group: int) -> NDArray[np.int64]:
        """Return the queues of every client that give it work: written ones, of any topic but the
        retry topic.
        """
        fleet, units = self.planned.fleet, self.units_of(group)
        n_queues = fleet.n_queues[units]
        owners = self.planned.owners[self.cells_of(group)]
        is_written = self.planned.written[ranges(fleet.queue_starts[units], n_queues)]
        topics = [fleet.topic(unit) for unit in units.tolist()]
        is_retry = np.array([topic.startswith(RETRY_PREFIX) for topic in topics])
        gives = (owners >= 0) & is_written & ~np.repeat(is_retry, n_queues)
        n_clients = len(self.planned.groups[group].client_ids)
        return np.bincount(owners[gives], minlength=n_clients)


def present_of(known: Known, planned: PlannedGroups) -> Present:
    """Return who owns which queue."""
    by_name = {group.name: group for group in known.snapshot.groups}
    actual, is_actual = planned.owners.copy(), np.zeros(len(planned.groups), bool)
    present, states = Present(planned, actual, is_actual), known.once(present_states)
    for number, start in enumerate(planned.groups):
        group = by_name[start.consumer_group]
        reported = _reported(present, number, states.of(group))
        if reported is not None:
            is_actual[number] = True
            actual[present.cells_of(number)] = reported
    return present


def _reported(present: Present, number: int, states: OwnerStates) -> list[int] | None:
    """Return the owners of a group's queues as its clients report them, of a retry topic that they
    do not report by strategy; None unless those of all other queues are reported.
    """
    client_ids = present.planned.groups[number].client_ids
    position = {client_id: place for place, client_id in enumerate(client_ids)}
    fleet, found, is_reported = present.planned.fleet, list[int](), False
    for unit in present.units_of(number).tolist():
        topic = fleet.topic(unit)
        if topic.startswith(RETRY_PREFIX) and not states.reports(topic):
            cells = slice(*fleet.queue_offsets[unit : unit + 2].tolist())
            found += present.planned.owners[cells].tolist()
            continue
        of_topic, is_reported = states.of_unit(topic), True
        for queue in fleet.queues_of(unit):
            state = of_topic[queue]
            if state.known != REPORTED:
                return None
            found.append(min((position[name] for name in states.ids(state.slots)), default=-1))
    return found if is_reported else None
