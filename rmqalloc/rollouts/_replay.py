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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Index, Offsets, Strings, list_positions, offsets_of, ranges
from rmqalloc.fleet.lists import QueueLists
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.schedule import Mask, Schedule, everyone
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
        steps = [
            (number, step) for schedule in schedules for number, step in enumerate(schedule.steps)
        ]
        moments = [moment for _, step in steps for moment in step.moments]
        views = [view for moment in moments for view in moment.views]
        self.step = np.array([number for number, step in steps for _ in step.moments], np.int64)
        self.is_final = np.array([moment.is_final for moment in moments], bool)
        self.there = np.array([moment.there for moment in moments], np.int64)
        self.written = np.array([moment.written for moment in moments], np.int64)
        self.moment_offsets = offsets_of(
            [sum(len(step.moments) for step in schedule.steps) for schedule in schedules]
        )
        n_views_of = np.array([len(moment.views) for moment in moments], np.int64)
        self.moment = np.repeat(np.arange(len(moments)), n_views_of)
        self.row = list_positions(offsets_of(n_views_of)).astype(np.int64)
        self.rule = np.array([view.rule for view in views], np.int64)
        self.queues = np.array([view.queues for view in views], np.int64)
        self.offsets = offsets_of(n_views_of)[self.moment_offsets]  # of the views of each group
        self.newest = n_views_of - 1
        present = [moment.views[0].listed for moment in moments]
        to_inform = [
            ~everyone(len(schedule.client_ids)) if step.to_inform is None else step.to_inform
            for schedule in schedules for step in schedule.steps for _ in step.moments
        ]  # fmt: skip
        self.present, self.to_inform = np.concatenate(present), np.concatenate(to_inform)
        self.n_present, self.n_to_inform = (
            np.array([np.count_nonzero(one) for one in some], np.int64)
            for some in (present, to_inform)
        )
        self.is_gradual = np.array(
            [step.to_inform is not None for _, step in steps for _ in step.moments], bool
        )
        self.begins_with_one = np.array(
            [step.begins_with_one for _, step in steps for _ in step.moments], bool
        )
        of_moment = [step.hearing for _, step in steps for _ in step.moments]
        self.hearings = list(dict.fromkeys(of_moment))
        self.hearing = np.array([self.hearings.index(one) for one in of_moment], np.int64)
        self._lay_clients(schedules, [(view.listed, view.acting) for view in views])

    def _lay_clients(self, schedules: Sequence[Schedule], masks: list[tuple[Mask, Mask]]) -> None:
        """Client lists of all views, as rows of the clients of all schedules laid end to end."""
        self.ids = Strings.from_list([one for schedule in schedules for one in schedule.client_ids])
        self.rooms = np.array([room for schedule in schedules for room in schedule.rooms], np.int32)
        self.client_offsets = offsets_of([len(schedule.client_ids) for schedule in schedules])
        listed = [np.flatnonzero(one) for one, _ in masks]
        of_group = np.repeat(np.arange(len(schedules)), np.diff(self.offsets))
        sizes = np.array([one.size for one in listed], np.int64)
        nothing = np.zeros(0, np.int64)
        self.positions = np.concatenate([nothing, *listed])
        self.rows = self.positions + np.repeat(self.client_offsets[of_group], sizes)
        self.acting = np.concatenate(
            [
                nothing.astype(bool),
                *(acting[one] for (_, acting), one in zip(masks, listed, strict=True)),
            ]
        )
        self.list_offsets = offsets_of(sizes)


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
    cell_offsets = offsets_of(base.n_queues[frame_unit].astype(np.int64))
    masks = np.stack([np.ones(int(base.queue_lists.offsets[-1]), bool), *variants])
    fleet, unit, view, positions = _fleet(planned, views, masks)
    owners, _ = Assigner(fleet).owners(fleet, _rules(planned.rules, rules, views.rule[view], unit))

    first_frame = offsets_of(n_moments)[:-1] - views.moment_offsets[planned.group_of]
    frame = first_frame[unit] + views.moment[view]
    cells = np.repeat(cell_offsets[frame], fleet.n_queues) + positions
    readers = np.full((int(views.row.max()) + 1, int(cell_offsets[-1])), -1, np.int32)
    readers[np.repeat(views.row[view], fleet.n_queues), cells] = _acting(fleet, views, owners)

    column = ranges(base.queue_starts[frame_unit], base.n_queues[frame_unit])
    there, written = (
        of[np.repeat(variant[frame_moment], base.n_queues[frame_unit]), column]
        for of, variant in (
            (masks, views.there),
            (np.stack([planned.written, *variants]), views.written),
        )
    )
    readers[:, ~there] = -1  # a client with an old route may read a queue that no longer exists
    return Replay(
        schedules, views.moment_offsets, views.step, views.is_final, frame_unit, frame_moment, cell_offsets, readers,
        there, written & there, views.present, views.to_inform, views.n_present, views.n_to_inform, views.is_gradual,
        views.begins_with_one, views.newest, views.hearings, views.hearing,
        np.array([group.is_ordered for group in planned.groups], bool),
        np.array([schedule.is_split for schedule in schedules], bool),
    )  # fmt: skip


def _fleet(
    planned: PlannedGroups, views: _Views, masks: NDArray[np.bool_]
) -> tuple[Fleet, Positions, Positions, Positions]:
    """Return a unit for every unit and view; also which these are, and the position of each of its
    queues in the planned unit.
    """
    base = planned.fleet
    n_views = np.diff(views.offsets)[planned.group_of]
    unit = np.repeat(np.arange(base.n_units, dtype=np.int64), n_views)
    view = ranges(views.offsets[planned.group_of], n_views)
    lists, positions = base.queue_lists, list_positions(base.queue_lists.offsets)
    queue_lists, column = (
        _variants(lists, masks) if len(masks) > 1 else (lists, np.arange(positions.size))
    )
    rooms = None if base.client_lists.slot_room is None else views.rooms[views.rows]
    fleet = replaced(
        base,
        consumer_groups=base.consumer_groups.take_unchecked(unit),
        unit_topic=base.unit_topic[unit],
        unit_queue_list=(
            views.queues[view] * (lists.offsets.size - 1) + base.unit_queue_list[unit]
        ).astype(np.int32),
        unit_client_list=view.astype(np.int32),
        queue_lists=queue_lists,
        client_lists=DistinctLists.of_slots(
            views.list_offsets, Derived((views.ids,), views.rows), rooms
        ),
    )
    return fleet, unit, view, positions[column[fleet.queue_places()]].astype(np.int64)


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
