"""When the cluster was read, and what of it was not: spans of readings, and gaps of single groups."""

from __future__ import annotations

from rmqalloc.history._database import GROUP
from rmqalloc.history._rows import HistoryConnection
from rmqalloc.history._texts import decoded
from rmqalloc.history._writer import HistoryWriter, StateRow
from rmqalloc.snapshot.live.rereading import ClusterReading

STARTED = "no recorder was running"
_SILENT = "its clients could not be read from every broker"
_MISSING = "not every broker said which groups it has"
_OUTSIDE = "it is not among the groups that are read"


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
        rows = self._connection.rows(
            "SELECT name, since FROM gaps JOIN subjects ON id=subject WHERE until IS NULL AND kind=?",
            (GROUP,),
        )
        self._open: dict[str, int] = {decoded(name): since for name, since in rows}
        self._is_started = self._is_started and row is not None

    def seen(self, at: int, behind: str | None) -> None:
        """Write that a reading was made."""
        is_far = at - self.last > self._gap_ms
        is_new = not self._is_started or behind is not None or is_far
        if is_new:
            reason = behind or (STARTED if not self._is_started else "nothing was read meanwhile")
            self._connection.execute("INSERT INTO spans VALUES (?, NULL, ?, ?)", (at, at, reason))
            self._began = at
        else:
            self._connection.execute(
                "UPDATE spans SET previous=last, last=? WHERE began=?", (at, self._began)
            )
        self._before, self.last, self._is_started = self.last, at, True

    def fitted(self, row: StateRow) -> StateRow:
        """Return a row that does not begin before the present span of readings, and not after it
        ends.
        """
        at = min(max(row.at, self._began), self.last)
        since = row.since if row.since is not None and row.since <= at else None
        return row._replace(at=at, since=since)

    def groups_seen(self, reading: ClusterReading, at: int) -> None:
        """Write which groups were not read, and which are again."""
        there = {group.name for group in reading.snapshot.groups}
        missing = dict.fromkeys(reading.not_read, _SILENT)
        if not reading.is_whole:
            missing |= dict.fromkeys(self._known() - there, _MISSING)
        elif "subscriptions" in reading.snapshot.unknown and self._before < self._began:
            missing |= dict.fromkeys(self._known() - there, _OUTSIDE)
        for name, reason in missing.items():
            if name not in self._open:
                self._begin(name, at, reason)
        for name in [
            one for one in self._open if one not in missing and (one in there or reading.is_whole)
        ]:
            self._end(name, at, name in there)

    def _known(self) -> set[str]:
        rows = self._connection.rows(
            "SELECT name FROM subjects WHERE kind=? AND is_gone=0", (GROUP,)
        )
        return {decoded(name) for (name,) in rows}

    def _begin(self, name: str, at: int, reason: str) -> None:
        number = self._writer.number((GROUP, name))
        since = self._open[name] = self._before if self._before >= 0 else at
        row = number, since, self._writer.finding(reason, at)
        self._connection.execute("INSERT OR REPLACE INTO gaps VALUES (?, ?, NULL, ?)", row)

    def _end(self, name: str, at: int, is_there: bool) -> None:
        if not is_there and self._before < self._began:
            return
        row = at, self._writer.number((GROUP, name)), self._open.pop(name)
        self._connection.execute("UPDATE gaps SET until=? WHERE subject=? AND since=?", row)
