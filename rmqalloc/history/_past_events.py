"""Events as rows, made of states that follow one another, and of what was written as an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from rmqalloc.history._database import GROUP, RAISED, SETTLED, TOPIC, key_of, ms_of
from rmqalloc.history._documents import finding_of
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._past_timeline import PastTimeline
from rmqalloc.history._rows import HistoryConnection
from rmqalloc.history.moments import moment_text

Row = dict[str, Any]


def state_events(
    timeline: PastTimeline, kind: int, name: str, number: int, since: int, until: int
) -> Iterator[Row]:
    """Yield what changed in the states of a subject, with the time as ``at``."""
    before: KeptState | None = None
    for at, last, after in timeline.states(number, since, until):
        if at >= since and (before is not None or last is not None):
            head = {"at": at, "last_seen_before": _shown(last), "first_seen_after": _shown(at)}
            head |= (
                {"consumer_group": name}
                if kind == GROUP
                else {"topic": name}
                if kind == TOPIC
                else {}
            )
            for row in _between(before or KeptState(), after):
                yield {**head, **row}
        before = after


def _between(before: KeptState, after: KeptState) -> Iterator[Row]:
    if before.settings != after.settings:
        yield {
            "event": "appeared"
            if before.settings is None
            else "gone"
            if after.settings is None
            else "settings"
        }
    for client_id in before.clients.keys() - after.clients.keys():
        yield {"event": "left", "client_id": client_id}
    for client_id in [one for one in after.clients if one not in before.clients]:
        yield {"event": "joined", "client_id": client_id}
    if after.settings is None:
        return
    for queue in sorted(before.owners.keys() | after.owners.keys()):
        old, new = before.owners.get(queue), after.owners.get(queue)
        if old != new:
            owners = {
                "owners_before": None if old is None else list(old),
                "owners_after": None if new is None else list(new),
            }
            yield {"event": "moved", **queue._asdict(), **owners}


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
    for subject, begin, end, reason in connection.rows(
        "SELECT subject, since, until, reason FROM gaps"
    ):
        if subject in names:
            found.append((begin, end, names[subject], timeline.texts.text(reason)))
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
