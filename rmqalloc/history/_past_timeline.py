"""What a history knows of one subject at a moment, and how a moment lies to the readings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from rmqalloc.history._database import key_of, ms_of
from rmqalloc.history._kept_states import KeptState, state_after, state_of
from rmqalloc.history._rows import KEY_BITS, HistoryConnection
from rmqalloc.history._texts import HistoryTexts
from rmqalloc.history._writer import rows_of
from rmqalloc.history.history_errors import MomentUnknownError
from rmqalloc.history.moments import moment_text


class ReadingSpan(NamedTuple):
    """Readings without a gap: the first, the last that another one followed, and why there was a
    gap before; in milliseconds.

    What the very last reading of a span showed, no other has confirmed: the gap begins before it.
    """

    began: int
    certain: int
    reason: str


class Standing(NamedTuple):
    """A subject at a moment: its state, and why it is not known for sure; times in milliseconds."""

    state: KeptState | None
    doubt: str | None
    known_before: int | None
    known_after: int | None


class PastTimeline:
    """Reads spans, gaps and states."""

    def __init__(self, connection: HistoryConnection) -> None:
        self._connection = connection
        self.texts = HistoryTexts(connection)
        rows = connection.rows(
            "SELECT began, previous, reason FROM spans WHERE previous IS NOT NULL ORDER BY began"
        )
        self.spans = [ReadingSpan(*row) for row in rows]
        kept = connection.row("SELECT value FROM notes WHERE name='kept_since'")
        self.kept_since = kept[0] if kept else 0

    def check(self, at: int) -> None:
        """Raise `MomentUnknownError` for a moment at which the cluster as a whole is not known."""
        said, i = (
            moment_text(at / 1000),
            bisect_right(self.spans, at, key=lambda span: span.began) - 1,
        )
        if not self.spans:
            raise MomentUnknownError(
                f"nothing is known of {said}: the history holds no reading", None, None
            )
        if i < 0 or at < self.kept_since:
            first = max(self.spans[0].began, self.kept_since) / 1000
            raise MomentUnknownError(
                f"nothing is known of {said}: the history begins at {moment_text(first)}",
                None,
                first,
            )
        span, later = self.spans[i], self.spans[i + 1 : i + 2]
        if at <= span.certain:
            return
        before = span.certain / 1000
        if not later:
            raise MomentUnknownError(
                f"nothing is known of {said} yet: what two readings have shown ends at {moment_text(before)}",
                before,
                None,
            )
        after = later[0].began / 1000
        raise MomentUnknownError(
            f"nothing is known of {said}: {later[0].reason}; last known at {moment_text(before)}, then at"
            f" {moment_text(after)}",
            before,
            after,
        )

    def standing(self, number: int, at: int) -> Standing:
        """Return what is known of a subject at a moment within a span."""
        bodies = rows_of(self._connection, number, key_of(at + 1))[2]
        state = state_of(bodies, self.texts) if bodies else None
        row = self._connection.row(
            "SELECT moment, since FROM states WHERE subject=? AND moment>=? ORDER BY moment LIMIT 1",
            (number, key_of(at + 1)),
        )
        if row is not None:
            after, since = ms_of(row[0]), row[1]
            before = self.before_of(after, since)
            if before is None or at > before:
                seen = (
                    "nothing is known before"
                    if before is None
                    else f"last seen before at {moment_text(before / 1000)}"
                )
                doubt = f"it changed: {seen}, first seen after at {moment_text(after / 1000)}"
                return Standing(state, doubt, before, after)
        later = self._connection.row(
            "SELECT moment, since FROM states WHERE subject=? AND moment>=? AND (moment >> ?) - since < ?"
            " ORDER BY moment LIMIT 1",
            (number, key_of(at + 1), KEY_BITS, at),
        )
        if (
            later is not None
        ):  # another part was seen to change meanwhile, this one was not looked at
            after, before = ms_of(later[0]), ms_of(later[0]) - later[1]
            seen = f"last seen before at {moment_text(before / 1000)}, first seen after at {moment_text(after / 1000)}"
            return Standing(state, f"it changed: {seen}", before, after)
        gap = self._connection.row(
            "SELECT since, until, reason FROM gaps WHERE subject=? AND since<? AND (until IS NULL OR until>?)"
            " ORDER BY since DESC LIMIT 1",
            (number, at, at),
        )
        if gap is None:
            return Standing(state, None, at, at)
        until = "" if gap[1] is None else f", read again at {moment_text(gap[1] / 1000)}"
        doubt = f"{self.texts.text(gap[2])}; last read at {moment_text(gap[0] / 1000)}{until}"
        return Standing(state, doubt, gap[0], gap[1])

    def before_of(self, after: int, since: int | None) -> int | None:
        """Return when the state before one was last seen; None where nothing is known before."""
        if since is not None:
            return after - since
        i = bisect_left(self.spans, after, key=lambda span: span.certain) - 1
        return self.spans[i].certain if i >= 0 else None

    def states(
        self, number: int, since: int, until: int
    ) -> Iterator[tuple[int, int | None, KeptState]]:
        """Yield the time, when the state before was last seen, and the state of rows from ``since``
        up to ``until``.

        The first is the state in force at ``since``, where one is known.
        """
        key, before, bodies = rows_of(self._connection, number, key_of(since))
        state = state_of(bodies, self.texts) if bodies else None
        if key is not None and state is not None:
            yield ms_of(key), before, state
        rows = self._connection.rows(
            "SELECT moment, since, body FROM states WHERE subject=? AND moment>=? AND moment<? ORDER BY moment",
            (number, key_of(since), key_of(until + 1)),
        )
        for moment, before, body in rows:
            state = state_after(state, body, self.texts)
            yield ms_of(moment), self.before_of(ms_of(moment), before), state
