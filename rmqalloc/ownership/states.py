"""All queues and clients of a plan as numbers that mean the same in every state.

Names are numbered once for all states, in Java's order. Client lists after scenarios are picked out
of few columns of ids (`Derived`), so these columns are numbered and not the lists; a list's numbers
are picked by the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import owners_of_units
from rmqalloc.evaluation.balance import loads
from rmqalloc.evaluation.evaluate import EvaluatedUnits, ScenarioState
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, distinct_strings, ranges, repeats_of
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership._laid_views import Laid, Listed, MixedUnits, ReportedPairs, UnitQueues
from rmqalloc.ownership._shared_views import SharedUnits, Takers
from rmqalloc.ownership.reader_sets import ClientNumbers, Keys, Mask, Numbers, ReaderSets
from rmqalloc.scenarios.lazy_strings import Derived
from rmqalloc.strategies.ordering import utf16
from rmqalloc.views.view_rows import MixedRows


class ClientRows(NamedTuple):
    """Every client of every unit, which may be very many more than there are queues."""

    # The unit's row, the number of the client's id, how often the id comes before in the client
    # list, the client's queues, and the number of its machine room (-1: not known). Of clients that
    # share an id the first has what the id reads.
    rows: Keys
    clients: Index
    repeats: Keys
    loads: Index
    rooms: Index

    def some(self, places: NDArray[Any]) -> ClientRows:
        """Return some of the entries."""
        return ClientRows(*(column[places] for column in self))


@dataclass(frozen=True, eq=False)
class State:
    """Every unit in one state, its names as numbers."""

    good: NDArray[np.bool_]  # shape (n_rows,): rows of the units
    # Shape (n_rows,): Rows of which queues and clients follow: before any change also those of
    # units that only a scenario can assign, whose queues nobody reads
    known: NDArray[np.bool_]
    queues: Keys  # keys of all queues, ascending; see `Numbers.queue_key`.
    # Number of the client id that reads each queue, or of a set of several, see `Numbers.sets`; -1
    # for nobody.
    owners: Index
    readers: Index  # the same of clients, see `Numbers.client_numbers`; the same object where no id repeats.
    laid: Laid | None  # the queues of mixed units among these, if there are any
    acted_on: Mask  # rows of all views: whether a client of a mixed unit acts on it
    _parts: Sequence[_Part]
    _listed: ClientRows | None = None

    @property
    def _numbers(self) -> Numbers:
        return self._parts[0].numbers

    @lazy_property
    def client_rows(self) -> ClientRows:
        """Every client of every unit."""
        found = _all_client_rows(self._parts) if self._listed is None else self._listed
        return found if self.laid is None else self._with_readers(found, self.laid)

    def _with_readers(self, found: ClientRows, laid: Laid) -> ClientRows:
        """Replace the loads of clients of mixed units by the number of queues that they read."""
        numbers = self._numbers
        is_mixed = numbers.is_mixed[found.rows]
        stride = max(len(numbers.clients), 1)
        slots = found.rows[is_mixed] * stride + found.clients[is_mixed]
        places, readers = numbers.sets.readers(laid.owners)
        read, counts = np.unique(
            numbers.rows_of(laid.queues)[places] * stride + readers, return_counts=True
        )
        at = np.searchsorted(read, slots)
        has = (found.repeats[is_mixed] == 0) & (np.append(read, -1)[at] == slots)
        loads = found.loads.copy()
        loads[is_mixed] = np.where(has, np.append(counts, 0)[at], 0)
        return found._replace(loads=loads)

    @lazy_property
    def assigned_rows(self) -> ClientRows:
        """Clients of the units that could be assigned."""
        return self.client_rows.some(self.good[self.client_rows.rows])


class States(NamedTuple):
    """Every state, that before any change first, and which units are mixed, where any is."""

    states: list[State]
    numbers: Numbers
    mixed: MixedUnits | None

    @property
    def is_shared(self) -> Mask:
        """Units whose queues have readers and no owner, so that none is double-owned and no number
        of moves is the least.
        """
        n = self.numbers.is_mixed.size
        return np.zeros(n, bool) if self.mixed is None else self.mixed.is_shared[:n]


class _Part(NamedTuple):
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

    @property
    def repeat_of_slot(self) -> Keys:
        """How often the id of every slot comes before in its client list."""
        lists = self.part.fleet.client_lists
        if self.part.fleet.is_regular:
            return np.zeros(self.client_of_slot.size, np.int64)
        in_list = np.repeat(np.arange(lists.offsets.size - 1), np.diff(lists.offsets))
        return repeats_of(
            in_list * (1 + int(self.client_of_slot.max(initial=0))) + self.client_of_slot
        )


def numbered(states: Sequence[ScenarioState], n_rows: int, rows: MixedRows | None = None) -> States:
    """Number the names of all states."""
    fleets = [part.fleet for state in states for part in state.parts]
    sources = {id(one): one for fleet in fleets for one in _sources(fleet.client_lists.client_ids)}
    codes, clients = distinct_strings(Strings.joined(list(sources.values())))
    ranks = clients.ranks()
    cuts = np.cumsum([len(one) for one in sources.values()])[:-1]
    number_of = dict(zip(sources, np.split(ranks[codes], cuts), strict=True))
    numbers = _numbers(fleets, clients.take(np.argsort(ranks)), n_rows)
    mixed = None
    if rows is not None and rows.unit_of:
        numbers.is_mixed[list(rows.client_ids)] = True
        mixed = MixedUnits(
            rows,
            numbers.clients.to_list(),
            n_rows,
            n_rows + len(rows.unit_of) - len(rows.client_ids),
        )

    def of_part(part: EvaluatedUnits, is_first: bool) -> _Part:
        column = part.fleet.client_lists.client_ids
        of_slot = np.concatenate([number_of[id(one)] for one in _sources(column)])
        of_slot = of_slot[column.rows] if isinstance(column, Derived) else of_slot
        known = np.arange(part.rows.size) if is_first else part.good
        return _Part(part, known, not (is_first and part.bad), of_slot, numbers)

    made = [
        [of_part(part, not place) for part in state.parts] for place, state in enumerate(states)
    ]
    if not all(fleet.is_regular for fleet in fleets):
        found = _client_numbers(made, len(clients))
        numbers = numbers._replace(client_numbers=found, sets=ReaderSets(found.n))
        made = [[one._replace(numbers=numbers) for one in parts] for parts in made]
    reported = (
        mixed.reported(rows, numbers)
        if rows is not None and mixed is not None and rows.reported
        else None
    )
    return States(
        [
            _state(parts, n_rows, mixed, None if place else reported)
            for place, parts in enumerate(made)
        ],
        numbers,
        mixed,
    )


def _numbers(fleets: Sequence[Fleet], clients: Strings, n_rows: int) -> Numbers:
    """Return what numbers stand for, while no id repeats and no unit is mixed."""
    ids = [fleet.queue_lists.queue_ids for fleet in fleets]
    return Numbers(
        _words(fleet.brokers for fleet in fleets),
        _words(fleet.rooms for fleet in fleets),
        clients,
        1 + max((int(one.max()) for one in ids if one.size), default=0),
        ClientNumbers(np.ones(len(clients), np.int64)),
        ReaderSets(len(clients)),
        np.zeros(n_rows, bool),
    )


def _client_numbers(made: Sequence[Sequence[_Part]], n_ids: int) -> ClientNumbers:
    """Number the clients of all states, by how often an id repeats in any."""
    n_listed = np.ones(n_ids, np.int64)
    for one in (one for parts in made for one in parts if not one.part.fleet.is_regular):
        np.maximum.at(n_listed, one.client_of_slot, 1 + one.repeat_of_slot)
    return ClientNumbers(n_listed)


def _sources(column: Strings) -> tuple[Strings, ...]:
    """Return the columns that client ids were picked from."""
    return column.sources if isinstance(column, Derived) else (column,)


def _words(columns: Any) -> list[str]:
    """Return all words of some columns, in Java's order."""
    return sorted({word for column in columns for word in column.to_list()}, key=utf16)


