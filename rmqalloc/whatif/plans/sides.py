"""All queues and clients of a plan as numbers that mean the same in every scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, distinct_strings, ranges
from rmqalloc.strategies.ordering import utf16
from rmqalloc.whatif.metrics import loads
from rmqalloc.whatif.plan import too_large_rows
from rmqalloc.whatif.planning.before import read_before
from rmqalloc.whatif.planning.owners import Owners
from rmqalloc.whatif.plans.specs import Part

Keys = NDArray[np.int64]


class Side(NamedTuple):
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
    rows, clients, repeats, loads, rooms : ndarray
        Per client of each unit: the unit's row, the client's number, how often its id came before in the unit, its queues,
        and the number of its machine room (-1: not known).
    """

    good: NDArray[np.bool_]
    known: NDArray[np.bool_]
    queues: Keys
    owners: Index
    rows: Keys
    clients: Index
    repeats: Keys
    loads: Index
    rooms: Index


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
    lists, clients = fleet.queue_lists, fleet.client_lists
    n_queues, n_clients = fleet.n_queues[units], fleet.n_clients[units]
    places, slots = ranges(fleet.queue_starts[units], n_queues), ranges(fleet.slot_starts[units], n_clients)
    brokers = _places(fleet.brokers, numbers.brokers)[lists.route_broker[lists.queue_route[places]]]
    owners = state.owners[ranges(fleet.queue_offsets[units], n_queues)]
    owner_slots = np.repeat(fleet.slot_starts[units], n_queues) + np.maximum(owners, 0)
    good, known = np.zeros((2, n_rows), bool)
    good[rows], known[rows] = state.is_good, True
    row_of_slot, client = np.repeat(rows, n_clients), client_of_slot[slots]
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    return Side(
        good,
        known,
        numbers.queue_key(np.repeat(rows, n_queues), brokers, lists.queue_ids[places]),
        np.where(owners < 0, np.int32(-1), np.append(client_of_slot, np.int32(-1))[owner_slots]),
        row_of_slot,
        client,
        np.zeros(slots.size, np.int64) if fleet.is_regular else repeats_of(row_of_slot * len(numbers.clients) + client),
        loads(fleet, state.owners)[ranges(fleet.client_offsets[units], n_clients)],
        room,
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
    good, known = (np.logical_or.reduce(masks) for masks in zip(*(side[:2] for side in sides), strict=True))
    rest = [np.concatenate(column) for column in zip(*(side[2:] for side in sides), strict=True)]
    if len(sides) > 1:
        order = np.argsort(rest[0])
        rest[:2] = rest[0][order], rest[1][order]
    return Side(good, known, *rest)
