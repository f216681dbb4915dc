"""Work on several threads. Kernels release the interpreter lock, so threads are all it takes.

Threads live for one call: nothing is left behind that a forked child could inherit half-alive. Work
comes in steps of well below a second, for Python hears of Ctrl-C between calls only, and a thread
can be stopped there only. They are started by `_thread`, for to import `concurrent.futures`, with
`logging`, takes a fourth of what to import this package does.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError

THREADS_VARIABLE = "RMQALLOC_THREADS"


def n_threads(threads: int | None) -> int:
    """Return how many threads to use: those asked for, else what the environment variable
    RMQALLOC_THREADS says, else one.
    """
    if threads is None:
        given = os.environ.get(THREADS_VARIABLE, "1")
        if not given.isdecimal() or int(given) < 1:
            raise ArgumentError(
                f"environment variable {THREADS_VARIABLE} must be a number above zero, got {given!r}"
            )
        return int(given)
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise ArgumentTypeError(f"threads must be an integer, got {threads!r}")
    if threads < 1:
        raise ArgumentError(f"threads must be above zero, got {threads}")
    return int(threads)


def even_cuts(cost_before: NDArray[Any], parts: int, least: int = 1) -> list[int]:
    """Cut items into parts of about equal cost, none of them too small to be worth a thread.

    Examples
    --------
    >>> even_cuts(np.array([0, 1, 2, 3, 13, 14]), 2)
    [0, 4, 5]
    """
    n_items = cost_before.size - 1
    cost = int(cost_before[-1] - cost_before[0])
    parts = min(parts, cost // least)
    if parts < 2:
        return sorted({0, n_items})
    # Whole numbers like the costs: a search for fractions would copy all costs first.
    goals = cost_before[0] + cost * np.arange(1, parts) // parts
    cuts = np.searchsorted(cost_before, goals).tolist()
    return sorted({0, *cuts, n_items})


def equal_parts(n_items: int, parts: int) -> list[int]:
    """Return the bounds of as many parts of about the same size, without empty ones."""
    return sorted({n_items * part // parts for part in range(parts + 1)})


def in_threads(work: Callable[[int, int], Iterable[None] | None], bounds: list[int]) -> None:
    """Do ``work(start, stop)`` for every part at once; the first error is raised when all have
    ended.

    Work that yields is done in steps, and is left undone between two of them when the call is
    interrupted, or another part has failed. The calling thread takes the first part itself: it has
    a processor already, a new thread has to find one.
    """
    halted: list[bool] = []

    def do(start: int, stop: int) -> None:
        for _ in work(start, stop) or ():
            if halted:
                return

    parts = list(pairwise(bounds))
    if len(parts) < 2:
        for part in parts:
            do(*part)
        return
    others: list[_Part] = []
    try:
        for part in parts[1:]:
            others.append(_Part(partial(do, *part)))
        do(*parts[0])
        for other in others:
            other.join()
            if other.error is not None:
                raise other.error
    except BaseException:
        halted.append(True)
        raise
    finally:
        for other in others:
            other.join()


class _Part:
    """Work in a thread of its own, and the error that it ended with."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._runs = _thread.allocate_lock()
        self._runs.acquire()
        _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.error = error
        finally:
            self._runs.release()

    def join(self) -> None:
        """Wait for its end."""
        with self._runs:
            pass
