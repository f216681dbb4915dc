"""Which machine rooms, and which strategy inside MACHINE_ROOM_NEARBY, explain what the clients of
groups own.

Every reading of the names as rooms is tried with every strategy that may be inside. One that
explains all owners is taken if no other does that puts brokers and clients together in another way
or divides rooms otherwise: two of them would plan differently. A snapshot has one room for a broker
of a topic, so groups that read the topic must agree on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rmqalloc.evidence._room_readings import RoomReading, named_parts, readings
from rmqalloc.evidence.inferred_strategies import OwnedQueues, OwnedReader, StrategyFit, fits_of
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic, TopicBroker
from rmqalloc.text import counted

_STATE_THEM = "--rooms states them"


class Unplaced(NamedTuple):
    """A group whose machine rooms are not all known.

    Attributes
    ----------
    owned : OwnedQueues
    tried : sequence of Method
        What may be divided by, the most likely first.
    brokers, clients : mapping of str to str or None
        Rooms by name, as far as they are known.
    """

    owned: OwnedQueues
    tried: Sequence[Method]
    brokers: Mapping[str, str | None]
    clients: Mapping[str, str | None]


class RoomFit(NamedTuple):
    """What explains the owners of a group.

    Attributes
    ----------
    found : sequence of (RoomReading, Method)
        All that explain all owners, the most likely first.
    of : int
        Queues with one owner.
    n_tried : int or None
        Readings and strategies that were tried; None if there are too many readings.
    conflict : str or None
        Why what was found cannot be taken.
    """

    found: Sequence[tuple[RoomReading, Method]]
    of: int
    n_tried: int | None
    conflict: str | None = None

    @property
    def doubt(self) -> str | None:
        """Why the most likely is a guess, if others explain the owners too or none does."""
        owners = counted(self.of, "known owner")
        if self.conflict is not None:
            return f"{self.conflict}; {_STATE_THEM}"
        if self.n_tried is None:
            return f"broker and client names allow too many machine rooms to try; {_STATE_THEM}"
        if not self.found:
            return f"no machine rooms that broker and client names suggest explain its {owners}; {_STATE_THEM}"
        if len(self.found) > 1:
            first, second = (_named(*found) for found in self.found[:2])
            return f"{first} and {second} explain its {owners} equally well; {_STATE_THEM}"
        return None


def _named(reading: RoomReading, method: Method) -> str:
    return f"{method} with the rooms {named_parts(reading.brokers.values())}"


def fit_rooms(groups: Sequence[Unplaced]) -> list[RoomFit]:
    """Return what explains the owners of groups; readings that give brokers the same rooms are
    computed as one fleet.
    """
    batches: dict[tuple[object, int], list[_Tried]] = {}
    readings_of_groups = [
        readings(group.brokers, group.clients, _owners_of_brokers(group.owned)) for group in groups
    ]
    for number, readings_of_group in enumerate(readings_of_groups):
        nth = Counter[object]()
        for rank, reading in enumerate(readings_of_group or ()):
            rooms = frozenset(reading.brokers.items())
            batches.setdefault((rooms, nth[rooms]), []).append(_Tried(number, rank, reading))
            nth[rooms] += 1
    fits: list[list[tuple[_Tried, StrategyFit]]] = [[] for _ in groups]
    for batch in batches.values():
        for tried, fit in zip(batch, _fits(groups, batch), strict=True):
            fits[tried.group].append((tried, fit))
    return [
        _found(group.owned, readings_of_group, fits_of_group)
        for group, readings_of_group, fits_of_group in zip(
            groups, readings_of_groups, fits, strict=True
        )
    ]


class _Tried(NamedTuple):
    """A reading that is tried for a group, and its place among those of the group."""

    group: int
    rank: int
    reading: RoomReading


def _found(
    owned: OwnedQueues,
    made: Sequence[RoomReading] | None,
    fits: Sequence[tuple[_Tried, StrategyFit]],
) -> RoomFit:
    """Return what explains all owners of a group."""
    found: list[tuple[RoomReading, Method]] = []
    for tried, fit in sorted(fits, key=lambda fitted: fitted[0].rank):
        if fit.of > 0:
            all_of = [method for method, n in fit.counts.items() if n == fit.of]
            found += [(tried.reading, method) for method in all_of]
    n_tried = None if made is None else sum(len(fit.counts) for _, fit in fits)
    return RoomFit(found, sum(map(len, owned.owners)), n_tried)


def _fits(groups: Sequence[Unplaced], batch: Sequence[_Tried]) -> list[StrategyFit]:
    """Fit groups, each with its reading; all readings give a broker the same room."""
    rooms = Rooms({}, {})
    topics = set[str]()
    renamed = []
    for number, tried in enumerate(batch):
        name = str(number)
        owned = groups[tried.group].owned
        topics.update(queues[0].topic for queues in owned.queues if queues)
        for client_id, room in tried.reading.clients.items():
            rooms.clients[name, client_id] = room
        renamed.append(owned._replace(name=name))
    for topic in topics:
        for broker, room in batch[0].reading.brokers.items():
            rooms.brokers[topic, broker] = room
    return fits_of(renamed, [groups[tried.group].tried for tried in batch], rooms)


def _owners_of_brokers(owned: OwnedQueues) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for owners in owned.owners:
        for queue, client_id in owners.items():
            found.setdefault(queue.broker_name, set()).add(client_id)
    return found


# --- Groups of a snapshot ---


class Placement(NamedTuple):
    """A snapshot with machine rooms that were found.

    Attributes
    ----------
    snapshot : Snapshot
    groups : mapping of str to (Group, RoomFit)
        By name, the groups whose rooms were not all known, with the most likely ones if these are
        taken.
    """

    snapshot: Snapshot
    groups: Mapping[str, tuple[Group, RoomFit]]


def placed_groups(
    snapshot: Snapshot,
    groups: Sequence[tuple[Group, Sequence[Method]]],
    is_taken: Callable[[Group, RoomFit], bool],
) -> Placement:
    """Find the machine rooms of groups of which owners are known and rooms are not."""
    if not groups:
        return Placement(snapshot, {})
    routes = {topic.name: topic for topic in snapshot.topics}
    reader = OwnedReader(snapshot.topics)
    found, unplaced = list[Group](), list[Unplaced]()
    for group, tried in groups:
        made = _unplaced(group, tried, routes, reader)
        if made is not None:
            found.append(group)
            unplaced.append(made)
    brokers: _BrokerRooms = {}
    placed: dict[str, tuple[Group, RoomFit]] = {}
    fitted = zip(found, fit_rooms(unplaced), strict=True)
    # What is sure comes first, so that no guess about another group stands in its way.
    for group, fit in sorted(fitted, key=lambda fitted_group: fitted_group[1].doubt is not None):
        placed[group.name] = (
            _put(group, fit, routes, brokers) if is_taken(group, fit) else (group, fit)
        )
    return Placement(_with_broker_rooms(snapshot, brokers) if brokers else snapshot, placed)


_BrokerRooms = dict[tuple[str, str], tuple[str, str]]
"""By topic and broker its room, and the group by which it was found."""


def _unplaced(
    group: Group, tried: Sequence[Method], routes: Mapping[str, Topic], reader: OwnedReader
) -> Unplaced | None:
    """Return a group whose rooms are to be found; None if all are known or no owners are."""
    brokers: dict[str, str | None] = {}
    for topic in _topics(group, routes):
        for broker in filter(_has_queues, topic.brokers):
            brokers[broker.broker_name] = brokers.get(broker.broker_name) or broker.machine_room
    clients = {client.client_id: client.machine_room for client in group.clients}
    if all(brokers.values()) and all(clients.values()):
        return None
    owned = reader.of(group)
    return Unplaced(owned, tried, brokers, clients) if owned.owners else None


def _has_queues(broker: TopicBroker) -> bool:
    """Return whether consumers see queues of a broker; otherwise its room decides nothing."""
    return broker.is_readable and broker.read_queue_nums > 0


def _topics(group: Group, routes: Mapping[str, Topic]) -> list[Topic]:
    owned = set[str]()
    for client in group.clients:
        owned.update(queue.topic for queue in client.owned or ())
    names = dict.fromkeys([*group.subscriptions, *sorted(owned)])
    return [routes[name] for name in names if name in routes]


def _put(
    group: Group, fit: RoomFit, routes: Mapping[str, Topic], brokers: _BrokerRooms
) -> tuple[Group, RoomFit]:
    """Return a group in its most likely rooms, unless another group that reads the same topic puts
    a broker elsewhere.
    """
    if not fit.found:
        return group, fit
    reading, _ = fit.found[0]
    rooms: _BrokerRooms = {}
    for topic in _topics(group, routes):
        for broker in topic.brokers:
            name = broker.broker_name
            if name in reading.brokers:
                rooms[topic.name, name] = reading.brokers[name], group.name
    for place, (room, _) in rooms.items():
        given, by = brokers.get(place, (room, ""))
        if given != room:
            topic_name, name = place
            doubt = (
                f"its owners put broker {name} of topic {topic_name} into machine room {room}, and the owners of {by} put it "
                f"into {given}"
            )
            return group, fit._replace(found=(), conflict=doubt)
    brokers.update(rooms)
    clients = [
        replace(client, machine_room=reading.clients[client.client_id]) for client in group.clients
    ]
    return replace(group, clients=tuple(clients)), fit


def _with_broker_rooms(snapshot: Snapshot, rooms: _BrokerRooms) -> Snapshot:
    def placed(topic: Topic) -> Topic:
        brokers = []
        for broker in topic.brokers:
            if (topic.name, broker.broker_name) in rooms:
                room, _ = rooms[topic.name, broker.broker_name]
                broker = replace(broker, machine_room=room)
            brokers.append(broker)
        return replace(topic, brokers=tuple(brokers))

    return replace(snapshot, topics=tuple(map(placed, snapshot.topics)))
