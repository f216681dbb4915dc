"""Clients that join and leave groups, as readings go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf

from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.watching.lasting_states import Change, LastingStates

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
