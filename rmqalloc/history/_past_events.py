"""Events as rows, made of states that follow one another, and of what was written as an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from typing import Any, NamedTuple

from rmqalloc.history._database import BROKERS, GROUP, RAISED, SETTLED, key_of, ms_of
from rmqalloc.history._documents import NOT_READ, brokers_of, finding_of, settings_of, topics_of
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._past_timeline import PastTimeline, Run, owns_known
from rmqalloc.history._rows import HistoryConnection
from rmqalloc.history._texts import HistoryTexts
from rmqalloc.history.moments import moment_text
from rmqalloc.watching.lasting_states import Change, LastingStates

Row = dict[str, Any]


def state_events(
    timeline: PastTimeline, kind: int, name: str, number: int, since: int, until: int
) -> Iterator[Row]:
    """Yield what changed in the states of a subject and lasted, with the time as ``at``."""
    subject: Row = {}
    if kind != BROKERS:
        subject = {"consumer_group" if kind == GROUP else "topic": name}
    lasting = _LastingParts(timeline.texts)
    for run in timeline.runs(number, since, until):
        for change in lasting.after(run):
            at, last = int(change.first_seen_after), change.last_seen_before
            if last is not None and since <= at <= until:
                times = {"last_seen_before": _shown(int(last)), "first_seen_after": _shown(at)}
                for row in _rows_of(kind, change, timeline.texts):
                    yield {"at": at, **times, **subject, **row}


_SETTINGS, _CLIENT, _QUEUE = range(3)
_Part = tuple[int, Any]


class _LastingParts:
    """Settings, clients and owners of one subject, of which each counts once two readings in a row
    have seen it.
    """

    def __init__(self, texts: HistoryTexts) -> None:
        self._texts = texts
        self._states: LastingStates[_Part, Any] = LastingStates()
        self._parts: set[_Part] = set()
        self._last: int | None = None

    def after(self, run: Run) -> list[Change[_Part, Any]]:
        """Return what a run confirms: settings, clients that left, clients that joined, queues."""
        if self._last is None and run.before is not None:
            self._states.known((_SETTINGS, None), None, run.before)
            self._parts.add((_SETTINGS, None))
            self._last = run.before
        found = self._seen(run.state, run.first, min(run.first, run.last))
        if run.last > run.first:
            found += self._seen(run.state, run.last, run.last)
        return sorted(found, key=_place_of)

    def _seen(self, state: KeptState, at: int, last: int) -> list[Change[_Part, Any]]:
        """Take a state that was seen at one moment, its oldest part at another."""
        values = _parts_of(state, self._texts)
        for part in values.keys() - self._parts:
            if self._last is not None:
                self._states.known(part, None, self._last)
        self._parts |= values.keys()
        found: list[Change[_Part, Any]] = []
        for part in list(self._parts):
            value = values.get(part)
            if part[0] == _QUEUE and value is None:
                if state.clients or not owns_known(state, self._texts):
                    continue  # not known
                value = ()
            change = self._states.seen(part, value, last, at)
            if change:
                found.append(change)
            if self._states.is_absent(part):
                self._forget(part)
        if state.is_gone and self._states.is_absent((_SETTINGS, None)):
            for part in [part for part in self._parts if part[0] == _QUEUE]:
                self._forget(part)
        self._last = last
        return found

    def _forget(self, part: _Part) -> None:
        self._states.forget(part)
        self._parts.discard(part)


def _parts_of(state: KeptState, texts: HistoryTexts) -> dict[_Part, Any]:
    parts: dict[_Part, Any] = {(_CLIENT, client_id): True for client_id in state.clients}
    if state.settings is not None:
        parts[_SETTINGS, None] = settings_of(state, texts)
    if owns_known(state, texts):
        parts |= {(_QUEUE, queue): owners for queue, owners in state.owners.items()}
    return parts


def _rows_of(kind: int, change: Change[_Part, Any], texts: HistoryTexts) -> Iterator[Row]:
    """Yield the events of a change in a subject of a kind."""
    of, part = change.key
    before, after = change.before, change.after
    if of == _SETTINGS:
        yield from _settings_rows(kind, before, after, texts)
    elif of == _CLIENT:
        yield {"event": "left" if after is None else "joined", "client_id": part}
    else:
        owners = {
            "owners_before": None if before is None else list(before),
            "owners_after": None if after is None else list(after),
        }
        yield {"event": "moved", **part._asdict(), **owners}


def _settings_rows(
    kind: int, before: str | None, after: str | None, texts: HistoryTexts
) -> Iterator[Row]:
    """Yield what came and went, else that settings changed: brokers of a cluster, readable queues of
    a topic by broker.
    """
    if kind != BROKERS and (before is None or after is None):
        yield {"event": "appeared" if before is None else "gone"}
        return
    there, here = _named_in(kind, before, texts), _named_in(kind, after, texts)
    changes = (("gone", there - here), ("appeared", here - there))
    rows = [{"event": event, **row._asdict()} for event, found in changes for row in sorted(found)]
    yield from rows or [{"event": "settings"}]


class _OnBroker(NamedTuple):
    """A broker, or a readable queue on it."""

    broker_name: str
    queue_id: int | None = None


def _named_in(kind: int, settings: str | None, texts: HistoryTexts) -> set[_OnBroker]:
    """Return the brokers of a cluster, or the readable queues of a topic, as a document has them."""
    if settings is None or kind == GROUP:
        return set()
    state = KeptState(settings)
    if kind == BROKERS:
        return {_OnBroker(broker.broker_name) for broker in brokers_of(state, texts)}
    topics = topics_of(state, texts)
    queues = chain.from_iterable(topic.queues() for topic in topics)
    return {_OnBroker(queue.broker_name, queue.queue_id) for queue in queues}


def _place_of(change: Change[_Part, Any]) -> tuple[Any, ...]:
    kind, part = change.key
    return kind, kind == _CLIENT and change.after is not None, part or ""


def written_events(
    connection: HistoryConnection,
    timeline: PastTimeline,
    names: Mapping[int, str],
    since: int,
    until: int,
) -> Iterator[Row]:
    """Yield findings that were raised and cleared, and groups that settled."""
    rows = connection.rows(
        "SELECT moment, subject, kind, since, value FROM events WHERE moment>=? AND moment<? ORDER BY moment",
        (key_of(since), key_of(until + 1)),
    )
    for moment, subject, kind, before, value in rows:
        if subject not in names:
            continue
        at = ms_of(moment)
        row = {"at": at, "first_seen_after": _shown(at), "consumer_group": names[subject]}
        if kind == SETTLED:
            yield {**row, "event": "settled", "seconds": value / 1000}
            continue
        finding = finding_of(timeline.texts.text(value), timeline.texts)
        row["last_seen_before"] = _shown(None if before is None else at - before)
        yield {**row, **finding, "event": "raised" if kind == RAISED else "cleared"}


def gap_events(
    connection: HistoryConnection,
    timeline: PastTimeline,
    names: Mapping[int, str],
    since: int,
    until: int,
) -> Iterator[Row]:
    """Yield gaps that touch the time asked for: of the whole cluster, and of groups."""
    spans = timeline.spans
    found: list[tuple[int, int | None, str | None, str]] = [
        (one.certain, two.began, None, two.reason) for one, two in pairwise(spans)
    ]
    for subject, begin, end, number in connection.rows(
        "SELECT subject, since, until, reason FROM gaps"
    ):
        reason = timeline.texts.text(number)
        if names.get(subject) and reason != NOT_READ:
            found.append((begin, end, names[subject], reason))
    for begin, end, name, reason in found:
        if begin <= until and (end is None or end >= since):
            row = {
                "at": begin if end is None else end,
                "last_seen_before": _shown(begin),
                "first_seen_after": _shown(end),
            }
            yield {**row, "consumer_group": name, "event": "gap", "message": reason}


def _shown(ms: int | None) -> str | None:
    return moment_text(None if ms is None else ms / 1000)
