"""The figures of a replay: what every step moves and leaves open, by group and by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.columns import Offsets, Strings, offsets_of, ranges
from rmqalloc.rollouts._exposure import exposures, step_pairs
from rmqalloc.rollouts._replay import Positions, Replay
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.rollout_result import (
    EXPOSED_SCHEMA,
    STEPS_SCHEMA,
    TOPICS_SCHEMA,
    TOTALS_SCHEMA,
)
from rmqalloc.rollouts.schedule import Mask, Schedule

Columns = dict[str, NDArray[Any]]

_EXACT = {
    "unowned": ("unowned", "unowned_written", "unowned_dry"),
    "double_owned": ("double_owned",),
}


class MomentRows(NamedTuple):
    """The rows of figures: moments of groups, or of single units.

    Attributes
    ----------
    of_frame : ndarray of int64
        Row of every frame.
    moment : ndarray of int64
        Moment of every row.
    """

    of_frame: Positions
    moment: Positions


def by_group(replay: Replay) -> MomentRows:
    """Return a row for every moment of a group."""
    return MomentRows(replay.frame_moment, np.arange(replay.step.size))


def by_topic(replay: Replay) -> MomentRows:
    """Return a row for every moment of a group's topic."""
    return MomentRows(np.arange(replay.frame_moment.size), replay.frame_moment)


def steps_table(replay: Replay, planned: PlannedGroups) -> pa.Table:
    """Return figures of every step by group: `STEPS_SCHEMA`."""
    rows = by_group(replay)
    columns = _named(replay, planned, rows.moment, step_figures(replay, rows))
    return _table(columns, STEPS_SCHEMA)


def topics_table(replay: Replay, planned: PlannedGroups) -> pa.Table:
    """Return figures of every step by group and topic: `TOPICS_SCHEMA`."""
    rows = by_topic(replay)
    columns = _named(replay, planned, rows.moment, step_figures(replay, rows))
    unit = replay.frame_unit[_final_rows(replay, rows)]
    columns["topic"] = _taken(planned.fleet.topics, planned.fleet.unit_topic[unit])
    return _table(columns, TOPICS_SCHEMA)


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """Return columns as a table; what is not known is null."""
    made = []
    for field in schema:
        is_float = pa.types.is_floating(field.type)
        made.append(pa.array(columns[field.name], field.type, from_pandas=is_float))
    return pa.table(made, schema)


def group_totals_table(
    steps: pa.Table, schedules: Sequence[Schedule], planned: PlannedGroups
) -> pa.Table:
    """Return figures of whole rollouts: `TOTALS_SCHEMA`; ``steps`` is the table of these schedules."""
    number = steps["step"].to_numpy()
    starts = np.flatnonzero(number == 0)
    column = {
        name: steps[name].to_numpy()
        for name in STEPS_SCHEMA.names
        if name not in ("consumer_group", "action")
    }
    n_queues = column["n_queues"][starts]
    # The queues of a new subscription count from the start, so no group is without queues.
    moved = np.add.reduceat(column["moved"], starts)
    made: dict[str, Any] = {
        "consumer_group": [group.consumer_group for group in planned.groups],
        "batch": [schedule.batch for schedule in schedules],
        "n_steps": np.maximum.reduceat(number, starts),
        "n_topics": np.bincount(planned.group_of, minlength=len(planned.groups)),
        "n_queues": n_queues,
        "n_clients": column["n_clients"][starts],
        "moved": moved,
        "moved_per_queue": moved / np.maximum(n_queues, 1),
        "clients_touched": np.add.reduceat(column["clients_touched"], starts),
        "min_load": np.minimum.reduceat(column["min_load"], starts),
        "max_load": np.maximum.reduceat(column["max_load"], starts),
    }
    for name in ("unowned", "unowned_written", "unowned_dry", "double_owned"):
        made[f"max_{name}"] = np.maximum.reduceat(column[name], starts)
    for name in (
        "unowned_queue_seconds",
        "double_owned_queue_seconds",
        "messages_delayed",
        "messages_twice",
    ):
        made[name] = np.add.reduceat(column[name], starts)
    for name in ("unowned_expected", "unowned_seconds_worst", "unowned_seconds_p99"):
        made[f"max_{name}"] = np.maximum.reduceat(column[name], starts)
    of_group = np.cumsum(number == 0) - 1
    for which, names in _EXACT.items():
        exact = np.ones(starts.size, bool)
        for name in names:
            # The maximum over steps is exact if a step with an exact figure attains it.
            reached = column[f"{which}_is_exact"] & (column[name] == made[f"max_{name}"][of_group])
            exact &= np.logical_or.reduceat(reached, starts)
        made[f"max_{which}_is_exact"] = exact
    return _table(made, TOTALS_SCHEMA)


