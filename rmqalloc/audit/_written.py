"""Which queues of a topic are looked at: those that producers write to, or those that consumers see
as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rmqalloc.evidence.views.reported import WHOLE_BROKER
from rmqalloc.evidence.views.unit_views import Queues
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue, check_queue_count
from rmqalloc.snapshot.snapshot import Topic, TopicBroker
from rmqalloc.strategies.ordering import QueuesInOrder

Ids = Mapping[str, Sequence[int]]
"""Queue ids by broker, ascending."""


class WrittenBrokers:
    """The brokers of a topic, and of all others on equal ones: which queue ids are looked at.

    Attributes
    ----------
    visible : mapping of str to sequence of int
        Queue ids that consumers see, by broker.
    hidden : dict of str to mapping
        Those that they do not, by the reason.
    is_whole : bool
        Whether consumers see all queues that are written, and no others.
    n_queues : int
    """

    def __init__(self, brokers: Sequence[TopicBroker], with_read: bool = False) -> None:
        self.is_whole = all(_n_seen(one) == one.n_written_queues for one in brokers)
        self.n_queues = sum(max(one.n_written_queues, _n_seen(one)) for one in brokers)
        self.visible = _laid_out(
            (
                one.broker_name,
                range(_n_seen(one) if with_read else min(_n_seen(one), one.n_written_queues)),
            )
            for one in brokers
        )
        self.hidden: dict[str, Ids] = {}
        for reason, is_readable in (("no-permission", False), ("beyond-read-queues", True)):
            some = [one for one in brokers if one.is_readable == is_readable]
            if ids := _laid_out(
                (one.broker_name, range(_n_seen(one), one.n_written_queues)) for one in some
            ):
                self.hidden[reason] = ids


def _laid_out(queue_ids: Iterable[tuple[str, range]]) -> Ids:
    found: dict[str, Sequence[int]] = {}
    for name, its in queue_ids:
        if its:
            found[name] = sorted({*found[name], *its}) if name in found else its
    return found


class WrittenTopic:
    """The queues of a topic that producers write to, and ``with_read`` all others that consumers
    see.

    They are made when one of them is looked at.

    Attributes
    ----------
    visible : sequence of MessageQueue
        Those that consumers see, in Java's order.
    hidden : dict of str to sequence of MessageQueue
        Those that they do not, by the reason.
    unknown : str
        Why the route is not known, or not as it is now; empty if it is.
    """

    def __init__(self, route: Topic, laid_out: WrittenBrokers, seen: Queues | None = None) -> None:
        self._route, self.unknown = route, route.unknown.get("routes", "")
        self.visible: Sequence[MessageQueue]
        self.hidden: dict[str, Sequence[MessageQueue]] = {}
        if seen is not None and laid_out.is_whole:
            self.visible = seen
            return
        check_queue_count(route.name, laid_out.n_queues)
        self.visible = QueuesInOrder(route.name, laid_out.visible)
        for reason, ids in laid_out.hidden.items():
            self.hidden[reason] = QueuesInOrder(route.name, ids)

    @lazy_property
    def queues(self) -> frozenset[MessageQueue]:
        """All queues that are looked at."""
        return frozenset(self.visible).union(*self.hidden.values())

    def is_written(self, queue: MessageQueue) -> bool:
        """Return whether producers write to a queue."""
        return 0 <= queue.queue_id < self._written.get(queue.broker_name, 0)

    @lazy_property
    def _written(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in self._route.brokers:
            found[one.broker_name] = max(found.get(one.broker_name, 0), one.n_written_queues)
        return found

    def hiding(self, queue: MessageQueue) -> str | None:
        """Return why consumers do not see a queue, written or not; None if they do."""
        if is_in(self._readable, queue):
            return None
        if queue.broker_name in self._readable:
            return "beyond-read-queues"
        return "no-permission" if queue.broker_name in self._broker_names else "no-route"

    @lazy_property
    def _readable(self) -> dict[str, int]:
        return readable_counts(self._route)

    @lazy_property
    def _broker_names(self) -> frozenset[str]:
        return frozenset(one.broker_name for one in self._route.brokers)


def _n_seen(broker: TopicBroker) -> int:
    return broker.read_queue_nums if broker.is_readable else 0


def readable_counts(route: Topic) -> dict[str, int]:
    """Return the number of queues of a topic that consumers see, by broker."""
    found: dict[str, int] = {}
    for one in route.brokers:
        if one.is_readable:
            found[one.broker_name] = found.get(one.broker_name, 0) + one.read_queue_nums
    return found


def is_in(readable: Mapping[str, int], queue: MessageQueue) -> bool:
    """Return whether consumers see a queue, given the number of queues by broker; a client that
    pops may have any of a broker.
    """
    n = readable.get(queue.broker_name, 0)
    return n > 0 if queue.queue_id == WHOLE_BROKER else 0 <= queue.queue_id < n
