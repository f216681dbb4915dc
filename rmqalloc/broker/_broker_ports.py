"""What the broker half needs of the world besides time: connections to clients, and what a message
store knows.
"""

from typing import Protocol

from rmqalloc.model import MessageQueue


class Channel(Protocol):
    """One connection of a client. Two connections are two channels, even if their clients have one
    id.
    """

    def notify_consumer_ids_changed(self, consumer_group: str) -> None:
        """Notify the client that the members of a group have changed, one-way (code 40)."""

    def close(self) -> None:
        """Close the connection."""


class MessageStore(Protocol):
    """Offsets of the stored messages."""

    def max_offset(self, queue: MessageQueue) -> int:
        """Return the offset after the last message."""

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at ``timestamp`` (ms) or later."""


class EmptyStore:
    """A store without a single message."""

    def max_offset(self, queue: MessageQueue) -> int:
        """Return zero."""
        return 0

    def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """Return zero."""
        return 0
