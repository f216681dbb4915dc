"""What a client divides when it rebalances a topic, and by which strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rmqalloc.evidence.method import Method
from rmqalloc.model import MessageQueue
from rmqalloc.strategies.dialects import JAVA

Shares = dict[str, set[MessageQueue]]
"""Queues by client id."""


@dataclass(eq=False, slots=True)
class View:
    """The queues, the client list and the strategy that some clients of a group have for one topic.

    Attributes
    ----------
    consumer_group, topic : str
    method : Method
    queues : tuple of MessageQueue
        Queues that they see, in Java's order.
    client_ids : tuple of str
        Client list that a broker gave them, in Java's order.
    read_queue_nums : mapping of broker name to int, or None
        The route by which they see these queues, if it is not the name server's.
    dialect : str
        In which they compute a strategy that their group is given, told apart as `ViewReader.views_of` is told.
    shares : dict
        Queues of each client by this view, once they have been computed; see `rmqalloc.evaluation.shares`.
    is_for_anyone : bool
        Whether any client that asks gets all queues, be it listed or not: POP with a ``popShareQueueNum`` of 0 or less, or of
        all other clients.
    problem : str or None
        Why the shares cannot be computed.
    """

    consumer_group: str
    topic: str
    method: Method
    queues: tuple[MessageQueue, ...]
    client_ids: tuple[str, ...]
    read_queue_nums: Mapping[str, int] | None = None
    dialect: str = JAVA
    shares: Shares = field(default_factory=dict)
    is_for_anyone: bool = False
    problem: str | None = None

    def share(self, client_id: str) -> set[MessageQueue]:
        """The queues that a client gets that has this view."""
        return set(self.queues) if self.is_for_anyone else self.shares.get(client_id, set())
