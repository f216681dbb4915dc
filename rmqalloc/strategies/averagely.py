"""``AVG`` and ``AVG_BY_CIRCLE``: even shares by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rmqalloc._engine import split
from rmqalloc.fleet import Fleet
from rmqalloc.model import MessageQueue, Queue, queue_fields
from rmqalloc.strategies.base import ExclusiveStrategy, Owners, position_of
from rmqalloc.strategies.parallel import even_cuts, in_threads

SMALL = 1024  # queues of a group whose owners are worth keeping
LEAST_QUEUES = 1 << 22  # queues that are worth a thread: half a millisecond and more, most of it waiting for memory

Kernel = Callable[..., None]


class ByPosition(ExclusiveStrategy):
    """Shares that depend on the number of queues and the place of the client alone."""

    _vacate: Kernel
    _takes_empty = True

    def _repair(self, fleet: Fleet, out: Owners) -> None:
        """Leave the shares of repeated and empty client ids to nobody: their second slots ask under the first one's name."""
        if not fleet.is_regular:
            odd = fleet.irregular
            first, places = odd.vacant
            self._vacate(odd.units, odd.unit_list, fleet.queue_offsets, fleet.n_clients, first, places, out)


class Even(ByPosition):
    """A kernel over all queues of a unit."""

    _kernel: Kernel

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        for queue in mq_all:
            if type(queue) is not MessageQueue:
                queue_fields(queue)
        # Ids beyond ASCII may be equal though Python calls them different, so they take the long way.
        if len(set(cid_all)) < len(cid_all) or "" in cid_all or not all(map(str.isascii, cid_all)):
            return super()._group_owners(mq_all, cid_all)
        make = _kept if len(mq_all) <= SMALL else _made
        return make(self._kernel, len(mq_all), len(cid_all)).copy()

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        offsets, n_clients, kernel = fleet.queue_offsets, fleet.n_clients, self._kernel
        bounds = even_cuts(offsets, threads, LEAST_QUEUES)
        in_threads(lambda start, stop: kernel(offsets[start : stop + 1], n_clients[start:stop], out), bounds)
        self._repair(fleet, out)


def _made(kernel: Kernel, n_queues: int, n_clients: int) -> Owners:
    """Owners of one group without repeats."""
    owners = np.empty(n_queues, np.int32)
    kernel(np.array([0, n_queues], np.int64), np.array([n_clients], np.int32), owners)
    return owners


# They depend on two numbers only, and a client asks for the same few all its life.
_kept = lru_cache(maxsize=1024)(_made)


class Averagely(Even):
    """Contiguous blocks in client order; the first ``n mod m`` clients take one more.

    Notes
    -----
    ``AllocateMessageQueueAveragely``. With fewer queues than clients the first clients take one each.

    Examples
    --------
    >>> Averagely().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 1), ('t', 'b', 2)]
    """

    _kernel = staticmethod(split.contiguous)
    _vacate = staticmethod(split.vacate_contiguous)

    def get_name(self) -> str:
        """Java's ``getName()`` text: ``AVG``."""
        return "AVG"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Queues of one client; see `Strategy.allocate`."""
        position = position_of(current_cid, mq_all, cid_all)
        if position < 0:
            return []
        size, extra = divmod(len(mq_all), len(cid_all))
        start = position * size + min(position, extra)
        return list(mq_all[start : start + size + (position < extra)])


class AveragelyByCircle(Even):
    """Queue after queue to client after client, round and round.

    Notes
    -----
    ``AllocateMessageQueueAveragelyByCircle``.

    Examples
    --------
    >>> AveragelyByCircle().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 2), ('t', 'b', 4)]
    """

    _kernel = staticmethod(split.circular)
    _vacate = staticmethod(split.vacate_circular)

    def get_name(self) -> str:
        """Java's ``getName()`` text: ``AVG_BY_CIRCLE``."""
        return "AVG_BY_CIRCLE"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Queues of one client; see `Strategy.allocate`."""
        position = position_of(current_cid, mq_all, cid_all)
        return list(mq_all[position :: len(cid_all)]) if position >= 0 else []
