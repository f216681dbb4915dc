"""How a broker notifies the clients of a group that its members have changed."""

import logging
from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, Protocol

from rmqalloc.broker._broker_ports import Channel
from rmqalloc.errors import refuse_defect
from rmqalloc.remoting import Profile
from rmqalloc.remoting.clock import Clock

log = logging.getLogger(__name__)

FIRST_FLUSH = 30_000
FLUSH_INTERVAL = 15_000


class ConsumerGroupEvent(Enum):
    """Events of a group, and the argument that a listener gets besides the group's name."""

    CHANGE = "members or topics changed"  # the group's channels
    REGISTER = "a heartbeat was taken"  # its subscriptions
    UNREGISTER = "the group is gone"  # nothing
    CLIENT_REGISTER = "a channel came"  # the channel, who it is, and the topics of its heartbeat
    CLIENT_UNREGISTER = (
        "a channel went"  # the channel, who it was or says it is, and the topics of the group
    )


class ConsumerIdsChangeListener(Protocol):
    """Listener to events of groups."""

    def handle(self, event: ConsumerGroupEvent, consumer_group: str, *arguments: Any) -> None:
        """Handle an event."""


class ConsumerIdsChangeNotifier:
    """Send "consumer ids changed" to the channels of a group, at once or collected.

    A list without channels also counts. Announced at once, it ends the rest of the previous list;
    collected, it replaces the previous list.

    Parameters
    ----------
    clock : Clock
        Times the collected form.
    profile : Profile
        Its ``interruptible_notices`` and ``collects_notices``.
    notify_consumer_ids_changed_enable : bool
        The broker's flag; if False, no client is ever notified. `ConsumerManager` checks the group's
        own flag before.
    real_time : bool
        Notify at once (``realTimeNotifyConsumerChange``). If False, flush the latest list of each
        group after 30 s and then every 15 s; releases before 5.x always notify at once.

    Attributes
    ----------
    notify_consumer_ids_changed_enable, real_time : bool
        Settings, which may change while the broker runs. Collected lists are flushed all the same if
        the broker's flag is then on.
    tell_together : callable or None
        Notifies all channels and the group together instead of one channel after another; then a
        notice never fails or changes a group.

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
        self.real_time = real_time
        self.tell_together: Callable[[Collection[Any], str], None] | None = None
        self._clock = clock
        self._can_collect = profile.collects_notices
        self._interruptible = profile.interruptible_notices
        self._collected: dict[str, Collection[Channel]] = {}
        self._being_told: dict[str, object] = {}
        clock.call_later(FIRST_FLUSH, self._flush)

    def handle(
        self, event: ConsumerGroupEvent | None, consumer_group: str, *arguments: Any
    ) -> None:
        """Act on CHANGE; all remaining events, and no event at all, are ignored.

        Raises
        ------
        RuntimeError
            The event is not a `ConsumerGroupEvent`.
        """
        if event is None:
            return
        if not isinstance(event, ConsumerGroupEvent):
            raise RuntimeError(
                f"unknown event {event!r}; known are {', '.join(ConsumerGroupEvent.__members__)}"
            )
        if event is not ConsumerGroupEvent.CHANGE or not arguments or arguments[0] is None:
            return
        channels: Collection[Channel] = arguments[0]
        if not self.notify_consumer_ids_changed_enable:
            return
        if self.real_time or not self._can_collect:
            self._tell_now(consumer_group, channels)
        else:
            self._collected[consumer_group] = channels

    def _tell_now(self, consumer_group: str, channels: Collection[Channel]) -> None:
        """Notify at once; a newer list that comes in between covers the rest, where the release
        lets it interrupt.
        """
        if self.tell_together is not None:
            self.tell_together(channels, consumer_group)
            return
        this_round = self._being_told[consumer_group] = object()
        for channel in channels:
            if self._interruptible and self._being_told.get(consumer_group) is not this_round:
                return
            _tell(channel, consumer_group)
        if self._being_told.get(consumer_group) is this_round:
            del self._being_told[consumer_group]

    def _flush(self) -> None:
        """Tell what was collected; a list that comes meanwhile waits for the next flush."""
        collected, self._collected = self._collected, {}
        for consumer_group, channels in collected.items():
            if self.notify_consumer_ids_changed_enable:
                for channel in channels:
                    _tell(channel, consumer_group)
        self._clock.call_later(FLUSH_INTERVAL, self._flush)


def _tell(channel: Channel, consumer_group: str) -> None:
    try:
        channel.notify_consumer_ids_changed(consumer_group)
    except Exception as error:
        refuse_defect(error)
        log.exception("a client of %s could not be notified of a change", consumer_group)
