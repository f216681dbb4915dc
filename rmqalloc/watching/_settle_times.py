"""How long groups take to settle after a change: from its first sign to the first reading in which
all is as expected.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from rmqalloc.audit.settling import SETTLED, UNSETTLED, Settling, settlings
from rmqalloc.evidence import Known
from rmqalloc.ownership.queue_states import UNKNOWN
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Topic
from rmqalloc.text import literal


class SettleTimes:
    """Groups that have not settled, since when."""

    def __init__(self, topics: Sequence[str] = ALL) -> None:
        self._since: dict[str, float] = {}
        self._unknown: set[str] = set()  # of these it was never known that they have not settled
        self._topics = tuple(topics)
        self._marks: dict[str, Hashable] = {}

    @property
    def unsettled(self) -> dict[str, float]:
        """By consumer group, when the first sign of the change was read; without those of which
        nothing is known.
        """
        return {name: since for name, since in self._since.items() if name not in self._unknown}

    def after(self, reading: ClusterReading, known: Known) -> dict[str, float]:
        """Take one reading; return the groups that have settled with it, and the seconds that each
        took.
        """
        routes = {topic.name: topic for topic in reading.snapshot.topics}
        there = {group.name: group for group in reading.snapshot.groups}
        looked_at = []
        for name, group in there.items():
            if name in reading.not_read:
                continue
            mark = _mark(group, routes)
            is_new, is_changed = name not in self._marks, self._marks.get(name) != mark
            self._marks[name] = mark
            if not group.clients:  # it has nothing to settle until somebody joins
                self._since.pop(name, None)
                continue
            if is_changed and not is_new:
                self._since.setdefault(name, reading.began_at)
            if is_changed or name in self._since:
                looked_at.append(name)
        if reading.is_whole:
            self._marks = {name: mark for name, mark in self._marks.items() if name in there}
            self._since = {name: since for name, since in self._since.items() if name in there}
            self._unknown &= self._since.keys()
        return self._settled(reading, known, there, looked_at)

    def _settled(
        self,
        reading: ClusterReading,
        known: Known,
        there: Mapping[str, Group],
        looked_at: list[str],
    ) -> dict[str, float]:
        """Ask whether groups have settled that may not have."""
        found: dict[str, float] = {}
        for name, state in self._states(known, looked_at).items():
            since = self._since.get(name)
            if state.state == UNSETTLED:
                self._since.setdefault(name, reading.began_at)
                self._unknown.discard(name)
            elif (
                state.state == SETTLED
                and since is not None
                and _is_read_since(reading, there[name], since)
            ):
                found[name] = max(0.0, reading.read_at - since)
                del self._since[name]
                self._unknown.discard(name)
            elif state.state == UNKNOWN and since == reading.began_at:
                self._unknown.add(name)
        return found

    def _states(self, known: Known, looked_at: list[str]) -> Mapping[str, Settling]:
        if not looked_at:
            return {}
        # Where most groups are asked about, choosing them by name costs more than it saves.
        if 2 * len(looked_at) >= len(known.snapshot.groups):
            found = settlings(known, known.groups, self._topics)
            return {name: found[name] for name in looked_at if name in found}
        chosen = Known.already(known.snapshot)
        return settlings(
            Known(chosen.given, tuple(map(literal, looked_at)), _decided=chosen.given),
            tuple(map(literal, looked_at)),
        )


def _mark(group: Group, routes: Mapping[str, Topic]) -> Hashable:
    """Return what divides the queues of a group: while it stays, nothing moves."""
    brokers = tuple(
        routes[topic].brokers if topic in routes else () for topic in group.subscriptions
    )
    return tuple(sorted(group.client_ids)), group.subscriptions, brokers


def _is_read_since(reading: ClusterReading, group: Group, since: float) -> bool:
    """Return whether all that clients own was read after a moment."""
    ages = reading.ages.get(group.name)
    if group.name in reading.not_read or ages is None:
        return False
    return all(ages.owned.get(one.client_id, since) >= since for one in group.clients)