def step_figures(replay: Replay, rows: MomentRows) -> Columns:
    """Return all figures of every step: the most unowned and double-owned queues while it lasts,
    the loads after it.
    """
    is_final = _final_rows(replay, rows)
    row = np.repeat(rows.of_frame, np.diff(replay.cell_offsets))

    def summed(mask: Mask, chosen: Positions) -> NDArray[np.int64]:
        return np.bincount(row[mask], minlength=rows.moment.size)[chosen]

    # Cells of a unit are in the same order in every step, so they can be compared element by
    # element.
    cells, cells_before = step_pairs(replay)
    now, before = _ordered(replay.readers[:, cells]), _ordered(replay.readers[:, cells_before])
    differs = (now != before).any(axis=0)
    moved = np.zeros(row.size, bool)
    moved[cells[differs & replay.there[cells] & replay.there[cells_before]]] = True
    found = {
        "n_queues": summed(replay.there, is_final),
        "moved": summed(moved, is_final),
        **exposures(replay, rows.of_frame, rows.moment, is_final),
    }
    touched = cells[differs], now[:, differs], before[:, differs]
    return found | {
        name: column[is_final] for name, column in _of_clients(replay, rows, row, *touched).items()
    }


def _of_clients(
    replay: Replay,
    rows: MomentRows,
    row: Positions,
    cells: Positions,
    now: NDArray[np.int32],
    before: NDArray[np.int32],
) -> Columns:
    """Return figures of the clients of every row, given the cells whose readers change."""
    offsets, present = _clients_of_rows(replay, rows)

    def summed(mask: Mask) -> NDArray[np.int64]:
        return np.add.reduceat(mask, offsets[:-1], dtype=np.int64)

    touched = np.zeros(present.size, bool)
    for here, there in ((now, before), (before, now)):
        for readers in here:
            only_here = (readers >= 0) & (readers != there).all(axis=0)
            touched[offsets[row[cells[only_here]]] + readers[only_here]] = True
    reading = replay.readers >= 0
    clients = offsets[row] + replay.readers
    loads = np.bincount(clients[reading & replay.there], minlength=present.size)
    only_dry = np.zeros(rows.moment.size, np.int64)
    if not np.array_equal(replay.there, replay.written):
        wet = np.bincount(clients[reading & replay.written], minlength=present.size)
        only_dry = summed((loads > 0) & (wet == 0))
    n_clients, idle = replay.n_present[rows.moment], summed(present & (loads == 0))
    most = np.maximum.reduceat(loads, offsets[:-1])
    np.putmask(loads, ~present, np.iinfo(np.int64).max)
    return {
        "n_clients": n_clients,
        "clients_touched": np.diff(np.searchsorted(np.flatnonzero(touched), offsets)),
        "idle": idle,
        "only_dry": only_dry,
        "min_load": np.where(n_clients > 0, np.minimum.reduceat(loads, offsets[:-1]), 0),
        "max_load": most,
    }


def _clients_of_rows(replay: Replay, rows: MomentRows) -> tuple[Offsets, Mask]:
    """Return the clients of every row's group laid end to end: where each row begins, and whether
    they are there.
    """
    n_clients = np.array([len(schedule.client_ids) for schedule in replay.schedules], np.int64)
    of_moment = n_clients[replay.group_of_moment]
    if np.array_equal(rows.moment, np.arange(replay.step.size)):
        return offsets_of(of_moment), replay.present
    sizes = of_moment[rows.moment]
    found: Mask = replay.present[ranges(offsets_of(of_moment)[:-1][rows.moment], sizes)]
    return offsets_of(sizes), found


