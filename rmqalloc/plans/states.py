"""All queues and clients of a plan as numbers that mean the same in every scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Owners
from rmqalloc.evaluation.balance import loads
from rmqalloc.evaluation.before import read_before
from rmqalloc.evaluation.plan_batch import too_large_rows
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, distinct_strings, ranges
from rmqalloc.lazy import lazy_property
from rmqalloc.plans.specs import Part
from rmqalloc.strategies.ordering import utf16

Keys = NDArray[np.int64]


class ClientRows(NamedTuple):
    """Every client of every unit, which may be very many more than there are queues.

    Attributes
    ----------
    rows, clients, loads, rooms : ndarray
        The unit's row, the client's number, its queues, and the number of its machine room (-1: not known).
    """

    rows: Keys
    clients: Index
    loads: Index
    rooms: Index


class Owned(NamedTuple):
    """Clients by the group they are in, each once however many topics the group reads, and queues by the client.

    Attributes
    ----------
    rows, clients, repeats : ndarray
        Of each client of each client list of a group: a row of the group, the client's number, and how often its id came
        before in the list.
    owner_rows, owners, owner_repeats : ndarray
        The same of the owner of each queue that has one.
    """

    rows: Keys
    clients: Index
    repeats: Keys
    owner_rows: Keys
    owners: Index
    owner_repeats: Keys


@dataclass(frozen=True, eq=False)
class Side:
    """Every unit in one scenario.

    Attributes
    ----------
    good : ndarray of bool, shape (n_rows,)
        Rows of the units.
    known : ndarray of bool, shape (n_rows,)
        Rows of which queues and clients follow: before any change also those of units that only a scenario can assign, whose
        queues are nobody's.
    queues : ndarray of int64
        Keys of all queues, ascending; see `Numbers.queue_key`.
    owners : ndarray of int32
        Number of each queue's client, -1 for nobody.
    """

    good: NDArray[np.bool_]
    known: NDArray[np.bool_]
    queues: Keys
    owners: Index
    _states: Sequence[_Numbered]

    @lazy_property
    def client_rows(self) -> ClientRows:
        """Every client of every unit."""
        return ClientRows(*_end_to_end([_client_rows(one) for one in self._states]))

    @lazy_property
    def owned(self) -> Owned:
        """Clients of the groups that could be assigned, and the owners of their queues."""
        return Owned(*_end_to_end([_owned(one) for one in self._states if one.state.is_good]))


class Numbers(NamedTuple):
    """What the numbers of the sides stand for, in Java's order.

    Attributes
    ----------
    brokers, rooms : list of str
    clients : Strings
        Client ids.
    n_queue_ids : int
        One more than the greatest queue id.
    """

    brokers: list[str]
    rooms: list[str]
    clients: Strings
    n_queue_ids: int

    def queue_key(self, rows: NDArray[Any], brokers: NDArray[Any], queue_ids: NDArray[Any]) -> Keys:
        """Queues as numbers that are in order: by unit, and in it as Java orders them."""
        key: Keys = (np.asarray(rows, np.int64) * len(self.brokers) + brokers) * self.n_queue_ids + queue_ids
        return key


class Sides(NamedTuple):
    """Every scenario, the state before any change first."""

    sides: list[Side]
    numbers: Numbers


class _State(NamedTuple):
    """Some units in one scenario."""

    scenario: int
    rows: Keys
    fleet: Fleet
    owners: Owners
    known: Keys  # units that have queues and clients
    is_good: bool  # whether they could be assigned


class _Numbered(NamedTuple):
    """A state, with the number of the client of every slot of its client lists."""

    state: _State
    client_of_slot: Index
    numbers: Numbers


def sides_of(parts: Sequence[Part], n_rows: int) -> Sides:
    """Assign the units of all parts in every scenario.

    Parameters
    ----------
    parts : sequence of Part
        What `specs_of` gives.
    n_rows : int
        Rows of all parts together.
    """
    states = [state for part in parts for state in _states(part)]
    columns = {id(state.fleet.client_lists): state.fleet.client_lists.client_ids for state in states}
    starts = dict(zip(columns, np.cumsum([0, *map(len, columns.values())]).tolist()[:-1], strict=True))
    codes, clients = distinct_strings(Strings.joined(list(columns.values())))
    ranks = clients.ranks()
    ids = [state.fleet.queue_lists.queue_ids for state in states]
    numbers = Numbers(
        _words(state.fleet.brokers for state in states),
        _words(state.fleet.rooms for state in states),
        clients.take(np.argsort(ranks)),
        1 + max((int(one.max()) for one in ids if one.size), default=0),
    )
    by_scenario: dict[int, list[Side]] = {}
    for state in states:
        start = starts[id(state.fleet.client_lists)]
        of_slot = ranks[codes[start : start + len(state.fleet.client_lists.client_ids)]]
        by_scenario.setdefault(state.scenario, []).append(_side(state, of_slot, numbers, n_rows))
    return Sides([_joined(by_scenario[scenario]) for scenario in sorted(by_scenario)], numbers)


def _states(part: Part) -> list[_State]:
    """All units of a part before any change, and those that can be assigned in every scenario."""
    states = []
    spec = part.spec
    found, _ = read_before(part.batch, spec.rule(), too_large_rows(part.batch, spec))
    for before in found:
        rows = part.rows[before.units.rows]
        states.append(_State(0, rows, before.units.fleet, before.owners, np.arange(rows.size), not before.bad))
        for number, scenario in enumerate(spec.scenarios, start=1):
            after = before.after(scenario)
            states.append(_State(number, rows, after.changed.fleet, after.owners, after.good, True))
    return states


def _words(columns: Any) -> list[str]:
    """All words of some columns, in Java's order."""
    return sorted({word for column in columns for word in column.to_list()}, key=utf16)


