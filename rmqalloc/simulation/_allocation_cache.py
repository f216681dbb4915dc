"""One allocation of a group for all its clients: equal views are divided once, and each client
takes its slice.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

from rmqalloc.errors import ArgumentTypeError, Error
from rmqalloc.model import Assignment, MessageQueue
from rmqalloc.rebalance import UnsortableError, sorted_allocate
from rmqalloc.strategies import Strategy, sort_client_ids, sort_queues

KEPT = 64

Value = TypeVar("Value")
Slices = dict[str, tuple[Any, ...]]


class SharedAllocation:
    """Answer as `rmqalloc.rebalance.sorted_allocate` does, from one division of the whole group; an
    ``Allocate``.

    Route views and lists of client ids are known by identity, as name servers and brokers hand out
    the same object until something changes; lists of equal clients are then one view, whichever
    broker made them.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> queues, allocate = frozenset(MessageQueue("t", "b", i) for i in range(4)), SharedAllocation()
    >>> [queue.queue_id for queue in allocate(strategy("AVG"), "g", "x", queues, ["y", "x"])]
    [0, 1]
    """

    def __init__(self) -> None:
        self._queues: OrderedDict[Hashable, tuple[object, list[MessageQueue]]] = OrderedDict()
        self._client_ids: OrderedDict[Hashable, tuple[object, tuple[str, ...]]] = OrderedDict()
        self._equal: OrderedDict[Hashable, tuple[object, tuple[str, ...]]] = OrderedDict()
        self._slices: OrderedDict[Hashable, tuple[object, Slices | None]] = OrderedDict()
        self._shares: OrderedDict[Hashable, tuple[object, Slices | None]] = OrderedDict()

    def __call__(
        self,
        strategy: Strategy,
        consumer_group: str,
        current_cid: str,
        mq_all: Collection[MessageQueue],
        cid_all: Sequence[str],
    ) -> Sequence[Any] | None:
        """Return the queues of one client, of unsorted lists; unusual cases are left to
        ``sorted_allocate``.
        """
        known = self._shares.get((id(strategy), id(mq_all), id(cid_all)))
        slices = self._divided(strategy, mq_all, cid_all) if known is None else known[1]
        if slices is None or not current_cid or not current_cid.isascii():
            return sorted_allocate(strategy, consumer_group, current_cid, mq_all, cid_all)
        return slices.get(current_cid, ())

    def _divided(
        self, strategy: Strategy, mq_all: Collection[MessageQueue], cid_all: Sequence[str]
    ) -> Slices | None:
        """Return the queues of every client; a view that equals a known one is divided as that was."""
        try:
            queues = _kept(self._queues, id(mq_all), mq_all, lambda: sort_queues(mq_all))
            client_ids = _kept(
                self._client_ids, id(cid_all), cid_all, lambda: self._sorted_ids(cid_all)
            )
        except ArgumentTypeError as error:
            raise UnsortableError(str(error)) from error
        key, sources = (id(strategy), id(queues), id(client_ids)), (strategy, queues, client_ids)
        slices = _kept(self._slices, key, sources, lambda: _divided(strategy, queues, client_ids))
        given, source = (id(strategy), id(mq_all), id(cid_all)), (strategy, mq_all, cid_all)
        return _kept(self._shares, given, source, lambda: slices)

    def _sorted_ids(self, cid_all: Sequence[str]) -> tuple[str, ...]:
        """Return the ids in order; equal lists are one object, so that they too are known by
        identity.
        """
        client_ids = tuple(sort_client_ids(cid_all))
        return _kept(self._equal, client_ids, None, lambda: client_ids)


def _kept(
    cache: OrderedDict[Hashable, tuple[object, Value]],
    key: Hashable,
    source: object,
    make: Callable[[], Value],
) -> Value:
    """Return the value of a key, made if it is missing; its source is kept alive, so that no other
    gets its identity.
    """
    found = cache.get(key)
    if found is not None:
        return found[1]
    made = make()
    cache[key] = source, made
    if len(cache) > KEPT:
        cache.popitem(last=False)
    return made


def _divided(
    strategy: Strategy, queues: list[MessageQueue], client_ids: tuple[str, ...]
) -> Slices | None:
    """Return the queues of every client; None where the strategy has no one answer for all."""
    if strategy.is_shared:
        return None
    try:
        assignment = strategy.assign(queues, client_ids)
    except Error:
        return None
    assert isinstance(assignment, Assignment)
    slices: dict[str, list[Any]] = {}
    for queue, owner in zip(queues, assignment.owners.tolist(), strict=True):
        if owner >= 0:
            slices.setdefault(client_ids[owner], []).append(queue)
    return {client_id: tuple(mine) for client_id, mine in slices.items()}
