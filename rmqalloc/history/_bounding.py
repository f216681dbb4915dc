"""Keep a history within its age and its size: the oldest goes first, a little with each reading.

What is in force at the cut stays: the last state before it is made whole and kept, whatever its
age. Texts go once nothing needs them: the last moment of their use lies before the cut, and no
present state names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.history._database import LAST_KEY, PAGE_BYTES, key_of, ms_of, transaction
from rmqalloc.history._kept_states import WHOLE, state_of, texts_of, whole
from rmqalloc.history._rows import DamageError, HistoryConnection
from rmqalloc.history._writer import HistoryWriter, rows_of
from rmqalloc.history.history_errors import HistoryError

_DONE = object()
_SUBJECTS_AT_ONCE = 200
_ROWS_AT_ONCE = 2000
_FULL = 0.9
"""Share of the size at which the oldest tenth is dropped."""
_PASS_SHARE = 100
"""A pass over the file is made once a hundredth of the time to keep has gone by."""


class Bounds:
    """Drops what is too old, or too much."""

    def __init__(
        self, connection: HistoryConnection, writer: HistoryWriter, keep_ms: int, max_bytes: int
    ) -> None:
        self._connection, self._writer, self._keep_ms = connection, writer, keep_ms
        self._most_pages = max_bytes // PAGE_BYTES
        connection.execute(f"PRAGMA max_page_count={self._most_pages}")
        self._steps: Iterator[None] = iter(())
        self._is_at_work = False

    def make_room(self, at: int) -> None:
        """Drop the oldest until there is room to write."""
        while self._used() > _FULL * self._most_pages:
            used = self._used()
            row = self._connection.row("SELECT min(moment), max(moment) FROM states")
            first, last = (0 if key is None else ms_of(key) for key in row or (None, None))
            begin, end = max(self.kept_since(), first), min(at, last + 1)
            for _ in self._dropped(begin + max(1, (end - begin) // 10)):
                pass
            if begin >= end - 1 and self._used() >= used:
                raise HistoryError(
                    f"the limit of the history is {self._most_pages * PAGE_BYTES:,} bytes, and its content needs most of it:"
                    " raise the limit"
                )

    def step(self, at: int) -> None:
        """Go on dropping what is too old: one small transaction."""
        cut = at - self._keep_ms
        if not self._is_at_work and cut - self.kept_since() >= self._keep_ms // _PASS_SHARE:
            row = self._connection.row("SELECT min(began) FROM spans")
            if row is not None and row[0] is not None and row[0] < cut:
                self._steps, self._is_at_work = self._dropped(cut), True
        self._is_at_work = next(self._steps, _DONE) is not _DONE

    def kept_since(self) -> int:
        """Return the moment before which nothing is kept; 0 for none."""
        row = self._connection.row("SELECT value FROM notes WHERE name='kept_since'")
        return int(row[0]) if row else 0

    def _used(self) -> int:
        pages, free = (
            self._connection.execute(f"PRAGMA {x}").fetchone()[0]
            for x in ("page_count", "freelist_count")
        )
        return int(pages - free)

    def _dropped(self, cut: int) -> Iterator[None]:
        """Drop what ended before a moment, in small transactions."""
        with transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO notes VALUES ('kept_since', ?)", (cut,)
            )
        yield
        yield from self._drop_states(cut)
        yield from self._drop_rows("events", "moment<?", key_of(cut))
        with transaction(self._connection):
            self._connection.execute("DELETE FROM gaps WHERE until<?", (cut,))
            self._connection.execute("DELETE FROM spans WHERE last<?", (cut,))
        yield
        self._drop_texts(cut)

    def _drop_states(self, cut: int) -> Iterator[None]:
        last = -1
        while True:
            self._connection.renew_budget()
            rows = [
                *self._connection.rows(
                    "SELECT DISTINCT subject FROM states WHERE subject>? ORDER BY subject LIMIT ?",
                    (last, _SUBJECTS_AT_ONCE),
                )
            ]
            if not rows:
                return
            if rows[-1][0] <= last:
                raise DamageError("table states: its index by subject is out of order")
            with transaction(self._connection):
                for (number,) in rows:
                    self._drop_of(number, cut)
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            last = rows[-1][0]
            yield

    def _drop_of(self, number: int, cut: int) -> None:
        """Drop the states of one subject that ended before the cut."""
        texts = self._writer.texts
        key, _, bodies = rows_of(self._connection, number, key_of(cut))
        if key is None:
            return
        state = state_of(bodies, texts)
        if bodies[-1][0] != WHOLE:
            self._connection.execute(
                "UPDATE states SET body=? WHERE moment=?", (whole(state, texts), key)
            )
        least = key + 1 if state.is_gone else key
        self._connection.execute("DELETE FROM states WHERE subject=? AND moment<?", (number, least))

    def _drop_rows(self, table: str, where: str, value: int) -> Iterator[None]:
        while True:
            with transaction(self._connection):
                done = self._connection.execute(
                    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {where} LIMIT ?)",
                    (value, _ROWS_AT_ONCE),
                )
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            if not done.rowcount:
                return
            yield

    def _drop_texts(self, cut: int) -> None:
        """Drop texts and subjects that nothing needs: in one transaction, for a text may come into
        use again at any time.
        """
        with transaction(self._connection):
            used = self._used_now()
            rows = self._connection.rows("SELECT id FROM texts WHERE used_until<?", (cut,))
            old = [(number,) for (number,) in rows if number not in used]
            self._connection.executemany("DELETE FROM texts WHERE id=?", old)
            self._connection.execute(
                "DELETE FROM subjects WHERE is_gone=1 AND NOT EXISTS (SELECT 1 FROM states WHERE subject=id)"
                " AND NOT EXISTS (SELECT 1 FROM events WHERE subject=id)"
                " AND id NOT IN (SELECT subject FROM gaps UNION SELECT subject FROM raised)"
            )
        self._writer.forget()
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _used_now(self) -> set[int]:
        texts = self._writer.texts
        used: set[int] = set()
        subjects = [*self._connection.rows("SELECT id FROM subjects WHERE is_gone=0")]
        for (number,) in subjects:
            self._connection.renew_budget()
            bodies = rows_of(self._connection, number, LAST_KEY)[2]
            used.update(map(texts.id_of, texts_of(state_of(bodies, texts)) if bodies else ()))
        for query in ("SELECT finding FROM raised", "SELECT reason FROM gaps"):
            used.update(number for (number,) in self._connection.rows(query))
        return used
