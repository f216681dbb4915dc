"""``ROTATED/1-<inner>``: another client comes first in every topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Index, Strings, lengths_of, list_positions, offsets_of, ranges
from rmqalloc.strategies._numbers import Numbers, java_hashes, mix64, topic_hashes
from rmqalloc.strategies._over import INNER, ExclusiveOver, Share
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts
from rmqalloc.strategies.base import Inner, Strategy


class Rotated(ExclusiveOver[Inner], name="ROTATED/1"):
    """The inner strategy gets a rotated client list; the topic decides which client comes first.

    The extra queues after even shares go to the first clients of the list, so they load the same
    clients in a group of many topics with few queues each. With another first client in every
    topic, they are spread over all clients.

    Notes
    -----
    Of n clients the client at ``((mix64(hash(topic)) >>> 32) * n) >>> 32`` comes first: ``hash`` is Java's ``String.hashCode``,
    ``mix64`` is SplitMix64's finalizer.

    Examples
    --------
    >>> queues = [("orders", "broker-a", i) for i in range(4)]
    >>> Rotated().assign(queues, ["c1", "c2", "c3"]).owners.tolist()
    [2, 2, 0, 1]
    """

    parameters = (INNER,)

    def __init__(self, inner: Inner | None = None) -> None:
        super().__init__(inner)
        # Numbers decide where the list begins and who gets what from there on. Ids do not: where
        # points of a ring collide the order of clients decides, and that changes if one leaves.
        by_place = self.inner.decided_by in ("counts", "positions")
        if by_place and self._has_hook_of(Rotated):
            self.decided_by = "positions"

    def _over(self, inner: Any) -> Strategy:
        return type(self)(inner)

    def get_name(self) -> str:
        """``ROTATED/1-`` and the inner strategy's name."""
        return f"ROTATED/1-{self.inner.get_name()}"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the client that comes first, and the reasons of the inner strategy."""
        [share] = self._shares(queues[0].topic, queues, client_ids)
        ids = [client_ids[i] for i in share.clients]
        first = share.clients[0]
        text = f"in topic {queues[0].topic} the clients are counted from number {first} of {len(ids)} (from 0), {ids[0]}"
        inner = self.inner.explain(queues, ids, position)
        return Reasons([text, *inner.steps], {"first_client": first, "inner": inner.facts})

    def _shares(self, topic: str, queues: Sequence[Any], client_ids: Sequence[str]) -> list[Share]:
        n = len(client_ids)
        [first] = first_clients(java_hashes(Strings.from_list([topic])), np.array([n])).tolist()
        return [Share(range(len(queues)), [*range(first, n), *range(first)])]

    def _parts(self, fleet: Fleet) -> UnitParts:
        lists = fleet.client_lists
        firsts = first_clients(topic_hashes(fleet), fleet.n_clients)
        longest = int(fleet.n_clients.max(initial=0)) + 1
        wanted = fleet.unit_client_list * np.int64(longest) + firsts
        rotated, unit_list = np.unique(wanted, return_inverse=True)
        list_, first = rotated // longest, rotated % longest
        lengths = lengths_of(lists.offsets)[list_]
        offsets = offsets_of(lengths)
        places = (list_positions(offsets) + np.repeat(first, lengths)) % np.repeat(
            np.maximum(lengths, 1), lengths
        )
        slots = np.repeat(lists.offsets[list_], lengths) + places
        client_lists = lists.rearranged(slots, offsets)
        client_lists.__dict__["irregular"] = lists.irregular[
            list_
        ]  # as the lazy property would find
        parts = replaced(
            fleet, unit_client_list=unit_list.astype(np.int32), client_lists=client_lists
        )
        in_list: Index = places if fleet.is_regular else lists.first[slots]
        return UnitParts(
            parts,
            np.arange(fleet.n_units, dtype=np.int32),
            ranges(fleet.queue_offsets[:-1], fleet.n_queues),
            in_list,
        )


def first_clients(topic_hashes: Numbers, n_clients: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of the client that a list begins with, for the hashes of topics and the
    lengths of lists.

    Examples
    --------
    >>> first_clients(java_hashes(Strings.from_list(["orders", "orders", "payments"])), np.array([3, 1, 8])).tolist()
    [2, 0, 5]
    """
    high, width = mix64(topic_hashes) >> np.uint64(32), np.uint64(32)
    return ((high * n_clients.astype(np.uint64)) >> width).astype(np.int64)
