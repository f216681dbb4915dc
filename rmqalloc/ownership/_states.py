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
from rmqalloc.evaluation._rows import ErrCode
from rmqalloc.fleet._columns import Index, Strings, distinct_strings, ranges, repeats_of
from rmqalloc.ownership._laid_views import Listed, Mask, Merged, MixedUnits, ReportedPairs, UnitQueues
from rmqalloc.ownership._reader_sets import ReaderSets
from rmqalloc.ownership._shared_views import SharedUnits, Takers
from rmqalloc.scenarios._lazy_strings import Derived
from rmqalloc.strategies._ordering import utf16
from rmqalloc.views._view_units import MixedRows

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
        Number of each queue's client or of a set of several, see `Numbers.sets`; -1 for nobody.
    merged : Merged or None
        The queues of mixed units among these, where there are such.
    acted_on : ndarray of bool
        Rows of all views: whether a client of a mixed unit acts on it.
    """

    good: NDArray[np.bool_]
    known: NDArray[np.bool_]
    queues: Keys
    owners: Index
    merged: Merged | None
    acted_on: Mask
    _parts: Sequence[_Numbered]

    @property
    def _numbers(self) -> Numbers:
        return self._parts[0].numbers

    @lazy_property
    def client_rows(self) -> ClientRows:
        """Every client of every unit."""
        found = ClientRows(*_end_to_end([_client_rows(one) for one in self._parts]))
        return found if self.merged is None else self._with_readers(found, self.merged)

    def _with_readers(self, found: ClientRows, merged: Merged) -> ClientRows:
        """The same with the queues that each client of a mixed unit reads; of a repeated id the first has them."""
        is_mixed = self._numbers.is_mixed[found.rows]
        stride = max(len(self._numbers.clients), 1)
        slots = found.rows[is_mixed] * stride + found.clients[is_mixed]
        places, readers = self._numbers.sets.readers(merged.owners)
        read, counts = np.unique(rows_of(merged.queues, self._numbers)[places] * stride + readers, return_counts=True)
        at = np.minimum(np.searchsorted(read, slots), max(read.size - 1, 0))
        has = (repeats_of(slots) == 0) & (read[at] == slots) if read.size else np.zeros(slots.size, bool)
        loads = found.loads.copy()
        loads[is_mixed] = np.where(has, counts[at], 0) if read.size else 0
        return found._replace(loads=loads)

    @lazy_property
    def owned(self) -> Owned:
        """Clients of the groups that could be assigned, and the owners of their queues."""
        found = Owned(*_end_to_end([_owned(one) for one in self._parts if one.is_good]))
        if self.merged is None:
            return found
        rows = rows_of(self.merged.queues, self._numbers)
        good = self.good[rows]
        places, readers = self._numbers.sets.readers(self.merged.owners[good])
        plain = ~self._numbers.is_mixed[found.owner_rows]
        return found._replace(
            owner_rows=np.append(found.owner_rows[plain], rows[good][places]),
            owners=np.append(found.owners[plain], readers.astype(np.int32)),
            owner_repeats=np.append(found.owner_repeats[plain], np.zeros(readers.size, np.int64)),
        )


class Numbers(NamedTuple):
    """What the numbers of states stand for, in Java's order.

    Attributes
    ----------
    brokers, rooms : list of str
    clients : Strings
        Client ids.
    n_queue_ids : int
        One more than the greatest queue id.
    sets : ReaderSets
        Sets of several owners, whose numbers are behind those of clients.
    is_mixed : ndarray of bool
        By row, whether the unit is mixed.
    """

    brokers: list[str]
    rooms: list[str]
    clients: Strings
    n_queue_ids: int
    sets: ReaderSets
    is_mixed: NDArray[np.bool_]

    @property
    def stride(self) -> int:
        """How many keys of queues a row has."""
        return max(len(self.brokers), 1) * self.n_queue_ids

    def queue_key(self, rows: NDArray[Any], brokers: NDArray[Any], queue_ids: NDArray[Any]) -> Keys:
        """Queues as numbers that are in order: by unit, and in it as Java orders them."""
        key: Keys = (np.asarray(rows, np.int64) * len(self.brokers) + brokers) * self.n_queue_ids + queue_ids
        return key


class NumberedStates(NamedTuple):
    """Every state, that before any change first, and which units are mixed, where any is."""

    states: list[NumberedState]
    numbers: Numbers
    mixed: MixedUnits | None


class _Numbered(NamedTuple):
    """Some units in one state, with the number of the client of every slot of their client lists."""

    part: EvaluatedUnits
    known: Keys  # units of which queues and clients follow
    is_good: bool  # whether these could be assigned
    client_of_slot: Index
    numbers: Numbers

    @property
    def units(self) -> Keys:
        """The known ones that are units, and no further views of one."""
        return self.known[self.part.rows[self.known] < self.numbers.is_mixed.size]


def numbered(states: Sequence[ScenarioState], n_rows: int, rows: MixedRows | None = None) -> NumberedStates:
    """Number the names of all states.

    Parameters
    ----------
    states : sequence of ScenarioState
        Of an evaluation, that before any change first.
    n_rows : int
        Rows of the batch that are units.
    rows : MixedRows, optional
        Rows behind them, which are further views of mixed units.
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
        ReaderSets(len(clients)),
        np.zeros(n_rows, bool),
    )
    mixed = None
    if rows is not None and rows.unit_of:
        numbers.is_mixed[list(rows.client_ids)] = True
        mixed = MixedUnits(rows, numbers.clients.to_list(), n_rows, n_rows + len(rows.unit_of) - len(rows.client_ids))

    def of_part(part: EvaluatedUnits, is_first: bool) -> _Numbered:
        column = part.fleet.client_lists.client_ids
        of_slot = np.concatenate([number_of[id(one)] for one in _sources(column)])
        of_slot = of_slot[column.rows] if isinstance(column, Derived) else of_slot
        known = np.arange(part.rows.size) if is_first else part.good
        return _Numbered(part, known, not (is_first and part.bad), of_slot, numbers)

    made = [[of_part(part, not place) for part in state.parts] for place, state in enumerate(states)]
    reported = None if rows is None or not rows.reported else _reported(rows, numbers)
    return NumberedStates(
        [_state(parts, n_rows, mixed, None if place else reported) for place, parts in enumerate(made)], numbers, mixed
    )


