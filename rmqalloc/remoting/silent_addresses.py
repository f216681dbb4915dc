"""Which addresses of a cluster did not answer a member in time, and when each is asked again."""

from __future__ import annotations

import time
from collections.abc import Callable

from rmqalloc.remoting._health import BackOff, DownError

LONGEST_PAUSE = 10.0
"""Seconds until an address that was silent is asked again, at most."""


class SilentAddresses:
    """Addresses that did not answer in time; requests that may wait are not sent to them during a
    pause.

    So that a pass that would ask a frozen broker for sixty offsets waits for one of them.
    Heartbeats are sent whatever is known of an address: they do not call `check`. Pauses are of 1
    s, then twice as long each, of 10 s at most.

    Parameters
    ----------
    now : callable
        Seconds, by any clock that only goes forward.

    Examples
    --------
    >>> seconds = iter([0.0, 0.5, 1.5])
    >>> silent = SilentAddresses(lambda: next(seconds))
    >>> silent.failed("10.0.0.1:10911")
    >>> silent.check("10.0.0.1:10911")
    Traceback (most recent call last):
    rmqalloc.remoting._health.DownError: 10.0.0.1:10911 did not answer before; it is asked again after 10 s at most
    >>> silent.check("10.0.0.1:10911")
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pauses = BackOff(1.0, LONGEST_PAUSE)

    def check(self, address: str) -> None:
        """Raise `DownError`, a `RemotingError`, if an address is not to be asked now."""
        if not self._pauses.is_over(address, self._now()):
            raise DownError(
                f"{address} did not answer before; it is asked again after {LONGEST_PAUSE:g} s at most"
            )

    def failed(self, address: str) -> None:
        """Record that an address did not answer in time, or could not be reached; several failures
        at once are one.
        """
        now = self._now()
        if self._pauses.is_over(address, now):
            self._pauses.failed(address, now)

    def answered(self, address: str) -> None:
        """Record that an address has answered, whatever it was."""
        self._pauses.forget(address)
