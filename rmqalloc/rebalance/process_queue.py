"""A client's state of one queue that it consumes."""

PULL_MAX_IDLE = 120_000
"""A queue not pulled for longer (ms) counts as stuck; ``rocketmq.client.pull.pullMaxIdleTime``."""

LOCK_MAX_LIVE = 30_000
"""A broker's lock not renewed for longer (ms) counts as lost; ``rocketmq.client.rebalance.lockMaxLiveTime``."""


class ProcessQueue:
    """A client's side of one queue: whether it is still owned, when it was pulled and locked, and its
    waiting messages.

    Times are milliseconds since the epoch, as `rmqalloc.remoting.clock.Clock` returns them.

    Parameters
    ----------
    now : int
        Time of creation, the initial value of all its times.

    Attributes
    ----------
    dropped : bool
        The client no longer owns the queue: work on it stops.
    locked : bool
        The broker's lock is held. True for every new queue, whether or not its group consumes in
        order.
    pulling : bool
        A loop of pulls is running, so the queue cannot be idle. For readers that do not report
        each pull.
    last_pull_timestamp, last_lock_timestamp : int
        When it was last pulled and last locked.
    try_unlock_times : int
        Removals that failed because messages were being consumed.
    n_messages, n_bytes : int
        Pulled messages that are not yet consumed.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.ProcessQueue``, without the messages themselves.

    Examples
    --------
    >>> process_queue = ProcessQueue(now=0)
    >>> process_queue.is_pull_expired(120_000), process_queue.is_pull_expired(120_001)
    (False, True)
    """

    __slots__ = (
        "_consumed_until",
        "_consuming",
        "dropped",
        "last_lock_timestamp",
        "last_pull_timestamp",
        "locked",
        "n_bytes",
        "n_messages",
        "pulling",
        "try_unlock_times",
    )

    def __init__(self, now: int) -> None:
        self.dropped = False
        self.locked = False
        self.pulling = False
        self.last_pull_timestamp = now
        self.last_lock_timestamp = now
        self.try_unlock_times = 0
        self.n_messages = 0
        self.n_bytes = 0
        self._consuming = False
        self._consumed_until: int | None = None

    def is_pull_expired(self, now: int) -> bool:
        """Return True if nothing was pulled for more than 120 s."""
        return not self.pulling and now - self.last_pull_timestamp > PULL_MAX_IDLE

    def is_lock_expired(self, now: int) -> bool:
        """Return True if the lock was not renewed for more than 30 s, so that consuming in order
        has to stop.
        """
        return now - self.last_lock_timestamp > LOCK_MAX_LIVE

    def add_messages(self, n_messages: int, n_bytes: int) -> None:
        """Count pulled messages."""
        self.n_messages += n_messages
        self.n_bytes += n_bytes

    def remove_messages(self, n_messages: int, n_bytes: int) -> None:
        """Count consumed messages; an empty queue has no bytes, whatever was reported."""
        self.n_messages -= n_messages
        self.n_bytes = self.n_bytes - n_bytes if self.n_messages else 0

    def begin_consuming(self, until: int | None = None) -> None:
        """Let the listener hold the consume lock while it works in order, until a known time or
        `end_consuming`.
        """
        self._consuming = True
        self._consumed_until = until

    def end_consuming(self) -> None:
        """Release the consume lock: the listener has returned."""
        self._consuming = False

    def takes_consume_lock(self, now: int, wait: int) -> bool:
        """Return True if the consume lock can be acquired within ``wait`` milliseconds.

        Time does not pass here: consuming that is known to end in time counts as ended, consuming with
        an unknown end as too late.
        """
        if not self._consuming:
            return True
        return self._consumed_until is not None and self._consumed_until <= now + wait


class PopProcessQueue:
    """A client's side of one queue whose messages it pops.

    Attributes
    ----------
    dropped, pulling : bool
        As in `ProcessQueue`.
    last_pop_timestamp : int
        When it was last popped, in milliseconds since the epoch.
    n_unacknowledged : int
        Popped messages that are not yet acknowledged.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.consumer.PopProcessQueue``.
    """

    __slots__ = ("dropped", "last_pop_timestamp", "n_unacknowledged", "pulling")

    def __init__(self, now: int) -> None:
        self.dropped = False
        self.pulling = False
        self.last_pop_timestamp = now
        self.n_unacknowledged = 0

    def is_pull_expired(self, now: int) -> bool:
        """Return True if nothing was popped for more than 120 s."""
        return not self.pulling and now - self.last_pop_timestamp > PULL_MAX_IDLE
