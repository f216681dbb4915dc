"""The state of every group and topic as the file has it, and what each reading changes in it.

A state is what one reading showed: nothing is put together from parts of several readings. Where a
reading has the clients of a group and not what they own, the state is marked: the owners are those
of before, and not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import NamedTuple

from rmqalloc.dataclass import dataclass
from rmqalloc.history._database import BROKERS, GROUP, TOPIC, in_ms
from rmqalloc.history._documents import (
    brokers_text,
    client_texts,
    group_text,
    has_owners,
    topic_text,
    without_owners,
)
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._texts import HistoryTexts
from rmqalloc.history._writer import StateRow, Subject, Written
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.snapshot import Group
from rmqalloc.snapshot.unknown import of_route
from rmqalloc.watching import Observation

_ALL_BROKERS = BROKERS, ""
_GONE = KeptState()


@dataclass
class _Present:
    """The state of a subject, and when it was read.

    Attributes
    ----------
    read_at, all_read_at : int or None
        When its clients were read last, and when the owners of its queues were, too; the oldest
        part of it, in milliseconds.
    reading_at : int or None
        The reading that read both.
    """

    state: KeptState
    read_at: int | None
    all_read_at: int | None
    reading_at: int | None
    lags: bool = False


class _WholeReading(NamedTuple):
    """What a reading that named everything of some kinds named, and when it began."""

    at: int
    there: Mapping[int, Set[str]]

    def lacks(self, subject: Subject) -> bool:
        """Return whether the subject was not there."""
        kind, name = subject
        return kind in self.there and name not in self.there[kind]


class PresentStates:
    """What was there when it was last read.

    Parameters
    ----------
    written : callable
        Returns what the file has of a subject.
    there : set of Subject
        What the file has, and is not gone.
    texts : HistoryTexts
        Texts of the file.

    Attributes
    ----------
    lagging : dict of str to int
        Groups of which the last reading repeats clients or owners of a reading before, though it
        does not name them as not read; with when they were read.
    """

    def __init__(
        self,
        written: Callable[[Subject], Written],
        there: Set[Subject],
        texts: HistoryTexts,
        keeps_unknown: bool = False,
    ) -> None:
        self._written, self._texts, self._keeps_unknown = written, texts, keeps_unknown
        self._unread = set(there)
        self._states: dict[Subject, _Present] = {}
        self._whole: _WholeReading | None = None
        self.lagging: dict[str, int] = {}

    def taken(self, observation: Observation) -> Iterator[StateRow]:
        """Take an observation; yield what it changes, of each subject in the order of time."""
        reading, snapshot = observation.reading, observation.reading.snapshot
        began_at, at = in_ms(reading.began_at), in_ms(reading.read_at)
        self.lagging = {}
        for group in snapshot.groups:
            if group.name not in reading.not_read:
                yield from self._group(observation, group, at)
        failed = {error.request for error in snapshot.errors}
        for topic in snapshot.topics:
            if of_route(topic.name) not in failed:
                state = KeptState(topic_text(topic, self._keeps_unknown))
                yield from self._seen((TOPIC, topic.name), state, began_at, at)
        if snapshot.brokers:
            state = KeptState(brokers_text(snapshot.brokers))
            yield from self._seen(_ALL_BROKERS, state, began_at, at)
        if reading.is_whole:
            yield from self._missing(reading, began_at, at)

    def _missing(self, reading: ClusterReading, began_at: int, at: int) -> Iterator[StateRow]:
        """Yield what is gone, for a reading that would name it."""
        snapshot = reading.snapshot
        there = {GROUP: {group.name for group in snapshot.groups}}
        if not snapshot.errors:
            there[TOPIC] = {topic.name for topic in snapshot.topics}
        now = _WholeReading(began_at, there)
        known = list(self._states)
        if snapshot.unknown.keys().isdisjoint(("routes", "subscriptions")):
            known += self._unread
        for subject in filter(now.lacks, known):
            yield from self._clients_alone(subject)
            yield from self._seen(subject, _GONE, began_at, at)
            del self._states[subject]
        self._whole = now

    def _group(self, observation: Observation, group: Group, at: int) -> Iterator[StateRow]:
        """Take one group, with the owners of its queues if they were read."""
        subject, present = (GROUP, group.name), self._present((GROUP, group.name))
        ages = observation.reading.ages.get(group.name)
        listed_at = None if ages is None else ages.clients
        read_at = in_ms(observation.reading.began_at if listed_at is None else listed_at)
        if present.read_at is not None and read_at <= present.read_at:
            self.lagging[group.name] = present.reading_at or at
            return
        before, seen = present.state, observation.owners_seen.get(group.name)
        text, clients = group_text(group, self._keeps_unknown), client_texts(group)
        if seen is None and not has_owners(before, self._texts):
            text = without_owners(text, self._texts)
        is_same = (text, clients) == (before.settings, before.clients)
        if is_same and seen is None:
            self._read_again(group.name, present, read_at, at)
            return
        if not is_same:
            yield from self._clients_alone(subject)
        if seen is None:
            state = KeptState(without_owners(text, self._texts), clients, before.owners)
            yield from self._seen(subject, state, read_at, at)
            return
        owners = dict(seen.owners)
        if not clients:
            owners = dict.fromkeys(owners or before.owners, ())
        state = KeptState(text, clients, owners)
        yield from self._seen(subject, state, min(read_at, in_ms(seen.at)), at)

    def _read_again(self, name: str, present: _Present, read_at: int, at: int) -> None:
        """Take clients that stay, of a group whose owners were not read."""
        present.read_at, present.lags = read_at, has_owners(present.state, self._texts)
        if present.lags:
            self.lagging[name] = present.reading_at or at
        else:
            present.all_read_at, present.reading_at = read_at, at

    def _clients_alone(self, subject: Subject) -> Iterator[StateRow]:
        """Yield that the clients were read without the owners, if so, before they change."""
        present = self._present(subject)
        before, read_at = present.state, present.read_at
        if present.lags and read_at is not None and before.settings is not None:
            state = KeptState(
                without_owners(before.settings, self._texts), before.clients, before.owners
            )
            yield StateRow(subject, present.all_read_at, read_at, before, state)
            self._states[subject] = _Present(state, read_at, read_at, present.reading_at)

    def _seen(
        self, subject: Subject, state: KeptState, read_at: int, at: int
    ) -> Iterator[StateRow]:
        """Take a state whose oldest part was read at the first moment, and its last at the second."""
        present = self._present(subject)
        if state != present.state:
            before = None if present.state.is_gone else present.state
            yield StateRow(subject, present.all_read_at, at, before, state)
        self._states[subject] = _Present(state, read_at, read_at, at)

    def _present(self, subject: Subject) -> _Present:
        """Return a state, as the file has it where no reading had the subject yet."""
        found = self._states.get(subject)
        if found is None:
            state, until, clients_until = self._written(subject)
            if self._whole is not None and self._whole.lacks(subject):
                until = clients_until = self._whole.at
            lags = until != clients_until
            found = _Present(state, clients_until, until, until, lags)
            self._states[subject] = found
            self._unread.discard(subject)
        return found
