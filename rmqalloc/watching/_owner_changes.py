"""Queues whose owners change, as readings go by.

What clients report counts; where no client of a group ever reported, what is computed of its client
list does. The two are never mixed: a report that fails to come must not look like a move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.audit import CurrentOwners
from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.views.without_owners import sharing_of
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges
from rmqalloc.snapshot.snapshot import Group
from rmqalloc.watching.lasting_states import Change, LastingStates

OwnedKey = tuple[str, MessageQueue]
Owners = tuple[str, ...]
_NOT_KNOWN = ("", "not known")
"""Stands for owners that are not known; no client has an empty id beside this one."""


class _Sighting(NamedTuple):
    """When the owners of a group's queues were read, from the first part to the last, and whether
    clients reported them.
    """

    at: float
    until: float
    is_reported: bool
    is_empty: bool = False  # there is no client: no queue has an owner, and nobody says which topics the group subscribes to


class OwnersSeen(NamedTuple):
    """The owners of a group's queues in one reading.

    Attributes
    ----------
    at : float
        When the oldest part was read, in seconds of the Unix clock.
    owners : mapping of MessageQueue to tuple of str
        Client ids, () for an unowned queue; a queue with an unknown owner is missing. Empty if
        clients share queues.
    """

    at: float
    owners: Mapping[MessageQueue, Owners]


@dataclass
class _GroupOwners:
    """Owners of one group."""

    is_reported: bool
    until: float = 0.0
    at: float | None = None
    states: LastingStates[OwnedKey, Owners] = field(default_factory=LastingStates)
    keys: set[MessageQueue] = field(default_factory=set)


class OwnerChanges:
    """The lasting owners of every queue, those of retry topics too; groups whose clients share
    queues are left out.

    Attributes
    ----------
    seen : dict of consumer group to OwnersSeen
        What the last reading saw, of the groups whose owners were read since the reading before.
    """

    def __init__(self) -> None:
        self._groups: dict[str, _GroupOwners] = {}
        self.seen: dict[str, OwnersSeen] = {}

    def after(
        self, reading: ClusterReading, owners: CurrentOwners
    ) -> Iterator[Change[OwnedKey, Owners]]:
        """Yield changes that a reading confirms."""
        sightings = {}
        self.seen = {}
        for group in reading.snapshot.groups:
            ages = reading.ages.get(group.name)
            if group.name in reading.not_read or ages is None or ages.clients is None:
                continue
            if sharing_of(group) is not None:
                self.seen[group.name] = OwnersSeen(ages.clients, {})
            elif sighting := self._sighting(group, ages, reading.read_at):
                sightings[group.name] = sighting
        rows = _owners_of(owners.queues, sightings)
        for name, sighting in sightings.items():
            known = _known_owners(rows[name])
            if known or not rows[name]:
                self.seen[name] = OwnersSeen(sighting.at, known)
        for name, sighting in sightings.items():
            yield from self._changes(name, sighting, rows[name])
        if reading.is_whole:
            there = {group.name for group in reading.snapshot.groups}
            gone = _Sighting(reading.began_at, reading.read_at, True)
            for name in sorted(self._groups.keys() - there):
                is_reported = self._groups[name].is_reported
                yield from self._changes(name, gone._replace(is_reported=is_reported), {})
                if not self._groups[name].keys:
                    del self._groups[name]

    def _sighting(self, group: Group, ages: GroupAges, read_at: float) -> _Sighting | None:
        """Return when the owners of a group were read, None if nothing is new.

        Reports may have been read one by one, by several readings; a sighting is new once all of
        them were read after the last one. The list of queues may be from the end of the reading.
        """
        ids = [client.client_id for client in group.clients]
        times = [ages.owned[client_id] for client_id in ids if client_id in ages.owned]
        seen = self._groups.get(group.name)
        is_reported = any(client.owned is not None for client in group.clients)
        if seen is not None and seen.is_reported and not is_reported and group.clients:
            return None
        if is_reported and not times:
            return None
        at = min(times) if is_reported else ages.clients or 0.0
        as_reported = is_reported or (seen is not None and seen.is_reported)
        is_new = seen is None or at > seen.until or as_reported != seen.is_reported
        return _Sighting(at, read_at, as_reported, not group.clients) if is_new else None

    def _changes(
        self, name: str, sighting: _Sighting, rows: Mapping[MessageQueue, Owners]
    ) -> Iterator[Change[OwnedKey, Owners]]:
        """Yield changes of the owners of one group's queues."""
        mine = self._groups.get(name)
        if mine is None or mine.is_reported != sighting.is_reported:
            mine = self._groups[name] = _GroupOwners(sighting.is_reported)
        for queue in rows.keys() - mine.keys:
            if mine.at is not None:
                mine.states.known((name, queue), None, mine.at)
        mine.keys.update(rows)
        for queue in sorted(mine.keys):
            key, found = (name, queue), rows.get(queue, () if sighting.is_empty else None)
            if found == _NOT_KNOWN:
                continue
            change = mine.states.seen(key, found, sighting.at, sighting.until)
            if change:
                yield change
            if mine.states.is_absent(key):
                mine.states.forget(key)
                mine.keys.discard(queue)
        mine.at, mine.until = sighting.at, sighting.until


def _known_owners(rows: Mapping[MessageQueue, Owners]) -> dict[MessageQueue, Owners]:
    return {queue: owners for queue, owners in rows.items() if owners != _NOT_KNOWN}


def _owners_of(
    queues: pa.Table, sightings: Mapping[str, _Sighting]
) -> Mapping[str, dict[MessageQueue, Owners]]:
    """Return by group the owners of every queue, `_NOT_KNOWN` where they are not known as the
    sighting of the group is.
    """
    found: dict[str, dict[MessageQueue, Owners]] = defaultdict(dict)
    wanted = queues.filter(
        pc.is_in(queues["consumer_group"], pa.array(sightings.keys(), pa.string()))
    )
    names = ("consumer_group", "topic", "broker_name", "queue_id", "owners", "known")
    for group, topic, broker, queue_id, owners, known in zip(
        *(wanted[name].to_pylist() for name in names), strict=True
    ):
        sighting = sightings[group]
        is_known = sighting.is_empty or known == (
            "reported" if sighting.is_reported else "computed"
        )
        found[group][MessageQueue(topic, broker, queue_id)] = (
            tuple(owners or ()) if is_known else _NOT_KNOWN
        )
    return found
