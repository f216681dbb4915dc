"""The port to time: both halves of a rebalance run on one clock, virtual or real. Below it
RocketMQ's timers.
"""

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


# RocketMQ's timers that several rooms know, in milliseconds, with the Java field or property whose
# default each is.
#
# What differs between releases stands in `rmqalloc.remoting.Profile`; a timer that one file alone
# knows stands in that file.

REBALANCE = 20_000
"""A client's passes that leave nothing undone: ``RebalanceService.waitInterval``."""

ROUTE_POLL = 30_000
"""Routes, by clients and by brokers: ``ClientConfig.pollNameServerInterval``."""

HEARTBEAT = 30_000
"""Heartbeats of a client: ``ClientConfig.heartbeatBrokerInterval``."""

LOCK_RENEWAL = 20_000
"""A client renews the locks of ordered groups: ``ProcessQueue.REBALANCE_LOCK_INTERVAL``."""

LOCK_LIFE = 60_000
"""A broker keeps a client's lock of a queue: ``RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME``."""

CHANNEL_SCAN = 10_000
"""A broker looks for channels to drop: ``ClientHousekeepingService.start``."""

CHANNEL_EXPIRY = 120_000
"""A broker drops a channel without a heartbeat: ``BrokerConfig.channelExpiredTimeout``."""
