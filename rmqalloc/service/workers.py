"""Heavy answers on few threads: a fixed number runs, a fixed number waits, and further requests are
refused for now.

The threads are daemons: the end of the process does not wait for a plan.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from rmqalloc.errors import Error

T = TypeVar("T")


class BusyError(Error):
    """The maximum number of requests is running already."""


class Workers:
    """A few threads with a bounded queue.

    Parameters
    ----------
    n_threads : int
    most : int
        Maximum calls that run or wait.

    Examples
    --------
    >>> workers = Workers(1, 2)
    >>> workers.submit(lambda: 6 * 7).result()
    42
    >>> workers.close()
    """

    def __init__(self, n_threads: int, most: int) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._free = threading.BoundedSemaphore(most)
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(n_threads)]
        for one in self._threads:
            one.start()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run a call in a thread; raise `BusyError` if too many are running."""
        if not self._free.acquire(blocking=False):
            raise BusyError("the maximum number of requests is running; try again in a second")
        future: Future[T] = Future()
        self._calls.put(lambda: self._make(call, future))
        return future

    def _make(self, call: Callable[[], Any], future: Future[Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._free.release()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def close(self, seconds: float = 0.2) -> None:
        """End the idle threads, and wait for them up to a time."""
        for _ in self._threads:
            self._calls.put(None)
        for one in self._threads:
            one.join(seconds)