def _reported(rows: MixedRows, numbers: Numbers) -> ReportedPairs:
    """The owners that clients report, as numbers."""
    broker = {name: i for i, name in enumerate(numbers.brokers)}
    client = {name: i for i, name in enumerate(numbers.clients.to_list())}
    found = [
        (unit, broker[queue.broker_name], queue.queue_id, client[ids[slot]])
        for unit, owners in rows.reported.items()
        for ids in (rows.client_ids[unit],)
        for queue, slots in owners.items()
        for slot in slots
        if queue.broker_name in broker and ids[slot] in client
    ]
    units, brokers, queue_ids, clients = np.array(found, np.int64).reshape(-1, 4).T
    return ReportedPairs(np.array(list(rows.reported), np.int64), numbers.queue_key(units, brokers, queue_ids), clients)


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


def _state(
    parts: list[_Numbered], n_rows: int, mixed: MixedUnits | None, reported: ReportedPairs | None
) -> NumberedState:
    """Parts of different units as one state, with the reported owners where these count."""
    n_views = n_rows if mixed is None else mixed.unit_of.size
    good, known = np.zeros((2, n_views), bool)
    for one in parts:
        rows = one.part.rows[one.known]
        good[rows], known[rows] = one.is_good, True
    queues, owners = _end_to_end([_queues(one) for one in parts])
    merged, acted_on = None, np.zeros(n_views, bool)
    if mixed is not None:
        clients = ClientRows(*_end_to_end([_client_rows(one) for one in parts]))
        listed = mixed.listed(clients.rows, clients.clients)
        acted_on = mixed.acted_on(listed)
        good = mixed.of_units(good | _empty(parts, n_rows, n_views), acted_on)
        plain = mixed.unit_of[rows_of(queues, parts[0].numbers)] < 0
        merged = _merged(parts, mixed, (queues[~plain], owners[~plain]), good, listed)
        if reported is not None:
            merged = mixed.as_reported(merged, reported, parts[0].numbers.stride, parts[0].numbers.sets)
        queues, owners = (
            np.concatenate(two) for two in ((queues[plain], merged.queues), (owners[plain], merged.owners))
        )
        good = good[:n_rows]
    if len(parts) > 1 or mixed is not None:
        order = np.argsort(queues, kind="stable")
        queues, owners = queues[order], owners[order]
    return NumberedState(good, known[:n_rows], queues, owners, merged, acted_on, parts)