def _places(column: Strings, words: list[str]) -> Index:
    """Return the positions of a column's words in the list of all, followed by -1 for none."""
    place = {word: i for i, word in enumerate(words)}
    return np.array([*(place[word] for word in column.to_list()), -1], np.int32)


def _state(
    parts: list[_Part], n_rows: int, mixed: MixedUnits | None, reported: ReportedPairs | None
) -> State:
    """Join parts of different units as one state, with the reported owners where these count."""
    n_views = n_rows if mixed is None else mixed.unit_of.size
    good, known = np.zeros((2, n_views), bool)
    for one in parts:
        rows = one.part.rows[one.known]
        good[rows], known[rows] = one.is_good, True
    queues, owners = _end_to_end([_queues(one) for one in parts])
    readers, laid, acted_on, clients = owners, None, np.zeros(n_views, bool), None
    if mixed is not None:
        clients = _all_client_rows(parts)
        listed = mixed.listed(clients.rows, clients.clients)
        acted_on = mixed.acted_on(listed)
        good = mixed.of_units(good | _empty(parts, n_rows, n_views), acted_on)
        plain = mixed.unit_of[parts[0].numbers.rows_of(queues)] < 0
        laid = _laid(parts, mixed, (queues[~plain], owners[~plain]), good, listed)
        if reported is not None:
            laid = mixed.as_reported(laid, reported, parts[0].numbers)
        queues = np.append(queues[plain], laid.queues)
        owners, readers = (np.append(owners[plain], one) for one in (laid.owners, laid.readers))
        good = good[:n_rows]
    if len(parts) > 1 or mixed is not None:
        order = np.argsort(queues, kind="stable")
        queues, owners, readers = queues[order], owners[order], readers[order]
    if parts[0].numbers.client_numbers.n == parts[0].numbers.client_numbers.n_ids:
        readers = owners
    return State(good, known[:n_rows], queues, owners, readers, laid, acted_on, parts, clients)


