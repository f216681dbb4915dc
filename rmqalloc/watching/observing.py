"""What each reading of a cluster shows beside those before it: `Observer`, `Observation`."""

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
from rmqalloc.watching._owner_changes import OwnedKey, OwnerChanges, Owners
from rmqalloc.watching._settle_times import SettleTimes
from rmqalloc.watching.lasting_states import Change, LastingStates
from rmqalloc.watching.raised import RaisedFindings, fault_of, lasting

_NOTHING: Mapping[str, float] = MappingProxyType({})


class Observation(NamedTuple):
    """One reading, with what it shows beside the readings before.

    Attributes
    ----------
    reading : ClusterReading
    known : Known
        Its snapshot with every strategy decided.
    groups : GroupList
        All groups in one row each, as `rmqalloc groups` lists them.
    owners : CurrentOwners
        Who owns what, as `rmqalloc show` says it.
    findings : Findings
        What `rmqalloc check` finds at this moment.
    lasting : tuple of Finding
        Of these, those that the reading before had, too.
    raised, cleared : tuple of Change
        Findings that last since this reading, and those that are gone since; keys are what makes
        two findings the same fault, values are findings. ``before`` of a raised one is the same
        fault with another severity, None for none. Where it is not known whether the fault was
        there before, as some answers were missing, ``last_seen_before`` is None.
    members : tuple of Change
        Clients that joined (``before`` None) or left (``after`` None), or are listed another number
        of times; keys are (consumer group, client id), values how often the id is listed. What was
        there from the first reading on has ``last_seen_before`` None.
    moves : tuple of Change
        Queues whose owners changed; keys are (consumer group, MessageQueue), values tuples of
        client ids, () for unowned. ``before`` is None for a queue that is new, or known for the
        first time (then ``last_seen_before`` is None, too); ``after`` is None for one that is gone.
    settled : mapping of str to float
        Groups that settled since the reading before, with the seconds from the first sign of the
        change to this reading, the first in which every queue has its expected owner.
    unsettled : mapping of str to float
        Groups that have not settled, with when their change was first seen (seconds of the Unix
        clock).
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


class _Look(NamedTuple):
    """When a reading was made, and what it lacks."""

    began_at: float
    read_at: float
    lacks: frozenset[Hashable]


class Observer:
    """Makes an `Observation` of each reading of one cluster, one after the other.

    Parameters
    ----------
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`: what is looked at.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
    >>> from rmqalloc.snapshot.live.rereading import GroupAges
    >>> def reading(at, *ids):
    ...     group = Group("g", ("T",), tuple(map(Client, ids)), strategy="AVG")
    ...     snapshot = Snapshot((Topic("T", (TopicBroker("b", 2),)),), (group,))
    ...     return ClusterReading(snapshot, at, at, {"g": GroupAges(at, None, {})}, frozenset(), True, {})
    >>> observer = Observer()
    >>> seen = [observer.observe(reading(*one)) for one in [(1, "c1"), (2, "c1"), (3, "c1", "c2"), (4, "c1", "c2")]]
    >>> seen[3].members
    (Change(key=('g', 'c2'), before=None, after=1, last_seen_before=2, first_seen_after=3),)
    >>> [(one.key[1].queue_id, one.before, one.after) for one in seen[3].moves]
    [(1, ('c1',), ('c2',))]
    """

    def __init__(self, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL) -> None:
        self._groups, self._topics = tuple(groups), tuple(topics)
        self._raised = RaisedFindings()
        self._findings: Sequence[Finding] = ()
        self._begin()

    def _begin(self) -> None:
        """Know of nothing before."""
        self._members, self._moves, self._settling = (
            MemberChanges(),
            OwnerChanges(),
            SettleTimes(self._topics),
        )
        self._looks: list[_Look] = []
        self._found_at: dict[Hashable, float] = {}

    def observe(self, reading: ClusterReading) -> Observation:
        """Take one reading.

        Parameters
        ----------
        reading : ClusterReading
            What it shows of a group counts where its parts were read after those before. One that
            is earlier than the last, as after a clock went back, begins again: what came to be in
            between is not known.

        Raises
        ------
        NoMatchError
            A pattern matches nothing.
        ValueError
            Two groups or topics have one name, or a topic has too many queues to be checked.
        """
        if self._looks and reading.read_at < self._looks[-1].read_at:
            self._begin()  # the clock went back: no moment after it can be compared with one before
        found = known(reading.snapshot, self._groups)
        groups = group_list(found, self._groups, self._topics)
        owners = current_owners(found, self._groups, self._topics)
        mine = self._chosen(reading)
        raised, cleared = self._findings_after(reading, groups.findings)
        lasts = tuple(lasting(self._findings, groups.findings))
        self._findings = groups.findings
        return Observation(
            reading,
            found,
            groups,
            owners,
            groups.findings,
            lasts,
            raised,
            cleared,
            tuple(self._members.after(mine)),
            tuple(self._moves.after(mine, owners)),
            self._settling.after(mine, found),
            dict(self._settling.unsettled),
        )

    def _chosen(self, reading: ClusterReading) -> ClusterReading:
        """Return a reading with the groups that are looked at alone."""
        if self._groups == ALL:
            return reading
        groups = chosen(
            self._groups, by_name(reading.snapshot.groups, "groups"), "group", reading.snapshot
        )
        return reading._replace(snapshot=replace(reading.snapshot, groups=tuple(groups.values())))

    def _findings_after(
        self, reading: ClusterReading, findings: Findings
    ) -> tuple[tuple[Change[Any, Finding], ...], tuple[Change[Any, Finding], ...]]:
        """Return what is raised and cleared: what lasts was first seen at the reading before this
        one.
        """
        lacks = frozenset((one.source, one.request) for one in reading.snapshot.errors)
        before = {fault_of(one): one for one in self._raised}
        changes, looks = (
            self._raised.after(findings, lacks),
            [*self._looks, _Look(reading.began_at, reading.read_at, lacks)],
        )
        since = looks[-2].read_at if len(looks) > 1 else reading.read_at
        absent_at = (
            looks[-3].began_at if len(looks) > 2 and looks[-3].lacks <= looks[-2].lacks else None
        )
        raised = tuple(
            Change(fault, before[fault], one, self._found_at.get(fault), reading.read_at)
            if (fault := fault_of(one)) in before
            else Change(fault, None, one, absent_at, since)
            for one in changes.raised
        )
        cleared = tuple(
            Change(fault, one, None, self._found_at.get(fault), reading.read_at)
            for one in changes.cleared
            for fault in [fault_of(one)]
        )
        now, still = set(map(fault_of, findings)), set(map(fault_of, self._raised))
        self._found_at = {fault: at for fault, at in self._found_at.items() if fault in still}
        self._found_at |= dict.fromkeys(now & still, reading.began_at)
        self._looks = looks[-2:]
        return raised, cleared


# Clients that join and leave groups, as readings go by.

Member = tuple[str, str]


class MemberChanges:
    """The lasting members of every group. A state is how often a client id is listed."""

    def __init__(self) -> None:
        self._states: LastingStates[Member, int] = LastingStates()
        self._ids: dict[str, set[str]] = {}
        self._read_at: dict[str, float] = {}
        self._there: frozenset[str] = frozenset()
        self._whole_at: float | None = None

    def after(self, reading: ClusterReading) -> Iterator[Change[Member, int]]:
        """Yield what a reading confirms; a group that could not be read, or was not asked again,
        shows nothing.
        """
        there = frozenset(group.name for group in reading.snapshot.groups)
        if self._whole_at is not None:  # a group that was not there then had no clients
            self._read_at |= dict.fromkeys(
                there - self._there - self._read_at.keys(), self._whole_at
            )
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
            if change := self._states.seen(key, counts.get(client_id), at, until):
                yield change
            if self._states.is_absent(key):
                self._states.forget(key)
                tracked.discard(client_id)
        self._read_at[group] = at
