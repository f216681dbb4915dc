"""Mixed units: their clients have several views, share an id, share the queues, or report what they
own. So a queue has no reader, one or several.

Such units are few, and each is gone through by itself, in every state:

1. Its clients are those that its main view lists, its queues those of its main view. Of clients
   that share an id the last leave first: the n-th in the list is the n-th of the group. A client
   beyond these has joined.
2. A client acts on its own views, one that joined on the views of those that join. It has one view
   for every client list that a broker may give to it.
3. A client reads the queues that its views give to its id. Before any change, reports replace this
   where all clients report. Of several clients of one id, one reports for all: a silent one reads
   what its views give to it of the queues that its id reports.
4. A queue is double-owned if two clients read it by every client list, unless clients share it.
5. A unit is bad if its main view is, or any view on which a client acts. Nobody reads its queues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from rmqalloc.evidence.views.view_rows import MixedRows
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.reader_sets import Numbers, ReaderSets

Slot = tuple[int, int]
"""Number of a client id, and how often the id comes before in the client list."""


class View(NamedTuple):
    """What a view of a unit gives to clients in a state."""

    is_good: bool
    rooms: Mapping[int, int]  # by queue, the number of its broker's machine room; -1: not known
    shares: Mapping[int, Sequence[int]]  # by client id, its queues


class ListedClient(NamedTuple):
    """A client of a unit in a state."""

    client_id: int
    repeat: int  # how often the id comes before in the list
    number: int  # see `ClientNumbers`; that of the id for the first client of an id
    room: int  # number of the machine room; -1: not known

    @property
    def slot(self) -> Slot:
        """Its place among the clients of the group."""
        return self.client_id, self.repeat


class UnitState(NamedTuple):
    """A mixed unit in a state. Readers of a queue are a number, see `ReaderSets`."""

    is_good: bool
    acted_on: frozenset[int]  # rows of the views on which clients act
    clients: list[ListedClient]
    owners: dict[int, int]  # by queue, the client ids that read it
    readers: dict[int, int]  # by queue, the clients that read it, of which several may share an id
    loads: Counter[int]  # by client id, its queues
    may_own: set[int]  # client ids that subscribe, or own a queue
    double_owned: int
    cross_room: int


class MixedUnit:
    """The views of a mixed unit, and the clients that have them before any change."""

    def __init__(
        self,
        row: int,
        views: list[int],
        rows: MixedRows,
        client_of: Mapping[str, int],
        place_of: Callable[[MessageQueue], int],
    ) -> None:
        self.row = row
        self.views = views  # rows of its views, the main view first
        self.sharing = rows.shared.get(row)
        self._n_lists = rows.n_lists[row]
        slots = _slots([client_of.get(name, -1) for name in rows.client_ids[row]])
        self._views_of: dict[Slot, list[int]] = {slot: [] for slot in slots}
        for view in views:
            for place in rows.acting[view]:
                self._views_of[slots[place]].append(view)
        self._joining = [view for view in views if view in rows.joining]
        self._subscribed = {slots[place] for place in rows.subscribed[row]}
        self._silent_twins = {slots[place] for place in rows.silent_twins.get(row, ())}
        self._reported: dict[int, list[Slot]] | None = None
        if row in rows.reported:
            self._reported = {}
            for queue, places in rows.reported[row].items():
                self._reported[place_of(queue)] = [slots[place] for place in places]

    def state(
        self,
        views: Mapping[int, View],
        clients: list[ListedClient],
        numbers: Numbers,
        is_current: bool,
    ) -> UnitState:
        """Return who reads which queue, given the views by their rows and the listed clients."""
        acts_on = [self._views_of.get(client.slot, self._joining) for client in clients]
        acted_on = frozenset().union(*acts_on)
        is_good = all(row in views and views[row].is_good for row in {self.row, *acted_on})
        rooms, n_lists = views[self.row].rooms, self._n_lists
        takers: dict[int, list[int]] = {queue: [] for queue in rooms}
        if is_current and self._reported is not None:
            n_lists = 1
            number_of = {client.slot: client.number for client in clients}
            for queue in takers.keys() & self._reported.keys():
                slots = number_of.keys() & self._reported[queue]
                takers[queue] = [number_of[slot] for slot in slots]
            if is_good and self._silent_twins:
                self._add_silent_twins(takers, views, clients, acts_on)
        elif is_good:
            for client, rows in zip(clients, acts_on, strict=True):
                for row in rows:
                    for queue in views[row].shares.get(client.client_id, ()):
                        if queue in takers:
                            takers[queue].append(client.number)
        sets = numbers.sets
        readers = {queue: sets.number(clients_of) for queue, clients_of in takers.items()}
        owners = readers
        if any(client.repeat for client in clients):
            id_of = {client.number: client.client_id for client in clients}
            owners = {}
            for queue, clients_of in takers.items():
                owners[queue] = sets.number([id_of[client] for client in clients_of])
        loads = Counter(chain.from_iterable(map(sets.members, owners.values())))
        double_owned = 0
        if self.sharing is None:
            several = [clients_of for clients_of in takers.values() if len(clients_of) > 1]
            double_owned = sum(_is_double_owned(clients_of, n_lists) for clients_of in several)
        subscribe = {client.client_id for client in clients if self._subscribes(client)}
        return UnitState(
            is_good=is_good,
            acted_on=acted_on,
            clients=clients,
            owners=owners,
            readers=readers,
            loads=loads,
            may_own=subscribe | loads.keys(),
            double_owned=double_owned,
            cross_room=_n_crossing(owners, rooms, clients, sets),
        )

    def _add_silent_twins(
        self,
        takers: Mapping[int, list[int]],
        views: Mapping[int, View],
        clients: Sequence[ListedClient],
        acts_on: Sequence[Sequence[int]],
    ) -> None:
        """Add the clients that report nothing to the queues that their id reports and that all their
        views give to it.
        """
        id_of = {client.number: client.client_id for client in clients}
        for client, rows in zip(clients, acts_on, strict=True):
            if client.slot not in self._silent_twins or not rows:
                continue
            shares = [set(views[row].shares.get(client.client_id, ())) for row in rows]
            for queue in set.intersection(*shares) & takers.keys():
                if client.client_id in {id_of[number] for number in takers[queue]}:
                    takers[queue].append(client.number)

    def _subscribes(self, client: ListedClient) -> bool:
        has_joined = client.slot not in self._views_of
        return has_joined or client.slot in self._subscribed


def _slots(client_ids: Sequence[int]) -> list[Slot]:
    """Return the slots of a client list."""
    seen = Counter[int]()
    slots = []
    for client_id in client_ids:
        slots.append((client_id, seen[client_id]))
        seen[client_id] += 1
    return slots


def _is_double_owned(takers: Sequence[int], n_lists: int) -> bool:
    """Return True if two clients take a queue by every list, given each client once a list."""
    return sum(n >= n_lists for n in Counter(takers).values()) > 1


def _n_crossing(
    owners: Mapping[int, int],
    rooms: Mapping[int, int],
    clients: Sequence[ListedClient],
    sets: ReaderSets,
) -> int:
    """Count the queues that have an owner in another machine room than the broker; of clients that
    share an id the first counts.
    """
    room_of = {client.client_id: client.room for client in reversed(clients)}
    found = 0
    for queue, room in rooms.items():
        if room >= 0:
            rooms_of_owners = {room_of[owner] for owner in sets.members(owners[queue])}
            found += bool(rooms_of_owners - {-1, room})
    return found
