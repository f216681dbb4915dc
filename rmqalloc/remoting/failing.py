"""Addresses that cannot be used now: since when, for what reason, when each is tried again, and
what the log says of it.

Goals, in this order:

1. A port that accepts connections and closes them, or is not there, costs a few connections a
   minute, however many requests there are for it.
2. A server that comes back is found within a third of the time that it was away, and within 30 s.
3. The log has one line when an address fails, one a minute while it does, and one when it answers.

So a pause is a third of the time that an address has failed, from 0.2 to 30 s: after an outage of
10 s it is 3 s at most. Doubled pauses would be as long as the outage. Pauses are shortened at
random by up to a fifth, so that the clients of a broker that restarts do not all return at once.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rmqalloc.remoting._response_codes import RemotingError

SHORTEST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
"""Seconds until an address that failed is tried again, at least (but for the random part) and at most."""

_SHARE = 1 / 3  # of the time that an address has failed
_AT_RANDOM = 0.2  # of a pause
_LOGGED_EVERY = 60.0  # seconds
_LONGEST_TRY = 5.0  # seconds

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why and since when an address cannot be used.

    Attributes
    ----------
    reason : str
        What the last try ended with, without the address.
    since : float
        When it began to fail, in seconds of the clock in use.
    next_try : float
        When it is tried again, if somebody has a request for it.
    n_tries : int
        Tries that failed.
    """

    reason: str
    since: float
    next_try: float
    n_tries: int = 1


class NotAskedError(RemotingError):
    """An address failed a short while ago, and is not tried yet.

    Attributes
    ----------
    wait : float
        Seconds until it is tried again.
    """

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


class FailingAddresses:
    """Addresses that did not answer, could not be reached or closed the connection.

    A pass that would ask a frozen broker for sixty offsets waits for one of them, and a broker that
    is gone is not connected to by each of a thousand pulls. Nothing here sends anything: callers
    `check` before a request, and say how it ended.

    Parameters
    ----------
    now : callable
        Seconds, by any clock that only goes forward.

    Examples
    --------
    >>> seconds = iter([0.0, 0.1, 3.0])
    >>> addresses = FailingAddresses(lambda: next(seconds))
    >>> addresses.failed("10.0.0.1:10911", "did not answer within 3 s")
    >>> try:
    ...     addresses.check("10.0.0.1:10911")
    ... except NotAskedError as error:
    ...     print(str(error)[:43], error.wait <= 0.1)
    10.0.0.1:10911 failed and is not asked for  True
    >>> addresses.check("10.0.0.1:10911")
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failing: dict[str, Failure] = {}
        self._logged: dict[str, float] = {}

    def failing(self) -> Mapping[str, Failure]:
        """Return the addresses that have failed since they last answered; the view is kept up to
        date.
        """
        return MappingProxyType(self._failing)

    def check(self, address: str) -> None:
        """Raise `NotAskedError`, a `RemotingError`, if an address is not to be tried now."""
        failure = self._failing.get(address)
        if failure is not None and (wait := failure.next_try - self._now()) > 0:
            raise NotAskedError(
                f"{address} failed and is not asked for another {wait:.1f} s: {failure.reason}",
                wait,
            )

    def failed(self, address: str, reason: str, began: float | None = None) -> None:
        """Record that an address was tried in vain; several failures at once are one.

        Parameters
        ----------
        address : str
            The address.
        reason : str
            What the try ended with; the address in front of it is left out.
        began : float, optional
            When the try began; now if not given. A process that was frozen finds that its tries took
            minutes, which says nothing of the server, so at most 5 s of the first one count.
        """
        now = self._now()
        known = self._failing.get(address)
        if known is not None and now < known.next_try:
            return
        if known is None:
            since = now if began is None else max(began, now - _LONGEST_TRY)
            known = Failure("", since, now, 0)
        pause = min(max((now - known.since) * _SHARE, SHORTEST_PAUSE), LONGEST_PAUSE)
        next_try = now + pause * random.uniform(1 - _AT_RANDOM, 1)
        reason = reason.removeprefix(address).removeprefix(":").strip()
        failure = Failure(reason, known.since, next_try, known.n_tries + 1)
        self._failing[address] = failure
        self._log(address, failure, now)

    def answered(self, address: str) -> None:
        """Record that an address has answered, whatever it was."""
        failure = self._failing.pop(address, None)
        if failure is not None and self._logged.get(address, -math.inf) >= failure.since:
            log.info("%s answers again, after %.1f s", address, self._now() - failure.since)

    def _log(self, address: str, failure: Failure, now: float) -> None:
        if now < self._logged.get(address, -math.inf) + _LOGGED_EVERY:
            return
        self._logged[address] = now
        if failure.n_tries == 1:
            log.warning(
                "%s failed: %s; it is tried again after pauses of up to %.0f s",
                address,
                failure.reason,
                LONGEST_PAUSE,
            )
        else:
            log.warning(
                "%s has failed for %.0f s, in %d tries; the last: %s",
                address,
                now - failure.since,
                failure.n_tries,
                failure.reason,
            )
