"""A rolling restart: batches of clients stop and start again, or are replaced by others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.model import new_id
from rmqalloc.ownership.transitions.notification_delay import hearing_of
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import (
    ClientView,
    GroupAtStart,
    Mask,
    Moment,
    Schedule,
    Step,
    turns_of,
)
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies.ordering import sort_client_ids
from rmqalloc.text import counted

Positions = NDArray[np.int64]

IDS = ("suffix", "stable", "address")
"""Ids with which clients come back."""


class RestartWay(NamedTuple):
    """How clients restart; the arguments of `restart`."""

    batch: int | str = 1
    surge: bool = False
    ids: str = "suffix"
    order: str = "shuffled"
    seed: int = 0
    informed_by: str = "notice"


def restart(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ("*",),
    batch: int | str = 1,
    surge: bool = False,
    ids: str = "suffix",
    order: str = "shuffled",
    seed: int = 0,
    detail: bool = False,
    topics: Sequence[str] = ("*",),
    informed_by: str = "notice",
) -> Rollout:
    """Restart all clients of every group, a batch at a time.

    Every batch is two steps: stop and start, or with ``surge`` start and stop. All clients are
    informed of a step before the next step begins. During a stop, the queues of the stopped clients
    are unread. During a start, a new client may read queues that old clients have not released yet.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups : sequence of str
        Patterns of consumer groups.
    batch : int or str
        Number of clients in a batch, or a share of each group's clients such as ``25%``.
    surge : bool
        New clients join before the old clients leave.
    ids : {"suffix", "stable", "address"}
        Ids of restarted clients: another number after ``#``, as Java's clients on the same host;
        the same id; or another address, as new pods.
    order : {"shuffled", "sorted", "reversed", "spread"}
        Order of the clients, see `positions_in_order`.
    seed : int
        For the order.
    detail : bool
        True to make the tables of topics and of exposed queues.
    topics : sequence of str
        Patterns of topics; queues of topics that do not match are not counted.
    informed_by : {"notice", "timer", "scan", "crash"}
        How the remaining clients learn that a client joined or left. It determines how long queues
        are unowned; see `rmqalloc.ownership.transitions.notification_delay.hearing_of`.

    Raises
    ------
    ValueError
        Every group has fewer clients than a batch; the order, the kind of ids or ``informed_by`` is
        unknown; or ids are stable with ``surge`` (two clients with one id read the same queues, and
        the queues of the second client are unread).

    Notes
    -----
    Groups that have fewer clients than a batch are skipped: `Rollout.skipped`.

    Clients are informed of joins and leaves at once or at the latest after 20 s, and rebalance at
    most once a second. In a quick rollout they handle several steps in one rebalance, so moves are
    an upper bound.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 8),)), tuple(Client(f"c{i}@1#1") for i in range(4))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> restart(snapshot, batch=2).totals.to_pylist()[0]["moved_per_queue"]
    2.0
    """
    way = RestartWay(batch, surge, ids, order, seed=seed, informed_by=informed_by)
    check_way(way)
    # decide: the strategy of each group
    known = Known.of(snapshot, groups)
    # lay out: the groups that can be replayed, as units in columns
    planned = planned_groups_of(known, groups, topics, stable_ids=way.ids == "stable")
    # change: the steps of each group
    schedule_of = partial(restart_schedule, way=way)
    # assign, compare, answer: moment by moment
    return play_schedules(planned, schedule_of, detail=detail)


def check_way(way: RestartWay) -> None:
    """Raise ArgumentError if clients cannot restart in this way."""
    if way.ids not in IDS:
        raise ArgumentError(f"ids must be one of {', '.join(IDS)}, got {way.ids!r}")
    if way.surge and way.ids == "stable":
        raise ArgumentError(
            "surge needs new ids: a client that joins while a client with its id runs duplicates the id; set ids to new"
        )
    hearing_of(way.informed_by)


def restart_schedule(group: GroupAtStart, way: RestartWay) -> Schedule:
    """Return the steps of a restart."""
    size, turns = turns_of(group, way.batch, way.order, way.seed)
    hearing = hearing_of(way.informed_by, n_brokers=group.n_brokers, is_ordered=group.is_ordered)
    everyone, rooms, old, new = _before_and_after(group, way.ids, way.surge)
    there = np.zeros(len(everyone), bool)
    there[old] = True
    steps = [Step("before", (Moment((ClientView(there, there),)),))]
    for number, turn in enumerate(turns, start=1):
        changes = [("stop", old[turn], False), ("start", new[turn], True)]
        for verb, positions, is_there in reversed(changes) if way.surge else changes:
            after = there.copy()
            after[positions] = is_there
            what = f"batch {number} of {len(turns)}: {counted(len(turn), f'client {verb}s', f'clients {verb}')}"
            moments = (_uninformed(there, after), Moment((ClientView(after, after),)))
            # Only a client that leaves can do so without a word.
            steps.append(
                Step(
                    what, moments, after, hearing=hearing if verb == "stop" else hearing.of_a_join()
                )
            )
            there = after
    return Schedule(everyone, rooms, steps, size)


def _before_and_after(
    group: GroupAtStart, ids: str, surge: bool
) -> tuple[list[str], list[int], Positions, Positions]:
    """Return all ids with their rooms, and the positions of the clients' ids before and after among
    them.
    """
    if ids == "stable":
        positions = np.arange(len(group.client_ids))
        return group.client_ids, group.rooms, positions, positions
    taken = dict(zip(group.client_ids, group.rooms, strict=True))
    fresh = []
    for client_id, room in zip(group.client_ids, group.rooms, strict=True):
        if not surge:
            del taken[client_id]  # it has gone when the new one comes
        fresh.append(new_id(client_id, ids, taken.keys()))
        taken |= {client_id: room, fresh[-1]: room}
    everyone = sort_client_ids(taken)
    rooms = [taken[client_id] for client_id in everyone]
    position = {client_id: i for i, client_id in enumerate(everyone)}
    old = np.array([position[client_id] for client_id in group.client_ids], np.int64)
    new = np.array([position[client_id] for client_id in fresh], np.int64)
    return everyone, rooms, old, new


def _uninformed(before: Mask, after: Mask) -> Moment:
    """Return the moment at which only joining clients know that they join, and no client knows that
    others have left.
    """
    if (before & ~after).any():
        return Moment((ClientView(before, after),), is_final=False)
    return Moment((ClientView(before, before), ClientView(after, after & ~before)), is_final=False)
