"""Queues that nobody, or two clients, read while a step lasts: at worst, whichever clients have heard of it.

What a step hands over is told by the moment behind the step before it and the one behind it: ``old`` is who reads a queue at
first, ``new`` who reads it at last. A client that hears of the step reads what it had until it has heard, then what it gets.
One that is gone reads nothing. One that neither hears nor is gone (a client that runs its strategy on while others change
theirs) reads both what it had and what it gets, which are the same. `rmqalloc.rollouts.informed` finds the worst.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import offsets_of, ranges
from rmqalloc.rollouts.informed import Graphs, Worst, worst_moments
from rmqalloc.rollouts.replay import Positions, Replay
from rmqalloc.rollouts.schedule import Mask

Columns = dict[str, NDArray[Any]]


class Handovers(NamedTuple):
    """Queues of steps of which clients hear one by one, and who reads them.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_rows + 1,)
        Clients of each row that hear.
    hearer : ndarray of int64
        Of the clients of all rows laid end to end: which of those that hear it is, if it does.
    row : ndarray of int64, shape (n_cells,)
        Row of every queue.
    old, new : ndarray of int64, shape (n_cells,)
        Who reads it at first and at last, as places in ``hearer``; -1 for nobody, or one who is gone.
    old_hears, new_hears : ndarray of bool, shape (n_cells,)
        Whether that client hears of the step.
    written : ndarray of bool, shape (n_cells,)
        Whether producers write to the queue.
    needs_one : ndarray of bool, shape (n_rows,)
        Whether the step begins with the first client that hears.
    """

    offsets: Positions
    hearer: Positions
    row: Positions
    old: Positions
    new: Positions
    old_hears: Mask
    new_hears: Mask
    written: Mask
    needs_one: Mask


def exposures(replay: Replay, of_frame: Positions, moment: Positions, chosen: Positions) -> Columns:
    """The worst of every step by rows, and whether these figures are exact.

    Parameters
    ----------
    stage : Replay
    of_scene, moment : ndarray of int64
        Row of every scene, and moment of every row.
    chosen : ndarray of int64
        The rows behind steps.
    """
    handovers = _handovers(replay, of_frame, moment)
    lasts = replay.is_gradual[moment]
    dry = ~handovers.written
    found = {"unowned": _worst(_unowned(handovers)), "double_owned": _worst(_double_owned(handovers))}
    found["unowned_written"] = _worst(_unowned(handovers, ~dry)) if dry.any() else found["unowned"]
    found["unowned_dry"] = _worst(_unowned(handovers, dry))
    plain = _as_it_stands(replay, of_frame, moment.size)
    columns = {name: np.where(lasts, worst.most, plain[name])[chosen] for name, worst in found.items()}
    exact = {name: (worst.is_exact | ~lasts)[chosen] for name, worst in found.items()}
    of_unowned = exact["unowned"] & exact["unowned_written"] & exact["unowned_dry"]
    return columns | {"unowned_is_exact": of_unowned, "double_owned_is_exact": exact["double_owned"]}


def _as_it_stands(replay: Replay, of_frame: Positions, n_rows: int) -> Columns:
    """The same figures of moments in which nobody has anything to hear of."""
    row = np.repeat(of_frame, np.diff(replay.cell_offsets))
    count = (replay.readers >= 0).sum(axis=0)
    nobody = replay.there & (count == 0)
    masks = {
        "unowned": nobody,
        "unowned_written": nobody & replay.written,
        "unowned_dry": nobody & ~replay.written,
        "double_owned": count == 2,
    }
    return {name: np.bincount(row[mask], minlength=n_rows).astype(np.int64) for name, mask in masks.items()}


def step_pairs(replay: Replay) -> tuple[Positions, Positions]:
    """Cells behind every step but the first, and the same queues behind the step before it."""
    frames = np.flatnonzero(replay.is_final[replay.frame_moment])
    later = np.flatnonzero(replay.step[replay.frame_moment[frames]] > 0)
    sizes = np.diff(replay.cell_offsets)[frames[later]]
    here, ahead = (replay.cell_offsets[:-1][frames[of]] for of in (later, later - 1))
    return ranges(here, sizes), ranges(ahead, sizes)


def _handovers(replay: Replay, of_frame: Positions, moment: Positions) -> Handovers:
    cells, cells_before = step_pairs(replay)
    frame_of = np.repeat(np.arange(of_frame.size), np.diff(replay.cell_offsets))
    matters = replay.there[cells] & replay.is_gradual[replay.frame_moment[frame_of[cells]]]
    cells, cells_before = cells[matters], cells_before[matters]
    frame = frame_of[cells]
    n_clients = np.array([len(schedule.client_ids) for schedule in replay.schedules], np.int64)
    of_moment = n_clients[replay.group_of_moment]
    at_moment = offsets_of(of_moment)[:-1][replay.frame_moment[frame]]
    old = replay.readers[0, cells_before].astype(np.int64)
    new = replay.readers[replay.newest[replay.frame_moment[frame]], cells].astype(np.int64)
    # With nobody for an owner the client that happens to stand at -1 is looked up, and not used.
    old[(old >= 0) & ~replay.present[at_moment + old]] = -1
    old_hears, new_hears = ((one >= 0) & replay.to_inform[at_moment + one] for one in (old, new))
    row, starts = of_frame[frame], offsets_of(of_moment[moment])
    old, new = (np.where(one >= 0, starts[row] + one, -1) for one in (old, new))
    offsets, hearer = _hearers(replay, moment, of_moment)
    needs_one = replay.begins_with_one[moment] & replay.is_final[moment]
    return Handovers(offsets, hearer, row, old, new, old_hears, new_hears, replay.written[cells], needs_one)


def _hearers(replay: Replay, moment: Positions, of_moment: Positions) -> tuple[Positions, Positions]:
    """`Handovers.offsets` and `Handovers.hearer`: those of a machine room stand side by side, for queues pass inside rooms."""
    orders = [np.argsort(schedule.rooms, kind="stable") for schedule in replay.schedules]
    course_starts = offsets_of([order.size for order in orders])[:-1]
    order = np.concatenate([np.zeros(0, np.int64), *orders])
    sizes, starts = of_moment[moment], offsets_of(of_moment)[:-1][moment]
    in_order = order[ranges(course_starts[replay.group_of_moment[moment]], sizes)]
    hears = replay.to_inform[np.repeat(starts, sizes) + in_order]
    upto = np.append(0, np.cumsum(hears))
    hearer = np.empty(hears.size, np.int64)
    hearer[np.repeat(offsets_of(sizes)[:-1], sizes) + in_order] = upto[:-1]
    return upto[offsets_of(sizes)], hearer


def _unowned(handovers: Handovers, counted: Mask | None = None) -> tuple[Handovers, Graphs]:
    """A queue that has, or will have, a reader who need not hear of anything never lies open."""
    h = handovers
    counted = np.ones(h.row.size, bool) if counted is None else counted
    mine = counted & ((h.old < 0) | h.old_hears) & ((h.new < 0) | h.new_hears)
    informed, uninformed = mine & (h.old >= 0) & (h.new < 0), mine & (h.old < 0) & (h.new >= 0)
    passed = mine & (h.old >= 0) & (h.new >= 0) & (h.old != h.new)
    return h, _graphs(
        h, mine & (h.old < 0) & (h.new < 0), h.old[informed], h.new[uninformed], h.old[passed], h.new[passed]
    )


def _double_owned(handovers: Handovers) -> tuple[Handovers, Graphs]:
    """A queue that two clients have: the new one has heard, or need not, and the old one has not, or need not."""
    h = handovers
    both = (h.old >= 0) & (h.new >= 0) & (h.old != h.new)
    informed, uninformed = both & ~h.old_hears & h.new_hears, both & h.old_hears & ~h.new_hears
    passed = both & h.old_hears & h.new_hears
    return h, _graphs(
        h, both & ~h.old_hears & ~h.new_hears, h.new[informed], h.old[uninformed], h.new[passed], h.old[passed]
    )


def _graphs(
    h: Handovers, always: Mask, informed: Positions, uninformed: Positions, tail: Positions, head: Positions
) -> Graphs:
    """Graphs of the clients that hear, given the queues and ends that count."""
    n_rows, n_hearers = h.needs_one.size, int(h.offsets[-1])
    const = np.bincount(h.row[always], minlength=n_rows).astype(np.int64)
    pairs, weight = np.unique(h.hearer[tail] * max(n_hearers, 1) + h.hearer[head], return_counts=True)
    of_told, of_untold = (
        np.bincount(h.hearer[some], minlength=n_hearers).astype(np.int64) for some in (informed, uninformed)
    )
    return Graphs(h.offsets, const, of_told, of_untold, *np.divmod(pairs, max(n_hearers, 1)), weight.astype(np.int64))


def _worst(of: tuple[Handovers, Graphs]) -> Worst:
    handovers, graphs = of
    return worst_moments(graphs, handovers.needs_one)
