"""Rows of a history: states of subjects, events, spans of readings and gaps, all within the
transaction of the caller.
"""

from __future__ import annotations

from typing import NamedTuple

from rmqalloc.history._database import LAST_KEY, key_of, ms_of
from rmqalloc.history._kept_states import (
    MOST_DIFFERENCES,
    WHOLE,
    KeptState,
    difference,
    state_of,
    texts_of,
    whole,
)
from rmqalloc.history._rows import HistoryConnection
from rmqalloc.history._texts import HistoryTexts, encoded

Subject = tuple[int, str]
"""Kind and name."""


class StateRow(NamedTuple):
    """A state that gave way to another, between two moments in milliseconds; ``since`` None:
    nothing is known before.
    """

    subject: Subject
    since: int | None
    at: int
    before: KeptState | None
    after: KeptState


class Written(NamedTuple):
    """The state of a subject that the file has, and when it was seen last: as a whole, and its
    clients, in milliseconds.
    """

    state: KeptState
    until: int | None
    clients_until: int | None


class EventRow(NamedTuple):
    """A finding that was raised or cleared, or a group that settled; times as in `StateRow`."""

    subject: int
    kind: int
    since: int | None
    at: int
    value: int


def rows_of(
    connection: HistoryConnection, number: int, most: int
) -> tuple[int | None, int | None, list[bytes]]:
    """Return the key and ``since`` of the last state with a key below ``most``, and its rows from a
    whole one on.
    """
    found = connection.rows(
        "SELECT moment, since, body FROM states WHERE subject=? AND moment<? ORDER BY moment DESC LIMIT ?",
        (number, most, MOST_DIFFERENCES + 1),
    )
    bodies: list[bytes] = []
    first: tuple[int | None, int | None] = (None, None)
    for moment, since, body in found:
        if not bodies:
            first = moment, since
        bodies.append(body)
        if body[:1] == bytes([WHOLE]):
            break
    found.close()
    return *first, bodies[::-1]


class HistoryWriter:
    """Writes rows; `forget` what a transaction wrote that was not committed.

    Each state, event and finding has a budget of its own: a reading may bring any number of them,
    into a file that was empty before.
    """

    def __init__(self, connection: HistoryConnection) -> None:
        self._connection = connection
        self.texts = HistoryTexts(connection)
        self._numbers: dict[Subject, int] = {}

    def forget(self) -> None:
        """Drop what is known of the file, which has less now."""
        self.texts.forget()
        self._numbers.clear()

    def number(self, subject: Subject) -> int:
        """Return the number of a subject, which is written if it is not there."""
        found = self._numbers.get(subject)
        if found is None:
            key = subject[0], encoded(subject[1])
            row = self._connection.row("SELECT id FROM subjects WHERE kind=? AND name=?", key)
            if row is None:
                made = self._connection.execute(
                    "INSERT INTO subjects(kind, name, is_gone) VALUES (?, ?, 1)", key
                )
                row = (made.lastrowid or 0,)
            found = self._numbers[subject] = int(row[0])
        return found

    def kept(self, subject: Subject) -> KeptState | None:
        """Return the state that the file has last; None for none."""
        bodies = rows_of(self._connection, self.number(subject), LAST_KEY)[2]
        return state_of(bodies, self.texts) if bodies else None

    def state(self, row: StateRow) -> None:
        """Write a state; one that comes late moves to the last state's time, so that its span grows
        and never shrinks.
        """
        self._connection.renew_budget()
        number = self.number(row.subject)
        last, _, bodies = rows_of(self._connection, number, LAST_KEY)
        before = row.before
        if before is None and bodies:
            before = state_of(bodies, self.texts)
        if before == row.after:
            return
        body = whole(row.after, self.texts)
        if row.before is not None and 0 < len(bodies) <= MOST_DIFFERENCES:
            short = difference(row.before, row.after, self.texts)
            body = short if short is not None and 2 * len(short) < len(body) else body
        key = self._key("states", row.at, last)
        since = None if row.since is None else ms_of(key) - row.since
        self._connection.execute(
            "INSERT INTO states VALUES (?, ?, ?, ?)", (key, number, since, body)
        )
        if before is not None:
            gone = texts_of(before) - texts_of(row.after)
            self.texts.used_until({self.texts.id_of(text) for text in gone}, ms_of(key))
        if before is None or before.is_gone != row.after.is_gone:
            self._connection.execute(
                "UPDATE subjects SET is_gone=? WHERE id=?", (int(row.after.is_gone), number)
            )

    def event(self, row: EventRow) -> None:
        """Write an event."""
        self._connection.renew_budget()
        key = self._key("events", row.at)
        since = None if row.since is None else row.at - row.since
        self._connection.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?)",
            (key, row.subject, row.kind, since, row.value),
        )

    def finding(self, text: str, ms: int) -> int:
        """Return the number of a finding's text, which is used at that moment."""
        self._connection.renew_budget()
        number = self.texts.id_of(text)
        self.texts.used_until({number}, ms)
        return number

    def _key(self, table: str, ms: int, above: int | None = None) -> int:
        """Return a free key of a moment, above another if one is given."""
        least = key_of(ms) if above is None else max(key_of(ms), above + 1)
        row = self._connection.row(
            f"SELECT max(moment) FROM {table} WHERE moment>=? AND moment<?",
            (least, key_of(ms_of(least) + 1)),
        )
        return least if row is None or row[0] is None else int(row[0]) + 1
