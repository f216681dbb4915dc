"""How often a client does what."""

from dataclasses import dataclass

from rmqalloc import timers


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often a client does what, in milliseconds.

    Attributes
    ----------
    rebalance : int
        Passes that leave nothing undone (``rocketmq.client.rebalance.waitInterval``).
    route_poll : int
        Routes, first after 10 ms (``pollNameServerInterval``).
    heartbeat : int
        Heartbeats, first after 1 s (``heartbeatBrokerInterval``).
    persist : int
        Offsets, first after 10 s (``persistConsumerOffsetInterval``).
    lock : int
        Locks of ordered groups, first after 1 s (``rocketmq.client.rebalance.lockInterval``).
    """

    rebalance: int = timers.REBALANCE
    route_poll: int = timers.ROUTE_POLL
    heartbeat: int = timers.HEARTBEAT
    persist: int = 5_000
    lock: int = timers.LOCK_RENEWAL
