"""What the departure of every single client moves: all departures of all units as one fleet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import list_positions, offsets_of, ranges
from rmqalloc.whatif.movement import movement_of
from rmqalloc.whatif.planning.owners import Assigner, Owners
from rmqalloc.whatif.plans.sides import Keys
from rmqalloc.whatif.scenarios.clients import ClientsUnderChange
from rmqalloc.whatif.scenarios.derived import Derived
from rmqalloc.whatif.scenarios.parts import Rules, per_unit

_MOST_SLOTS = 1 << 22


class Departures(NamedTuple):
    """One entry per unit and client that leaves it.

    Attributes
    ----------
    units : ndarray of int64
        The unit.
    slots : ndarray of int64
        The client's slot in the fleet's client lists.
    moved, least_moves : ndarray of int64
        Queues, as `rmqalloc.whatif.movement.Movement` counts them.
    """

    units: Keys
    slots: Keys
    moved: Keys
    least_moves: Keys


def departures(fleet: Fleet, rules: Rules, owners: Owners) -> Departures:
    """What moves if one client leaves and all others stay, for every client of every unit.

    Of several clients with one id one leaves at a time: the id keeps its other places.

    Parameters
    ----------
    fleet : Fleet
        In Java's order.
    rules : Rules
        Strategies of its units.
    owners : ndarray of int32
        Of all its queues.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> from rmqalloc.whatif.scenarios import ordered
    >>> queues = [("b", i) for i in range(24)]
    >>> fleet = ordered(Fleet.from_groups([("g", "T", queues, ["c1", "c2", "c3", "c4"])]))
    >>> avg = strategy("AVG")
    >>> departures(fleet, Rules.same(avg, 1), avg.assign_fleet(fleet)).moved.tolist()
    [12, 8, 8, 12]
    """
    units = np.repeat(np.arange(fleet.n_units), fleet.n_clients)
    places = list_positions(fleet.client_offsets).astype(np.int64)
    pieces = _pieces(fleet.n_clients[units].astype(np.int64))
    parts = [(units[:0], units[:0]), *(_moved(fleet, rules, owners, units[some], places[some]) for some in pieces)]
    moved, least = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Departures(units, fleet.slot_starts[units] + places, moved, least)


def _pieces(sizes: Keys) -> Iterator[slice]:
    """Stretches of departures whose client lists together are of a size that memory has room for."""
    if sizes.size:
        number = offsets_of(sizes)[:-1] // _MOST_SLOTS
        cuts = [0, *(1 + np.flatnonzero(np.diff(number))).tolist(), sizes.size]
        yield from map(slice, cuts[:-1], cuts[1:])


def _moved(fleet: Fleet, rules: Rules, owners: Owners, units: Keys, places: Keys) -> tuple[Keys, Keys]:
    """Figures of some departures: a copy of the unit for each, from whose client list one place goes."""
    lists, sizes = fleet.client_lists, fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], sizes)
    rooms = None if lists.slot_room is None else lists.slot_room[slots]
    own = type(lists)(offsets_of(sizes), Derived.of(lists.client_ids, slots), rooms)
    before = replace(fleet.select(units), client_lists=own, unit_client_list=np.arange(units.size, dtype=np.int32))
    clients = ClientsUnderChange(own)
    clients.remove(list_positions(own.offsets) == np.repeat(places, sizes))
    after = replace(before, client_lists=clients.lists)
    had = owners[ranges(fleet.queue_offsets[units], fleet.n_queues[units])]
    has, _ = Assigner(before).owners(after, rules.part_of(units))
    found = movement_of(before, had, after, has, per_unit(before, clients.positions()))
    return found.moved.astype(np.int64), found.least_moves.astype(np.int64)
