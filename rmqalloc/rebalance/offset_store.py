"""Consumer offsets of a group: in memory, and at the brokers or in a file."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from rmqalloc.errors import refuse_defect
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._offset_file import (
    OffsetFileError,
    merge_offsets,
    offset_path,
    read_offsets,
    write_offsets,
)
from rmqalloc.rebalance.driving import Request, Steps, nothing
from rmqalloc.remoting import ClientError, ResponseCode, ResponseError

if TYPE_CHECKING:
    from rmqalloc.rebalance._client_factory import MQClientFactory

NOT_FOUND = -1
UNREADABLE = -2

log = logging.getLogger(__name__)


class ReadOffsetType(Enum):
    """Where an offset is read."""

    READ_FROM_MEMORY = "memory"
    READ_FROM_STORE = "store"
    MEMORY_FIRST_THEN_STORE = "memory, then store"


class OffsetStore(ABC):
    """Offsets of one group in one client.

    Parameters
    ----------
    factory : MQClientFactory
        The client.
    consumer_group : str
        Group.
    """

    def __init__(self, factory: MQClientFactory, consumer_group: str) -> None:
        self._factory = factory
        self._consumer_group = consumer_group
        self._offsets: dict[MessageQueue, int] = {}
        self._frozen: set[MessageQueue] = set()

    def load(self) -> None:  # noqa: B027 (only files are loaded)
        """Read the stored offsets into memory."""

    def update_offset(self, queue: MessageQueue | None, offset: int, increase_only: bool) -> None:
        """Set an offset, or only raise it; nothing once it is frozen."""
        if queue is None or queue in self._frozen:
            return
        self._offsets[queue] = (
            max(self._offsets.get(queue, offset), offset) if increase_only else offset
        )

    def update_and_freeze_offset(self, queue: MessageQueue | None, offset: int) -> None:
        """Set a reset offset; later updates are ignored until it is removed (before 5.2: accepted)."""
        if queue is not None:
            self._offsets[queue] = offset
            if self._factory.profile.freezes_offsets:
                self._frozen.add(queue)

    def remove_offset(self, queue: MessageQueue | None) -> None:
        """Remove an offset from memory; the stored offset stays."""
        if queue is not None:
            self._offsets.pop(queue, None)
            self._frozen.discard(queue)

    def offsets(self, topic: str | None = None) -> dict[MessageQueue, int]:
        """Return the offsets in memory, of one topic or of all."""
        return {
            queue: offset
            for queue, offset in self._offsets.items()
            if not topic or queue.topic == topic
        }

    def memory_offset(self, queue: MessageQueue) -> int:
        """Return the offset of one queue in memory, -1 if there is none."""
        return self._offsets.get(queue, NOT_FOUND)

    def read_offset(self, queue: MessageQueue | None, where: ReadOffsetType) -> Steps[int]:
        """Return an offset, or a number below zero for the reason why there is none.

        Parameters
        ----------
        queue : MessageQueue or None
            Queue.
        where : ReadOffsetType
            An offset read from the store replaces the offset in memory, unless that is frozen.

        Returns
        -------
        int
            -1 if there is none; see the stores for further values.
        """
        if queue is None:
            return nothing(self._answer_to_no_queue())
        if where is not ReadOffsetType.READ_FROM_STORE and queue in self._offsets:
            return nothing(self.memory_offset(queue))
        if where is ReadOffsetType.READ_FROM_MEMORY:
            return nothing(NOT_FOUND)
        return self._read_store(queue)

    @abstractmethod
    def _answer_to_no_queue(self) -> int:
        """Return the number below zero that stands for a question without a queue."""

    @abstractmethod
    def _read_store(self, queue: MessageQueue) -> Steps[int]:
        """Return a stored offset, put into memory even if below zero; or a number below zero that
        says why there is none.
        """

    @abstractmethod
    def persist(self, queue: MessageQueue) -> Steps[None]:
        """Store the offset of one queue, if it is in memory; errors are logged."""

    @abstractmethod
    def persist_all(self, queues: Collection[MessageQueue]) -> Steps[None]:
        """Store the offsets of these queues; nothing if there are none."""


class RemoteOffsetStore(OffsetStore):
    """Offsets stored at the brokers, for groups that divide queues.

    `read_offset` returns -2 if the broker is unknown or fails, and -3 without a queue (4.9: -1).
    Storing is one-way and is not confirmed: the next owner of a queue may read an older offset, and
    so consume messages twice, but never skips any.

    Notes
    -----
    ``org.apache.rocketmq.client.consumer.store.RemoteBrokerOffsetStore``.
    """

    def _answer_to_no_queue(self) -> int:
        return self._factory.profile.no_queue_offset

    def _read_store(self, queue: MessageQueue) -> Steps[int]:
        try:
            address = self._known_address(queue, master_first=True)
            if address is None:
                address = yield from self._asked_address(queue)
            offset: int = yield Request("query_offset", (address, self._consumer_group, queue))
        except ResponseError as error:
            # Before 5.0 a broker's failure was taken for "no offset", and a group could jump over
            # messages.
            known = (
                error.code == ResponseCode.QUERY_NOT_FOUND
                or self._factory.profile.broker_error_is_no_offset
            )
            return NOT_FOUND if known else UNREADABLE
        except Exception as error:
            refuse_defect(error)
            log.debug("offset of %s for %s: %s", queue, self._consumer_group, error)
            return UNREADABLE
        self.update_offset(queue, offset, increase_only=False)
        return offset

    def persist(self, queue: MessageQueue) -> Steps[None]:
        """Send the offset of one queue to its broker, if it is in memory; errors are logged."""
        offset = self._offsets.get(queue)
        if offset is None:
            return
        master_first = not self._factory.profile.commits_to_known_server
        try:
            address = self._known_address(queue, master_first)
            if address is None:
                address = yield from self._asked_address(queue)
            yield Request("update_offset", (address, self._consumer_group, queue, offset))
        except Exception as error:
            refuse_defect(error)
            log.debug(
                "offset %d of %s for %s was not stored: %s",
                offset,
                queue,
                self._consumer_group,
                error,
            )

    def persist_all(self, queues: Collection[MessageQueue]) -> Steps[None]:
        """Send the offsets of these queues, and remove all further offsets without sending them;
        nothing if there are none.
        """
        if not queues:
            return
        for queue in list(self._offsets):
            if queue in queues:
                yield from self.persist(queue)
            else:
                self.remove_offset(queue)

    def _known_address(self, queue: MessageQueue, master_first: bool) -> str | None:
        """Return the address of a queue's broker, None if it is not known: its master's alone where
        that is wanted first.
        """
        routes = self._factory.routes
        broker_name = routes.broker_of(queue)
        return routes.master_of(broker_name) if master_first else routes.any_of(broker_name)

    def _asked_address(self, queue: MessageQueue) -> Steps[str]:
        """Return the address of any server of a queue's broker, after asking for the route."""
        yield from self._factory.update_topic_route(queue.topic)
        address = self._known_address(queue, master_first=False)
        if address is None:
            raise ClientError(f"broker {queue.broker_name!r} of {queue} is unknown")
        return address


