"""Errors of the history."""

from __future__ import annotations

from rmqalloc.errors import Error


class HistoryError(Error, OSError):
    """A history cannot be written or read: the file is foreign, damaged, newer, in use, or the disk
    is full.
    """


class MomentUnknownError(HistoryError):
    """Nothing is known of a moment: it lies in a gap, or before or after all readings.

    Attributes
    ----------
    known_before, known_after : float or None
        The last moment before it that is known, and the first one after it, in seconds of the Unix
        clock.
    """

    def __init__(self, message: str, known_before: float | None, known_after: float | None) -> None:
        super().__init__(message)
        self.known_before, self.known_after = known_before, known_after
