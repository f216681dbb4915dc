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
            return f"names of brokers and clients may stand for too many machine rooms to try; {_STATE_THEM}"
        if not self.found:
            return f"no machine rooms that names of brokers and clients may stand for explain its {owners}; {_STATE_THEM}"
        if len(self.found) > 1:
            first, second = (_said(*one) for one in self.found[:2])
            return f"{first} and {second} explain its {owners} alike; {_STATE_THEM}"
        return None


def _said(reading: RoomReading, method: Method) -> str:
    return f"{method} with the rooms {named_parts(reading.brokers.values())}"


def fit_rooms(groups: Sequence[Unplaced]) -> list[RoomFit]:
    """Return what explains the owners of groups; readings that give brokers the same rooms are
    computed as one fleet.
    """
    batches: dict[tuple[object, int], list[_Tried]] = {}
    made = [readings(one.brokers, one.clients, _owners_of_brokers(one.owned)) for one in groups]
    for number, mine in enumerate(made):
        nth = Counter[object]()
        for rank, reading in enumerate(mine or ()):
            rooms = frozenset(reading.brokers.items())
            batches.setdefault((rooms, nth[rooms]), []).append(_Tried(number, rank, reading))
            nth[rooms] += 1
    fits: list[list[tuple[_Tried, StrategyFit]]] = [[] for _ in groups]
    for batch in batches.values():
        for one, fit in zip(batch, _fits(groups, batch), strict=True):
            fits[one.group].append((one, fit))
    return [
        _found(one.owned, mine, fitted)
        for one, mine, fitted in zip(groups, made, fits, strict=True)
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
    ranked = sorted(fits, key=lambda one: one[0].rank)
    found = [
        (one.reading, method)
        for one, fit in ranked
        for method, n in fit.counts.items()
        if n == fit.of > 0
    ]
    n_tried = None if made is None else sum(len(fit.counts) for _, fit in fits)
    return RoomFit(found, sum(map(len, owned.owners)), n_tried)


def _fits(groups: Sequence[Unplaced], batch: Sequence[_Tried]) -> list[StrategyFit]:
    """Fits of groups, each with its reading; all of them give a broker the same room."""
    owned = [groups[one.group].owned for one in batch]
    topics = {queue.topic for one in owned for queues in one.queues for queue in queues[:1]}
    brokers = {
        (topic, name): room for topic in topics for name, room in batch[0].reading.brokers.items()
    }
    clients = {
        (str(i), one): room
        for i, tried in enumerate(batch)
        for one, room in tried.reading.clients.items()
    }
    renamed = [one._replace(name=str(i)) for i, one in enumerate(owned)]
    return fits_of(renamed, [groups[one.group].tried for one in batch], Rooms(brokers, clients))


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
    routes, reader = {topic.name: topic for topic in snapshot.topics}, OwnedReader(snapshot.topics)
    found = [
        (group, made)
        for group, tried in groups
        if (made := _unplaced(group, tried, routes, reader)) is not None
    ]
    brokers: _BrokerRooms = {}
    placed: dict[str, tuple[Group, RoomFit]] = {}
    fitted = zip(found, fit_rooms([made for _, made in found]), strict=True)
    # What is sure comes first, so that no guess about another group stands in its way.
    for (group, _), fit in sorted(fitted, key=lambda one: one[1].doubt is not None):
        placed[group.name] = (
            _put(group, fit, routes, brokers) if is_taken(group, fit) else (group, fit)
        )
    return Placement(_with_broker_rooms(snapshot, brokers) if brokers else snapshot, placed)


_BrokerRooms = dict[tuple[str, str], tuple[str, str]]
"""By topic and broker its room, and the group by which it was found."""


def _unplaced(
    group: Group, tried: Sequence[Method], routes: Mapping[str, Topic], reader: OwnedReader
) -> Unplaced | None:
    """Return a group with what is to be found out, None if nothing is or can be."""
    brokers: dict[str, str | None] = {}
    for topic in _topics(group, routes):
        for broker in filter(_has_queues, topic.brokers):
            brokers[broker.broker_name] = brokers.get(broker.broker_name) or broker.machine_room
    clients = {one.client_id: one.machine_room for one in group.clients}
    if all(brokers.values()) and all(clients.values()):
        return None
    owned = reader.of(group)
    return Unplaced(owned, tried, brokers, clients) if owned.owners else None


def _has_queues(broker: TopicBroker) -> bool:
    """Return whether consumers see queues of it: where it stands decides nothing otherwise."""
    return broker.is_readable and broker.read_queue_nums > 0


def _topics(group: Group, routes: Mapping[str, Topic]) -> list[Topic]:
    owned = {queue.topic for client in group.clients for queue in client.owned or ()}
    return [
        routes[name]
        for name in dict.fromkeys([*group.subscriptions, *sorted(owned)])
        if name in routes
    ]


def _put(
    group: Group, fit: RoomFit, routes: Mapping[str, Topic], brokers: _BrokerRooms
) -> tuple[Group, RoomFit]:
    """Return a group in its most likely rooms, unless another group that reads the same topic puts
    a broker elsewhere.
    """
    if not fit.found:
        return group, fit
    (reading, _), *_ = fit.found
    brokers_of = (
        (topic.name, one.broker_name) for topic in _topics(group, routes) for one in topic.brokers
    )
    mine = {place: reading.brokers[place[1]] for place in brokers_of if place[1] in reading.brokers}
    for (topic, broker), room in mine.items():
        other, by = brokers.get((topic, broker), (room, ""))
        if other != room:
            doubt = f"its owners put broker {broker} of topic {topic} into machine room {room}, those of {by} into {other}"
            return group, fit._replace(found=(), conflict=doubt)
    brokers.update({place: (room, group.name) for place, room in mine.items()})
    clients = tuple(
        replace(one, machine_room=reading.clients[one.client_id]) for one in group.clients
    )
    return replace(group, clients=clients), fit


def _with_broker_rooms(snapshot: Snapshot, rooms: _BrokerRooms) -> Snapshot:
    def placed(topic: Topic) -> Topic:
        found = [
            rooms.get((topic.name, one.broker_name), (one.machine_room, ""))[0]
            for one in topic.brokers
        ]
        made = (
            replace(one, machine_room=room) for one, room in zip(topic.brokers, found, strict=True)
        )
        return replace(topic, brokers=tuple(made))

    return replace(snapshot, topics=tuple(map(placed, snapshot.topics)))
