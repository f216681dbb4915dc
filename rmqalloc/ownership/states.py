"""All queues and clients of a plan as numbers that mean the same in every state.

Names are numbered once for all states, in Java's order. Client lists after scenarios are picked out
of few columns of ids (`Derived`), so these columns are numbered and not the lists; a list's numbers
are picked by the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.assigner import owners_of_units
from rmqalloc.evaluation.balance import loads
from rmqalloc.evaluation.evaluate import EvaluatedUnits, ScenarioState
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.evidence.views.view_rows import MixedRows
from rmqalloc.evidence.views.without_owners import Sharing
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, distinct_strings, offsets_of, ranges, repeats_of
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.ownership._mixed_units import ListedClient, MixedUnit, UnitState, View
from rmqalloc.ownership.reader_sets import NOBODY, ClientNumbers, Keys, Mask, Numbers, ReaderSets
from rmqalloc.scenarios.lazy_strings import Derived
from rmqalloc.strategies import Pop
from rmqalloc.strategies.ordering import utf16


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
    units: Mapping[int, UnitState]  # the mixed units by their rows
    _plain: Sequence[_Part]  # all others

    @lazy_property
    def client_rows(self) -> ClientRows:
        """Every client of every unit."""
        parts = [_client_rows(part) for part in self._plain]
        mixed = []
        for row, unit in self.units.items():
            for client in unit.clients:
                n_owned = unit.loads[client.number]
                mixed.append((row, client.client_id, client.repeat, n_owned, client.room))
        if mixed:
            parts.append(ClientRows(*np.array(mixed, np.int64).T))
        return ClientRows(*_end_to_end(parts))

    @lazy_property
    def assigned_rows(self) -> ClientRows:
        """Clients of the units that could be assigned."""
        return self.client_rows.some(self.good[self.client_rows.rows])


class States(NamedTuple):
    """Every state, that before any change first, and the mixed units by their rows."""

    states: list[State]
    numbers: Numbers
    mixed: Mapping[int, MixedUnit]

    @property
    def is_shared(self) -> Mask:
        """Units whose queues have readers and no owner, so that none is double-owned and no number
        of moves is the least.
        """
        found = np.zeros(self.numbers.n_units, bool)
        found[[row for row, unit in self.mixed.items() if unit.sharing is not None]] = True
        return found


class _Part(NamedTuple):
    """Some units in one state, with the number of the client of every slot of their client lists."""

    part: EvaluatedUnits
    known: Keys  # units of which queues and clients follow
    client_of_slot: Index
    numbers: Numbers

    @property
    def is_good(self) -> bool:
        """Whether the known units could be assigned."""
        return bool(self.part.layers)

    def some(self, chosen: Mask) -> _Part:
        """Return the part without the known units of other rows."""
        return self._replace(known=self.known[chosen[self.part.rows[self.known]]])

    @property
    def units(self) -> Keys:
        """The known units, without further views of units."""
        rows = self.part.rows[self.known]
        return self.known[rows < self.numbers.n_units]


def numbered(states: Sequence[ScenarioState], n_units: int, rows: MixedRows) -> States:
    """Number the names of all states."""
    fleets: dict[int, Fleet] = {}  # by `id`
    for state in states:
        fleets.update((id(part.fleet), part.fleet) for part in state.parts)
    clients = _numbered_clients(fleets)
    client_numbers = ClientNumbers(_most_often_listed(fleets, clients))
    queue_ids = [fleet.queue_lists.queue_ids for fleet in fleets.values()]
    greatest_id = max((int(ids.max()) for ids in queue_ids if ids.size), default=0)
    n_rows = max(n_units, 1 + max(rows.unit_of, default=-1))
    is_mixed = np.zeros(n_rows, bool)
    is_mixed[list(rows.unit_of)] = True
    numbers = Numbers(
        brokers=_words(fleet.brokers for fleet in fleets.values()),
        rooms=_words(fleet.rooms for fleet in fleets.values()),
        clients=clients.ids,
        n_queue_ids=1 + greatest_id,
        client_numbers=client_numbers,
        sets=ReaderSets(client_numbers.n),
        n_units=n_units,
        is_mixed=is_mixed,
    )

    def of_part(part: EvaluatedUnits) -> _Part:
        known = part.good if part.layers else np.arange(part.rows.size)
        return _Part(part, known, clients.of_slots[id(part.fleet)], numbers)

    mixed = {unit.row: unit for unit in _mixed_units(rows, numbers)}
    found = []
    for place, state in enumerate(states):
        parts = [of_part(part) for part in state.parts]
        found.append(_state(parts, mixed, is_current=place == 0))
    return States(found, numbers, mixed)


class _NumberedClients(NamedTuple):
    ids: Strings  # by number, in Java's order
    of_slots: dict[int, Index]  # by the `id` of a fleet, the number of the client of every slot


def _numbered_clients(fleets: Mapping[int, Fleet]) -> _NumberedClients:
    """Number the client ids of fleets."""
    sources: dict[int, Strings] = {}
    for fleet in fleets.values():
        sources.update((id(source), source) for source in _sources(fleet.client_lists.client_ids))
    codes, clients = distinct_strings(Strings.joined(list(sources.values())))
    ranks = clients.ranks()
    cuts = np.cumsum([len(source) for source in sources.values()])[:-1]
    number_of = dict(zip(sources, np.split(ranks[codes], cuts), strict=True))
    of_slots = {}
    for number, fleet in fleets.items():
        column = fleet.client_lists.client_ids
        of_slot = np.concatenate([number_of[id(source)] for source in _sources(column)])
        of_slots[number] = of_slot[column.rows] if isinstance(column, Derived) else of_slot
    return _NumberedClients(clients.take(np.argsort(ranks)), of_slots)


def _most_often_listed(fleets: Mapping[int, Fleet], clients: _NumberedClients) -> Keys:
    """Return how often one client list has each client id at most."""
    n_listed = np.ones(len(clients.ids), np.int64)
    for number, fleet in fleets.items():
        if not fleet.is_regular:
            client_of_slot = clients.of_slots[number]
            np.maximum.at(n_listed, client_of_slot, 1 + _repeats(fleet, client_of_slot))
    return n_listed


def _repeats(fleet: Fleet, client_of_slot: Index) -> Keys:
    """Return how often the id of every slot comes before in its client list."""
    if fleet.is_regular:
        return np.zeros(client_of_slot.size, np.int64)
    offsets = fleet.client_lists.offsets
    in_list = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    n_clients = 1 + int(client_of_slot.max(initial=0))
    return repeats_of(in_list * n_clients + client_of_slot)


def _mixed_units(rows: MixedRows, numbers: Numbers) -> Iterator[MixedUnit]:
    """Yield the mixed units."""
    if not rows.unit_of:
        return
    client_of = {name: number for number, name in enumerate(numbers.clients.to_list())}
    broker_of = {name: number for number, name in enumerate(numbers.brokers)}

    def place_of(queue: MessageQueue) -> int:
        broker = broker_of.get(queue.broker_name)
        return -1 if broker is None else broker * numbers.n_queue_ids + queue.queue_id

    views_of: dict[int, list[int]] = {}
    for row, unit in sorted(rows.unit_of.items()):
        views_of.setdefault(unit, []).append(row)
    for row, views in views_of.items():
        yield MixedUnit(row, views, rows, client_of, place_of)


def _sources(column: Strings) -> tuple[Strings, ...]:
    """Return the columns that client ids were picked from."""
    return column.sources if isinstance(column, Derived) else (column,)


def _words(columns: Any) -> list[str]:
    """Return all words of some columns, in Java's order."""
    return sorted(set[str]().union(*(column.to_list() for column in columns)), key=utf16)


