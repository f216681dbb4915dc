"""The port of time: both halves of a rebalance run on one clock, virtual or real. Also RocketMQ's
timers.
"""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled action."""

    def cancel(self) -> None:
        """Cancel the action; no effect if it has run already."""


class Clock(Protocol):
    """Time and timers, in milliseconds."""

    def now(self) -> int:
        """Return milliseconds since the epoch; Java's ``System.currentTimeMillis()``."""

    def call_later(self, delay: int, action: Callable[[], None]) -> Timer:
        """Call ``action`` once, ``delay`` milliseconds from now; actions due at one time run in the
        order of the calls.
        """


# RocketMQ's timers that several rooms know, in milliseconds, with the Java field or property whose
# default each is.
#
# What differs between releases stands in `rmqalloc.remoting.Profile`; a timer that one file alone
# knows stands in that file.

REBALANCE = 20_000
"""Wait between passes of a client that leave nothing undone: ``RebalanceService.waitInterval``."""

ROUTE_POLL = 30_000
"""Interval of route requests of clients and brokers: ``ClientConfig.pollNameServerInterval``."""

HEARTBEAT = 30_000
"""Interval of a client's heartbeats: ``ClientConfig.heartbeatBrokerInterval``."""

LOCK_RENEWAL = 20_000
"""Interval of a client's renewal of locks: ``ProcessQueue.REBALANCE_LOCK_INTERVAL``."""

LOCK_LIFE = 60_000
"""Time that a broker keeps a client's lock of a queue: ``RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME``."""

CHANNEL_SCAN = 10_000
"""Interval of a broker's scan for channels to drop: ``ClientHousekeepingService.start``."""

CHANNEL_EXPIRY = 120_000
"""Time after which a broker drops a channel without a heartbeat: ``BrokerConfig.channelExpiredTimeout``."""
