"""Recognise groups that own exactly the queues that one strategy gives them, by their reports and
the share of queues that the strategy explains.
"""

from __future__ import annotations

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Group, Topic
from rmqalloc.snapshot.unknown import Unknowns

_Owned = frozenset[MessageQueue]

_DECIDING = ("clients", "owners", "brokers")
"""Kinds of facts without which it is not known that nobody else owns a queue."""


class OwnedAsComputed:
    """Compares the reports of many groups with their strategies without computing owners.

    Parameters
    ----------
    unknown : Unknowns
        Unknown facts of the snapshot.
    """

    def __init__(self, unknown: Unknowns) -> None:
        self._unknown = unknown
        self._owned: dict[str, _Owned | None] = {}
        self._queues: dict[str, _Owned] = {}

    def is_known(self, group: Group) -> bool:
        """Return True if all clients of a group report their queues, and all clients are known; one
        report counts for all clients with the same id.
        """
        return self._owned_by(group) is not None

    def otherwise(self, group: Group, topic: Topic) -> bool:
        """Return True if all clients report, and a queue of the topic may not have the owner that
        the group's strategy gives it.
        """
        owned = self._owned_by(group)
        if owned is None:
            return False
        n_queues = sum(broker.read_queue_nums for broker in topic.brokers if broker.is_readable)
        if n_queues > len(owned):
            return True
        if topic.name not in self._queues:
            self._queues[topic.name] = frozenset(topic.queues())
        return not self._queues[topic.name] <= owned

    def _owned_by(self, group: Group) -> _Owned | None:
        """Return the reported queues if the strategy explains them all, else no queues; None unless
        all clients report.
        """
        if group.name not in self._owned:
            owned = _explained(group)
            is_known = owned is None or not any(
                self._unknown.why(kind, group.name) for kind in _DECIDING
            )
            self._owned[group.name] = owned if is_known else None
        return self._owned[group.name]


def _explained(group: Group) -> _Owned | None:
    reporting = [client for client in group.clients if client.owned is not None]
    if not reporting or not {client.client_id for client in reporting}.issuperset(group.client_ids):
        return None
    owned = [client.owned or () for client in reporting]
    queues = _Owned().union(*owned)
    is_computed = group.strategy_explains == 1.0 and len(queues) == sum(map(len, owned))
    return queues if is_computed else _Owned()
