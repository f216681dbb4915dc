"""Which groups a broker knows, how clients enter and leave them, and who is told."""

import logging
from collections.abc import Sequence
from typing import Any

from rmqalloc.broker.change_listener import ConsumerGroupEvent, ConsumerIdsChangeListener
from rmqalloc.broker.group_info import ClientChannelInfo, ConsumerGroupInfo
from rmqalloc.broker.ports import Channel
from rmqalloc.protocol import ConsumerData, MessageModel, Profile, ResponseCode, ResponseError
from rmqalloc.protocol.clock import Clock

log = logging.getLogger(__name__)

SCAN_INTERVAL = 10_000
CHANNEL_EXPIRED_TIMEOUT = 120_000


class ConsumerManager:
    """The consumer groups of one broker.

    Parameters
    ----------
    clock : Clock
        Time, and the timer of the scan.
    profile : Profile
        Its ``broadcasting_is_not_told``.
    listeners : sequence of ConsumerIdsChangeListener
        Who hears of changes; what they raise is logged.
    channel_expired_timeout : int
        Milliseconds without a heartbeat after which a channel is dropped; a constant before 5.1.0.
    fast_channel_events : bool
        ``enableFastChannelEventProcess``: the close of a channel is told to broadcasting groups too.

    Attributes
    ----------
    groups : dict of str to ConsumerGroupInfo
        By name.
    topic_groups : dict of str to set of str
        Groups by topic. Groups that the scan emptied stay in it for ever, as in Java.

    Notes
    -----
    ``org.apache.rocketmq.broker.client.ConsumerManager`` and ``ClientHousekeepingService``.
    """

    def __init__(
        self,
        clock: Clock,
        profile: Profile,
        listeners: Sequence[ConsumerIdsChangeListener] = (),
        channel_expired_timeout: int = CHANNEL_EXPIRED_TIMEOUT,
        fast_channel_events: bool = False,
    ) -> None:
        self.groups: dict[str, ConsumerGroupInfo] = {}
        self.topic_groups: dict[str, set[str]] = {}
        self._clock = clock
        self._profile = profile
        self._listeners = listeners
        self._channel_expired_timeout = channel_expired_timeout
        self._fast_channel_events = fast_channel_events
        clock.call_later(SCAN_INTERVAL, self._scan_again)

    def register(self, channel: Channel, client_id: str, data: ConsumerData, notify: bool = True) -> bool:
        """Take a heartbeat for one group; ``notify`` is the group's own flag.

        Returns
        -------
        bool
            Whether a channel came, or topics came or went; then the group is told.
        """
        group = self.groups.setdefault(data.consumer_group, ConsumerGroupInfo(data))
        for subscription in data.subscriptions:
            self.topic_groups.setdefault(subscription.topic, set()).add(data.consumer_group)
        client = ClientChannelInfo(client_id, self._clock.now())
        is_new = group.update_channel(channel, client, data)
        if is_new:
            self._tell(ConsumerGroupEvent.CLIENT_REGISTER, data.consumer_group, channel, client)
        changed = group.update_subscriptions(data.subscriptions) or is_new
        if changed and notify:
            self._tell_change(group)
        self._tell(ConsumerGroupEvent.REGISTER, data.consumer_group, data.subscriptions)
        return changed

    def register_without_subscriptions(
        self, channel: Channel, client_id: str, data: ConsumerData, notify: bool = True
    ) -> bool:
        """Take a short heartbeat of the second form for one group: the channel alone counts."""
        group = self.groups.setdefault(data.consumer_group, ConsumerGroupInfo(data))
        is_new = group.update_channel(channel, ClientChannelInfo(client_id, self._clock.now()), data)
        if is_new and notify:
            self._tell_change(group)
        return is_new

    def unregister(self, channel: Channel, consumer_group: str, notify: bool = True) -> None:
        """A client leaves a group; the group is told even if the channel was not in it."""
        group = self.groups.get(consumer_group)
        if group is None:
            return
        self._remove(group, channel)
        if notify:
            self._tell_change(group)

    def channel_closed(self, channel: Channel) -> None:
        """A channel was closed, failed or was idle: it leaves all its groups, which are told whatever their own flag says."""
        for group in list(self.groups.values()):
            if self._remove(group, channel):
                if self._fast_channel_events:
                    self._tell(ConsumerGroupEvent.CHANGE, group.consumer_group, list(group.channels))
                else:
                    self._tell_change(group)

    def scan(self) -> None:
        """Drop and close the channels without a heartbeat for too long.

        Nobody is told: not now, and not when the close comes back as an event, for the channel is no longer in the group. The
        clients that are left learn of it at their next own pass.
        """
        now = self._clock.now()
        for name, group in list(self.groups.items()):
            expired = [
                (channel, client)
                for channel, client in group.channels.items()
                if now - client.last_update > self._channel_expired_timeout
            ]
            for channel, client in expired:
                log.warning("no heartbeat of %r in %s for too long", client.client_id, name)
                group.remove_channel(channel)
                self._tell(ConsumerGroupEvent.CLIENT_UNREGISTER, name, channel, client)
                channel.close()
            if not group.channels:
                del self.groups[name]

    def consumer_ids(self, consumer_group: str) -> list[str]:
        """Client ids of a group, one per channel (code 38).

        Raises
        ------
        ResponseError
            SYSTEM_ERROR: the group is not known or has no clients.
        """
        group = self.groups.get(consumer_group)
        if group is None or not group.channels:
            raise ResponseError(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {consumer_group}")
        return group.client_ids()

    def _remove(self, group: ConsumerGroupInfo, channel: Channel) -> bool:
        """Take a channel out of a group, and an emptied group out of the tables."""
        client = group.remove_channel(channel)
        if client is not None:
            self._tell(ConsumerGroupEvent.CLIENT_UNREGISTER, group.consumer_group, channel, client)
        if not group.channels and self.groups.pop(group.consumer_group, None) is not None:
            self._tell(ConsumerGroupEvent.UNREGISTER, group.consumer_group)
            for topic in group.subscriptions:
                groups = self.topic_groups.get(topic, set())
                groups.discard(group.consumer_group)
                if not groups:
                    self.topic_groups.pop(topic, None)
        return client is not None

    def _tell_change(self, group: ConsumerGroupInfo) -> None:
        """CHANGE, which broadcasting groups are spared since 5.3.1: their clients divide nothing."""
        if group.message_model is not MessageModel.BROADCASTING or not self._profile.broadcasting_is_not_told:
            self._tell(ConsumerGroupEvent.CHANGE, group.consumer_group, list(group.channels))

    def _tell(self, event: ConsumerGroupEvent, consumer_group: str, *arguments: Any) -> None:
        for listener in self._listeners:
            try:
                listener.handle(event, consumer_group, *arguments)
            except Exception:
                log.exception("a listener failed on %s of %s", event.name, consumer_group)

    def _scan_again(self) -> None:
        self.scan()
        self._clock.call_later(SCAN_INTERVAL, self._scan_again)
