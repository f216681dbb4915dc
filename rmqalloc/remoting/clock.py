"""The port to time: both halves of a rebalance run on one clock, virtual or real."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will happen."""

    def cancel(self) -> None:
        """Do not let it happen; nothing if it already has."""


class Clock(Protocol):
    """Time and timers, in milliseconds."""

    def now(self) -> int:
        """Return milliseconds since the epoch; Java's ``System.currentTimeMillis()``."""

    def call_later(self, delay: int, action: Callable[[], None]) -> Timer:
        """Call ``action`` once, ``delay`` milliseconds from now; of several due at one time, the
        earlier asked for first.
        """