class LocalOffsetStore(OffsetStore):
    """Offsets stored in a file, for groups whose clients each read all queues.

    Notes
    -----
    ``org.apache.rocketmq.client.consumer.store.LocalFileOffsetStore``. The file is
    ``<offset directory>/<client id>/<group>/offsets.json``.
    """

    def __init__(self, factory: MQClientFactory, consumer_group: str, directory: Path) -> None:
        super().__init__(factory, consumer_group)
        self.path = offset_path(directory, factory.client_id, consumer_group)

    def _answer_to_no_queue(self) -> int:
        return NOT_FOUND

    def load(self) -> None:
        """Read the file into memory; OffsetFileError if neither it nor its backup can be read."""
        self._offsets.update(read_offsets(self.path))

    def _read_store(self, queue: MessageQueue) -> Steps[int]:
        try:
            offset = read_offsets(self.path).get(queue)
        except OffsetFileError:
            return nothing(NOT_FOUND)
        if offset is None:
            return nothing(NOT_FOUND)
        self.update_offset(queue, offset, increase_only=False)
        return nothing(offset)

    def persist(self, queue: MessageQueue) -> Steps[None]:
        """Merge the offset of one queue into the file, if it is in memory; errors are logged."""
        if queue in self._offsets:
            self._write([queue])
        return nothing(None)

    def persist_all(self, queues: Collection[MessageQueue]) -> Steps[None]:
        """Merge the offsets of these queues into the file, and remove none; nothing if there are none."""
        if queues:
            self._write(queues)
        return nothing(None)

    def _write(self, queues: Collection[MessageQueue]) -> None:
        try:
            write = merge_offsets if self._factory.profile.merges_local_offsets else write_offsets
            write(
                self.path,
                {queue: offset for queue, offset in self._offsets.items() if queue in queues},
            )
        except (OffsetFileError, OSError) as error:
            log.warning("offsets of %s were not stored: %s", self._consumer_group, error)