def _laid(
    parts: list[_Part], mixed: MixedUnits, views: tuple[Keys, Index], good: Mask, listed: Listed
) -> Laid:
    """Lay the views of mixed units on one another, given their queues and owners; queues of a bad
    unit are unowned.
    """
    numbers, (queues, owners) = parts[0].numbers, views
    rows = numbers.rows_of(queues)
    [rooms] = _end_to_end([(_queue_rooms(one, mixed),) for one in parts])
    owned = (owners >= 0) & ~mixed.is_shared[rows]
    takers = Takers(rows[owned], queues[owned], owners[owned].astype(np.int64))
    takers = Takers(
        *_end_to_end([takers, *(_shared(one, mixed).takers(mixed.shared) for one in parts)])
    )
    takers = Takers(*(column[good[takers.rows]] for column in takers))
    is_main = mixed.unit_of[rows] == rows
    return mixed.laid(UnitQueues(queues[is_main], rooms[is_main]), takers, listed, numbers)


def _shared(one: _Part, mixed: MixedUnits) -> SharedUnits:
    """Return the views that clients share."""
    units, fleet = one.known[mixed.is_shared[one.part.rows[one.known]]], one.part.fleet
    slots = ranges(fleet.slot_starts[units], fleet.n_clients[units])
    return SharedUnits(
        one.part, units, _queues(one._replace(known=units))[0], one.client_of_slot[slots]
    )


def _empty(parts: list[_Part], n_rows: int, n_views: int) -> NDArray[np.bool_]:
    """Return which further views lack queues or clients: nobody takes anything by them, which is no
    error of the unit.
    """
    empty = np.zeros(n_views, bool)
    for one in parts:
        empty[
            [
                int(one.part.rows[unit])
                for unit, reason in one.part.bad.items()
                if reason.code == ErrCode.EMPTY
            ]
        ] = True
    empty[:n_rows] = False
    return empty


def _queues(one: _Part) -> tuple[Keys, Index]:
    """Return the keys of all queues, and their owners."""
    part, units, numbers = one.part, one.known, one.numbers
    fleet, lists = part.fleet, part.fleet.queue_lists
    n_queues = fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    brokers = _places(fleet.brokers, numbers.brokers)[lists.route_broker[lists.queue_route[places]]]
    owners = owners_of_units(fleet, part.owners, units)
    owner_slots = np.repeat(fleet.slot_starts[units], n_queues) + np.maximum(owners, 0)
    keys = numbers.queue_key(
        np.repeat(part.rows[units], n_queues), brokers, lists.queue_ids[places]
    )
    return keys, np.where(
        owners < 0, np.int32(-1), np.append(one.client_of_slot, np.int32(-1))[owner_slots]
    )


def _queue_rooms(one: _Part, mixed: MixedUnits) -> Index:
    """Return the number of the machine room of each queue's broker, of the views of mixed units."""
    part, fleet, lists = one.part, one.part.fleet, one.part.fleet.queue_lists
    units = one.known[mixed.unit_of[part.rows[one.known]] >= 0]
    if lists.route_room is None:
        return np.full(int(fleet.n_queues[units].sum()), -1, np.int32)
    places = ranges(fleet.queue_starts[units], fleet.n_queues[units])
    return _places(fleet.rooms, one.numbers.rooms)[lists.route_room[lists.queue_route[places]]]


def _all_client_rows(parts: Sequence[_Part]) -> ClientRows:
    return ClientRows(*_end_to_end([_client_rows(one) for one in parts]))


def _client_rows(one: _Part) -> ClientRows:
    part, units, numbers = one.part, one.units, one.numbers
    fleet, clients = part.fleet, part.fleet.client_lists
    n_clients = fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], n_clients)
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    owned = loads(fleet, part.owners)[ranges(fleet.client_offsets[units], n_clients)]
    rows, repeats = np.repeat(part.rows[units], n_clients), one.repeat_of_slot[slots]
    return ClientRows(rows, one.client_of_slot[slots], repeats, owned, room)


def _end_to_end(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Join the columns of several parts."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
