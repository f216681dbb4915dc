"""One group by one kernel that reads its objects: what a client that rebalances asks for, again and
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rmqalloc.strategies.base import ExclusiveStrategy, Owners


class DividesOneGroup(ExclusiveStrategy):
    """A strategy with a kernel for one group of plain objects; all others go the way of fleets."""

    def _divide(
        self,
        queues: tuple[Any, ...],
        client_ids: tuple[str, ...],
        position: int,
        out: Owners | None,
    ) -> list[Any] | int | None:
        """Return the queues of one client, or write all owners to `out`; None if the kernel does
        not take the group.
        """
        return None

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        queues, client_ids = tuple(mq_all), tuple(cid_all)  # the kernel reads them twice
        out = np.empty(len(queues), np.int32)
        return (
            super()._group_owners(queues, client_ids)
            if self._divide(queues, client_ids, -1, out) is None
            else out
        )

    def _queues_of(self, position: int, mq_all: Sequence[Any], cid_all: Sequence[str]) -> list[Any]:
        if not isinstance(cid_all, str):  # which is no list of client ids
            found = self._divide(tuple(mq_all), tuple(cid_all), position, None)
            if isinstance(found, list):
                return found
        return super()._queues_of(position, mq_all, cid_all)
