"""Process queues that report when they are dropped or their lock changes, so that nobody has to look at all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rmqalloc.rebalance import ProcessQueue, RebalancePush


def _watched(name: str) -> Any:
    """Return an attribute of `ProcessQueue` that reports when it is set, whoever sets it."""
    slot = getattr(ProcessQueue, name)

    def set_and_tell(queue: WatchedQueue, value: Any) -> None:
        slot.__set__(queue, value)
        if queue.watcher is not None:
            queue.watcher()

    return property(slot.__get__, set_and_tell)


class WatchedQueue(ProcessQueue):
    """A process queue with somebody who hears of it.

    Attributes
    ----------
    watcher : callable or None
        Called after ``dropped``, ``locked`` or ``last_lock_timestamp`` was set.

    Examples
    --------
    >>> queue, heard = WatchedQueue(now=0), []
    >>> queue.watcher = lambda: heard.append(queue.dropped)
    >>> queue.pulling = True
    >>> queue.dropped = True
    >>> heard
    [True]
    """

    __slots__ = ("watcher",)

    watcher: Callable[[], object] | None
    dropped: bool = _watched("dropped")
    locked: bool = _watched("locked")
    last_lock_timestamp: int = _watched("last_lock_timestamp")

    def __init__(self, now: int) -> None:
        self.watcher = None
        super().__init__(now)


class WatchedRebalance(RebalancePush):
    """A rebalance whose process queues can be watched."""

    def create_process_queue(self) -> ProcessQueue:
        """Return a `WatchedQueue`."""
        return WatchedQueue(self.client_factory.clock.now())
