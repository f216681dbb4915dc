"""Machine rooms of brokers and clients that a user gives for a snapshot, by name or pattern."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any, NamedTuple

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import DocumentError, read_document
from rmqalloc.documents.fields import FieldError, Text
from rmqalloc.documents.records import MappingOf, document_schema, record
from rmqalloc.errors import Error
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic
from rmqalloc.strategies.by_name import reads_rooms
from rmqalloc.text import glob

_ROOMS = MappingOf(Text())
_GUESSES = ("fitted", "assumed")
_OPEN: Mapping[str, Any] = {
    "strategy_source": None,
    "strategy_explains": None,
    "strategy_doubt": None,
}


class RoomsFileError(DocumentError):
    """A file has no machine rooms."""


class RoomConflictError(Error, ValueError):
    """A broker or client is given two machine rooms."""


@dataclass(frozen=True)
class GivenRoom:
    """The machine room of all brokers or clients of a pattern.

    Attributes
    ----------
    pattern : str
        Pattern for `fnmatch.fnmatchcase`.
    machine_room : str
    origin : str
        Its place in the input, for errors.
    """

    pattern: str
    machine_room: str
    origin: str = field(compare=False)


class GivenRooms(NamedTuple):
    """Machine rooms that a user gives; see `with_rooms`."""

    brokers: tuple[GivenRoom, ...] = ()
    clients: tuple[GivenRoom, ...] = ()


@dataclass(frozen=True)
class _RoomsFile:
    """What a file of machine rooms holds: rooms by name or pattern."""

    brokers: Annotated[Mapping[str, str], _ROOMS] = field(default_factory=dict)
    clients: Annotated[Mapping[str, str], _ROOMS] = field(default_factory=dict)


def read_rooms(path: str | os.PathLike[str]) -> GivenRooms:
    """Read a YAML or JSON file of machine rooms: under ``brokers`` and ``clients``, rooms by name
    or pattern.

    Raises
    ------
    OSError
        The file cannot be read.
    RoomsFileError
        It is not such a file; the message names file, line, column and field.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    document = read_document(path, RoomsFileError)
    try:
        found = record(_RoomsFile).read(document.data)
    except FieldError as error:
        raise document.located(error) from None
    name = os.fspath(path)
    return GivenRooms(
        brokers=_entries(name, "brokers", found.brokers),
        clients=_entries(name, "clients", found.clients),
    )


def _entries(path: str, what: str, rooms: Mapping[str, str]) -> tuple[GivenRoom, ...]:
    return tuple(
        GivenRoom(pattern, room, f"{path} ({what}: {pattern!r}: {room!r})")
        for pattern, room in rooms.items()
    )


def rooms_schema() -> dict[str, Any]:
    """Return JSON Schema of a file of machine rooms.

    Examples
    --------
    >>> sorted(rooms_schema()["properties"])
    ['$schema', 'brokers', 'clients']
    """
    return document_schema("Machine rooms of rmqalloc", record(_RoomsFile).schema())


def with_rooms(snapshot: Snapshot, rooms: GivenRooms) -> Snapshot:
    """Return the snapshot with the given machine rooms, which replace its own.

    Strategies that were inferred before are removed if rooms may change them, so that
    `with_strategies` infers them again.

    Raises
    ------
    RoomConflictError
        Two entries give one broker or client different rooms.

    Examples
    --------
    >>> from rmqalloc.snapshot import TopicBroker
    >>> given = GivenRooms((GivenRoom("az1-*", "az1", "here"),))
    >>> with_rooms(Snapshot((Topic("T", (TopicBroker("az1-a", 4),)),)), given).topics[0].brokers[0].machine_room
    'az1'
    """
    brokers, clients = set[str](), set[str]()
    for topic in snapshot.topics:
        brokers.update(broker.broker_name for broker in topic.brokers)
    for group in snapshot.groups:
        clients.update(client.client_id for client in group.clients)
    broker_rooms = _rooms(rooms.brokers, brokers, "broker")
    client_rooms = _rooms(rooms.clients, clients, "client")
    topics = tuple(_with_broker_rooms(topic, broker_rooms) for topic in snapshot.topics)
    groups = tuple(_with_client_rooms(group, client_rooms) for group in snapshot.groups)
    return replace(snapshot, topics=topics, groups=groups)


def _rooms(given: Sequence[GivenRoom], names: set[str], what: str) -> dict[str, str]:
    """Return rooms by name, from rooms by pattern."""
    found: dict[str, GivenRoom] = {}
    for room in given:
        for name in sorted(filter(glob(room.pattern), names)):
            first = found.setdefault(name, room)
            if first.machine_room != room.machine_room:
                raise RoomConflictError(
                    f"{what} {name!r} is given two machine rooms: {first.machine_room!r} by {first.origin} and "
                    f"{room.machine_room!r} by {room.origin}; give it one"
                )
    return {name: room.machine_room for name, room in found.items()}


def _with_broker_rooms(topic: Topic, rooms: Mapping[str, str]) -> Topic:
    brokers = [
        replace(broker, machine_room=rooms.get(broker.broker_name, broker.machine_room))
        for broker in topic.brokers
    ]
    return replace(topic, brokers=tuple(brokers))


def _with_client_rooms(group: Group, rooms: Mapping[str, str]) -> Group:
    clients = [
        replace(client, machine_room=rooms.get(client.client_id, client.machine_room))
        for client in group.clients
    ]
    group = replace(group, clients=tuple(clients))
    if group.strategy_source in _GUESSES:
        return replace(group, strategy=None, strategy_params={}, **_OPEN)
    if group.strategy is not None and reads_rooms(group.strategy):
        return replace(group, **_OPEN)
    return group
