"""Moments in the forms that people write, and as text: local time with its offset from UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from rmqalloc.errors import ArgumentError

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_AGO = re.compile(r"([0-9]{1,6})\s*(s|m|h|d) ago")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment_of(text: str, now: datetime | None = None) -> float:
    """Return a moment in seconds of the Unix clock.

    Parameters
    ----------
    text : str
        ``03:12`` or ``03:12:05``: today, or yesterday if that is still to come; ISO 8601, local
        time unless it has an offset; ``2h ago``.
    now : datetime, optional

    Raises
    ------
    ArgumentError
        The text has none of these forms.

    Examples
    --------
    >>> from datetime import timezone
    >>> noon = datetime(2026, 5, 2, 12, 0, tzinfo=timezone.utc)
    >>> moment_of("2026-05-02T03:12:00+00:00") - noon.timestamp(), moment_of("2h ago", noon) - noon.timestamp()
    (-31680.0, -7200.0)
    """
    now = (now or datetime.now()).astimezone()
    given = text.strip()
    if found := _AGO.fullmatch(given):
        return now.timestamp() - int(found[1]) * _SECONDS[found[2]]
    try:
        if found := _CLOCK.fullmatch(given):
            hour, minute, second = (int(part or 0) for part in found.groups())
            at = now.replace(tzinfo=None, hour=hour, minute=minute, second=second, microsecond=0)
            at = at if at.astimezone().timestamp() <= now.timestamp() else at - timedelta(days=1)
            return at.astimezone().timestamp()
        return datetime.fromisoformat(given).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise ArgumentError(
            f"{text!r} is no time: give HH:MM[:SS] of the last 24 hours, ISO 8601 such as 2026-05-02T03:12:00+02:00, or 2h ago"
        ) from None


def moment_text(seconds: float | None) -> str | None:
    """Return a moment as ISO 8601 in local time, with its offset; None for None.

    Examples
    --------
    >>> moment_text(None), len(moment_text(1777777777.0))
    (None, 25)
    """
    if seconds is None:
        return None
    at = datetime.fromtimestamp(seconds).astimezone()
    return at.isoformat(timespec="milliseconds" if at.microsecond >= 1000 else "seconds")
