"""What a change costs, until `rmqalloc.whatif.movement` says all of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import tally
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index

Owners = NDArray[np.int32]


class Moves(NamedTuple):
    """Figures of every unit, int32."""

    moved: Owners
    least_moves: Owners
    clients_affected: Owners


def movement_of(before: Fleet, owners_before: Owners, after: Fleet, owners_after: Owners, renamed: Index) -> Moves:
    """Queues on both sides that change owner, the fewest that could, and clients that lose or gain a queue."""
    if after.queue_lists is before.queue_lists and np.array_equal(after.unit_queue_list, before.unit_queue_list):
        return _of_same_queues(before, owners_before, after, owners_after, renamed)
    units = range(before.n_units)
    found = [_of_unit(u, before, owners_before, after, owners_after, renamed) for u in units]
    return Moves(*np.array(found, np.int32).reshape(-1, 3).T.copy())


def _of_same_queues(before: Fleet, old: Owners, after: Fleet, new: Owners, renamed: Index) -> Moves:
    moved, least = np.zeros((2, before.n_units), np.int32)
    offsets, slots = before.queue_offsets, before.client_offsets[:-1]
    to = np.append(renamed, np.int32(-1))
    if old.size:
        scratch = np.empty(int(before.n_clients.max()) + 1, np.int32)
        tally.moved(offsets, old, new, slots, to, moved)
        tally.least_moves(offsets, old, before.n_clients, slots, to, after.n_clients, scratch, least)
    from_slot, to_slot = np.repeat(slots, before.n_queues) + old, np.repeat(after.client_offsets[:-1], before.n_queues)
    went = np.where(old >= 0, to[np.where(old >= 0, from_slot, -1)], -1)
    differs = (went != new) | ((old >= 0) & (went < 0))
    gone, touched = np.zeros(renamed.size + 1, np.int64), np.zeros(int(after.client_offsets[-1]) + 1, np.int64)
    gone[from_slot[differs & (old >= 0) & (went < 0)] + 1] = 1
    touched[(to_slot + went)[differs & (went >= 0)] + 1] = 1
    touched[(to_slot + new)[differs & (new >= 0)] + 1] = 1
    affected = np.diff(np.cumsum(gone)[before.client_offsets]) + np.diff(np.cumsum(touched)[after.client_offsets])
    return Moves(moved, least, affected.astype(np.int32))


def _of_unit(
    u: int, before: Fleet, owners_before: Owners, after: Fleet, owners_after: Owners, renamed: Index
) -> tuple[int, int, int]:
    old, new = _queues(before, u, owners_before), _queues(after, u, owners_after)
    to = renamed[before.client_offsets[u] : before.client_offsets[u + 1]].tolist()
    both = old.keys() & new.keys()
    stays = [new[q] == (to[old[q]] if old[q] >= 0 else -1) and (old[q] < 0 or to[old[q]] >= 0) for q in both]
    n_clients = int(after.n_clients[u])
    if n_clients:
        share, extra = divmod(len(new), n_clients)
        loads = [sum(old[q] == c for q in both) for c in range(len(to)) if to[c] >= 0]
        most = sum(min(load, share) for load in loads) + min(extra, sum(load > share for load in loads))
    else:
        most = sum(old[q] < 0 for q in both)
    had = {c: {q for q in old if old[q] == c} for c in range(len(to))}
    has = {c: {q for q in new if new[q] == c} for c in range(n_clients)}
    affected = sum(had[c] != has.get(to[c], set()) for c in had) + sum(bool(has[c]) for c in has.keys() - set(to))
    return len(both) - sum(stays), len(both) - most, affected


def _queues(fleet: Fleet, u: int, owners: Owners) -> dict[tuple[int, int, int], int]:
    lists, start = fleet.queue_lists, int(fleet.queue_starts[u])
    places = np.arange(start, start + int(fleet.n_queues[u]))
    route = lists.queue_route[places]
    names = zip(
        lists.route_topic[route].tolist(),
        lists.route_broker[route].tolist(),
        lists.queue_ids[places].tolist(),
        strict=True,
    )
    return dict(zip(names, owners[fleet.queue_offsets[u] : fleet.queue_offsets[u + 1]].tolist(), strict=True))


def cross_room(fleet: Fleet, owners: Owners) -> Owners:
    """Queues of every unit that a client of another machine room owns."""
    queues, clients = fleet.queue_lists, fleet.client_lists
    assert queues.route_room is not None
    assert clients.slot_room is not None
    room = queues.route_room[queues.queue_route[fleet.queue_places()]]
    slot = np.repeat(fleet.slot_starts, fleet.n_queues) + np.maximum(owners, 0)
    away = (owners >= 0) & (np.append(clients.slot_room, -1)[np.minimum(slot, clients.slot_room.size)] != room)
    upto = np.append(0, np.cumsum(away))
    return np.diff(upto[fleet.queue_offsets]).astype(np.int32)
