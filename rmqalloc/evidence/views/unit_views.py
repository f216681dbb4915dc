"""One topic of a group: the views of its clients, and which clients take which queue.

A client that several brokers may answer has several views. A queue is unowned if no view of any
client takes it, and double-owned if two clients take it in all their views: both hold whichever
broker each client asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.views.view import View
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.strategies import sort_client_ids

SlotsByQueue = dict[MessageQueue, list[int]]
Queues = tuple[MessageQueue, ...]
Ids = tuple[str, ...]
Sharing = tuple[tuple[View, ...], Sequence[int]]
"""Views, and slots that have these, ascending."""


@dataclass(eq=False)
class UnitViews:
    """One topic of a group."""

    topic: str
    queues: Queues  # all queues of the topic, in Java's order
    client_ids: list[str]  # the group's clients, by slot
    slots_of: Mapping[str, Sequence[int]]  # slots of a client id, ascending
    # Views of all slots that subscribe, the first slots ascending: usually one view, several if
    # brokers list different clients
    options: list[Sharing]
    is_pop: bool  # whether the broker shares a queue among several clients
    # Slots of which it is not known whether they subscribe: they take their queues perhaps
    unsure: frozenset[int] = frozenset()
    # Why clients or queues may be missing, so that the owners cannot be computed
    unknown: str | None = None

    @lazy_property
    def problem(self) -> str | None:
        """Why the owners cannot be computed, if they cannot."""
        if self.unknown:
            return self.unknown
        problems = (view.problem for view in self.views)
        return next((problem for problem in problems if problem is not None), None)

    @lazy_property
    def views(self) -> list[View]:
        """All distinct views."""
        distinct: dict[int, View] = {}
        for views, _ in self.options:
            distinct.update((id(view), view) for view in views)
        return list(distinct.values())

    @property
    def n_subscribers(self) -> int:
        """Slots that subscribe."""
        return sum(len(slots) for _, slots in self.options)

    @lazy_property
    def acting(self) -> dict[int, list[int]]:
        """Slots that have each view, by its `id`, ascending."""
        found: dict[int, list[int]] = {}
        for views, slots in self.options:
            for view in views:
                found.setdefault(id(view), []).extend(slots)
        for slots_of_view in found.values():
            slots_of_view.sort()
        return found

    @property
    def is_retry(self) -> bool:
        """Whether this is a retry topic."""
        return self.topic.startswith(RETRY_PREFIX)

    @property
    def is_config(self) -> bool:
        """Whether a client uses CONFIG."""
        return any(view.method.is_config for view in self.views)

    @lazy_property
    def _takers(self) -> tuple[SlotsByQueue, SlotsByQueue]:
        always: SlotsByQueue = {queue: [] for queue in self.queues}
        perhaps: SlotsByQueue = {queue: [] for queue in self.queues}
        for views, slots in self.options:
            for slot in self._taking(views, slots):
                shares = [view.share(self.client_ids[slot]) for view in views]
                for queue in set().union(*shares):
                    if queue in perhaps:
                        perhaps[queue].append(slot)
                        if slot not in self.unsure and all(queue in share for share in shares):
                            always[queue].append(slot)
        for slots_of_queue in (*always.values(), *perhaps.values()):
            slots_of_queue.sort()
        return always, perhaps

    def _taking(self, views: Sequence[View], slots: Sequence[int]) -> Iterable[int]:
        """Return the slots with these views to which one of the views gives queues; there may be
        many more clients than queues.
        """
        if any(view.is_for_anyone for view in views):
            return slots
        client_ids = set[str]().union(*(view.shares for view in views))
        taking = []
        for client_id in client_ids:
            for slot in self.slots_of.get(client_id, ()):
                place = bisect_left(slots, slot)
                if place < len(slots) and slots[place] == slot:
                    taking.append(slot)
        return taking

    @property
    def always(self) -> SlotsByQueue:
        """Slots that take a queue whichever broker each client asks."""
        return self._takers[0]

    @property
    def perhaps(self) -> SlotsByQueue:
        """Slots that take a queue if they ask the right broker."""
        return self._takers[1]

    def where(self, takers: SlotsByQueue, holds: Callable[[int], bool]) -> Queues:
        """Return the queues whose number of readers meets a condition, in Java's order; none if the
        owners are not known.
        """
        if self.problem is not None:
            return ()
        return tuple(queue for queue in self.queues if holds(len(takers[queue])))

    @lazy_property
    def double_owned(self) -> Queues:
        """Queues that two or more clients take."""
        return () if self.is_pop else self.where(self.always, lambda n: n > 1)

    def ids(self, slots: Iterable[int]) -> Ids:
        """Return the client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.client_ids[slot] for slot in slots}))
