"""When a client rebalances: every 20 seconds, when it is woken, and again soon when a pass left
something undone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rmqalloc.rebalance.driving import Lane, Steps
from rmqalloc.remoting import Profile, clock
from rmqalloc.remoting.clock import REBALANCE, Clock, Timer


class RebalanceService:
    """The loop of passes of one client, as a chain of timers.

    Wakeups are a flag. Several wakeups before a pass count as one, a wakeup during a pass makes the
    next pass follow at once, and a wakeup within ``profile.min_interval`` of the last pass is
    deferred to the end of this time. So a client does nothing in its first second.

    Parameters
    ----------
    clock : Clock
        Time and timers.
    lane : Lane
        Where passes run, one at a time.
    do_rebalance : callable
        Steps of one pass; return False if work is left undone. They must not raise.
    profile : Profile
        Its ``min_interval`` and ``retry_interval``.
    wait_interval : int
        Milliseconds between passes that left nothing undone;
        ``rocketmq.client.rebalance.waitInterval``.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.RebalanceService`` and ``ServiceThread``.
    """

    def __init__(
        self,
        clock: Clock,
        lane: Lane,
        do_rebalance: Callable[[], Steps[bool]],
        profile: Profile,
        wait_interval: int = REBALANCE,
    ) -> None:
        self._clock = clock
        self._lane = lane
        self._do_rebalance = do_rebalance
        self._min_interval = profile.min_interval
        self._retry_interval = (
            wait_interval if profile.retry_interval is None else profile.retry_interval
        )
        self._wait_interval = wait_interval
        self._last_rebalance = clock.now()
        self._notified = False
        self._timer: Timer | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to wait."""
        self._wait(self._wait_interval)

    def wakeup(self) -> None:
        """Request a pass now; before `start` and during a pass it is kept for the next wait."""
        if self._notified:
            return
        self._notified = True
        if self._timer is not None:
            self._timer.cancel()
            self._wait(0)

    def shutdown(self) -> None:
        """Stop: no further pass."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, interval: int) -> None:
        if not self._stopped:
            self._timer = self._clock.call_later(0 if self._notified else interval, self._turn)

    def _turn(self) -> None:
        self._timer = None
        self._notified = False
        elapsed = self._clock.now() - self._last_rebalance
        if elapsed < self._min_interval:
            self._wait(self._min_interval - elapsed)
            return
        self._lane.do(self._do_rebalance(), self._after)

    def _after(self, balanced: Any, error: BaseException | None) -> None:
        """Wait for the next pass."""
        if error is not None:
            raise error
        self._last_rebalance = self._clock.now()
        self._wait(self._wait_interval if balanced else self._retry_interval)


# How often a client does what.


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of the periodic work of a client, in milliseconds.

    Attributes
    ----------
    rebalance : int
        Between passes that leave nothing undone (``rocketmq.client.rebalance.waitInterval``).
    route_poll : int
        Routes, first after 10 ms (``pollNameServerInterval``).
    heartbeat : int
        Heartbeats, first after 1 s (``heartbeatBrokerInterval``).
    persist : int
        Offsets, first after 10 s (``persistConsumerOffsetInterval``).
    lock : int
        Locks of ordered groups, first after 1 s (``rocketmq.client.rebalance.lockInterval``).
    """

    rebalance: int = clock.REBALANCE
    route_poll: int = clock.ROUTE_POLL
    heartbeat: int = clock.HEARTBEAT
    persist: int = 5_000
    lock: int = clock.LOCK_RENEWAL
