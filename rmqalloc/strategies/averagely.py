"""``AVG`` and ``AVG_BY_CIRCLE``: even shares by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rmqalloc._engine import split
from rmqalloc.fleet import Fleet
from rmqalloc.strategies.base import Owners, Strategy, position_of


class ByPosition(Strategy):
    """Shares that depend on the number of queues and the place of the client alone."""

    def _repair(self, fleet: Fleet, out: Owners) -> None:
        """Leave the shares of repeated and empty client ids to nobody: their second slots ask under the first one's name."""
        if not fleet.is_regular:
            clients = fleet.client_lists
            places = np.arange(len(clients.client_ids)) - np.repeat(clients.offsets[:-1], np.diff(clients.offsets))
            mine = (clients.first == places) & ~clients.empty_id
            split.rename(fleet.queue_offsets, fleet.slot_starts, np.where(mine, clients.first, np.int32(-1)), out)


class Averagely(ByPosition):
    """Contiguous blocks in client order; the first ``n mod m`` clients take one more.

    Notes
    -----
    ``AllocateMessageQueueAveragely``. With fewer queues than clients the first clients take one each.

    Examples
    --------
    >>> Averagely().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 1), ('t', 'b', 2)]
    """

    def get_name(self) -> str:
        """Java's ``getName()`` text: ``AVG``."""
        return "AVG"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]:
        """Queues of one client; see `Strategy.allocate`."""
        position = position_of(current_cid, mq_all, cid_all)
        if position < 0:
            return []
        size, extra = divmod(len(mq_all), len(cid_all))
        start = position * size + min(position, extra)
        return list(mq_all[start : start + size + (position < extra)])

    def _owners(self, fleet: Fleet, out: Owners) -> None:
        split.contiguous(fleet.queue_offsets, fleet.n_clients, out)
        self._repair(fleet, out)


class AveragelyByCircle(ByPosition):
    """Queue after queue to client after client, round and round.

    Notes
    -----
    ``AllocateMessageQueueAveragelyByCircle``.

    Examples
    --------
    >>> AveragelyByCircle().allocate("g", "x", [("t", "b", i) for i in range(5)], ["x", "y"])
    [('t', 'b', 0), ('t', 'b', 2), ('t', 'b', 4)]
    """

    def get_name(self) -> str:
        """Java's ``getName()`` text: ``AVG_BY_CIRCLE``."""
        return "AVG_BY_CIRCLE"

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]:
        """Queues of one client; see `Strategy.allocate`."""
        position = position_of(current_cid, mq_all, cid_all)
        return list(mq_all[position :: len(cid_all)]) if position >= 0 else []

    def _owners(self, fleet: Fleet, out: Owners) -> None:
        split.circular(fleet.queue_offsets, fleet.n_clients, out)
        self._repair(fleet, out)