def _places(column: Strings, words: list[str]) -> Index:
    """Return the positions of a column's words in the list of all, followed by -1 for none."""
    place = {word: i for i, word in enumerate(words)}
    places = [place[word] for word in column.to_list()]
    return np.array([*places, -1], np.int32)


def _state(parts: list[_Part], mixed: Mapping[int, MixedUnit], is_current: bool) -> State:
    """Join parts of different units as one state."""
    numbers = parts[0].numbers
    good, known = np.zeros((2, numbers.is_mixed.size), bool)
    for part in parts:
        rows = part.part.rows[part.known]
        good[rows], known[rows] = part.is_good, True
    plain = [part.some(~numbers.is_mixed) for part in parts] if mixed else parts
    queues, owners = _end_to_end([_queues(part) for part in plain])
    readers, units = owners, dict[int, UnitState]()
    if mixed:
        units = _unit_states(parts, mixed, is_current)
        good[list(units)] = [unit.is_good for unit in units.values()]
        keys: list[int] = []
        for row, unit in units.items():
            first_key = row * numbers.stride
            keys += [first_key + queue for queue in unit.owners]
        queues = np.append(queues, np.array(keys, np.int64))
        readers = _appended(owners, [unit.readers for unit in units.values()])
        owners = _appended(owners, [unit.owners for unit in units.values()])
    if len(parts) > 1 or mixed:
        order = np.argsort(queues, kind="stable")
        queues, owners, readers = queues[order], owners[order], readers[order]
    if numbers.client_numbers.n == numbers.client_numbers.n_ids:
        readers = owners
    n = numbers.n_units
    return State(
        good=good[:n],
        known=known[:n],
        queues=queues,
        owners=owners,
        readers=readers,
        units=units,
        _plain=plain,
    )