def _places(column: Strings, words: list[str]) -> Index:
    """Where the words of a column are in the list of all, with -1 behind for none."""
    place = {word: i for i, word in enumerate(words)}
    return np.array([*(place[word] for word in column.to_list()), -1], np.int32)


def _side(state: _State, client_of_slot: Index, numbers: Numbers, n_rows: int) -> Side:
    fleet, units, rows = state.fleet, state.known, state.rows[state.known]
    lists = fleet.queue_lists
    n_queues = fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    brokers = _places(fleet.brokers, numbers.brokers)[lists.route_broker[lists.queue_route[places]]]
    owners = state.owners[ranges(fleet.queue_offsets[units], n_queues)]
    owner_slots = np.repeat(fleet.slot_starts[units], n_queues) + np.maximum(owners, 0)
    good, known = np.zeros((2, n_rows), bool)
    good[rows], known[rows] = state.is_good, True
    return Side(
        good,
        known,
        numbers.queue_key(np.repeat(rows, n_queues), brokers, lists.queue_ids[places]),
        np.where(owners < 0, np.int32(-1), np.append(client_of_slot, np.int32(-1))[owner_slots]),
        [_Numbered(state, client_of_slot, numbers)],
    )


def _client_rows(one: _Numbered) -> ClientRows:
    state, client_of_slot, numbers = one
    fleet, units, clients = state.fleet, state.known, state.fleet.client_lists
    n_clients = fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], n_clients)
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    owned = loads(fleet, state.owners)[ranges(fleet.client_offsets[units], n_clients)]
    return ClientRows(np.repeat(state.rows[units], n_clients), client_of_slot[slots], owned, room)


def _owned(one: _Numbered) -> Owned:
    state, client_of_slot, _ = one
    fleet, units, lists = state.fleet, state.known, state.fleet.client_lists
    groups, _ = distinct_strings(fleet.consumer_groups)
    pairs = groups[units].astype(np.int64) * (lists.offsets.size - 1) + fleet.unit_client_list[units]
    _, firsts, of_unit = np.unique(pairs, return_index=True, return_inverse=True)
    repeats = np.zeros(client_of_slot.size, np.int64)
    if not fleet.is_regular:
        in_list = np.repeat(np.arange(lists.offsets.size - 1), np.diff(lists.offsets))
        repeats = repeats_of(in_list * (1 + int(client_of_slot.max(initial=0))) + client_of_slot)
    row_of_pair = state.rows[units[firsts]]
    slots = ranges(fleet.slot_starts[units[firsts]], fleet.n_clients[units[firsts]])
    owners = state.owners[ranges(fleet.queue_offsets[units], fleet.n_queues[units])]
    has = owners >= 0
    owner_slots = (np.repeat(fleet.slot_starts[units], fleet.n_queues[units]) + owners)[has]
    return Owned(
        np.repeat(row_of_pair, fleet.n_clients[units[firsts]]),
        client_of_slot[slots],
        repeats[slots],
        np.repeat(row_of_pair[of_unit], fleet.n_queues[units])[has],
        client_of_slot[owner_slots],
        repeats[owner_slots],
    )


def repeats_of(keys: Keys) -> Keys:
    """How often each key has come before."""
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0)[: keys.size])
    before = np.empty(keys.size, np.int64)
    before[order] = np.arange(keys.size) - np.repeat(firsts, np.diff(np.append(firsts, keys.size)))
    return before


def _joined(sides: list[Side]) -> Side:
    """Sides of different units as one."""
    good, known = (np.logical_or.reduce([getattr(side, name) for side in sides]) for name in ("good", "known"))
    queues, owners = (np.concatenate([getattr(side, name) for side in sides]) for name in ("queues", "owners"))
    if len(sides) > 1:
        order = np.argsort(queues)
        queues, owners = queues[order], owners[order]
    return Side(good, known, queues, owners, [state for side in sides for state in side._states])


def _end_to_end(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Columns of several parts as one."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
