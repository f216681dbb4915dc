"""One topic of a group: the views of its clients, and which clients take which queue.

A client that several brokers may answer has several views. A queue is unowned if no view of any client takes it, and
double-owned if two clients take it in all their views: both hold whichever broker each client asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.strategies import sort_client_ids
from rmqalloc.views.view import View

Takers = dict[MessageQueue, list[int]]
Queues = tuple[MessageQueue, ...]
Ids = tuple[str, ...]


@dataclass(eq=False)
class UnitViews:
    """One topic of a group."""

    topic: str
    queues: Queues  # all queues of the topic, in Java's order
    client_ids: list[str]  # the group's clients, by slot
    # Views of each slot that subscribes, slots ascending: usually one, several if brokers list different clients
    options: dict[int, tuple[View, ...]]
    is_pop: bool  # whether the broker shares a queue among several clients
    # Slots of which it is not known whether they subscribe: they take their queues perhaps
    unsure: frozenset[int] = frozenset()
    unknown: str | None = None  # why clients or queues may be missing, so that the owners cannot be computed

    @lazy_property
    def problem(self) -> str | None:
        """Why the owners cannot be computed, if they cannot."""
        return self.unknown or next((view.problem for view in self.views if view.problem is not None), None)

    @lazy_property
    def views(self) -> list[View]:
        """All distinct views."""
        return list({id(view): view for views in self.options.values() for view in views}.values())

    @property
    def is_retry(self) -> bool:
        """Whether this is a retry topic."""
        return self.topic.startswith(RETRY_PREFIX)

    @property
    def is_config(self) -> bool:
        """Whether a client uses CONFIG."""
        return any(view.method.is_config for view in self.views)

    @lazy_property
    def _takers(self) -> tuple[Takers, Takers]:
        always: Takers = {queue: [] for queue in self.queues}
        perhaps: Takers = {queue: [] for queue in self.queues}
        for slot, views in self.options.items():
            shares = [view.share(self.client_ids[slot]) for view in views]
            for queue in set().union(*shares):
                if queue in perhaps:
                    perhaps[queue].append(slot)
                    if slot not in self.unsure and all(queue in share for share in shares):
                        always[queue].append(slot)
        return always, perhaps

    @property
    def always(self) -> Takers:
        """Slots that take a queue whichever broker each client asks."""
        return self._takers[0]

    @property
    def perhaps(self) -> Takers:
        """Slots that take a queue if they ask the right broker."""
        return self._takers[1]

    def where(self, takers: Takers, holds: Callable[[int], bool]) -> Queues:
        """Return the queues whose number of readers meets a condition, in Java's order; none if the owners are not known."""
        return () if self.problem is not None else tuple(q for q in self.queues if holds(len(takers[q])))

    @lazy_property
    def unowned(self) -> Queues:
        """Queues that no client takes."""
        return self.where(self.perhaps, lambda n: n == 0)

    @lazy_property
    def double_owned(self) -> Queues:
        """Queues that two or more clients take."""
        return () if self.is_pop else self.where(self.always, lambda n: n > 1)

    def ids(self, slots: Iterable[int]) -> Ids:
        """Return the client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.client_ids[slot] for slot in slots}))
