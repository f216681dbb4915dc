"""Groups whose queues have readers and no owner: several clients read one by POP, by broadcasting
or behind a proxy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from rmqalloc.evidence.client_method import is_served
from rmqalloc.evidence.method import DEFAULT_STRATEGY
from rmqalloc.snapshot.snapshot import Client, Group

POP, BROADCASTING, PROXY = "POP", "BROADCASTING", "PROXY"
SHARED = (POP, BROADCASTING, PROXY)
"""Names that plans give in place of a strategy where a queue has readers and no owner."""


class Sharing(NamedTuple):
    """How the clients of a group share a topic."""

    name: str  # one of `SHARED`
    # ``popShareQueueNum``; None where every client reads all queues that it sees
    pop_share: int | None = None


def sharing_of(group: Group) -> Sharing | None:
    """Return how the clients of a group share its topics; None where each queue has one owner.

    Examples
    --------
    >>> sharing_of(Group("g", message_model="BROADCASTING"))
    Sharing(name='BROADCASTING', pop_share=None)
    >>> sharing_of(Group("g", server_assignment="POP", pop_share_queue_num=2))
    Sharing(name='POP', pop_share=2)
    """
    if group.message_model == BROADCASTING:
        return Sharing(BROADCASTING)
    if group.is_shared:
        return Sharing(PROXY)
    if group.server_assignment == "POP" and is_served(group):
        return Sharing(POP, group.pop_share_queue_num)
    return None


def as_read(group: Group, sharing: Sharing, clients: list[Client]) -> Group:
    """Reduce a group that shares its queues to what decides who reads them: topics, routes, and the
    strategy under POP.
    """
    if sharing.pop_share is not None:
        return replace(group, strategy=group.strategy or DEFAULT_STRATEGY, strategy_doubt=None)
    alike = [
        replace(client, strategy=None, virtual_nodes=None, language=None) for client in clients
    ]
    return replace(
        group,
        clients=tuple(alike),
        message_model="CLUSTERING",
        is_shared=False,
        server_assignment=None,
        broker_client_ids=None,
        strategy=DEFAULT_STRATEGY,
        strategy_params={},
        strategy_doubt=None,
    )
