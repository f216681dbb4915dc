"""What the departure of every single client moves, added up over the units of a group that share a
client list.

A group of n clients has n departures of n - 1 clients each: laid out one by one they are n² slots.
Most strategies need none of that. Where a strategy goes by names, a queue moves if and only if its
owner leaves. Where it goes by positions, the owners of n - 1 clients are the same whoever left, but
for the name of the position: those behind the one who left have moved up by one. So one more
allocation answers for all departures. Ids that repeat or are empty hold places that nobody owns by;
of equal ones it is taken that the last leaves, behind which the others hold what they held. By
names an id that repeats may keep a part of what it has; a few allocations without many of these at
once tell, see `_leaving_with_owner`. Laid out is the rest: strategies that go by more than that,
and of machine rooms the empty ids, whose room may be left without clients while it owns nothing,
and the ids that stand in several.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Assigner, Owners, owners_of_units
from rmqalloc.evaluation.movement import movement_of
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import distinct_strings, list_positions, offsets_of, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.fleet.lists import ClientLists
from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.scenarios.client_changes import ClientsUnderChange
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists
from rmqalloc.scenarios.subfleet import Rules, per_unit, subfleet
from rmqalloc.strategies import Strategy

_MOST_SLOTS = 1 << 22


class Departures(NamedTuple):
    """One entry per group, client list of it and client that leaves, over all units of the group
    that have the list.

    Attributes
    ----------
    units : ndarray of int64
        The first of these units.
    slots : ndarray of int64
        The client's slot in the fleet's client lists.
    moved, least_moves : ndarray of int64
        Queues, as `rmqalloc.evaluation.movement.Movement` counts them.
    """

    units: Keys
    slots: Keys
    moved: Keys
    least_moves: Keys


def departures(fleet: Fleet, rules: Rules, owners: Owners) -> Departures:
    """Return what moves if one client leaves and all others stay, for every client of every group.

    Of several clients with one id one leaves at a time: the id keeps its other places.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> from rmqalloc.scenarios import ordered
    >>> queues = [("b", i) for i in range(24)]
    >>> fleet = ordered(Fleet.from_groups([("g", "T", queues, ["c1", "c2", "c3", "c4"])]))
    >>> avg = strategy("AVG")
    >>> departures(fleet, Rules.same(avg, 1), avg.assign_fleet(fleet)).moved.tolist()
    [12, 8, 8, 12]
    """
    firsts, of_unit = _holders(fleet)
    sizes = fleet.n_clients[firsts].astype(np.int64)
    starts = offsets_of(sizes)
    moved, least = np.zeros((2, int(starts[-1])), np.int64)
    slots = ranges(fleet.slot_starts[firsts], sizes)
    ids = _Ids.of(fleet.client_lists, slots, starts)
    for s, units in rules.by_strategy():
        places = starts[of_unit[units]]
        if s.decided_by == "anything":
            _lay_out(fleet, rules, owners, units, places, (moved, least))
            continue
        part, holders = subfleet(fleet, units), of_unit[units]
        had = _first_owners(part, owners_of_units(fleet, owners, units))
        found = _moved(part, s, had, starts, holders, ids)[ids.first]
        if s.reads_rooms and (which := ids.is_scattered | (ids.is_empty & ids.is_first)).any():
            found[which] = 0
            _lay_out(fleet, rules, owners, units, places, (found, np.zeros_like(found)), which)
            found = np.where(ids.is_scattered, found, found[ids.first])
        moved += found
        least += _least(part, had, starts, holders, ids)
    return Departures(np.repeat(firsts, sizes), slots, moved, least)


class _Ids(NamedTuple):
    """What is known of the ids of all pairs of a group and a client list, slot by slot; equal ids
    are neighbours.
    """

    first: Keys  # slot of the first client with the same id
    last: Keys  # and of the last one
    is_first: NDArray[np.bool_]
    is_empty: NDArray[np.bool_]
    is_scattered: NDArray[np.bool_]  # whether its id stands in several machine rooms

    @classmethod
    def of(cls, lists: ClientLists, slots: Keys, starts: Keys) -> _Ids:
        places = list_positions(starts)
        is_first = lists.first[slots] == places
        firsts = np.flatnonzero(is_first)
        run = np.cumsum(is_first) - 1
        first, last = firsts[run], np.append(firsts, slots.size)[1:][run] - 1
        room = np.zeros(slots.size, np.int32) if lists.slot_room is None else lists.slot_room[slots]
        elsewhere = np.bincount(first, room != room[first], slots.size) > 0
        return cls(first, last, is_first, lists.empty_id[slots], elsewhere[first])

    @property
    def is_repeated(self) -> NDArray[np.bool_]:
        """Slots whose id has another."""
        repeated: NDArray[np.bool_] = self.first != self.last
        return repeated

    @property
    def is_odd(self) -> NDArray[np.bool_]:
        """Slots whose id repeats or is empty."""
        return self.is_repeated | self.is_empty

    @property
    def owner(self) -> Keys:
        """Slot of who owns what a slot is given; -1 where nobody asks for it."""
        return np.append(np.where(self.is_first & ~self.is_empty, self.first, -1), -1)


def _holders(fleet: Fleet) -> tuple[Keys, Keys]:
    """Return pairs of a group and a client list: the first unit of each, and the pair of each unit."""
    groups, _ = distinct_strings(fleet.consumer_groups)
    pairs = groups.astype(np.int64) * (fleet.client_lists.offsets.size - 1) + fleet.unit_client_list
    _, firsts, of_unit = np.unique(pairs, return_index=True, return_inverse=True)
    return firsts, of_unit


def _first_owners(fleet: Fleet, owners: Owners) -> Owners:
    """Return owners by the first place of their id."""
    if fleet.is_regular:
        return owners
    slots = np.repeat(fleet.slot_starts, fleet.n_queues) + owners
    return np.append(fleet.client_lists.first, np.int32(-1))[np.where(owners < 0, -1, slots)]


def _moved(fleet: Fleet, s: Strategy, had: Owners, starts: Keys, holders: Keys, ids: _Ids) -> Keys:
    """Return queues that move by the client that leaves, the clients of pair ``p`` being
    ``starts[p]`` to ``starts[p + 1]``.

    Of equal ids the first counts.
    """
    if s.decided_by == "ids":
        leave, odd = had >= 0, np.flatnonzero(fleet.client_lists.irregular[fleet.unit_client_list])
        if odd.size:
            mine = ranges(fleet.queue_offsets[odd], fleet.n_queues[odd])
            leave[mine] = _leaving_with_owner(subfleet(fleet, odd), s, had[mine])
        # Queues that nobody owns move with the empty id, which is the first.
        slots = np.repeat(starts[holders], fleet.n_queues) + np.maximum(had, 0)
        return np.bincount(slots[leave], minlength=int(starts[-1]))
    if s.decided_by != "positions in rooms":
        return _moved_by_position(fleet, s, starts, holders, ids)
    parts, inner = s.by_room(
        fleet
    )  # a queue moves in its room, where positions are those in the room
    n_lists = parts.fleet.client_lists.offsets.size - 1
    pairs = holders[parts.unit] * n_lists + parts.fleet.unit_client_list
    _, firsts, of_part = np.unique(pairs, return_index=True, return_inverse=True)
    sizes = parts.fleet.n_clients[firsts].astype(np.int64)
    own = _Ids.of(
        parts.fleet.client_lists, ranges(parts.fleet.slot_starts[firsts], sizes), offsets_of(sizes)
    )
    by_part = _moved_by_position(parts.fleet, inner, offsets_of(sizes), of_part, own)
    places = parts.slot_places[ranges(parts.fleet.slot_starts[firsts], sizes)]
    slots = np.repeat(starts[holders[parts.unit[firsts]]], sizes) + places
    return np.bincount(slots, by_part, int(starts[-1])).astype(np.int64)


def _leaving_with_owner(fleet: Fleet, s: Strategy, had: Owners) -> NDArray[np.bool_]:
    """Return the queues that move if one client of the id that has them leaves, of a strategy that
    goes by names.

    It makes no difference to a queue if a client leaves that would not have it. So the last clients
    of many ids may leave at once: of a queue that another id would have now, this is seen if that
    other one is complete. Ids that repeat or are empty are numbered, and numbers that differ do so
    in some binary digit: those that have the digit of the owner's leave with it.
    """
    lists, assigner = fleet.client_lists, Assigner(fleet)
    every = np.arange(len(lists.client_ids))
    ids = _Ids.of(lists, every, lists.offsets)
    odd, seen = ids.is_odd, np.append(0, np.cumsum(ids.is_odd & ids.is_first))
    number = seen[ids.first] - np.repeat(seen[lists.offsets[:-1]], np.diff(lists.offsets))
    begins = np.repeat(fleet.slot_starts, fleet.n_queues)
    holder = ids.first[
        begins + np.maximum(had, 0)
    ]  # what nobody owns the empty id has, which is the first
    leave = (had >= 0) & ~odd[holder]
    for bit in range(max(1, int(number[odd].max(initial=0)).bit_length())):
        for digit in (0, 1):
            among = odd & (number >> bit & 1 == digit)
            gone = among & (ids.last == every)
            if gone.any():
                clients = ClientsUnderChange(lists)
                clients.remove(gone)
                fewer = replaced(fleet, client_lists=clients.lists)
                has, _ = assigner.owners(fewer, Rules.same(s, fleet.n_units))
                slots = np.where(has < 0, -1, np.repeat(fewer.slot_starts, fleet.n_queues) + has)
                now = np.append(ids.first[~gone], -1)[slots]
                leave |= among[holder] & (now != np.where(had < 0, -1, holder))
    return leave


def _moved_by_position(fleet: Fleet, s: Strategy, starts: Keys, holders: Keys, ids: _Ids) -> Keys:
    """Return the same for a strategy that goes by positions.

    With n - 1 clients the queue goes to position w, which is the client of position w before if the
    one who left was behind it, and that of w + 1 otherwise. So for each queue there are two
    answers: one if a client up to w leaves, and one if a client behind w does.
    """
    lists, owner, n_all = fleet.client_lists, ids.owner, int(starts[-1])
    # Only positions count, so ids are taken for distinct ones.
    regular = replaced(
        fleet, client_lists=DistinctLists.of_slots(lists.offsets, lists.client_ids, lists.slot_room)
    )
    clients = ClientsUnderChange(regular.client_lists)
    last = np.zeros(len(lists.client_ids), bool)
    last[lists.offsets[1:][np.diff(lists.offsets) > 0] - 1] = True
    clients.remove(last)
    fewer = replaced(fleet, client_lists=clients.lists)
    had, has = (
        Assigner(fleet).owners(one, Rules.same(s, fleet.n_units))[0] for one in (regular, fewer)
    )
    begin, end = (np.repeat(some[holders], fleet.n_queues) for some in (starts[:-1], starts[1:]))
    owned = owner[np.where(had >= 0, begin + had, -1)]
    if_behind, if_before = (owner[np.where(has >= 0, begin + has + more, -1)] for more in (0, 1))
    between = begin + has + 1
    behind, before = (
        owned != if_behind,
        owned != if_before,
    )  # where nobody has it after, between is where it begins
    steps = np.zeros(n_all + 1, np.int64)  # where the number of queues that move steps up or down
    for step, places in (
        (1, begin[before]), (-1, between[before]), (1, between[behind]), (-1, end[behind]),
    ):  # fmt: skip
        steps += step * np.bincount(places, minlength=n_all + 1)
    moved: Keys = np.cumsum(steps[:-1])[ids.last]
    return moved


def _least(fleet: Fleet, had: Owners, starts: Keys, holders: Keys, ids: _Ids) -> Keys:
    """Return the fewest queues that can move by the client that leaves.

    Of n - 1 clients, r may keep b + 1 queues and the others b: kept are, over those that stay, the
    sum of the lesser of load and b, and one each of at most r that have more. Clients that own
    nothing all give equal results. Equal ids are one client, which stays if one of them leaves: n
    may keep queues then.
    """
    n_clients = _added(
        np.repeat(np.arange(starts.size - 1), np.diff(starts)), ids.is_first, starts.size - 1
    )[holders]
    units, stride = (
        np.repeat(np.arange(fleet.n_units), fleet.n_queues),
        int(fleet.n_clients.max(initial=1)),
    )
    keys, loads = np.unique((units * stride + had)[had >= 0], return_counts=True)
    unit, client = np.divmod(keys, stride)
    kept = _LeastMoves.of(fleet, unit, loads, n_clients - 1)
    of_idle = np.where(
        n_clients > 1, kept.lost, _added(unit, loads, fleet.n_units)
    )  # without clients after: all owned
    least = np.repeat(_added(holders, of_idle, starts.size - 1), np.diff(starts))
    some = n_clients[unit] > 1
    least += _added((starts[holders[unit]] + client)[some], kept.of_busy[some], int(starts[-1]))
    if ids.is_repeated.any():
        staying = _added(
            holders, _LeastMoves.of(fleet, unit, loads, n_clients).lost, starts.size - 1
        )
        least = np.where(ids.is_repeated, np.repeat(staying, np.diff(starts)), least)
    return least


class _LeastMoves(NamedTuple):
    """Queues that clients cannot keep if so many clients have even loads after."""

    lost: Keys  # per unit, if all clients that own queues stay
    of_busy: Keys  # per client that owns queues, how many more if it leaves

    @classmethod
    def of(cls, fleet: Fleet, unit: Keys, loads: Keys, n_after: Keys) -> _LeastMoves:
        """Return the moves of clients that own ``loads`` queues of ``unit``."""
        n_queues = fleet.n_queues.astype(np.int64)
        size, extra = np.divmod(n_queues, np.maximum(n_after, 1))
        lesser, has_more = np.minimum(loads, size[unit]), loads > size[unit]
        kept = _added(unit, lesser, fleet.n_units)
        more = _added(unit, has_more, fleet.n_units)
        extras = np.minimum(extra, more)
        extras_without = np.minimum(extra[unit], more[unit] - has_more)
        return cls(n_queues - kept - extras, lesser + extras[unit] - extras_without)


def _added(places: Keys, numbers: NDArray[Any], size: int) -> Keys:
    """Return sums of numbers by their place."""
    return np.bincount(places, numbers, size).astype(np.int64)


# --- Departures laid out one by one ---


def _lay_out(
    fleet: Fleet,
    rules: Rules,
    owners: Owners,
    chosen: Keys,
    starts: Keys,
    sums: tuple[Keys, Keys],
    leaves: Any = None,
) -> None:
    """Add what moves by each departure of some units to the sums, where the clients of each unit
    begin at ``starts``.

    Of those clients alone that ``leaves`` says, if it is given.
    """
    units, n_each = np.repeat(chosen, fleet.n_clients[chosen]), fleet.n_clients[chosen]
    places = list_positions(offsets_of(n_each)).astype(np.int64)
    slots = np.repeat(starts, n_each) + places
    if leaves is not None:
        units, places, slots = (column[leaves[slots]] for column in (units, places, slots))
    for some in _pieces(fleet.n_clients[units].astype(np.int64)):
        for total, numbers in zip(
            sums, _one_by_one(fleet, rules, owners, units[some], places[some]), strict=True
        ):
            np.add.at(total, slots[some], numbers)


def _pieces(sizes: Keys) -> Iterator[slice]:
    """Yield stretches of departures whose client lists together are of a size that memory has room
    for.
    """
    if sizes.size:
        number = offsets_of(sizes)[:-1] // _MOST_SLOTS
        cuts = [0, *(1 + np.flatnonzero(np.diff(number))).tolist(), sizes.size]
        yield from map(slice, cuts[:-1], cuts[1:])


def _one_by_one(
    fleet: Fleet, rules: Rules, owners: Owners, units: Keys, places: Keys
) -> tuple[Keys, Keys]:
    """Return figures of some departures: a copy of the unit for each, from whose client list one
    place goes.
    """
    lists, sizes = fleet.client_lists, fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], sizes)
    rooms = None if lists.slot_room is None else lists.slot_room[slots]
    own = type(lists).of_slots(offsets_of(sizes), Derived.of(lists.client_ids, slots), rooms)
    before = replaced(
        units_alone(fleet, units),
        client_lists=own,
        unit_client_list=np.arange(units.size, dtype=np.int32),
    )
    clients = ClientsUnderChange(own)
    clients.remove(list_positions(own.offsets) == np.repeat(places, sizes))
    after = replaced(before, client_lists=clients.lists)
    had = owners_of_units(fleet, owners, units)
    has, _ = Assigner(before).owners(after, rules.select(units))
    found = movement_of(before, had, after, has, per_unit(before, clients.positions()))
    return found.moved.astype(np.int64), found.least_moves.astype(np.int64)