def _ordered(readers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the readers of every queue in ascending order."""
    if len(readers) == 1:
        return readers
    if len(readers) == 2:  # faster than sorting
        return np.stack([readers.min(axis=0), readers.max(axis=0)])
    return np.sort(readers, axis=0)


def _final_rows(replay: Replay, rows: MomentRows) -> Positions:
    """Return rows of the final moments."""
    return np.flatnonzero(replay.is_final[rows.moment])


def _while_it_lasts(replay: Replay, rows: MomentRows, is_final: Positions) -> Positions:
    """Return rows of the moments while steps last, given the final ones; a step that takes effect
    at once has only this.
    """
    lasts = np.roll(~replay.is_final, 1)[rows.moment[is_final]]
    return np.where(lasts, is_final - 1, is_final)


def _named(
    replay: Replay, planned: PlannedGroups, moment: Positions, columns: Columns
) -> dict[str, Any]:
    """Return figures with the names of groups and steps."""
    is_final = moment[replay.is_final[moment]]
    group = replay.group_of_moment[is_final]
    names = [group.consumer_group for group in planned.groups]
    step = replay.step[is_final]
    columns = columns | _messages(planned, columns, group)
    groups = group.tolist()
    actions = []
    for position, number in zip(groups, step.tolist(), strict=True):
        actions.append(replay.schedules[position].steps[number].action)
    return {
        **columns,
        "consumer_group": [names[position] for position in groups],
        "step": step,
        "action": actions,
    }


def _messages(planned: PlannedGroups, columns: Columns, group: Positions) -> Columns:
    """Return messages that arrive while queues have no owner or several, at the rate at which the
    group consumes now.
    """
    fleet = planned.fleet
    sums = np.append(0, np.cumsum(planned.written))
    of_list = np.diff(sums[fleet.queue_lists.offsets])[fleet.unit_queue_list]
    written = np.bincount(planned.group_of, of_list, len(planned.groups))
    tps = [np.nan if of.consume_tps is None else of.consume_tps for of in planned.groups]
    rate = (np.array(tps) / np.maximum(written, 1))[group]
    return {
        "messages_delayed": rate * columns["unowned_queue_seconds"],
        "messages_twice": rate * columns["double_owned_queue_seconds"],
    }


def exposed_table(replay: Replay, planned: PlannedGroups) -> pa.Table:
    """Return queues that nobody or two clients read while a step lasts: `EXPOSED_SCHEMA`."""
    rows = by_topic(replay)
    frames = _while_it_lasts(replay, rows, _final_rows(replay, rows))
    cells = ranges(replay.cell_offsets[:-1][frames], np.diff(replay.cell_offsets)[frames])
    n_readers = (replay.readers[:, cells] >= 0).sum(axis=0)
    is_exposed = replay.there[cells] & (n_readers != 1)
    cells, n_readers = cells[is_exposed], n_readers[is_exposed]
    frame = np.searchsorted(replay.cell_offsets, cells, side="right") - 1
    unit, moment = replay.frame_unit[frame], replay.frame_moment[frame]
    fleet, lists = planned.fleet, planned.fleet.queue_lists
    position = fleet.queue_starts[unit] + cells - replay.cell_offsets[frame]
    groups = replay.group_of_moment[moment].tolist()
    step = replay.step[moment]
    readers, actions = [], []
    readers_of = replay.readers[:, cells].T.tolist()
    for group, number, clients in zip(groups, step.tolist(), readers_of, strict=True):
        schedule = replay.schedules[group]
        readers.append([schedule.client_ids[client] for client in clients if client >= 0])
        actions.append(schedule.steps[number].action)
    unowned = np.where(replay.written[cells], "unowned", "unowned_dry")
    made: dict[str, Any] = {
        "consumer_group": [planned.groups[group].consumer_group for group in groups],
        "step": step,
        "action": actions,
        "topic": _taken(fleet.topics, fleet.unit_topic[unit]),
        "broker_name": _taken(fleet.brokers, lists.route_broker[lists.queue_route[position]]),
        "queue_id": lists.queue_ids[position],
        "exposure": np.where(n_readers > 0, "double_owned", unowned).tolist(),
        "client_ids": readers,
    }
    return _table(made, EXPOSED_SCHEMA)


def _taken(strings: Strings, positions: NDArray[Any]) -> pa.Array:
    return text_array(strings).take(pa.array(positions)).cast(pa.string())
