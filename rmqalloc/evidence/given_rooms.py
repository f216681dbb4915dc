"""Machine rooms of brokers and clients that are given by hand, by name or pattern, beside a
snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

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
    """A file holds no machine rooms."""


class RoomConflictError(Error, ValueError):
    """A broker or client is given two machine rooms."""


@dataclass(frozen=True)
class GivenRoom:
    """The machine room of all brokers or clients of a pattern.

    Attributes
    ----------
    pattern : str
        As `fnmatch.fnmatchcase` has it.
    machine_room : str
    origin : str
        Where it is given, for errors.
    """

    pattern: str
    machine_room: str
    origin: str = field(compare=False)


class GivenRooms(NamedTuple):
    """Machine rooms that are given by hand; see `with_rooms`."""

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
        *(tuple(_entries(name, what, getattr(found, what))) for what in GivenRooms._fields)
    )


def _entries(path: str, what: str, rooms: Mapping[str, str]) -> Iterable[GivenRoom]:
    return (
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
    """Return the same snapshot with machine rooms given by hand, which replace its own.

    What was found out of strategies before is left out where rooms may change it, so that
    `with_strategies` looks again.

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
    brokers = {one.broker_name for topic in snapshot.topics for one in topic.brokers}
    clients = {one.client_id for group in snapshot.groups for one in group.clients}
    broker_rooms, client_rooms = (
        _rooms(rooms.brokers, brokers, "broker"),
        _rooms(rooms.clients, clients, "client"),
    )
    topics = tuple(_with_broker_rooms(one, broker_rooms) for one in snapshot.topics)
    return replace(
        snapshot,
        topics=topics,
        groups=tuple(_with_client_rooms(one, client_rooms) for one in snapshot.groups),
    )


def _rooms(given: Sequence[GivenRoom], names: set[str], what: str) -> dict[str, str]:
    """Return rooms by name, from rooms by pattern."""
    found: dict[str, GivenRoom] = {}
    for one in given:
        match = glob(one.pattern)
        mine = [name for name in names if match(name)]
        for name in sorted(mine):
            other = found.setdefault(name, one)
            if other.machine_room != one.machine_room:
                raise RoomConflictError(
                    f"{what} {name!r} is given two machine rooms: {other.machine_room!r} by {other.origin} and "
                    f"{one.machine_room!r} by {one.origin}; give it one"
                )
    return {name: one.machine_room for name, one in found.items()}


def _with_broker_rooms(topic: Topic, rooms: Mapping[str, str]) -> Topic:
    brokers = [
        replace(one, machine_room=rooms.get(one.broker_name, one.machine_room))
        for one in topic.brokers
    ]
    return replace(topic, brokers=tuple(brokers))


def _with_client_rooms(group: Group, rooms: Mapping[str, str]) -> Group:
    clients = [
        replace(one, machine_room=rooms.get(one.client_id, one.machine_room))
        for one in group.clients
    ]
    group = replace(group, clients=tuple(clients))
    if group.strategy_source in _GUESSES:
        return replace(group, strategy=None, strategy_params={}, **_OPEN)
    return (
        replace(group, **_OPEN)
        if group.strategy is not None and reads_rooms(group.strategy)
        else group
    )
