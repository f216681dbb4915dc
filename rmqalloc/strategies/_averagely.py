"""``AVG`` and ``AVG_BY_CIRCLE``: even shares by position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rmqalloc._engine import split
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets
from rmqalloc.model import MessageQueue, Queue, queue_fields
from rmqalloc.strategies._parallel import even_cuts, in_threads
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners, position_of
from rmqalloc.strategies.formula import INTEGERS, Arithmetic, Formula

KEPT_QUEUES = 1024  # queues of a group whose owners are worth keeping
LEAST_QUEUES = (
    1 << 22
)  # queues that are worth a thread: half a millisecond and more, most of it waiting for memory

Kernel = Callable[..., None]


class Even(ExclusiveStrategy):
    """Shares that depend on the number of queues and the place of the client alone: a kernel over
    all queues of a unit.
    """

    decided_by = "counts"
    reads_topic = False
    guesses = ({},)
    is_server_side = True

    _kernel: Kernel
    _vacate: Kernel
    _takes_empty = True

    def _owners_by_count(self, queue_offsets: Offsets, n_clients: Index, out: Owners) -> None:
        """Write the owners by the kernel."""
        self._kernel(queue_offsets, n_clients, out)

    def _repair(self, fleet: Fleet, out: Owners) -> None:
        """Mark as unowned the shares of repeated and empty ids: a second holder of an id looks up
        the position of the first.
        """
        if not fleet.is_regular:
            odd = fleet.irregular
            first, places = odd.vacant
            self._vacate(
                odd.units, odd.unit_list, fleet.queue_offsets, fleet.n_clients, first, places, out
            )

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        for queue in mq_all:
            if type(queue) is not MessageQueue:
                queue_fields(queue)
        # Ids beyond ASCII may be equal though Python calls them different, so they take the long
        # way.
        if len(set(cid_all)) < len(cid_all) or "" in cid_all or not all(map(str.isascii, cid_all)):
            return super()._group_owners(mq_all, cid_all)
        make = _kept if len(mq_all) <= KEPT_QUEUES else _made
        return make(self._kernel, len(mq_all), len(cid_all)).copy()

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        offsets, n_clients, kernel = fleet.queue_offsets, fleet.n_clients, self._kernel
        bounds = even_cuts(offsets, threads, LEAST_QUEUES)
        in_threads(
            lambda start, stop: kernel(offsets[start : stop + 1], n_clients[start:stop], out),
            bounds,
        )
        self._repair(fleet, out)


def _made(kernel: Kernel, n_queues: int, n_clients: int) -> Owners:
    """Return the owners of one group without repeats."""
    owners = np.empty(n_queues, np.int32)
    kernel(np.array([0, n_queues], np.int64), np.array([n_clients], np.int32), owners)
    return owners


# They depend on two numbers only, and a client asks for the same few all its life.
_kept = lru_cache(maxsize=1024)(_made)


def _blocks(n_queues: int, n_clients: int) -> list[int]:
    """Return where the block of each client begins, and the end of the last, by the owners that the
    kernel writes.
    """
    owners = _made(split.contiguous, n_queues, n_clients)
    begins: list[int] = np.searchsorted(owners, np.arange(n_clients + 1)).tolist()
    return begins


_kept_blocks = lru_cache(maxsize=1024)(_blocks)
_kept_large_blocks = lru_cache(maxsize=4)(_blocks)


def _in_blocks(arithmetic: Arithmetic, queue: Any, n_queues: Any, n_clients: Any) -> Any:
    """Return the position of the client whose block a queue is in.

    The first clients have blocks of ``size + 1``. Counted in those a queue comes to a greater
    position than counted in the blocks behind them as long as it is in front, and to a lesser one
    from there on.
    """
    size, extra = arithmetic.div(n_queues, n_clients), n_queues % n_clients
    behind = arithmetic.div(queue - extra, arithmetic.greatest(size, 1))
    return arithmetic.greatest(arithmetic.div(queue, size + 1), behind)


def _in_circles(arithmetic: Arithmetic, queue: Any, n_queues: Any, n_clients: Any) -> Any:
    """Return the client position of a queue: ``queue mod n_clients``."""
    return queue % n_clients


class Averagely(Even, name="AVG"):
    """Contiguous blocks in client order; the first ``n mod m`` clients take one more queue.

    Notes
    -----
    ``AllocateMessageQueueAveragely``. With fewer queues than clients, the first clients take one
    queue each.

    Examples
    --------
    >>> Averagely().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 1), ('t', 'b', 2)]
    """

    # Both strategies of this family give a client equally many queues, so blocks are rounds in
    # order.
    formula = Formula(_in_blocks, "sorted")
    weighed = ({},)
    _kernel = staticmethod(split.contiguous)
    _vacate = staticmethod(split.vacate_contiguous)

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``AVG``."""
        return "AVG"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Return queues of one client; see `Strategy.allocate`."""
        if type(mq_all) is list:  # which another thread may change between two looks, as the other
            mq_all = tuple(mq_all)
        if type(cid_all) is list:
            cid_all = tuple(cid_all)
        position = position_of(current_cid, mq_all, cid_all)
        if position < 0:
            return []
        kept = _kept_blocks if len(cid_all) <= KEPT_QUEUES else _kept_large_blocks
        blocks = kept(len(mq_all), len(cid_all))
        return [*mq_all[blocks[position] : blocks[position + 1]]]

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return blocks of equal size, the first few one longer."""
        n, m, reasons = len(queues), len(client_ids), Reasons()
        size, extra = divmod(n, m)
        blocks = _blocks(n, m)
        client = bisect_right(blocks, position) - 1
        start, behind = blocks[client], blocks[client + 1]
        few = "the first client takes" if extra == 1 else f"the first {extra} clients take"
        more = f", and {few} 1 more" if extra else ""
        reasons.say(
            f"{n} queues = {m} clients × {size} + {extra}: each client takes {size}{more}",
            size=size,
            extra=extra,
        )
        reasons.say(
            f"client {client_ids[client]} is client number {client} (from 0) and starts at queue number "
            f"{client} × {size} + {min(client, extra)} = {start}: "
            f"it takes queues {start} to {behind - 1}, including this queue",
            client_place=client, first=start, length=behind - start,
        )  # fmt: skip
        reasons.check_id(client_ids, client)
        return reasons


