"""The queues that the clients of a group report to own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rmqalloc.evidence.views.unit_views import Ids, SlotsByQueue, UnitViews
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.snapshot import Client
from rmqalloc.strategies import sort_client_ids

WHOLE_BROKER = -1
"""Queue id by which a client that pops owns any queue of a broker."""


class ReportedOwners:
    """The queues that the clients of a group report to own."""

    def __init__(self, clients: Sequence[Client]) -> None:
        self._owners: dict[UnitViews, SlotsByQueue] = {}
        self._owned = {
            slot: client.owned for slot, client in enumerate(clients) if client.owned is not None
        }
        answered = {clients[slot].client_id for slot in self._owned}
        self.silent: Ids = tuple(
            sort_client_ids({client.client_id for client in clients} - answered)
        )
        """Client ids for which no process has answered, in Java's order."""
        self.silent_twins = frozenset(
            slot
            for slot, client in enumerate(clients)
            if client.owned is None and client.client_id in answered
        )
        """Slots that report nothing while another client of their id reports."""

    @property
    def any_answer(self) -> bool:
        """Whether any client reported what it owns."""
        return bool(self._owned)

    @lazy_property
    def _by_topic(self) -> dict[str, list[tuple[MessageQueue, int]]]:
        found: dict[str, list[tuple[MessageQueue, int]]] = {}
        for slot, owned in self._owned.items():
            for queue in dict.fromkeys(owned):
                found.setdefault(queue.topic, []).append((queue, slot))
        return found

    def speaks_of(self, topic: str) -> bool:
        """Return True if the reports cover a topic: they cover a retry topic only if a client
        reports a queue of it.
        """
        return not topic.startswith(RETRY_PREFIX) or topic in self._by_topic

    def reports(self, unit: UnitViews) -> bool:
        """Return True if all clients report what they own, and the reports decide this unit: a client
        subscribes to its topic, and they cover it.
        """
        is_covered = bool(unit.options) and self.speaks_of(unit.topic)
        return is_covered and self.any_answer and not self.silent

    def slots_of(self, queue: MessageQueue) -> list[int]:
        """Return the slots that report a queue by its id."""
        return [slot for owned, slot in self._by_topic.get(queue.topic, ()) if owned == queue]

    def owners(self, unit: UnitViews) -> SlotsByQueue:
        """Return the slots that report each queue of a unit."""
        if unit not in self._owners:
            self._owners[unit] = self._owners_of(unit)
        return self._owners[unit]

    def _owners_of(self, unit: UnitViews) -> SlotsByQueue:
        owners: SlotsByQueue = {queue: [] for queue in unit.queues}
        of_broker: dict[str, list[MessageQueue]] = {}
        for queue in unit.queues:
            of_broker.setdefault(queue.broker_name, []).append(queue)
        for queue, slot in self._by_topic.get(unit.topic, ()):
            if queue in owners:
                owners[queue].append(slot)
            elif queue.queue_id == WHOLE_BROKER:
                for queue_of_broker in of_broker.get(queue.broker_name, ()):
                    owners[queue_of_broker].append(slot)
        return owners

    def single(self, unit: UnitViews) -> dict[MessageQueue, str]:
        """Return the owner of every queue that exactly one client id reports."""
        found = {}
        for queue, slots in self.owners(unit).items():
            client_ids = {unit.client_ids[slot] for slot in slots}
            if len(client_ids) == 1:
                found[queue] = client_ids.pop()
        return found

    def elsewhere(self, units: Iterable[UnitViews]) -> dict[MessageQueue, tuple[str, Ids]]:
        """Return the queues with another owner than the expected one: that owner, and the expected
        owners.
        """
        if not self.any_answer:
            return {}
        found, silent = {}, frozenset(self.silent)
        for unit in units:
            if unit.problem is not None or unit.is_pop:
                continue
            for queue, owner in self.single(unit).items():
                slots = unit.always[queue]
                expected = {unit.client_ids[slot] for slot in slots}
                is_sure = len(slots) == len(unit.perhaps[queue])
                if is_sure and expected - silent != {owner}:
                    found[queue] = owner, unit.ids(slots)
        return found
