"""A client's view of a topic: the queues, client list and strategy with which it rebalances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.method import Method
from rmqalloc.model import MessageQueue
from rmqalloc.strategies.dialects import JAVA

Shares = dict[str, set[MessageQueue]]
"""Queues by client id."""


@dataclass(eq=False)
class View:
    """The queues, the client list and the strategy that some clients of a group have for one topic."""

    consumer_group: str
    topic: str
    method: Method
    queues: tuple[MessageQueue, ...]  # queues that they see, in Java's order
    client_ids: tuple[str, ...]  # client list that a broker gave them, in Java's order
    # The route by which they see these queues, if it is not the name server's
    read_queue_nums: Mapping[str, int] | None = None
    # In which they compute a strategy that their group is given, as `ViewReader.views_of`
    # distinguishes dialects.
    dialect: str = JAVA
    # Queues of each client by this view, once they have been computed; see
    # `rmqalloc.evaluation.groups_with_views`.
    shares: Shares = field(default_factory=dict)
    # Whether any client that asks gets all queues, listed or not: POP with a ``popShareQueueNum``
    # of 0 or less, or of all other clients
    is_for_anyone: bool = False
    problem: str | None = None  # why the shares cannot be computed

    def share(self, client_id: str) -> set[MessageQueue]:
        """Return the queues of a client that has this view."""
        return set(self.queues) if self.is_for_anyone else self.shares.get(client_id, set())
