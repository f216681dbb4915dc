"""The call of a strategy in a rebalance, as a function that a faster function can replace."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from rmqalloc.errors import ArgumentTypeError, Error
from rmqalloc.model import MessageQueue
from rmqalloc.strategies import Strategy, sort_client_ids, sort_queues

Allocate = Callable[
    [Strategy, str, str, Collection[MessageQueue], Sequence[str]], Sequence[Any] | None
]
"""``allocate(strategy, consumer_group, current_cid, mq_all, cid_all)``: queues of one client, of unsorted lists.

``mq_all`` is the client's route view, a frozenset that clients with one `RouteViews` share; ``cid_all`` is the broker's
answer. So clients with equal views can be served from one allocation of the whole group. It raises `UnsortableError` if the
lists have no order, and any error of the strategy.
"""


class UnsortableError(Error):
    """Queues or client ids have no order, so no strategy was called; Java fails the whole topic's
    pass.
    """


def sorted_allocate(
    strategy: Strategy,
    consumer_group: str,
    current_cid: str,
    mq_all: Collection[MessageQueue],
    cid_all: Sequence[str],
) -> Sequence[Any] | None:
    """Sort both lists in Java's order and call the strategy for one client; see `Allocate`.

    Raises
    ------
    UnsortableError
        A client id is null, or one of several queues has a null topic or broker name.
    ValueError, TypeError
        The strategy raises it.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> queues = frozenset(MessageQueue("t", "b", i) for i in range(4))
    >>> [queue.queue_id for queue in sorted_allocate(strategy("AVG"), "g", "x", queues, ["y", "x"])]
    [0, 1]
    """
    try:
        queues, client_ids = sort_queues(mq_all), sort_client_ids(cid_all)
    except ArgumentTypeError as error:
        raise UnsortableError(str(error)) from error
    return strategy.allocate(consumer_group, current_cid, queues, client_ids)
