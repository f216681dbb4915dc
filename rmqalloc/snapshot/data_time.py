"""Time of the data of a snapshot, and whether it is recent enough to describe the present.

Everything that shows or judges an age uses this module: a snapshot has the time that it states
(``fetched_at``), never the time of its file or of reading it. Outputs of tools have no time. A
snapshot from the future has no known age: the clocks of two machines differ, or the time was typed
by hand.
"""

from __future__ import annotations

from datetime import UTC, datetime

from rmqalloc.snapshot.snapshot import Snapshot

EVERY = 30.0
"""Seconds between readings, unless others are given."""
FRESH = 3
"""Readings that may be missed until data count as old."""


def taken_at(snapshot: Snapshot) -> float | None:
    """Return when a snapshot was taken, in seconds of the Unix clock; None if it does not say so.

    Examples
    --------
    >>> taken_at(Snapshot(fetched_at="2026-01-01T00:00:00Z"))
    1767225600.0
    >>> taken_at(Snapshot()), taken_at(Snapshot(fetched_at="yesterday"))
    (None, None)
    """
    try:
        taken = datetime.fromisoformat(snapshot.fetched_at or "")
        return (taken if taken.tzinfo else taken.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def age_of(at: float | None, now: float) -> float | None:
    """Return the seconds since data were taken; None if their time is missing or to come.

    Examples
    --------
    >>> age_of(10.0, now=15.0), age_of(10.0, now=5.0), age_of(None, now=5.0)
    (5.0, None, None)
    """
    return None if at is None or at > now else now - at


def why_not_current(at: float | None, now: float, every: float = EVERY) -> str | None:
    """Return why data cannot answer for now; None if they can.

    Parameters
    ----------
    at : float or None
        When the data were taken, in seconds of the Unix clock.
    now : float
    every : float
        Seconds between readings; data are old after `FRESH` times as many.

    Examples
    --------
    >>> why_not_current(0.0, now=90.0) is None
    True
    >>> why_not_current(0.0, now=91.0)
    'the data are of 1970-01-01T00:00:00Z, more than 90 s ago'
    """
    if at is None:
        return "the data have no time (fetched_at, which `rmqalloc snapshot` writes): their age is not known"
    if at > now:
        return f"the data are of {utc_text(at)}, in the future: their age is not known"
    if now - at > FRESH * every:
        return f"the data are of {utc_text(at)}, more than {FRESH * every:g} s ago"
    return None


def utc_text(at: float) -> str:
    """Return a moment as ISO 8601 in UTC, to the second.

    Examples
    --------
    >>> utc_text(1767225600.9)
    '2026-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