def _appended(owners: Index, by_queue: Sequence[Mapping[int, int]]) -> Index:
    more = chain.from_iterable(queues.values() for queues in by_queue)
    return np.append(owners, np.fromiter(more, np.int32))


def _unit_states(
    parts: Sequence[_Part], mixed: Mapping[int, MixedUnit], is_current: bool
) -> dict[int, UnitState]:
    """Return the mixed units that are in a state, by their rows."""
    numbers = parts[0].numbers
    sharing: dict[int, Sharing | None] = {}
    for unit in mixed.values():
        sharing.update(dict.fromkeys(unit.views, unit.sharing))
    views, clients = dict[int, View](), dict[int, list[ListedClient]]()
    for whole_part in parts:
        part = whole_part.some(numbers.is_mixed)
        views |= _views(part, sharing)
        listed = _client_rows(part)
        number = numbers.client_numbers.of(listed.clients.astype(np.int64), listed.repeats)
        columns = (listed.clients, listed.repeats, number, listed.rooms)
        listed_clients = map(ListedClient, *(column.tolist() for column in columns))
        for row, client in zip(listed.rows.tolist(), listed_clients, strict=True):
            clients.setdefault(row, []).append(client)
    return {
        row: unit.state(views, clients.get(row, []), numbers, is_current)
        for row, unit in mixed.items()
        if row in views
    }


def _views(part: _Part, sharing: Mapping[int, Sharing | None]) -> Iterator[tuple[int, View]]:
    """Yield views by their rows, given how clients share the queues of each.

    A further view that lacks queues or clients gives nothing to anybody, which is no error of the
    unit.
    """
    fleet, rows, units = part.part.fleet, part.part.rows.tolist(), part.known.tolist()
    keys, owners = _queues(part)
    all_queues, all_owners = (keys % part.numbers.stride).tolist(), owners.tolist()
    all_rooms = _queue_rooms(part).tolist()
    sharing_of_unit = {unit: sharing[rows[unit]] for unit in units}
    popped = popped_queues(part.part, sharing_of_unit)
    bounds = offsets_of(fleet.n_queues[part.known]).tolist()
    for unit, (start, stop) in zip(units, pairwise(bounds), strict=True):
        queues = all_queues[start:stop]
        first = fleet.slot_starts[unit]
        client_ids = part.client_of_slot[first : first + fleet.n_clients[unit]].tolist()
        shares: dict[int, list[int]] = {}
        if sharing_of_unit[unit] is None:
            for queue, owner in zip(queues, all_owners[start:stop], strict=True):
                shares.setdefault(owner, []).append(queue)
        elif unit in popped:
            for client_id, places in zip(client_ids, popped[unit], strict=True):
                shares[client_id] = [queues[place] for place in places]
        else:
            shares = dict.fromkeys(client_ids, queues)
        rooms = dict(zip(queues, all_rooms[start:stop], strict=True))
        yield rows[unit], View(part.is_good, rooms, shares)
    for unit, reason in part.part.bad.items():
        if reason.code == ErrCode.EMPTY and rows[unit] >= part.numbers.n_units:
            yield rows[unit], View(True, {}, {})