def _merged(parts: list[_Numbered], mixed: MixedUnits, views: tuple[Keys, Index], good: Mask, listed: Listed) -> Merged:
    """The views of mixed units laid on one another, given their queues and owners; of a bad unit nobody owns a queue."""
    numbers, (queues, owners) = parts[0].numbers, views
    rows = rows_of(queues, numbers)
    [rooms] = _end_to_end([(_queue_rooms(one, mixed),) for one in parts])
    owned = (owners >= 0) & ~mixed.is_shared[rows]
    takers = Takers(rows[owned], queues[owned], owners[owned].astype(np.int64))
    takers = Takers(*_end_to_end([takers, *(_shared(one, mixed).takers(mixed.shared) for one in parts)]))
    takers = Takers(*(column[good[takers.rows]] for column in takers))
    is_main = mixed.unit_of[rows] == rows
    mains = UnitQueues(queues[is_main], rooms[is_main])
    return mixed.merged(mains, takers, listed, numbers.stride, numbers.sets)


def _shared(one: _Numbered, mixed: MixedUnits) -> SharedUnits:
    """Views that clients share."""
    units, fleet = one.known[mixed.is_shared[one.part.rows[one.known]]], one.part.fleet
    slots = ranges(fleet.slot_starts[units], fleet.n_clients[units])
    return SharedUnits(one.part, units, _queues(one._replace(known=units))[0], one.client_of_slot[slots])


def _empty(parts: list[_Numbered], n_rows: int, n_views: int) -> NDArray[np.bool_]:
    """Further views without queues or clients: by these nobody takes anything, and nothing is wrong with the unit."""
    empty = np.zeros(n_views, bool)
    for one in parts:
        empty[[int(one.part.rows[unit]) for unit, reason in one.part.bad.items() if reason.code == ErrCode.EMPTY]] = (
            True
        )
    empty[:n_rows] = False
    return empty


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


def _queue_rooms(one: _Numbered, mixed: MixedUnits) -> Index:
    """Number of the machine room of each queue's broker, of the views of mixed units."""
    part, fleet, lists = one.part, one.part.fleet, one.part.fleet.queue_lists
    units = one.known[mixed.unit_of[part.rows[one.known]] >= 0]
    if lists.route_room is None:
        return np.full(int(fleet.n_queues[units].sum()), -1, np.int32)
    places = ranges(fleet.queue_starts[units], fleet.n_queues[units])
    return _places(fleet.rooms, one.numbers.rooms)[lists.route_room[lists.queue_route[places]]]


def _client_rows(one: _Numbered) -> ClientRows:
    part, _, _, client_of_slot, numbers = one
    units = one.units
    fleet, clients = part.fleet, part.fleet.client_lists
    n_clients = fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], n_clients)
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    owned = loads(fleet, part.owners)[ranges(fleet.client_offsets[units], n_clients)]
    return ClientRows(np.repeat(part.rows[units], n_clients), client_of_slot[slots], owned, room)


def _owned(one: _Numbered) -> Owned:
    part, _, _, client_of_slot, _ = one
    units = one.units
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


def rows_of(keys: Keys, numbers: Numbers) -> Keys:
    """Rows of the units that queues belong to."""
    rows: Keys = keys // numbers.stride
    return rows


def _end_to_end(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Columns of several parts as one."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
