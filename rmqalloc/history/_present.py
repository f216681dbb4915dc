"""The present state of every group and topic, as it lasts, and what each observation changes in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmqalloc.history._database import BROKERS, GROUP, TOPIC, in_ms
from rmqalloc.history._documents import (
    NO_DETAILS,
    brokers_text,
    client_texts,
    group_text,
    topic_text,
)
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._writer import StateRow, Subject
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.snapshot import Group
from rmqalloc.watching import Change, LastingStates, Observation

_ALL_BROKERS = BROKERS, ""
_GONE = KeptState()
_When = tuple[float | None, float]


class _Document(NamedTuple):
    """The document of a subject, and those of the clients of a group."""

    text: str
    details: tuple[str, ...] = ()


@dataclass
class _Edit:
    """Changes of one state between the same two moments."""

    settings: list[_Document | None] = field(default_factory=list)
    members: list[tuple[str, bool]] = field(default_factory=list)
    moves: list[tuple[MessageQueue, tuple[str, ...] | None]] = field(default_factory=list)

    def applied(self, state: KeptState, details: Mapping[str, str]) -> KeptState:
        """Return the state after the edit."""
        document = self.settings[-1] if self.settings else None
        if self.settings and document is None:
            return _GONE
        clients = dict(state.clients)
        if document:
            clients |= {client: details.get(client, text) for client, text in clients.items()}
        for client_id, is_there in self.members:
            if is_there:
                clients[client_id] = details.get(client_id, NO_DETAILS)
            else:
                clients.pop(client_id, None)
        owners = state.owners
        if self.moves:
            moved = {**owners, **dict(self.moves)}
            owners = {queue: ids for queue, ids in moved.items() if ids is not None}
        return KeptState(document.text if document else state.settings, clients, owners)


class PresentStates:
    """What lasts now."""

    def __init__(self, keeps_unknown: bool = False) -> None:
        self._keeps_unknown = keeps_unknown
        self._states: dict[Subject, KeptState] = {}
        self._documents: LastingStates[Subject, _Document] = LastingStates()
        self._keys: set[Subject] = set()
        self._whole_before: tuple[float, Mapping[int, frozenset[str]]] | None = None

    def state(self, subject: Subject) -> KeptState:
        """Return the state of a subject."""
        return self._states.get(subject, _GONE)

    def taken(self, observation: Observation) -> list[StateRow]:
        """Take an observation; return what it changes, of each subject in the order of time."""
        reading = observation.reading
        edits: dict[Subject, dict[_When, _Edit]] = {}

        def edit(subject: Subject, change: Change[Any, Any]) -> _Edit:
            when = change.last_seen_before, change.first_seen_after
            return edits.setdefault(subject, {}).setdefault(when, _Edit())

        groups = {group.name: group for group in reading.snapshot.groups}
        details = {name: client_texts(group) for name, group in groups.items()}
        for change in self._settings(reading, groups, details):
            edit(change.key, change).settings.append(change.after)
        for member in observation.members:
            group, client_id = member.key
            edit((GROUP, group), member).members.append((client_id, member.after is not None))
        for move in observation.moves:
            group, queue = move.key
            edit((GROUP, group), move).moves.append((queue, move.after))
        rows: list[StateRow] = []
        for subject, mine in edits.items():
            rows += self._rows(subject, _in_order(mine), details.get(subject[1], {}))
        return rows

    def _rows(
        self, subject: Subject, edits: Sequence[tuple[_When, _Edit]], details: Mapping[str, str]
    ) -> Iterator[StateRow]:
        for (since, at), edit in edits:
            before = self._states.get(subject)
            after = self._states[subject] = edit.applied(before or _GONE, details)
            if after != before:
                yield StateRow(
                    subject, None if since is None else in_ms(since), in_ms(at), before, after
                )
            if after.is_gone:
                del self._states[subject]

    def _settings(
        self,
        reading: ClusterReading,
        groups: Mapping[str, Group],
        details: Mapping[str, Mapping[str, str]],
    ) -> Iterator[Change[Subject, _Document]]:
        """Yield changed documents of groups, topics and brokers, once they last."""
        snapshot, at = reading.snapshot, reading.read_at
        now: dict[Subject, _Document | None] = {
            (TOPIC, topic.name): _Document(topic_text(topic, self._keeps_unknown))
            for topic in snapshot.topics
        }
        for name, group in groups.items():
            if name not in reading.not_read:
                text = group_text(group, self._keeps_unknown)
                now[GROUP, name] = _Document(text, tuple(sorted({*details[name].values()})))
        if snapshot.brokers:
            now[_ALL_BROKERS] = _Document(brokers_text(snapshot.brokers))
        if reading.is_whole:
            kinds = (GROUP,) if snapshot.errors else (GROUP, TOPIC)
            there = {
                GROUP: frozenset(groups),
                TOPIC: frozenset(topic.name for topic in snapshot.topics),
            }
            for kind, name in self._keys:
                if kind in kinds and name not in there[kind]:
                    now[kind, name] = None
        for subject, document in now.items():
            if subject not in self._keys:
                self._was_absent(subject)
                self._keys.add(subject)
            change = self._documents.seen(subject, document, at)
            if change:
                yield change
                if document is None:
                    self._documents.forget(subject)
                    self._keys.discard(subject)
        if reading.is_whole:
            self._whole_before = at, {kind: there[kind] for kind in kinds}

    def _was_absent(self, subject: Subject) -> None:
        """Note that a new subject was not there when everything was last read, if it was not."""
        if self._whole_before is not None:
            at, there = self._whole_before
            if subject[0] in there and subject[1] not in there[subject[0]]:
                self._documents.seen(subject, None, at)
                self._documents.seen(subject, None, at)

    def gone(
        self, reading: ClusterReading, there: Iterable[Subject], at: int
    ) -> Iterator[StateRow]:
        """Yield what the history has, and no reading has shown up to this one, which is whole as
        the one before.
        """
        unknown = reading.snapshot.unknown.keys()
        kinds = set() if "subscriptions" in unknown else {GROUP}
        if not reading.snapshot.errors and unknown.isdisjoint(("routes", "subscriptions")):
            kinds.add(TOPIC)
        for subject in there:
            if subject[0] in kinds and subject not in self._keys:
                yield StateRow(subject, None, at, None, _GONE)


def _in_order(edits: Mapping[_When, _Edit]) -> list[tuple[_When, _Edit]]:
    """Return edits by time; what was not known before is one edit, at the last of its times."""
    first = [when for when in edits if when[0] is None]
    if len(first) > 1:
        merged = _Edit()
        for when in first:
            merged.settings += edits[when].settings
            merged.members += edits[when].members
            merged.moves += edits[when].moves
        later = {when: edit for when, edit in edits.items() if when[0] is not None}
        edits = {(None, max(at for _, at in first)): merged} | later
    return sorted(edits.items(), key=lambda item: item[0][1])
