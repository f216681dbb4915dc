"""Locks of queues that are consumed in order: held by a client id, for a minute, in one broker's
memory.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rmqalloc.model import MessageQueue
from rmqalloc.remoting.clock import LOCK_LIFE, Clock

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Lock:
    client_id: str
    last_update: int


class RebalanceLockManager:
    """Locks of one broker, by group and queue. A lock belongs to a client id: two processes with
    one id both hold it.

    Parameters
    ----------
    clock : Clock
        Time.
    lock_max_live_time : int
        A lock not refreshed for longer (ms) may be taken over
        (``rocketmq.broker.rebalance.lockMaxLiveTime``).

    Notes
    -----
    ``org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager``. Java answers "locked" to a caller that is
    interrupted while it waits for the table; this class never waits.
    """

    def __init__(self, clock: Clock, lock_max_live_time: int = LOCK_LIFE) -> None:
        self._clock = clock
        self.lock_max_live_time = lock_max_live_time
        self._locks: dict[str, dict[MessageQueue, _Lock]] = {}

    def try_lock(self, consumer_group: str, queue: MessageQueue, client_id: str) -> bool:
        """Take or refresh one lock; False while another client id holds it."""
        locks = self._locks.setdefault(consumer_group, {})
        now = self._clock.now()
        lock = locks.get(queue)
        if lock is None:
            locks[queue] = _Lock(client_id, now)
            return True
        if lock.client_id != client_id:
            if not self._is_expired(lock, now):
                return False
            log.warning(
                "%s: %r takes over the expired lock of %r on %s",
                consumer_group,
                client_id,
                lock.client_id,
                queue,
            )
            lock.client_id = client_id
        lock.last_update = now
        return True

    def try_lock_batch(
        self, consumer_group: str, queues: Iterable[MessageQueue], client_id: str
    ) -> set[MessageQueue]:
        """Return those of the queues that ``client_id`` holds afterwards."""
        return {queue for queue in queues if self.try_lock(consumer_group, queue, client_id)}

    def unlock_batch(
        self, consumer_group: str, queues: Iterable[MessageQueue], client_id: str
    ) -> None:
        """Release locks, expired or not; locks of other clients stay."""
        locks = self._locks.get(consumer_group, {})
        for queue in queues:
            lock = locks.get(queue)
            if lock is not None and lock.client_id == client_id:
                del locks[queue]
            else:
                log.warning(
                    "%s: %r unlocks %s, which it does not hold", consumer_group, client_id, queue
                )

    def is_lock_all_expired(self, consumer_group: str) -> bool:
        """Return True if no lock of the group is in force."""
        now = self._clock.now()
        return all(
            self._is_expired(lock, now) for lock in self._locks.get(consumer_group, {}).values()
        )

    def _is_expired(self, lock: _Lock, now: int) -> bool:
        return now - lock.last_update > self.lock_max_live_time


def locked_by_quorum(
    locked_here: set[MessageQueue], locked_elsewhere: Iterable[set[MessageQueue]], n_replicas: int
) -> set[MessageQueue]:
    """Return the queues that enough replicas have locked, for brokers in strict mode
    (``lockInStrictMode``).

    Parameters
    ----------
    locked_here : set of MessageQueue
        Queues that the broker itself has locked; only these were requested elsewhere.
    locked_elsewhere : iterable of set of MessageQueue
        Answers of the remaining replicas that came in time.
    n_replicas : int
        All replicas, this broker included; more than half have to agree.

    Notes
    -----
    ``AdminBrokerProcessor.lockBatchMQ``. A lock that misses the quorum stays held where it was granted, until it expires.

    Examples
    --------
    >>> a, b = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)
    >>> [queue.queue_id for queue in locked_by_quorum({a, b}, [{a}], n_replicas=3)]
    [0]
    """
    votes = Counter(locked_here)
    for queues in locked_elsewhere:
        votes.update(queues & locked_here)
    return {queue for queue, n_votes in votes.items() if n_votes >= n_replicas // 2 + 1}
