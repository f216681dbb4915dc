"""When the cluster was read, and what of it was not: spans of readings, and gaps of single groups
and topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rmqalloc.history._database import GROUP, TOPIC
from rmqalloc.history._documents import NOT_READ
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._rows import HistoryConnection
from rmqalloc.history._texts import decoded
from rmqalloc.history._writer import HistoryWriter, Subject, Written
from rmqalloc.snapshot.unknown import of_route

if TYPE_CHECKING:
    from rmqalloc.snapshot.live.rereading import ClusterReading

STARTED = "no recorder was running"
WENT_BACK = "the clock went back, or the same moment was read twice"
ALL_GROUPS = GROUP, ""
"""Stands for the list of all groups."""
_SILENT = "its clients could not be read from every broker"
_MISSING = "not every broker listed its groups"
_OUTSIDE = "it is outside the groups that are read"
_NO_ROUTE = "its route could not be read"


class _Lag(NamedTuple):
    """Since when a group lags, and whether that stays unknown: it was not read before."""

    since: int
    is_kept: bool


class ReadingSpans:
    """Writes spans and gaps.

    Attributes
    ----------
    last : int
        The last reading that was written, in milliseconds; -1 for none.
    """

    def __init__(self, connection: HistoryConnection, writer: HistoryWriter, gap_ms: int) -> None:
        self._connection, self._writer, self._gap_ms = connection, writer, gap_ms
        self._is_started, self._before = False, -1
        self.reload()

    def reload(self) -> None:
        """Read what the file has, at the start or after a transaction that was not committed."""
        row = self._connection.row("SELECT began, last FROM spans ORDER BY began DESC LIMIT 1")
        self._began: int = row[0] if row else -1
        self.last: int = row[1] if row else -1
        known = self._connection.row(
            "SELECT min(began), max(previous) FROM spans WHERE previous IS NOT NULL"
        )
        self._known = known or (None, None)
        self._open: dict[Subject, int] = {}
        self._lags: dict[Subject, _Lag] = {}
        rows = self._connection.rows(
            "SELECT kind, name, since, reason FROM gaps JOIN subjects ON id=subject WHERE until IS NULL"
        )
        for kind, name, since, reason in list(rows):
            if self._writer.texts.text(reason) == NOT_READ:
                self._lags[kind, decoded(name)] = _Lag(since, True)
            else:
                self._open[kind, decoded(name)] = since
        self._is_started = self._is_started and row is not None

    def written(self, subject: Subject, state: KeptState) -> Written:
        """Return a state of the file, with when the file has it last; never, if no reading had it."""
        first, last = self._known
        if subject[0] == GROUP and state.is_gone:
            last = self._open.get(ALL_GROUPS, last)
        last = self._open.get(subject, last)
        if first is None or last is None or last < first:
            return Written(state, None, None)
        lag = self._lags.get(subject)
        return Written(state, last if lag is None else lag.since, last)

    def seen(self, at: int, behind: str | None) -> None:
        """Write that a reading was made."""
        is_far = at - self.last > self._gap_ms
        is_new = not self._is_started or behind is not None or is_far
        if is_new:
            reason = behind or (STARTED if not self._is_started else "nothing was read meanwhile")
            self._connection.execute("INSERT INTO spans VALUES (?, ?, ?, ?)", (at, at, at, reason))
            self._began = at
            self._known = (at if self._known[0] is None else self._known[0], self._known[1])
        else:
            self._connection.execute(
                "UPDATE spans SET previous=?, last=? WHERE began=?", (at, at, self._began)
            )
        self._before, self.last, self._is_started = self.last, at, True

    def subjects_seen(self, reading: ClusterReading, at: int, lagging: Mapping[str, int]) -> None:
        """Write which groups and topics were not read, and which are again."""
        there = {(GROUP, group.name) for group in reading.snapshot.groups}
        there |= {(TOPIC, topic.name) for topic in reading.snapshot.topics}
        missing = self._missing(reading, there)
        for subject, reason in missing.items():
            if subject not in self._open:
                self._begin(subject, at, reason)
        lags = {(GROUP, name): _Lag(since, False) for name, since in lagging.items()}
        named = set(self._open) if reading.is_whole else there
        for subject in [*(self._open.keys() & named - missing.keys())]:
            self._close(subject, self._open.pop(subject), at)
            if subject in lags:
                lags[subject] = _Lag(at - 1, True)
        self._lag(lags, at)

    def _missing(self, reading: ClusterReading, there: set[Subject]) -> dict[Subject, str]:
        """Return what a reading could not read, with the reason; what it shows to be gone is written
        already.
        """
        snapshot = reading.snapshot
        failed = {error.request for error in snapshot.errors}
        missing: dict[Subject, str] = {}
        if not reading.is_whole or snapshot.unknown:
            reason = _OUTSIDE if reading.is_whole else _MISSING
            missing |= dict.fromkeys(self._there(GROUP) - there, reason)
        if not reading.is_whole:
            missing[ALL_GROUPS] = _MISSING
        if not reading.is_whole or snapshot.unknown or failed:
            topics = self._there(TOPIC)
            unread = {topic for topic in topics if of_route(topic[1]) in failed}
            missing |= dict.fromkeys((topics - there) | unread, _NO_ROUTE)
        return missing | {(GROUP, name): _SILENT for name in reading.not_read}

    def _there(self, kind: int) -> set[Subject]:
        rows = self._connection.rows(
            "SELECT name FROM subjects WHERE kind=? AND is_gone=0", (kind,)
        )
        return {(kind, decoded(name)) for (name,) in rows}

    def _begin(self, subject: Subject, at: int, reason: str) -> None:
        since = self._before if self._before >= 0 else at - 1
        if ALL_GROUPS in self._open and subject not in self._there(subject[0]):
            since = self._open[ALL_GROUPS]  # it was not known since then whether it was there
        self._open[subject] = since
        if subject in self._lags:
            self._close(subject, self._lags.pop(subject).since, since + 1)
        self._gap(subject, since, reason, at)

    def _lag(self, lags: Mapping[Subject, _Lag], at: int) -> None:
        """Note groups of which clients or owners are those of a reading before; where they are read
        again without a gap, the two readings say what was between.
        """
        for subject in [subject for subject in self._lags if subject not in lags]:
            since, is_kept = self._lags.pop(subject)
            if is_kept or since < self._began:
                self._close(subject, since, at)
            else:
                row = self._writer.number(subject), since
                self._connection.execute("DELETE FROM gaps WHERE subject=? AND since=?", row)
        for subject, lag in lags.items():
            if subject not in self._lags:
                self._lags[subject] = lag
                self._gap(subject, lag.since, NOT_READ, at)

    def _gap(self, subject: Subject, since: int, reason: str, at: int) -> None:
        row = self._writer.number(subject), since, self._writer.finding(reason, at)
        self._connection.execute("INSERT OR REPLACE INTO gaps VALUES (?, ?, NULL, ?)", row)

    def _close(self, subject: Subject, since: int, at: int) -> None:
        row = at, self._writer.number(subject), since
        self._connection.execute("UPDATE gaps SET until=? WHERE subject=? AND since=?", row)
