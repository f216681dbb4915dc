"""``CANARY/1-<inner>``: some clients get a given share of the queues of every broker, and nothing
to retry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import (
    distinct_strings,
    lengths_of,
    list_positions,
    offsets_of,
    repeats_of,
)
from rmqalloc.fleet.lists import ClientLists
from rmqalloc.model import RETRY_PREFIX, java_name, joined, queue_fields
from rmqalloc.strategies._over import INNER, ExclusiveOver, Share
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts
from rmqalloc.strategies.base import Inner, Strategy
from rmqalloc.strategies.parameters import Parameter, decimal_units
from rmqalloc.text import glob

Mask = NDArray[np.bool_]

GRAY = "*@gray"
POINTS = 10_000  # of a share in one


class Canary(ExclusiveOver[Inner], name="CANARY/1"):
    """Clients whose ids match a pattern get the first queues of every broker; the remaining clients
    get the remaining queues.

    Notes
    -----
    A topic that begins with ``%RETRY%`` goes only to the remaining clients: it has one queue on each broker, so the least
    share would be the whole topic. If no client matches, or all do, the inner strategy divides all queues among all clients.

    Examples
    --------
    >>> made = Canary(share=0.1)
    >>> made.assign([("orders", "a", i) for i in range(8)], ["c1@gray", "c2@main", "c3@main"]).owners.tolist()
    [0, 1, 1, 1, 1, 2, 2, 2]
    """

    parameters = (
        Parameter(
            "share",
            "decimal",
            "Share of the queues of each broker that canary clients get",
            is_needed=True,
        ),
        Parameter("pattern", "text", "Ids of the canary clients"),
        INNER,
    )

    def __init__(
        self, share: float | str | Decimal, pattern: str = GRAY, inner: Inner | None = None
    ) -> None:
        super().__init__(inner)
        self.points = decimal_units("share", share, POINTS, 0, POINTS)
        if not isinstance(pattern, str):
            raise ArgumentTypeError(f"pattern must be text, got {pattern!r}")
        self.pattern = pattern
        self._matches = matcher(pattern)

    @property
    def share(self) -> Decimal:
        """Share of the queues of each broker that canary clients get."""
        return Decimal(self.points) / POINTS

    def _over(self, inner: Any) -> Strategy:
        return type(self)(self.share, self.pattern, inner)

    def get_name(self) -> str:
        """``CANARY/1-`` and the inner strategy's name."""
        return f"CANARY/1-{self.inner.get_name()}"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return which clients the queue is for, and the reasons of the inner strategy."""
        shares, topic = self._shares(queues[0].topic, queues, client_ids), queues[0].topic
        mine = next(share for share in shares if position in share.queues)
        n_canary = sum(map(self._matches, client_ids))
        broker = queues[position].broker_name
        places = [i for i, queue in enumerate(queues) if queue.broker_name == broker]
        first = self._n_first(len(places))
        text = f"{n_canary} of {len(client_ids)} clients match {self.pattern}"
        if n_canary in (0, len(client_ids)):
            text += ", so all clients divide all queues"
        elif topic.startswith(RETRY_PREFIX):
            text += f"; topic {topic} holds retries, which go only to the remaining clients"
        else:
            at = places.index(position)
            whose = "canary clients" if at < first else "the remaining clients"
            text += (
                f"; canary clients get the first {first} of the {len(places)} queues of broker {broker}, and this queue "
                f"is number {at} (from 0), for {whose}"
            )
        members = [client_ids[i] for i in mine.clients]
        inner = self.inner.explain(
            [queues[i] for i in mine.queues], members, list(mine.queues).index(position)
        )
        facts = {
            "n_canary": n_canary,
            "n_canary_queues": first,
            "n_broker_queues": len(places),
            "inner": inner.facts,
        }
        return Reasons([text, *inner.steps], facts)

    def _n_first(self, n_queues: Any) -> Any:
        """Return how many queues of a broker the canary clients get."""
        return (self.points * n_queues + POINTS - 1) // POINTS

    def _shares(self, topic: str, queues: Sequence[Any], client_ids: Sequence[str]) -> list[Share]:
        canary = [i for i, client_id in enumerate(client_ids) if self._matches(joined(client_id))]
        if len(canary) in (0, len(client_ids)):
            return [Share(range(len(queues)), range(len(client_ids)))]
        # By a dict: an array of text would take a name for another that goes on with NULs.
        known: dict[str, int] = {}
        spelled = (java_name(queue_fields(queue)[1]) for queue in queues)
        codes = np.array([known.setdefault(name, len(known)) for name in spelled], np.int64)
        n_first = 0 if topic.startswith(RETRY_PREFIX) else self._n_first(np.bincount(codes)[codes])
        is_first = repeats_of(codes) < n_first
        others = np.delete(np.arange(len(client_ids)), canary).tolist()
        both = (
            Share(np.flatnonzero(is_first).tolist(), canary),
            Share(np.flatnonzero(~is_first).tolist(), others),
        )
        return [share for share in both if share.queues]

    def _parts(self, fleet: Fleet) -> UnitParts:
        fleet = fleet.own_lists() if fleet.is_sparse else fleet
        queues, clients = fleet.queue_lists, fleet.client_lists
        is_canary, is_first = self._canary_slots(clients), self._first_queues(fleet)
        n_canary, n_first = _counts(is_canary, clients.offsets), _counts(is_first, queues.offsets)
        slots, slot_offsets = _thrice(is_canary, clients.offsets)
        places, queue_offsets = _thrice(is_first, queues.offsets)
        n_q, n_c = queues.offsets.size - 1, clients.offsets.size - 1
        q, c = fleet.unit_queue_list, fleet.unit_client_list
        whole = (n_canary[c] == 0) | (n_canary[c] == fleet.n_clients)
        kinds = [whole, ~whole & (n_first[q] > 0), ~whole & (n_first[q] < fleet.n_queues)]
        units = [np.flatnonzero(kind) for kind in kinds]
        unit = np.concatenate(units).astype(np.int32)
        kind = np.repeat(np.arange(3), [some.size for some in units])
        client_lists = clients.rearranged(slots, slot_offsets)
        if fleet.is_regular:
            client_lists.__dict__["irregular"] = np.zeros(
                3 * n_c, np.uint8
            )  # as the lazy property would find
        parts = replace(
            fleet,
            consumer_groups=fleet.consumer_groups.take_unchecked(unit),
            unit_topic=fleet.unit_topic[unit],
            unit_queue_list=(q[unit] + kind * n_q).astype(np.int32),
            unit_client_list=(c[unit] + kind * n_c).astype(np.int32),
            queue_lists=queues.rearranged(places, queue_offsets),
            client_lists=client_lists,
            errors=(),
        )
        in_list = list_positions(queues.offsets)[places]
        queue_places = (
            np.repeat(fleet.queue_offsets[unit], parts.n_queues) + in_list[parts.queue_places()]
        )
        return UnitParts(parts, unit, queue_places, clients.first[slots])

    def _canary_slots(self, clients: ClientLists) -> Mask:
        """Return the client slots whose ids match; every id is looked at once."""
        codes, ids = distinct_strings(clients.client_ids)
        return np.fromiter(map(self._matches, ids.to_list()), bool, len(ids))[codes]

    def _first_queues(self, fleet: Fleet) -> Mask:
        """Return queues of the lists that canary clients get, where a list of clients has both
        kinds.
        """
        lists = fleet.queue_lists
        list_ = np.repeat(np.arange(lists.offsets.size - 1), lengths_of(lists.offsets))
        keys = list_ * np.int64(len(fleet.brokers)) + lists.route_broker[lists.queue_route]
        _, codes, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        retry = np.array([topic.startswith(RETRY_PREFIX) for topic in fleet.topics.to_list()], bool)
        topics = lists.route_topic[lists.queue_route]
        firsts = topics[lists.offsets[:-1][list_]] if topics.size else topics
        found: Mask = (repeats_of(codes) < self._n_first(sizes[codes].astype(np.int64))) & ~retry[
            firsts
        ]
        return found


def matcher(pattern: str) -> Callable[[str], bool]:
    """Make a test of texts by a pattern of ``*`` and ``?``; capitals count, and all other characters
    stand for themselves.

    Examples
    --------
    >>> [matcher("a[b]?*")(text) for text in ("a[b]c", "a[b]cde", "a[b]", "abc", "A[b]c")]
    [True, True, False, False, False]
    """
    matches = glob(joined(pattern).replace("[", "[[]"))
    return lambda text: bool(matches(text))


def _counts(mask: Mask, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many elements of each list are marked."""
    before = offsets_of(mask)
    return before[offsets[1:]] - before[offsets[:-1]]


def _thrice(mask: Mask, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places of the elements of all lists, of those that are marked, and of the others; and
    where these lists begin.
    """
    marked = _counts(mask, offsets)
    lengths = np.concatenate([lengths_of(offsets), marked, lengths_of(offsets) - marked])
    return np.concatenate(
        [np.arange(mask.size), np.flatnonzero(mask), np.flatnonzero(~mask)]
    ), offsets_of(lengths)
