"""Addresses that fail at present: since when, for which reason, the time of the next try, and their
lines in the log.

Goals, in this order:

1. A port that accepts connections and closes them, or that does not exist, costs a few connections
   a minute, however many requests there are for it.
2. A server that returns is found within a third of the time that it was away, and within 30 s.
3. The log has one line when an address fails, one a minute while it fails, and one when it answers.

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
"""Minimum (except for the random part) and maximum seconds until a failed address is tried again."""

_SHARE = 1 / 3  # of the time that an address has failed
_AT_RANDOM = 0.2  # of a pause
_LOGGED_EVERY = 60.0  # seconds
_LONGEST_TRY = 5.0  # seconds

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason and time of the failure of an address.

    Attributes
    ----------
    reason : str
        Result of the last try, without the address.
    since : float
        When it began to fail, in seconds of the clock in use.
    next_try : float
        Time of the next try, if there is a request for it.
    n_tries : int
        Failed tries.
    """

    reason: str
    since: float
    next_try: float
    n_tries: int = 1


class NotAskedError(RemotingError):
    """An address failed a short while ago and is not tried again yet.

    Attributes
    ----------
    wait : float
        Seconds until the next try.
    """

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


class FailingAddresses:
    """Addresses that did not answer, could not be reached or closed the connection.

    A pass with sixty offset requests to a frozen broker waits for one of them, and a thousand pulls
    from a lost broker do not open a thousand connections. This class sends nothing: callers `check`
    before a request, and report its result.

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
    10.0.0.1:10911 failed and gets no request f True
    >>> addresses.check("10.0.0.1:10911")
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failing: dict[str, Failure] = {}
        self._logged: dict[str, float] = {}

    def failing(self) -> Mapping[str, Failure]:
        """Return the addresses that have failed since their last answer; the view is kept up to
        date.
        """
        return MappingProxyType(self._failing)

    def check(self, address: str) -> None:
        """Raise `NotAskedError`, a `RemotingError`, if an address must not be tried now."""
        failure = self._failing.get(address)
        if failure is not None and (wait := failure.next_try - self._now()) > 0:
            raise NotAskedError(
                f"{address} failed and gets no request for another {wait:.1f} s: {failure.reason}",
                wait,
            )

    def failed(self, address: str, reason: str, began: float | None = None) -> None:
        """Record a failed try; several failures at once count as one.

        Parameters
        ----------
        address : str
            The address.
        reason : str
            Result of the try; the address in front of it is removed.
        began : float, optional
            When the try began; now if not given. After a process was frozen its tries seem to have
            taken minutes, independent of the server, so at most 5 s of the first try count.
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
        """Record any answer of an address."""
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
