"""Scenarios done to whole fleets, without a look at a single unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import RoomsUnknownError
from rmqalloc.fleet import Fleet, FleetError
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Strings, longest_of
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.scenarios._queue_changes import QueuesUnderChange
from rmqalloc.scenarios.client_changes import ClientsUnderChange, generated_names
from rmqalloc.scenarios.patterns import matches
from rmqalloc.scenarios.scenario import (
    ALL,
    AddBroker,
    AddClients,
    LoseMachineRoom,
    RemoveBroker,
    RemoveClients,
    ScaleClients,
    Scenario,
    SetQueues,
    SetStrategy,
    SetVirtualNodes,
)
from rmqalloc.scenarios.subfleet import Changed, Rules, among_others, per_unit, subfleet
from rmqalloc.strategies import Strategy, sort_client_ids

Mask = NDArray[np.bool_]


def concerned(scenario: Scenario, fleet: Fleet) -> Mask:
    """Return the units whose group and topic match the scenario."""
    units = np.ones(fleet.n_units, bool)
    if scenario.groups != ALL:
        units &= matches(scenario.groups, fleet.consumer_groups)
    if scenario.topics != ALL:
        units &= matches(scenario.topics, fleet.topics)[fleet.unit_topic]
    return units


def apply(scenario: Scenario, fleet: Fleet, rules: Rules | Strategy) -> Changed:
    """Apply a scenario to a fleet.

    Parameters
    ----------
    scenario : Scenario
        Scenario to apply.
    fleet : Fleet
        Fleet in Java's sort order, see `ordered`.
    rules : Rules or Strategy
        The strategies before.

    Raises
    ------
    RoomsUnknownError
        The scenario names a machine room and the fleet has no machine rooms.
    TypeError, ValueError
        The rules are not those of the fleet's units.
    FleetError
        It gives a unit more queues or clients than `rmqalloc.fleet.unit_sizes.MAX_PER_UNIT`.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> from rmqalloc.scenarios import RemoveClients, ordered
    >>> fleet = ordered(Fleet.from_groups([("g", "T", [("broker-a", 0)], ["c3", "c1", "c2"])]))
    >>> after = apply(Scenario("less", [RemoveClients(ids="c1")]), fleet, strategy("AVG"))
    >>> after.fleet.client_ids_of(0), after.renamed.tolist()
    (['c2', 'c3'], [-1, 0, 1])
    """
    rules = Rules.same(rules, fleet.n_units) if isinstance(rules, Strategy) else rules
    rules.check(fleet)
    units = concerned(scenario, fleet)
    if units.all():
        return changed(scenario, fleet, rules)
    chosen = np.flatnonzero(units)
    try:
        part = changed(scenario, subfleet(fleet, chosen), rules.select(chosen))
    except FleetError as error:
        raise error.among(chosen.tolist(), fleet.n_units) from None
    return among_others(fleet, rules, chosen, part)


def changed(scenario: Scenario, fleet: Fleet, rules: Rules) -> Changed:
    """Do the changes of a scenario to all units, whatever their groups and topics."""
    work = _Work(scenario, fleet, rules)
    for i, change in enumerate(scenario.changes):
        work.do(i, change)
    return work.finished()


class _Work:
    """A fleet while the changes of one scenario go over it."""

    def __init__(self, scenario: Scenario, fleet: Fleet, rules: Rules) -> None:
        self._fleet, self._before, self._rules = fleet, rules, rules
        self._clients = ClientsUnderChange(fleet.client_lists)
        self._queues: QueuesUnderChange | None = None
        self._rooms = fleet.rooms.to_list()
        self._name = self._where = scenario.name

    @property
    def _changed_queues(self) -> QueuesUnderChange:
        if self._queues is None:
            self._queues = QueuesUnderChange(self._fleet)
        return self._queues

    def do(self, place: int, change: Any) -> None:
        """Apply one change."""
        self._where = f"scenario {self._name!r}: changes[{place}]"
        match change:
            case RemoveClients():
                self._clients.remove(self._leaving(change))
            case AddClients() | ScaleClients():
                self._join(change)
            case SetStrategy():
                self._rules = Rules.same(self._usable(change.rule()), self._fleet.n_units)
            case SetVirtualNodes():
                table = tuple(s.with_virtual_nodes(change.virtual_nodes) for s in self._rules.table)
                self._rules = Rules(table, self._rules.of_unit)
            case SetQueues():
                queues = self._changed_queues
                queues.set_read_queue_nums(
                    queues.on(change.brokers) & queues.of(change.topics), change.read_queue_nums
                )
            case RemoveBroker():
                self._changed_queues.remove(self._changed_queues.on(change.brokers))
            case AddBroker():
                room = self._room(change.machine_room, "broker_rooms")
                self._changed_queues.add(change.broker_name, change.read_queue_nums, room)
            case LoseMachineRoom():
                self._lose(change)

    def _leaving(self, change: RemoveClients) -> Mask:
        clients = self._clients
        if change.ids is not None:
            return clients.named(change.ids)
        if change.pattern is not None:
            return clients.matching(change.pattern)
        if change.count is not None:
            return clients.first_last_or_spread(change.count, change.which)
        return clients.in_room(self._room(change.machine_room, "client_rooms"))

    def _join(self, change: AddClients | ScaleClients) -> None:
        clients, room = self._clients, self._room(change.machine_room, "client_rooms")
        if isinstance(change, ScaleClients):
            clients.remove(clients.beyond(change.to))
        counts = self._wanted(change)
        if not counts.any():
            return
        if isinstance(change, AddClients) and change.ids is not None:
            clients.add(
                Strings.from_list(sort_client_ids(change.ids)), counts, room, generated=False
            )
            return
        enough = int(counts.max()) + longest_of(clients.lists.offsets)
        # A power of two, so that scenarios that add a few more or less share one series.
        clients.add(
            generated_names(change.name, 1 << enough.bit_length()), counts, room, generated=True
        )

    def _wanted(self, change: AddClients | ScaleClients) -> NDArray[np.int64]:
        """Return how many clients join every list; none join a list that no unit reads."""
        sizes = self._clients.sizes
        counts = np.zeros_like(sizes)
        used = self._fleet.unit_client_list
        if isinstance(change, ScaleClients):
            counts[used] = change.to - sizes[used]
        else:
            counts[used] = len(change.ids) if change.ids is not None else change.count or 0
        return counts

    def _usable(self, s: Strategy) -> Strategy:
        """Return the strategy, if it finds all that it needs in the fleet."""
        try:
            s.fleet_errors(units_alone(self._fleet, np.zeros(0, np.int64)))
        except RoomsUnknownError as error:
            raise RoomsUnknownError(f"{self._where}: {error}") from None
        return s

    def _lose(self, change: LoseMachineRoom) -> None:
        if change.what != "brokers":
            self._clients.remove(
                self._clients.in_room(self._room(change.machine_room, "client_rooms"))
            )
        if change.what != "clients":
            queues = self._changed_queues
            queues.remove(queues.in_room(self._room(change.machine_room, "broker_rooms")))

    def _room(self, name: str | None, column: str) -> int:
        """Return the number of a machine room, a new one if it is not known; -1 for none."""
        if name is None:
            return -1
        fleet = self._fleet
        known = (
            fleet.client_lists.slot_room
            if column == "client_rooms"
            else fleet.queue_lists.route_room
        )
        if known is None:
            raise RoomsUnknownError(
                f"{self._where}: machine room {name!r} is asked for, but the table has no column {column}"
            )
        if name not in self._rooms:
            self._rooms.append(name)
        return self._rooms.index(name)

    def finished(self) -> Changed:
        """Return the result of all changes together."""
        before, clients, queues = self._fleet, self._clients, self._queues
        units = clients.changed[before.unit_client_list]
        units |= self._rule_changed()
        queue_lists, brokers, rooms = before.queue_lists, before.brokers, before.rooms
        if queues is not None:
            units |= queues.changed[before.unit_queue_list]
            queue_lists, brokers = queues.finished(), queues.brokers
        if len(self._rooms) > len(rooms):
            rooms = Strings.from_list(self._rooms)
        fleet = replaced(
            before,
            client_lists=clients.lists,
            queue_lists=queue_lists,
            brokers=brokers,
            rooms=rooms,
        )
        return Changed(fleet, per_unit(before, clients.positions()), self._rules, units)

    def _rule_changed(self) -> Mask:
        before, after = (
            np.array([id(s) for s in r.table])[r.of_unit] for r in (self._before, self._rules)
        )
        differs: Mask = before != after
        return differs
