"""Queues that nobody, or two clients, read at the worst moment of each step.

A step is described by the final moment of the step before it and its own: ``old`` is the reader of a queue in the former,
``new`` the reader in the latter. A client that will be informed of the step reads its old queues until then and its new ones
afterwards. A client that leaves reads nothing. A client that is neither informed nor leaves (one that keeps its strategy while
others change theirs) reads the same queues before and after. `rmqalloc.rollouts._worst_moment` finds the worst moment.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import offsets_of, ranges
from rmqalloc.rollouts._replay import Positions, Replay
from rmqalloc.rollouts._schedule import Mask
from rmqalloc.rollouts._worst_moment import Graphs, Worst, worst_moments

Columns = dict[str, NDArray[Any]]


class Handovers(NamedTuple):
    """Queues of gradual steps, and who reads them; a row is a step of a group or of one topic.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_rows + 1,)
        Clients to inform of each row.
    informee : ndarray of int64
        Of the clients of all rows laid end to end: its index among the clients to inform, if it is one.
    row : ndarray of int64, shape (n_cells,)
        Row of every queue.
    old, new : ndarray of int64, shape (n_cells,)
        Who reads it before and after the step, as positions in ``informee``; -1 for nobody, or a client that leaves.
    inform_old, inform_new : ndarray of bool, shape (n_cells,)
        Whether that client is informed of the step.
    written : ndarray of bool, shape (n_cells,)
        Whether producers write to the queue.
    needs_one : ndarray of bool, shape (n_rows,)
        Whether the step begins with the first client that is informed.
    """

    offsets: Positions
    informee: Positions
    row: Positions
    old: Positions
    new: Positions
    inform_old: Mask
    inform_new: Mask
    written: Mask
    needs_one: Mask


def exposures(replay: Replay, of_frame: Positions, moment: Positions, chosen: Positions) -> Columns:
    """The worst moment of every step, by rows, and whether these figures are exact.

    Parameters
    ----------
    replay : Replay
    of_frame, moment : ndarray of int64
        Row of every frame, and moment of every row.
    chosen : ndarray of int64
        The rows of final moments.
    """
    handovers = _handovers(replay, of_frame, moment)
    gradual = replay.is_gradual[moment]
    dry = ~handovers.written
    found = {"unowned": _worst(_unowned(handovers)), "double_owned": _worst(_double_owned(handovers))}
    found["unowned_written"] = _worst(_unowned(handovers, ~dry)) if dry.any() else found["unowned"]
    found["unowned_dry"] = _worst(_unowned(handovers, dry))
    plain = _at_once(replay, of_frame, moment.size)
    columns = {name: np.where(gradual, worst.most, plain[name])[chosen] for name, worst in found.items()}
    exact = {name: (worst.is_exact | ~gradual)[chosen] for name, worst in found.items()}
    of_unowned = exact["unowned"] & exact["unowned_written"] & exact["unowned_dry"]
    return columns | {"unowned_is_exact": of_unowned, "double_owned_is_exact": exact["double_owned"]}


def _at_once(replay: Replay, of_frame: Positions, n_rows: int) -> Columns:
    """The same figures of steps that take effect at once."""
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
    """Cells of the final moment of every step but the first, and the same queues in that of the step before it."""
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
    # Where there is no owner, index -1 reads some other client's value, which the mask then discards.
    old[(old >= 0) & ~replay.present[at_moment + old]] = -1
    inform_old, inform_new = ((one >= 0) & replay.to_inform[at_moment + one] for one in (old, new))
    row, starts = of_frame[frame], offsets_of(of_moment[moment])
    old, new = (np.where(one >= 0, starts[row] + one, -1) for one in (old, new))
    offsets, informee = _informees(replay, moment, of_moment)
    needs_one = replay.begins_with_one[moment] & replay.is_final[moment]
    return Handovers(offsets, informee, row, old, new, inform_old, inform_new, replay.written[cells], needs_one)


def _informees(replay: Replay, moment: Positions, of_moment: Positions) -> tuple[Positions, Positions]:
    """`Handovers.offsets` and `Handovers.informee`: clients of one machine room are adjacent, for queues pass inside rooms."""
    orders = [np.argsort(schedule.rooms, kind="stable") for schedule in replay.schedules]
    group_starts = offsets_of([order.size for order in orders])[:-1]
    order = np.concatenate([np.zeros(0, np.int64), *orders])
    sizes, starts = of_moment[moment], offsets_of(of_moment)[:-1][moment]
    in_order = order[ranges(group_starts[replay.group_of_moment[moment]], sizes)]
    to_inform = replay.to_inform[np.repeat(starts, sizes) + in_order]
    upto = np.append(0, np.cumsum(to_inform))
    informee = np.empty(to_inform.size, np.int64)
    informee[np.repeat(offsets_of(sizes)[:-1], sizes) + in_order] = upto[:-1]
    return upto[offsets_of(sizes)], informee


def _unowned(handovers: Handovers, counted: Mask | None = None) -> tuple[Handovers, Graphs]:
    """A queue is unowned if its old reader is informed or gone, and its new one is not informed or nobody.

    A reader that need not be informed reads it throughout.
    """
    h = handovers
    counted = np.ones(h.row.size, bool) if counted is None else counted
    mine = counted & ((h.old < 0) | h.inform_old) & ((h.new < 0) | h.inform_new)
    informed, uninformed = mine & (h.old >= 0) & (h.new < 0), mine & (h.old < 0) & (h.new >= 0)
    passed = mine & (h.old >= 0) & (h.new >= 0) & (h.old != h.new)
    return h, _graphs(
        h, mine & (h.old < 0) & (h.new < 0), h.old[informed], h.new[uninformed], h.old[passed], h.new[passed]
    )


def _double_owned(handovers: Handovers) -> tuple[Handovers, Graphs]:
    """A queue is double-owned if its new reader is informed, or need not be, and its old one is not, or need not be."""
    h = handovers
    both = (h.old >= 0) & (h.new >= 0) & (h.old != h.new)
    informed, uninformed = both & ~h.inform_old & h.inform_new, both & h.inform_old & ~h.inform_new
    passed = both & h.inform_old & h.inform_new
    return h, _graphs(
        h, both & ~h.inform_old & ~h.inform_new, h.new[informed], h.old[uninformed], h.new[passed], h.old[passed]
    )


def _graphs(
    h: Handovers, always: Mask, informed: Positions, uninformed: Positions, tail: Positions, head: Positions
) -> Graphs:
    """Graphs of the clients to inform, given the queues that count always, by one client, or by two."""
    n_rows, n_informees = h.needs_one.size, int(h.offsets[-1])
    const = np.bincount(h.row[always], minlength=n_rows).astype(np.int64)
    pairs, weight = np.unique(h.informee[tail] * max(n_informees, 1) + h.informee[head], return_counts=True)
    by_informed, by_uninformed = (
        np.bincount(h.informee[some], minlength=n_informees).astype(np.int64) for some in (informed, uninformed)
    )
    return Graphs(
        h.offsets, const, by_informed, by_uninformed, *np.divmod(pairs, max(n_informees, 1)), weight.astype(np.int64)
    )


def _worst(of: tuple[Handovers, Graphs]) -> Worst:
    handovers, graphs = of
    return worst_moments(graphs, handovers.needs_one)
