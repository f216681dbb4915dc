"""The owners at every moment of every group, computed as one fleet: every view of every moment is a
unit of it.

Ragged data are laid end to end and found by offsets:

views
    The views of all moments, group by group and moment by moment.
frames
    One unit (a group on one topic) at one moment of its group.
cells
    Queues of frames. A frame has all queues that its unit has at any moment, present or not. This
    is the invariant on which everything else rests: the cells of two frames of one unit are in the
    same order and can be compared element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Index, Offsets, Strings, list_positions, offsets_of, ranges
from rmqalloc.fleet.lists import QueueLists
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.schedule import ClientView, Mask, Moment, Schedule, Step, everyone
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.strategies import Strategy

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Replay:
    """Who reads which queue at every moment.

    Attributes
    ----------
    schedules : sequence of Schedule
        One for each group.
    moment_offsets : ndarray of int64, shape (n_groups + 1,)
        Moments of each group.
    step, is_final : ndarray, shape (n_moments,)
        Step that a moment belongs to, and whether it is the final moment of the step.
    frame_unit, frame_moment : ndarray of int64, shape (n_frames,)
        Unit of the planned groups, and moment, of every frame.
    cell_offsets : ndarray of int64, shape (n_frames + 1,)
        Cells of each frame.
    readers : ndarray of int32, shape (n, n_cells)
        Clients that read a queue, as positions in the schedule's ``client_ids``; -1 for nobody. A
        queue has two readers if the two views of a moment each give it to a client that acts, and
        more where schedules are split; one row if all moments have one view.
    there, written : ndarray of bool, shape (n_cells,)
        Whether the queue exists at that moment, and whether producers write to it.
    present, to_inform : ndarray of bool
        Moment by moment, whether each client is in the group, and whether it is to be informed of
        the step.
    n_present, n_to_inform : ndarray of int64, shape (n_moments,)
        How many these are.
    is_gradual, begins_with_one : ndarray of bool, shape (n_moments,)
        Whether clients are informed of the step one by one, and whether it begins with the first of
        them; see `Step`.
    newest : ndarray of int64, shape (n_moments,)
        Row of ``readers`` that holds the informed clients.
    hearings : list of NotificationDelay or None
        How clients are informed of steps.
    hearing : ndarray of int64, shape (n_moments,)
        Position of each moment's in ``hearings``.
    is_ordered, is_split : ndarray of bool, shape (n_groups,)
        See `GroupAtStart` and `Schedule`.
    """

    schedules: Sequence[Schedule]
    moment_offsets: Offsets
    step: Positions
    is_final: Mask
    frame_unit: Positions
    frame_moment: Positions
    cell_offsets: Offsets
    readers: Index
    there: Mask
    written: Mask
    present: Mask
    to_inform: Mask
    n_present: Positions
    n_to_inform: Positions
    is_gradual: Mask
    begins_with_one: Mask
    newest: Positions
    hearings: list[NotificationDelay | None]
    hearing: Positions
    is_ordered: Mask
    is_split: Mask

    @property
    def group_of_moment(self) -> Positions:
        """Position of each moment's group."""
        return np.repeat(np.arange(len(self.schedules)), np.diff(self.moment_offsets))


