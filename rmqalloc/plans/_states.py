"""All queues and clients of a plan as numbers that mean the same in every state.

Names are numbered once for all states, in Java's order. Client lists after scenarios are picked out of few columns of ids
(`Derived`), so these columns are numbered and not the lists; a list's numbers are picked by the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._lazy import lazy_property
from rmqalloc.evaluation._assigner import owners_of_units
from rmqalloc.evaluation._balance import loads
from rmqalloc.evaluation._evaluate import EvaluatedUnits, ScenarioState
from rmqalloc.fleet._columns import Index, Strings, distinct_strings, ranges
from rmqalloc.scenarios._lazy_strings import Derived
from rmqalloc.strategies._ordering import utf16

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
class NumberedState:
    """Every unit in one state, its names as numbers.

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
    _parts: Sequence[_Numbered]

    @lazy_property
    def client_rows(self) -> ClientRows:
        """Every client of every unit."""
        return ClientRows(*_end_to_end([_client_rows(one) for one in self._parts]))

    @lazy_property
    def owned(self) -> Owned:
        """Clients of the groups that could be assigned, and the owners of their queues."""
        return Owned(*_end_to_end([_owned(one) for one in self._parts if one.is_good]))


class Numbers(NamedTuple):
    """What the numbers of states stand for, in Java's order.

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


class NumberedStates(NamedTuple):
    """Every state, that before any change first."""

    states: list[NumberedState]
    numbers: Numbers


class _Numbered(NamedTuple):
    """Some units in one state, with the number of the client of every slot of their client lists."""

    part: EvaluatedUnits
    known: Keys  # units of which queues and clients follow
    is_good: bool  # whether these could be assigned
    client_of_slot: Index
    numbers: Numbers


def numbered(states: Sequence[ScenarioState], n_rows: int) -> NumberedStates:
    """Number the names of all states.

    Parameters
    ----------
    states : sequence of ScenarioState
        Of an evaluation, that before any change first.
    n_rows : int
        Rows of the batch that was evaluated.
    """
    fleets = [part.fleet for state in states for part in state.parts]
    sources = {id(one): one for fleet in fleets for one in _sources(fleet.client_lists.client_ids)}
    codes, clients = distinct_strings(Strings.joined(list(sources.values())))
    ranks = clients.ranks()
    cuts = np.cumsum([len(one) for one in sources.values()])[:-1]
    number_of = dict(zip(sources, np.split(ranks[codes], cuts), strict=True))
    ids = [fleet.queue_lists.queue_ids for fleet in fleets]
    numbers = Numbers(
        _words(fleet.brokers for fleet in fleets),
        _words(fleet.rooms for fleet in fleets),
        clients.take(np.argsort(ranks)),
        1 + max((int(one.max()) for one in ids if one.size), default=0),
    )

    def of_part(part: EvaluatedUnits, is_first: bool) -> _Numbered:
        column = part.fleet.client_lists.client_ids
        of_slot = np.concatenate([number_of[id(one)] for one in _sources(column)])
        of_slot = of_slot[column.rows] if isinstance(column, Derived) else of_slot
        known = np.arange(part.rows.size) if is_first else part.good
        return _Numbered(part, known, not (is_first and part.bad), of_slot, numbers)

    made = [[of_part(part, not place) for part in state.parts] for place, state in enumerate(states)]
    return NumberedStates([_state(parts, n_rows) for parts in made], numbers)


def _sources(column: Strings) -> tuple[Strings, ...]:
    """The columns that client ids were picked from."""
    return column.sources if isinstance(column, Derived) else (column,)


def _words(columns: Any) -> list[str]:
    """All words of some columns, in Java's order."""
    return sorted({word for column in columns for word in column.to_list()}, key=utf16)


def _places(column: Strings, words: list[str]) -> Index:
    """Where the words of a column are in the list of all, with -1 behind for none."""
    place = {word: i for i, word in enumerate(words)}
    return np.array([*(place[word] for word in column.to_list()), -1], np.int32)


def _state(parts: list[_Numbered], n_rows: int) -> NumberedState:
    """Parts of different units as one state."""
    good, known = np.zeros((2, n_rows), bool)
    for one in parts:
        rows = one.part.rows[one.known]
        good[rows], known[rows] = one.is_good, True
    queues, owners = _end_to_end([_queues(one) for one in parts])
    if len(parts) > 1:
        order = np.argsort(queues)
        queues, owners = queues[order], owners[order]
    return NumberedState(good, known, queues, owners, parts)


def _queues(one: _Numbered) -> tuple[Keys, Index]:
    """Keys of all queues, and their owners."""
    part, units, numbers = one.part, one.known, one.numbers
    fleet, lists = part.fleet, part.fleet.queue_lists
    n_queues = fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    brokers = _places(fleet.brokers, numbers.brokers)[lists.route_broker[lists.queue_route[places]]]
    owners = owners_of_units(fleet, part.owners, units)
    owner_slots = np.repeat(fleet.slot_starts[units], n_queues) + np.maximum(owners, 0)
    keys = numbers.queue_key(np.repeat(part.rows[units], n_queues), brokers, lists.queue_ids[places])
    return keys, np.where(owners < 0, np.int32(-1), np.append(one.client_of_slot, np.int32(-1))[owner_slots])


def _client_rows(one: _Numbered) -> ClientRows:
    part, units, _, client_of_slot, numbers = one
    fleet, clients = part.fleet, part.fleet.client_lists
    n_clients = fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], n_clients)
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    owned = loads(fleet, part.owners)[ranges(fleet.client_offsets[units], n_clients)]
    return ClientRows(np.repeat(part.rows[units], n_clients), client_of_slot[slots], owned, room)


def _owned(one: _Numbered) -> Owned:
    part, units, _, client_of_slot, _ = one
    fleet, lists = part.fleet, part.fleet.client_lists
    groups, _ = distinct_strings(fleet.consumer_groups)
    pairs = groups[units].astype(np.int64) * (lists.offsets.size - 1) + fleet.unit_client_list[units]
    _, firsts, of_unit = np.unique(pairs, return_index=True, return_inverse=True)
    repeats = np.zeros(client_of_slot.size, np.int64)
    if not fleet.is_regular:
        in_list = np.repeat(np.arange(lists.offsets.size - 1), np.diff(lists.offsets))
        repeats = repeats_of(in_list * (1 + int(client_of_slot.max(initial=0))) + client_of_slot)
    row_of_pair = part.rows[units[firsts]]
    slots = ranges(fleet.slot_starts[units[firsts]], fleet.n_clients[units[firsts]])
    owners = owners_of_units(fleet, part.owners, units)
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


def _end_to_end(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Columns of several parts as one."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
