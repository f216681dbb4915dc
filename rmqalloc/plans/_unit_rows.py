"""Clients, brokers and strategy of every unit in one state of an evaluation, by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.evaluate import EvaluatedUnits, ScenarioState
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import as_set, method_set
from rmqalloc.evidence.views.view_rows import ViewUnits
from rmqalloc.fleet import Fleet
from rmqalloc.scenarios import Scenario, SetStrategy, SetVirtualNodes, apply
from rmqalloc.scenarios.scenario import Change
from rmqalloc.strategies import strategy
from rmqalloc.strategies.by_name import inner_class_of
from rmqalloc.strategies.dialects import JAVA
from rmqalloc.text import matcher

Clients = tuple[tuple[str, str | None], ...]
Brokers = tuple[tuple[str, int, str | None], ...]


class UnitRow(NamedTuple):
    """One view of a unit.

    Attributes
    ----------
    clients : tuple of (client id, machine room)
        In Java's order.
    brokers : tuple of (broker name, read queues, machine room)
        In Java's order; those without queues are among them.
    method : Method
        The strategy.
    dialect : str
        In which the clients compute a strategy that they are given.
    """

    clients: Clients
    brokers: Brokers
    method: Method
    dialect: str = JAVA

    @property
    def in_use(self) -> UnitRow:
        """The same without brokers that have no queue."""
        return self._replace(brokers=tuple(broker for broker in self.brokers if broker[1]))


_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_TEXTS = pa.list_(pa.string())

Unit = tuple[str, str]
UnitRows = dict[Unit, list[UnitRow]]
"""By group and topic, the rows of all views, the main one first."""


def unit_rows(read: ViewUnits, state: ScenarioState, scenario: Scenario | None = None) -> UnitRows:
    """Return the rows of the units that are in a state; those that no scenario can cure are in
    none.
    """
    groups, topics = read.batch.column("consumer_group"), read.batch.column("topic")
    names = list(zip(groups.to_pylist(), topics.to_pylist(), strict=True))
    methods = _methods(read)
    if scenario is not None:
        methods = [*_methods_after(read, methods, names, scenario)]
    found = {}
    for part in state.parts:
        for row, clients, brokers in _lists(part):
            found[row] = UnitRow(clients, brokers, methods[row], read.dialects.get(row, JAVA))
    units: UnitRows = {names[row]: [found[row]] for row in range(read.n_units) if row in found}
    for row, unit in sorted(read.mixed.unit_of.items()):
        if row != unit and unit in found:
            units[names[unit]].append(found[row])
    return units


def _methods(read: ViewUnits) -> list[Method]:
    """Return the strategy of every row before any change."""
    names = ("strategy", "virtual_nodes", "strategy_params")
    columns = (read.batch.column(name).to_pylist() for name in names)
    made: dict[tuple[Any, ...], Method] = {}
    rules = list(zip(*columns, strict=True))
    for name, nodes, params in set(rules):
        has_nodes = nodes is not None and inner_class_of(name).virtual_nodes is not None
        given = json.loads(params or "{}") | ({"virtual_nodes": nodes} if has_nodes else {})
        made[name, nodes, params] = Method(name, given)
    return [made[rule] for rule in rules]


def _methods_after(
    read: ViewUnits, methods: Sequence[Method], names: Sequence[Unit], scenario: Scenario
) -> Iterator[Method]:
    """Yield the strategy of every row after a scenario; clients that all read every queue keep
    theirs.
    """
    kinds = SetStrategy | SetVirtualNodes
    changes = [change for change in scenario.changes if isinstance(change, kinds)]
    has_group, has_topic = matcher(tuple(scenario.groups)), matcher(tuple(scenario.topics))
    for row, (method, (group, topic)) in enumerate(zip(methods, names, strict=True)):
        shared = read.mixed.shared.get(row)
        is_read_by_all = shared is not None and shared.pop_share is None
        if changes and not is_read_by_all and has_group(group) and has_topic(topic):
            yield method_after(method, changes, read.dialects.get(row, JAVA))
        else:
            yield method


def method_after(method: Method, changes: Iterable[Change], dialect: str = JAVA) -> Method:
    """Return the strategy after changes, as clients of a dialect compute what they are given.

    Examples
    --------
    >>> from rmqalloc.evidence.method import Method
    >>> str(method_after(Method("AVG"), [SetStrategy("CONSISTENT_HASH"), SetVirtualNodes(20)]))
    'CONSISTENT_HASH with 20 virtual nodes'
    """
    for change in changes:
        if isinstance(change, SetStrategy):
            method = as_set(method_set(change.strategy, change.params), dialect)
        elif (
            isinstance(change, SetVirtualNodes)
            and inner_class_of(method.name).virtual_nodes is not None
        ):
            method = Method(method.name, {**method.params, "virtual_nodes": change.virtual_nodes})
    return method


def rows_after(
    topic: str, rows: Sequence[UnitRow], changes: Iterable[Mapping[str, Any]]
) -> list[UnitRow]:
    """Return some rows after changes, which are done to each by itself.

    Examples
    --------
    >>> row = UnitRow((("c1", None), ("c2", None)), (("a", 4, None),), Method("AVG"))
    >>> [after] = rows_after("T", [row], [{"remove_clients": {"ids": "c1"}}, {"set_queues": {"read_queue_nums": 2}}])
    >>> after.clients, after.brokers
    ((('c2', None),), (('a', 2, None),))
    """
    done = list(changes)
    if not done:
        return list(rows)
    scenario = Scenario.of({"name": "rows", "changes": done})
    brokers, broker_rooms, client_ids, client_rooms = [], [], [], []
    for row in rows:
        brokers.append([(name, n_queues) for name, n_queues, _ in row.brokers])
        broker_rooms.append([room for _, _, room in row.brokers])
        client_ids.append([client_id for client_id, _ in row.clients])
        client_rooms.append([room for _, room in row.clients])
    columns = {
        "consumer_group": pa.array([""] * len(rows)),
        "topic": pa.array([topic] * len(rows)),
        "brokers": pa.array(brokers, _BROKERS),
        "broker_rooms": pa.array(broker_rooms, _TEXTS),
        "client_ids": pa.array(client_ids, _TEXTS),
        "client_rooms": pa.array(client_rooms, _TEXTS),
    }
    fleet = Fleet.from_arrow(pa.RecordBatch.from_pydict(columns)).sorted()
    made = apply(scenario, fleet, strategy("AVG")).fleet
    reader = _Reader(made)
    found = []
    for number, row in enumerate(rows):
        clients = reader.clients(int(made.unit_client_list[number]))
        queues = reader.brokers(int(made.unit_queue_list[number]))
        method = method_after(row.method, scenario.changes, row.dialect)
        found.append(UnitRow(clients, queues, method, row.dialect))
    return found


def _lists(part: EvaluatedUnits) -> Iterator[tuple[int, Clients, Brokers]]:
    """Yield the row, clients and brokers of some units; units that share a list share a tuple."""
    fleet = part.fleet
    reader = _Reader(fleet)
    lists = zip(
        part.rows.tolist(),
        fleet.unit_client_list.tolist(),
        fleet.unit_queue_list.tolist(),
        strict=True,
    )
    for row, clients, queues in lists:
        yield row, reader.clients(clients), reader.brokers(queues)


class _Reader:
    """Reads the lists of a fleet, each once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._rooms: list[str | None] = [*fleet.rooms.to_list(), None]
        self._brokers = fleet.brokers.to_list()
        self._known: tuple[dict[int, Clients], dict[int, Brokers]] = {}, {}

    def clients(self, number: int) -> Clients:
        """Return clients of a list."""
        known, lists = self._known[0], self._fleet.client_lists
        if number not in known:
            start, end = lists.offsets[number : number + 2].tolist()
            room = lists.slot_room
            rooms = [-1] * (end - start) if room is None else room[start:end].tolist()
            ids = lists.client_ids.to_list(start, end)
            names = [self._rooms[room] for room in rooms]
            known[number] = tuple(zip(ids, names, strict=True))
        return known[number]

    def brokers(self, number: int) -> Brokers:
        """Return brokers of a list, each with the number of its queues."""
        known, lists = self._known[1], self._fleet.queue_lists
        if number not in known:
            first, behind = lists.list_routes[number : number + 2].tolist()
            sizes = np.diff(lists.route_offsets[first : behind + 1]).tolist()
            room = lists.route_room
            rooms = [-1] * (behind - first) if room is None else room[first:behind].tolist()
            brokers = lists.route_broker[first:behind].tolist()
            known[number] = tuple(
                (self._brokers[broker], n_queues, self._rooms[room])
                for broker, n_queues, room in zip(brokers, sizes, rooms, strict=True)
            )
        return known[number]