class _Views:
    """The views of all schedules as columns."""

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        moments: list[Moment] = []
        steps: list[Step] = []  # of each moment, as the next two
        numbers: list[int] = []
        to_inform: list[Mask] = []
        n_moments_of: list[int] = []
        for schedule in schedules:
            first = len(moments)
            nobody = ~everyone(len(schedule.client_ids))
            for number, step in enumerate(schedule.steps):
                n_moments = len(step.moments)
                informed = nobody if step.to_inform is None else step.to_inform
                moments += step.moments
                steps += [step] * n_moments
                numbers += [number] * n_moments
                to_inform += [informed] * n_moments
            n_moments_of.append(len(moments) - first)
        views = list(chain.from_iterable(moment.views for moment in moments))
        self.step = np.array(numbers, np.int64)
        self.is_final = np.array([moment.is_final for moment in moments], bool)
        self.there = np.array([moment.there for moment in moments], np.int64)
        self.written = np.array([moment.written for moment in moments], np.int64)
        self.moment_offsets = offsets_of(n_moments_of)
        n_views_of = np.array([len(moment.views) for moment in moments], np.int64)
        self.moment = np.repeat(np.arange(len(moments)), n_views_of)
        self.row = list_positions(offsets_of(n_views_of)).astype(np.int64)
        self.rule = np.array([view.rule for view in views], np.int64)
        self.queues = np.array([view.queues for view in views], np.int64)
        self.offsets = offsets_of(n_views_of)[self.moment_offsets]  # of the views of each group
        self.newest = n_views_of - 1
        present = [moment.views[0].listed for moment in moments]
        self.present, self.to_inform = np.concatenate(present), np.concatenate(to_inform)
        self.n_present, self.n_to_inform = _counts(present), _counts(to_inform)
        self.is_gradual = np.array([step.to_inform is not None for step in steps], bool)
        self.begins_with_one = np.array([step.begins_with_one for step in steps], bool)
        self.hearings = list(dict.fromkeys(step.hearing for step in steps))
        hearing = [self.hearings.index(step.hearing) for step in steps]
        self.hearing = np.array(hearing, np.int64)
        self._lay_clients(schedules, views)

    def _lay_clients(self, schedules: Sequence[Schedule], views: Sequence[ClientView]) -> None:
        """Client lists of all views, as rows of the clients of all schedules laid end to end."""
        ids = chain.from_iterable(schedule.client_ids for schedule in schedules)
        rooms = chain.from_iterable(schedule.rooms for schedule in schedules)
        self.ids = Strings.from_list(list(ids))
        self.rooms = np.array(list(rooms), np.int32)
        self.client_offsets = offsets_of([len(schedule.client_ids) for schedule in schedules])
        listed = [np.flatnonzero(view.listed) for view in views]
        acting = [view.acting[clients] for view, clients in zip(views, listed, strict=True)]
        sizes = np.array([clients.size for clients in listed], np.int64)
        of_group = np.repeat(np.arange(len(schedules)), np.diff(self.offsets))
        self.positions = np.concatenate([np.zeros(0, np.int64), *listed])
        self.rows = self.positions + np.repeat(self.client_offsets[of_group], sizes)
        self.acting = np.concatenate([np.zeros(0, bool), *acting])
        self.list_offsets = offsets_of(sizes)


def _counts(masks: Sequence[Mask]) -> Positions:
    """Return how many each mask has."""
    return np.array([np.count_nonzero(mask) for mask in masks], np.int64)


class _ViewFleet(NamedTuple):
    """The views of planned units as units of a fleet.

    Attributes
    ----------
    fleet : Fleet
    unit, view : ndarray of int64, shape (n_units,)
        Planned unit, and view, that each unit is.
    positions : ndarray of int64
        Position of each queue in its planned unit.
    """

    fleet: Fleet
    unit: Positions
    view: Positions
    positions: Positions


