"""Parts of fleets, and fleets of which a part has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Index, offsets_of, ranges, take_stretches
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.fleet.positions import positions
from rmqalloc.scenarios.client_changes import ClientsUnderChange
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists
from rmqalloc.strategies import Strategy

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rules:
    """The strategy of every unit.

    Attributes
    ----------
    table : tuple of Strategy
    of_unit : ndarray of int32, shape (n_units,)
        Place of a unit's strategy in ``table``.
    """

    table: tuple[Strategy, ...]
    of_unit: Index

    @classmethod
    def same(cls, strategy: Strategy, n_units: int) -> Rules:
        """Return one strategy for all units."""
        return cls((strategy,), np.zeros(n_units, np.int32))

    def select(self, units: NDArray[Any]) -> Rules:
        """Return the rules of some units; see `rmqalloc.fleet.positions.positions` for what may be
        given.
        """
        return Rules(self.table, self.of_unit[positions(units, self.of_unit.size, "unit")])

    def check(self, fleet: Fleet) -> None:
        """Refuse rules that are not those of a fleet's units.

        Raises
        ------
        TypeError, ValueError
            ``of_unit`` is no vector of integers, has not one entry per unit, or names a strategy
            that is not there.
        """
        of_unit, n = self.of_unit, len(self.table)
        if not isinstance(of_unit, np.ndarray) or of_unit.dtype.kind not in "iu":
            raise ArgumentTypeError(
                f"of_unit must be a numpy array of int32, got {getattr(of_unit, 'dtype', type(of_unit).__name__)}"
            )
        if of_unit.shape != (fleet.n_units,):
            raise ArgumentError(
                f"of_unit must have shape ({fleet.n_units},), one entry per unit, got {of_unit.shape}"
            )
        if of_unit.size and not 0 <= int(of_unit.min()) <= int(of_unit.max()) < n:
            raise ArgumentError(
                f"of_unit must be places in table, 0 to {n - 1}, got {of_unit.min()} to {of_unit.max()}"
            )

    def by_strategy(self) -> Iterator[tuple[Strategy, NDArray[np.int64]]]:
        """Yield every strategy that a unit has, with its units; in all it looks at each unit once.

        Examples
        --------
        >>> from rmqalloc import strategy
        >>> rules = Rules((strategy("AVG"), strategy("AVG_BY_CIRCLE")), np.array([1, 0, 1], np.int32))
        >>> [(s.get_name(), units.tolist()) for s, units in rules.by_strategy()]
        [('AVG', [1]), ('AVG_BY_CIRCLE', [0, 2])]
        """
        order = np.argsort(self.of_unit, kind="stable")
        for units in np.split(order, 1 + np.flatnonzero(np.diff(self.of_unit[order]))):
            if units.size:
                yield self.table[self.of_unit[units[0]]], units


@dataclass(frozen=True, eq=False)
class Changed:
    """A fleet after a scenario.

    Attributes
    ----------
    fleet : Fleet
        The same units in Java's order; client ids are copied only if something reads them.
    renamed : ndarray of int32, shape (before.client_offsets[-1],)
        Per client of each unit before (``before.client_offsets``): the first position of its id in
        the unit's client list after, -1 if it left. Only the first client of a repeated id has a
        position; further clients own nothing and have -1.
    rules : Rules
        The strategies after.
    units : ndarray of bool, shape (n_units,)
        Units that changed: clients, queues, or strategy.
    """

    fleet: Fleet
    renamed: Index
    rules: Rules
    units: Mask


def per_unit(fleet: Fleet, per_slot: Index) -> Index:
    """Lay out numbers of the slots of client lists unit by unit."""
    if np.array_equal(fleet.unit_client_list, np.arange(fleet.n_units)):
        return per_slot[: fleet.client_lists.offsets[fleet.n_units]]
    return take_stretches(per_slot, fleet.slot_starts, fleet.client_offsets)


def unmoved(fleet: Fleet) -> Index:
    """Return `Changed.renamed` where nothing has changed."""
    return per_unit(fleet, ClientsUnderChange(fleet.client_lists).positions())


def subfleet(fleet: Fleet, units: NDArray[Any]) -> Fleet:
    """Return some units alone, with their client lists alone; the lists of queues are those of the
    fleet.
    """
    part, lists = units_alone(fleet, units), fleet.client_lists
    used, numbers = np.unique(
        part.unit_client_list, return_inverse=True
    )  # it costs what the part does, not the whole
    starts, sizes = lists.offsets[used], lists.offsets[used + 1] - lists.offsets[used]
    slots = ranges(starts, sizes)
    rooms = None if lists.slot_room is None else lists.slot_room[slots]
    return replaced(
        part,
        client_lists=type(lists).of_slots(
            offsets_of(sizes), Derived.of(lists.client_ids, slots), rooms
        ),
        unit_client_list=numbers.astype(np.int32),
    )


def among_others(fleet: Fleet, rules: Rules, units: NDArray[Any], part: Changed) -> Changed:
    """Return a fleet of which some units, made a fleet by `subfleet`, have changed."""
    brokers, rooms, unit_queue_list = (
        part.fleet.brokers,
        part.fleet.rooms,
        fleet.unit_queue_list.copy(),
    )
    queue_lists = part.fleet.queue_lists
    if queue_lists is not fleet.queue_lists:
        unit_queue_list[units] = part.fleet.unit_queue_list + (fleet.queue_lists.offsets.size - 1)
        queue_lists = _queue_lists(fleet.queue_lists, queue_lists)
    unit_client_list = fleet.unit_client_list.copy()
    unit_client_list[units] = part.fleet.unit_client_list + (fleet.client_lists.offsets.size - 1)
    renamed = unmoved(fleet).copy()
    renamed[ranges(fleet.client_offsets[units], fleet.n_clients[units])] = part.renamed
    of_unit, changed = rules.of_unit.copy(), np.zeros(fleet.n_units, bool)
    of_unit[units] = part.rules.of_unit + len(rules.table)
    changed[units] = part.units
    whole = replaced(
        fleet, brokers=brokers, rooms=rooms, queue_lists=queue_lists, unit_queue_list=unit_queue_list,
        client_lists=_client_lists(fleet.client_lists, part.fleet.client_lists), unit_client_list=unit_client_list,
    )  # fmt: skip
    return Changed(whole, renamed, Rules((*rules.table, *part.rules.table), of_unit), changed)


def _client_lists(lists: ClientLists, more: ClientLists) -> ClientLists:
    """Join lists and others behind them that were derived from some of them."""
    kind = (
        DistinctLists
        if isinstance(lists, DistinctLists) and isinstance(more, DistinctLists)
        else ClientLists
    )
    assert isinstance(more.client_ids, Derived)
    rooms = None
    if lists.slot_room is not None and more.slot_room is not None:
        rooms = np.append(lists.slot_room, more.slot_room)
    return kind.of_slots(
        _end_to_end(lists.offsets, more.offsets), more.client_ids.behind(lists.client_ids), rooms
    )


def _queue_lists(lists: QueueLists, more: QueueLists) -> QueueLists:
    """Join lists and others behind them."""
    rooms = None
    if lists.route_room is not None and more.route_room is not None:
        rooms = np.append(lists.route_room, more.route_room)
    return QueueLists.of_routes(
        _end_to_end(lists.list_routes, more.list_routes), _end_to_end(lists.route_offsets, more.route_offsets),
        np.append(lists.route_topic, more.route_topic), np.append(lists.route_broker, more.route_broker), rooms,
        np.append(lists.queue_ids, more.queue_ids),
    )  # fmt: skip


def _end_to_end(offsets: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join offsets of two columns, one behind the other."""
    return np.append(offsets, offsets[-1] + more[1:])
