"""``CONFIG``: the queues somebody wrote down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.model import SharedAssignment
from rmqalloc.strategies.base import SharingStrategy
from rmqalloc.strategies.ordering import sort_client_ids


class Config(SharingStrategy):
    """A fixed list of queues, for every client that is configured with it.

    Parameters
    ----------
    message_queues : list of queues, optional
        Returned as is, the very object; ``None`` where unset.

    Notes
    -----
    ``AllocateMessageQueueByConfig``: no validation, nothing is read but the list.

    Examples
    --------
    >>> Config([("t", "b", 0)]).allocate("g", "x", [], [])
    [('t', 'b', 0)]
    """

    _instead = (
        "CONFIG gives every client the same list, so a queue has no single owner; use assign or allocate per group"
    )

    def __init__(self, message_queues: list[Any] | None = None) -> None:
        self.message_queues = message_queues

    def get_name(self) -> str:
        """Java's ``getName()`` text: ``CONFIG``."""
        return "CONFIG"

    def allocate(
        self, consumer_group: str, current_cid: str | None, mq_all: Sequence[Any] | None, cid_all: Sequence[str] | None
    ) -> list[Any] | None:
        """The configured list itself, whoever asks."""
        return self.message_queues

    def assign(self, mq_all: Sequence[Any] | None, cid_all: Sequence[str], sort: bool = False) -> SharedAssignment:
        """The configured list for every client; see `SharedAssignment`."""
        check_client_ids(cid_all)
        client_ids = sort_client_ids(cid_all) if sort else cid_all
        return SharedAssignment([self.message_queues for _ in client_ids], {}, client_ids)
