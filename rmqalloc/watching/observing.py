"""Comparing each reading of a cluster with earlier readings: `Observer`, `Observation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from rmqalloc.audit import CurrentOwners, Finding, Findings, GroupList, current_owners, group_list
from rmqalloc.evidence import Known, known
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.watching._owner_changes import OwnedKey, OwnerChanges, Owners, OwnersSeen
from rmqalloc.watching._settle_times import SettleTimes
from rmqalloc.watching.lasting_states import Change, LastingStates
from rmqalloc.watching.raised import RaisedFindings, lasting

_NOTHING: Mapping[str, float] = MappingProxyType({})


class Observation(NamedTuple):
    """One reading, and the changes since earlier readings.

    Attributes
    ----------
    reading : ClusterReading
    known : Known
        The snapshot of the reading, with the strategy of every group decided.
    groups : GroupList
        All groups in one row each, as `rmqalloc groups` lists them.
    owners : CurrentOwners
        Owners of queues, as `rmqalloc show` prints them.
    findings : Findings
        Findings of `rmqalloc check` at this moment.
    lasting : tuple of Finding
        Findings that the previous reading also had.
    raised, cleared : tuple of Change
        Findings that last since this reading, and findings that ended with it. Keys identify a
        fault, values are findings. ``before`` of a raised finding is the same fault with another
        severity, or None. ``last_seen_before`` is None if some answers were missing, so that the
        earlier state of the fault is unknown.
    members : tuple of Change
        Clients that joined (``before`` None), left (``after`` None), or whose number of entries in
        the list changed; keys are (consumer group, client id), values the number of entries.
        ``last_seen_before`` is None for clients that the first reading had.
    moves : tuple of Change
        Queues with changed owners; keys are (consumer group, MessageQueue), values tuples of client
        ids, () for unowned. ``before`` is None for a new queue, or if owners are known for the first
        time (then ``last_seen_before`` is None, too); ``after`` is None for a removed queue.
    settled : mapping of str to float
        Groups that settled since the previous reading, with the seconds from the first sign of the
        change to this reading, the first in which every queue has its expected owner.
    unsettled : mapping of str to float
        Groups that have not settled, with the first sighting of their change in seconds of the Unix
        clock.
    owners_seen : mapping of str to OwnersSeen
        Groups whose owners were read since the previous reading, with these owners.
    """

    reading: ClusterReading
    known: Known
    groups: GroupList
    owners: CurrentOwners
    findings: Findings
    lasting: tuple[Finding, ...]
    raised: tuple[Change[Any, Finding], ...] = ()
    cleared: tuple[Change[Any, Finding], ...] = ()
    members: tuple[Change[Member, int], ...] = ()
    moves: tuple[Change[OwnedKey, Owners], ...] = ()
    settled: Mapping[str, float] = _NOTHING
    unsettled: Mapping[str, float] = _NOTHING
    owners_seen: Mapping[str, OwnersSeen] = MappingProxyType({})


class _ReadingTimes(NamedTuple):
    """When a reading was made, and the requests that failed."""

    began_at: float
    read_at: float
    lacks: frozenset[Hashable]


class _FindingChanges(NamedTuple):
    raised: tuple[Change[Any, Finding], ...]
    cleared: tuple[Change[Any, Finding], ...]


class Observer:
    """Comparison of the readings of one cluster: an `Observation` of each.

    Parameters
    ----------
    groups, topics : sequence of str
        Patterns of the groups and topics to observe, as in `fnmatch.fnmatchcase`.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.snapshot.live.rereading import GroupAges
    >>> def reading(at, *ids):
    ...     group = Group("g", ("T",), tuple(map(Client, ids)), strategy="AVG")
    ...     snapshot = Snapshot((Topic("T", (TopicBroker("b", 2),)),), (group,))
    ...     return ClusterReading(snapshot, at, at, {"g": GroupAges(at, None, {})}, frozenset(), True, {})
    >>> observer = Observer()
    >>> for at, *ids in [(1, "c1"), (2, "c1"), (3, "c1", "c2"), (4, "c1", "c2")]:
    ...     observation = observer.observe(reading(at, *ids))
    >>> observation.members
    (Change(key=('g', 'c2'), before=None, after=1, last_seen_before=2, first_seen_after=3),)
    >>> [(move.key[1].queue_id, move.before, move.after) for move in observation.moves]
    [(1, ('c1',), ('c2',))]
    """

    def __init__(self, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL) -> None:
        self._groups, self._topics = tuple(groups), tuple(topics)
        self._raised = RaisedFindings()
        self._findings: Sequence[Finding] = ()
        self._begin()

    def _begin(self) -> None:
        """Forget all readings before."""
        self._members = MemberChanges()
        self._moves = OwnerChanges()
        self._settling = SettleTimes(self._topics)
        self._readings: list[_ReadingTimes] = []
        self._found_at: dict[Hashable, float] = {}

    def observe(self, reading: ClusterReading) -> Observation:
        """Take one reading.

        Parameters
        ----------
        reading : ClusterReading
            A part of a group counts if it was read after the same part of all earlier readings. A
            reading earlier than the last reading, such as after a clock went back, counts as a first
            reading: changes in between are unknown.

        Raises
        ------
        NoMatchError
            A pattern matches nothing.
        ValueError
            Two groups or topics have one name, or a topic has too many queues to be checked.
        """
        if self._readings and reading.read_at < self._readings[-1].read_at:
            self._begin()  # the clock went back: no moment after it can be compared with one before
        found = known(reading.snapshot, self._groups)
        groups = group_list(found, self._groups, self._topics)
        owners = current_owners(found, self._groups, self._topics)
        mine = self._chosen(reading)
        changes = self._findings_after(reading, groups.findings)
        lasts = tuple(lasting(self._findings, groups.findings))
        self._findings = groups.findings
        return Observation(
            reading,
            found,
            groups,
            owners,
            findings=groups.findings,
            lasting=lasts,
            raised=changes.raised,
            cleared=changes.cleared,
            members=tuple(self._members.after(mine)),
            moves=tuple(self._moves.after(mine, owners)),
            settled=self._settling.after(mine, found),
            unsettled=dict(self._settling.unsettled),
            owners_seen=self._moves.seen,
        )

    def _chosen(self, reading: ClusterReading) -> ClusterReading:
        """Return a reading with the chosen groups alone."""
        if self._groups == ALL:
            return reading
        snapshot = reading.snapshot
        groups = chosen(self._groups, by_name(snapshot.groups, "groups"), "group", snapshot)
        return reading._replace(snapshot=replace(snapshot, groups=tuple(groups.values())))

    def _findings_after(self, reading: ClusterReading, findings: Findings) -> _FindingChanges:
        """Return raised and cleared findings; a raised one was first found at the reading before
        this one.
        """
        lacks = frozenset((error.source, error.request) for error in reading.snapshot.errors)
        before = {finding.fault: finding for finding in self._raised}
        changes = self._raised.after(findings, lacks)
        readings = [*self._readings, _ReadingTimes(reading.began_at, reading.read_at, lacks)]
        since = readings[-2].read_at if len(readings) > 1 else reading.read_at
        absent_at = None
        if len(readings) > 2 and readings[-3].lacks <= readings[-2].lacks:
            absent_at = readings[-3].began_at
        raised: list[Change[Any, Finding]] = []
        for finding in changes.raised:
            fault = finding.fault
            if fault in before:
                found_at, read_at = self._found_at.get(fault), reading.read_at
                raised.append(Change(fault, before[fault], finding, found_at, read_at))
            else:
                raised.append(Change(fault, None, finding, absent_at, since))
        cleared: list[Change[Any, Finding]] = []
        for finding in changes.cleared:
            fault = finding.fault
            found_at = self._found_at.get(fault)
            cleared.append(Change(fault, finding, None, found_at, reading.read_at))
        now = {finding.fault for finding in findings}
        still = {finding.fault for finding in self._raised}
        self._found_at = {fault: at for fault, at in self._found_at.items() if fault in still}
        self._found_at |= dict.fromkeys(now & still, reading.began_at)
        self._readings = readings[-2:]
        return _FindingChanges(tuple(raised), tuple(cleared))


# Clients that join and leave groups.

Member = tuple[str, str]


class MemberChanges:
    """The lasting members of every group. A state is the number of entries of a client id."""

    def __init__(self) -> None:
        self._states: LastingStates[Member, int] = LastingStates()
        self._ids: dict[str, set[str]] = {}
        self._read_at: dict[str, float] = {}
        self._there: frozenset[str] = frozenset()
        self._whole_at: float | None = None

    def after(self, reading: ClusterReading) -> Iterator[Change[Member, int]]:
        """Yield changes that a reading confirms; none for a group that could not be read, or was not
        read again.
        """
        there = frozenset(group.name for group in reading.snapshot.groups)
        if self._whole_at is not None:  # a group that was not there then had no clients
            new = there - self._there - self._read_at.keys()
            self._read_at |= dict.fromkeys(new, self._whole_at)
        for group in reading.snapshot.groups:
            ages = reading.ages.get(group.name)
            at = None if ages is None else ages.clients
            if (
                group.name not in reading.not_read
                and at is not None
                and at > self._read_at.get(group.name, -inf)
            ):
                yield from self._listed(group.name, Counter(group.client_ids), at, reading.read_at)
        if reading.is_whole:
            for name in sorted(self._read_at.keys() - there):
                yield from self._listed(name, Counter(), reading.began_at, reading.read_at)
                if not self._ids[name]:
                    del self._ids[name], self._read_at[name]
            self._there, self._whole_at = there, reading.began_at
        else:
            self._there |= there

    def _listed(
        self, group: str, counts: Counter[str], at: float, until: float
    ) -> Iterator[Change[Member, int]]:
        """Take the client list of one group; the oldest of its parts was read at the first moment."""
        tracked, since = self._ids.setdefault(group, set()), self._read_at.get(group)
        for client_id in counts.keys() - tracked:
            tracked.add(client_id)
            if since is not None:
                self._states.known((group, client_id), None, since)
        for client_id in sorted(tracked):
            key = group, client_id
            change = self._states.seen(key, counts.get(client_id), at, until)
            if change:
                yield change
            if self._states.is_absent(key):
                self._states.forget(key)
                tracked.discard(client_id)
        self._read_at[group] = at
