"""Process queues that report when they are dropped or their lock changes, so that nobody has to
look at all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rmqalloc.rebalance import ProcessQueue, RebalancePush


def _watched(name: str) -> Any:
    """Return an attribute of `ProcessQueue` that reports when it is set, whoever sets it."""
    slot = getattr(ProcessQueue, name)

    def set_and_tell(queue: _WatchedQueue, value: Any) -> None:
        slot.__set__(queue, value)
        queue._watcher()

    return property(slot.__get__, set_and_tell)


class WatchableQueue(ProcessQueue):
    """A process queue that somebody may hear of: while it is watched, and only then, it is one of a
    class that tells.

    Examples
    --------
    >>> queue, heard = WatchableQueue(now=0), []
    >>> queue.watch(lambda: heard.append(queue.dropped))
    >>> queue.pulling = True
    >>> queue.dropped = True
    >>> heard
    [True]
    """

    __slots__ = ("_watcher",)

    _watcher: Callable[[], object]

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call ``watcher`` after ``dropped``, ``locked`` or ``last_lock_timestamp`` was set."""
        self._watcher = watcher
        self.__class__ = _WatchedQueue

    def unwatch(self) -> None:
        """Call it no longer."""
        self.__class__ = WatchableQueue


class _WatchedQueue(WatchableQueue):
    __slots__ = ()

    dropped: bool = _watched("dropped")
    locked: bool = _watched("locked")
    last_lock_timestamp: int = _watched("last_lock_timestamp")


class WatchedRebalance(RebalancePush):
    """A rebalance whose process queues can be watched."""

    def create_process_queue(self) -> ProcessQueue:
        """Return a `WatchableQueue`."""
        return WatchableQueue(self.client_factory.clock.now())
