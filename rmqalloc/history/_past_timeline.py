"""What a history knows of one subject at a moment, and how a moment lies to the readings.

A row has the state that a reading showed first, and how long before that the state of the row before
was seen last. A moment within the time in which one state was seen, and in no gap, is known: two
readings bracket it, or it is the moment of a reading. Between two rows only that is certain which
both have.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from rmqalloc.history._database import LAST_KEY, key_of, ms_of
from rmqalloc.history._documents import NOT_READ, has_owners, without_owners
from rmqalloc.history._kept_states import KeptState, state_after, state_of
from rmqalloc.history._rows import KEY_BITS, HistoryConnection
from rmqalloc.history._spans import ALL_GROUPS, STARTED, WENT_BACK
from rmqalloc.history._texts import HistoryTexts, encoded
from rmqalloc.history._writer import rows_of
from rmqalloc.history.history_errors import MomentUnknownError
from rmqalloc.history.moments import moment_text


class ReadingSpan(NamedTuple):
    """Readings without a gap: the first and the last, and why there was a gap before; in
    milliseconds.

    Earlier recorders wrote what two readings had shown and no more; ``certain`` is the last reading
    but one of their spans, and ``is_whole`` is false.
    """

    began: int
    certain: int
    reason: str
    is_whole: bool


class Standing(NamedTuple):
    """A subject at a moment, times in milliseconds.

    Attributes
    ----------
    state : KeptState or None
        Its state, or the last that is known where there is a doubt.
    doubt : str or None
        Why it is not known.
    certain_ids : tuple of str
        Clients that are certain.
    is_settled : bool
        Whether clients and owners are known, though settings may not be.
    """

    state: KeptState | None
    doubt: str | None
    known_before: int | None
    known_after: int | None
    certain_ids: tuple[str, ...] = ()
    is_settled: bool = False


class Run(NamedTuple):
    """A state that readings saw without another one between: at ``first``, and last at ``last``,
    which is earlier where one reading alone saw it, for that took time. ``before`` is when the state
    before was seen last; None if nothing is known before.
    """

    before: int | None
    first: int
    last: int
    state: KeptState


class PastTimeline:
    """Reads spans, gaps and states."""

    def __init__(self, connection: HistoryConnection) -> None:
        self._connection = connection
        self.texts = HistoryTexts(connection)
        rows = connection.rows(
            "SELECT began, previous, reason, last FROM spans WHERE previous IS NOT NULL ORDER BY began"
        )
        self.spans = [
            ReadingSpan(began, certain, reason, certain == last)
            for began, certain, reason, last in rows
        ]
        kind, name = ALL_GROUPS
        found = connection.row(
            "SELECT id FROM subjects WHERE kind=? AND name=?", (kind, encoded(name))
        )
        self._all_groups: int | None = found[0] if found else None
        kept = connection.row("SELECT value FROM notes WHERE name='kept_since'")
        self.kept_since = kept[0] if kept else 0

    def check(self, at: int) -> None:
        """Raise `MomentUnknownError` for a moment at which the cluster as a whole is not known."""
        said, i = moment_text(at / 1000), self._span_of(at)
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
                f"nothing is known of {said} yet: the last reading is that of {moment_text(before)}",
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

    def _span_of(self, at: int) -> int:
        """Return the place of the last span that begins up to a moment, -1 for none."""
        return bisect_right(self.spans, at, key=lambda span: span.began) - 1

    def standing(self, number: int, at: int) -> Standing:
        """Return what is known of a subject at a moment within a span."""
        key, since, bodies = rows_of(self._connection, number, key_of(at + 1))
        state = state_of(bodies, self.texts) if bodies else None
        change = self._changing(number, at, state)
        gap = self._in_gap(number, at, state)
        if change and gap:
            certain = tuple(client for client in change.certain_ids if client in gap.certain_ids)
            return change._replace(certain_ids=certain, is_settled=False)
        if found := change or gap:
            return found
        certain = self._certain(at, state)
        doubt = self._mixed(at, state)
        if doubt is None:
            return Standing(state, None, at, at, certain)
        before = None if key is None else self.before_of(ms_of(key), since)
        if before is not None:
            doubt += f"; last known at {moment_text(before / 1000)}"
        return Standing(state, doubt, before, None, certain)

    def _changing(self, number: int, at: int, state: KeptState | None) -> Standing | None:
        """Return a subject that changes at a moment, None if it does not."""
        row = self._connection.row(
            "SELECT moment, since, body FROM states WHERE subject=? AND moment>=?"
            " ORDER BY moment LIMIT 1",
            (number, key_of(at + 1)),
        )
        if row is None:
            return None
        after, before = ms_of(row[0]), self.before_of(ms_of(row[0]), row[1])
        if before is None or at > before:
            seen = "nothing is known before"
            if before is not None:
                seen = f"last seen before at {moment_text(before / 1000)}"
            doubt = f"it changed: {seen}, first seen after at {moment_text(after / 1000)}"
            next_state = state_after(state, row[2], self.texts)
            now = state or KeptState()
            there = self._certain(at, now)
            certain = [client for client in there if client in next_state.clients]
            is_settled = (
                before is not None
                and now.is_gone == next_state.is_gone
                and now.clients.keys() == next_state.clients.keys()
                and now.owners == next_state.owners
                and not self._mixed(at, now)
                and not self._mixed(after, next_state)
            )
            return Standing(state, doubt, before, after, tuple(certain), is_settled)
        # a recorder before this one wrote parts of a group that were seen at other times
        later = self._connection.row(
            "SELECT moment, since FROM states WHERE subject=? AND moment>=? AND (moment >> ?) - since < ?"
            " ORDER BY moment LIMIT 1",
            (number, key_of(at + 1), KEY_BITS, at),
        )
        if later is None:
            return None
        after, before = ms_of(later[0]), ms_of(later[0]) - later[1]
        seen = f"last seen before at {moment_text(before / 1000)}, first seen after at {moment_text(after / 1000)}"
        return Standing(state, f"it changed: {seen}", before, after)

    def _in_gap(self, number: int, at: int, state: KeptState | None) -> Standing | None:
        """Return a subject that was not read at a moment, None if it was."""
        numbers = [number]
        if self._all_groups is not None and (state is None or state.is_gone):
            numbers.append(self._all_groups)
        for subject in numbers:
            gap = self._connection.row(
                "SELECT since, until, reason FROM gaps WHERE subject=? AND since<?"
                " AND (until IS NULL OR until>?) ORDER BY since DESC LIMIT 1",
                (subject, at, at),
            )
            if gap is not None:
                since, until, reason = gap[0], gap[1], self.texts.text(gap[2])
                again = "" if until is None else f", read again at {moment_text(until / 1000)}"
                doubt = f"{reason}; last read at {moment_text(since / 1000)}{again}"
                certain = self._certain(at, state) if reason == NOT_READ else ()
                return Standing(state, doubt, since, until, certain)
        return None

    def _mixed(self, at: int, state: KeptState | None) -> str | None:
        """Return why a state is not what one reading showed, None if it is."""
        if state is None or state.is_gone:
            return None
        if not has_owners(state, self.texts):
            return NOT_READ
        if not owns_known(state, self.texts):
            return "clients and owners were not seen together"
        if state.clients and self._is_behind(at):
            return "the clock had gone back, and clients that left meanwhile were not noticed"
        return None

    def _certain(self, at: int, state: KeptState | None) -> tuple[str, ...]:
        """Return the clients of a state that were there."""
        if state is None:
            return ()
        if not self._is_behind(at):
            return tuple(state.clients)
        owning = {client for owners in state.owners.values() for client in owners}
        return tuple(client for client in state.clients if client in owning)

    def _is_behind(self, at: int) -> bool:
        """Return whether an earlier recorder wrote a moment after its clock had gone back."""
        for span in reversed(self.spans[: self._span_of(at) + 1]):
            if span.is_whole or span.reason == STARTED:
                return False
            if span.reason == WENT_BACK:
                return True
        return False

    def before_of(self, after: int, since: int | None) -> int | None:
        """Return when the state before one was last seen; None where nothing is known before."""
        if since is not None:
            return after - since
        i = bisect_left(self.spans, after, key=lambda span: span.certain) - 1
        is_whole = bool(self.spans) and self.spans[self._span_of(after)].is_whole
        return None if i < 0 or is_whole else self.spans[i].certain

    def runs(self, number: int, since: int, until: int) -> Iterator[Run]:
        """Yield the states of a subject in the order of time.

        The first is the last one before ``since`` that two readings saw, where there is one; the
        last is the first one after ``until`` that two readings saw.
        """
        rows = list(
            self._connection.rows(
                "SELECT moment, since FROM states WHERE subject=? ORDER BY moment", (number,)
            )
        )
        if not rows:
            return
        keys = [key for key, _ in rows]
        first = [ms_of(key) for key in keys]
        before = [self.before_of(ms_of(key), last) for key, last in rows]
        last = [until if at is None else at for until, at in zip(first, before[1:], strict=False)]
        last.append(self._last_read(number))
        begin = max(bisect_left(keys, key_of(since)) - 1, 0)
        while begin > 0 and last[begin] <= first[begin]:
            begin -= 1
        end = bisect_left(keys, key_of(until + 1))
        while end < len(keys) and last[end - 1] <= first[end - 1]:
            end += 1
        bodies = rows_of(self._connection, number, keys[begin] + 1)[2]
        now = state_of(bodies, self.texts)
        yield Run(before[begin], first[begin], last[begin], now)
        later = self._connection.rows(
            "SELECT body FROM states WHERE subject=? AND moment>? AND moment<? ORDER BY moment",
            (number, keys[begin], keys[end] if end < len(keys) else LAST_KEY),
        )
        for i, (body,) in enumerate(later, begin + 1):
            now = state_after(now, body, self.texts)
            yield Run(before[i], first[i], last[i], now)
        if end == len(keys) and self._lags(number) and now.settings is not None:
            at = self.spans[-1].certain
            settings = without_owners(now.settings, self.texts)
            alone = KeptState(settings, now.clients, now.owners)
            yield Run(None, at, at, alone)

    def _lags(self, number: int) -> bool:
        """Return whether the last reading had the clients of a group, and not what they own."""
        rows = self._connection.rows(
            "SELECT reason FROM gaps WHERE subject=? AND until IS NULL", (number,)
        )
        return [self.texts.text(reason) for (reason,) in rows] == [NOT_READ]

    def _last_read(self, number: int) -> int:
        """Return when a subject was read last; one that is gone, when all groups were."""
        gap = self._connection.row(
            "SELECT min(since) FROM gaps WHERE until IS NULL AND (subject=? OR subject=?"
            " AND EXISTS (SELECT 1 FROM subjects WHERE id=? AND is_gone=1))",
            (number, self._all_groups, number),
        )
        last = self.spans[-1].certain if self.spans else 0
        return last if gap is None or gap[0] is None else int(gap[0])


def owns_known(state: KeptState, texts: HistoryTexts) -> bool:
    """Return whether the owners of a state are those that its reading showed."""
    if state.is_gone or not has_owners(state, texts):
        return False
    owners = set().union(*state.owners.values())
    return owners <= state.clients.keys()