class _OwnedQueues(NamedTuple):
    keys: Keys
    owners: Index


def _queues(numbered: _Part) -> _OwnedQueues:
    """Return the keys of all queues, and their owners."""
    part, units, numbers = numbered.part, numbered.known, numbered.numbers
    fleet, lists = part.fleet, part.fleet.queue_lists
    n_queues = fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    brokers = _places(fleet.brokers, numbers.brokers)[lists.route_broker[lists.queue_route[places]]]
    owners = owners_of_units(fleet, part.owners, units)
    owner_slots = np.repeat(fleet.slot_starts[units], n_queues) + np.maximum(owners, 0)
    clients = np.append(numbered.client_of_slot, np.int32(NOBODY))[owner_slots]
    rows = np.repeat(part.rows[units], n_queues)
    keys = numbers.queue_key(rows, brokers, lists.queue_ids[places])
    return _OwnedQueues(keys, np.where(owners < 0, np.int32(NOBODY), clients))


def _queue_rooms(numbered: _Part) -> Index:
    """Return the number of the machine room of each queue's broker, -1 where not known."""
    fleet, units = numbered.part.fleet, numbered.known
    lists = fleet.queue_lists
    if lists.route_room is None:
        return np.full(int(fleet.n_queues[units].sum()), -1, np.int32)
    places = ranges(fleet.queue_starts[units], fleet.n_queues[units])
    room_of_queue = lists.route_room[lists.queue_route[places]]
    return _places(fleet.rooms, numbered.numbers.rooms)[room_of_queue]


def _client_rows(numbered: _Part) -> ClientRows:
    """Return every client of every unit, with the queues that its unit's main view gives to it."""
    part, units, numbers = numbered.part, numbered.units, numbered.numbers
    fleet, clients = part.fleet, part.fleet.client_lists
    n_clients = fleet.n_clients[units]
    slots = ranges(fleet.slot_starts[units], n_clients)
    room = np.full(slots.size, -1, np.int32)
    if clients.slot_room is not None:
        room = _places(fleet.rooms, numbers.rooms)[clients.slot_room[slots]]
    owned = loads(fleet, part.owners)[ranges(fleet.client_offsets[units], n_clients)]
    client_of_slot = numbered.client_of_slot
    return ClientRows(
        rows=np.repeat(part.rows[units], n_clients),
        clients=client_of_slot[slots],
        repeats=_repeats(fleet, client_of_slot)[slots],
        loads=owned,
        rooms=room,
    )


def _end_to_end(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Join the columns of several parts."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


# What clients pop of views that they share by POP.


def popped_queues(
    part: EvaluatedUnits, sharing: Mapping[int, Sharing | None]
) -> dict[int, list[list[int]]]:
    """Return by unit the places of the queues that each of its clients pops, given how clients
    share the queues of every unit. Units whose clients all read all queues are left out.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for unit, how in sharing.items():
        if how is not None and how.pop_share is not None:
            rule = int(part.rules.of_unit[unit])
            alike.setdefault((rule, how.pop_share), []).append(unit)
    found = {}
    for (rule, share), units in alike.items():
        pop = Pop(part.rules.table[rule], share)
        given = pop.share_fleet(units_alone(part.fleet, np.array(units)), on_error="report")
        queues = given.queues.tolist()
        of_client = (queues[start:stop] for start, stop in pairwise(given.offsets.tolist()))
        for unit, is_whole in zip(units, given.whole_broker.tolist(), strict=True):
            popped = list(islice(of_client, int(part.fleet.n_clients[unit])))
            if not is_whole:
                found[unit] = popped
    return found
