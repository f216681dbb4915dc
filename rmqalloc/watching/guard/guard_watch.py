"""Reading a running cluster until the guard's answer lasts: two consecutive readings have to give
it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

from rmqalloc.errors import Error
from rmqalloc.evidence import Known, known
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.matching import ALL, NoMatchError
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import message
from rmqalloc.watching.guard.guard_answer import UNKNOWN, GuardAnswer, OfGroup
from rmqalloc.watching.guard.stops import has_left, may_stop

_Answerer = Callable[[Known, str, Sequence[str], Sequence[str]], GuardAnswer]


class GuardWatch:
    """Wait for a moment at which a client may stop, or at which all its queues have new owners.

    A group rebalances for seconds, and during this time a single reading may look settled, because
    clients are asked for their queues one after another. So an answer counts after a second reading
    has confirmed it, all parts of which were read after the first reading.

    Parameters
    ----------
    read : callable
        Returns the next reading, like `rmqalloc.snapshot.live.rereading.Rereader.read`.
    target, groups, topics
        See `may_stop`.
    know : callable
        Returns the facts known from a snapshot: `rmqalloc.evidence.known` by default.
    every : float
        Seconds from the end of a reading to the next.
    clock, sleep : callable
        Return seconds that never go back, and wait for some seconds.
    """

    def __init__(
        self,
        read: Callable[[], ClusterReading],
        target: str,
        groups: Sequence[str] = ALL,
        topics: Sequence[str] = ALL,
        *,
        know: Callable[[Snapshot], Known] | None = None,
        every: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._read, self._every, self._clock, self._sleep = read, every, clock, sleep
        self._target, self._groups, self._topics = target, tuple(groups), tuple(topics)
        self._know = know or (lambda snapshot: known(snapshot, self._groups))

    def before_stop(self, seconds: float) -> GuardAnswer:
        """Wait at most ``seconds`` until the previous change has settled; return whether the client
        may stop.

        A "no" that waiting cannot change, such as for the last client of a group, is returned at
        once.

        Raises
        ------
        Error
            The first reading fails, like `Rereader.read`.
        NoMatchError
            No client matches.
        """
        return self._lasting(may_stop, seconds)

    def after_stop(self, seconds: float) -> GuardAnswer:
        """Wait at most ``seconds`` until the client has left and all groups have settled; return
        whether both hold.

        Raises
        ------
        Error
            The first reading fails.
        NoMatchError
            A pattern of groups matches nothing.
        """
        return self._lasting(has_left, seconds)

    def _lasting(self, answered: _Answerer, seconds: float) -> GuardAnswer:
        until = self._clock() + seconds
        seen: tuple[str, float] | None = (
            None  # a settled verdict, and when the reading ended that gave it first
        )
        is_first = True
        while True:
            try:
                reading = self._read()
                answer = answered(
                    self._know(reading.snapshot), self._target, self._groups, self._topics
                )
            except NoMatchError:
                raise
            except Error as error:
                if is_first:
                    raise
                answer, seen = self._unanswered(error), None
            else:
                if not answer.is_settled:
                    seen = None
                elif seen is None or seen[0] != answer.verdict:
                    seen = answer.verdict, reading.read_at
                elif _is_read_after(reading, {one.consumer_group for one in answer.rows}, seen[1]):
                    return answer
            is_first = False
            gc.collect()  # cycles of the reading count as old, of which Python would look for some once in hours
            left = until - self._clock()
            if left <= 0:
                return answer.refused(_ONCE) if answer.is_settled else answer
            self._sleep(min(self._every, left))

    def _unanswered(self, error: Error) -> GuardAnswer:
        why = f"the cluster could not be read: {message(str(error))}"
        return GuardAnswer(self._target, UNKNOWN, why, (OfGroup("", UNKNOWN, False, why),))


_ONCE = "the previous change has not settled for long enough: two consecutive readings have to confirm it, one has"


def _is_read_after(reading: ClusterReading, names: set[str], since: float) -> bool:
    """Return whether the clients of groups, and what they own, were read after a time."""
    for group in reading.snapshot.groups:
        if group.name not in names:
            continue
        ages = reading.ages.get(group.name)
        if ages is None or ages.clients is None or ages.clients < since:
            return False
        if any(
            ages.owned.get(one.client_id, -1.0) < since
            for one in group.clients
            if one.owned is not None
        ):
            return False
    return True
