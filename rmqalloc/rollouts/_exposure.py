"""Queues that nobody, or two clients, read while a step lasts, see `rmqalloc.ownership.transitions`.

A step is described by the final moment of the step before it and its own: ``old`` is the reader of
a queue in the former, ``new`` the reader in the latter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Offsets, offsets_of, ranges
from rmqalloc.ownership.transitions.handovers import Handovers
from rmqalloc.ownership.transitions.open_queues import Open, open_queues
from rmqalloc.ownership.transitions.open_shared_queues import ReadersOfStep, correct_row
from rmqalloc.rollouts._replay import Positions, Replay
from rmqalloc.rollouts.schedule import Mask

Columns = dict[str, NDArray[Any]]


TIMED = ("expected", "after", "seconds_worst", "seconds_p99", "queue_seconds")
"""Figures of queues that producers write to; see `Open`."""


def exposures(replay: Replay, of_frame: Positions, moment: Positions, chosen: Positions) -> Columns:
    """Return what is open while every step lasts, by rows."""
    handovers = _handovers(replay, of_frame, moment)
    gradual, ordered = replay.is_gradual[moment], replay.is_ordered[replay.group_of_moment[moment]]
    dry, way = ~handovers.written, replay.hearing[moment]

    def figures(counted: NDArray[np.bool_] | None = None) -> Open:
        return open_queues(handovers.unowned(counted), replay.hearings, way)

    found = {
        "unowned": figures(),
        "double_owned": open_queues(handovers.double_owned(), replay.hearings, way),
    }
    found["unowned_written"] = figures(~dry) if dry.any() else found["unowned"]
    found["unowned_dry"] = figures(dry)
    _correct_rows(replay, of_frame, moment, found)
    plain = _at_once(replay, of_frame, moment.size)
    columns = {
        name: np.where(gradual, each.most, plain[name])[chosen] for name, each in found.items()
    }
    for which, each in (
        ("unowned", found["unowned_written"]),
        ("double_owned", found["double_owned"]),
    ):
        at_once = plain["unowned_written" if which == "unowned" else which]
        for name in TIMED:
            still = at_once if name in ("expected", "after") else np.zeros(moment.size)
            value = np.where(gradual, getattr(each, name), still)
            # A broker locks each queue of an ordered group for one client: the other waits.
            locked = ordered & (which == "double_owned") & ("seconds" in name)
            columns[f"{which}_{name}"] = np.where(locked, 0, value)[chosen]
    exact = {name: (each.is_exact | ~gradual)[chosen] for name, each in found.items()}
    of_unowned = exact["unowned"] & exact["unowned_written"] & exact["unowned_dry"]
    return columns | {
        "unowned_is_exact": of_unowned,
        "double_owned_is_exact": exact["double_owned"],
    }


def _correct_rows(
    replay: Replay, of_frame: Positions, moment: Positions, found: dict[str, Open]
) -> None:
    """Correct the figures of rows in which a queue may have many readers, see `correct_row`."""
    group = replay.group_of_moment
    chosen = replay.is_split[group] & replay.is_gradual & replay.is_final & (replay.step > 0)
    if not chosen.any():
        return
    sizes = np.diff(replay.cell_offsets)
    cells, cells_before = step_pairs(replay)
    row = of_frame[np.repeat(np.arange(of_frame.size), sizes)[cells]]
    mine = np.flatnonzero(chosen[moment[row]] & replay.there[cells])
    mine = mine[np.argsort(row[mine], kind="stable")]
    starts = offsets_of(
        np.array([len(schedule.client_ids) for schedule in replay.schedules], np.int64)[group]
    )
    was_there = _present_before(replay, starts)
    unowned = {name: one for name, one in found.items() if name != "double_owned"}
    for some in np.split(mine, 1 + np.flatnonzero(np.diff(row[mine]))):
        at = int(moment[row[some[0]]])
        clients = slice(starts[at], starts[at + 1])
        old, new = (replay.readers[:, one[some]].astype(np.int64) for one in (cells_before, cells))
        old[(old >= 0) & ~replay.present[clients][old]] = -1
        step = ReadersOfStep(
            old, new, replay.written[cells[some]], replay.to_inform[clients],
            (replay.present & ~was_there)[clients], bool(replay.begins_with_one[at]), replay.hearings[replay.hearing[at]],
        )  # fmt: skip
        correct_row(int(row[some[0]]), step, unowned, found["double_owned"])


def _at_once(replay: Replay, of_frame: Positions, n_rows: int) -> Columns:
    """Return the same figures of steps that take effect at once."""
    row = np.repeat(of_frame, np.diff(replay.cell_offsets))
    count = (replay.readers >= 0).sum(axis=0)
    nobody = replay.there & (count == 0)
    masks = {
        "unowned": nobody,
        "unowned_written": nobody & replay.written,
        "unowned_dry": nobody & ~replay.written,
        "double_owned": count > 1,
    }
    return {
        name: np.bincount(row[mask], minlength=n_rows).astype(np.int64)
        for name, mask in masks.items()
    }


def step_pairs(replay: Replay) -> tuple[Positions, Positions]:
    """Return cells of the final moment of every step but the first, and the same queues in that of
    the step before it.
    """
    frames = np.flatnonzero(replay.is_final[replay.frame_moment])
    later = np.flatnonzero(replay.step[replay.frame_moment[frames]] > 0)
    sizes = np.diff(replay.cell_offsets)[frames[later]]
    here, ahead = (replay.cell_offsets[:-1][frames[of]] for of in (later, later - 1))
    return ranges(here, sizes), ranges(ahead, sizes)


def _handovers(replay: Replay, of_frame: Positions, moment: Positions) -> Handovers:
    """Return what passes in every row. Only queues that change their reader, or have none, are laid
    out, and the clients at them.
    """
    frame, cells, old, new = _changing(replay)
    clients, row = _ClientsOfRows(replay, moment), of_frame[frame]
    at_moment = clients.of_moment[replay.frame_moment[frame]]
    # Where there is no owner, index -1 reads some other client's value, which the mask then
    # discards.
    old[(old >= 0) & ~replay.present[at_moment + old]] = -1
    inform_old, inform_new = ((one >= 0) & replay.to_inform[at_moment + one] for one in (old, new))
    old, new = (np.where(one >= 0, clients.keys(row, one), -1) for one in (old, new))
    needs_one = replay.begins_with_one[moment] & replay.is_final[moment]
    matters = np.zeros(clients.offsets[-1], bool)
    if needs_one.any():
        every = np.flatnonzero(np.repeat(needs_one, np.diff(clients.offsets)))
        matters[every] = replay.to_inform[clients.cells(every)]
    matters[old[inform_old]] = matters[new[inform_new]] = True
    informees = np.flatnonzero(matters)
    number = np.empty(matters.size, np.int64)  # of these clients alone: most rows have few
    number[informees] = np.arange(informees.size)
    joins = replay.present & ~_present_before(replay, clients.of_moment)
    joining = np.searchsorted(np.flatnonzero(replay.to_inform & joins), clients.of_moment)
    return Handovers(
        np.searchsorted(informees, clients.offsets), number, row, old, new, inform_old, inform_new, replay.written[cells],
        needs_one, joins[clients.cells(informees)], (replay.n_to_inform - np.diff(joining))[moment],
    )  # fmt: skip


class _ClientsOfRows:
    """The clients of the groups of rows, those of one machine room side by side: queues pass inside
    rooms.

    Attributes
    ----------
    of_moment : ndarray of int64
        Where the clients of each moment begin in `Replay.present`.
    offsets : ndarray of int64
        The keys of each row's clients.
    """

    def __init__(self, replay: Replay, moment: Positions) -> None:
        orders = [np.argsort(schedule.rooms, kind="stable") for schedule in replay.schedules]
        sizes = np.array([order.size for order in orders], np.int64)
        group = replay.group_of_moment
        self.of_moment, self.offsets = offsets_of(sizes[group]), offsets_of(sizes[group[moment]])
        self._order = np.concatenate([np.zeros(0, np.int64), *orders])
        self._place = np.concatenate([np.zeros(0, np.int64), *map(np.argsort, orders)])
        self._moment, self._of_group = moment, offsets_of(sizes)[:-1][group[moment]]

    def keys(self, row: Positions, client: Positions) -> Positions:
        """Return clients of rows as one number: by the row, then by their place in it."""
        found: Positions = self.offsets[row] + self._place[self._of_group[row] + client]
        return found

    def cells(self, keys: Positions) -> Positions:
        """Return where these clients stand in `Replay.present`."""
        row = np.searchsorted(self.offsets, keys, side="right") - 1
        client = self._order[self._of_group[row] + keys - self.offsets[row]]
        found: Positions = self.of_moment[self._moment[row]] + client
        return found


def _changing(replay: Replay) -> tuple[Positions, Positions, Positions, Positions]:
    """Return queues that change their reader in gradual steps, or have none before: frame, cell,
    reader before and after.
    """
    cells, cells_before = step_pairs(replay)
    frame_of = np.repeat(np.arange(replay.frame_unit.size), np.diff(replay.cell_offsets))[cells]
    newest, split = replay.newest, replay.is_split[replay.group_of_moment]
    row = newest[replay.frame_moment[frame_of]] if newest.any() else 0
    old, new = replay.readers[0, cells_before], replay.readers[row, cells]
    changes = (old != new) | (old < 0)
    if split.any():
        changes |= split[replay.frame_moment[frame_of]]
    kept = np.flatnonzero(changes & replay.there[cells])
    kept = kept[replay.is_gradual[replay.frame_moment[frame_of[kept]]]]
    cells, cells_before, frame, old, new = (
        one[kept] for one in (cells, cells_before, frame_of, old, new)
    )
    several = np.flatnonzero(split[replay.frame_moment[frame]])
    old[several], new[several] = (
        _first(replay.readers[:, one[several]]) for one in (cells_before, cells)
    )
    return frame, cells, old.astype(np.int64), new.astype(np.int64)


def _first(readers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one reader of each queue, -1 for nobody."""
    found: NDArray[np.int32] = readers[(readers >= 0).argmax(axis=0), np.arange(readers.shape[1])]
    return found


def _present_before(replay: Replay, starts: Offsets) -> Mask:
    """Moment by moment, whether each client was in the group when the step before was over; clients
    start at ``starts``.
    """
    finals = np.flatnonzero(replay.is_final)
    step = np.searchsorted(finals, np.arange(replay.step.size))
    before, sizes = (
        np.where(replay.step > 0, finals[np.maximum(step - 1, 0)], finals[step]),
        np.diff(starts),
    )
    if (sizes == sizes[0]).all():  # as of one large group: rows are copied whole
        return np.asarray(replay.present.reshape(sizes.size, -1)[before].reshape(-1))
    found: Mask = replay.present[ranges(starts[before], sizes)]
    return found