def replay_of(
    planned: PlannedGroups,
    schedules: Sequence[Schedule],
    rules: Sequence[Strategy] = (),
    variants: Sequence[Mask] = (),
) -> Replay:
    """Compute who reads what at every moment."""
    base, views = planned.fleet, _Views(schedules)
    n_moments = np.diff(views.moment_offsets)[planned.group_of]
    frame_unit = np.repeat(np.arange(base.n_units), n_moments)
    frame_moment = ranges(views.moment_offsets[planned.group_of], n_moments)
    n_cells = base.n_queues[frame_unit]
    cell_offsets = offsets_of(n_cells.astype(np.int64))
    exist = np.stack([np.ones(int(base.queue_lists.offsets[-1]), bool), *variants])
    fleet, unit, view, positions = _fleet(planned, views, exist)
    owners, _ = Assigner(fleet).owners(fleet, _rules(planned.rules, rules, views.rule[view], unit))

    first_frame = offsets_of(n_moments)[:-1] - views.moment_offsets[planned.group_of]
    frame = first_frame[unit] + views.moment[view]
    cells = np.repeat(cell_offsets[frame], fleet.n_queues) + positions
    readers = np.full((int(views.row.max()) + 1, int(cell_offsets[-1])), -1, np.int32)
    readers[np.repeat(views.row[view], fleet.n_queues), cells] = _acting(fleet, views, owners)

    queues = ranges(base.queue_starts[frame_unit], n_cells)
    there = exist[np.repeat(views.there[frame_moment], n_cells), queues]
    are_written = np.stack([planned.written, *variants])
    written = are_written[np.repeat(views.written[frame_moment], n_cells), queues]
    readers[:, ~there] = -1  # a client with an old route may read a queue that no longer exists
    return Replay(
        schedules=schedules,
        moment_offsets=views.moment_offsets,
        step=views.step,
        is_final=views.is_final,
        frame_unit=frame_unit,
        frame_moment=frame_moment,
        cell_offsets=cell_offsets,
        readers=readers,
        there=there,
        written=written & there,
        present=views.present,
        to_inform=views.to_inform,
        n_present=views.n_present,
        n_to_inform=views.n_to_inform,
        is_gradual=views.is_gradual,
        begins_with_one=views.begins_with_one,
        newest=views.newest,
        hearings=views.hearings,
        hearing=views.hearing,
        is_ordered=np.array([group.is_ordered for group in planned.groups], bool),
        is_split=np.array([schedule.is_split for schedule in schedules], bool),
    )


def _fleet(planned: PlannedGroups, views: _Views, masks: NDArray[np.bool_]) -> _ViewFleet:
    """Return a unit for every unit and view."""
    base = planned.fleet
    n_views = np.diff(views.offsets)[planned.group_of]
    unit = np.repeat(np.arange(base.n_units, dtype=np.int64), n_views)
    view = ranges(views.offsets[planned.group_of], n_views)
    lists = queue_lists = base.queue_lists
    positions = list_positions(lists.offsets)
    if len(masks) > 1:
        queue_lists, columns = _variants(lists, masks)
        positions = positions[columns]
    first_list = views.queues[view] * (lists.offsets.size - 1)  # of each variant
    rooms = None if base.client_lists.slot_room is None else views.rooms[views.rows]
    clients = Derived((views.ids,), views.rows)
    fleet = replaced(
        base,
        consumer_groups=base.consumer_groups.take_unchecked(unit),
        unit_topic=base.unit_topic[unit],
        unit_queue_list=(first_list + base.unit_queue_list[unit]).astype(np.int32),
        unit_client_list=view.astype(np.int32),
        queue_lists=queue_lists,
        client_lists=DistinctLists.of_slots(views.list_offsets, clients, rooms),
    )
    return _ViewFleet(fleet, unit, view, positions[fleet.queue_places()].astype(np.int64))


def _variants(lists: QueueLists, masks: NDArray[np.bool_]) -> tuple[QueueLists, Positions]:
    """Return all lists in the first variant, then all in the second and so on; also the original
    position of each queue.
    """
    sizes = [np.diff(np.append(0, np.cumsum(mask))[lists.offsets]) for mask in masks]
    positions = np.concatenate([np.flatnonzero(mask) for mask in masks])
    return lists.rearranged(positions, offsets_of(np.concatenate(sizes))), positions


def _rules(rules: Rules, more: Sequence[Strategy], number: Positions, unit: Positions) -> Rules:
    """Return the strategy of every view: that of its unit, or one that the rollout adds."""
    of_unit = np.where(number == 0, rules.of_unit[unit], len(rules.table) - 1 + number)
    return Rules((*rules.table, *more), of_unit.astype(np.int32))


def _acting(fleet: Fleet, views: _Views, owners: Index) -> Index:
    """Return owners as positions in the schedules' client ids; -1 if the owner is listed in the
    view but does not act on it.
    """
    slots = np.repeat(fleet.slot_starts, fleet.n_queues) + owners
    reads = owners >= 0
    reads[reads] = views.acting[slots[reads]]
    found = np.full(owners.size, -1, np.int32)
    found[reads] = views.positions[slots[reads]]
    return found