class AveragelyByCircle(Even, name="AVG_BY_CIRCLE"):
    """Queues go to the clients in turn: queue ``i`` to client ``i mod m``.

    Notes
    -----
    ``AllocateMessageQueueAveragelyByCircle``.

    Examples
    --------
    >>> AveragelyByCircle().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 2), ('t', 'b', 4)]
    """

    formula = Formula(_in_circles, "in turn")
    _kernel = staticmethod(split.circular)
    _vacate = staticmethod(split.vacate_circular)

    def get_name(self) -> str:
        """Return Java's ``getName()`` text: ``AVG_BY_CIRCLE``."""
        return "AVG_BY_CIRCLE"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Return queues of one client; see `Strategy.allocate`."""
        if (
            type(cid_all) is list
        ):  # which another thread may change between two looks; at the queues there is one
            cid_all = tuple(cid_all)
        position = position_of(current_cid, mq_all, cid_all)
        return list(mq_all[position :: len(cid_all)]) if position >= 0 else []

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the queue's place modulo the number of clients.

        Examples
        --------
        >>> AveragelyByCircle().explain([MessageQueue("t", "b", i) for i in range(7)], ["x", "y"], 5).steps
        ['the queue is number 5 of 7 (from 0): 5 mod 2 clients = 1, client y']
        """
        m, reasons = len(client_ids), Reasons()
        client = _in_circles(INTEGERS, position, len(queues), m)
        sums = f"{position} mod {m} clients = {client}, client {client_ids[client]}"
        reasons.say(
            f"the queue is number {position} of {len(queues)} (from 0): {sums}", client_place=client
        )
        reasons.check_id(client_ids, client)
        return reasons
