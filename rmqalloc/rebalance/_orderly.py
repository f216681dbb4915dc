"""What consuming in order asks of the rebalance: locks that are kept, and queues that are left
alone without one.
"""

from __future__ import annotations

from collections.abc import Callable

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._rebalance_impl import RebalanceImpl
from rmqalloc.rebalance._system_clock import FixedRate
from rmqalloc.rebalance.driving import Lane, Steps, logged
from rmqalloc.rebalance.process_queue import ProcessQueue
from rmqalloc.remoting import MessageModel

RETRY_LOCK_DELAY = 10
RESUME_DELAY_LOCKED = 10
RESUME_DELAY_UNLOCKED = 3_000
MAX_CONTINUOUS_CONSUMPTION = 60_000
"""One queue is consumed for that long (ms) at a stretch; ``rocketmq.client.maxTimeConsumeContinuously``."""


class OrderlyService:
    """Locks of an ordered group while its consumer runs; nothing for a broadcasting group.

    Parameters
    ----------
    impl : RebalanceImpl
        The group in this client.

    Attributes
    ----------
    lanes : list of Lane
        Lanes for the renewal of locks, once started; the first lane also runs delayed work.

    Notes
    -----
    The part of ``org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService`` that has to do with locks.
    """

    def __init__(self, impl: RebalanceImpl) -> None:
        self._impl = impl
        self.lanes: list[Lane] = []
        self._timers: list[FixedRate] = []
        self._stopped = False

    def start(self) -> None:
        """Renew all locks after 1 s and then every 20 s."""
        factory = self._impl.client_factory
        self.lanes = [Lane(factory.driver) for _ in range(factory.profile.lock_services)]
        if self._shares_queues:
            self._timers = [
                FixedRate(factory.clock, 1_000, factory.intervals.lock, self._impl.lock_all, lane)
                for lane in self.lanes
            ]

    def halt(self) -> None:
        """Stop renewals and the delayed work of `lock_later`; held locks stay until they expire."""
        self._stopped = True
        for timer in self._timers:
            timer.cancel()
        self._timers = []

    def shutdown(self) -> Steps[None]:
        """Stop like `halt` and unlock all queues."""
        self.halt()
        if self._shares_queues:
            yield from self._impl.unlock_all(oneway=False)

    def may_consume(self, process_queue: ProcessQueue) -> bool:
        """Return True if the broker's lock is held and not lost; without it consuming stops and
        `lock_later` is due.
        """
        if not self._shares_queues:
            return True
        return process_queue.locked and not process_queue.is_lock_expired(
            self._impl.client_factory.clock.now()
        )

    def may_go_on(self, since: int) -> bool:
        """Return True if consuming one queue since ``since`` (ms) may continue; else it pauses for 10
        ms.
        """
        return self._impl.client_factory.clock.now() - since <= MAX_CONTINUOUS_CONSUMPTION

    def lock_later(self, queue: MessageQueue, resume: Callable[[int], None]) -> None:
        """Lock a queue in 10 ms, then call ``resume(delay)``: 10 ms on success, else 3 s."""

        def lock() -> Steps[None]:
            if not self._stopped:
                resume(
                    RESUME_DELAY_LOCKED
                    if (yield from self._impl.lock(queue))
                    else RESUME_DELAY_UNLOCKED
                )

        lane, done = self.lanes[0], logged(f"locking {queue} again")
        self._impl.client_factory.call_later(RETRY_LOCK_DELAY, lambda: lane.do(lock(), done))

    @property
    def _shares_queues(self) -> bool:
        return self._impl.message_model is MessageModel.CLUSTERING
