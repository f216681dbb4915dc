"""How a broker tells the clients of a group that its members have changed."""

import logging
from collections.abc import Collection
from enum import Enum
from typing import Any, Protocol

from rmqalloc.broker.ports import Channel
from rmqalloc.protocol import Profile
from rmqalloc.protocol.clock import Clock

log = logging.getLogger(__name__)

FIRST_FLUSH = 30_000
FLUSH_INTERVAL = 15_000


class ConsumerGroupEvent(Enum):
    """What can happen to a group, and what a listener is handed besides the group's name."""

    CHANGE = "members or topics changed"  # the group's channels
    REGISTER = "a heartbeat was taken"  # its subscriptions
    UNREGISTER = "the group is gone"  # nothing
    CLIENT_REGISTER = "a channel came"  # the channel, and who it is
    CLIENT_UNREGISTER = "a channel went"  # the channel, and who it was


class ConsumerIdsChangeListener(Protocol):
    """Who hears of what happens to groups."""

    def handle(self, event: ConsumerGroupEvent, consumer_group: str, *arguments: Any) -> None:
        """Take notice of an event."""


class ConsumerIdsChangeNotifier:
    """Sends "consumer ids changed" to the channels of a group, at once or collected.

    Parameters
    ----------
    clock : Clock
        Times the collected form.
    profile : Profile
        Its ``interruptible_notices``.
    notify_consumer_ids_changed_enable : bool
        The broker's flag; off, nobody is ever told. The group's own flag is looked at before, by `ConsumerManager`.
    real_time : bool
        Tell at once (``realTimeNotifyConsumerChange``), else flush the latest list of each group after 30 s and then every
        15 s.

    Notes
    -----
    ``DefaultConsumerIdsChangeListener``. Java's listener also feeds a filter of messages with REGISTER and UNREGISTER.
    """

    def __init__(
        self,
        clock: Clock,
        profile: Profile,
        notify_consumer_ids_changed_enable: bool = True,
        real_time: bool = True,
    ) -> None:
        self.notify_consumer_ids_changed_enable = notify_consumer_ids_changed_enable
        self._clock = clock
        self._interruptible = profile.interruptible_notices
        self._real_time = real_time
        self._latest: dict[str, Collection[Channel]] = {}
        clock.call_later(FIRST_FLUSH, self._flush)

    def handle(self, event: ConsumerGroupEvent | None, consumer_group: str, *arguments: Any) -> None:
        """Act on CHANGE; the other events, and none at all, are ignored.

        Raises
        ------
        RuntimeError
            The event is not a `ConsumerGroupEvent`.
        """
        if event is None:
            return
        if not isinstance(event, ConsumerGroupEvent):
            raise RuntimeError(f"unknown event {event!r}; known are {', '.join(ConsumerGroupEvent.__members__)}")
        if event is not ConsumerGroupEvent.CHANGE or not arguments or not self.notify_consumer_ids_changed_enable:
            return
        channels: Collection[Channel] = arguments[0]
        if not channels:
            return
        self._latest[consumer_group] = channels
        if self._real_time:
            self._send(consumer_group, channels)

    def _send(self, consumer_group: str, channels: Collection[Channel]) -> None:
        """A newer list that comes in between covers the rest, where the release lets it interrupt."""
        for channel in channels:
            if self._interruptible and self._latest.get(consumer_group) is not channels:
                return
            try:
                channel.notify_consumer_ids_changed(consumer_group)
            except Exception:
                log.exception("a client of %s could not be told of a change", consumer_group)
        if self._latest.get(consumer_group) is channels:
            del self._latest[consumer_group]

    def _flush(self) -> None:
        for consumer_group, channels in list(self._latest.items()):
            self._send(consumer_group, channels)
        self._clock.call_later(FLUSH_INTERVAL, self._flush)
