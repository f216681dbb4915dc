"""Offsets that a client of the simulation stores all at once, where nothing can come in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance.offset_store import RemoteOffsetStore
from rmqalloc.rebalance.queue_table import QueueTable

if TYPE_CHECKING:
    from rmqalloc.rebalance import MQClientFactory
    from rmqalloc.simulation._network import ClientRemoting


class SimulatedOffsetStore(RemoteOffsetStore):
    """Answers as `rmqalloc.rebalance.RemoteOffsetStore` does, queue by queue only where a request could fail or take time."""

    def __init__(self, factory: MQClientFactory, consumer_group: str, remoting: ClientRemoting) -> None:
        super().__init__(factory, consumer_group)
        self._remoting = remoting

    def persist_all(self, queues: Collection[MessageQueue]) -> None:
        """Send the offsets of these queues, and forget all others without sending them; nothing if there are none."""
        if not queues or not self._persist_together(queues):
            super().persist_all(queues)

    def _persist_together(self, queues: Collection[MessageQueue]) -> bool:
        """Whether all could be sent together; if not, none was."""
        assert isinstance(queues, QueueTable)
        forgotten = queues.lacks(self._offsets)
        offsets = self._offsets if not forgotten else {q: n for q, n in self._offsets.items() if q in queues}
        by_address = self._by_address(offsets)
        if by_address is None or not self._remoting.update_offsets(self._consumer_group, by_address):
            return False
        for queue in forgotten:
            self.remove_offset(queue)
        return True

    def _by_address(self, offsets: Mapping[MessageQueue, int]) -> dict[str, dict[MessageQueue, int]] | None:
        """Offsets by the address that they go to; None if one has none or shares one."""
        routes = self._factory.routes
        find = routes.any_of if self._factory.profile.commits_to_known_server else routes.master_of
        by_broker: dict[str | None, dict[MessageQueue, int]] = {}
        for queue, offset in offsets.items():
            by_broker.setdefault(routes.broker_of(queue), {})[queue] = offset
        by_address = {find(broker_name): mine for broker_name, mine in by_broker.items()}
        if None in by_address or len(by_address) < len(by_broker):
            return None
        return by_address  # type: ignore[return-value]
