"""Errors of the history."""

from __future__ import annotations

from rmqalloc.errors import Error


class HistoryError(Error, OSError):
    """A history cannot be written or read: the file is not a history, is damaged, newer or in use, or
    the disk is full.
    """


class MomentUnknownError(HistoryError):
    """The state at a moment is unknown: the moment is in a gap, or before or after all readings.

    Attributes
    ----------
    known_before, known_after : float or None
        The last known moment before it and the first known moment after it, in seconds of the Unix
        clock.
    """

    def __init__(self, message: str, known_before: float | None, known_after: float | None) -> None:
        super().__init__(message)
        self.known_before, self.known_after = known_before, known_after
