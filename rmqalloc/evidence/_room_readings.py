"""Machine rooms as names may say them: what a resolver, which is code of the user's, may read out
of ids and names of brokers.

A *reading* gives every broker and client of a group a room. By one rule each, the room is the text
before the first, second or third delimiter: ``az1`` of ``az1-broker-a``, ``10.1`` of
``10.1.0.11@4121``. If brokers and clients then share names of rooms, that is the reading. If they
have none in common, as where clients are told apart by subnet, the owners say which rooms are the
same: that of a broker is the one in which all owners of its queues stand, or has no client at all.
That all stand in one room is a reading too.

Two readings are the same if they put the same brokers and clients together, whatever the rooms are
called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice, product
from typing import NamedTuple

_DELIMITERS = "-_.@:/#"
_NTH = (1, 2, 3)
MOST_READINGS = 256
"""Readings of one group at most; with more of them, none could be told from chance."""

ONE_ROOM = "all"

Labels = dict[str, str]


class RoomReading(NamedTuple):
    """Rooms by the name of the broker, and by client id."""

    brokers: Labels
    clients: Labels

    @property
    def parts(self) -> frozenset[tuple[frozenset[str], frozenset[str]]]:
        """Brokers and clients that are together; clients of rooms without brokers count as
        together.
        """
        rooms: dict[str, tuple[set[str], set[str]]] = {}
        for place, labels in enumerate(self):
            for name, room in labels.items():
                rooms.setdefault(room, (set(), set()))[place].add(name)
        idle = frozenset[str]().union(
            *(clients for brokers, clients in rooms.values() if not brokers)
        )
        found = {
            (frozenset(brokers), frozenset(clients))
            for brokers, clients in rooms.values()
            if brokers
        }
        return frozenset(found | {(frozenset(), idle)} if idle else found)

    def allows(self, owners: Mapping[str, Set[str]]) -> bool:
        """Return whether queues of every room with clients are owned by these alone, given the
        owners of each broker's queues.
        """
        members: dict[str, set[str]] = {}
        for client, room in self.clients.items():
            members.setdefault(room, set()).add(client)
        return all(
            owners.get(broker, set()) <= members.get(room, owners.get(broker, set()))
            for broker, room in self.brokers.items()
        )


def readings(
    brokers: Mapping[str, str | None],
    clients: Mapping[str, str | None],
    owners: Mapping[str, Set[str]],
) -> list[RoomReading] | None:
    """Return all readings that owners allow, the most likely first; None if there are too many to
    try.

    Examples
    --------
    >>> found = readings({"az1-a": None, "az2-a": None}, {"az1-x": None, "az2-y": None}, {"az1-a": {"az1-x"}})
    >>> [reading.brokers for reading in found]
    [{'az1-a': 'az1', 'az2-a': 'az2'}, {'az1-a': 'all', 'az2-a': 'all'}]
    """
    some = list(islice(_readings(brokers, clients, owners), MOST_READINGS + 1))
    if len(some) > MOST_READINGS:
        return None
    found: dict[object, RoomReading] = {}
    for one in some:
        if one.allows(owners):
            found.setdefault(one.parts, one)
    return list(found.values())


def _readings(
    brokers: Mapping[str, str | None],
    clients: Mapping[str, str | None],
    owners: Mapping[str, Set[str]],
) -> Iterator[RoomReading]:
    pairs = list(product(_labellings(brokers), _labellings(clients)))
    for of_brokers, of_clients in pairs:
        if not set(of_brokers.values()).isdisjoint(of_clients.values()):
            yield RoomReading(of_brokers, of_clients)
    for of_brokers, of_clients in pairs:
        if set(of_brokers.values()).isdisjoint(of_clients.values()):
            yield from _paired(of_brokers, of_clients, owners)
    if not any(brokers.values()) and not any(clients.values()):
        yield RoomReading(dict.fromkeys(brokers, ONE_ROOM), dict.fromkeys(clients, ONE_ROOM))


def _labellings(names: Mapping[str, str | None]) -> list[Labels]:
    """Return what each rule calls the rooms of names; only rules that say what is known already."""
    if all(names.values()):
        return [{name: room for name, room in names.items() if room is not None}]
    found: list[Labels] = []
    for delimiter, n in product(_DELIMITERS, _NTH):
        labels = {
            name: delimiter.join(name.split(delimiter)[:n])
            for name in names
            if name.count(delimiter) >= n
        }
        is_rule = len(labels) == len(names) and all(labels.values())
        if (
            is_rule
            and labels not in found
            and all(room in (None, labels[name]) for name, room in names.items())
        ):
            found.append(labels)
    return found


def _paired(
    brokers: Labels, clients: Labels, owners: Mapping[str, Set[str]]
) -> Iterator[RoomReading]:
    """Yield readings of rooms that brokers and clients call by other names, paired by owners."""
    owners_of: dict[str, set[str]] = {}
    for broker, room in brokers.items():
        owners_of.setdefault(room, set()).update(owners.get(broker, ()))
    rooms = list(dict.fromkeys(clients.values()))
    options: list[list[str | None]] = []
    for mine in owners_of.values():
        holding = {clients[one] for one in mine if one in clients}
        options.append([*(holding if len(holding) == 1 else () if holding else rooms), None])
    for paired in product(*options):
        yield _joined(brokers, clients, dict(zip(owners_of, paired, strict=True)))


def _joined(brokers: Labels, clients: Labels, paired: Mapping[str, str | None]) -> RoomReading:
    """Return the reading in which rooms of brokers are those of clients; called as the brokers call
    them.
    """
    called: dict[str, list[str]] = {}
    for of_brokers, of_clients in paired.items():
        if of_clients is not None:
            called.setdefault(of_clients, []).append(of_brokers)
    name = {room: "+".join(all_of) for room, all_of in called.items()}
    of_broker = {room: room if mine is None else name[mine] for room, mine in paired.items()}
    return RoomReading(_mapped(brokers, of_broker), _mapped(clients, name))


def _mapped(labels: Labels, names: Mapping[str, str]) -> Labels:
    return {one: names.get(room, room) for one, room in labels.items()}


def named_parts(rooms: Iterable[str]) -> str:
    """Return rooms for people, the first few of them."""
    distinct = sorted(set(rooms))
    return ", ".join(distinct[:3]) + (", …" if len(distinct) > 3 else "")
