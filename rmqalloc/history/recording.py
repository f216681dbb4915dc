"""Write readings of a cluster to a file: `Recorder`.

Principles, in this order. Only states that a reading has shown are recorded: the time between two
spans of readings, a group that was not read and a clock that went back are recorded as unknown. A
state is written as the reading showed it, even if only one reading did: readers of the file decide
which readings confirm each other. A written reading is never lost: each reading is one transaction.
A reading that cannot be written (the disk is full, the clock is behind the last reading) is dropped;
the next reading is written as a difference from the file, after a gap.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rmqalloc.audit import Finding
from rmqalloc.errors import ArgumentError
from rmqalloc.history._bounding import Bounds
from rmqalloc.history._database import (
    CLEARED,
    GROUP,
    RAISED,
    SETTLED,
    alone,
    in_ms,
    opened,
    told,
    transaction,
)
from rmqalloc.history._kept_states import KeptState
from rmqalloc.history._present import PresentStates
from rmqalloc.history._spans import WENT_BACK, ReadingSpans
from rmqalloc.history._texts import decoded
from rmqalloc.history._writer import EventRow, HistoryWriter, Subject, Written
from rmqalloc.history.history_errors import HistoryError
from rmqalloc.watching import Observation

KEEP = timedelta(days=365)
MAX_BYTES = 5 << 30
LEAST_BYTES = 1 << 20
GAP_AFTER = timedelta(minutes=5)

_READINGS_THAT_LAST = 2

Span = timedelta | float


class Recorder:
    """Write a history; a context manager. A file has one recorder at a time, and any number of
    readers.

    Parameters
    ----------
    path : path
        The file; created if it does not exist. While it is open, sqlite's ``-wal`` and ``-shm``
        are beside it, and ``.lock``.
    keep : timedelta or seconds
        Time after which states are deleted.
    max_bytes : int
        Maximum size of the file, at least 1 MiB; the oldest states are deleted first.
    gap_after : timedelta or seconds
        Two readings further apart than this leave a gap.
    keeps_unknown : bool
        Whether facts that the snapshots list as unknown are recorded as unknown. False for a
        running cluster: there the parts that were not read show the unknown facts.

    Raises
    ------
    HistoryError
        The file is not a history, is damaged or newer, or another recorder is writing it.

    Examples
    --------
    >>> import tempfile
    >>> from rmqalloc.history import History
    >>> path = f"{tempfile.mkdtemp()}/history.db"
    >>> with Recorder(path) as recorder:
    ...     pass  # for each reading: recorder.record(observer.observe(reader.read()))
    >>> History(path).last_reading is None
    True
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep: Span = KEEP,
        max_bytes: int = MAX_BYTES,
        gap_after: Span = GAP_AFTER,
        keeps_unknown: bool = False,
    ) -> None:
        keep_ms, gap_ms = _ms("keep", keep), _ms("gap_after", gap_after)
        if max_bytes < LEAST_BYTES:
            raise ArgumentError(f"max_bytes must be at least {LEAST_BYTES}, got {max_bytes}")
        self._path = Path(path)
        with ExitStack() as stack:
            stack.enter_context(alone(self._path))
            self._connection = stack.enter_context(closing(opened(self._path)))
            with told(self._path):
                self._writer = HistoryWriter(self._connection)
                self._spans = ReadingSpans(self._connection, self._writer, gap_ms)
                self._bounds = Bounds(self._connection, self._writer, keep_ms, max_bytes)
                self._raised = self._written_findings()
                self._keeps_unknown = keeps_unknown
                self._present = self._written_states()
            self._stack = stack.pop_all()
        self._n_whole, self._is_reconciled = 0, False
        self._behind: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; may be called twice."""
        with told(self._path):
            self._stack.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def behind(self) -> str | None:
        """Why the last reading was not written; None if it was written."""
        return self._behind

    def record(self, observation: Observation) -> None:
        """Write a reading; observations come in the order of their readings.

        Raises
        ------
        HistoryError
            The reading could not be written, for example because the disk is full. The recorder may
            continue, and the next observation that can be written ends the gap.
        """
        reading, at = observation.reading, in_ms(observation.reading.read_at)
        self._n_whole = self._n_whole + 1 if reading.is_whole and not reading.not_read else 0
        if at <= self._spans.last:
            self._behind = WENT_BACK
            return
        try:
            with told(self._path):
                self._connection.renew_budget()
                self._bounds.make_room(at)
                with transaction(self._connection):
                    self._write(observation, at)
                self._bounds.step(at)
        except HistoryError as error:
            self._behind = f"it could not be written: {error}"
            with told(self._path):
                self._forget()
            raise
        self._behind = None
        self._is_reconciled |= self._n_whole >= _READINGS_THAT_LAST

    def _forget(self) -> None:
        """Go back to what the file has, after a transaction that was not committed."""
        self._writer.forget()
        self._spans.reload()
        self._raised = self._written_findings()
        self._present = self._written_states()

    def _written_states(self) -> PresentStates:
        rows = self._connection.rows("SELECT kind, name FROM subjects WHERE is_gone=0")
        there = {(kind, decoded(name)) for kind, name in rows}
        return PresentStates(self._written, there, self._writer.texts, self._keeps_unknown)

    def _written(self, subject: Subject) -> Written:
        return self._spans.written(subject, self._writer.kept(subject) or KeptState())

    def _written_findings(self) -> dict[str, int]:
        with told(self._path):
            return dict(self._connection.rows("SELECT fault, finding FROM raised"))

    def _write(self, observation: Observation, at: int) -> None:
        self._spans.seen(at, self._behind)
        for row in self._present.taken(observation):
            self._writer.state(row)
        self._spans.subjects_seen(observation.reading, at, self._present.lagging)
        self._write_events(observation, at)
        is_new = not self._is_reconciled and self._n_whole >= _READINGS_THAT_LAST
        if is_new or self._behind is not None:
            self._settle_findings(observation, at)

    def _write_events(self, observation: Observation, at: int) -> None:
        for kind, changes in ((RAISED, observation.raised), (CLEARED, observation.cleared)):
            for change in changes:
                finding = change.after if kind == RAISED else change.before
                if finding is not None:
                    since = (
                        None if change.last_seen_before is None else in_ms(change.last_seen_before)
                    )
                    self._finding(kind, finding, since, min(at, in_ms(change.first_seen_after)))
        for group, seconds in observation.settled.items():
            self._writer.event(
                EventRow(self._writer.number((GROUP, group)), SETTLED, None, at, in_ms(seconds))
            )

    def _finding(self, kind: int, finding: Any, since: int | None, at: int) -> None:
        """Write that a finding was raised or cleared, unless the history has it so."""
        fault = fault_of(finding)
        if (fault in self._raised) == (kind == RAISED):
            return
        subject = self._writer.number((GROUP, finding.consumer_group))
        number = (
            self._writer.finding(finding_text(finding), at)
            if kind == RAISED
            else self._raised.pop(fault)
        )
        if kind == RAISED:
            self._raised[fault] = number
            row = fault, subject, number
            self._connection.execute("INSERT OR REPLACE INTO raised VALUES (?, ?, ?)", row)
        else:
            self._writer.texts.used_until({number}, at)
            self._connection.execute("DELETE FROM raised WHERE fault=?", (fault,))
        self._writer.event(EventRow(subject, kind, since, at, number))

    def _settle_findings(self, observation: Observation, at: int) -> None:
        """Bring the findings that the history has as raised to what lasts now; of a group that was
        not read nothing is said.
        """
        for one in observation.lasting:
            self._finding(RAISED, one, None, at)
        seen = set(map(fault_of, observation.findings))
        silent = {self._writer.number((GROUP, name)) for name in observation.reading.not_read}
        rows = [*self._connection.rows("SELECT fault, subject, finding FROM raised")]
        for fault, subject, number in rows:
            if (
                fault not in seen
                and subject not in silent
                and not observation.reading.snapshot.errors
            ):
                self._raised.pop(fault, None)
                self._connection.execute("DELETE FROM raised WHERE fault=?", (fault,))
                self._writer.texts.used_until({number}, at)
                self._writer.event(EventRow(subject, CLEARED, None, at, number))


def _ms(name: str, span: Span) -> int:
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if not seconds > 0:
        raise ArgumentError(f"{name} must be a time above 0, got {span!r}")
    return in_ms(min(seconds, 1e9))


# Findings as they are kept: in one short document each, and what makes two of them the same fault.

_MOST_NAMED = 20
_MOST_SAID = 1000


def fault_of(finding: Finding) -> str:
    """Return a short text that identifies a fault."""
    return hashlib.sha256(json.dumps(finding.fault).encode()).hexdigest()[:24]


def finding_text(finding: Finding) -> str:
    """Return the document of a finding; only the first of many clients are named."""
    said = {
        "rule": finding.rule,
        "severity": finding.severity,
        "topic": finding.topic,
        "message": finding.message[:_MOST_SAID],
        "clients": finding.clients[:_MOST_NAMED],
    }
    return json.dumps(said, separators=(",", ":"))
